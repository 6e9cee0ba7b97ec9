"""Directives about iterations that run at the same time, as mixins.

Names, argument order and meaning are those of Halide 21's Python module.
"""

from __future__ import annotations

from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.ir.function import Function
from parhelion.schedule import deps, rules
from parhelion.schedule.directives import touch


class ConcurrentLoops:
    """Directives on the loops of one definition of a Func."""

    __slots__ = ()
    _function: Function
    _stage: int

    def allow_race_conditions(self) -> Self:
        """Lets reduction loops run in any order, and in parallel, unproven.

        From here on the directives of this stage take the user's word that the
        result is the same, or that a difference does not matter. Updates of one place
        by several threads or lanes may then be lost; `atomic` keeps them.
        """
        schedule = rules.definition_of(self._function, self._stage).schedule
        schedule.allow_race_conditions = schedule.touched = True
        touch()
        return self

    def atomic(self, override_associativity_test: bool = False) -> Self:
        """Makes each update of a place happen as a whole, whichever threads and lanes
        are at it: reduction loops may then be parallel and vectorized.

        It must be certain that the order of the updates does not matter: every value
        is the old one at the same place with something folded into it by +, -, *, min,
        max, &, | or ^ (sums of floats count, though their last bits depend on the
        order). With `override_associativity_test` the user answers for that.

        Give it before `parallel` and `vectorize`. Raises ScheduleError if the order is
        not known to be free, or if the place itself depends on values of the Func.
        """
        function, label = self._function, rules.stage_label(self._function, self._stage)
        definition = rules.definition_of(function, self._stage)
        if deps.self_calls(function, definition.args):
            raise ScheduleError(
                f"{label}.atomic: which place is updated depends on values of"
                f" {function.name} itself, which other iterations change",
                at=here(),
            )
        free = deps.order_free(function, definition, exact=False)
        if not (override_associativity_test or free or definition.rdom is None):
            raise ScheduleError(
                f"{label}.atomic: it is not proven that the updates may happen in any"
                " order",
                at=here(),
                detail="each value must be the old one at the same place, folded with"
                f" something that does not read {function.name} by +, -, *, min, max,"
                " &, | or ^",
                hint="atomic(override_associativity_test=True) takes the"
                " responsibility",
            )
        schedule = definition.schedule
        schedule.atomic = schedule.touched = True
        schedule.atomic_site = here()
        touch()
        return self
