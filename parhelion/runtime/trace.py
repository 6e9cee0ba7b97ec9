"""Records of what compiled code does: each load, store, production and storage.

Code that is made for it hands each line of tracing (`lower.tracing`) to Python, as the
line's text and its numbers, bit for bit.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from parhelion.dataclass import dataclass
from parhelion.errors import internal_assert
from parhelion.ir.names import shown_names
from parhelion.runtime.context import decode_number
from parhelion.types import Type, TypeCode


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One event of a run: a load, a store, or the beginning or end of something.

    kind: ``load``, ``store``; ``begin_realization`` and ``end_realization`` of storage;
        ``produce``, ``end_produce``, ``consume``, ``end_consume``; ``begin_pipeline``,
        ``end_pipeline``; ``tag``.
    func: the name of the Func, or of the pipeline, without the number that makes it
        unique, if nothing else in the trace has that name.
    coordinates: those of the pixel; of other events, min and extent of each dimension
        in turn. A folded dimension counts from 0, and has the extent that is stored.
    value: what is loaded or stored, or the text of a tag; else None.
    index: the number of the value in a Tuple; else 0.
    lane: the number of the lane in a vector; else 0.

    >>> f = hl.Func("f")
    >>> f[x] = 3 * x
    >>> [e.value for e in f.trace([3]) if e.kind == "store"]
    [0, 3, 6]
    """

    kind: str
    func: str
    coordinates: tuple[int, ...] = ()
    value: int | float | bool | str | None = None
    index: int = 0
    lane: int = 0


#: Lists that records go to, by the address of the context of a call.
_OPEN: dict[int, list[TraceEvent]] = {}
_WANTED: ContextVar[list[TraceEvent] | None] = ContextVar("trace", default=None)

_LINE = re.compile(
    r"(?P<kind>[A-Z][a-z]+(?: [a-z]+)?) (?P<func>.*)\.(?P<index>\d+)\([%, ]*\)"
    r'(?P<valued> = %)?(?: tag = "(?P<tag>.*)")?',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line means, and the types of its numbers. lanes: the most of any."""

    kind: str
    func: str
    index: int
    valued: bool
    tag: str | None
    types: tuple[tuple[Type, int], ...]
    lanes: int
    words: int


@functools.lru_cache(1 << 14)
def _meaning(told: bytes) -> _Line:
    types, line = told.decode().split("\n", 1)
    found = _LINE.fullmatch(line)
    internal_assert(found is not None, f"a line of a trace is {line!r}")
    assert found is not None
    tag = found["tag"]
    numbers = [tuple(map(int, one.split("."))) for one in types.split()]
    counts = [count for _, _, count in numbers]
    return _Line(
        found["kind"].lower().replace(" ", "_"),
        found["func"],
        int(found["index"]),
        found["valued"] is not None,
        None if tag is None else tag.replace("%%", "%"),
        tuple([(Type(TypeCode(code), width), n) for code, width, n in numbers]),
        max(counts, default=1),
        sum(counts),
    )


def _take(given: int) -> None:
    """Takes a record from compiled code, in whichever thread that runs. given: the
    address of those of the context, the line and its numbers."""
    context, told, words = (ctypes.c_int64 * 3).from_address(given)
    events = _OPEN.get(context)
    if events is None:
        return  # foreign code of the user's kept the context of a call that is over
    line = _meaning(ctypes.string_at(told))
    raw = (ctypes.c_int64 * line.words).from_address(words)[:] if line.words else []
    columns: list[list[int | float | bool]] = []
    start = 0
    for t, count in line.types:
        values = [decode_number(v, t) for v in raw[start : start + count]]
        # A scalar beside vectors is the same in all lanes.
        columns.append(values if count == line.lanes else values * line.lanes)
        start += count
    for lane in range(line.lanes):
        at = [column[lane] for column in columns]
        value = at.pop() if line.valued else line.tag
        place = tuple([int(n) for n in at])
        events.append(TraceEvent(line.kind, line.func, place, value, line.index, lane))


def symbols() -> dict[str, int]:
    """The Python function that recorded code calls."""
    from parhelion.runtime.threads import python_function

    return {"ph_trace": python_function(_take)}


class Entry:
    """A compiled function whose calls are recorded for who collects in this thread."""

    def __init__(self, entry: Callable[[int, int], int]) -> None:
        self._entry = entry

    def __call__(self, context: int, argv: int) -> int:
        wanted = _WANTED.get()
        events: list[TraceEvent] = []
        _OPEN[context] = events
        try:
            code = self._entry(context, argv)
        finally:
            del _OPEN[context]
        if wanted is not None and not code:
            wanted += events
        return code


@contextmanager
def collect_trace() -> Iterator[list[TraceEvent]]:
    """Has the records of this thread's calls go to the list that it gives. They have
    the names of a `TraceEvent` at the end."""
    events: list[TraceEvent] = []
    token = _WANTED.set(events)
    try:
        yield events
    finally:
        _WANTED.reset(token)
        _rename(events)


def _rename(events: Iterable[TraceEvent]) -> None:
    """Shortens the names of Funcs, once all are known: only clashing ones stay in
    full."""
    shown = shown_names(dict.fromkeys([e.func for e in events]))
    for e in events:
        name = shown[e.func]
        if name != e.func:
            object.__setattr__(e, "func", name)  # nobody has it yet


__all__ = ["Entry", "TraceEvent", "collect_trace", "symbols"]
