"""THE ORDER in which a pipeline is lowered, one line per pass.

Lowering first turns the algorithm and its schedule into loop nests with bounds (see
`stages`, `regions`, `nest`), and then runs the passes below over that one statement.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from parhelion.ir.build import block
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.loop_id import LoopId
from parhelion.ir.pipeline import (
    FIRST_FUNC,
    ArgKind,
    Argument,
    Lowered,
    Region,
)
from parhelion.ir.promises import Assumptions, symbol_of
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import Assert, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lower.allocate import place_allocations
from parhelion.lower.checks import buffer_checks, layout_checks, param_checks
from parhelion.lower.cse import common_subexpressions
from parhelion.lower.flatten import flatten_storage
from parhelion.lower.fork import Syncs, fork_async
from parhelion.lower.frames import fit_frames
from parhelion.lower.interleave import interleave_phases
from parhelion.lower.interleave_stores import interleave_stores
from parhelion.lower.loops import Range
from parhelion.lower.memoize import memo_keys
from parhelion.lower.nest import NestBuilder
from parhelion.lower.options import PLAIN, LowerOptions
from parhelion.lower.overflow import OverflowChecks, regions_further_in
from parhelion.lower.partition import partition_loops
from parhelion.lower.pin_casts import pin_casts
from parhelion.lower.prefetch_streams import prefetch_streams
from parhelion.lower.profiling import mark_profile
from parhelion.lower.prologue import number_checks
from parhelion.lower.regions import Regions
from parhelion.lower.relocate import Origins, relocate_storage
from parhelion.lower.remove_marks import remove_marks
from parhelion.lower.single_blocks import drop_single_blocks
from parhelion.lower.stages import Program, collect
from parhelion.lower.tracing import is_traced, trace_accesses, trace_realizations
from parhelion.lower.unroll import unroll_loops
from parhelion.lower.vectorize import vectorize_loops
from parhelion.schedule.directives import PartitionChoice
from parhelion.schedule.gpu import check_no_kernels
from parhelion.schedule.legality import check_pipeline, check_strict
from parhelion.schedule.spec import PipelineSpec
from parhelion.simplify.driver import simplify


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
    partitions: Mapping[LoopId, PartitionChoice]
    syncs: Syncs
    profiled: Mapping[Function, int]


@dataclass(frozen=True, slots=True)
class Pass:
    """One step. `why_here` says what it needs from before or gives to those after."""

    name: str
    run: Callable[[Stmt, Context], Stmt]
    what: str
    why_here: str


def _simplify(s: Stmt, context: Context) -> Stmt:
    return simplify(s)


def _trace(s: Stmt, context: Context) -> Stmt:
    if not context.traced:
        return s
    name = next(iter(context.outputs)).name
    return trace_accesses(s, name, context.order, context.options.record)


def _trace_realizations(s: Stmt, context: Context) -> Stmt:
    return trace_realizations(s, context.options.record) if context.traced else s


PASSES: tuple[Pass, ...] = (
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
    ),
    Pass(
        "simplify_indices",
        _simplify,
        "fold index arithmetic",
        "vectorisation recognises dense accesses in simplified indices",
    ),
    Pass(
        "unroll_loops",
        lambda s, c: unroll_loops(s),
        "unrolled loops become copies of their body",
        "before vectorising, so that constant offsets join vector indices",
    ),
    Pass(
        "vectorize_loops",
        lambda s, c: vectorize_loops(s, c.options.target.narrowest_masked),
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
        lambda s, c: partition_loops(s, c.partitions),
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
        "simplify",
        _simplify,
        "fold what the middle of partitioned loops knows",
        "code generation emits what is left as it stands",
    ),
    Pass(
        "interleave_stores",
        lambda s, c: interleave_stores(s),
        "strided stores that fill a dense run become one store",
        "after simplifying, which shows that their places are neighbours",
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
        lambda s, c: prefetch_streams(s),
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
        "mark_profile",
        lambda s, c: mark_profile(s, c.profiled),
        "in code that is profiled, threads say which Func they compute",
        "last: what is measured is the code as it is without the marks",
    ),
)


#: What makes vectors, and copies in place of loops.
_VECTOR_PASSES = frozenset(["unroll_loops", "vectorize_loops", "simplify_vectors"])


@dataclass(slots=True)
class Trace:
    """A record of what each pass made, and how long it took (seconds); and what the
    coordinates of folded and hoisted Funcs are counted from."""

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

    trace: gets what each pass made.

    Set ``PARHELION_DUMP`` to ``all`` or to names of passes, comma separated, to print
    the program after them.
    """
    if trace is None and "PARHELION_DUMP" in os.environ:
        trace = Trace()
    lowered = run_deep(lambda: _lower(spec, name, options, trace))
    if trace is not None and "PARHELION_DUMP" in os.environ:
        _dump(trace, os.environ["PARHELION_DUMP"])
    return lowered


def _lower(
    spec: PipelineSpec,
    name: str,
    options: LowerOptions,
    trace: Trace | None,
) -> Lowered:
    start = time.perf_counter()
    check_pipeline(spec)
    outputs = spec.outputs
    program = collect(spec, strict=options.strict_float)
    check_no_kernels(program.order)
    if options.strict_float:
        check_strict(program.order)
    regions = Regions(program, options)
    pin_casts(program, regions.value_bounds)
    builder = NestBuilder(regions, threads=options.vectors)
    nest = builder.build()
    root = regions.sites.root
    demanded = [Assert(r.condition, "require", r.shown) for r in spec.requirements]
    numbers = number_checks(program)
    demanded += numbers
    plain = block(*root.lets, *root.checks, *demanded, nest)
    roots: list[Stmt | Expr] = [plain, *memo_keys(program.order)]
    standing = _standing(program, roots, outputs, spec.assumptions)
    inputs = [s for s in standing if isinstance(s, BufferSym) and s.role == "input"]
    required = {b: r for b in inputs if (r := regions.image(b)) is not None}
    written = {f: regions.stored(f) for f in outputs}
    further_in = regions_further_in(regions)
    checks = OverflowChecks().of_lets(root.lets)
    for f, region in further_in.items():
        checks += OverflowChecks().of_region(f.label, region)
    checks += _checks(inputs, required, written, spec.assumptions, options)
    body = block(*demanded, *root.lets, *root.checks, *checks, nest)
    args = _arguments(body, standing, outputs)
    params = [a.symbol for a in args if isinstance(a.symbol, ParamSym)]
    body = block(*[c for p in params for c in param_checks(p, spec.assumptions)], body)
    nests = body
    if trace is not None:
        trace.steps.append(("loop_nests", body, time.perf_counter() - start))
        trace.origins = builder.origins
    traced = options.record or any(map(is_traced, program.order))
    profiled = _numbered(program) if options.profile else {}
    context = Context(
        options,
        {f: f.buffers for f in outputs},
        spec.assumptions,
        program.order,
        traced,
        builder.origins,
        _partitions(program),
        builder.syncs,
        profiled,
    )
    for step in PASSES:
        if step.name in _VECTOR_PASSES and not options.vectors:
            continue
        start = time.perf_counter()
        body = step.run(body, context)
        if trace is not None:
            trace.steps.append((step.name, body, time.perf_counter() - start))
    expand = _LetExpander()
    return Lowered(
        name,
        outputs,
        args,
        body,
        {b: expand.region(r) for b, r in required.items()},
        {b: expand.region(written[f]) for f in outputs for b in f.buffers},
        assumptions=spec.assumptions,
        strict_float=options.strict_float,
        index64=options.index64,
        profiled=profiled,
        recorded=options.record,
        nests=nests,
        bounds=tuple([expand.of(e) for e in _bounds(root.checks)]),
        demands=tuple(numbers),
    )


def _bounds(checks: Sequence[Stmt]) -> list[Expr]:
    """What must hold so that the regions promised of Funcs are large enough."""
    return [
        c.cond for c in checks if isinstance(c, Assert) and c.code == "bound_too_small"
    ]


def _numbered(program: Program) -> dict[Function, int]:
    """A number for each Func that the user knows, in the order of computation."""
    numbers: dict[Function, int] = {}
    found: dict[Function, int] = {}
    for f in program.order:
        known = program.origin.get(f, f)
        found[f] = numbers.setdefault(known, FIRST_FUNC + len(numbers))
        if f in program.outputs:  # what writes its buffers names the user's Func
            found |= {b.func: found[f] for b in f.buffers}
    return found


def _partitions(program: Program) -> dict[LoopId, PartitionChoice]:
    """What was said of partitioning loops."""
    return {
        stage.loop_id(v): choice
        for f in program.order
        for stage in program.stages[f]
        for v, choice in stage.schedule.partitions.items()
    }


def _checks(
    inputs: Sequence[BufferSym],
    required: Mapping[BufferSym, tuple[Range, ...]],
    written: Mapping[Function, tuple[Range, ...]],
    assumptions: Assumptions,
    options: LowerOptions,
) -> list[Stmt]:
    checks: list[Stmt] = []
    overflow = OverflowChecks()
    outputs = [b for f in written for b in f.buffers]
    for buffer in (*inputs, *outputs):
        checks += layout_checks(buffer, assumptions, options)
    for buffer, region in required.items():
        checks += overflow.of_region(buffer.name, region)
        checks += buffer_checks(buffer, region, "input_too_small")
    for f, region in written.items():
        checks += overflow.of_region(f.label, region)
        for buffer in f.buffers:
            checks += buffer_checks(buffer, region, "output_too_small")
    return checks


def _standing(
    program: Program,
    roots: Sequence[Stmt | Expr],
    outputs: Sequence[Function],
    assumptions: Assumptions,
) -> dict[BufferSym | ParamSym, None]:
    """The input images, in the order in which the stages mention them, the Params and
    the outputs, with all that what is promised of them mentions in turn."""
    exprs = [e for f in program.order for s in program.stages[f] for e in s.exprs]
    found = {s: None for root in (*exprs, *roots) for s in _symbols(root)}
    found |= {b: None for f in outputs for b in f.buffers}
    waiting = list(found)
    while waiting:
        symbol = waiting.pop(0)
        for e in assumptions.of(symbol):
            new = [] if e is None else [s for s in _symbols(e) if s not in found]
            found |= dict.fromkeys(new)
            waiting += new
    return found


def _symbols(root: Stmt | Expr) -> dict[BufferSym | ParamSym, None]:
    """The Params, and the images that callers give, that something mentions."""
    found: dict[BufferSym | ParamSym, None] = {}
    for n in nodes(root):
        symbol = symbol_of(n)
        if isinstance(symbol, ParamSym) or symbol and symbol.role == "input":
            found[symbol] = None
    return found


def _arguments(
    body: Stmt,
    standing: Mapping[BufferSym | ParamSym, None],
    outputs: Sequence[Function],
) -> tuple[Argument, ...]:
    """Of all that stands; the Params in the order in which the body mentions them."""
    symbols = [*_symbols(body), *standing]
    params = dict.fromkeys([s for s in symbols if isinstance(s, ParamSym)])
    inputs = [s for s in standing if isinstance(s, BufferSym) and s.role == "input"]
    return (
        *[Argument(b.name, ArgKind.INPUT, b) for b in inputs],
        *[Argument(p.name, ArgKind.SCALAR, p) for p in params],
        *[Argument(b.name, ArgKind.OUTPUT, b) for f in outputs for b in f.buffers],
    )


class _LetExpander:
    """Replaces lets by their values, all the way to arguments."""

    def __init__(self) -> None:
        self._known: dict[Var, Expr] = {}

    def of(self, e: Expr) -> Expr:
        env: dict[Var, Expr] = {}
        for v in free_vars(e):
            if v.value is None:
                continue
            if v not in self._known:
                self._known[v] = self.of(v.value)
            env[v] = self._known[v]
        return simplify(substitute(e, env))

    def region(self, region: tuple[Range, ...]) -> tuple[Region, ...]:
        return tuple([Region(self.of(r.lo), self.of(r.hi)) for r in region])


def _dump(trace: Trace, wanted: str) -> None:
    from parhelion.ir.text import text

    names = set(wanted.split(","))
    before: Stmt | None = None
    for name, body, seconds in trace:
        if "all" in names or name in names:
            print(f"=== {name} ({seconds * 1e3:.1f} ms)", file=sys.stderr)
            print("(unchanged)" if body is before else text(body), file=sys.stderr)
        before = body
