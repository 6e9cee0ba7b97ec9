"""The directives that say which loops are partitioned, as a mixin of Func and Stage.

Lowering splits a loop where its likely conditions (tails, boundary conditions, first
iterations) start and stop to hold, so that the middle runs without them. It does so
wherever that looks worth the code. These directives decide instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.loop_id import Partition, PartitionChoice
from parhelion.schedule import rules
from parhelion.schedule.args import HasVar, to_var, to_vars


class PartitionDirectives:
    """`partition` and its short forms."""

    __slots__ = ()
    _function: Function
    _stage: int

    def partition(self, var: HasVar, partition_policy: Partition) -> Self:
        """Says whether the loop over `var` is cut into pieces, so that the middle runs
        without conditions that are needed only at its ends.

        Such conditions are those of tails, boundary conditions and first iterations.
        Auto, the default, cuts where that looks worth the code; Never leaves the loop
        whole; Always cuts it even where it is part of an end piece of a loop further
        out, in which Auto leaves most loops around others whole.

        Raises ScheduleError for what is no Partition and for a loop that is not there,
        and when the pipeline is lowered, if Always finds no condition to cut the loop
        by.

        >>> f, image = hl.Func("f"), hl.Buffer(np.arange(4, dtype=np.int32))
        >>> f[x] = hl.BoundaryConditions.repeat_edge(image)[x - 1]
        >>> f = f.partition(x, hl.Partition.Never)
        >>> np.asarray(f.realize([6])).tolist()
        [0, 0, 1, 2, 3, 3]
        """
        if not isinstance(partition_policy, Partition):
            label = rules.stage_label(self._function, self._stage)
            raise ScheduleError(
                f"{label}.partition takes a Partition, not {partition_policy!r}",
                at=here(),
                legal=[p.name for p in Partition],
            )
        given = [to_var(var, f"{self._label()}.partition")]
        self._partition(given, partition_policy, "partition")
        return self

    def never_partition(
        self, *one: HasVar | Sequence[HasVar], vars: Sequence[HasVar] = ()
    ) -> Self:
        """Leaves the loops given whole: see `partition`.

        Takes them one by one or as one list; of none, a warning says that nothing
        happens. Raises ScheduleError for a loop that is not there.
        """
        given = to_vars(one or vars, f"{self._label()}.never_partition")
        self._partition(given, Partition.Never, "never_partition")
        return self

    def never_partition_all(self) -> Self:
        """Leaves all loops whole that this stage has when it is called: see
        `partition`.

        On a Func, these are the loops of its pure definition; updates are stages of
        their own.
        """
        self._partition(None, Partition.Never, "never_partition_all")
        return self

    def always_partition(
        self, *one: HasVar | Sequence[HasVar], vars: Sequence[HasVar] = ()
    ) -> Self:
        """Cuts the loops given into pieces wherever they stand: see `partition`.

        Takes them one by one or as one list; of none, a warning says that nothing
        happens. Raises ScheduleError for a loop that is not there, and when the
        pipeline is lowered, for one that has no condition to be cut by.
        """
        given = to_vars(one or vars, f"{self._label()}.always_partition")
        self._partition(given, Partition.Always, "always_partition")
        return self

    def always_partition_all(self) -> Self:
        """Cuts all loops into pieces that this stage has when it is called, except
        those that are vectorized or unrolled: see `partition`.

        On a Func, these are the loops of its pure definition; updates are stages of
        their own. Raises ScheduleError, when the pipeline is lowered, if one of them
        has no condition to be cut by.
        """
        self._partition(None, Partition.Always, "always_partition_all")
        return self

    def _label(self) -> str:
        return rules.stage_label(self._function, self._stage)

    def _partition(
        self, given: Sequence[Var] | None, policy: Partition, directive: str
    ) -> None:
        """Notes `policy` for the loops given, or for all of the stage."""
        function, stage = self._function, self._stage
        schedule = rules.definition_of(function, stage).schedule
        label = rules.stage_label(function, stage)
        if given is not None and not given:
            rules.warn(
                f"{label}.{directive}() has no effect: no loops are given", here()
            )
        for v in given or ():
            rules.find_dim(function, stage, v, directive)
        choice = PartitionChoice(policy, label, directive, given is not None, here())
        loops = [d.var for d in schedule.dims] if given is None else given
        schedule.partitions = {**schedule.partitions, **dict.fromkeys(loops, choice)}
        schedule.touched = True


__all__ = ["PartitionDirectives"]
