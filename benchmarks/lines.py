"""Lines of algorithm and of schedule of each application, beside the papers' counts.

    python -m benchmarks.lines

A line counts if it holds code: blank lines, comments and docstrings do not. Of an
application's module, the functions that schedules are made of count as schedule (each
alone: the shortest of the published quality is compared), `algorithm` and what it calls
as algorithm.
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


def called(module: ModuleType, start: Iterable[str]) -> list[FunctionType]:
    """Functions of a module by name, and those of the module that they call."""
    todo, found = list(start), dict[str, FunctionType]()
    while todo:
        name = todo.pop()
        f = getattr(module, name, None)
        if name in found or not isinstance(f, FunctionType):
            continue
        if f.__module__ == module.__name__:
            found[name] = f
            todo += f.__code__.co_names
            for constant in f.__code__.co_consts:
                todo += getattr(constant, "co_names", ())
    return list(found.values())


def count(name: str) -> tuple[int, int]:
    """Lines of algorithm and of schedule of an application."""
    module = importlib.import_module(f"apps.{name}")
    sizes = []
    for start in (_BUILDERS, (f"schedule_{SCHEDULES[name]}",)):
        lines: set[int] = set()
        for f in called(module, start):
            lines |= code_lines(f)
        sizes.append(len(lines))
    return sizes[0], sizes[1]


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


if __name__ == "__main__":
    print(table())
