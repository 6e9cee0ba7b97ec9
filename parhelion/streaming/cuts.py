"""Which Funcs are computed into rings, and not again where they are read.

A Func whose frames are read at several times, or by several Funcs that are kept
themselves, is cut off if there is work in it: it has a schedule of its own, updates, or
reads several values. So is one with storage of its own that is read at other times than
some frames before or after: how much of it is needed is not known when code is made.
Others are computed where they are read, as in the whole video.
"""

from __future__ import annotations

from parhelion.ir.expr import Extern, FuncCall, ImageLoad
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.schedule.directives import Place
from parhelion.streaming.spans import MANY, Span
from parhelion.streaming.timed import Timed

#: A frame far from both ends of a video, and of a length that is not known.
_MIDDLE = MANY >> 4


def kept(timed: Timed) -> list[Function]:
    """The Funcs to be kept, producers first."""
    found: list[Function] = []
    while True:
        more = _next(timed, found)
        if more is None:
            return [f for f in timed.order if f in found]
        found.append(more)


def _next(timed: Timed, found: list[Function]) -> Function | None:
    """A Func that is computed several times if only those that were found are kept."""
    stops = [*timed.outputs, *found]
    uses: dict[Function, int] = dict.fromkeys(timed.order, 0)
    wide: set[Function] = set()
    roots = [{f: Span(_MIDDLE, _MIDDLE) for f in timed.outputs}]
    roots += [{f: Span(_MIDDLE, _MIDDLE)} for f in found]
    for one in roots:
        for first in (_MIDDLE, 0):
            at = {f: Span(first, first) for f in one}
            count = Span(first + (MANY >> 8), MANY)
            for f, span in timed.demand(at, count, stops).spans.items():
                if not isinstance(f, Function) or f in at:
                    continue
                uses[f] += first == _MIDDLE
                if span.hi > span.lo:
                    wide.add(f)
    wide |= timed.bent
    for f in reversed(timed.order):
        again = f in wide or uses[f] > 1
        if again and f not in stops and f in timed.times and _is_work(f):
            return f
    return None


def _is_work(f: Function) -> bool:
    if f.updates or f.schedule.compute.place is not Place.INLINED:
        return True
    assert f.pure is not None
    loads = 0
    for n in nodes(*f.pure.values):
        if isinstance(n, Extern):
            return True
        loads += isinstance(n, FuncCall | ImageLoad)
    return loads > 1


__all__ = ["kept"]
