"""Running candidates of a scheduler, to see which is the fastest one here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from parhelion.autoschedule.decisions import cost_text
from parhelion.autoschedule.estimates import Box, Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.errors import HalideError
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.param import number_of
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
    refusals: dict[str, None] = {}
    for one in candidates:
        one.apply()
        try:
            with _arguments(pipeline, functions, sizes, images) as outputs:
                times.append(_seconds(pipeline, outputs))
        except HalideError as error:
            times.append(float("inf"))
            refusals[error.what] = None
        finally:
            one.undo()
    best = min(range(len(times)), key=times.__getitem__)
    found = candidates[best]
    ran = [t for t in times if t != float("inf")]
    if not ran:
        told = [f"no candidate could be run ({'; '.join(refusals)})"]
    else:
        told = [f"a candidate could not be run: {what}" for what in refusals]
        which = (
            f"number {best + 1}" if best else "the one with the least predicted cost"
        )
        told.append(f"measured, {_shown(candidates, times)}; {which} was the fastest")
    found.notes = (*found.notes, *told)
    return found


def _shown(candidates: Sequence[AutoSchedulerResults], times: Sequence[float]) -> str:
    """The times of those that could be run, those last of which no cost is known."""
    told: dict[str, list[str]] = {"by predicted cost": [], "with less in them": []}
    for one, taken in zip(candidates, times, strict=True):
        if taken != float("inf"):
            which = "with less in them" if one.cost is None else "by predicted cost"
            told[which].append(cost_text(taken, "s"))
    return "; ".join([f"{words}: {', '.join(t)}" for words, t in told.items() if t])


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
    """Outputs to write to, while all inputs have an image or a value, laid out as is
    promised of them."""
    runner = pipeline._ready()
    reach = Reach(functions)
    reach.look()
    inputs = [s for s in reach.images if s.bound is None]
    symbols: list[BufferSym | ParamSym] = [*inputs, *reach.params]
    before = [s.value for s in symbols]
    rng = np.random.default_rng(1)
    try:
        for p in reach.params:
            p.value = sizes.params.get(p, _some(p) if p.value is None else p.value)
        for s in inputs:
            box = sizes.images.get(s)
            s.value = images.get(s, s.value)
            if s.value is None and box is not None:
                s.value = runner.new_buffer(s, _extents(box))
                _fill(s.value, rng)
        outputs = [
            runner.new_buffer(b, _extents(sizes.outputs[f]))
            for f in functions
            for b in f.buffers
        ]
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


def _extents(box: Box) -> list[tuple[int, int]]:
    return [(lo, hi - lo + 1) for lo, hi in box]


def _some(p: ParamSym) -> int | float:
    """A value of a Param of which nothing is known but one end of its range."""
    low, high = number_of(p.lo), number_of(p.hi)
    value: int | float = 1 if low is None else max(1, low)
    return value if high is None else min(value, high)


def _fill(image: Buffer, rng: np.random.Generator) -> None:
    array = np.asarray(image)
    if array.dtype.kind in "iub":
        most = 1 if array.dtype.kind == "b" else min(255, np.iinfo(array.dtype).max)
        array[...] = rng.integers(0, most, array.shape, endpoint=True)
    else:
        array[...] = rng.random(array.shape)


__all__ = ["RUNS", "fastest"]
