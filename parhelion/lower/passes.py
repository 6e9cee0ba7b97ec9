"""THE ORDER in which a pipeline is lowered, one entry per step.

STEPS turn the algorithm and its schedule into loop nests with bounds. PASSES run over
that one statement. PROCESSOR_PASSES choose instructions, and run when machine code is
made of the lowered program.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Generic, TypeVar

from parhelion.dataclass import dataclass
from parhelion.ir import progress
from parhelion.ir.deep import run_deep
from parhelion.ir.function import Function
from parhelion.ir.pipeline import FIRST_FUNC, Lowered
from parhelion.ir.promises import Assumptions
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target
from parhelion.ir.verified import Verified
from parhelion.ir.verify import Form, verify
from parhelion.lower import front
from parhelion.lower.allocate import place_allocations
from parhelion.lower.barriers import place_barriers
from parhelion.lower.bind_textures import bind_textures
from parhelion.lower.carry_scans import carry_scans
from parhelion.lower.check_kernels import check_kernels
from parhelion.lower.cse import common_subexpressions
from parhelion.lower.entrance import entrance
from parhelion.lower.flatten import flatten_storage
from parhelion.lower.fork_async import Syncs, fork_async
from parhelion.lower.frames import fit_frames
from parhelion.lower.front import Draft
from parhelion.lower.interleave import interleave_phases
from parhelion.lower.interleave_stores import interleave_stores
from parhelion.lower.kernels import shape_kernels
from parhelion.lower.lane_sums import sum_by_lanes
from parhelion.lower.launch_checks import check_launches
from parhelion.lower.options import PLAIN, LowerOptions
from parhelion.lower.padding import pad_shared
from parhelion.lower.partition import partition_loops
from parhelion.lower.prefetch_streams import prefetch_streams
from parhelion.lower.profiling import mark_profile
from parhelion.lower.registers import keep_in_registers
from parhelion.lower.relocate import Origins, relocate_storage
from parhelion.lower.remove_marks import remove_marks
from parhelion.lower.shuffles import exchange_in_warps
from parhelion.lower.single_blocks import drop_single_blocks
from parhelion.lower.skip_unasked import skip_unasked
from parhelion.lower.stages import StagedPipeline
from parhelion.lower.stream_stores import stream_stores
from parhelion.lower.sync_devices import sync_devices
from parhelion.lower.tracing import is_traced, trace_accesses, trace_realizations
from parhelion.lower.unroll import unroll_in_vectors, unroll_loops
from parhelion.lower.vectorize import vectorize_loops
from parhelion.schedule.spec import PipelineSpec
from parhelion.simplify.simplifier import simplify

_C = TypeVar("_C")


@dataclass(frozen=True, slots=True)
class Step:
    """One step before there is a statement. `shown` is the text of what it has found;
    `why_here` says what it needs from before or gives to those after."""

    name: str
    run: Callable[[Draft], None]
    shown: Callable[[Draft], str]
    what: str
    why_here: str


@dataclass(frozen=True, slots=True)
class Context:
    """What passes may ask of the pipeline as a whole.

    assumptions: see `PipelineSpec`. order: all Funcs that have loops. traced: whether
    one of them is. profiled: see `Lowered`.
    """

    options: LowerOptions
    outputs: Mapping[Function, tuple[BufferSym, ...]]
    assumptions: Assumptions
    order: Sequence[Function]
    traced: bool
    origins: Origins
    syncs: Syncs
    profiled: Mapping[Function, int]


@dataclass(frozen=True, slots=True)
class Pass(Generic[_C]):
    """One step over a statement. `why_here`: see `Step`. leaves: what a program may
    still contain behind it, where that is less than before."""

    name: str
    run: Callable[[Stmt, _C], Stmt]
    what: str
    why_here: str
    leaves: Form | None = None


def _simplify(s: Stmt, context: Context) -> Stmt:
    return simplify(s)


def _trace(s: Stmt, context: Context) -> Stmt:
    if not context.traced:
        return s
    name = next(iter(context.outputs)).name
    return trace_accesses(s, name, context.order, context.options.record)


def _trace_realizations(s: Stmt, context: Context) -> Stmt:
    return trace_realizations(s, context.options.record) if context.traced else s


def _vectorize(s: Stmt, context: Context) -> Stmt:
    target = context.options.target
    return vectorize_loops(s, target.narrowest_masked, target.vector_bits)


STEPS: tuple[Step, ...] = (
    Step(
        "resolve_schedule",
        front.resolve_schedule,
        front.show_placements,
        "every Func gets its place; what a schedule must not ask for is refused",
        "first: the steps after it trust the levels and loops that directives name",
    ),
    Step(
        "inline",
        front.inline,
        front.show_stages,
        "inlined Funcs are substituted, branches of specialised definitions are folded",
        "bounds are asked of what is left, the stages that have loops",
    ),
    Step(
        "pin_casts",
        front.pin,
        front.show_stages,
        "what pixels index is kept inside what bounds say of it",
        "in definitions, before anything is bounded with their help",
    ),
    Step(
        "infer_bounds",
        front.infer_bounds,
        front.show_bounds,
        "the region of each Func, consumers first; windows that slide leave less of it",
        "a producer is asked for what its consumer's window has left to compute",
    ),
    Step(
        "fold_storage",
        front.fold_storage,
        front.show_storage,
        "the storage of each Func: its extents, what is folded, semaphores of threads",
        "a fold is proven of regions, and may add checks and names to sites",
    ),
    Step(
        "build_nests",
        front.build_nests,
        front.show_nests,
        "loops, storage and productions are put together, from the outside in",
        "last: from here on there is one statement",
    ),
)


PASSES: tuple[Pass[Context], ...] = (
    Pass(
        "trace_accesses",
        _trace,
        "stores and loads of traced Funcs print a line",
        "first: what is computed shows with its coordinates, before anything folds",
    ),
    Pass(
        "relocate_storage",
        lambda s, c: relocate_storage(s, c.origins),
        "coordinates become places in storage that is folded or hoisted",
        "while the names of regions are bound that they are counted from",
    ),
    Pass(
        "fork_async",
        lambda s, c: fork_async(s, c.syncs),
        "the loops around async Funcs become two threads, one of which produces",
        "while productions are marked, and behind what speaks of names of the one copy",
        leaves=Form.NESTS,
    ),
    Pass(
        "trace_realizations",
        _trace_realizations,
        "storage, production and use of traced Funcs print where they begin and end",
        "behind forks, which are found by the marks of productions",
    ),
    Pass(
        "simplify_bounds",
        _simplify,
        "fold what bounds inference left over",
        "constant extents show here, which unrolling and stack storage need",
    ),
    Pass(
        "drop_single_blocks",
        lambda s, c: drop_single_blocks(s),
        "loops over blocks that have one iteration lose their extent",
        "regions are simple here; behind it guards are about one loop less",
    ),
    Pass(
        "flatten_storage",
        lambda s, c: flatten_storage(s, c.outputs, c.assumptions, c.options),
        "Funcs become flat buffers: calls are loads, definitions are stores",
        "index arithmetic must exist before vectors are made of it",
        leaves=Form.FLAT,
    ),
    Pass(
        "simplify_indices",
        _simplify,
        "fold index arithmetic",
        "vectorisation recognises dense accesses in simplified indices",
    ),
    Pass(
        "shape_kernels",
        lambda s, c: shape_kernels(s, c.options.device),
        "in loops over the blocks of a GPU, those over threads go to the leaves",
        "with places in storage, and before copies of loops over threads are made",
        leaves=Form.SHAPED,
    ),
    Pass(
        "unroll_loops",
        lambda s, c: (unroll_loops if c.options.vectors else unroll_in_vectors)(s),
        "unrolled loops become copies of their body",
        "before vectorising, so that constant offsets join vector indices",
    ),
    Pass(
        "vectorize_loops",
        _vectorize,
        "vectorised loops become one body over vectors",
        "after this every loop is one that runs",
    ),
    Pass(
        "simplify_vectors",
        _simplify,
        "fold vector index arithmetic into ramps",
        "partitioning solves conditions in their simplest form",
    ),
    Pass(
        "partition_loops",
        lambda s, c: partition_loops(s),
        "likely conditions become loop bounds: prologue, clean middle, epilogue",
        "after vectorising, whose conditions are over all lanes of a vector",
    ),
    Pass(
        "remove_marks",
        lambda s, c: remove_marks(s),
        "likely marks have served",
        "nothing after partitioning reads them, and they hinder folding",
    ),
    Pass(
        "interleave_phases",
        lambda s, c: interleave_phases(s),
        "vectors of x/2 and x % 2 become their even and their odd lanes, interleaved",
        "after marks, which would hide the pattern; before the last folding",
    ),
    Pass(
        "bind_textures",
        lambda s, c: bind_textures(s, c.options.device),
        "reads of textures become coordinates, or in simulations what they stand for",
        "behind all that copies and widens loads, whose indices go after it",
    ),
    Pass(
        "simplify",
        _simplify,
        "fold what the middle of partitioned loops knows",
        "code generation emits what is left as it stands",
    ),
    Pass(
        "keep_in_registers",
        lambda s, c: keep_in_registers(s, c.options.device),
        "storage of a block that is used by each thread apart becomes the threads' own",
        "all places are in their simplest form, and those of unrolled loops constants",
    ),
    Pass(
        "exchange_in_warps",
        lambda s, c: exchange_in_warps(s, c.options.device),
        "what lanes of a warp hand on to each other goes from register to register",
        "behind those that each thread has for itself; before what is left is padded",
    ),
    Pass(
        "pad_shared",
        lambda s, c: pad_shared(s, c.options.device),
        "rows of shared memory get longer, so that lanes of a warp use other banks",
        "behind registers, which need none; before barriers, which need simple places",
    ),
    Pass(
        "interleave_stores",
        lambda s, c: interleave_stores(s),
        "strided stores that fill a dense run become one store",
        "after simplifying, which shows that their places are neighbours",
    ),
    Pass(
        "skip_unasked",
        lambda s, c: skip_unasked(s),
        "where no lane asks for values on demand, what selects them is not computed",
        "behind what joins stores; before values that both ways use get a name",
    ),
    Pass(
        "fit_frames",
        lambda s, c: fit_frames(s),
        "what is too much for the stack of a thread goes to the heap",
        "after the last copies of storage; before heap storage leaves loops",
    ),
    Pass(
        "place_allocations",
        lambda s, c: place_allocations(s),
        "storage of constant size moves out of serial loops and is freed early",
        "only now are all sizes folded that can be",
    ),
    Pass(
        "prefetch_streams",
        lambda s, c: prefetch_streams(s, c.options.target.tuning),
        "the rows of the next tile are fetched while this one is computed",
        "after all loops have their final form",
    ),
    Pass(
        "common_subexpressions",
        lambda s, c: common_subexpressions(s),
        "values used more than once get a name",
        "simplification after it would open the names again",
    ),
    Pass(
        "place_barriers",
        lambda s, c: place_barriers(s),
        "threads of a block wait where a value goes from one to another",
        "behind all that copies, moves or names what the threads use",
    ),
    Pass(
        "check_launches",
        lambda s, c: check_launches(s, c.options.device),
        "kernels have no more blocks and threads than GPUs launch",
        "behind all that changes how many there are",
    ),
    Pass(
        "check_kernels",
        lambda s, c: check_kernels(s, c.options.device),
        "kernels fit their shared memory; simulated ones check its uses for races",
        "behind barriers, which it counts",
        leaves=Form.CHECKED,
    ),
    Pass(
        "sync_devices",
        lambda s, c: sync_devices(s, c.outputs),
        "buffers that kernels use say where they are used next",
        "behind all that moves statements of the host's",
    ),
    Pass(
        "mark_profile",
        lambda s, c: mark_profile(s, c.profiled),
        "in code that is profiled, threads say which Func they compute",
        "last: what is measured is the code as it is without the marks",
        leaves=Form.FINAL,
    ),
)


#: What makes vectors.
_VECTOR_PASSES = frozenset(["vectorize_loops", "simplify_vectors"])


@dataclass(frozen=True, slots=True)
class Processor:
    """What passes that choose instructions may ask: the program whose body they get,
    and the machine that the code is for."""

    lowered: Lowered
    target: Target


PROCESSOR_PASSES: tuple[Pass[Processor], ...] = (
    Pass(
        "stream_stores",
        lambda s, c: stream_stores(s, c.lowered.outputs, c.target),
        "loops that write large outputs get a version that bypasses the caches",
        "behind all of lowering: C made of the lowered program has such a loop once",
    ),
    Pass(
        "carry_scans",
        lambda s, c: carry_scans(s),
        "what running sums in vectors hand on from one to the next stays in a register",
        "behind copies of their loops; a choice of instructions, as those around it",
    ),
    Pass(
        "sum_by_lanes",
        lambda s, c: sum_by_lanes(s, c.target),
        "sums over vectors are kept in lanes, and folded when their loop ends",
        "last: what a loop adds up is to be seen as one store",
    ),
)


@dataclass(slots=True)
class Trace:
    """A record of what was made, and how long it took (seconds).

    front: what each step before the first statement has found, as text. steps: that
    statement, and what each pass made of it. origins: what the coordinates of folded
    and hoisted Funcs are counted from.
    """

    front: list[tuple[str, str, float]] = field(default_factory=list)
    steps: list[tuple[str, Stmt, float]] = field(default_factory=list)
    origins: Origins = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, Stmt, float]]:
        return iter(self.steps)


def lower(
    spec: PipelineSpec,
    *,
    name: str,
    options: LowerOptions = PLAIN,
    trace: Trace | None = None,
) -> Lowered:
    """The imperative program of a pipeline. Raises ScheduleError or BoundsError.

    trace: gets what each step and pass made.

    Set ``PARHELION_DUMP`` to ``all`` or to names of steps and passes, comma separated,
    to print what they made; set ``PARHELION_VERIFY`` to have the program verified after
    each pass (`ir.verify`), which raises InternalError.
    """
    return _dumped(trace, lambda trace: _lower(spec, name, options, trace))


def for_processor(lowered: Lowered, target: Target) -> Stmt:
    """The body of a lowered program, with instructions chosen for a machine."""

    def chosen(trace: Trace | None) -> Stmt:
        context = Processor(lowered, target)
        return _passed(PROCESSOR_PASSES, lowered.body, context, trace, Form.FINAL)

    return _dumped(None, chosen)


def nests_of(
    spec: PipelineSpec, options: LowerOptions = PLAIN, *, printed: bool = False
) -> Draft:
    """The loop nests of a pipeline, and all that was found on the way to them. Raises
    as `lower` does. printed: see `Draft`."""
    return run_deep(lambda: _drafted(Draft(spec, options, printed), None))


def _drafted(draft: Draft, trace: Trace | None) -> Draft:
    """A draft with all that the steps before the first statement find."""
    for step in STEPS:
        progress.step(step.name)
        start = time.perf_counter()
        step.run(draft)
        if trace is not None:
            taken = time.perf_counter() - start
            trace.front.append((step.name, step.shown(draft), taken))
    return draft


def _verifying() -> bool:
    """Whether programs are to be verified after each pass."""
    return bool(os.environ.get("PARHELION_VERIFY"))


def _passed(
    passes: Sequence[Pass[_C]],
    body: Stmt,
    context: _C,
    trace: Trace | None,
    form: Form = Form.UNFORKED,
    vectors: bool = True,
    verified: Verified | None = None,
) -> Stmt:
    """What passes make of a program of some form. vectors: see `LowerOptions`."""
    verified = verified or Verified()
    sound: tuple[Stmt, Form] | None = None
    for step in passes:
        progress.step(step.name)
        start = time.perf_counter()
        body = step.run(body, context)
        if trace is not None:
            trace.steps.append((step.name, body, time.perf_counter() - start))
        if _verifying():
            final = step.leaves is Form.FINAL and not vectors
            form = form if final else step.leaves or form
            if sound != (body, form):
                verify(body, form, after=step.name, verified=verified)
                sound = body, form
    return body


def _lower(
    spec: PipelineSpec,
    name: str,
    options: LowerOptions,
    trace: Trace | None,
) -> Lowered:
    draft = _drafted(Draft(spec, options), trace)
    program, made = draft.program, draft.realizations
    start = time.perf_counter()
    way_in = entrance(spec, options, draft.regions, draft.nests)
    if trace is not None:
        trace.steps.append(("loop_nests", way_in.body, time.perf_counter() - start))
        trace.origins = made.origins
    verified = Verified()
    if _verifying():
        verify(way_in.body, Form.UNFORKED, after="build_nests", verified=verified)
    profiled = _numbered(program) if options.profile else {}
    context = Context(
        options,
        {f: f.buffers for f in spec.outputs},
        spec.assumptions,
        program.order,
        options.record or any(map(is_traced, program.order)),
        made.origins,
        made.syncs,
        profiled,
    )
    passes = [p for p in PASSES if options.vectors or p.name not in _VECTOR_PASSES]
    return Lowered(
        name,
        spec.outputs,
        way_in.args,
        _passed(
            passes,
            way_in.body,
            context,
            trace,
            vectors=options.vectors,
            verified=verified,
        ),
        way_in.required,
        way_in.written,
        assumptions=spec.assumptions,
        strict_float=options.strict_float,
        index64=options.index64,
        profiled=profiled,
        recorded=options.record,
        nests=way_in.body,
        bounds=way_in.bounds,
        demands=way_in.demands,
        device=options.device,
    )


def _numbered(program: StagedPipeline) -> dict[Function, int]:
    """A number for each Func that the user knows, in the order of computation."""
    numbers: dict[Function, int] = {}
    found: dict[Function, int] = {}
    for f in program.order:
        known = program.origin.get(f, f)
        found[f] = numbers.setdefault(known, FIRST_FUNC + len(numbers))
        if f in program.outputs:  # what writes its buffers names the user's Func
            found |= {b.func: found[f] for b in f.buffers}
    return found


_R = TypeVar("_R")


def _dumped(trace: Trace | None, run: Callable[[Trace | None], _R]) -> _R:
    """What `run` makes with a trace, which is printed if PARHELION_DUMP says so."""
    wanted = os.environ.get("PARHELION_DUMP")
    if trace is None and wanted is not None:
        trace = Trace()
    made = run_deep(lambda: run(trace))
    if trace is not None and wanted is not None:
        _dump(trace, frozenset(wanted.split(",")))
    return made


def _dump(trace: Trace, wanted: frozenset[str]) -> None:
    from parhelion.ir.text import text

    found = [(name, seconds, shown) for name, shown, seconds in trace.front]
    before: Stmt | None = None
    for name, body, seconds in trace:
        told = "all" in wanted or name in wanted
        shown = "(unchanged)" if body is before else text(body) if told else ""
        found.append((name, seconds, shown))
        before = body
    for name, seconds, shown in found:
        if "all" in wanted or name in wanted:
            print(f"=== {name} ({seconds * 1e3:.1f} ms)", file=sys.stderr)
            print(shown, file=sys.stderr)
