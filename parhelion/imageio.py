"""Image files, by the names of Halide's Python module: planar arrays for Buffers.

A photograph on disk is interleaved, shape (H, W, C). `imread` gives it planar,
(C, H, W), which ``hl.Buffer`` makes a Buffer of extents (W, H, C); `imwrite` turns it
back. The imageio package reads and writes; it is loaded when it is first needed.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np

from parhelion import tracebacks as _tracebacks

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
#: Where imageio reads from and writes to: a path, a URL, bytes or an open file.
Place: TypeAlias = "str | os.PathLike[str] | bytes | Any"

#: The most channels that make the last axis look like channels rather than columns.
MAX_CHANNELS = 4


def _imageio() -> Any:
    try:
        import imageio.v2 as imageio
    except ImportError as error:
        from parhelion.errors import HalideError, here

        raise HalideError(
            "reading and writing image files needs the package imageio",
            at=here(),
            hint='pip install "parhelion[image]"',
        ) from error
    return imageio


def is_interleaved(im: object) -> bool:
    """Returns whether an image is of shape (H, W, C), with 1 to 4 channels side by
    side."""
    a = np.asarray(im)
    return (
        a.ndim == 3 and 1 <= a.shape[2] <= MAX_CHANNELS and a.strides[2] == a.itemsize
    )


def copy_to_interleaved(im: object) -> Array:
    """Returns a copy of an image of shape (C, H, W) with shape (H, W, C).

    Anything else is copied as it is.
    """
    a = np.asarray(im)
    if a.ndim == 3 and not is_interleaved(a):
        return np.ascontiguousarray(np.moveaxis(a, 0, 2))
    return a.copy()


def copy_to_planar(im: object) -> Array:
    """Returns a copy of an image of shape (H, W, C) with shape (C, H, W).

    Anything else is copied as it is.
    """
    a = np.asarray(im)
    if is_interleaved(a):
        return np.ascontiguousarray(np.moveaxis(a, 2, 0))
    return a.copy()


def imread(uri: Place, format: str | None = None, **options: Any) -> Array:
    """Returns the image in a file: an array of shape (H, W), or (C, H, W) with
    channels.

    Raises HalideError if the package imageio is not installed.
    """
    read = _imageio().imread(uri, format, **options)
    return copy_to_planar(np.asarray(read))


def imwrite(uri: Place, im: object, format: str | None = None, **options: Any) -> None:
    """Writes an image to a file: an array or a Buffer, (H, W), (C, H, W) or (H, W, C).

    Raises HalideError if the package imageio is not installed, and TypeMismatchError
    for a masked array, as image files have no masks.
    """
    from parhelion.errors import TypeMismatchError, here
    from parhelion.lang.arrays import UNMASKED, hides

    if hides(im):
        raise TypeMismatchError(
            "image files have no mask, and the array hides some of its elements by one",
            at=here(),
            hint=UNMASKED,
        )
    _imageio().imwrite(uri, copy_to_interleaved(im), format, **options)


_tracebacks.shorten(globals())
