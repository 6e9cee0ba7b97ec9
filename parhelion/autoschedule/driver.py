"""Running a scheduler on a pipeline, and giving the Funcs what it found."""

from __future__ import annotations

import operator
import time
from collections.abc import Mapping, Sequence

import numpy as np

from parhelion.autoschedule.fallback import settled
from parhelion.autoschedule.pipeline.sizes import (
    Extent,
    Given,
    Number,
    Sizes,
    find_sizes,
)
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.scans import Scans
from parhelion.autoschedule.trials import fastest
from parhelion.errors import TypeMismatchError, here
from parhelion.ir import progress
from parhelion.ir.bindings import SET
from parhelion.ir.changes import CHANGES
from parhelion.ir.deep import run_deep
from parhelion.ir.function import Function
from parhelion.ir.names import plain_name
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang import arrays
from parhelion.lang.autoscheduling import AutoschedulerParams, find_autoscheduler
from parhelion.lang.buffer import Buffer
from parhelion.lang.func import Func
from parhelion.lang.given import check_image, check_output
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.named_sizes import Sizes as Extents
from parhelion.lang.named_sizes import in_order
from parhelion.lang.param import Param, checked_value
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.target_api import Target, TargetFeature
from parhelion.lang.where import in_dimensions
from parhelion.lower.by_data import advice_of
from parhelion.runtime.program import compiling
from parhelion.schedule.order import realization_order
from parhelion.schedule.reach import Reach
from parhelion.schedule.recomputing import unscheduled
from parhelion.schedule.snapshot import Snapshot
from parhelion.schedule.spec import PipelineSpec, duplicates


def apply(
    pipeline: Pipeline,
    target: Target,
    params: AutoschedulerParams,
    given: Given | None = None,
) -> AutoSchedulerResults:
    """Asks the scheduler that `params` names, and applies its script. The scheduler is
    given copies of the Funcs, so that the user's change only at the end."""
    functions = tuple(pipeline._functions())
    with progress.task(f"scheduling {functions[0].label}"):
        return _applied(pipeline, functions, target, params, given)


def _applied(
    pipeline: Pipeline,
    functions: tuple[Function, ...],
    target: Target,
    params: AutoschedulerParams,
    given: Given | None,
) -> AutoSchedulerResults:
    scheduler = find_autoscheduler(params.name)
    start = time.perf_counter()
    with CHANGES:
        before = Snapshot(functions)
        sizes = find_sizes(functions, given)
        partial = not unscheduled(realization_order(functions))
    images = {} if given is None else given.images
    asked = pipeline._runner.reach.requirements
    on_gpu = target.has_feature(TargetFeature.CUDA)
    # Tiles of scans are for the cores of a CPU.
    tiles = bool(getattr(scheduler, "tiles_scans", False)) and not on_gpu
    notes: tuple[str, ...] = ()
    while True:
        with CHANGES:
            copies = duplicates(functions)
        outputs, ours = tuple([copies[f] for f in functions]), sizes.on(copies)
        scans = Scans.of(outputs, ours, target, params) if tiles else Scans(outputs)
        scans.script.apply()

        def search(
            outputs: tuple[Function, ...] = outputs, ours: Sizes = ours
        ) -> AutoSchedulerResults:
            with compiling():
                return scheduler.schedule(outputs, ours, target, params)

        # Expressions are as deep as those that passes walk, and nodes as short-lived.
        result = run_deep(search)
        candidates = [result, *result.candidates]
        for one in candidates:
            scans.acknowledge(one.script)
        if len(candidates) > 1:
            result = fastest(candidates, ours, images, asked)
        result = settled(result)
        every = list({id(r): r for r in (result, *candidates)}.values())
        if all([one.script.after(scans.script) is not None for one in every]):
            break
        tiles = False
        notes = ("scans stay in whole lines, as the schedule is about their tiles",)
    result.seconds = time.perf_counter() - start
    for one in every:
        one.notes = (*one.notes, *scans.notes, *notes)
        one.belongs(copies, sizes, before, scans.script, partial)
    result.apply()
    spec = PipelineSpec.of(functions)
    result.notes = (*result.notes, *run_deep(lambda: advice_of(spec)))
    return result


def autoschedule(
    outputs: object,
    arguments: Sequence[object],
    sizes: Extents | None,
    inputs: Mapping[object, object],
    target: Target,
    params: AutoschedulerParams,
    axes: str | None = None,
) -> AutoSchedulerResults:
    """See `lang.autoscheduling.autoschedule`."""
    pipeline = outputs if isinstance(outputs, Pipeline) else None
    if pipeline is None:
        if not isinstance(outputs, Func | list | tuple):
            raise TypeMismatchError(
                "autoschedule takes a Func, several or a Pipeline first, not"
                f" {outputs!r:.60}",
                at=here(),
            )
        pipeline = Pipeline(outputs)
    given = given_to(pipeline, arguments, sizes, inputs, axes=axes)
    return apply(pipeline, target, params, given)


# What the user gave.


def given_to(
    pipeline: Pipeline,
    arguments: Sequence[object],
    sizes: Extents | None,
    inputs: Mapping[object, object],
    what: str = "autoschedule",
    axes: str | None = None,
) -> Given:
    """What a user gives to a function that `what` names: see `lang.autoscheduling`."""
    if axes is not None:
        # Arrays become Buffers, which know their axes.
        arguments = [_named(one, axes) for one in arguments]
        if isinstance(inputs, Mapping):
            inputs = {key: _named(one, axes) for key, one in inputs.items()}
    functions = tuple(pipeline._functions())
    reach = Reach(functions)
    reach.look()
    unbound = [s for s in reach.images if not s.embedded]
    symbols: list[BufferSym | ParamSym] = [*unbound, *reach.params]
    images: dict[BufferSym, Buffer] = {}
    params: dict[ParamSym, Number] = {}
    if not isinstance(inputs, Mapping):
        raise TypeMismatchError(
            "inputs is a dict from ImageParams and Params, or their names, to images"
            f" and values, not {inputs!r:.60}",
            at=here(),
        )
    for key, value in inputs.items():
        _take(_symbol(key, symbols, what), value, images, params)
    left = list(arguments)
    where: dict[Function, Sequence[Extent]] = {}
    if left and sizes is None and _are_sizes(left[-1]):
        sizes = left.pop()  # type: ignore[assignment]
    if sizes is not None:
        where = {f: _extents(f, sizes, axes) for f in functions}
    elif left and isinstance(left[-1], list | tuple):
        left += left.pop()  # type: ignore[arg-type]
    lacking = [
        s for s in symbols if SET.of(s) is None and s not in images and s not in params
    ]
    targets = [b for f in functions for b in f.buffers]
    if len(left) in (len(lacking), len(lacking) + len(targets)):
        for symbol, value in zip(lacking, left[: len(lacking)], strict=True):
            _take(symbol, value, images, params)
        left = left[len(lacking) :]
    if left:
        if sizes is not None or len(left) != len(targets):
            raise _wrong_count(len(arguments), lacking, targets)
        where = _boxes(targets, left)
    return Given(where, images, params, real=True)


def _wrong_count(
    count: int, lacking: Sequence[BufferSym | ParamSym], targets: Sequence[BufferSym]
) -> TypeMismatchError:
    names = ", ".join([plain_name(s.name) for s in lacking])
    first = f"values for {names}, and then " if lacking else ""
    last = "the extents of the output or a buffer for it"
    if len(targets) > 1:
        last = f"the extents of the outputs or {len(targets)} buffers for them"
    are = "argument is" if count == 1 else "arguments are"
    return TypeMismatchError(
        f"autoschedule takes {first}{last}; {count} {are} given after the outputs",
        at=here(),
        detail="" if lacking else "all ImageParams and Params have values",
        hint="inputs={image: array, …} gives images and values by what they are for",
    )


def _symbol(
    key: object, symbols: Sequence[BufferSym | ParamSym], what: str
) -> BufferSym | ParamSym:
    if isinstance(key, ImageParam | Param):
        found = [s for s in symbols if s is key._sym]
    else:
        found = [s for s in symbols if s.name == key]
        found = found or [s for s in symbols if plain_name(s.name) == key]
    if len(found) == 1:
        return found[0]
    if found:
        raise TypeMismatchError(
            f"{what} is given a value for {key!r:.60}, which may mean any of"
            f" {len(found)}",
            at=here(),
            legal=[f"{s.name}, made at {s.site}" if s.site else s.name for s in found],
            hint="inputs= takes ImageParams and Params themselves, too",
        )
    name = repr(key.name()) if isinstance(key, ImageParam | Param) else repr(key)
    raise TypeMismatchError(
        f"{what} is given a value for {name:.60}, which the pipeline does not use",
        at=here(),
        legal=[plain_name(s.name) for s in symbols],
    )


def _take(
    symbol: BufferSym | ParamSym,
    value: object,
    images: dict[BufferSym, Buffer],
    params: dict[ParamSym, Number],
) -> None:
    if isinstance(symbol, ParamSym):
        params[symbol] = checked_value(value, symbol.type, symbol.name)
        return
    if not isinstance(value, Buffer | np.ndarray):
        raise TypeMismatchError(
            f"image {symbol.name!r} is given as a Buffer or an array, not"
            f" {value!r:.60}",
            at=here(),
        )
    buffer = value if isinstance(value, Buffer) else Buffer(value)
    check_image(symbol, buffer)
    images[symbol] = buffer


def _are_sizes(given: object) -> bool:
    """Whether an argument is a list of extents, right or wrong ones, or extents by
    names, as `realize` sees it."""
    if isinstance(given, Mapping):
        return True
    if not isinstance(given, list | tuple):
        return False
    return not any([isinstance(one, Buffer | np.ndarray) for one in given])


def _named(given: object, axes: str) -> object:
    """An array as the Buffer that it is by its axes; all else as it is."""
    if isinstance(given, np.ndarray):
        return Buffer(given, axes=axes)
    if isinstance(given, list | tuple):
        return [_named(one, axes) for one in given]
    return given


def _extents(f: Function, sizes: Extents, axes: str | None) -> list[Extent]:
    sizes = in_order(f, in_dimensions(sizes, axes), "autoschedule")
    extents = arrays.check_sizes(sizes, f"the output of Func {f.name!r}")
    if len(extents) != f.dimensions:
        raise TypeMismatchError(
            f"Func {f.name!r} has {f.dimensions} dimensions; autoschedule is given"
            f" {len(extents)} extents",
            at=here(),
        )
    for one in extents:
        if operator.index(one) < 1:
            raise TypeMismatchError(
                f"the extents of Func {f.name!r} are at least 1 each, not"
                f" {list(extents)}",
                at=here(),
            )
    return [(None, int(one)) for one in extents]


def _boxes(
    targets: Sequence[BufferSym], given: Sequence[object]
) -> dict[Function, Sequence[Extent]]:
    found: dict[Function, Sequence[Extent]] = {}
    for symbol, one in zip(targets, given, strict=True):
        if not isinstance(one, Buffer | np.ndarray):
            raise TypeMismatchError(
                f"the output of Func {symbol.name!r} is given as a Buffer, an array or"
                f" a list of extents, not {one!r:.60}",
                at=here(),
            )
        buffer = one if isinstance(one, Buffer) else Buffer(one)
        check_output(symbol, buffer)
        dims = [buffer.dim(d) for d in range(buffer.dimensions())]
        found[symbol.func] = [(d.min(), d.extent()) for d in dims]
    return found
