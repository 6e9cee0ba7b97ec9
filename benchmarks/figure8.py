"""The 2012 paper's Figure 8: schedules of the local Laplacian, in the order tried.

    python -m benchmarks.figure8

runs them all on an image of four megapixels, prints their times, and draws the plot;
with ``--page``, the page of the docs as well. The steps follow the figure's caption;
(a) to (d) are those that it marks. The number of threads comes from HL_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps import local_laplacian
from apps.common import App, Array, Module
from apps.local_laplacian import PYRAMID
from benchmarks import runtime
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


def prepare(
    module: str, step: Step, images: Mapping[str, Image]
) -> tuple[Callable[[], object], Array]:
    """What runs a compiled schedule, and the result of its first run."""
    hl, it = load(module), case("local_laplacian")
    app = it.algorithm(hl)
    step.schedule(hl, app)
    it.bind(hl, app, images)
    app.output.compile_jit()
    made = it.outputs[0].new()
    buffer = made.buffer(hl)
    app.output.realize(buffer)
    return lambda: app.output.realize(buffer), made.array


def agree(step: Step, module: str, wanted: Array, result: Array) -> None:
    """Ends the program if a schedule's result is not that of the first one."""
    found = case("local_laplacian").difference([wanted], [result])
    if not case("local_laplacian").same(found):
        raise SystemExit(f"{step.name}, {module}: {found} from the first result")


def times(modules: Sequence[str], seconds: float) -> list[dict[str, Any]]:
    """A row for each step. All run in turn, so that what else the machine does falls on
    all alike."""
    images = case("local_laplacian").inputs()
    runs: dict[str, Callable[[], object]] = {}
    wanted: Array | None = None
    for step in STEPS:
        for module in modules:
            run, result = prepare(module, step, images)
            wanted = result.copy() if wanted is None else wanted
            agree(step, module, wanted, result)
            runs[f"{module} {step.name}"] = run
        print(f"compiled: {step.name}", file=sys.stderr, flush=True)
    taken = runtime.measure(runs, seconds)
    return [
        {"letter": step.letter, "name": step.name}
        | {module: taken[f"{module} {step.name}"] for module in modules}
        for step in STEPS
    ]


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


PAGE = """# The schedules of Figure 8

The 2012 paper's Figure 8 shows how its authors searched for a schedule of the local
Laplacian: each step changes the one before. Here are those steps on {size}
pixels, on {threads} threads; `python -m benchmarks.figure8 --page docs/figure8.md`
measures them, in turn and several times each, and keeps the least. (a) to (d) are the
paper's marks, and the first step is where it began.

![Times of the schedules]({plot})

{table}

(a) All stages at root, their outermost loops parallel. (b) The Laplacian pyramids are
differences of what is at hand, and inlined. (c) Inlining every other Gaussian level as
well is dangerous: each level that is left computes the level between for each of its
pixels, many times over. (d) Of the Gaussian levels, only the bottom one, a look-up in a
table, is worth recomputing; with vectors this is the paper's best on x86, and without
them its best on ARM. The last steps are ours: what is too small is left serial, the
intensities of a pixel lie together in memory, and the output is computed in strips of
lines along which its producers slide.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.figure8", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="to measure all")
    parser.add_argument("--halide", action="store_true", help="run Halide as well")
    parser.add_argument("--json", type=Path, default=Path("out/figure8.json"))
    parser.add_argument(
        "--page", type=Path, help="write this page, and its plot beside"
    )
    options = parser.parse_args()
    modules = ["parhelion", "halide"] if options.halide else ["parhelion"]
    threads = os.environ.get("HL_NUM_THREADS") or str(os.cpu_count())
    rows = times(modules, options.seconds)
    print(table(rows, modules))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"threads": threads, "rows": rows}, indent=1))
    plot = (options.page or options.json).with_suffix(".svg")
    draw(rows, modules, plot)
    print(f"wrote {options.json} and {plot}")
    if options.page:
        options.page.write_text(
            PAGE.format(
                size=case("local_laplacian").size,
                threads=threads,
                plot=plot.name,
                table=table(rows, modules),
            )
        )


if __name__ == "__main__":
    main()
