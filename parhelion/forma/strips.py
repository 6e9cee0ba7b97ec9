"""Strips: which fused groups are computed line after line of the one that reads them.

The scheduler of the paper stores each group whole: its values go to memory and come
back. Here a group is computed in *lines*, if it can: those who read it run over strips
of lines, and before each line of theirs the lines of it are computed that are new; only
as many are kept as they read at once. Groups with one last reader are a *band*, whose
lines are computed in turn; the last one, its root, is stored whole.

A strip begins without lines from before: those that its first line reads are computed
by the strip above, too. By the model, this is all that a band costs, and strips are so
high that it is no more than `_TWICE` of the work. A read and an operation count as 1,
functions as `_FUNCTION`. Where strips would get higher than `_HIGHEST`, a group is
stored whole, as are groups that are read from several bands, that are results of the
program themselves, whose lines are read in another order (a domain that is wrapped
around) or at a distance that is no number, that are put together part after part, or
further from the root than `_GROUPS` others. Of programs with more than `_MANY` groups
each is stored whole, one line at a time, as all else would take long to compile.

A group of few operations that is read at points above each other alone is computed
where it is read, *inline*, if that adds no more work than storing it would: several
lines of the reader are computed at once, which have most of its points in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction

from parhelion.dataclass import dataclass
from parhelion.forma.composing import periods
from parhelion.forma.fuse import Edge, Fusion, Group, Reader, edges_of
from parhelion.forma.stages import (
    Apply,
    BoundaryKind,
    Compose,
    Crop,
    Graph,
    Output,
    Stage,
)
from parhelion.forma.terms import Access, MathCall, Read, Term
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Imm

#: So much of a band's work may be done twice, at the ends of strips.
_TWICE = Fraction(1, 16)
#: The most groups in lines of one other: their code stands in one loop, and once more
#: for its edges, and takes the compiler more time the more of it there is.
_GROUPS = 6
#: The most groups of a program with more code than that for each of them.
_MANY = 100
#: The most lines of a strip that this may ask for.
_HIGHEST = 128
#: What a call of a math function counts as.
_FUNCTION = 8
#: The lines of a stencil that are computed at once, if the code of all is no larger
#: than so many operations.
_LINES, _LARGEST = 4, 160
#: A dimension of so few points is no loop in vectors, nor one in parallel: along
#: others there are more of them.
FEW = 8
#: How much more may be computed of what is not stored, and the largest of its stencils:
#: to store and load a point is worth two or three operations.
_MORE, _SMALL = Fraction(3, 2), 10


@dataclass(frozen=True, slots=True)
class Rows:
    """Of which lines of a domain a line of a band's root needs: for the line y those
    from ``rate * y + low`` to ``rate * y + high``."""

    rate: Fraction
    low: Fraction
    high: Fraction

    def of(self, scale: Fraction, offset: Fraction) -> Rows:
        """Those that are read at ``offset + i * scale`` of each line i of these."""
        return Rows(
            self.rate * scale, self.low * scale + offset, self.high * scale + offset
        )

    def hull(self, other: Rows) -> Rows:
        return Rows(self.rate, min(self.low, other.low), max(self.high, other.high))

    @property
    def first(self) -> Fraction:
        """How many lines of the root's those are that the first one needs besides."""
        return (self.high - self.low) / self.rate


@dataclass(frozen=True, slots=True)
class Line:
    """A group that is computed in lines. rate: how many for one of the root's."""

    group: Group
    rate: Fraction


@dataclass(frozen=True, slots=True)
class Band:
    """Groups that are computed together. root: the one that is stored; lines: the
    others, in order; inline: those that are computed where they are read. block: how
    many lines of the root are computed at once; strip: at least so many between lines
    that are computed twice."""

    root: Group
    lines: tuple[Line, ...]
    inline: tuple[Group, ...]
    block: int
    strip: int


@dataclass(frozen=True, slots=True)
class Strips:
    """The bands of a program, in the order of their roots. why: of groups that are
    stored whole and whose readers are groups, the reason."""

    bands: tuple[Band, ...]
    why: Mapping[Group, str]

    def __str__(self) -> str:
        """In words: a line for each group."""
        told = []
        for band in self.bands:
            told += [f"{one.name}: inline, in what reads it" for one in band.inline]
            told += [
                f"{one.group.name}: in lines of {band.root.name}" for one in band.lines
            ]
            lines = f", {band.block} lines at once" if band.block > 1 else ""
            high = f", in strips of {band.strip} lines or more" if band.lines else ""
            why = self.why.get(band.root)
            because = f" ({why})" if why else ""
            told.append(f"{band.root.name}: whole{high}{lines}{because}")
        return "\n".join(told)


def strips(graph: Graph, fusion: Fusion) -> Strips:
    """Finds the bands of a program."""
    return run_deep(lambda: _Planner(graph, fusion).plan())


@dataclass(slots=True)
class _Draft:
    """A band that grows. rows: of each stage in it. groups: those in lines; inline: and
    those that are not stored."""

    root: Group
    rows: dict[Reader, Rows]
    groups: list[Group] = field(default_factory=list)
    inline: list[Group] = field(default_factory=list)


class _Planner:
    def __init__(self, graph: Graph, fusion: Fusion) -> None:
        self.groups = fusion.groups
        self.edges = edges_of(graph)
        self.results = {one.source.stage for one in graph.outputs}
        self.work = {s: _work(s) for g in self.groups for s in g.stages}
        self.why: dict[Group, str] = {}
        self.large = len(self.groups) > _MANY
        #: The band that each stage is in.
        self.band: dict[Reader, _Draft] = {}

    def plan(self) -> Strips:
        drafts = []
        for group in self._readers_first():
            refusal = self._join(group)
            if refusal is None:
                continue
            if refusal:
                self.why[group] = refusal
            zero = Rows(Fraction(1), Fraction(0), Fraction(0))
            draft = _Draft(group, {})
            drafts.append(draft)
            self._enter(draft, group, zero)
        order = {group: k for k, group in enumerate(self.groups)}
        drafts.sort(key=lambda one: order[one.root])
        return Strips(tuple([self._band(one) for one in drafts]), self.why)

    def _readers_first(self) -> list[Group]:
        """Copies come last of the groups, and all others after what they read."""
        return list(reversed(self.groups))

    # Joining

    def _join(self, group: Group) -> str | None:
        """Takes a group into the band of its readers. Returns why not, or None: in no
        words, where there is nobody to join."""
        stage = group.stored
        if isinstance(stage, Output) or stage in self.results:
            return ""
        if self.large:
            return "the program is large, and would take long to compile"
        edges = self.edges[stage]
        bands = [self.band[edge.reader] for edge in edges]
        if not edges or any([one is not bands[0] for one in bands]):
            return "several read it"
        draft = bands[0]
        root = draft.root.stored
        if stage.dimensions < 2 or _dimensions(root) != stage.dimensions:
            return "it has other dimensions"
        if _has_few_lines(root):
            return "there are few lines"
        if isinstance(stage, Compose) and periods(stage) is None:
            return "it is put together part after part"
        if isinstance(root, Compose) and periods(root) is None:
            return "who reads it is put together part after part"
        if self._wraps(stage):
            return "it is read from both ends at once"
        rows = self._rows(draft, edges)
        if isinstance(rows, str):
            return rows
        inline = self._is_inline(draft, group, edges)
        if not inline and len(draft.groups) == _GROUPS:
            return "there are many groups in lines already"
        lines = draft.groups + ([] if inline else [group])
        found = {**draft.rows, **self._inside(group, rows)}
        if self._strip(draft.root, lines, found) > _HIGHEST:
            return "too many of its lines would be computed twice"
        (draft.inline if inline else draft.groups).append(group)
        self._enter(draft, group, rows)
        return None

    def _enter(self, draft: _Draft, group: Group, rows: Rows) -> None:
        found = self._inside(group, rows)
        draft.rows |= found
        self.band |= dict.fromkeys(found, draft)

    def _inside(self, group: Group, rows: Rows) -> dict[Reader, Rows]:
        """The lines of each stage of a group, by those of what it stores."""
        found: dict[Reader, Rows] = {group.stored: rows}
        for stage in reversed(group.stages):
            for edge in self.edges[stage]:
                if stage not in found and edge.reader in found:
                    read = _read(found[edge.reader], edge)
                    found[stage] = rows if read is None else read
        return found

    def _rows(self, draft: _Draft, edges: Sequence[Edge]) -> Rows | str:
        """The lines of a stage that a band needs of it."""
        found: Rows | None = None
        for edge in edges:
            read = _read(draft.rows[edge.reader], edge)
            if read is None:
                return "it is read at a distance that is no number"
            if found is not None and read.rate != found.rate:
                return "it is read at several scales"
            found = read if found is None else found.hull(read)
        assert found is not None
        return found

    def _wraps(self, stage: Stage) -> bool:
        for edge in self.edges[stage]:
            if isinstance(edge.reader, Apply):
                told = zip(edge.reader.arguments, edge.reader.boundaries, strict=True)
                for source, boundary in told:
                    if (
                        boundary.kind is BoundaryKind.WRAP
                        and _whole(source.stage) is stage
                    ):
                        return True
        return False

    def _is_inline(self, draft: _Draft, group: Group, edges: Sequence[Edge]) -> bool:
        """Whether a group is computed where it is read: see the module."""
        reader, root = edges[0].reader, draft.root
        if reader is not root.stored and reader not in root.stages:
            return False  # of others, one line is computed at a time
        if any([e.reader is not reader or e.part is not None for e in edges]):
            return False
        if draft.rows[reader].rate != 1 or any([p > 1 for p in group.periods]):
            return False
        if len({e.along[:-1] for e in edges}) > 1 or self._work_of(group) > _SMALL:
            return False
        lines = self._block(root, [*draft.inline, group])
        scale = edges[0].along[-1][1]
        offsets = []
        for edge in edges:
            offset = edge.along[-1][0]
            assert isinstance(offset, Imm)  # else nobody knew what is needed of it
            offsets.append(offset.value)
        points = {y * scale + offset for y in range(lines) for offset in offsets}
        return Fraction(len(points), lines * scale) <= _MORE

    # What a band is

    def _band(self, draft: _Draft) -> Band:
        lines = tuple(
            [Line(one, draft.rows[one.stored].rate) for one in reversed(draft.groups)]
        )
        block = self._block(draft.root, draft.inline)
        for line in lines:
            period = line.group.periods[-1] if line.group.periods else 1
            # So many lines of it at a time are whole periods.
            block = math.lcm(block, (Fraction(period) / line.rate).numerator)
        strip = self._strip(draft.root, draft.groups, draft.rows)
        strip = -(-strip // block) * block
        return Band(draft.root, lines, tuple(reversed(draft.inline)), block, strip)

    def _block(self, root: Group, inline: Sequence[Group]) -> int:
        """How many lines of a band's root are computed at once."""
        period = root.periods[-1] if root.periods else 1
        if self.large or _dimensions(root.stored) < 2:
            return period
        code = sum([self._work_of(one) for one in (root, *inline)])
        code *= math.prod(root.periods[:-1])
        reads = any([self._is_high(one) for one in (root, *inline)])
        if not reads or period >= _LINES or _LINES % period or code * _LINES > _LARGEST:
            return period
        return _LINES

    def _is_high(self, group: Group) -> bool:
        """Whether a stencil of a group reads points above each other."""
        for stage in group.stages:
            if isinstance(stage, Apply):
                lines: dict[int, set[Access]] = {}
                for read in stage.body.reads:
                    lines.setdefault(read.source, set()).add(read.at[-1])
                if any([len(one) > 1 for one in lines.values()]):
                    return True
        return False

    def _work_of(self, group: Group) -> int:
        return sum([self.work[stage] for stage in group.stages])

    def _strip(
        self, root: Group, lines: Iterable[Group], rows: Mapping[Reader, Rows]
    ) -> int:
        """How high strips are, for no more than `_TWICE` of the work twice."""
        total, first = Fraction(self._work_of(root)), Fraction(0)
        for one in lines:
            found = rows[one.stored]
            work = self._work_of(one) * found.rate
            total += work
            first += work * found.first
        return math.ceil(first / max(total, Fraction(1)) / _TWICE)


def _read(rows: Rows, edge: Edge) -> Rows | None:
    """The lines that an edge leads to; None if nobody knows."""
    offset, scale = edge.along[-1]
    if not isinstance(offset, Imm):
        return None
    if edge.part is not None:
        assert isinstance(edge.reader, Compose)
        place = edge.reader.parts[edge.part].place[-1]
        if not isinstance(place.offset, Imm):
            return None
        back = Fraction(1, place.scale)
        rows = rows.of(back, -Fraction(place.offset.value) * back)
    return rows.of(Fraction(scale), Fraction(offset.value))


def _whole(stage: Stage) -> Stage:
    """What a crop is of."""
    while isinstance(stage, Crop):
        stage = stage.source.stage
    return stage


def _dimensions(reader: Reader) -> int:
    return (reader.source if isinstance(reader, Output) else reader).dimensions


def _has_few_lines(reader: Reader) -> bool:
    last = (reader.source if isinstance(reader, Output) else reader).sizes[-1]
    return isinstance(last, Imm) and last.value <= FEW


def _work(stage: Stage) -> int:
    """What a point of a stage costs: see the module."""
    if not isinstance(stage, Apply):
        return 1
    body = stage.body
    terms = [one.value for one in body.assignments] + list(body.results)
    return sum([_cost(t) for one in terms for t in _terms(one)])


def _terms(term: Term) -> Iterator[Term]:
    waiting = [term]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += one.operands


def _cost(term: Term) -> int:
    if isinstance(term, MathCall):
        return 1 if term.function in ("min", "max", "abs") else _FUNCTION
    return int(isinstance(term, Read) or bool(term.operands))


__all__ = ["FEW", "Band", "Line", "Strips", "strips"]
