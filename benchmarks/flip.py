"""The experiment of "Dynamic Scheduling in Halide" (2013): how often a stage runs.

    python -m benchmarks.flip

counts the values of `invert` that are computed for `flip`, which looks them up where a
vector field says: at root, nested in the loops of `flip`, and on demand; with
``--page``, it writes the page of the docs and its plot as well. The images have the
paper's 132 x 99 pixels.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array, photograph, read_image

WIDTH, HEIGHT = 132, 99
#: Pixels darker than this are looked up elsewhere, in the second program.
DARK = 90
COINS = Path(__file__).parent.parent / "apps" / "data" / "coins.png"

x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))


@dataclass(frozen=True)
class Program:
    """Two stages. producer: the one whose values are counted."""

    producer: hl.Func
    output: hl.Func


Make = Callable[[Array], Program]


def images() -> dict[str, Array]:
    """Three images of the paper's size, (H, W) uint8."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    rings = np.hypot(rows - HEIGHT / 2, columns - WIDTH / 2) * 8 % 256
    return {
        "portrait": _small(photograph().mean(axis=0)),
        "coins": _small(read_image(COINS).mean(axis=0)),
        "rings": rings.astype(np.uint8),
    }


def _small(image: Array) -> Array:
    """Every so many pixels of an image, so that the size is the paper's."""
    rows = np.linspace(0, image.shape[0] - 1, HEIGHT).astype(int)
    columns = np.linspace(0, image.shape[1] - 1, WIDTH).astype(int)
    return np.ascontiguousarray(image[np.ix_(rows, columns)].astype(np.uint8))


def field() -> tuple[Array, Array]:
    """Where each pixel looks: near the centre at the corners, near those at the
    centre."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.int32)
    return (columns + WIDTH // 2) % WIDTH, (rows + HEIGHT // 2) % HEIGHT


def flip(image: Array, dark: int | None) -> Program:
    """The paper's Figure 3: `invert`, then a blur of 3 x 3 pixels of it around where
    the field says; with `dark`, only of darker pixels."""
    source, (u, v) = hl.Buffer(image), map(hl.Buffer, field())
    invert, out = hl.funcs("invert flip")
    invert[x, y] = hl.u8(255) - source[x, y]
    taps = [
        hl.u16(
            invert[
                hl.clamp(u[x, y] + i, 0, WIDTH - 1),
                hl.clamp(v[x, y] + j, 0, HEIGHT - 1),
            ]
        )
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
    ]
    blurred = hl.u8(sum(taps[1:], taps[0]) // 9)
    if dark is None:
        out[x, y] = blurred
    else:
        out[x, y] = hl.select(source[x, y] < dark, blurred, source[x, y])
    return Program(invert, out)


def far_away(image: Array) -> Program:
    """The paper's Figure 1, right: a blur whose outer taps are a random number of
    pixels away."""
    source = hl.Buffer(image)
    rows, out = hl.funcs("blur_y blur_x")
    clamped = hl.BoundaryConditions.repeat_edge(source)
    random = np.random.default_rng(1)
    shape = (3, HEIGHT, WIDTH)
    offsets = random.integers(0, 20, shape).astype(np.int32)
    away, to_left, to_right = [hl.Buffer(one)[x, y] for one in offsets]
    rows[x, y] = hl.u8(
        (
            hl.u16(clamped[x, hl.clamp(y - away, 0, HEIGHT - 1)])
            + clamped[x, y]
            + clamped[x, hl.clamp(y + away, 0, HEIGHT - 1)]
        )
        // 3
    )
    left = hl.clamp(x - to_left, 0, WIDTH - 1)
    right = hl.clamp(x + to_right, 0, WIDTH - 1)
    out[x, y] = hl.u8((hl.u16(rows[left, y]) + rows[x, y] + rows[right, y]) // 3)
    return Program(rows, out)


PROGRAMS: Mapping[str, Make] = {
    "flip": lambda image: flip(image, None),
    "flip, dark pixels": lambda image: flip(image, DARK),
    "blur with random offsets": far_away,
}


def _tiled(p: Program, size: int) -> None:
    p.output.tile(x, y, xi, yi, size, size)
    p.producer.compute_at(p.output, x)


SCHEDULES: Mapping[str, Callable[[Program], Any]] = {
    "root": lambda p: p.producer.compute_root(),
    "in tiles of 32 x 32": lambda p: _tiled(p, 32),
    "in tiles of 8 x 8": lambda p: _tiled(p, 8),
    "in each row": lambda p: p.producer.compute_at(p.output, y),
    "in each pixel": lambda p: p.producer.compute_at(p.output, x),
    "on demand, values": lambda p: p.producer.compute_lazy(),
    "on demand, tiles of 8 x 8": lambda p: p.producer.compute_lazy((8, 8)),
    "on demand, tiles of 32 x 32": lambda p: p.producer.compute_lazy((32, 32)),
}


def count(make: Make, image: Array, schedule: Callable[[Program], Any]) -> int:
    """How many values of the producer are computed."""
    p = make(image)
    schedule(p)
    size = [WIDTH, HEIGHT]
    if p.producer._function.schedule.on_demand:
        return round(p.output.profile(size)[p.producer.name()].computed)
    # All that decides is the sizes: it is counted without running the loops.
    told = p.output.report(size)
    row = next(f for f in told.funcs if p.producer.name().startswith(f.name))
    return round(row.recomputed * WIDTH * HEIGHT)


def counts() -> dict[str, dict[str, dict[str, int]]]:
    """By program, schedule and image. Raises AssertionError if outputs differ."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for program, make in PROGRAMS.items():
        rows = found[program] = {}
        for image, pixels in images().items():
            want: Array | None = None
            for name, schedule in SCHEDULES.items():
                rows.setdefault(name, {})[image] = count(make, pixels, schedule)
                if name == "in each pixel":
                    continue  # 170 million values for each of the runs
                p = make(pixels)
                schedule(p)
                got = np.asarray(p.output.realize([WIDTH, HEIGHT]))
                want = got if want is None else want
                np.testing.assert_array_equal(got, want)
    return found


def table(found: Mapping[str, Mapping[str, int]]) -> str:
    names = list(next(iter(found.values())))
    head = f"| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}"
    lines = [
        f"| {schedule} | {' | '.join(f'{row[n]:,}' for n in names)} |"
        for schedule, row in found.items()
    ]
    return "\n".join([head, *lines])


def draw(found: Mapping[str, Mapping[str, Mapping[str, int]]], path: Path) -> None:
    """Bars for each schedule, on a scale of powers of ten; a panel for each program."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    figure, panels = pyplot.subplots(1, len(found), figsize=(13, 4), sharey=True)
    for axes, (program, rows) in zip(panels, found.items(), strict=True):
        height = 0.8 / len(images())
        for k, image in enumerate(next(iter(rows.values()))):
            places = [i + (k - 1) * height for i in range(len(rows))]
            axes.barh(
                places, [row[image] for row in rows.values()], height, label=image
            )
        axes.axvline(WIDTH * HEIGHT, color="black", linewidth=1)
        axes.set_xscale("log")
        axes.set_title(program)
        axes.set_xlabel("values computed")
        axes.set_yticks(range(len(rows)), list(rows))
    panels[0].invert_yaxis()
    panels[0].legend(loc="lower right")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


PAGE = """# How often a stage is computed

Written by `python -m benchmarks.flip --page {page}`.

"Dynamic Scheduling in Halide" (2013) counts how often a stage, `invert`, is computed
for another one, `flip`, that looks its values up where a vector field says: {whole}
times at root, the number of pixels of its image, and 252,648 to 7,847,400 times where
it is nested in the loops of `flip`, as each of these iterations could need all of it.
On demand, each value is computed once at most.

![Values computed]({plot})

Where the region that an iteration needs is not known, it is all that the clamps of the
indices allow: the field is data to the compiler. (The paper's field was an expression,
of which its compiler knew a little more.) Our counts of nested schedules follow from
the sizes alone; those on demand were counted in runs.

{tables}

`flip` reads nine values around each place of the field; of its second form, only where
a pixel is darker than {dark}. The third program is the paper's Figure 1: a blur whose
outer taps are up to 19 pixels away, by chance.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.flip", description=__doc__)
    parser.add_argument("--page", type=Path, help="write this page, its plot beside it")
    options = parser.parse_args()
    found = counts()
    tables = [f"## {name}\n\n{table(rows)}" for name, rows in found.items()]
    print("\n\n".join(tables))
    if options.page:
        plot = options.page.with_suffix(".svg")
        draw(found, plot)
        options.page.write_text(
            PAGE.format(
                page=options.page,
                plot=plot.name,
                whole=f"{WIDTH * HEIGHT:,}",
                tables="\n\n".join(tables),
                dark=DARK,
            )
        )


if __name__ == "__main__":
    main()
