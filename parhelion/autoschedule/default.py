"""The default automatic scheduler, ``Parhelion``: searches, explains, never fails.

It goes beyond the 2016 paper where its discussion says that it falls short: sliding
windows beside overlapped tiles, another place for each producer of a group, blocks of
registers as a level of the hierarchy, and a cost model in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.autoschedule.calibrate import known
from parhelion.autoschedule.decisions import Decision, Lazily, Option, cost_text
from parhelion.autoschedule.emit import script_of
from parhelion.autoschedule.estimates import Sizes
from parhelion.autoschedule.fallback import fallback, refused
from parhelion.autoschedule.params import Parameter, Parameters
from parhelion.autoschedule.plan import Group
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search import Search
from parhelion.autoschedule.state import State
from parhelion.errors import HalideError
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target

NAME = "Parhelion"
PARAMETERS = Parameters(
    NAME,
    [
        Parameter("parallelism", "int", "how many threads there will be", 1, 4096),
        Parameter("budget", "int", "how many groups are evaluated at most", 0),
        Parameter("measure", "int", "how many candidates are run and timed", 0, 1000),
    ],
)

_NANO = 1e-9


class DefaultScheduler:
    """See the module."""

    def schedule(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        target: Target,
        params: AutoschedulerParams,
    ) -> AutoSchedulerResults:
        """Finds a schedule. Parameters: `PARAMETERS`."""
        told = PARAMETERS.read(params.extra)
        threads = told.get("parallelism")
        computer = known(int(threads) if threads is not None else None)
        search = Search(tuple(outputs), sizes, computer.machine)
        if computer.trouble:
            search.notes.append(computer.trouble)
        if "budget" in told:
            search.budget = int(told["budget"])
        try:
            state = search.run()
            script = _script(state)
        except Exception as error:  # no pipeline may make it fail: the note tells
            return _fallback(search, target, params, error)
        illegal = refused(script)
        if illegal is not None:
            return _fallback(search, target, params, illegal)
        found = _result(state, script, target, params)
        found.machine = computer.source
        count = int(told.get("measure", 0))
        if count > 1:
            found.candidates = _candidates(state, script, count - 1, target, params)
            for other in found.candidates:
                other.machine = computer.source
        return found


def _result(
    state: State, script: Script, target: Target, params: AutoschedulerParams
) -> AutoSchedulerResults:
    cost = state.cost * _NANO
    return AutoSchedulerResults(
        target=target,
        autoscheduler_params=params,
        script=script,
        decisions=Lazily(lambda: _decisions(state)),
        notes=tuple(state.search.notes),
        cost=cost,
        predicted_seconds=cost,
    )


def _candidates(
    state: State,
    script: Script,
    count: int,
    target: Target,
    params: AutoschedulerParams,
) -> list[AutoSchedulerResults]:
    """The schedules next to the one that was chosen, those of least cost first."""
    graph = state.model.graph
    near = [s for f in graph.everything for _, s in state.others(f)]
    found: list[AutoSchedulerResults] = []
    seen = [script.calls]
    for other in sorted(near, key=lambda s: s.cost):
        if len(found) == count:
            break
        made = _script(other)
        if made.calls not in seen and refused(made) is None:
            seen.append(made.calls)
            found.append(_result(other, made, target, params))
    return found


def _fallback(
    search: Search, target: Target, params: AutoschedulerParams, error: Exception
) -> AutoSchedulerResults:
    what = error.what if isinstance(error, HalideError) else repr(error)
    return AutoSchedulerResults(
        target=target,
        autoscheduler_params=params,
        script=fallback(search.outputs, search.freedom.inlined),
        notes=(
            *search.notes,
            "the search came to no legal schedule, so that everything is computed at"
            f" the root, in simple loops ({what})",
        ),
    )


def _script(state: State) -> Script:
    model = state.model
    return script_of(
        state.plan(), model.graph, model.regions, model.machine, state.search.freedom
    )


def _making(state: State) -> Callable[[], Script]:
    return lambda: _script(state)


def _decisions(state: State) -> list[Decision]:
    """For each group, the dearest first: how it is tiled, and where its Funcs are
    computed, beside the other ways. Then what is inlined."""
    found: list[Decision] = []
    home = state.home()
    graph = state.model.graph
    groups = sorted(state.groups.values(), key=lambda g: -g.cost)
    for g in groups:
        heading = (
            f"group of {g.root.name}: {cost_text(g.cost * _NANO, 's')} of"
            f" {cost_text(state.cost * _NANO, 's')}"
        )
        if any(t for t in g.tiling.tile) or len(groups) <= _FEW:
            found.append(_tiling(state, g, heading))
        for f in (g.root, *g.members):
            if state.search.freedom.move(f):
                found.append(_place(state, f, heading))
    inlined = sorted(graph.inlined - home.keys(), key=lambda f: f.name)
    inside = [
        _place(state, f, "inlined") for f in inlined if state.search.freedom.move(f)
    ]
    return found + sorted(inside, key=lambda d: -(d.gain or 0.0))


#: Pipelines of no more groups than this tell of those that are not tiled too.
_FEW = 8


def _place(state: State, f: Function, heading: str) -> Decision:
    chosen = Option(str(state.place(f)), state.cost * _NANO)
    others = [Option(str(p), s.cost * _NANO, _making(s)) for p, s in state.others(f)]
    return Decision("place", f.name, chosen, (chosen, *others), group=heading)


def _tiling(state: State, g: Group, heading: str) -> Decision:
    chosen = Option(tiling_text(g), state.cost * _NANO)
    others = []
    for other in state.search.tilings(state.model, g.root, g.members, 4):
        if tiling_text(other) != chosen.label:
            made = State(state.search, state.model, {**state.groups, g.root: other})
            others.append(Option(tiling_text(other), made.cost * _NANO, _making(made)))
    return Decision("tile", g.root.name, chosen, (chosen, *others), group=heading)


def tiling_text(g: Group) -> str:
    """The tiles and blocks of a group, in words: ``tiles 128 x 16, blocks 16 x 1``."""
    block = " x ".join([str(n) for n in g.loops[g.root].block]) or "1"
    if not any(g.tiling.tile):
        return f"no tiles, blocks {block}"
    tile = " x ".join([str(n) if n else "all" for n in g.tiling.tile])
    return f"tiles {tile}, blocks {block}"


PARHELION = DefaultScheduler()

__all__ = ["NAME", "PARAMETERS", "PARHELION", "DefaultScheduler"]
