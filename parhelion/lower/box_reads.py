"""Reads of a stage that together form boxes: every point of a box is read.

Such a read has coordinates that depend on loop variables alone, each variable in one
coordinate, and that leave out nothing between their bounds: sums of variables and
constants, their quotients, and clamps of them. A stencil is one box:

    f(x - 1, y), f(x, y), f(x + 1, y)      ->      [x - 1, x + 1] x [y, y]

What is read on demand can be demanded box by box, outside of the loops that run over
it, and still no more is computed than what is read. Of all others, at one point, those
are demanded that touch every part that any of them does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from parhelion.analysis.linear import linear
from parhelion.analysis.rank import reads_data
from parhelion.dataclass import dataclass
from parhelion.ir.build import add, const_int, int32, sub
from parhelion.ir.expr import Div, Expr, FuncCall, Intrinsic, Max, Min, Var
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import free_vars
from parhelion.lower.stages import LoopStage
from parhelion.simplify.simplifier import simplify

#: What a read may leave out between the points of a dimension: less than this many
#: coordinates, the size of what is computed at a time; None for any number.
Sizes = Sequence[int | None]


#: What a read is needed under.
Conditions = tuple[Expr, ...]

#: The least and the greatest offset of each dimension.
_Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BoxRead:
    """A box of `func`: in each dimension the coordinates with the least and the
    greatest value at any point, as expressions over the stage's variables. reads: how
    many it stands for at each point."""

    func: Function
    ends: tuple[tuple[Expr, Expr], ...]
    reads: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A coordinate: `shape` moved by `offset`. mentioned: the stage's variables in it.
    gap: how far apart two neighbouring values of it are at most."""

    shape: Expr
    offset: int
    mentioned: frozenset[Var]
    gap: int


def box_reads(
    own: frozenset[Var], reads: Iterable[FuncCall], sizes: Mapping[Function, Sizes]
) -> tuple[list[BoxRead], set[FuncCall]]:
    """The boxes that some reads of a definition form, and which of the reads they are
    of. own: its variables."""
    groups: dict[tuple[Function, tuple[Expr, ...]], _Group] = {}
    covered: set[FuncCall] = set()
    for read in reads:
        lines = _lines(read, own, sizes[read.func])
        if lines is None:
            continue
        covered.add(read)
        key = read.func, tuple([line.shape for line in lines])
        group = groups.setdefault(key, _Group(len(lines)))
        group.enter(lines, read.args)
    boxes: list[BoxRead] = []
    for (func, _), group in groups.items():
        boxes += group.boxes(func, sizes[func])
    return boxes, covered


def variables(stage: LoopStage) -> frozenset[Var]:
    """The variables of a stage's definition."""
    rvars = () if stage.rdom is None else stage.rdom.vars
    return frozenset((*stage.pure_vars, *rvars))


def _lines(read: FuncCall, own: frozenset[Var], sizes: Sizes) -> list[_Line] | None:
    """The coordinates of a read that covers a box; None of any other."""
    lines: list[_Line] = []
    seen: set[Var] = set()
    for arg, size in zip(read.args, sizes, strict=True):
        line = _line(arg, own)
        if line is None or not seen.isdisjoint(line.mentioned):
            return None
        if size is not None and line.gap > size:
            return None
        seen |= line.mentioned
        lines.append(line)
    return lines


def _line(e: Expr, own: frozenset[Var]) -> _Line | None:
    mentioned = free_vars(e) & own
    if not mentioned:
        return None if reads_data(e) else _Line(e, 0, frozenset(), 0)
    if isinstance(e, Intrinsic):
        return _line(e.args[0], own) if e.op in LIKELY else None
    if isinstance(e, Min | Max):
        a, b = (e.a, e.b) if free_vars(e.a) & own else (e.b, e.a)
        if free_vars(b) & own or reads_data(b):
            return None
        inner = _line(a, own)
        if inner is None:
            return None
        shape = type(e)(inner.shape, b)
        return _Line(shape, inner.offset, inner.mentioned, inner.gap)
    if isinstance(e, Div):
        by = const_int(e.b)
        inner = None if by is None or by < 1 else _line(e.a, own)
        if inner is None or by is None:
            return None
        gap = max(1, -(-inner.gap // by))
        return _Line(Div(inner.shape, e.b), inner.offset, inner.mentioned, gap)
    return _sum(e, own)


def _sum(e: Expr, own: frozenset[Var]) -> _Line | None:
    """A sum of variables; or of one clamp or quotient and constants."""
    form = linear(e)
    varying = {atom: c for atom, c in form.terms.items() if free_vars(atom) & own}
    if any([reads_data(atom) for atom in form.terms]) or not varying:
        return None
    if all([isinstance(atom, Var) for atom in varying]):
        gap = max([abs(c) for c in varying.values()])
        shape = simplify(sub(e, int32(form.const)))
        found = frozenset([atom for atom in varying if isinstance(atom, Var)])
        return _Line(shape, form.const, found, gap)
    ((atom, c), *others) = varying.items()
    if others or c != 1 or atom is e:
        return None
    inner = _line(atom, own)
    if inner is None:
        return None
    rest = simplify(sub(e, atom))
    return _Line(
        add(inner.shape, rest), inner.offset, inner.mentioned, max(1, inner.gap)
    )


def corner_reads(
    own: frozenset[Var],
    reads: Iterable[tuple[FuncCall, Conditions]],
    sizes: Mapping[Function, Sizes],
) -> Iterator[tuple[FuncCall, Conditions, int]]:
    """Of reads under conditions those that touch all parts that any of them does at one
    point, and how many reads they stand for: of a stencil that is smaller than a part,
    its corners. own: the variables of the definition that reads."""
    groups: dict[tuple[Function, Conditions, tuple[Expr, ...]], _Group] = {}
    first: dict[Function, FuncCall] = {}
    for read, conditions in reads:
        lines = [_moved(arg, own) for arg in read.args]
        key = read.func, conditions, tuple([line.shape for line in lines])
        groups.setdefault(key, _Group(len(lines))).enter(lines, read.args)
        first.setdefault(read.func, read)
    for (func, conditions, _), group in groups.items():
        for args, count in group.corners(sizes[func]):
            read = FuncCall(first[func].type, func, args, first[func].index)
            yield read, conditions, count


def _moved(e: Expr, own: frozenset[Var]) -> _Line:
    """Any coordinate as one that is moved, also inside of clamps and quotients: its
    values at two offsets are no farther apart than these, and in their order."""
    if isinstance(e, Intrinsic) and e.op in LIKELY:
        return _moved(e.args[0], own)
    if isinstance(e, Min | Max):
        a, b = (e.a, e.b) if free_vars(e.a) & own else (e.b, e.a)
        if not free_vars(b) & own:
            inner = _moved(a, own)
            return replace(inner, shape=type(e)(inner.shape, b))
    by = const_int(e.b) if isinstance(e, Div) else None
    if isinstance(e, Div) and by is not None and by >= 1:
        inner = _moved(e.a, own)
        return replace(inner, shape=Div(inner.shape, e.b))
    offset = linear(e).const
    return _Line(simplify(sub(e, int32(offset))), offset, frozenset(), 0)


class _Group:
    """Reads that differ by constants alone."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._offsets: dict[_Spans, None] = {}
        self._args: list[dict[int, Expr]] = [{} for _ in range(dimensions)]

    def enter(self, lines: Sequence[_Line], args: Sequence[Expr]) -> None:
        self._offsets[tuple([(line.offset, line.offset) for line in lines])] = None
        for known, line, arg in zip(self._args, lines, args, strict=True):
            known.setdefault(line.offset, arg)

    def corners(self, sizes: Sizes) -> Iterator[tuple[tuple[Expr, ...], int]]:
        """Coordinates in all that reads touch, and how many reads they stand for."""
        left = dict.fromkeys(self._offsets, 1)
        for d in range(self._dimensions):
            left = _joined(left, d, sizes[d])
        for box, reads in left.items():
            each = [
                [known[o] for o in _enough(known, span, size)]
                for known, span, size in zip(self._args, box, sizes, strict=True)
            ]
            for at in product(*each):
                yield at, reads
                reads = 0

    def boxes(self, func: Function, sizes: Sizes) -> list[BoxRead]:
        """The fewest boxes that are found by joining neighbours along one dimension
        after the other."""
        left = dict.fromkeys(self._offsets, 1)
        for d in range(self._dimensions):
            left = _joined(left, d, sizes[d])
        made: list[BoxRead] = []
        for box, reads in left.items():
            ends = [
                (self._args[d][low], self._args[d][high])
                for d, (low, high) in enumerate(box)
            ]
            made.append(BoxRead(func, tuple(ends), reads))
        return made


def _enough(
    offsets: Iterable[int], span: tuple[int, int], size: int | None
) -> list[int]:
    """Those of the offsets in a span that leave out nothing between them."""
    low, high = span
    kept = [low]
    if size is None:
        return kept
    inside = sorted([o for o in offsets if low <= o <= high])
    for o, after in zip(inside, [*inside[1:], None], strict=True):
        if o > kept[-1] and (after is None or after - kept[-1] > size):
            kept.append(o)
    return kept


def _joined(boxes: Mapping[_Spans, int], d: int, size: int | None) -> dict[_Spans, int]:
    """Boxes with those joined that differ in dimension `d` alone and leave nothing out
    between them; and how many reads are in each."""
    rows: dict[tuple[_Spans, _Spans], list[tuple[int, int, int]]] = {}
    for box, reads in boxes.items():
        rows.setdefault((box[:d], box[d + 1 :]), []).append((*box[d], reads))
    out: dict[_Spans, int] = {}
    for (before, after), spans in rows.items():
        spans.sort()
        low, high, total = spans[0]
        for a, b, reads in spans[1:]:
            if size is not None and a - high > size:
                out[*before, (low, high), *after] = total
                low, total = a, 0
            high, total = max(high, b), total + reads
        out[*before, (low, high), *after] = total
    return out


__all__ = [
    "BoxRead",
    "Conditions",
    "Sizes",
    "box_reads",
    "corner_reads",
    "variables",
]
