"""Image files for pipelines: read as their inputs want them, written as they come.

Files have levels of 8 or 16 bits or floats; an input of another type gets the same
levels in its own range (floats are from 0 to 1). ``.npy`` files go as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import parhelion as hl
from parhelion import imageio
from parhelion.cli.problem import Problem

#: Files that are written, by the ends of their names.
_WRITTEN = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy")

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: Weights of red, green and blue in a grey level (ITU-R BT.601).
_GREY = (0.299, 0.587, 0.114)


def read(path: Path) -> Array:
    """A file's pixels, planar: (H, W) or (C, H, W); an array of any shape from .npy."""
    if not path.is_file():
        raise Problem(f"there is no file {str(path)!r}")
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        return np.asarray(imageio.imread(path))
    except (OSError, ValueError) as error:
        raise Problem(f"{path} cannot be read as an image: {error}") from error


def check_written(path: Path) -> None:
    """Raises Problem if the name says no kind of file that images are written to."""
    if path.suffix.lower() not in _WRITTEN:
        raise Problem(
            f"{path}: the name of an image file says what kind it is",
            legal=list(_WRITTEN),
        )


def write(path: Path, pixels: Array) -> None:
    """Writes a planar image, in levels that the file can hold."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".npy":
            np.save(path, pixels)
            return
        if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and len(pixels) > 4):
            shape = " x ".join(map(str, pixels.shape[::-1]))
            raise Problem(
                f"an image file cannot hold an output of {shape}",
                hint="write it to a .npy file",
            )
        if pixels.ndim == 3 and len(pixels) == 1:
            pixels = pixels[0]
        tiff = path.suffix.lower() in (".tif", ".tiff")
        imageio.imwrite(path, pixels if tiff else _storable(pixels, path))
    except (OSError, ValueError) as error:
        raise Problem(f"{path} cannot be written: {error}") from error


def _storable(pixels: Array, path: Path) -> Array:
    """Levels of 8 bits, or of 16 for grey PNGs: Pillow writes no other wide ones."""
    wide = path.suffix.lower() == ".png" and pixels.ndim == 2
    if pixels.dtype == np.uint8 or (wide and pixels.dtype == np.uint16):
        return pixels
    return levels(pixels, hl.UInt(8))


def fitted(pixels: Array, param: hl.ImageParam, name: str) -> Array:
    """Pixels as an input takes them: its type and dimensions."""
    wanted = param.dimensions()
    if pixels.ndim == 3 and wanted == 2:
        planes = levels(pixels, hl.Float(32))
        grey = planes[0]
        if len(planes) >= 3:
            grey = sum(w * p for w, p in zip(_GREY, planes[:3], strict=True))
        return levels(np.asarray(grey), param.type())
    if pixels.ndim == 2 and wanted == 3:
        pixels = np.stack([pixels] * 3)
    if pixels.ndim != wanted:
        raise Problem(
            f"the input {name!r} has {wanted} dimensions; the file has {pixels.ndim}"
        )
    if wanted == 3 and len(pixels) == 4:
        # Transparency is no colour.
        pixels = pixels[:3]
    return levels(pixels, param.type())


def levels(pixels: Array, t: hl.Type) -> Array:
    """The same levels in another type's range: 0 to its largest number, or 0 to 1 for
    floats; clipped, and rounded to the nearest."""
    to = np.dtype(t.to_numpy())
    if pixels.dtype == to:
        return pixels
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    exact = pixels.astype(np.float64)
    if pixels.dtype.kind in "iu":
        exact = exact / np.iinfo(pixels.dtype).max
    if to.kind == "f":
        return exact.astype(to)
    if to.kind == "b":
        return np.asarray(exact >= 0.5)
    most = np.iinfo(to).max
    # What is no number (0 / 0) is dark.
    return np.rint(np.clip(np.nan_to_num(exact), 0, 1) * most).astype(to)


__all__ = ["fitted", "levels", "read", "write"]
