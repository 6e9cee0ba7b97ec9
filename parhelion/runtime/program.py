"""From Functions to loaded machine code, for one layout of the arguments.

Unless the user says otherwise, dimension 0 of an image is taken to be dense. An array
that is not dense there is no error: its code assumes other strides, so that an
interleaved image gets code for interleaved images.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from parhelion.dataclass import dataclass
from parhelion.errors import Site, here
from parhelion.ir import deep, images, node, progress
from parhelion.ir.build import const_int, int32
from parhelion.ir.changes import CHANGES
from parhelion.ir.cycles import sweep_cycles
from parhelion.ir.deadline import DEADLINE
from parhelion.ir.device import INDEX_LIMIT, Device
from parhelion.ir.evaluate import Value, evaluate
from parhelion.ir.expr import Expr, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.pipeline import Lowered
from parhelion.ir.promises import Promise
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import NOP, Assert
from parhelion.ir.symbols import BufferSym, DimSym
from parhelion.runtime import loading
from parhelion.runtime.after_fork import COMPILER, DATA, RUNTIME, freed_by_forks
from parhelion.runtime.call import Call
from parhelion.runtime.context import failed
from parhelion.runtime.layout import Layout
from parhelion.schedule.directives import Split
from parhelion.schedule.gpu import has_kernels
from parhelion.schedule.reach import Fingerprint, Reach
from parhelion.schedule.spec import PipelineSpec

if TYPE_CHECKING:
    from parhelion.ir.target import Target
    from parhelion.lower.options import LowerOptions
    from parhelion.lower.passes import Trace
    from parhelion.schedule import keys

#: One compilation at a time: the table of nodes is swept after each.
LOCK = threading.RLock()
freed_by_forks(LOCK, COMPILER)
freed_by_forks(deep.LOCK, DATA)
freed_by_forks(CHANGES, RUNTIME)
freed_by_forks(images.LOCK, DATA)

#: Strides of dimension 0 up to this size are worth code of their own (shuffles
#: instead of gathers); a larger one is read from the buffer.
_SMALL_STRIDE = 4

#: Elements that int32 indices can address, in kernels too.
_INDEX_LIMIT = INDEX_LIMIT

#: The strides that replace an image's promises: (dimension, stride or None for any).
Strides = tuple[tuple[int, int | None], ...]

#: The strides that users promised of images, None where they did not.
Promises = Mapping[BufferSym, tuple[Expr | None, ...]]


@dataclass(frozen=True, slots=True)
class Variant:
    """What one compilation of a pipeline assumes of its arguments.

    strides: for images whose layout is not the promised one. index64: whether some
    array has more elements than an int32 index can count. strict_float: whether
    every float operation is rounded by itself. guard_tails: whether images may
    be smaller than the tiles of the schedule (see `lower.passes.lower`).
    sizes: (output, dimension, extent) of outputs' dimensions that begin at 0 and are
    known to be so large (see `small_splits`). profile: whether each call is profiled.
    trace: whether each call is recorded (`runtime.trace`).
    device: what kernels are made for, if the schedule has some.
    """

    strides: frozenset[tuple[BufferSym, Strides]] = frozenset()
    index64: bool = False
    strict_float: bool = False
    guard_tails: bool = False
    sizes: frozenset[tuple[BufferSym, int, int]] = frozenset()
    profile: bool = False
    trace: bool = False
    device: Device | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What callers ask of the code, whatever its arguments are: see `Variant`."""

    strict_float: bool = False
    profile: bool = False
    trace: bool = False


#: Nothing is asked.
PLAIN = Options()


#: Extents up to this one are worth code of their own.
_SMALL_EXTENT = 8


def small_splits(f: Function) -> dict[int, int]:
    """Returns the dimensions of an output that are split by a small constant, with it.

    Where such a dimension is no larger than the constant (the colours of an image),
    code that knows the extent has one iteration of the outer loop and no tail.
    """
    found: dict[int, int] = {}
    if f.pure is None:
        return found
    for t in f.pure.schedule.transforms:
        if isinstance(t, Split) and t.old in f.args:
            factor, d = const_int(t.factor), f.args.index(t.old)
            if factor is not None and 1 < factor <= _SMALL_EXTENT:
                found.setdefault(d, factor)
    return found


def standing(images: Iterable[BufferSym]) -> Promises:
    """Returns the strides that are promised now of each image."""
    return {b: tuple([d.fixed_stride for d in b.dims]) for b in images}


def strides_for(promises: Sequence[Expr | None], layout: Layout) -> Strides:
    """The promises that code for `layout` needs; empty if those that stand hold."""
    if not promises or layout.extents[0] <= 1:
        return ()
    stride = layout.strides[0]
    if stride == 1 or promises[0] is None or const_int(promises[0]) != 1:
        return ()
    found: list[tuple[int, int | None]] = [
        (0, stride if abs(stride) <= _SMALL_STRIDE else None)
    ]
    for d in range(1, len(promises)):
        if layout.strides[d] == 1 and layout.extents[d] > 1 and promises[d] is None:
            found.append((d, 1))
    return tuple(found)


def variant_for(
    promises: Promises,
    layouts: Mapping[BufferSym, Layout],
    options: Options = PLAIN,
) -> Variant:
    """The variant that serves these arguments. Nothing is promised of what only the
    caller mentions, an argument that the code does not use."""
    strides = frozenset(
        [
            (b, s)
            for b, lay in layouts.items()
            if (s := strides_for(promises.get(b, ()), lay))
        ]
    )
    index64 = any([lay.span > _INDEX_LIMIT for lay in layouts.values()])
    return Variant(
        strides,
        index64,
        options.strict_float,
        profile=options.profile,
        trace=options.trace,
    )


def _constant(promise: Expr | None) -> int | None:
    return None if promise is None else const_int(promise)


def fitted(promises: Sequence[Expr | None], layout: Layout, strides: Strides) -> Layout:
    """Returns `layout` with the strides that the code expects in dimensions of extent
    1."""
    wanted: dict[int, int] = {}
    chosen = dict(strides)
    for d, extent in enumerate(layout.extents):
        if extent > 1:
            continue
        stride = chosen[d] if d in chosen else _constant(promises[d])
        if stride is not None and stride != layout.strides[d]:
            wanted[d] = stride
    return layout.with_strides(wanted) if wanted else layout


@dataclass(frozen=True, slots=True)
class CompiledPipeline:
    """Loaded code. `lowered` has no body any more (it can be large). kept: the name of
    the record that the persistent cache was given of it; None if it has none."""

    lowered: Lowered
    variant: Variant
    call: Call
    kept: str | None = None


def check_demands(
    demands: Sequence[Assert],
    env: Mapping[Var, Value],
    sites: Mapping[str, Site | None],
    unknown: Collection[Var] = (),
) -> None:
    """Checks the schedule's numbers as compiled code does when it begins.

    Whoever evaluates a program's regions without running it calls this first, as the
    regions mean nothing where a check fails.

    env: the values of the Vars that the checks mention.
    sites: the user's line for each name in the checks.
    unknown: the Vars whose values are not known; checks that mention them are left out.

    Raises ScheduleError if a check fails.
    """
    for check in demands:
        if unknown and not free_vars(check.cond).isdisjoint(unknown):
            continue
        if evaluate(check.cond, env):
            continue
        args = [
            a.value if isinstance(a, StringImm) else evaluate(a, env)
            for a in check.args
        ]
        raise failed(check.code, args, sites, here())


def of_variant(spec: PipelineSpec, variant: Variant) -> PipelineSpec:
    """Returns the pipeline with the assumptions of a variant about its arguments."""
    instead: dict[DimSym, Promise] = {}
    known = spec.assumptions.dims
    for image, strides in variant.strides:
        for d, stride in strides:
            dim = image.dims[d]
            told = None if stride is None else int32(stride)
            instead[dim] = replace(known[dim], stride=told)
    for image, d, extent in variant.sizes:
        dim = image.dims[d]
        one = instead.get(dim, known[dim])
        instead[dim] = replace(one, min=int32(0), extent=int32(extent))
    return spec.assuming(instead)


def device_for(functions: Sequence[Function]) -> Device | None:
    """What the kernels of Funcs are made for here; None if they have none, or if there
    is nothing."""
    return current_device() if has_kernels(functions) else None


def current_device() -> Device | None:
    """What kernels are made for: what PARHELION_GPU names, else the GPU that they are
    to run on; None if there is nothing."""
    from parhelion.codegen.target import named_device

    named = named_device()
    if named is not None:
        return named
    from parhelion.runtime.cuda_driver import driver

    gpu = driver().chosen()
    return None if gpu is None else gpu.device()


def lower_options(variant: Variant, target: Target, vectors: bool) -> LowerOptions:
    """How the code of a variant is lowered for a machine; without `vectors`, all its
    loops are loops."""
    from parhelion.lower.options import LowerOptions

    return LowerOptions(
        target=target,
        index64=variant.index64,
        strict_float=variant.strict_float,
        guard_tails=variant.guard_tails,
        vectors=vectors,
        profile=variant.profile,
        record=variant.trace,
        device=variant.device,
    )


#: The table is swept as a whole when it has more nodes than this: with all that hangs
#: on them, nodes of programs that are gone take a KiB each.
_LEAST_SWEPT = 20_000
_sweep_at = _LEAST_SWEPT
#: When images of so many bytes have been set or mentioned, those of programs that are
#: gone are freed. That takes a millisecond where few nodes are new.
_MOST_WEIGHT = 64 << 20


def _drop_nodes(since: int) -> None:
    """Frees the nodes that a compilation left, and now and then older ones, of
    definitions that are gone, even where those hold themselves."""
    from parhelion.simplify.driver import forget

    forget()
    node.sweep(since)
    _drop_older()


def _drop_older() -> None:
    """Frees nodes and images of definitions that are gone, where there are many. Call
    it while the lock is held, and the collector off."""
    global _sweep_at
    _drop_images()
    if node.table_size() > _sweep_at:
        node.sweep()
        sweep_cycles()
        _sweep_at = max(_LEAST_SWEPT, 2 * node.table_size())


def _drop_images() -> None:
    """Frees images of programs that are gone, where there may be many bytes of them.
    Call it while the lock is held, and the collector off."""
    from parhelion.simplify.driver import forget

    if images.many(_MOST_WEIGHT):
        forget()
        images.free(_MOST_WEIGHT)


def free_images() -> None:
    """Frees images of programs that are gone; so does whoever compiles now, when that
    is done."""
    if LOCK.acquire(blocking=False):
        try:
            with collector_off():
                _drop_images()
        finally:
            LOCK.release()


images.freed_by(free_images, _MOST_WEIGHT)


@contextmanager
def collector_off() -> Iterator[None]:
    """Python's cyclic collector off: it costs up to 45 % on these trees, and some
    milliseconds of a start that has all its code from the cache."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def compiling() -> Iterator[None]:
    """The compiler to oneself: the lock held, the collector off, and afterwards the
    nodes dropped that nobody holds."""
    with LOCK, collector_off():
        since = node.mark()
        try:
            yield
        finally:
            _drop_nodes(since)


def lowered_for(
    spec: PipelineSpec,
    name: str,
    variant: Variant,
    vectors: bool = True,
    machine: Target | None = None,
    trace: Trace | None = None,
) -> Lowered:
    """The imperative program, body and all; without `vectors`, all its loops are
    loops. It is for this computer unless told otherwise. Call it inside `compiling`.
    trace: gets what each pass made."""
    from parhelion.codegen.target import host_target
    from parhelion.lower.passes import lower

    return lower(
        of_variant(spec, variant),
        name=name,
        options=lower_options(variant, machine or host_target(), vectors),
        trace=trace,
    )


def build(
    reach: Reach,
    name: str,
    variant: Variant,
    sites: Mapping[str, Site | None],
    state: Fingerprint,
) -> CompiledPipeline:
    """Lowers, compiles and loads a pipeline for this computer, or has its code from the
    persistent cache. state: the fingerprint of the pipeline."""
    with collector_off():
        from parhelion.codegen.target import host_target
        from parhelion.runtime import records

        target = host_target()
        key = _key(state, name, variant, target)
        record = None if key is None else records.kept(key, name, reach.outputs)
        if key is not None and record is not None:
            compiled = record.code.loaded(name, target)
            _watch(compiled, variant, record.profiled)
            args = record.lowered.args
            call = Call(compiled, args, record.failures, sites)
            _drop_older()
            return CompiledPipeline(record.lowered, variant, call, key.digest)
    with progress.task(f"compiling {name}"):
        return _compiled(reach, name, variant, sites, state, target, key)


def _watch(
    compiled: loading.Compiled, variant: Variant, profiled: Sequence[tuple[str, int]]
) -> None:
    """Has calls of the code profiled or recorded, if the variant asks for that."""
    if variant.trace:
        from parhelion.runtime import trace

        compiled.entry = trace.Entry(compiled.entry)
    if variant.profile:
        from parhelion.runtime import profile

        name = compiled.name
        compiled.entry = profile.Entry(compiled.address, name, profiled)


def _key(
    state: Fingerprint, name: str, variant: Variant, target: Target
) -> keys.Key | None:
    """Returns the key of the program in the persistent cache; None if it is not
    used."""
    from parhelion.runtime import cache

    if cache.folder() is None or "PARHELION_DUMP" in os.environ:
        return None  # code that is found there was not lowered, with nothing to print
    return _told(state, name, variant, target)


def _told(
    state: Fingerprint, name: str, variant: Variant, target: Target
) -> keys.Key | None:
    """What tells a program from others, in any process; None where nothing does."""
    from parhelion.codegen.backends import backend_of
    from parhelion.runtime import versions
    from parhelion.schedule import keys

    try:
        # Code that is traced has the names in it.
        functions = [f for f in state if isinstance(f, Function)]
        named = variant.trace or any([f.schedule.traced for f in functions])
        machine = (target, backend_of(target.arch).name)
        told = (versions.compiler(), *machine, *state, variant)
        return keys.key_of((*told, name) if named else told, named)
    except keys.NotPortable:
        return None


def program_digest(state: Fingerprint, name: str, variant: Variant) -> str | None:
    """Hexadecimal digits that the same programs have, in any process, whatever they are
    called; None of one with foreign code. Pixels do not count."""
    from parhelion.codegen.target import host_target

    key = _told(state, name, variant, host_target())
    return None if key is None else key.digest


def kept_record(
    state: Fingerprint, name: str, variant: Variant
) -> tuple[str, bytes] | None:
    """The name and the contents of the record that the persistent cache has of a
    program; None if it has none."""
    from parhelion.runtime import cache

    digest = program_digest(state, name, variant)
    found = None if digest is None else cache.load(digest)  # none if it is off
    return None if digest is None or found is None else (digest, found)


def _compiled(
    reach: Reach,
    name: str,
    variant: Variant,
    sites: Mapping[str, Site | None],
    state: Fingerprint,
    target: Target,
    key: keys.Key | None,
) -> CompiledPipeline:
    """A pipeline lowered, compiled and loaded, and kept under its key."""
    from parhelion.codegen.llvm import emit_with_sites
    from parhelion.runtime import cache, records
    from parhelion.runtime.kernels import text_with_kernels
    from parhelion.schedule import rules

    warned = rules.given
    with compiling():
        with CHANGES:
            spec = PipelineSpec.of(reach.outputs, reach.requirements)
            if reach.look() != state:
                key = None  # a change by another thread, which is compiled as well
        lowered = lowered_for(spec, name, variant)
        progress.step("writing LLVM text")
        emitted = emit_with_sites(lowered, target, interruptible=True)
        del spec  # what is kept of it would keep all of it
        lowered = replace(lowered, outputs=reach.outputs, body=NOP, nests=NOP)
        lowered = replace(lowered, profiled={})
    text = text_with_kernels(emitted, lowered.device)
    failures = emitted.failures
    deadline = DEADLINE.get()
    if deadline is not None:
        deadline.check(f"compiling {name}")
    compiled = loading.compile_module(text, name, target, emitted.imports)
    profiled = emitted.profiled
    _watch(compiled, variant, profiled)
    kept = None
    if key is not None and not emitted.imports and rules.given == warned:
        with suppress(records.NotRecordable):
            made = records.pack(lowered, failures, compiled, text, key, profiled)
            cache.store(key.digest, made)
            kept = key.digest
    call = Call(compiled, lowered.args, failures, sites)
    return CompiledPipeline(lowered, variant, call, kept)
