"""Lines of algorithm and of schedule of each application, beside the papers' counts.

    python -m benchmarks.lines

A line counts if it holds code: blank lines, comments and docstrings do not. Of an
application's module, the functions that schedules are made of count as schedule (each
alone: the shortest of the published quality is compared), `algorithm` and what it calls
as algorithm. Recursive filters are scheduled by themselves: of their applications, one
function and all that it calls are counted.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import tokenize
from collections.abc import Iterable
from types import FunctionType, ModuleType

#: Of each application: the schedule that is counted.
SCHEDULES = {
    "blur": "tiled",
    "unsharp": "tiled",
    "harris": "tiled",
    "hist": "rows",
    "camera_pipe": "strips",
    "local_laplacian": "lines",
    "bilateral_grid": "lines",
    "interpolate": "lines",
    "max_filter": "strips",
    "level_set": "fused",
}
#: Lines of algorithm and schedule in the 2012 paper (section 6).
PAPER = {
    "camera_pipe": (145, 23),
    "local_laplacian": (62, 7),
    "bilateral_grid": (34, 6),
    "level_set": (None, 1),
}
#: Applications of recursive filters: their modules and functions.
RECURSIVE = {
    "summed-area table": ("sat", "summed_area_table"),
    "sums of boxes": ("sat", "box_sums"),
    "box filters by tables": ("box", "box_by_tables"),
    "box filters by running sums": ("box", "box_by_running_sums"),
    "cubic B-spline prefilter": ("bspline", "prefilter"),
    "bicubic resizing": ("bspline", "resize"),
    "Gaussian blur": ("gaussian", "gaussian_blur"),
    "difference of Gaussians": ("dog", "difference_of_gaussians"),
    "unsharp mask": ("unsharp", "unsharp_mask"),
    "smoothing within edges": ("domain_transform", "smooth_within_edges"),
    "filter of high order": ("signals", "recursive"),
    "second-order sections": ("signals", "sections"),
}
_BUILDERS = ("algorithm", "edge_indicator", "gradient", "iteration")
_SILENT = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
)


def code_lines(f: FunctionType) -> set[int]:
    """The numbers of the lines of a function, within its file, that hold code."""
    source, first = inspect.getsourcelines(f)
    text = "".join(source)
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT and token.string:
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            doc = node.body[0]
            assert doc.end_lineno is not None
            found -= set(range(doc.lineno, doc.end_lineno + 1))
    return {first + n for n in found}


def called(
    module: ModuleType, start: Iterable[str], within: str = ""
) -> list[FunctionType]:
    """Functions of a module by name, and those that they call: of the module, or of any
    module whose name begins with `within`."""
    todo = [getattr(module, name, None) for name in start]
    found: list[FunctionType] = []
    while todo:
        f = todo.pop()
        if f in found or not isinstance(f, FunctionType):
            continue
        if f.__module__.startswith(within or module.__name__):
            found.append(f)
            names = list(f.__code__.co_names)
            for constant in f.__code__.co_consts:
                names += getattr(constant, "co_names", ())
            todo += [f.__globals__.get(name) for name in names]
    return found


def lines_of(functions: Iterable[FunctionType]) -> int:
    """How many lines of functions hold code; functions may share lines."""
    return len({(f.__module__, n) for f in functions for n in code_lines(f)})


def count(name: str) -> tuple[int, int]:
    """Lines of algorithm and of schedule of an application."""
    module = importlib.import_module(f"apps.{name}")
    algorithm = called(module, _BUILDERS)
    schedule = called(module, (f"schedule_{SCHEDULES[name]}",))
    return lines_of(algorithm), lines_of(schedule)


def table() -> str:
    """Markdown."""
    rows = [
        "| application | algorithm | schedule | paper: algorithm | paper: schedule |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in SCHEDULES:
        cells = [str(n) for n in count(name)]
        cells += ["" if n is None else str(n) for n in PAPER.get(name, (None, None))]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def recursive_table() -> str:
    """Markdown, of the applications of recursive filters."""
    rows = ["| application | function | lines |", "| --- | --- | --- |"]
    for name, (module, function) in RECURSIVE.items():
        where = importlib.import_module(f"apps.recursive.{module}")
        lines = lines_of(called(where, [function], "apps.recursive."))
        rows.append(f"| {name} | `{module}.{function}` | {lines} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(), recursive_table(), sep="\n\n")
