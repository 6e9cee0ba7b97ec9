"""The cell ``%%parhelion`` of notebooks: expressions timed side by side, and how far
what they compute is apart.

Each expression that stands by itself in the cell is a candidate; all other statements
are run first, once, in their order. ``%load_ext parhelion`` makes the cell known.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import statistics
import time
from collections.abc import Sequence
from html import escape
from types import CodeType
from typing import Any, Protocol, TypeAlias

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, TypeMismatchError
from parhelion.lang.buffer import Buffer
from parhelion.tracebacks import ending
from parhelion.views.page import styled
from parhelion.views.pictures import as_image, picture
from parhelion.views.tables import bar, table, time_text

Pixels: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: Seconds that all candidates are repeated for, unless the cell's line says another.
_SECONDS = 2.0
#: How far a candidate's name goes in tables.
_LONGEST = 60
_numbers = itertools.count(1)


class Shell(Protocol):
    """What is needed of IPython's shell."""

    user_ns: dict[str, Any]

    def register_magic_function(
        self, func: Any, magic_kind: str, magic_name: str
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """An expression of a cell.

    text: the expression. value: what it computed at its first run. seconds: of each run
    but the first, which may compile.
    """

    text: str
    value: Any
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a cell ``%%parhelion`` shows: its expressions, their times, and how far they
    are from the first one. candidates: in their order."""

    candidates: tuple[Candidate, ...]

    def rows(self) -> list[list[str]]:
        """For each candidate: its text, the least and the median time, how many times
        as fast as the first it is, and how far from the first its value is."""
        return self._rows([words for words, _ in self._apart()])

    def _apart(self) -> list[tuple[str, Pixels | None]]:
        first, *others = self.candidates
        return [("", None), *[difference(first.value, one.value) for one in others]]

    def _rows(self, apart: Sequence[str]) -> list[list[str]]:
        first = min(self.candidates[0].seconds)
        return [
            [
                _shortened(one.text),
                time_text(min(one.seconds)),
                time_text(statistics.median(one.seconds)),
                f"{first / max(min(one.seconds), 1e-9):.3g} ×",
                words,
            ]
            for one, words in zip(self.candidates, apart, strict=True)
        ]

    def __repr__(self) -> str:
        rows = [list(_HEADS), *self.rows()]
        widths = [max([len(row[c]) for row in rows]) for c in range(len(_HEADS))]
        return "\n".join(
            [
                "  ".join(
                    [c.ljust(w) for c, w in zip(row, widths, strict=True)]
                ).rstrip()
                for row in rows
            ]
        )

    def _repr_html_(self) -> str:
        """The table, and below it the pictures of what are images."""
        apart = self._apart()
        rows = self._rows([words for words, _ in apart])
        slowest = max([min(one.seconds) for one in self.candidates])
        figures: list[str] = []
        for one, row, (_, far) in zip(self.candidates, rows, apart, strict=True):
            row[1] = bar(min(one.seconds) / max(slowest, 1e-9), row[1])
            figures += _figure(one.value, row[0])
            figures += _figure(far, f"difference of {row[0]}")
        runs = ", ".join([str(len(one.seconds)) for one in self.candidates])
        told = f"runs, in turn: {runs}; the first of each does not count"
        shown = f"<div class='ph-grids'>{''.join(figures)}</div>" if figures else ""
        return styled(f"{table(_HEADS, rows)}\n<p class='ph-dim'>{told}</p>\n{shown}")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_HEADS = ("expression", "least", "median", "speed", "from the first")


def load_ipython_extension(shell: Shell) -> None:
    """Makes the cell ``%%parhelion`` known; ``%load_ext parhelion`` calls it.

    >>> class Shell:
    ...     user_ns = {"n": 3}
    ...     def register_magic_function(self, func, magic_kind, magic_name):
    ...         print(magic_kind, magic_name)
    >>> hl.load_ipython_extension(Shell())
    cell parhelion
    """

    def parhelion(line: str, cell: str) -> Comparison:
        """Time the expressions of the cell, each on a line of its own, and compare what
        they compute: %%parhelion, or %%parhelion 5 for five seconds of it."""
        found: Comparison = ending(compared)(line, cell, shell.user_ns)
        return found

    shell.register_magic_function(parhelion, magic_kind="cell", magic_name="parhelion")


def compared(line: str, cell: str, names: dict[str, Any]) -> Comparison:
    """Runs the statements of a cell and then its expressions, in turn, until the time
    is over, which each has the same part of.

    line: the seconds, or nothing. names: the variables, which statements set. Raises
    TypeMismatchError for another line and for a cell without an expression, and what
    the cell raises.
    """
    limit = _limit(line)
    texts, runs = [], []
    tree, file = _parsed(line, cell)
    for statement in tree.body:
        if isinstance(statement, ast.Expr):
            texts.append(ast.unparse(statement.value))
            runs.append(_code(ast.Expression(statement.value), file, "eval"))
        else:
            exec(_code(ast.Module([statement], []), file, "exec"), names)
    if not runs:
        raise TypeMismatchError(
            "the cell has no expression to time",
            hint="write each candidate on a line of its own, such as sharpen(photo)",
        )
    first = [_kept(eval(run, names)) for run in runs]
    seconds: list[list[float]] = [[] for _ in runs]
    part = limit / len(runs)
    while pending := [k for k, s in enumerate(seconds) if not s or sum(s) < part]:
        for k in pending:
            start = time.perf_counter()
            eval(runs[k], names)
            seconds[k].append(time.perf_counter() - start)
    return Comparison(
        tuple(
            [
                Candidate(text, value, tuple(s))
                for text, value, s in zip(texts, first, seconds, strict=True)
            ]
        )
    )


def _limit(line: str) -> float:
    if not line.strip():
        return _SECONDS
    try:
        found = float(line)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 3600:
        raise TypeMismatchError(
            "%%parhelion takes a number of seconds, at most 3600, not"
            f" {line.strip()!r}",
            hint="write %%parhelion, or %%parhelion 5 for five seconds",
        )
    return found


def _parsed(line: str, cell: str) -> tuple[ast.Module, str]:
    """The tree of a cell, and the name by which tracebacks and errors find its lines;
    the first of them is that of the magic."""
    file = f"<%%parhelion {next(_numbers)}>"
    text = f"\n{cell}"
    lines = [f"%%parhelion {line}\n", *cell.splitlines(keepends=True)]
    linecache.cache[file] = (len(text), None, lines, file)
    return ast.parse(text, file), file


def _code(tree: ast.Expression | ast.Module, file: str, mode: str) -> CodeType:
    # Without the __future__ imports of this file.
    made: CodeType = compile(tree, file, mode, dont_inherit=True)
    return made


def _kept(value: Any) -> Any:
    """A value that later runs do not change: pixels may be those of an ``out=``."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.copy() if isinstance(value, Buffer) and value.defined() else value


def difference(a: Any, b: Any) -> tuple[str, Pixels | None]:
    """How far two values are apart, in words and element by element; None where that is
    not known, or nothing."""
    try:
        first, second = np.asarray(a), np.asarray(b)
    except (TypeError, ValueError, HalideError):
        return "no arrays", None
    if first.dtype.kind not in "biuf" or second.dtype.kind not in "biuf":
        return "no arrays of numbers", None
    if first.shape != second.shape and first.ndim == second.ndim == 3:
        # Channels that come first in one and last in the other.
        for moved in (np.moveaxis(second, 0, -1), np.moveaxis(second, -1, 0)):
            if moved.shape == first.shape:
                second = moved
    if first.shape != second.shape:
        return f"of shape {second.shape}, not {first.shape}", None
    exact = (first.astype(np.float64), second.astype(np.float64))
    same = (first == second) | (np.isnan(exact[0]) & np.isnan(exact[1]))
    if same.all():
        return "equal", None
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(exact[0] - exact[1]))
    most, share = apart.max(), 100 * (1 - same.mean())
    return f"up to {most:.3g}, {apart.mean():.2g} on average, in {share:.3g} %", apart


def _figure(value: Any, caption: str) -> list[str]:
    """The picture of a value that is an image, with a line above it."""
    if not isinstance(value, np.ndarray | Buffer):
        return []
    array = np.asarray(value)
    if not array.size or array.dtype.kind not in "biuf":
        return []
    image, which = as_image(array)
    if image is None:
        return []
    line = f"<figcaption>{escape(caption)}</figcaption>"
    return [f"<figure>{line}{picture(image, which)}</figure>"]


__all__ = [
    "Candidate",
    "Comparison",
    "compared",
    "difference",
    "load_ipython_extension",
]
