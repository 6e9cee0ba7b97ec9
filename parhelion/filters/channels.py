"""The channels of an image: taken apart, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.planes import plane_axes
from parhelion.ir.build import const_int, int32
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var
from parhelion.whole import assembling, indexing
from parhelion.whole.array import Array
from parhelion.whole.core import letters, loop_order, moved, read_all
from parhelion.whole.trace import Counted, shape_of


def split(image: Array, count: int, what: str) -> list[Array]:
    """The channels of an image, which are its axis c, or else the last of three.

    what: who asks for so many of them. Raises TypeMismatchError for an image without
    channels, and BoundsError for another number of them.
    """
    at = channel_axis(image, what)
    whole = image._whole
    check = Counted(
        f"{what} takes an image whose number of channels is",
        count,
        whole.shape[at],
        here(),
    )
    if whole.trace is None:
        check.look({})
    else:
        whole.trace.check(check)
    if const_int(whole.shape[at]) is None:
        known = (*whole.shape[:at], int32(count), *whole.shape[at + 1 :])
        whole = replace(whole, shape=known, func=None, bordered={})
    before = (slice(None),) * at
    return [Array._of(indexing.take(whole, (*before, k))) for k in range(count)]


def channel_axis(image: Array, what: str) -> int:
    """The place of the channels in the shape. Raises TypeMismatchError for an image
    without."""
    plane_axes(image, what)
    names = image._whole.names
    if "c" in names:
        return names.index("c")
    if len(names) == 3 and None in names:
        return 2
    raise TypeMismatchError(
        f"{what} takes an image with channels, (H, W, C), not an array of the shape"
        f" {shape_of(image._whole.shape, {})}",
        at=here(),
    )


def joined(channels: Sequence[Array], like: Array | None, what: str) -> Array:
    """An image of some channels, in the place where another has its own; last, if that
    is None."""
    at = channels[0].ndim if like is None else channel_axis(like, what)
    name = "c" if like is None else like._whole.names[at]
    found = assembling.stack(channels, at)
    names = channels[0]._whole.names
    if None in names:
        name = None
    return Array._of(replace(found, names=(*names[:at], name, *names[at:])))


def colours(image: Array, what: str) -> list[Array]:
    """The channels of an image: as many as its last axis has, if that is known; three,
    if it is not; and the image itself, if it has none.

    Raises BoundsError for another number of them.
    """
    names = image._whole.names
    if "c" not in names and (len(names) != 3 or None not in names):
        return [image]
    count = const_int(image._whole.shape[channel_axis(image, what)])
    if count == 0:
        return [image]
    return split(image, 3 if count is None else count, what)


def at_once(arrays: Sequence[Array], name: str) -> list[Array]:
    """Arrays of one shape as a stage that has all their values: they are computed
    together, as they have most of what is computed in common."""
    if len(arrays) == 1:
        return list(arrays)
    whole = arrays[0]._whole
    named = [Var(c) for c in letters(whole.names)]
    to = {p: v._node for p, v in enumerate(named)}
    f = Func(name)
    f[tuple([named[p] for p in loop_order(whole.shape)])] = Tuple(
        *[wrap(moved(a._whole.value, to)) for a in arrays]
    )
    found = read_all(f, whole.shape)
    return [
        Array._of(replace(a._whole, value=value, func=None, bordered={}))
        for a, value in zip(arrays, found, strict=True)
    ]


__all__ = ["at_once", "channel_axis", "colours", "joined", "split"]
