"""Specialisation: other schedules of a definition, for where a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parhelion.errors import HalideError, ScheduleError, here
from parhelion.ir.build import TRUE, is_false, is_true
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad, Intrinsic, Load, Var
from parhelion.ir.function import Function, ReductionDomain, var_label
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import nodes
from parhelion.lang.convert import node_of
from parhelion.lang.handles import stage_of
from parhelion.schedule import rules
from parhelion.schedule.branches import StageIndex, copied, path_of
from parhelion.schedule.directives import Specialization

if TYPE_CHECKING:
    from parhelion.lang.expr import ExprLike
    from parhelion.lang.func import Stage


class Specializing:
    """`specialize` and `specialize_fail` of Func and Stage."""

    __slots__ = ()
    _function: Function
    _stage: int

    def specialize(self, condition: ExprLike) -> Stage:
        """Returns a Stage whose schedule is used in runs where `condition` holds.

        It begins as a copy of the present schedule of this stage; directives that
        follow are for one of the two alone. Conditions are tried in the order in which
        they were given. A Stage that was returned can be specialized again, and the
        same condition returns the same Stage. The code for a condition makes use of it:
        a Param that equals a constant is that constant, and loops whose extent is a
        multiple of a factor have no tail.

        `condition` is a Bool made of Params, and of sizes and strides of images and of
        the pipeline's outputs. Raises ScheduleError if it is no Bool, mentions Vars,
        RVars, Funcs or pixels, or comes after `specialize_fail`.

        >>> f, fast = hl.Func("f"), hl.Param(hl.Bool(), "fast", True)
        >>> f[x] = x + 1
        >>> f.specialize(fast).vectorize(x, 8)
        <parhelion.Stage f.specialize(fast)>
        """
        schedule = rules.definition_of(self._function, self._stage).schedule
        wanted = _condition(rules.stage_label(self._function, self._stage), condition)
        known = schedule.specializations
        for k, one in enumerate(known):
            if one.condition is wanted and one.schedule is not None:
                return self._branch(k)
        if known and known[-1].schedule is None:
            raise ScheduleError(
                f"{rules.stage_label(self._function, self._stage)}.specialize: nothing"
                " is tried after specialize_fail",
                at=here(),
                detail=f"specialize_fail was given at {known[-1].site}",
            )
        label = rules.stage_label(self._function, self._stage)
        if is_false(wanted):
            rules.warn(
                f"{label}.specialize: the condition never holds: it has no effect",
                here(),
            )
        before = next((s for s in known if is_true(s.condition)), None)
        if before is not None:
            rules.warn(
                f"{label}.specialize has no effect: the condition given at"
                f" {before.site} always holds",
                here(),
            )
        with CHANGES:
            inside = copied(schedule)
            inside.specializations = ()
            inside.touched = True
            made = Specialization(wanted, inside, site=here())
            schedule.specializations = (*schedule.specializations, made)
            schedule.touched = True
            return self._branch(len(schedule.specializations) - 1)

    def specialize_fail(self, message: str) -> None:
        """Makes runs fail for which none of the conditions given so far holds.

        They raise PipelineRuntimeError with `message`; the stage's own schedule is then
        used by no run. Raises ScheduleError if it was given already.
        """
        schedule = rules.definition_of(self._function, self._stage).schedule
        label = rules.stage_label(self._function, self._stage)
        if not isinstance(message, str) or not message:
            raise ScheduleError(
                f"{label}.specialize_fail takes a message, not {message!r:.60}",
                at=here(),
            )
        known = schedule.specializations
        if known and known[-1].schedule is None:
            raise ScheduleError(
                f"{label}.specialize_fail: it was given already",
                at=here(),
                detail=f"it was given at {known[-1].site}",
            )
        made = Specialization(TRUE, None, message, here())
        schedule.specializations = (*known, made)
        schedule.touched = True

    def _branch(self, k: int) -> Stage:
        path = (*path_of(self._stage), k)
        return stage_of(self._function, StageIndex(self._stage, path))


def _condition(label: str, given: ExprLike) -> Node:
    """The condition, checked to be a Bool that is known when the pipeline starts."""
    try:
        condition = node_of(given)
    except HalideError as error:
        raise ScheduleError(
            f"{label}.specialize takes a Bool, not {given!r:.60}", at=here()
        ) from error
    if not condition.type.is_bool():
        raise ScheduleError(
            f"{label}.specialize takes a Bool, not a value of type {condition.type}",
            at=here(),
            hint="compare it: value != 0",
        )
    for n in nodes(condition):
        what = ""
        if isinstance(n, Var) and isinstance(n.origin, ReductionDomain):
            what = f"the RVar {var_label(n)}"
        elif isinstance(n, Var) and n.origin is None:
            what = f"the Var {n.name}"
        elif isinstance(n, FuncCall):
            what = f"the Func {n.func.name}"
        elif isinstance(n, ImageLoad):
            what = f"pixels of {n.image.name}"
        elif isinstance(n, Load) or (
            isinstance(n, Intrinsic) and not INTRINSICS[n.op].pure
        ):
            what = "more than the arguments of the run"
        if what:
            raise ScheduleError(
                f"{label}.specialize: the condition depends on {what}",
                at=here(),
                hint="a condition is made of Params and of the sizes and strides of"
                " images and outputs, which one run does not change; hl.select chooses"
                " from pixel to pixel",
            )
    return condition


__all__ = ["Specializing"]
