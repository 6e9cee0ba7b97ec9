"""A scheduler for tests: every Func at root, or whatever a test wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.autoschedule.decisions import Decision, Option
from parhelion.autoschedule.params import Parameter, Parameters
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target

PARAMETERS = Parameters(
    "Toy",
    [
        Parameter("lanes", "int", "how many pixels are computed at once", 1, 64),
        Parameter("share", "float", "a part of the work", 0, 1),
        Parameter("threads", "bool", "whether the rows run in parallel"),
        Parameter("mode", ("fast", "small"), "what is looked for"),
        Parameter("parallelism", "int", "how many threads there are", 1),
        Parameter("measure", "int", "how many candidates are run", 0),
    ],
)


class Toy:
    """All at root, or all inline: the option that was not taken.

    seen: the sizes of the latest call. give: more directives, for tests of errors.
    """

    def __init__(self) -> None:
        self.seen: Sizes | None = None
        self.give: Callable[[Script], object] | None = None

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        told = PARAMETERS.read(params.extra)
        self.seen = sizes
        script = Script(tuple(outputs))
        for f in script.order:
            if f not in outputs:
                script.add(f, -1, "compute_root")
            if f.extern is None and f.args:
                script.add(f, 0, "vectorize", f.args[0], told.get("lanes", 8))
        if self.give is not None:
            self.give(script)

        def inline() -> Script:
            made = Script(tuple(outputs))
            for f in outputs:
                made.add(f, 0, "unroll", f.args[0], 2)
            return made

        root, other = Option("at root", 2e-3), Option("inline", 5e-3, inline)
        decisions = [
            Decision("inline", f.name, root, (other, root), "it is read 3 times", "all")
            for f in script.order
            if f not in outputs
        ]
        decisions.append(Decision("order", outputs[0].name, root, (root,)))
        return AutoSchedulerResults(
            target=target,
            autoscheduler_params=params,
            script=script,
            decisions=decisions,
            notes=["the toy knows nothing of loops"],
            cost=2e-3,
            predicted_seconds=2e-3,
        )


TOY = Toy()
