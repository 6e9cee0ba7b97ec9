"""Lines of code of our filters, beside what the 2015 paper counts."""

from __future__ import annotations

from benchmarks.lines import called, code_lines
from benchmarks.recursive import applications

#: Of each application, the function in `applications`.
FUNCTIONS = {
    "Gaussian": "gaussian",
    "summed-area table": "summed_area",
    "box": "box",
    "cubic B-spline prefilter": "spline",
    "three boxes in turn": "boxes",
    "three boxes, a single and a double one": "box_and_double",
    "three boxes from one table": "triple_table",
    "difference of Gaussians": "difference_of_gaussians",
    "filters on a line": "line",
    "factors of a filter on a line": "factored",
}
#: What section 8 says of all its examples: lines of its language, of CUDA without tiles
#: and of CUDA in tiles.
PAPER = ("10 to 15", "100 to 200", "500 to 1100")


def count(function: str) -> int:
    """The lines of a function and of what it calls here that hold code, its signature
    and the choice of tiles included."""
    lines: set[int] = set()
    for f in called(applications, (function,)):
        lines |= code_lines(f)
    return len(lines)


def rows() -> list[list[str]]:
    """A row for each application."""
    return [[name, str(count(f)), *PAPER] for name, f in FUNCTIONS.items()]


__all__ = ["FUNCTIONS", "PAPER", "count", "rows"]
