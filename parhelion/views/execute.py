"""Runs a pipeline's loop nests in Python, and tells what each step loads and stores.

What runs is the program that lowering makes of the algorithm and its schedule, before
its loops are unrolled or become vectors: its order is that of the compiled code. The
lanes of a vectorised loop make one step together. The iterations of a parallel loop are
given to threads in turn, each of which makes one step while the others make theirs; a
parallel loop inside another one is run by the thread that meets it. Async Funcs are
computed before they are used. A part of a Func on demand is computed by the thread that
asks for it first, while others that ask for it wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, HalideError, InternalError, here
from parhelion.ir.evaluate import Evaluator, Value
from parhelion.ir.expr import (
    Expr,
    FuncCall,
    ImageLoad,
    Intrinsic,
    Select,
    StringImm,
    Var,
)
from parhelion.ir.failures import FAILURES
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import (
    MADE,
    Assert,
    Atomic,
    Block,
    Demand,
    Evaluate,
    For,
    ForKind,
    If,
    LetStmt,
    OnDemand,
    Prefetch,
    PrefetchRegion,
    Produce,
    Provide,
    Realize,
    Stmt,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.relocate import Origins
from parhelion.views.listing import Listing

Source = Function | BufferSym
Point = tuple[int, ...]
#: What a run-time image holds at a point.
Pixels = Callable[[Point], Value]

#: What was loaded, each pixel once.
_Loads = dict[tuple[Source, Point], None]

#: What a table of parts holds of one that is being computed, and of one that is there.
_BEING_MADE, _IS_MADE = [1], [MADE]

#: Iterations that may run for each load or store that is allowed.
_LOOPS_EACH = 20


@dataclass(eq=False, slots=True)
class Storage:
    """Memory of a Func from its allocation to its end.

    values: what each place holds. holds: which point that is; a place serves several
    points where the storage is folded.
    """

    number: int
    func: Function
    values: dict[Point, list[Value]] = field(default_factory=dict)
    holds: dict[Point, Point] = field(default_factory=dict)


@dataclass(slots=True)
class Touch:
    """What a thread does in one step: it loads, computes and stores.

    line: of the listing. points: what is stored into `storage`, several for vectors.
    loads: what was read for that, each pixel once. lost: points whose place was taken.
    loops: first and last value of the variable of each loop around, outermost first.
    """

    thread: int
    line: int
    storage: Storage
    points: list[Point]
    loads: list[tuple[Source, Point]]
    lost: list[Point]
    loops: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class End:
    """The end of a storage's life."""

    storage: Storage


Step = list[Touch | End]


@dataclass(frozen=True, slots=True)
class _Reads:
    """What a definition reads.

    pixels: the reads, each with the condition under which it happens, or None.
    partial: values that may be undefined.
    """

    pixels: list[tuple[Expr, Expr | None]]
    partial: frozenset[Expr]


@dataclass(slots=True)
class _Lane:
    """The variables of one lane of a vector, or of scalar code."""

    vars: dict[Var, Value]
    storages: dict[Function, Storage]

    def copy(self) -> _Lane:
        return _Lane(dict(self.vars), dict(self.storages))


@dataclass(slots=True)
class _Frame:
    """The place of a thread in the program.

    pending, loads: what belongs to its next step.
    """

    lanes: list[_Lane]
    pending: list[End]
    loads: _Loads
    loops: tuple[tuple[int, int], ...] = ()
    one_by_one: bool = False
    is_thread: bool = False

    def of(self, lanes: list[_Lane]) -> _Frame:
        return replace(self, lanes=lanes)


class Execution:
    """One run of a program.

    origins: as lowering left them. images: the pixels of inputs. limit: how many loads
    and stores there may be; what is too much is refused with BoundsError. threads: how
    many run parallel loops.
    """

    def __init__(
        self,
        listing: Listing,
        origins: Origins,
        images: Mapping[BufferSym, Pixels],
        limit: int,
        threads: int,
    ) -> None:
        self.listing = listing
        self.origins = origins
        self.images = images
        self.limit = limit
        self.threads = threads
        self.count = 0
        self.storages: list[Storage] = []
        self._iterations = 0
        self._reads: dict[Provide, _Reads] = {}
        #: What computes parts on demand, and how many lines of loops are around it.
        self._parts: dict[BufferSym, tuple[OnDemand, int]] = {}

    def steps(
        self, body: Stmt, outputs: Sequence[Function], env: Mapping[Var, Value]
    ) -> Iterator[Step]:
        """The steps in order. env: the values of the program's free Vars."""
        storages = {f: self._allocate(f) for f in outputs}
        frame = _Frame([_Lane(dict(env), storages)], [], {})
        yield from self.run(body, frame)
        if frame.pending:
            yield list(frame.pending)

    def run(self, s: Stmt, frame: _Frame) -> Iterator[Step]:
        handler = _TABLE.get(type(s))
        if handler is None:
            raise InternalError(f"internal error: {type(s).__name__} before flattening")
        return handler(self, s, frame)

    # Statements.

    def block(self, s: Block, frame: _Frame) -> Iterator[Step]:
        for item in s.items:
            yield from self.run(item, frame)

    def let(self, s: LetStmt, frame: _Frame) -> Iterator[Step]:
        for lane in frame.lanes:
            lane.vars[s.var] = self._evaluator(lane, frame.loads).go(s.value, 0)
        yield from ()

    def check(self, s: Assert, frame: _Frame) -> Iterator[Step]:
        for lane in frame.lanes:
            made = self._evaluator(lane, frame.loads)
            if not made.go(s.cond, 0):
                raise _failure(s, made)
        yield from ()

    def effect(self, s: Evaluate, frame: _Frame) -> Iterator[Step]:
        for lane in frame.lanes:
            self._evaluator(lane, frame.loads).go(s.value, 0)
        yield from ()

    def nothing(self, s: Stmt, frame: _Frame) -> Iterator[Step]:
        yield from ()

    def branch(self, s: If, frame: _Frame) -> Iterator[Step]:
        yes: list[_Lane] = []
        no: list[_Lane] = []
        for lane in frame.lanes:
            holds = self._evaluator(lane, frame.loads).go(s.cond, 0)
            (yes if holds else no).append(lane)
        if yes:
            yield from self.run(s.then, frame.of(yes))
        if no and s.otherwise is not None:
            yield from self.run(s.otherwise, frame.of(no))

    def inside(self, s: Produce, frame: _Frame) -> Iterator[Step]:
        return self.run(s.body, frame)

    def atomic(self, s: Atomic, frame: _Frame) -> Iterator[Step]:
        return self.run(s.body, replace(frame, one_by_one=True))

    def realize(self, s: Realize, frame: _Frame) -> Iterator[Step]:
        if s not in self.listing.of:
            for lane in frame.lanes:
                lane.storages[s.func] = Storage(-1, s.func)
            yield from self.run(s.body, frame)
            return
        begun = [self._allocate(s.func) for _ in frame.lanes]
        for lane, storage in zip(frame.lanes, begun, strict=True):
            lane.storages[s.func] = storage
        yield from self.run(s.body, frame)
        frame.pending += [End(storage) for storage in begun]

    # Funcs that are computed on demand.

    def on_demand(self, s: OnDemand, frame: _Frame) -> Iterator[Step]:
        self._parts[s.thunk] = s, len(frame.loops)
        yield from self.run(s.body, frame)

    def demand(self, s: Demand, frame: _Frame) -> Iterator[Step]:
        assert isinstance(s.table, Function)
        for lane in frame.lanes:
            made = self._evaluator(lane, frame.loads)
            if s.predicate is not None and not made.go(s.predicate, 0):
                continue
            at = tuple([int(made.go(e, 0)) for e in s.index])
            table = lane.storages[s.table].values
            if not s.waits and table.get(at) == _BEING_MADE:
                continue
            while table.get(at) == _BEING_MADE:
                yield []
            if table.get(at) == _IS_MADE:
                continue
            table[at] = list(_BEING_MADE)
            place = int(made.go(s.row, 0)), int(made.go(s.col, 0))
            yield from self._part(s.thunk, place, lane, frame)
            table[at] = list(_IS_MADE)

    def _part(
        self, thunk: BufferSym, place: tuple[int, int], lane: _Lane, frame: _Frame
    ) -> Iterator[Step]:
        """Computes the part at a row and a column, for a lane that asks for it."""
        one, around = self._parts[thunk]
        rows = one.makes[0]
        assert isinstance(rows, For) and isinstance(rows.body, For)
        asks = lane.copy()
        asks.vars[rows.var], asks.vars[rows.body.var] = place
        # What the lane has loaded so far is for the point that it is about to store.
        inside = replace(frame, lanes=[asks], loads={}, loops=frame.loops[:around])
        yield from self.run(rows.body.body, replace(inside, one_by_one=False))

    # Loops.

    def loop(self, s: For, frame: _Frame) -> Iterator[Step]:
        ranges = []
        for lane in frame.lanes:
            made = self._evaluator(lane, frame.loads)
            low = int(made.go(s.min, 0))
            ranges.append((low, low + int(made.go(s.extent, 0))))
        if s.kind is ForKind.VECTORIZED:
            return self._vector(s, frame, ranges)
        alone = len(frame.lanes) == 1 and not frame.is_thread and self.threads > 1
        if s.kind is ForKind.PARALLEL and alone:
            return self._parallel(s, frame, *ranges[0])
        return self._serial(s, frame, ranges)

    def _serial(
        self, s: For, frame: _Frame, ranges: list[tuple[int, int]]
    ) -> Iterator[Step]:
        first = min([low for low, _ in ranges])
        for i in range(first, max([high for _, high in ranges])):
            self._iterate()
            active = []
            for lane, (low, high) in zip(frame.lanes, ranges, strict=True):
                if low <= i < high:
                    lane.vars[s.var] = i
                    active.append(lane)
            if active:
                inner = self._within(s, frame.of(active), i, i)
                yield from self.run(s.body, inner)

    def _vector(
        self, s: For, frame: _Frame, ranges: list[tuple[int, int]]
    ) -> Iterator[Step]:
        lanes: list[_Lane] = []
        for lane, (low, high) in zip(frame.lanes, ranges, strict=True):
            for i in range(low, high):
                self._iterate()
                one = lane.copy()
                one.vars[s.var] = i
                lanes.append(one)
        if lanes:
            first = min([low for low, _ in ranges])
            last = max([high for _, high in ranges]) - 1
            yield from self.run(s.body, self._within(s, frame.of(lanes), first, last))

    def _parallel(self, s: For, frame: _Frame, low: int, high: int) -> Iterator[Step]:
        """Iterations in their order, each taken by the first thread that is free; all
        threads make a step at a time."""
        todo = iter(range(low, high))
        running: list[Iterator[Step] | None] = [None] * self.threads
        pending: list[list[End]] = [[] for _ in running]
        pending[0] += frame.pending
        frame.pending.clear()
        while True:
            step: Step = []
            for t in range(self.threads):
                while True:
                    current = running[t]
                    if current is None:
                        i = next(todo, None)
                        if i is None:
                            break
                        lane = frame.lanes[0].copy()
                        lane.vars[s.var] = i
                        inner = replace(
                            frame,
                            lanes=[lane],
                            pending=pending[t],
                            loads={},
                            is_thread=True,
                        )
                        self._iterate()
                        within = self._within(s, inner, i, i)
                        current = running[t] = self.run(s.body, within)
                    made = next(current, None)
                    if made is None:
                        running[t] = None
                        continue
                    for one in made:
                        if isinstance(one, Touch):
                            one.thread = t
                    step += made
                    break
            if not step:
                break
            yield step
        for left in pending:
            frame.pending += left

    def _within(self, s: For, frame: _Frame, first: int, last: int) -> _Frame:
        if s not in self.listing.of:
            return frame
        return replace(frame, loops=(*frame.loops, (first, last)))

    def _iterate(self) -> None:
        self._iterations += 1
        if self._iterations > self.limit * _LOOPS_EACH:
            raise TooManyEvents(self.limit)

    # Loads and stores.

    def provide(self, s: Provide, frame: _Frame) -> Iterator[Step]:
        if s not in self.listing.of:
            return  # of a table of parts: what is not in it has not been computed
        touches: dict[Storage, Touch] = {}
        loads = dict(frame.loads)
        frame.loads.clear()
        groups = [[lane] for lane in frame.lanes] if frame.one_by_one else [frame.lanes]
        for lanes in groups:
            ready = [r for lane in lanes if (r := self._computed(s, lane, loads))]
            for storage, point, place, values in ready:
                touch = touches.get(storage)
                if touch is None:
                    line = self.listing.of[s]
                    touch = Touch(0, line, storage, [], [], [], frame.loops)
                    touches[storage] = touch
                self._store(touch, s.func, point, place, values)
        if not touches:
            return
        next(iter(touches.values())).loads.extend(loads)
        self.count += len(loads) + sum([len(t.points) for t in touches.values()])
        if self.count > self.limit:
            raise TooManyEvents(self.limit)
        step: Step = [*frame.pending, *touches.values()]
        frame.pending.clear()
        yield step

    def _computed(
        self, s: Provide, lane: _Lane, loads: _Loads
    ) -> tuple[Storage, Point, Point, list[Value | None]] | None:
        """What one lane is about to store, and where; None if it stores nothing."""
        made = self._evaluator(lane, loads)
        if s.predicate is not None and not made.go(s.predicate, 0):
            return None
        reads = self._reads_of(s)
        values = [
            None if v in reads.partial and _is_skipped(made, v) else made.go(v, 0)
            for v in s.values
        ]
        if all([v is None for v in values]):
            return None
        # Both branches of a select are read, though only one gives the value.
        for e, guard in reads.pixels:
            if guard is None or made.go(guard, 0):
                made.go(e, 0)
        point = tuple([int(made.go(a, 0)) for a in s.args])
        storage = lane.storages[s.func]
        return storage, point, self._place(s.func, point, made), values

    def _store(
        self,
        touch: Touch,
        f: Function,
        point: Point,
        place: Point,
        values: list[Value | None],
    ) -> None:
        storage = touch.storage
        held = storage.holds.get(place)
        if held is not None and held != point:
            touch.lost.append(held)
        storage.holds[place] = point
        kept = storage.values.setdefault(place, [0] * len(f.types))
        for i, v in enumerate(values):
            if v is not None:
                kept[i] = v
        touch.points.append(point)

    def _reads_of(self, s: Provide) -> _Reads:
        found = self._reads.get(s)
        if found is None:
            guards: dict[Expr, Expr] = {}
            pixels: dict[Expr, None] = {}
            partial = set()
            for root in (*s.values, *s.args):
                for n in nodes(root):
                    if isinstance(n, FuncCall | ImageLoad):
                        pixels[n] = None
                    elif isinstance(n, Intrinsic) and n.op == "guarded":
                        guards[n.args[0]] = n.args[1]
                    elif isinstance(n, Intrinsic) and n.op == "undef":
                        partial.add(root)
            found = _Reads([(e, guards.get(e)) for e in pixels], frozenset(partial))
            self._reads[s] = found
        return found

    def _evaluator(self, lane: _Lane, note: _Loads) -> Evaluator:
        """Evaluates at a lane; what is loaded meanwhile is noted."""

        def load(e: Expr, at: Point) -> Value:
            if isinstance(e, FuncCall):
                note[e.func, at] = None
                storage = lane.storages.get(e.func)
                if storage is None:
                    raise InternalError(f"internal error: {e.func!r} has no storage")
                kept = storage.values.get(self._place(e.func, at, made))
                return 0 if kept is None else kept[e.index]
            assert isinstance(e, ImageLoad)
            note[e.image, at] = None
            return self.images[e.image](at)

        made = Evaluator(lane.vars, load)
        return made

    def _place(self, f: Function, at: Point, made: Evaluator) -> Point:
        """Where the point is in folded storage; elsewhere, the point itself."""
        origins = self.origins.get(f)
        if origins is None:
            return at
        place = []
        for c, origin in zip(at, origins, strict=True):
            if origin is not None:
                c -= int(made.go(origin.min, 0))
                if origin.fold is not None:
                    c %= int(made.go(origin.fold, 0))
                if origin.shift is not None:
                    c += int(made.go(origin.shift, 0))
            place.append(c)
        return tuple(place)

    def _allocate(self, f: Function) -> Storage:
        storage = Storage(len(self.storages), f)
        self.storages.append(storage)
        return storage


class TooManyEvents(BoundsError):
    """A run of more loads and stores than a page can show."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"this takes more than {limit} loads and stores, too many to watch",
            at=here(),
            hint="give a smaller size: a few tiles of the schedule show its order",
        )


def _is_skipped(made: Evaluator, value: Expr) -> bool:
    """Whether a value is undefined here, so that nothing is stored."""
    while isinstance(value, Select):
        value = value.a if made.go(value.cond, 0) else value.b
    return isinstance(value, Intrinsic) and value.op == "undef"


def _failure(s: Assert, made: Evaluator) -> HalideError:
    """The error that compiled code would report."""
    kind = FAILURES[s.code]
    args = [a.value if isinstance(a, StringImm) else made.go(a, 0) for a in s.args]
    parts = ["".join(map(str, args))] if s.code == "require" else args
    error = kind.error(kind.template.format(*parts), hint=kind.hint)
    error.failure = s.code
    return error


_TABLE: dict[type[Stmt], Callable[[Execution, Any, _Frame], Iterator[Step]]] = {
    Assert: Execution.check,
    Atomic: Execution.atomic,
    Block: Execution.block,
    Demand: Execution.demand,
    Evaluate: Execution.effect,
    For: Execution.loop,
    If: Execution.branch,
    LetStmt: Execution.let,
    OnDemand: Execution.on_demand,
    Prefetch: Execution.nothing,
    PrefetchRegion: Execution.nothing,
    Produce: Execution.inside,
    Provide: Execution.provide,
    Realize: Execution.realize,
}

__all__ = ["End", "Execution", "Pixels", "Point", "Source", "Step", "Storage", "Touch"]
