"""One directive's work on the loops of a stage, done as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from parhelion.errors import ScheduleError, here
from parhelion.ir.build import const_int
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.stmt import ForKind
from parhelion.schedule import rules, tails
from parhelion.schedule.args import HasVar, IntLike, is_rvar, to_int, to_var
from parhelion.schedule.directives import (
    Dim,
    DimType,
    Fuse,
    Rename,
    Split,
    StageSchedule,
    TailStrategy,
)
from parhelion.types import INT32


class Change:
    """One directive's work on a stage's schedule, undone if it is refused."""

    def __init__(self, function: Function, stage: int) -> None:
        self.function, self.stage = function, stage
        self.label = rules.stage_label(self.function, self.stage)
        self.schedule: StageSchedule = rules.definition_of(
            self.function, self.stage
        ).schedule

    def __enter__(self) -> Change:
        CHANGES.acquire()
        try:
            s = self.schedule
            self.before = s.transforms, s.dims, s.sites, s.generated
            self.partitions = s.partitions
        except BaseException:  # a signal, say: nobody would release it
            CHANGES.release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        s = self.schedule
        try:
            if kind is None:
                s.touched = True
            else:
                s.transforms, s.dims, s.sites, s.generated = self.before
                s.partitions = self.partitions
        finally:
            CHANGES.release()

    def split(
        self,
        old: Var,
        outer: Var,
        inner: Var,
        factor: Expr,
        tail: TailStrategy,
        directive: str,
    ) -> None:
        """``old`` -> ``outer``, ``inner``, all named by the user."""
        for new in (outer, inner):
            rules.check_same_kind(self.function, self.stage, old, new, directive)
        self._split(old, outer, inner, factor, tail, directive)

    def split_off(
        self, old: Var, factor: Expr, tail: TailStrategy, directive: str
    ) -> Var:
        """``old`` -> ``old``, and an inner loop named v0, v1, … which is returned."""
        inner = Var(f"v{self.schedule.generated}", INT32)
        self.schedule.generated += 1
        self._split(old, old, inner, factor, tail, directive)
        return inner

    def _split(
        self,
        old: Var,
        outer: Var,
        inner: Var,
        factor: Expr,
        tail: TailStrategy,
        directive: str,
    ) -> None:
        function, stage, s = self.function, self.stage, self.schedule
        if not isinstance(tail, TailStrategy):
            raise ScheduleError(
                f"{self.label}.{directive}: the tail must be a TailStrategy, not"
                f" {tail!r}",
                at=here(),
            )
        i = rules.find_dim(function, stage, old, directive)
        rules.check_factor(function, stage, factor, directive)
        if outer is inner:
            raise ScheduleError(
                f"{self.label}.{directive}: both loops made of {var_label(old)} are"
                f" called {var_label(outer)}",
                at=here(),
            )
        for new in (outer, inner):
            rules.check_new_var(function, stage, new, (old,), directive)
        dim = s.dims[i]
        auto = tail is TailStrategy.Auto
        what = f"{self.label}.{directive}"
        tail = tails.choose_tail(s, stage, dim, factor, tail, what)
        made = (Dim(inner, dim.kind, dim.type), Dim(outer, dim.kind, dim.type))
        s.dims = (*s.dims[:i], *made, *s.dims[i + 1 :])
        self._hand_on(old, outer, inner)
        done = Split(old, outer, inner, factor, tail, here(), auto, directive)
        s.transforms = (*s.transforms, done)

    def _put(self, i: int, dim: Dim) -> None:
        """Has a loop in the place of the one that is there."""
        dims = self.schedule.dims
        self.schedule.dims = (*dims[:i], dim, *dims[i + 1 :])

    def _hand_on(self, old: Var, *new: Var) -> None:
        """What was said of partitioning a loop goes for those that are made of it."""
        said = dict(self.schedule.partitions)
        choice = said.pop(old, None)
        if choice is not None:
            self.schedule.partitions = {**said, **dict.fromkeys(new, choice)}

    def fuse(self, inner: Var, outer: Var, fused: Var) -> None:
        function, stage, s = self.function, self.stage, self.schedule
        if inner is outer:
            raise ScheduleError(
                f"{self.label}.fuse: {var_label(inner)} cannot be fused with itself",
                at=here(),
            )
        i = rules.find_dim(function, stage, inner, "fuse")
        j = rules.find_dim(function, stage, outer, "fuse")
        one, two = s.dims[i], s.dims[j]
        for d in (one, two):
            if not is_rvar(fused) and d.type is not DimType.PURE_VAR:
                raise ScheduleError(
                    f"{self.label}.fuse: the RVar {var_label(d.var)} cannot become part"
                    f" of the Var {fused.name}",
                    at=here(),
                    hint=f"make it with hl.RVar({fused.name!r})",
                )
        rules.check_new_var(function, stage, fused, (inner, outer), "fuse")
        # The outer loop comes to stand right outside the inner one.
        order = [d for d in s.dims if d is not two]
        order.insert(order.index(one) + 1, two)
        rules.check_order(function, stage, order, "fuse")
        types = (one.type, two.type)
        merged = next(
            t
            for t in (DimType.IMPURE_RVAR, DimType.PURE_RVAR, DimType.PURE_VAR)
            if t in types
        )
        made = Dim(fused, one.kind, merged)
        rules.check_kind(function, stage, made, made.kind, "fuse")
        if two.kind not in (ForKind.SERIAL, one.kind):
            was, now = rules.KIND_WORD[two.kind], rules.KIND_WORD[one.kind]
            rules.warn(
                f"{self.label}.fuse: {fused.name} is {now}, like {var_label(inner)};"
                f" that {var_label(outer)} was {was} is lost",
                here(),
            )
        s.dims = tuple([made if d is one else d for d in order if d is not two])
        self._hand_on(outer)
        self._hand_on(inner, fused)
        s.transforms = (*s.transforms, Fuse(inner, outer, fused, here()))

    def rename(self, old: Var, new: Var) -> None:
        function, stage, s = self.function, self.stage, self.schedule
        i = rules.find_dim(function, stage, old, "rename")
        rules.check_same_kind(function, stage, old, new, "rename")
        rules.check_new_var(function, stage, new, (old,), "rename")
        if new is old:
            return
        self._put(i, Dim(new, s.dims[i].kind, s.dims[i].type))
        self._hand_on(old, new)
        s.transforms = (*s.transforms, Rename(old, new, here()))

    def reorder(self, order: Sequence[Var], directive: str) -> None:
        function, stage, s = self.function, self.stage, self.schedule
        places = [rules.find_dim(function, stage, v, directive) for v in order]
        for k, v in enumerate(order):
            if v in order[:k]:
                raise ScheduleError(
                    f"{self.label}.{directive}: {var_label(v)} is given twice",
                    at=here(),
                )
        dims = list(s.dims)
        for place, source in zip(sorted(places), places, strict=True):
            dims[place] = s.dims[source]
        rules.check_order(function, stage, dims, directive)
        s.dims = tuple(dims)
        if directive == "reorder":  # tile is known by its splits
            s.reorder_site = here()

    def mark(self, v: Var, kind: ForKind, directive: str) -> None:
        """Sets how the loop `v` runs."""
        function, stage, s = self.function, self.stage, self.schedule
        i = rules.find_dim(function, stage, v, directive)
        dim = s.dims[i]
        rules.check_kind(function, stage, dim, kind, directive)
        if kind.threaded:
            tails.check_parallel(s, dim, f"{self.label}.{directive}")
        if kind in (ForKind.VECTORIZED, ForKind.UNROLLED):
            rules.check_lanes(function, stage, v, directive)
        if ForKind.SERIAL not in (kind, dim.kind) and kind is not dim.kind:
            rules.warn(
                f"{self.label}.{directive}: {var_label(v)} was"
                f" {rules.KIND_WORD[dim.kind]} and now is"
                f" {rules.KIND_WORD[kind]} only",
                here(),
            )
        self._put(i, Dim(v, kind, dim.type))
        s.sites = {**s.sites, v: here()}

    def lanes(
        self,
        var: HasVar,
        factor: IntLike | None,
        tail: TailStrategy,
        kind: ForKind,
        directive: str,
    ) -> None:
        """Vectorizes or unrolls a loop, or what a constant factor splits off it."""
        what = f"{self.label}.{directive}"
        loop = to_var(var, what)
        if factor is not None:
            size = to_int(factor, what, "factor")
            if const_int(size) is None:
                raise ScheduleError(
                    f"{self.label}.{directive}: the factor must be a constant",
                    at=here(),
                )
            i = rules.find_dim(self.function, self.stage, loop, directive)
            dim = self.schedule.dims[i]
            rules.check_kind(self.function, self.stage, dim, kind, directive)
            loop = self.split_off(loop, size, tail, directive)
        self.mark(loop, kind, directive)
