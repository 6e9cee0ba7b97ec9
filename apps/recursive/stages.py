"""The stages of recursive filters, drawn for docs/recursive-filters.md.

    python -m apps.recursive.stages

writes them to docs/images/: filters along whole lines, what Figures 3 to 5 of the 2015
paper show, and a cascade.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
SIZE, TILE = 4096, 32


def series(*directions: str, tiled: bool = True) -> RecFilter:
    """Filters along directions, as ``"+x"``, over all dimensions that these name."""
    dims = {d[1:]: RecFilterDim(d[1:], SIZE) for d in directions}
    f = RecFilter("f")
    image = hl.ImageParam(hl.Float(32), len(dims), "image")
    f[tuple(dims.values())] = image[tuple(dims.values())]
    for one in directions:
        d = dims[one[1:]]
        f.add_filter(+d if one[0] == "+" else -d, [0.5, 0.5])
    for d in dims.values() if tiled else ():
        f.split(d, TILE)
    return f


DRAWN: dict[str, Callable[[], RecFilter]] = {
    "recursive_lines": lambda: series("+x", "-x", "+y", tiled=False),
    "recursive_one": lambda: series("+x"),
    "recursive_two": lambda: series("+x", "-x"),
    "recursive_plane": lambda: series("+x", "-x", "+y", "-y"),
    "recursive_cascade": lambda: series("+x", "+y").cascade([0], [1])[-1],
}


def main() -> None:
    """Draws all of them, or those that are named."""
    parser = argparse.ArgumentParser(description="Draws the stages of filters.")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(DRAWN))
    parser.add_argument("--out", type=Path, default=IMAGES, help="the folder")
    told = parser.parse_args()
    for name in told.names or DRAWN:
        if name not in DRAWN:
            parser.error(f"there is no picture {name}; there are {', '.join(DRAWN)}")
        DRAWN[name]().draw(told.out / f"{name}.svg")


if __name__ == "__main__":
    main()
