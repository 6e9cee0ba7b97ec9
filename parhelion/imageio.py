"""Image files, by the names of Halide's Python module: planar arrays for Buffers.

A photograph on disk is interleaved, shape (H, W, C). `imread` gives it planar,
(C, H, W), which ``hl.Buffer`` makes a Buffer of extents (W, H, C); `imwrite` turns it
back. The imageio package reads and writes; it is loaded when it is first needed.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np

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
    """Whether an image has three dimensions, at most four channels, and these side by
    side in memory: (H, W, C)."""
    a = np.asarray(im)
    return (
        a.ndim == 3 and 1 <= a.shape[2] <= MAX_CHANNELS and a.strides[2] == a.itemsize
    )


def copy_to_interleaved(im: object) -> Array:
    """A planar image of three dimensions, (C, H, W), copied to (H, W, C); a copy of
    anything else as it is."""
    a = np.asarray(im)
    if a.ndim == 3 and not is_interleaved(a):
        return np.ascontiguousarray(np.moveaxis(a, 0, 2))
    return a.copy()


def copy_to_planar(im: object) -> Array:
    """An interleaved image, (H, W, C), copied to (C, H, W); a copy of anything else as
    it is."""
    a = np.asarray(im)
    if is_interleaved(a):
        return np.ascontiguousarray(np.moveaxis(a, 2, 0))
    return a.copy()


def imread(uri: Place, format: str | None = None, **options: Any) -> Array:
    """The image in a file; planar, (C, H, W), if it has channels."""
    read = _imageio().imread(uri, format, **options)
    return copy_to_planar(np.asarray(read))


def imwrite(uri: Place, im: object, format: str | None = None, **options: Any) -> None:
    """Writes an image, planar or interleaved: an array or a Buffer."""
    _imageio().imwrite(uri, copy_to_interleaved(im), format, **options)
