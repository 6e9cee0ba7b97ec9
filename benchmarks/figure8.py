"""The 2012 paper's Figure 8: schedules of the local Laplacian, in the order tried.

    python -m benchmarks.figure8

runs them all on an image of four megapixels, prints their times, and draws the plot.
The steps follow the figure's caption; (a) to (d) are those that it marks. The number of
threads comes from HL_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apps import local_laplacian
from apps.common import App, Array, Module
from apps.local_laplacian import PYRAMID
from benchmarks.case import Image, load
from benchmarks.cases import case

#: The stages that the paper calls major: luminance, table, and all the pyramids.
PYRAMIDS = ("g_pyramid", "l_pyramid", "in_pyramid", "out_l_pyramid", "out_pyramid")
#: What is inlined from (b) on.
LAPLACIANS = ("l_pyramid", "out_l_pyramid")
#: The bottom-most level of the remapped pyramid, a look-up in a table.
BOTTOM = ("g_pyramid_0", "in_pyramid_0")


@dataclass(frozen=True)
class Step:
    """One schedule: its letter in the caption, if it has one; what it does."""

    letter: str
    name: str
    schedule: Callable[[Module, App], None]


@dataclass(frozen=True)
class Breadth:
    """Every major stage at root, but those inlined.

    inline: names of pyramids, or of single levels. parallel: "" (none), "outermost"
    or "lines". lanes: of vectors along x; 0 for none. serial_from: the level from
    which on all is serial and scalar. together: intensities beside each other.
    """

    inline: tuple[str, ...] = ()
    parallel: str = "outermost"
    lanes: int = 0
    serial_from: int = PYRAMID
    together: bool = False

    def __call__(self, hl: Module, app: App) -> None:
        x, y, k = hl.Var("x"), hl.Var("y"), hl.Var("k")
        app.funcs["remap"].compute_root()
        self._loops(hl, app.output, "c")
        self._loops(hl, app.funcs["gray"].compute_root(), "y")
        for pyramid in PYRAMIDS:
            for level in range(PYRAMID):
                name = f"{pyramid}_{level}"
                if pyramid in self.inline or name in self.inline:
                    continue
                f = app.funcs[name].compute_root()
                deep = pyramid in ("g_pyramid", "l_pyramid")
                if self.together and deep:
                    f.reorder_storage(x, k, y).reorder(x, k, y)
                if level < self.serial_from:
                    self._loops(hl, f, "k" if deep else "y")

    def _loops(self, hl: Module, f: Module, outermost: str) -> None:
        if self.parallel == "outermost":
            f.parallel(hl.Var(outermost))
        elif self.parallel == "lines":
            f.parallel(hl.Var("y"), 8)
        if self.lanes:
            f.vectorize(hl.Var("x"), self.lanes)


ODD = tuple(f"g_pyramid_{j}" for j in range(1, PYRAMID - 1, 2))
STEPS = (
    Step("", "all at root, serial", Breadth(parallel="")),
    Step("a", "outermost loops parallel", Breadth()),
    Step("", "lines parallel", Breadth(parallel="lines")),
    Step("", "output's Laplacian inline", Breadth(("out_l_pyramid",), "lines")),
    Step("b", "all Laplacians inline", Breadth(LAPLACIANS, "lines")),
    Step("c", "every other Gaussian inline", Breadth((*LAPLACIANS, *ODD), "lines")),
    Step("", "bottom Gaussian inline (ARM)", Breadth((*LAPLACIANS, *BOTTOM), "lines")),
    Step("", "4 lanes", Breadth((*LAPLACIANS, *BOTTOM), "lines", 4)),
    Step("d", "8 lanes", Breadth((*LAPLACIANS, *BOTTOM), "lines", 8)),
    Step("", "16 lanes", Breadth((*LAPLACIANS, *BOTTOM), "lines", 16)),
    Step("", "coarse serial", Breadth((*LAPLACIANS, *BOTTOM), "lines", 16, 5)),
    Step(
        "",
        "intensities together",
        Breadth((*LAPLACIANS, *BOTTOM), "lines", 16, 5, True),
    ),
    Step("", "output in sliding strips", local_laplacian.schedule_lines),
)


def measure(
    module: str, step: Step, images: Mapping[str, Image], runs: int
) -> tuple[dict[str, float], Array]:
    """Seconds to compile, and the least and the median seconds of some runs."""
    hl, it = load(module), case("local_laplacian")
    app = it.algorithm(hl)
    step.schedule(hl, app)
    it.bind(hl, app, images)
    start = time.perf_counter()
    app.output.compile_jit()
    compiled = time.perf_counter() - start
    made = it.outputs[0].new()
    buffer = made.buffer(hl)
    taken = []
    for _ in range(runs + 1):  # the first warms up
        start = time.perf_counter()
        app.output.realize(buffer)
        taken.append(time.perf_counter() - start)
    least, median = min(taken[1:]), float(np.median(taken[1:]))
    return {"compile": compiled, "min": least, "median": median}, made.array


def table(rows: Sequence[Mapping[str, Any]], modules: Sequence[str]) -> str:
    """The rows as Markdown."""
    heads = ["", "schedule", *[f"{m}, ms" for m in modules]]
    lines = [" | ".join(heads), " | ".join(["---"] * len(heads))]
    for row in rows:
        times = [f"{row[m]['min'] * 1e3:.0f}" for m in modules]
        lines.append(" | ".join([row["letter"], row["name"], *times]))
    return "\n".join(f"| {line} |" for line in lines)


def draw(rows: Sequence[Mapping[str, Any]], modules: Sequence[str], path: Path) -> None:
    """The times in order, as in the paper, with the marked steps' letters."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    figure, axes = pyplot.subplots(figsize=(9, 4.6))
    places = range(len(rows))
    for module in modules:
        times = [row[module]["min"] * 1e3 for row in rows]
        axes.plot(places, times, marker="o", label=module)
    for at, row in enumerate(rows):
        if row["letter"]:
            top = max(row[m]["min"] for m in modules) * 1e3
            axes.annotate(
                f"({row['letter']})",
                (at, top),
                textcoords="offset points",
                xytext=(0, 8),
                ha="center",
            )
    axes.set_yscale("log")
    axes.set_ylabel("ms")
    axes.set_xticks(
        list(places), [row["name"] for row in rows], rotation=35, ha="right"
    )
    axes.set_title("schedules of the local Laplacian, in the order tried")
    axes.grid(axis="y", which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.figure8", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--halide", action="store_true", help="run Halide as well")
    parser.add_argument("--json", type=Path, default=Path("out/figure8.json"))
    parser.add_argument("--plot", type=Path, default=Path("out/figure8.svg"))
    options = parser.parse_args()
    modules = ["parhelion", "halide"] if options.halide else ["parhelion"]
    images = case("local_laplacian").inputs()
    rows: list[dict[str, Any]] = []
    wanted: Array | None = None
    for step in STEPS:
        row: dict[str, Any] = {"letter": step.letter, "name": step.name}
        for module in modules:
            row[module], result = measure(module, step, images, options.runs)
            wanted = result if wanted is None else wanted
            found = case("local_laplacian").difference([wanted], [result])
            if not case("local_laplacian").same(found):
                raise SystemExit(
                    f"{step.name}, {module}: {found} from the first result"
                )
        rows.append(row)
        text = "  ".join(f"{m} {row[m]['min'] * 1e3:8.1f} ms" for m in modules)
        print(f"{step.letter:2} {step.name:30} {text}", flush=True)
    print(table(rows, modules))
    threads = os.environ.get("HL_NUM_THREADS", "all")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"threads": threads, "rows": rows}, indent=1))
    draw(rows, modules, options.plot)
    print(f"wrote {options.json} and {options.plot}")


if __name__ == "__main__":
    main()
