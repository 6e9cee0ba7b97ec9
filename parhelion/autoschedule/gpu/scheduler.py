"""The default scheduler on GPUs: searches, explains, and leaves out what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from parhelion.autoschedule.decisions import Decision, Lazily, Option, cost_text
from parhelion.autoschedule.gpu.cards import CARDS, card
from parhelion.autoschedule.gpu.directives import script_of
from parhelion.autoschedule.gpu.model import KernelModel
from parhelion.autoschedule.gpu.search import Kernel, KernelGroup, KernelSearch
from parhelion.autoschedule.kernels.legal import refusal, unfit, without_kernels
from parhelion.autoschedule.kernels.roles import host_note
from parhelion.autoschedule.model.plan import Group, Level
from parhelion.autoschedule.params import Parameter, Parameters
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.autoschedule.search.state import INLINE, ROOT, AnyState, ComputeLevel
from parhelion.errors import HalideError
from parhelion.ir.function import Function, var_label
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.machines import gpu_of
from parhelion.lang.target_api import Target
from parhelion.schedule.order import realization_order
from parhelion.schedule.recomputing import unscheduled
from parhelion.schedule.rules import stage_label

NAME = "Parhelion"
#: What a user may say where the target has a GPU.
PARAMETERS = Parameters(
    f"{NAME} for GPUs",
    [
        Parameter("gpu", CARDS, "which GPU the costs are of"),
        Parameter("budget", "int", "how many groups are evaluated at most", 0),
        Parameter(
            "reassociate",
            "bool",
            "whether sums of floats may be regrouped, so that threads add to the same"
            " places",
        ),
    ],
)
_NANO = 1e-9
_State = AnyState[KernelModel]


def schedule(
    outputs: Sequence[Function],
    sizes: Sizes,
    target: Target,
    params: AutoschedulerParams,
) -> AutoSchedulerResults:
    """Finds a schedule for a target with the feature CUDA. Parameters: `PARAMETERS`."""
    told = PARAMETERS.read(params.extra)
    chosen = card(str(told.get("gpu", CARDS[0]))).within(gpu_of(target))
    search = KernelSearch(
        tuple(outputs),
        sizes,
        chosen,
        bool(told.get("reassociate", False)),
        int(told["budget"]) if "budget" in told else None,
    )
    state = search.run()
    found = _legal(search, state, target)
    if isinstance(found, HalideError):
        inlined = search.freedom.inlined
        return without_kernels(outputs, target, params, found, inlined, search.notes)
    state, script = found
    return AutoSchedulerResults(
        target=target,
        autoscheduler_params=params,
        script=script,
        decisions=Lazily(lambda: list(_decisions(state))),
        notes=[*search.notes, *_left(state)],
        cost=state.time * _NANO,
        predicted_seconds=state.time * _NANO,
        machine=f"the published numbers of an {chosen.name}; nothing was measured",
    )


def _legal(
    search: KernelSearch, state: _State, target: Target
) -> tuple[_State, Script] | HalideError:
    """The schedule, without members of kernels that lowering refuses: where that is for
    the storage of a Func, it goes elsewhere; else every Func gets kernels of its own,
    and an error says why that is refused as well."""
    every = realization_order(search.outputs)
    judged: set[Function] = set()
    while True:
        script = _script(state)
        found = refusal(script, target)
        if found is None or not unscheduled(every):
            # What is refused beside directives of the user's, the driver shortens.
            return state, script
        error, f = found
        members = {m for g in state.groups.values() for m in g.members}
        if not members:
            return error
        if f is not None and f in members:
            root = state.home()[f]
            search.apart |= {f}
            search.memo.clear()
            search.notes.append(unfit(f, error))
            if root in judged:
                # The rest of a pyramid, as likely as not.
                search.apart |= frozenset(state.groups[root].members)
                state = _scattered(state, state.groups[root].members)
                continue
            judged.add(root)
            places = [state.moved(f, place) for place in (INLINE, ROOT)]
            kept = [s for s in places if s is not None and s.time < float("inf")]
            if kept:
                state = min(kept, key=lambda s: s.time)
                continue
        search.notes.append(f"no Func is computed in another's kernel, as {error.what}")
        state = _scattered(state, members)


def _scattered(state: _State, members: Iterable[Function]) -> _State:
    """A state where these Funcs have kernels of their own."""
    for m in list(members):
        if state.home().get(m) is not m:
            state = state.moved(m, ROOT) or state
    return state


def _groups(state: _State) -> list[KernelGroup]:
    """The groups, producers first."""
    found = [state.groups[f] for f in state.model.graph.order if f in state.groups]
    return [g for g in found if isinstance(g, KernelGroup)]


def _script(state: _State) -> Script:
    return script_of(_groups(state), state.model, state.search.freedom)


def _left(state: _State) -> Iterator[str]:
    """What has no kernel, and why: a sentence each."""
    for g in _groups(state):
        for kernel in g.kernels:
            if kernel.shape is None:
                own = state.model.roles(kernel.stage, alone=True)
                yield host_note(kernel.stage, parallel=bool(own.parallel))


# What was decided.


def place_text(place: ComputeLevel) -> str:
    """Where a Func is computed, in words."""
    if place == INLINE:
        return "inlined"
    if place == ROOT:
        return "kernel of its own"
    return "in shared memory" if place.level is Level.TILE else "in registers"


def shape_text(kernel: Kernel) -> str:
    """The shape of a kernel, in words: ``threads 32 x 8, 1 x 4 points each``."""
    if kernel.shape is None:
        return "on the CPU"
    threads = " x ".join([str(n) for n in kernel.shape.threads])
    points = " x ".join([str(n) for n in kernel.shape.points])
    alone = all(n == 1 for n in kernel.shape.points)
    return f"threads {threads}" + ("" if alone else f", {points} points each")


def _heading(state: _State, g: Group) -> str:
    text = (
        f"kernels of {g.root.name}: {cost_text(g.cost * _NANO, 's')} of"
        f" {cost_text(state.time * _NANO, 's')}"
    )
    if "occupancy" in g.terms:
        text += (
            f"; {g.terms['blocks']:.0f} blocks, occupancy"
            f" {100 * g.terms['occupancy']:.0f} %,"
            f" {g.terms['shared bytes']:.0f} bytes shared,"
            f" about {g.terms['registers']:.0f} registers"
        )
    return text


def _decisions(state: _State) -> Iterator[Decision]:
    """For each group, the dearest first, the shape of its kernel and where its Funcs
    are computed, beside the other ways; then what is inlined."""
    groups = sorted(_groups(state), key=lambda g: -g.cost)
    for g in groups:
        heading = _heading(state, g)
        yield from _shape(state, g, heading)
        for f in (g.root, *g.members):
            if state.search.freedom.move(f):
                yield _place(state, f, heading)
    inlined = state.model.graph.inlined
    for f in sorted(inlined, key=lambda f: f.name):
        if state.search.freedom.move(f):
            yield _place(state, f, "inlined")


def _place(state: _State, f: Function, heading: str) -> Decision:
    chosen = Option(place_text(state.place(f)), state.time * _NANO)
    others = [
        Option(place_text(p), s.time * _NANO, partial(_script, s))
        for p, s in state.others(f)
        if s.time < float("inf")
    ]
    return Decision("place", f.name, chosen, (chosen, *others), group=heading)


def _shape(state: _State, g: KernelGroup, heading: str) -> Iterator[Decision]:
    if len(g.kernels) != 1 or g.kernels[0].shape is None:
        for kernel in g.kernels:
            label = stage_label(g.root, kernel.stage.index)
            one = Option(_described(kernel), state.time * _NANO)
            yield Decision("kernel", label, one, (one,), group=heading)
        return
    (kernel,) = g.kernels
    chosen = Option(_described(kernel), state.time * _NANO)
    options, told = [chosen], {chosen.label}
    for other in state.search.tilings(state.model, g.root, g.members, 4):
        assert isinstance(other, KernelGroup)
        label = _described(other.kernels[0])
        if label not in told and other.cost < float("inf"):
            told.add(label)
            changed = AnyState(
                state.search, state.model, {**state.groups, g.root: other}
            )
            cost = changed.time * _NANO
            options.append(Option(label, cost, partial(_script, changed)))
    yield Decision("kernel", g.root.name, chosen, tuple(options), group=heading)


def _described(kernel: Kernel) -> str:
    text = shape_text(kernel)
    if kernel.roles.inside:
        loops = ", ".join([var_label(r) for r in kernel.roles.inside])
        text += f", over {loops} in each"
    return text + (", adding as wholes" if kernel.roles.atomic else "")


__all__ = ["NAME", "PARAMETERS", "schedule", "shape_text"]
