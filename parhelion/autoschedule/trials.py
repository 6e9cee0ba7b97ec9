"""Running candidates of a scheduler, to see which is the fastest one here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from parhelion.autoschedule.decisions import cost_text
from parhelion.autoschedule.pipeline.sizes import Box, Sizes
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.errors import HalideError, TimeLimitError
from parhelion.ir import progress
from parhelion.ir.bindings import SET, Bindings
from parhelion.ir.function import Function
from parhelion.ir.pipeline import Requirement
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.inferred import laid_out
from parhelion.lang.param import number_of
from parhelion.lang.runner import Runner

#: How often each candidate is run; the shortest time counts.
RUNS = 3


def fastest(
    candidates: Sequence[AutoSchedulerResults],
    sizes: Sizes,
    images: Mapping[BufferSym, Buffer],
    requirements: Sequence[Requirement],
) -> AutoSchedulerResults:
    """The candidate that runs fastest, with a note of all times; the first one if none
    can be run.

    Copies of the Funcs are run. Inputs that are not given or set are random, of the
    sizes that the schedule is made for.
    """
    times: list[float] = []
    refusals: dict[str, None] = {}
    bindings = bindings_of(list(sizes.outputs), sizes, images)
    boxes = [_extents(box) for f, box in sizes.outputs.items() for _ in f.buffers]
    for number, one in enumerate(candidates):
        progress.step(f"candidate {number + 1} of {len(candidates)}")
        try:
            made = one.script.tried().outputs
            runner = Runner(made, made[0].name, requirements, bindings=bindings)
            times.append(_seconds(runner, prepared(runner, boxes)))
        except TimeLimitError:
            raise
        except HalideError as error:
            times.append(float("inf"))
            refusals[error.what] = None
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


def prepared(runner: Runner, boxes: Sequence[list[tuple[int, int]]]) -> list[Buffer]:
    """Outputs to write to, while all inputs have an image."""
    runner.refresh()
    made = [
        runner.new_buffer(b, box) for b, box in zip(runner.targets, boxes, strict=True)
    ]
    if any([runner.bindings.of(s) is None for s in runner.reach.images]):
        runner.bindings = Bindings(_needed(runner, made), runner.bindings)
    return made


def _seconds(runner: Runner, made: Sequence[Buffer]) -> float:
    """The shortest of some runs; the first one, which compiles, does not count."""
    inputs = runner.inputs()
    runner.run(inputs, made)
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        runner.run(inputs, made)
        best = min(best, time.perf_counter() - start)
    return best


def _needed(
    runner: Runner, made: Sequence[Buffer]
) -> dict[BufferSym | ParamSym, Buffer]:
    """Images that are just as large as the outputs need, with random pixels."""
    boxes = [
        [(b.dim(d).min(), b.dim(d).extent()) for d in range(b.dimensions())]
        for b in made
    ]
    strides = [b._layout().strides for b in made]
    known = {
        s: image._layout()
        for s in runner.reach.images
        if (image := runner.bindings.of(s)) is not None
    }
    variant = runner.fitting(boxes, runner.variant(known, boxes=boxes))
    found = runner.infer_inputs(boxes, variant, strides)
    images: dict[BufferSym | ParamSym, Buffer] = {
        s: laid_out(s, sides) for s, sides in found.items()
    }
    rng = np.random.default_rng(2)
    for image in images.values():
        _fill(image, rng)
    return images


def bindings_of(
    outputs: Sequence[Function], sizes: Sizes, images: Mapping[BufferSym, Buffer]
) -> Bindings:
    """A value of each Param, and an image for each input whose size is known, laid out
    as is promised of it."""
    runner = Runner(outputs, outputs[0].name)
    runner.refresh()
    given: dict[BufferSym | ParamSym, object] = {}
    for p in runner.reach.params:
        value = SET.of(p)
        given[p] = sizes.params.get(p, _some(p) if value is None else value)
    rng = np.random.default_rng(1)
    for s in runner.reach.images:
        box = sizes.images.get(s)
        if s in images:
            given[s] = images[s]
        elif SET.of(s) is None and box is not None:
            made = given[s] = runner.new_buffer(s, _extents(box))
            _fill(made, rng)
    return Bindings(given, SET)


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


__all__ = ["RUNS", "bindings_of", "fastest", "prepared"]
