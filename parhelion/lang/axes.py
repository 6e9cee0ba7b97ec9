"""Hints for errors that come from arrays whose axes are in another order than expected.

An (H, W, C) photograph that is given without ``axes`` is an image three pixels wide,
and sizes in NumPy's order ask for an image turned on its side. Both fail because a
region is too small, but neither a larger image nor a boundary condition helps. Where
it is an image that is too small, the stages that read it are told, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from parhelion.errors import HalideError
from parhelion.ir.build import const_int
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Var
from parhelion.ir.pipeline import Region
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.given import Number, check_image, exact
from parhelion.runtime.layout import Layout
from parhelion.schedule.rules import stage_label

if TYPE_CHECKING:
    from parhelion.lang.runner import Runner
    from parhelion.runtime.program import CompiledPipeline

#: Failures that other axes or sizes may explain.
_ABOUT_SIZES = frozenset(
    ("input_too_small", "output_too_small", "bound_too_small", "constraint")
)
#: Axes of at most this many elements may be channels.
_MOST_CHANNELS = 4
#: Another reading must leave so many times less lacking to be told.
_MUCH = 4
#: And others of at least this many are rows and columns beside them.
_LEAST_SIDE = 8

#: (min, extent) of each dimension.
_Box = list[tuple[int, int]]
_Boxes = dict[BufferSym, _Box]


def advise(
    error: HalideError,
    runner: Runner,
    program: CompiledPipeline,
    images: Mapping[BufferSym, Layout],
    scalars: Mapping[ParamSym, Number] | None,
) -> None:
    """Adds a hint to an error of compiled code, if another order of axes explains it.

    images: the layouts of the images and outputs of this call; images that it lacks are
        those that are set.
    scalars: the values of Params, by default those that are set.
    """
    if error.failure not in _ABOUT_SIZES:
        return
    outputs, required = runner.targets, program.lowered.required
    layouts, values = dict(images), _values(runner, program, scalars)
    for arg in program.lowered.args:
        sym = arg.symbol
        if isinstance(sym, BufferSym) and sym not in layouts:
            layouts[sym] = check_image(sym, runner.image(sym))
    boxes = {
        b: list(zip(one.mins, one.extents, strict=True)) for b, one in layouts.items()
    }
    _tell_readers(error, runner, required, boxes, values)
    packed = {b for b, one in layouts.items() if _has_channels_innermost(one)}
    best: _Boxes = boxes
    swapped: Sequence[BufferSym] = ()
    least = _lacking(required, outputs, boxes, values)
    for turned, outputs_swapped in _readings(boxes, packed, outputs):
        lacking = _lacking(required, outputs, turned, values)
        if lacking * _MUCH <= least and least - lacking >= _LEAST_SIDE:
            best, swapped, least = turned, outputs_swapped, lacking
    parts = [
        *_about_axes(boxes, packed, runner.called),
        *[_about_sizes(boxes[b], best[b]) for b in swapped],
    ]
    what = "; and ".join(parts)
    if what:
        error.advise(f"{what}; else {error.hint}" if error.hint else what)


def _tell_readers(
    error: HalideError,
    runner: Runner,
    required: Mapping[BufferSym, Sequence[Region]],
    boxes: _Boxes,
    scalars: Mapping[Var, Number],
) -> None:
    """Adds to an error about an image that is too small which stages read it, where
    there are several Funcs. Every image that is too small counts."""
    functions = runner.reach.functions
    if error.failure != "input_too_small" or len(functions) < 2:
        return
    env = _environment(boxes, scalars)
    told: list[str] = []
    for b in required:
        if b.role != "input" or b not in boxes:
            continue
        if not _short_of(required[b], boxes[b], env):
            continue
        for f in functions:
            for number, d in enumerate(f.stages()):
                if b in d.mentions():
                    name = runner.called.get(b.name, b.name)
                    told.append(
                        f"{stage_label(f, number)} reads {name!r} in its definition"
                    )
                    if d.site is not None:
                        told += [f"  --> {d.site}", f"   |  {d.site.text()}"]
    error.detail = "\n".join(told)
    error.advise(error.hint)


def _short_of(regions: Sequence[Region], box: _Box, env: Mapping[Var, Number]) -> int:
    """Returns how many rows and columns a box lacks of what is read."""
    count = 0
    for region, (first, extent) in zip(regions, box, strict=True):
        lo, hi = int(evaluate(region.min, env)), int(evaluate(region.max, env))
        if lo <= hi:
            count += max(first - lo, 0) + max(hi - (first + extent - 1), 0)
    return count


def _values(
    runner: Runner, program: CompiledPipeline, given: Mapping[ParamSym, Number] | None
) -> dict[Var, Number]:
    found: dict[Var, Number] = {}
    for arg in program.lowered.args:
        sym = arg.symbol
        if isinstance(sym, ParamSym):
            value = None if given is None else given.get(sym)
            value = runner.scalar(sym) if value is None else value
            found[sym.var] = exact(sym, value)
    return found


def _has_channels_innermost(one: Layout) -> bool:
    """Whether an image looks like an (H, W, C) array that was given without axes."""
    sides = one.extents
    return (
        len(sides) >= 3
        and 1 <= sides[0] <= _MOST_CHANNELS
        and min(sides[1:3]) >= _LEAST_SIDE
        and abs(one.strides[0]) <= abs(one.strides[1])
    )


def _readings(
    boxes: _Boxes, packed: set[BufferSym], outputs: Sequence[BufferSym]
) -> Iterator[tuple[_Boxes, Sequence[BufferSym]]]:
    """Yields the boxes with axes in other orders, the likeliest first.

    With each come the outputs whose width and height change places.
    """
    turned = {
        b: [*box[1:3], box[0], *box[3:]] if b in packed else box
        for b, box in boxes.items()
    }
    if packed:
        yield turned, ()
    others = [b for b in outputs if b not in packed and len(boxes[b]) > 1]
    if others:
        swap = {b: [turned[b][1], turned[b][0], *turned[b][2:]] for b in others}
        yield {**turned, **swap}, others


def _environment(boxes: _Boxes, scalars: Mapping[Var, Number]) -> dict[Var, Number]:
    env = dict(scalars)
    for b, box in boxes.items():
        stride = 1
        for dim, (lo, extent) in zip(b.dims, box, strict=True):
            env[dim.min], env[dim.extent], env[dim.stride] = lo, extent, stride
            stride *= extent
    return env


def _lacking(
    required: Mapping[BufferSym, Sequence[Region]],
    outputs: Sequence[BufferSym],
    boxes: _Boxes,
    scalars: Mapping[Var, Number],
) -> int:
    """Returns how many rows and columns are missing or too many, for these boxes.

    Images lack what is read outside of them; outputs have too many beyond what is
    promised.
    """
    env = _environment(boxes, scalars)
    count = 0
    for b, regions in required.items():
        if b in outputs or b not in boxes:
            continue
        count += _short_of(regions, boxes[b], env)
    return count + sum([_unpromised(b, box) for b, box in boxes.items()])


def _unpromised(b: BufferSym, box: _Box) -> int:
    """Returns by how many rows and columns a box differs from the constant promises.

    The promises are those of a buffer's dimensions and, for an output, of `bound`.
    """
    count = 0
    for dim, (lo, extent) in zip(b.dims, box, strict=True):
        known = (dim.known_min, dim.min, lo), (dim.known_extent, dim.extent, extent)
        for promised, own, given in known:
            if promised is not own:
                count += abs(int(evaluate(promised, {})) - given)
    if b.role == "input":
        return count
    f = b.func
    for bound in f.schedule.bounds:
        lo, extent = box[f.args.index(bound.var)]
        size = None if bound.extent is None else const_int(bound.extent)
        first = lo if bound.min is None else const_int(bound.min)
        if size is not None and first is not None:
            count += max(first - lo, 0) + max(lo + extent - first - size, 0)
    return count


def _about_axes(
    boxes: _Boxes, packed: set[BufferSym], called: Mapping[str, str]
) -> list[str]:
    found = [(b, tuple([n for _, n in reversed(boxes[b])])) for b in boxes]
    found = [(b, shape) for b, shape in found if b in packed]
    if not found:
        return []
    names = [
        f"{shape[-1]} {'pixel' if shape[-1] == 1 else 'pixels'} in"
        f" {called.get(b.name, b.name)!r}, of shape {shape}"
        for b, shape in found
    ]
    letters = "nmtz"[: len(found[0][1]) - 3] + "yxc"
    return [
        f"x has {' and '.join(names)}: if the axes are rows, columns and channels, give"
        f' hl.Buffer(array, axes="{letters}")'
    ]


def _about_sizes(box: _Box, better: _Box) -> str:
    asked, instead = [n for _, n in box], [n for _, n in better]
    return (
        "sizes are [width, height, …], not in the order of an array's shape: "
        f"{instead} for {asked}"
    )


__all__ = ["advise"]
