"""Gives a case's directives to its Funcs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import parhelion as hl
from parhelion.ir.stmt import ForKind
from parhelion.schedule.directives import DimType, StageSchedule
from parhelion.schedule.order import realization_order
from parhelion.schedule.tails import objection
from tests.fuzz import concurrency, fusing, places, rewriting, storage
from tests.fuzz.build import Program
from tests.fuzz.case import Choices, Directive
from tests.fuzz.numbers import Params
from tests.fuzz.ops import Built

#: The most lanes times unrolled copies of one Func.
_MOST_COPIES = 64

FACTORS = (2, 3, 4, 5, 7, 8, 16)
TAILS = (
    hl.TailStrategy.Auto,
    hl.TailStrategy.GuardWithIf,
    hl.TailStrategy.ShiftInwards,
    hl.TailStrategy.RoundUp,
)
#: Drawn last, and 0 (what a missing number is) for the tails above: cases that were
#: written down before these were there mean what they meant.
MORE_TAILS = (
    *(None, None, None, None),
    hl.TailStrategy.Predicate,
    hl.TailStrategy.PredicateLoads,
    hl.TailStrategy.PredicateStores,
    hl.TailStrategy.ShiftInwardsAndBlend,
    hl.TailStrategy.RoundUpAndBlend,
)


#: Kinds of stages that are counted like directives.
STAGES = {
    "foreign": "define_extern",
    "tagged": "memoize_tag",
    "promised": "unsafe_promise_clamped",
}


class Scheduler:
    """Applies directives, and remembers which were drawn and accepted.

    A directive that the case cannot have (an update that is not there, a loop of a
    Func that has none) is skipped: not drawn.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.drawn: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        self.refusals: list[tuple[Directive, hl.ScheduleError]] = []
        self.names = 0
        #: The tail of the split that the latest call makes, if it makes one.
        self.tail: hl.TailStrategy | None = None
        #: Stages that a clone has left without a reader, where no directive matters.
        self.unread: set[int] = set()
        #: What the latest call is counted as, if not by its directive's name, and what
        #: it is counted as besides.
        self.named: list[str] = []
        self.also: list[str] = []
        self.inner: dict[str, int] = {}
        self.copies: Counter[str] = Counter()
        self.params = Params()
        #: Loops whose number of steps is a Param.
        self.unknown: set[str] = set()

    def run(self) -> None:
        touched: set[int] = set()
        self._count_stages()
        for directive in self.program.case.schedule:
            number = directive.stage
            if number >= len(self.program.stages) or number in self.unread:
                continue
            self.tail, self.named, self.also = None, [], []
            self.params.begin(directive.given)
            call = self._call(directive)
            if call is None:
                continue
            if self.params.made:
                self.also.append(f"{directive.name} (Param)")
            name, tail = directive.name, self.tail
            if directive.definition and name in _LOOPS:
                name += " (update)"
            names = [*(self.named or [name]), *self.also]
            if tail is not None:
                names += [f"TailStrategy.{tail.name}", f"{directive.name}: {tail.name}"]
            self.drawn.update(names)
            try:
                call()
            except hl.ScheduleError as refused:
                self.refusals.append((directive, refused))
            else:
                self.accepted.update(names)
                touched.add(directive.stage)
        # Says that the other definitions of a scheduled Func are meant to have none.
        for number in sorted(touched):
            func = self.program.stages[number].func
            stages = func._function.stages()
            for k in range(func.num_update_definitions()):
                if not stages[k + 1].schedule.touched:
                    func.update(k).unscheduled()
                    self.drawn["unscheduled"] += 1
                    self.accepted["unscheduled"] += 1

    def _count_stages(self) -> None:
        """Those that say something of schedules themselves."""
        outputs = [f._function for f in self.program.outputs()]
        order = realization_order(outputs)
        for built, stage in zip(
            self.program.stages, self.program.case.stages, strict=True
        ):
            name = STAGES.get(stage.op)
            if name is not None and built.func._function in order:
                self.drawn[name] += 1
                self.accepted[name] += 1

    def _tail(
        self, choices: Choices, plain: hl.TailStrategy, target: Any, loops: list[Any]
    ) -> hl.TailStrategy:
        """The tail of a split of `loops`: `plain`, or one of those that came later; if
        that is not legal there, one that is."""
        tail = MORE_TAILS[choices.upto(len(MORE_TAILS) - 1)] or plain
        if not self._suits(target, loops, tail):
            legal = [t for t in hl.TailStrategy if self._suits(target, loops, t)]
            if legal:
                tail = legal[choices.upto(len(legal) - 1)]
        self.tail = tail
        return tail

    def _suits(self, target: Any, loops: list[Any], tail: hl.TailStrategy) -> bool:
        k = target._stage
        schedule = target._function.stages()[k].schedule
        if tail is hl.TailStrategy.Auto:
            return True
        # Of an inner loop: more than any buffer holds might be written.
        past = tail in (hl.TailStrategy.RoundUp, hl.TailStrategy.RoundUpAndBlend)
        return not any(
            objection(schedule, k, d, tail) or (past and v.name() in self.inner)
            for v in loops
            for d in schedule.dims
            if d.var is v._var
        )

    def _unordered(self, target: Any, loops: list[Any], at: int) -> int | None:
        """`at`, if the iterations of that loop may run at the same time; else a loop
        of which they may."""
        schedule: StageSchedule = target._function.stages()[target._stage].schedule
        if schedule.atomic or schedule.allow_race_conditions:
            return at
        free = {d.var for d in schedule.dims if d.type is not DimType.IMPURE_RVAR}
        order = [at, *range(len(loops))]
        return next((i for i in order if loops[i]._var in free), None)

    def _fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def _loops(self, built: Built, definition: int) -> list[Any]:
        """The loops of a definition as they are now, innermost first, but for those
        that have no name (vectorize(x, 8) makes one) or are not serial any more."""
        stage = built.func._function.stages()[definition]
        known = {r._var: r for r in self._rvars(built, definition)}
        known |= {v._var: v for v in built.wrappers.values()}
        return [
            known[d.var]
            for d in stage.schedule.dims
            if d.var in known and d.kind is ForKind.SERIAL
        ]

    def _rvars(self, built: Built, definition: int) -> list[Any]:
        return list(built.func.rvars(definition - 1)) if definition else []

    def _new(self, built: Built, like: Any) -> Any:
        """A new loop, an RVar if `like` is one."""
        name = self._fresh()
        made: hl.Var | hl.RVar
        made = hl.Var(name) if isinstance(like, hl.Var) else hl.RVar(name)
        built.wrappers[name] = made
        return made

    def _call(self, directive: Directive) -> Callable[[], object] | None:
        built = self.program.stages[directive.stage]
        func = built.func
        choices = Choices(directive.numbers)
        if directive.name in _WHOLE:
            return _WHOLE[directive.name](self, built, choices)
        if directive.definition > func.num_update_definitions():
            return None
        target: Any = func
        if directive.definition:
            target = func.update(directive.definition - 1)
        loops = self._loops(built, directive.definition)
        if not loops:
            return None
        return _LOOPS[directive.name](self, built, target, loops, choices)

    # Directives on loops.

    def _split(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object]:
        old = loops[choices.upto(len(loops) - 1)]
        factor = FACTORS[choices.upto(len(FACTORS) - 1)]
        tail = TAILS[choices.upto(len(TAILS) - 1)]
        outer, inner = self._new(built, old), self._new(built, old)
        if choices.upto(3) == 3:
            outer = old
        size = self._factor(inner, factor)
        tail = self._tail(choices, tail, target, [old])
        return lambda: target.split(old, outer, inner, size, tail)

    def _factor(self, inner: Any, factor: int) -> Any:
        """A factor of a split that makes the loop `inner`, as the case has it."""
        self.inner[inner.name()] = factor
        made = self.params.number(factor, free=True)
        if made is not factor:
            self.unknown.add(inner.name())
        return made

    def _tile(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object] | None:
        if len(loops) < 2:
            return None
        x, y = loops[0], loops[1]
        xi, yi = self._new(built, x), self._new(built, y)
        fx, fy = (FACTORS[choices.upto(len(FACTORS) - 1)] for _ in range(2))
        tail = TAILS[choices.upto(len(TAILS) - 1)]
        fx, fy = self._factor(xi, fx), self._factor(yi, fy)
        tail = self._tail(choices, tail, target, [x, y])
        form = choices.upto(3)
        self.also = [f"tile, form {form + 1}"]
        if form == 0:
            return lambda: target.tile(x, y, xi, yi, fx, fy, tail)
        if form == 1:
            return lambda: target.tile([x, y], [xi, yi], [fx, fy], tail)
        xo, yo = self._new(built, x), self._new(built, y)
        if form == 2:
            return lambda: target.tile(x, y, xo, yo, xi, yi, fx, fy, tail)
        return lambda: target.tile([x, y], [xo, yo], [xi, yi], [fx, fy], tail)

    def _fuse(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object] | None:
        if len(loops) < 2:
            return None
        at = choices.upto(len(loops) - 2)
        inner, outer = loops[at], loops[at + 1]
        fused = self._new(built, inner if isinstance(outer, hl.Var) else outer)
        return lambda: target.fuse(inner, outer, fused)

    def _reorder(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object] | None:
        if len(loops) < 2:
            return None
        left, order = list(loops), []
        while left:
            order.append(left.pop(choices.upto(len(left) - 1)))
        return lambda: target.reorder(*order)

    def _constant(self, built: Built, loops: list[Any]) -> Any | None:
        """The innermost loop that a split has given a constant extent."""
        for loop in loops:
            if loop.name() in self.inner and loop.name() not in self.unknown:
                return loop
        return None

    def _affordable(self, built: Built, factor: int) -> bool:
        """Whether the body of a Func may be there `factor` times more; LLVM takes
        minutes for thousands of lanes and copies."""
        name = built.func.name()
        # Tails of unknown factors stay, each with a copy of what they guard.
        most = _MOST_COPIES // 4 if self.unknown else _MOST_COPIES
        if self.copies.setdefault(name, 1) * factor > most:
            return False
        self.copies[name] *= factor
        return True

    def _vectorize(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object] | None:
        # The innermost, mostly: others need splits that make them constant.
        at = choices.upto(len(loops) - 1) if choices.upto(3) == 3 else 0
        factor = (2, 4, 8, 16, 3, 32)[choices.upto(5)]
        if choices.upto(4) == 4:
            inner = self._constant(built, loops)
            if inner is None or not self._affordable(built, self.inner[inner.name()]):
                return None
            return lambda: target.vectorize(inner)
        free = self._unordered(target, loops, at)
        if free is None or not self._affordable(built, factor):
            return None
        plain = TAILS[choices.upto(len(TAILS) - 1)]
        tail = self._tail(choices, plain, target, [loops[free]])
        lanes = self.params.constant(factor)
        return lambda: target.vectorize(loops[free], lanes, tail)

    def _unroll(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object] | None:
        at = choices.upto(len(loops) - 1)
        factor = (2, 3, 4)[choices.upto(2)]
        if choices.upto(4) == 4:
            inner = self._constant(built, loops)
            if inner is None or not self._affordable(built, self.inner[inner.name()]):
                return None
            return lambda: target.unroll(inner)
        if not self._affordable(built, factor):
            return None
        tail = self._tail(choices, hl.TailStrategy.Auto, target, [loops[at]])
        copies = self.params.constant(factor)
        return lambda: target.unroll(loops[at], copies, tail)

    def _parallel(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object] | None:
        last = len(loops) - 1
        at = last if choices.upto(2) < 2 else choices.upto(last)
        sized = choices.upto(3) == 3
        free = self._unordered(target, loops, at)
        if free is None:
            return None
        loop = loops[free]
        if sized:
            tail = self._tail(choices, hl.TailStrategy.Auto, target, [loop])
            self.also = ["parallel (task size)"]
            size = self.params.number(2, free=True)
            return lambda: target.parallel(loop, size, tail)
        return lambda: target.parallel(loop)

    def _serial(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object]:
        at = choices.upto(len(loops) - 1)
        return lambda: target.serial(loops[at])

    def _rename(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object]:
        old = loops[choices.upto(len(loops) - 1)]
        new = self._new(built, old)
        return lambda: target.rename(old, new)

    def _partition(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object]:
        """Mostly Never: whether a loop can always be split shows when it is lowered."""
        loop = loops[choices.upto(len(loops) - 1)]
        policies = (hl.Partition.Never, hl.Partition.Auto, hl.Partition.Always)
        policy = policies[(0, 0, 0, 1, 1, 0, 0, 0, 0, 2)[choices.upto(9)]]
        self.also = [f"Partition.{policy.name}"]
        return lambda: target.partition(loop, policy)

    def _never_partition(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object]:
        return lambda: target.never_partition(loops[: 1 + choices.upto(1)])

    def _never_partition_all(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object]:
        return lambda: target.never_partition_all()

    def _always_partition(
        self, built: Built, target: Any, loops: list[Any], choices: Choices
    ) -> Callable[[], object]:
        """After a split that leaves a condition to partition by, mostly."""
        loop = loops[choices.upto(len(loops) - 1)]
        if choices.upto(15) == 15:
            return lambda: target.always_partition(loop)
        factor = (2, 4, 8)[choices.upto(2)]
        outer, inner = self._new(built, loop), self._new(built, loop)
        guard = hl.TailStrategy.GuardWithIf

        def call() -> object:
            target.split(loop, outer, inner, factor, guard)
            return target.always_partition(outer)

        return call

    # Directives on the whole Func.

    def _level(self, built: Built, choices: Choices) -> tuple[Any, Any] | None:
        """A loop of the stage that the numbers name."""
        number = choices.upto(len(self.program.stages) - 1)
        consumer = self.program.stages[number]
        if consumer is built:
            return None
        last = consumer.func.num_update_definitions()
        definition = last if choices.upto(4) == 4 else 0
        loops = self._loops(consumer, definition)
        if not loops:
            return None
        return consumer.func, loops[choices.upto(len(loops) - 1)]

    def _compute_at(
        self, built: Built, choices: Choices
    ) -> Callable[[], object] | None:
        level = self._level(built, choices)
        if level is None:
            return built.func.compute_root
        return lambda: built.func.compute_at(*level)

    def _store_at(self, built: Built, choices: Choices) -> Callable[[], object] | None:
        level = self._level(built, choices)
        return None if level is None else lambda: built.func.store_at(*level)

    def _bound(self, built: Built, choices: Choices) -> Callable[[], object] | None:
        case = self.program.case
        if built.dims != len(case.extents) or not built.dims:
            return None
        d = choices.upto(built.dims - 1)
        var = built.func.args()[d]
        low = self.params.number(case.mins[d], -(1 << 20))
        extent = self.params.number(case.extents[d], 0)
        return lambda: built.func.bound(var, low, extent)

    def _reorder_storage(
        self, built: Built, choices: Choices
    ) -> Callable[[], object] | None:
        if built.dims < 2:
            return None
        order = list(reversed(built.func.args()))
        return lambda: built.func.reorder_storage(*order)


def _definition(target: Any) -> int:
    """The number of the definition that directives on `target` are about."""
    return 0 if isinstance(target, hl.Func) else int(target._stage)


Loops = Callable[
    [Scheduler, Built, Any, list[Any], Choices], Callable[[], object] | None
]
Whole = Callable[[Scheduler, Built, Choices], Callable[[], object] | None]

_LOOPS: dict[str, Loops] = {
    "split": Scheduler._split,
    "tile": Scheduler._tile,
    "fuse": Scheduler._fuse,
    "reorder": Scheduler._reorder,
    "vectorize": Scheduler._vectorize,
    "unroll": Scheduler._unroll,
    "parallel": Scheduler._parallel,
    "serial": Scheduler._serial,
    "rename": Scheduler._rename,
    "atomic": concurrency.atomic,
    "compute_with": fusing.compute_with,
    "prefetch": concurrency.prefetch,
    "allow_race_conditions": concurrency.allow_race_conditions,
    "partition": Scheduler._partition,
    "never_partition": Scheduler._never_partition,
    "never_partition_all": Scheduler._never_partition_all,
    "always_partition": Scheduler._always_partition,
    **rewriting.LOOPS,
}
_WHOLE: dict[str, Whole] = {
    "compute_root": lambda s, b, c: b.func.compute_root,
    "compute_inline": lambda s, b, c: b.func.compute_inline,
    "store_root": lambda s, b, c: b.func.store_root,
    "compute_at": Scheduler._compute_at,
    "store_at": Scheduler._store_at,
    "place": places.place,
    "place_late": places.place_late,
    "memoize": lambda s, b, c: b.func.memoize,
    "bound": Scheduler._bound,
    "reorder_storage": Scheduler._reorder_storage,
    **storage.WHOLE,
    **concurrency.WHOLE,
    **rewriting.WHOLE,
}
