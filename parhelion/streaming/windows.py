"""The order in which frames of all pieces are computed, and how many are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from parhelion.dataclass import dataclass
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym
from parhelion.streaming.spans import MANY, Span
from parhelion.streaming.timed import Demand, Timed

#: How many frames at the beginning are looked at to find how many are kept.
_TRIED = 64


@dataclass(slots=True)
class Step:
    """What computing one output frame takes.

    frames: which frames of each kept Func are computed for it. reads: which ones of
    each, and of the video, are read. open: whether it depends on the video's end.
    """

    frames: dict[Function, Span] = field(default_factory=dict)
    reads: dict[Function | BufferSym, Span] = field(default_factory=dict)
    open: bool = False

    def moved(self, by: int) -> Step:
        """The same some frames later."""
        made = Step()
        for f, s in self.frames.items():
            made.frames[f] = Span(s.lo + by, s.hi + by)
        for of, s in self.reads.items():
            made.reads[of] = Span(s.lo + by, s.hi + by)
        return made


class Windows:
    """Which frames each output frame takes, in order.

    kept: the Funcs whose frames are kept, producers first. next: the first frame of
    each that is not computed.
    """

    def __init__(self, timed: Timed, kept: Sequence[Function]) -> None:
        self.timed, self.kept = timed, list(kept)
        self.next: dict[Function, int] = {}
        #: How far the frames of each Func lie from those of the output, once known.
        self.known: dict[Function | BufferSym, Reach] = {}
        self._from = timed.shifts()
        self._steady: tuple[int, int, Step] | None = None
        self._before: tuple[int, Step] | None = None

    def step(self, t: int, arrived: int, ended: bool) -> Step:
        """What output frame `t` takes when so many frames of the video have come."""
        if self._steady is not None and not ended:
            first, least, step = self._steady
            if arrived - t >= least:
                return step.moved(t - first)
        count = Span(arrived, arrived) if ended else Span(arrived, MANY)
        return self._step(t, count)

    def _step(self, t: int, count: Span) -> Step:
        timed, made = self.timed, Step()
        frames = {f: Span(t, t) for f in timed.outputs}
        self._read(made, timed.demand(frames, count, self.kept), frames)
        for f in reversed(self.kept):
            wanted = made.reads.get(f)
            if wanted is None:
                continue
            # Frames that later outputs will read are not left out at the beginning.
            reach = self.known.get(f, Reach())
            first = min(wanted.lo, reach.first, max(0, t - reach.back))
            first = self.next.get(f, first)
            if first > wanted.hi:
                continue
            own = {f: Span(first, wanted.hi)}
            made.frames[f] = own[f]
            self._read(made, timed.demand(own, count, self.kept), own)
        return made

    def _read(self, made: Step, asked: Demand, frames: dict[Function, Span]) -> None:
        made.open |= asked.open
        sources: list[Function | BufferSym] = [*self.kept, self.timed.video.image]
        for of in sources:
            span = asked.spans.get(of)
            if span is None or of in frames:
                continue
            known = made.reads.get(of)
            made.reads[of] = span if known is None else known.hull(span)

    def done(self, t: int, arrived: int, ended: bool, step: Step) -> None:
        """Notes that output frame `t` has been computed."""
        for f, span in step.frames.items():
            self.next[f] = span.hi + 1
        before, self._before = self._before, (t, step)
        if self._from is None or ended or self._steady is not None or before is None:
            return
        known, last = before
        if known <= self._from or known + 1 != t:
            return
        expected = last.moved(1)
        if expected.frames == step.frames and expected.reads == step.reads:
            self._steady = (t, arrived - t, step)

    def reach(self) -> dict[Function | BufferSym, Reach]:
        """How far from an output frame those frames lie that it takes, as found from
        the first ones, and from the last ones of a video."""
        found: dict[Function | BufferSym, Reach] = {}
        trial = Windows(self.timed, self.kept)
        last = _TRIED if self._from is None else min(self._from + 2, _TRIED)
        before: list[dict[Function, int]] = []
        for t in range(last + 1):
            before.append(dict(trial.next))
            step = trial._step(t, Span(t + (MANY >> 8), MANY))
            _widen(found, step, t)
            trial.done(t, 0, True, step)
        image = found.get(self.timed.video.image, Reach())
        # The outputs that wait for the end of a video.
        first = max(last + 1 - max(image.ahead, 0), 0)
        trial.next = before[min(first, last)]
        for t in range(first, last + 1):
            step = trial._step(t, Span(last + 1, last + 1))
            _widen(found, step, t)
            trial.done(t, 0, True, step)
        return found


class Reach(NamedTuple):
    """How many frames before and beyond an output frame others reach; negative where
    all of them lie on the other side. first: the first of all."""

    back: int = -MANY
    ahead: int = -MANY
    first: int = MANY

    @property
    def size(self) -> int:
        """How many frames lie within."""
        return max(self.back + self.ahead + 1, 1)


def _widen(found: dict[Function | BufferSym, Reach], step: Step, t: int) -> None:
    for of, s in step.reads.items():
        if s.known:
            known = found.get(of, Reach())
            back, ahead = max(known.back, t - s.lo), max(known.ahead, s.hi - t)
            found[of] = Reach(back, ahead, min(known.first, s.lo))


__all__ = ["Reach", "Step", "Windows"]
