"""The Funcs of a pipeline that have frames: their axis of time, and what they read.

`Timed.demand` says, for some frames of some Funcs, which frames of the others and of
the video they need; `Timed.shifts` whether that is the same for all frames but the
first ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import DefinitionError, here
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.order import realization_order
from parhelion.streaming.spans import FRAMES, MANY, SAME, Span, Walk


@dataclass(frozen=True, slots=True)
class Video:
    """The image that the frames of a stream are those of. time: its dimension."""

    image: BufferSym
    time: int

    @property
    def first(self) -> Var:
        """What stands for the first coordinate in time, which is 0."""
        return self.image.dims[self.time].min

    @property
    def count(self) -> Var:
        """What stands for the number of frames."""
        return self.image.dims[self.time].extent


@dataclass(slots=True)
class Demand:
    """What some frames need. spans: by Func and image, the first and last frame.
    open: whether the values may depend on where the video ends."""

    spans: dict[Function | BufferSym, Span] = field(default_factory=dict)
    open: bool = False

    def add(self, of: Function | BufferSym, span: Span) -> None:
        """Adds frames that are needed."""
        known = self.spans.get(of)
        self.spans[of] = span if known is None else known.hull(span)


class Timed:
    """A pipeline over a video.

    order: its Funcs, producers first. times: the dimension of time of each Func that
    has one, and of the image. names: what messages call them.

    Raises DefinitionError for Funcs whose frames are not computed one by one.
    """

    def __init__(
        self, outputs: Mapping[Function, int], video: Video, called: str
    ) -> None:
        self.video = video
        self.outputs = dict(outputs)
        self.order = list(realization_order(list(outputs)))
        self.times: dict[Function | BufferSym, int] = {video.image: video.time}
        self.called = called
        #: Funcs that are read at other times than some frames before or after.
        self.bent: set[Function] = set()
        self._reading: set[Function] = set()
        for f in self.order:
            self._find_time(f)
        for f in self.order:
            for d in f.updates:
                self._check_update(f, d)
            for d in f.stages():
                self._check_domain(f, d)

    # What has frames.

    def reads_frames(self, f: Function) -> bool:
        """Whether a Func depends on the video."""
        return f in self._reading

    def _find_time(self, f: Function) -> None:
        found: set[Var] = set()
        for d in f.stages():
            for n in nodes(*d.values, *d.args, *d.guard):
                if not isinstance(n, FuncCall | ImageLoad):
                    continue
                of = n.func if isinstance(n, FuncCall) else n.image
                if of is f:
                    continue
                if of is self.video.image or of in self._reading:
                    self._reading.add(f)
                at = self.times.get(of)
                if at is not None:
                    if isinstance(of, Function) and not _is_near(n.args[at]):
                        self.bent.add(of)
                    found |= {v for v in free_vars(n.args[at]) if v in f.args}
        if f in self.outputs:
            found.add(f.args[self.outputs[f]])
        if len(found) > 1:
            names = ", ".join(sorted([v.name for v in found]))
            raise DefinitionError(
                f"the frames that Func {f.label!r} reads depend on several of its"
                f" coordinates, {names}",
                at=f.site or here(),
                hint="in a stream, one coordinate is the time of a frame",
            )
        if found and (f in self._reading or f in self.outputs):
            self.times[f] = f.args.index(found.pop())
            if f.extern is not None:
                raise DefinitionError(
                    f"foreign code computes Func {f.label!r}, and what frames it reads"
                    " is not known",
                    at=f.site or here(),
                    hint="call it on one frame, without a dimension of time",
                )

    def _check_update(self, f: Function, d: Definition) -> None:
        at = self.times.get(f)
        if at is None:
            return
        t = f.args[at]
        read = nodes(*d.values, *d.args, *d.guard)
        own = [n for n in read if isinstance(n, FuncCall) and n.func is f]
        if d.args[at] is t and all([n.args[at] is t for n in own]):
            return
        raise DefinitionError(
            f"Func {f.label!r} is updated along time: a frame of it is not finished"
            " before others are begun",
            at=d.site or f.site or here(),
            hint=f"an update of {f.label}[…, {t.name}] may read other Funcs at any"
            f" time, and itself at {t.name} alone",
        )

    def _check_domain(self, f: Function, d: Definition) -> None:
        if d.rdom is None:
            return
        bounds = (*d.rdom.mins, *d.rdom.extents)
        if any([self.video.count in free_vars(b) for b in bounds]):
            raise DefinitionError(
                f"Func {f.label!r} folds over all frames of the video, whose number is"
                " not known before it ends",
                at=d.site or here(),
                hint="a stream computes what depends on a window of frames",
            )

    # What is read.

    def demand(
        self,
        frames: Mapping[Function, Span],
        count: Span,
        kept: Sequence[Function] = (),
    ) -> Demand:
        """What frames of some Funcs need. count: how many frames the video has. kept:
        Funcs whose frames are there, so that they need nothing themselves."""
        asked = Demand()
        for f, span in frames.items():
            asked.add(f, span)
        stop = {*kept} - {*frames}
        reached = {*frames}
        for f in reversed(self.order):
            if f in stop or f not in reached:
                continue
            scope = {self.video.first: Span(0, 0)}
            scope[self.video.count] = FRAMES
            at = self.times.get(f)
            if at is not None:
                if f not in asked.spans:
                    continue  # what is mentioned is not read
            for d in f.stages():
                reached.update([m for m in d.mentions() if isinstance(m, Function)])
            for one in [None] if at is None else _singly(asked.spans[f]):
                if at is not None and one is not None:
                    scope[f.args[at]] = one
                walk = Walk(scope, count, self.times, asked.add)
                for d in f.stages():
                    walk.definition(d)
                asked.open |= walk.spoiled
        opened = [s.open for s in asked.spans.values()]
        asked.open |= any(opened)
        return asked

    def shifts(self) -> int | None:
        """From which frame on the frames that are needed lie as far from each frame as
        from the one before; None if that is not so, or not known."""
        total = 0
        for f in self.order:
            at = self.times.get(f)
            about = {self.video.count, self.video.first}
            if at is not None:
                about.add(f.args[at])
            for d in f.stages():
                found = _constants(d, about)
                if found is None:
                    return None
                total += found
        return total + 1 if total < MANY >> 4 else None


def _is_near(e: Expr) -> bool:
    """Whether a coordinate is a sum of Vars and numbers."""
    return all([isinstance(n, Var | E.Imm | E.Add | E.Sub) for n in nodes(e)])


def _singly(span: Span) -> list[Span]:
    """The frames of a span one by one: conditions that hold for some of them alone are
    decided then. A wide span is left whole."""
    if span.hi - span.lo >= _MOST_SINGLE:
        return [span]
    return [Span(n, n, span.open) for n in range(span.lo, span.hi + 1)]


#: How many frames are looked at one by one.
_MOST_SINGLE = 64

#: What moves with time if its operands do.
_PLAIN = (
    *(Var, E.Add, E.Sub, E.Min, E.Max, E.Select, E.Not),
    *(E.LT, E.LE, E.EQ, E.NE, E.And, E.Or),
)


def _constants(d: Definition, about: set[Var]) -> int | None:
    """The sum of the numbers that a definition adds to coordinates in time and compares
    them with; None where it does anything else with them."""
    total = 0
    loads: dict[Expr, bool] = {}
    for n in nodes(*d.values, *d.args, *d.guard):
        if not isinstance(n, Expr) or isinstance(n, FuncCall | ImageLoad):
            continue
        free = free_vars(n)
        if about.isdisjoint(free) or _loads(n, loads):
            continue
        if isinstance(n, _PLAIN):
            pass
        elif isinstance(n, E.Mod):
            pass  # by the number of frames, which is large, or whatever it is
        elif isinstance(n, E.Mul) and (
            isinstance(n.a, E.Imm) != isinstance(n.b, E.Imm)
        ):
            by = n.a if isinstance(n.a, E.Imm) else n.b
            if not isinstance(by, E.Imm) or not 1 <= by.value <= 4:
                return None
        elif isinstance(n, E.Cast) and n.type.is_int_or_uint():
            pass  # of a coordinate: as its absolute value is
        elif not (isinstance(n, E.Intrinsic) and n.op in {*SAME, "abs"}):
            return None
        for c in n.children():
            if isinstance(c, E.Imm):
                total += abs(c.value)
            elif isinstance(c, Expr) and about.isdisjoint(free_vars(c)):
                for v in free_vars(c):
                    ends = _ends(v)
                    if ends is None:
                        return None
                    total += ends
                total += sum([abs(k.value) for k in nodes(c) if isinstance(k, E.Imm)])
                if any([isinstance(k, E.Mul | E.Div | E.Mod) for k in nodes(c)]):
                    return None
    return total


def _ends(v: Var) -> int | None:
    if not isinstance(v.origin, ReductionDomain):
        return None
    lo, hi = v.lo, v.hi
    if isinstance(lo, E.Imm) and isinstance(hi, E.Imm):
        return abs(lo.value) + abs(hi.value)
    return None


def _loads(n: Expr, memo: dict[Expr, bool]) -> bool:
    """Whether a value is made of pixels."""
    found = memo.get(n)
    if found is None:
        found = isinstance(n, FuncCall | ImageLoad) or any(
            [_loads(c, memo) for c in n.children() if isinstance(c, Expr)]
        )
        memo[n] = found
    return found


__all__ = ["Demand", "Timed", "Video"]
