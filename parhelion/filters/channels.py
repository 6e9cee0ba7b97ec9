"""The channels of an image: taken apart, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.planes import plane_axes
from parhelion.ir.build import const_int, int32
from parhelion.whole import assembling, indexing
from parhelion.whole.array import Array
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


__all__ = ["channel_axis", "joined", "split"]
