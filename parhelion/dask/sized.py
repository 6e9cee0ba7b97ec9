"""A copy of a pipeline that reads parts of its images: sizes of the whole are Params.

A border condition asks an image for its least and greatest coordinates. Where the code
is given a part of the image, the answer is to be that of the whole, so that there are
borders at the edges of the image and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.pipeline import Requirement
from parhelion.ir.symbols import BufferSym, DimSym, ParamSym
from parhelion.lang.func import Func
from parhelion.lang.pickling import Symbol, Written
from parhelion.types import INT32

#: An axis that is promised to be no longer than this, channels say, stays whole in each
#: chunk, so that loops over it may be unrolled.
MOST_WHOLE = 64

#: The promised (min, extent) of a dimension; None where nothing is promised.
Promised = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Sized:
    """The copy: it has Funcs, images and Params of its own.

    images, params: in the order in which the user's were listed. sizes: of each image
    the Params of the least coordinate and of the extent of each dimension.
    constants: images that are given as a whole to each chunk.
    whole: of each image, then of each output value, the promises that hold in each
    chunk.
    """

    funcs: tuple[Func, ...]
    requirements: tuple[Requirement, ...]
    images: tuple[BufferSym, ...]
    params: tuple[ParamSym, ...]
    sizes: tuple[tuple[tuple[ParamSym, ParamSym], ...], ...]
    constants: tuple[BufferSym, ...]
    whole: tuple[tuple[Promised, ...], ...]

    @property
    def listed(self) -> list[Symbol]:
        """What the code of the copy is given before its outputs: the images, the
        Params, the sizes and the constants."""
        sizes = [p for image in self.sizes for pair in image for p in pair]
        return [*self.images, *self.params, *sizes, *self.constants]


def sized(
    outputs: Sequence[Function],
    requirements: Sequence[Requirement],
    images: Sequence[BufferSym],
    params: Sequence[ParamSym],
    constants: Sequence[BufferSym] = (),
) -> Sized:
    """Returns the copy. Raises HalideError if foreign code is part of the pipeline, of
    which the copy would need the address in another process."""
    instead: dict[Var, Var] = {}
    sizes: list[ParamSym] = []
    for image in images:
        for d, dim in enumerate(image.dims):
            for what, var in (("min", dim.min), ("extent", dim.extent)):
                least = int32(0) if what == "extent" else None
                made = ParamSym(f"{image.name}_{what}_{d}", INT32, image.site, least)
                instead[var] = made.var
                sizes.append(made)
    listed: list[Symbol] = [*images, *params, *sizes, *constants]
    written = Written.of(outputs, requirements, listed, True, instead)
    funcs, asked, found = written.read()
    buffers = [s for s in found if isinstance(s, BufferSym)]
    own = buffers[: len(images)]
    scalars = [s for s in found if isinstance(s, ParamSym)]
    pairs = iter(scalars[len(params) :])
    of_images = tuple(
        [tuple([(next(pairs), next(pairs)) for _ in i.dims]) for i in own]
    )
    targets = [b for f in funcs for b in f._function.buffers]
    for b in (*own, *targets):
        _forget_layout(b)
    whole = [tuple([_kept(d) for d in b.dims]) for b in own]
    whole += [_of_output(b) for b in targets]
    return Sized(
        tuple(funcs),
        asked,
        tuple(own),
        tuple(scalars[: len(params)]),
        of_images,
        tuple(buffers[len(images) :]),
        tuple(whole),
    )


def _forget_layout(b: BufferSym) -> None:
    """Takes promises back that arrays of chunks would break: of alignment, and of the
    elements from one row to the next."""
    b.host_alignment = 0
    for dim in b.dims:
        stride = None if dim.fixed_stride is None else const_int(dim.fixed_stride)
        if stride is None or abs(stride) > MOST_WHOLE:
            dim.fixed_stride = None


def _kept(dim: DimSym) -> Promised:
    """The promise of a dimension that may be kept, and takes the others away."""
    lo = const_int(dim.fixed_min) if dim.fixed_min is not None else None
    extent = const_int(dim.fixed_extent) if dim.fixed_extent is not None else None
    if extent is not None and extent <= MOST_WHOLE:
        return lo or 0, extent
    dim.fixed_min = dim.fixed_extent = None
    return None


def _of_output(target: BufferSym) -> tuple[Promised, ...]:
    """The same of an output, with what `bound` promises of its Func."""
    function: Function = target.func
    found = [_kept(d) for d in target.dims]
    kept = []
    for bound in function.schedule.bounds:
        if bound.extent is None:
            kept.append(bound)  # an alignment, which holds in each chunk as well
            continue
        extent = const_int(bound.extent)
        lo = None if bound.min is None else const_int(bound.min)
        if (
            extent is None
            or extent > MOST_WHOLE
            or (bound.min is not None) > (lo is not None)
        ):
            continue
        kept.append(bound)
        found[function.args.index(bound.var)] = lo or 0, extent
    if len(kept) < len(function.schedule.bounds):
        function.schedule.bounds = tuple(kept)
    return tuple(found)


__all__ = ["MOST_WHOLE", "Promised", "Sized", "sized"]
