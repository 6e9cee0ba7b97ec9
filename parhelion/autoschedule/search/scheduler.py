"""The default automatic scheduler, ``Parhelion``: searches, explains, never fails.

It goes beyond the 2016 paper where its discussion says that it falls short: sliding
windows beside overlapped tiles, another place for each producer of a group, blocks of
registers as a level of the hierarchy, large reductions in parts, and a cost model in
nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from parhelion.autoschedule.decisions import Decision, Lazily, Option, cost_text
from parhelion.autoschedule.fallback import fallback, refused
from parhelion.autoschedule.machine.calibration import known
from parhelion.autoschedule.model.plan import Group
from parhelion.autoschedule.model.throughput import one_by_one
from parhelion.autoschedule.params import Parameter, Parameters
from parhelion.autoschedule.pipeline.graph import Graph, can_inline
from parhelion.autoschedule.pipeline.regions import points
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.state import State
from parhelion.autoschedule.search.variants import Finder, Found
from parhelion.errors import HalideError
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target
from parhelion.schedule.directives import Place
from parhelion.schedule.modes import by_loops
from parhelion.schedule.recomputing import unscheduled

NAME = "Parhelion"
PARAMETERS = Parameters(
    NAME,
    [
        Parameter("parallelism", "int", "how many threads there will be", 1, 4096),
        Parameter("budget", "int", "how many groups are evaluated at most", 0),
        Parameter(
            "measure",
            "int",
            "how many candidates are run and timed, and beside them the first one"
            " without parallel loops, and no schedule",
            0,
            1000,
        ),
        Parameter(
            "reassociate",
            "bool",
            "whether large sums and products of floats may be computed in parts, and,"
            " if it is said, scans of floats in tiles",
        ),
    ],
)

_NANO = 1e-9


class DefaultScheduler:
    """See the module."""

    tiles_scans = True

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
        finder = Finder(
            tuple(outputs),
            sizes,
            computer.machine,
            int(told["budget"]) if "budget" in told else None,
            bool(told.get("reassociate", True)),
            [computer.trouble] if computer.trouble else [],
            target,
        )
        search = finder.search()
        try:
            found, script = _improved(finder, search.run())
        except Exception as error:  # no pipeline may make it fail: the note tells
            return _fallback(search, target, params, error)
        illegal = refused(script)
        if illegal is not None and unscheduled(script.order):
            return _fallback(search, target, params, illegal)
        made = _result(found, found.state, script, target, params)
        made.machine = computer.source
        count = int(told.get("measure", 0))
        # What is refused beside directives of the user's is for `settled` to shorten.
        if count > 1 and illegal is None:
            made.candidates = [
                *_candidates(found, script, count - 1, target, params),
                *_simpler(found, script, target, params),
            ]
            for other in made.candidates:
                other.machine = computer.source
        return made


def _improved(finder: Finder, plain: State) -> tuple[Found, Script]:
    """The best schedule that there is. Where trying reductions in parts and other
    storage orders fails, it is the one without them, and a note tells."""
    try:
        found = finder.found(plain)
        return found, found.script()
    except Exception as error:  # no pipeline may make it fail: the note tells
        plain.search.notes.append(
            "reductions in parts and other storage orders are left out, as the search"
            f" for them fails ({_what(error)})"
        )
    found = Found(finder, plain)
    return found, found.script()


def _result(
    found: Found,
    state: State,
    script: Script,
    target: Target,
    params: AutoschedulerParams,
) -> AutoSchedulerResults:
    """state: of the search of `found`."""
    cost = state.cost * _NANO
    foreign = found.within(lambda: _foreign(state))
    names = ", ".join([f.name for f in foreign])
    return AutoSchedulerResults(
        target=target,
        autoscheduler_params=params,
        script=script,
        decisions=Lazily(lambda: _decisions(found, state)),
        notes=tuple(state.search.notes),
        cost=cost,
        predicted_seconds=None if foreign else state.time * _NANO,
        unpredicted=f"the loops of {names} are not the scheduler's; the cost is as if"
        " they were"
        if foreign
        else "",
    )


def _foreign(state: State) -> list[Function]:
    """Funcs of a state whose loops the user has given, one definition's at least, or
    that are foreign code: what they cost nobody knows."""
    return [
        f
        for g in state.groups.values()
        for f in (g.root, *g.members)
        if not all(_ours(state, f))
    ]


def _ours(state: State, f: Function) -> list[bool]:
    """Of each definition of a Func, whether the scheduler gives it loops."""
    freedom = state.search.freedom
    inside = f.schedule.compute.place is Place.LOOP and f not in freedom.outputs
    if inside or not by_loops(f):
        return [False]
    return [freedom.loops(f, k) for k in range(len(f.stages()))]


def _candidates(
    found: Found,
    script: Script,
    count: int,
    target: Target,
    params: AutoschedulerParams,
) -> list[AutoSchedulerResults]:
    """The schedules next to the one that was chosen, those of least cost first."""
    state = found.state
    graph = state.model.graph

    def near() -> list[State]:
        places = [s for f in graph.everything for _, s in state.others(f)]
        ours = [
            g
            for g in state.groups.values()
            if g.tile is None and any(_ours(state, g.root))
        ]
        return places + [s for g in ours for _, s in _retiled(state, g)]

    made: list[AutoSchedulerResults] = []
    seen = [script.calls]
    for other in sorted(found.within(near), key=lambda s: s.cost):
        if len(made) == count:
            break
        one = found.script(other)
        if one.calls not in seen and refused(one) is None:
            seen.append(one.calls)
            made.append(_result(found, other, one, target, params))
    return made


def _simpler(
    found: Found, script: Script, target: Target, params: AutoschedulerParams
) -> list[AutoSchedulerResults]:
    """Schedules with less in them, of which no time is predicted."""
    made: list[AutoSchedulerResults] = []
    # Reductions in parts are no part of a pipeline without a schedule.
    if found.factoring is not None:
        return made
    for words, one in simpler(found.state, script):
        made.append(
            AutoSchedulerResults(
                target=target,
                autoscheduler_params=params,
                script=one,
                notes=(f"{words}: what was found has more in it",),
                unpredicted="it was measured beside what was found",
            )
        )
    return made


def _fallback(
    search: Search, target: Target, params: AutoschedulerParams, error: Exception
) -> AutoSchedulerResults:
    return AutoSchedulerResults(
        target=target,
        autoscheduler_params=params,
        script=fallback(search.outputs, search.freedom.inlined),
        notes=(
            *search.notes,
            "the search came to no legal schedule, so that everything is computed at"
            f" the root, in simple loops ({_what(error)})",
        ),
    )


def _what(error: Exception) -> str:
    return error.what if isinstance(error, HalideError) else repr(error)


def _making(found: Found, state: State) -> Callable[[], Script]:
    return lambda: found.script(state)


def _decisions(found: Found, state: State) -> list[Decision]:
    """Which reductions are in parts; for each group, the dearest first, how it is
    tiled, and where its Funcs are computed, beside the other ways; what is inlined."""
    reductions = found.decisions() if state is found.state else []
    return reductions + found.within(lambda: _of_groups(found, state))


def _of_groups(found: Found, state: State) -> list[Decision]:
    made: list[Decision] = []
    home = state.home()
    graph = state.model.graph
    groups = sorted(state.groups.values(), key=lambda g: -g.cost)
    for g in groups:
        heading = (
            f"group of {g.root.name}: {cost_text(g.cost * _NANO, 's')} of"
            f" {cost_text(state.cost * _NANO, 's')}"
        )
        ours = any(_ours(state, g.root))
        whole = g.tile is None
        if ours and whole and (any(g.tiling.tile) or len(groups) <= _FEW):
            made.append(_tiling(found, state, g, heading))
        for f in (g.root, *g.members):
            if state.search.freedom.move(f) and (whole or f is not g.root):
                made.append(_place(found, state, f, heading))
    inlined = sorted(graph.inlined - home.keys(), key=lambda f: f.name)
    inside = [
        _place(found, state, f, "inlined")
        for f in inlined
        if state.search.freedom.move(f)
    ]
    return made + sorted(inside, key=lambda d: -(d.gain or 0.0))


#: Pipelines of no more groups than this tell of those that are not tiled too.
_FEW = 8


def _place(found: Found, state: State, f: Function, heading: str) -> Decision:
    chosen = Option(str(state.place(f)), state.cost * _NANO)
    others = [
        Option(str(p), s.cost * _NANO, _making(found, s)) for p, s in state.others(f)
    ]
    return Decision("place", f.name, chosen, (chosen, *others), group=heading)


def _tiling(found: Found, state: State, g: Group, heading: str) -> Decision:
    chosen = Option(tiling_text(g), state.cost * _NANO)
    others = [
        Option(label, s.cost * _NANO, _making(found, s))
        for label, s in _retiled(state, g)
    ]
    return Decision("tile", g.root.name, chosen, (chosen, *others), group=heading)


def _retiled(state: State, g: Group) -> Iterator[tuple[str, State]]:
    """The states with other tiles and blocks of a group, the cheapest first, and what
    these are in words."""
    told = {tiling_text(g)}
    for other in state.search.tilings(state.model, g.root, g.members, 4):
        label = tiling_text(other)
        if label not in told:
            told.add(label)
            groups = {**state.groups, g.root: other}
            yield label, State(state.search, state.model, groups)


def tiling_text(g: Group) -> str:
    """The tiles and blocks of a group, in words: ``tiles 128 x 16, blocks 16 x 1``."""
    block = " x ".join([str(n) for n in g.loops[g.root].block]) or "1"
    if not any(g.tiling.tile):
        return f"no tiles, blocks {block}"
    tile = " x ".join([str(n) if n else "all" for n in g.tiling.tile])
    return f"tiles {tile}, blocks {block}"


#: Pipelines of more Funcs are not looked at without a schedule: inlined into each
#: other, their code may multiply.
_MOST_FUNCS = 6
#: Without a schedule, no more than so many times what the schedule is predicted to
#: take: it would be run for nothing.
_MOST_TIME = 8.0


def simpler(state: State, script: Script) -> Iterator[tuple[str, Script]]:
    """What is legal of these, in words and as a script: the schedule without parallel
    loops, and no schedule where that is not far slower by the cost model. To be run
    beside it: parallel loops, vectors and tiles cost time to begin, which a model can
    only estimate.

    state: the schedule, of which `script` has the directives.
    """
    serial = script.copy()
    serial.calls = [c for c in script.calls if c.method != "parallel"]
    made = [("the same without parallel loops", serial)]
    outputs = script.outputs
    if without(state, outputs) <= _MOST_TIME * state.cost:
        made.append(("no schedule", Script(outputs)))
    for words, one in made:
        if one.calls != script.calls and refused(one) is None:
            yield words, one


def without(state: State, outputs: Sequence[Function]) -> float:
    """Nanoseconds of the pipeline without directives, on one core; infinity where that
    is not known, or the Funcs have directives already."""
    every = Graph.of(outputs)
    inside = [f for f in every.order if f not in outputs]
    known = len(inside) < _MOST_FUNCS and unscheduled(every.order)
    if not known or not all(can_inline(f, outputs) for f in inside):
        return float("inf")
    model = state.model
    for f in reversed(inside):
        if f in model.graph.stages:
            more = model.with_inlined(f)
            if more is None:
                return float("inf")
            model = more
    total = 0.0
    for f in outputs:
        box = model.regions.bounds[f]
        for stage in model.graph.stages[f]:
            count = float(points(model.regions.loops(stage, box)))
            total += count * one_by_one(model.work(stage), model.machine)
    return total


PARHELION = DefaultScheduler()

__all__ = ["DefaultScheduler", "NAME", "PARAMETERS", "PARHELION", "simpler", "without"]
