"""`AutoSchedulerResults`: what an automatic scheduler found, and how one is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from parhelion.dataclass import dataclass
from parhelion.errors import (
    HalideError,
    InternalError,
    ScheduleError,
    TimeLimitError,
    here,
    located,
)
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target
from parhelion.shown import view
from parhelion.tracebacks import shortened

if TYPE_CHECKING:
    from parhelion.autoschedule.decisions import Decision, Explanation, Option
    from parhelion.autoschedule.pipeline.sizes import Sizes
    from parhelion.autoschedule.script import Script
    from parhelion.ir.function import Function
    from parhelion.schedule.snapshot import Snapshot


class Scheduler(Protocol):
    """What `register_autoscheduler` makes known.

    tiles_scans, if it is there and true: whether scans with few and long lines are to
    be put into tiles before it is asked (see `scans`).
    """

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """Finds a schedule for the pipeline that computes the outputs.

        outputs: copies of the user's Funcs, with the directives that these have, which
        are to stay; sizes are of the copies. Its script will be applied to the user's
        Funcs, so directives that it tries on the copies are taken back. Raises
        ScheduleError for parameters that it does not have.
        """
        ...


@dataclass(eq=False, kw_only=True)
class AutoSchedulerResults:
    """A schedule that an automatic scheduler found, and why it is so.

    target: the machine that the schedule is for.
    autoscheduler_params: the name of the scheduler, and what it was told.
    script: the directives, in order.
    decisions: what was decided, for `explain`.
    notes: what the user should know, a sentence each.
    cost: what the cost model says of the schedule, in `unit` ("s" for seconds), as in
        the decisions.
    predicted_seconds: the same as a time, where the scheduler knows.
    unpredicted: why it does not.
    sizes: the sizes of the outputs and inputs that the schedule was found for.
    seconds: how long the search took.
    machine: where the costs of this computer are from, in words, if the scheduler goes
        by such.
    featurization: always empty (Halide has training data there).
    candidates: others to run beside this one, if the user asked for measuring.

    >>> f, g = hl.funcs("f g")
    >>> f[x, y] = x * y
    >>> g[x, y] = f[x, y] + f[x + 1, y]
    >>> found = hl.autoschedule(g, [640, 480])
    >>> found.scheduler_name
    'Parhelion'
    >>> found.undo()
    """

    target: Target
    autoscheduler_params: AutoschedulerParams
    script: Script
    decisions: Sequence[Decision] = ()
    notes: Sequence[str] = ()
    cost: float | None = None
    unit: str = "s"
    predicted_seconds: float | None = None
    unpredicted: str = ""
    sizes: Sizes | None = None
    seconds: float = 0.0
    machine: str = ""
    featurization: bytes = b""
    candidates: Sequence[AutoSchedulerResults] = ()
    #: The schedule as it was before, once the driver has it, and the Funcs by the
    #: copies of them that the scheduler was given.
    before: Snapshot | None = None
    #: What comes before the scripts of the scheduler: they are for what it leaves.
    first: Script | None = None
    #: Whether the Funcs had directives, once the driver has the result.
    partial: bool | None = None
    originals: Mapping[Function, Function] | None = None

    def __post_init__(self) -> None:
        self.notes = tuple(self.notes)

    def belongs(
        self,
        copies: Mapping[Function, Function],
        sizes: Sizes,
        before: Snapshot,
        first: Script,
        partial: bool,
    ) -> None:
        """Turns a result for copies of Funcs into one for the Funcs themselves.

        copies: by the user's Funcs. sizes, before: of the user's Funcs. first: the
        directives that the copies had been given. partial: whether the Funcs had some
        of the user's.
        """
        self.originals = {copy: f for f, copy in copies.items()}
        self.sizes, self.before = sizes, before
        self.first, self.partial = first, partial
        self.script = self._whole(self.script)

    def _whole(self, script: Script) -> Script:
        """A script of the scheduler's as one for the user's Funcs."""
        if self.first is None or self.originals is None:
            return script
        found = script.after(self.first)
        if found is None:
            raise HalideError(
                "this schedule is about Funcs that tile_scan makes, which cannot be"
                " named",
                at=here(),
            )
        return found.on(self.originals)

    @property
    def scheduler_name(self) -> str:
        """The name of the scheduler that found the schedule."""
        return self.autoscheduler_params.name

    @property
    def schedule_source(self) -> str:
        """The schedule as source code: as `to_python` (Halide's is C++)."""
        return self.to_python()

    @property
    def python_schedule_source(self) -> str:
        """The same as `to_python`."""
        return self.to_python()

    def to_python(self) -> str:
        """Returns the schedule as a Python program, to be edited and kept.

        It defines ``schedule(pipeline)``, which gives the directives to the Funcs of a
        Pipeline that does not have them: ``schedule(hl.Pipeline([out]))``.
        """
        params = self.autoscheduler_params
        told = ", ".join([f"{k}={v}" for k, v in sorted(params.extra.items())])
        by = f"{params.name} ({told})" if told else params.name
        return f"# Found by {by}.\n{self.script.to_python(self._partial())}"

    def _partial(self) -> bool:
        """Whether the Funcs had directives before."""
        from parhelion.schedule.recomputing import unscheduled

        if self.partial is None:
            return not unscheduled(self.script.order)
        return self.partial

    def _repr_html_(self) -> str:
        """What a notebook shows: the code, to be copied, and why it is so."""
        return str(view("result")(self))

    def explain(self) -> Explanation:
        """Returns what was decided and why: a text to print, whose `decisions` can be
        looked at one by one, and tried with `alternative`."""
        from parhelion.autoschedule.decisions import Explanation, cost_text

        count = len(self.decisions)
        heading = [f"{self.scheduler_name}: {count} decision{'s' * (count != 1)}"]
        if self.cost is not None:
            unit = "" if self.unit == "s" else f" {self.unit}"
            heading.append(f"cost: {cost_text(self.cost, self.unit)}{unit}")
        if self.predicted_seconds is not None and self.unit != "s":
            heading.append(f"predicted time: {cost_text(self.predicted_seconds, 's')}")
        if self.unpredicted:
            heading.append(f"no time is predicted: {self.unpredicted}")
        if self.machine:
            heading.append(f"machine: {self.machine}")
        return Explanation(heading, self.decisions, self.notes, self.unit)

    def alternative(
        self, decision: Decision, option: Option | None = None
    ) -> AutoSchedulerResults:
        """Returns the schedule with another option of one decision in place, the
        runner-up if none is given. It is not applied: `apply` puts it in the place of
        this one.

        Raises HalideError if the decision is none of this result, if it had no other
        option, or if the option cannot be applied.
        """
        if decision not in self.decisions:
            raise HalideError("the decision is none of this schedule's", at=here())
        chosen = decision.runner_up if option is None else option
        which = f"{decision.kind} of {decision.func}"
        if chosen is None:
            raise HalideError(f"the {which} had no other option", at=here())
        if chosen not in decision.options:
            raise HalideError(
                f"{chosen.label!r} is no option of the {which}",
                at=here(),
                legal=[repr(o.label) for o in decision.options],
            )
        if chosen.make is None:
            raise HalideError(
                f"the option {chosen.label!r} of the {which} cannot be applied",
                at=here(),
            )
        from parhelion.autoschedule.decisions import searching

        more = chosen.cost - decision.chosen.cost
        cost = None if self.cost is None else self.cost + more
        predicted = self.predicted_seconds
        if predicted is not None and self.unit == "s":
            predicted += more
        elif predicted is not None:
            predicted = predicted * cost / self.cost if cost and self.cost else None
        script = self._whole(searching(chosen.make))
        told = f"{which}: {chosen.label} in place of {decision.chosen.label}"
        return replace(
            self,
            script=script,
            decisions=(),
            notes=(*self.notes, told),
            cost=cost,
            predicted_seconds=predicted,
            seconds=0.0,
        )

    # Trying it.

    def apply(self) -> None:
        """Gives the directives to the Funcs, in place of all that they have been given
        since the scheduler was asked. Raises ScheduleError if a Func has been given
        another definition since.

        Schedulers answer with legal schedules: a directive that is refused is a bug,
        InternalError, and leaves the Funcs as they were before the scheduler.
        """
        from parhelion.ir.changes import CHANGES
        from parhelion.schedule.legality import resolve
        from parhelion.schedule.spec import PipelineSpec

        before = self._snapshot()
        with CHANGES:  # others compile what was there before, or all of it
            before.restore()
            try:
                with self._in_its_name():
                    self.script.apply()
                resolve(PipelineSpec.of(self.script.outputs))
            except TimeLimitError:
                before.restore()
                raise
            except HalideError as error:
                before.restore()
                raise InternalError(
                    f"internal error: the schedule of {self.scheduler_name} is refused:"
                    f" {error.what}",
                    detail=self.to_python(),
                ) from error
            except BaseException:
                before.restore()
                raise

    def _in_its_name(self) -> AbstractContextManager[None]:
        """Around directives: their errors say who gave them."""
        site = here()
        if site is None:
            return nullcontext()
        return located(replace(site, scheduler=self.scheduler_name))

    def undo(self) -> None:
        """Takes the schedule back: all is as it was before the scheduler was asked.
        Raises ScheduleError as `apply` does.
        """
        self._snapshot().restore()

    def _snapshot(self) -> Snapshot:
        if self.before is None:
            raise InternalError("internal error: nothing is known of the time before")
        for f in self.before.redefined():
            raise ScheduleError(
                f"{f.label} has been given another definition since"
                f" {self.scheduler_name} was asked, and its schedule is not for that",
                at=here(),
                hint="ask the scheduler again",
            )
        return self.before

    def __repr__(self) -> str:
        name, count = self.scheduler_name, len(self.script.calls)
        return f"<parhelion.AutoSchedulerResults of {name}: {count} directives>"


# It is what a method returns, and so found by no name of the package's.
shortened(AutoSchedulerResults)

__all__ = ["AutoSchedulerResults", "Scheduler"]
