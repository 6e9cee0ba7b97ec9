"""Running candidates of a scheduler, to see which is the fastest one here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from parhelion.autoschedule.decisions import cost_text
from parhelion.autoschedule.estimates import Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.errors import HalideError
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.pipeline import Pipeline
from parhelion.runtime.state import Reach

#: How often each candidate is run; the shortest time counts.
RUNS = 3


def fastest(
    pipeline: Pipeline,
    candidates: Sequence[AutoSchedulerResults],
    sizes: Sizes,
    images: Mapping[BufferSym, Buffer],
) -> AutoSchedulerResults:
    """The candidate that runs fastest, with a note of all times; the first one if none
    can be run.

    Inputs that are not given or set are random, of the sizes that the schedule is made
    for. The Funcs, and what is set, are afterwards as before.
    """
    functions = tuple(pipeline._functions())
    times: list[float] = []
    refusals: list[str] = []
    for one in candidates:
        one.apply()
        try:
            with _arguments(pipeline, functions, sizes, images) as outputs:
                times.append(_seconds(pipeline, outputs))
        except HalideError as error:
            times.append(float("inf"))
            refusals.append(f"a candidate could not be run: {error.what}")
        finally:
            one.undo()
    best = min(range(len(times)), key=times.__getitem__)
    shown = ", ".join([cost_text(t, "s") for t in times if t != float("inf")])
    which = (
        "the one with the least predicted cost" if best == 0 else f"number {best + 1}"
    )
    told = f"measured, by predicted cost: {shown}; {which} was the fastest"
    found = candidates[best]
    found.notes = (*found.notes, *refusals, told)
    return found


def _seconds(pipeline: Pipeline, outputs: Sequence[Buffer]) -> float:
    """The shortest of some runs; the first one, which compiles, does not count."""
    pipeline.realize(list(outputs))
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        pipeline.realize(list(outputs))
        best = min(best, time.perf_counter() - start)
    return best


@contextmanager
def _arguments(
    pipeline: Pipeline,
    functions: Sequence[Function],
    sizes: Sizes,
    images: Mapping[BufferSym, Buffer],
) -> Iterator[list[Buffer]]:
    """Outputs to write to, while all inputs have an image or a value."""
    reach = Reach(functions)
    reach.look()
    inputs = [s for s in reach.images if s.bound is None]
    symbols: list[BufferSym | ParamSym] = [*inputs, *reach.params]
    before = [s.value for s in symbols]
    rng = np.random.default_rng(1)
    try:
        for p in reach.params:
            p.value = sizes.params.get(p, 1 if p.value is None else p.value)
        for s in inputs:
            box = sizes.images.get(s)
            s.value = images.get(s, s.value)
            if s.value is None and box is not None:
                s.value = Buffer(s.type, [hi - lo + 1 for lo, hi in box])
                s.value.set_min([lo for lo, _ in box])
                _fill(s.value, rng)
        outputs = []
        for f in functions:
            box = sizes.outputs[f]
            for t in f.types:
                made = Buffer(t, [hi - lo + 1 for lo, hi in box])
                made.set_min([lo for lo, _ in box])
                outputs.append(made)
        unset = [s for s in inputs if s.value is None]
        if unset:
            pipeline.infer_input_bounds(outputs)
            for s in unset:
                if s.value is not None:
                    _fill(s.value, rng)
        yield outputs
    finally:
        for symbol, value in zip(symbols, before, strict=True):
            symbol.value = value


def _fill(image: Buffer, rng: np.random.Generator) -> None:
    array = np.asarray(image)
    if array.dtype.kind in "iub":
        most = 1 if array.dtype.kind == "b" else min(255, np.iinfo(array.dtype).max)
        array[...] = rng.integers(0, most, array.shape, endpoint=True)
    else:
        array[...] = rng.random(array.shape)


__all__ = ["RUNS", "fastest"]
