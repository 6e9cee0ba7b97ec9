"""Image files for pipelines: read as their inputs want them, written as they come.

Files have levels of 8 or 16 bits or floats; an input of another type gets the same
levels in its own range (floats are from 0 to 1). ``.npy`` files keep planes and values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import parhelion as hl
from parhelion import imageio
from parhelion.cli.photos import photo
from parhelion.cli.problem import Problem, note
from parhelion.ir.build import const_int

#: Files that are written, by the ends of their names.
WRITTEN = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy")

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: What part of an image is "nearly all of it".
_NEARLY_ALL = 0.9

#: Weights of red, green and blue in a grey level (ITU-R BT.601).
_GREY = (0.299, 0.587, 0.114)


def read(path: Path) -> Array:
    """A file's pixels, planar: (H, W) or (C, H, W); an array of any shape from .npy."""
    if path.is_dir():
        raise Problem(f"{str(path)!r} is a folder; an image file is wanted")
    if not path.is_file():
        raise Problem(f"there is no file {str(path)!r}")
    try:
        if is_array(path):
            return np.asarray(np.load(path, allow_pickle=False))
        return photo(path)
    except Problem:
        raise
    except Exception as error:
        # What a damaged file makes of the packages that read it is anything: of 12,500
        # files that were changed at random 850 raised one of SyntaxError, struct.error,
        # TypeError, tokenize.TokenError, MemoryError and NotImplementedError.
        what = str(error).strip() or type(error).__name__
        raise Problem(
            f"{path} cannot be read as an image: {what.splitlines()[0]}"
        ) from error


def is_array(path: Path) -> bool:
    """Whether a file holds an array, whose planes have no meaning of their own."""
    return path.suffix.lower() == ".npy"


def _is_tiff(path: Path) -> bool:
    return path.suffix.lower() in (".tif", ".tiff")


def check_written(path: Path) -> None:
    """Raises Problem if the name says no kind of file that images are written to."""
    if path.suffix.lower() not in WRITTEN:
        raise Problem(
            f"{path}: the name of an image file says what kind it is",
            legal=list(WRITTEN),
        )


def check_held(path: Path, name: str, pixels: Array) -> None:
    """Raises Problem if a kind of file cannot hold an output of that name."""
    if is_array(path):
        return
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and len(pixels) > 4):
        raise Problem(
            f"an image file cannot hold the output {name!r}: it is {size_of(pixels)}",
            hint="write it to a .npy file",
        )


def size_of(pixels: Array) -> str:
    """The extents of an output, as a message shows them."""
    return " x ".join(map(str, pixels.shape[::-1])) or "a number"


def write(path: Path, pixels: Array) -> None:
    """Writes a planar image that the file can hold (`check_held`), in levels of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_array(path):
            with path.open("wb") as file:
                np.save(file, pixels)
            return
        if pixels.ndim == 3 and len(pixels) == 1:
            pixels = pixels[0]
        options: dict[str, Any] = {}
        if not _is_tiff(path):
            pixels = _storable(pixels, path)
        elif pixels.ndim == 3:
            # Two planes, and planes of other types, would else be written as pages.
            options["photometric"] = "rgb" if len(pixels) > 2 else "minisblack"
            options["planarconfig"] = "contig"
            if len(pixels) in (2, 4):
                options["extrasamples"] = ["unassalpha"]
        if pixels.ndim == 3:
            # Where there are few columns, imageio could not tell planes from them.
            pixels = np.array(np.moveaxis(pixels, 0, 2), order="C")
        imageio.imwrite(path, pixels, **options)
    except (OSError, ValueError) as error:
        raise Problem(f"{path} cannot be written: {error}") from error


def _storable(pixels: Array, path: Path) -> Array:
    """Levels of 8 bits, or of 16 for grey PNGs: Pillow writes no other wide ones."""
    wide = path.suffix.lower() == ".png" and pixels.ndim == 2
    if pixels.dtype == np.uint8 or (wide and pixels.dtype == np.uint16):
        return pixels
    stored = levels(pixels, hl.UInt(8))
    _tell_of_loss(pixels, stored, path)
    return stored


def _tell_of_loss(pixels: Array, stored: Array, path: Path) -> None:
    """A note if a picture is likely not what its maker meant."""
    t, hint = pixels.dtype, "write it to a .npy file, which keeps all values"
    if pixels.size == 0:
        return
    if t.kind in "iu" and t.itemsize > 2:
        note(
            f"{path}: the output is of type {t}, so that 0 to {np.iinfo(t).max} became "
            f"the levels 0 to 255; its largest value, {pixels.max()}, is level "
            f"{stored.max()}\n  hint: make it uint8 or uint16, or {hint}"
        )
    elif t.kind in "if":
        most = 1.001 if t.kind == "f" else np.inf
        outside = float(np.mean((pixels < 0) | (pixels > most)))
        if outside >= _NEARLY_ALL:
            legal = "0 to 1" if t.kind == "f" else f"0 to {np.iinfo(t).max}"
            note(
                f"{path}: {100 * outside:.0f} % of the output is outside {legal}, the "
                f"range of {t} in an image file, and was clipped\n  hint: scale it, "
                f"or {hint}"
            )


def fitted(
    pixels: Array, param: hl.ImageParam, name: str, opacity: bool = False
) -> Array:
    """Pixels as an input takes them: its type and dimensions.

    opacity: the last of two or four planes is opacity, which is left out unless the
    input is promised to have so many planes.
    """
    wanted = param.dimensions()
    if pixels.dtype.kind not in "biuf":
        raise Problem(
            f"the file for {name!r} has values of type {pixels.dtype}, which are no "
            "levels of an image"
        )
    promised = _planes(param)
    if opacity and pixels.ndim == 3 and len(pixels) in (2, 4):
        if len(pixels) != promised:
            pixels = pixels[:-1]
        if len(pixels) == 1:
            pixels = pixels[0]
    if pixels.ndim == 3 and wanted == 2:
        planes = levels(pixels, hl.Float(32))
        grey = planes[0]
        if len(planes) >= 3:
            grey = sum(w * p for w, p in zip(_GREY, planes[:3], strict=True))
        return levels(np.asarray(grey), param.type())
    if pixels.ndim == 2 and wanted == 3:
        pixels = np.stack([pixels] * (1 if promised == 1 else 3))
    if pixels.ndim != wanted:
        raise Problem(
            f"the input {name!r} has {wanted} dimensions; the file has {pixels.ndim}"
        )
    return levels(pixels, param.type())


def _planes(param: hl.ImageParam) -> int | None:
    """How many planes an input is promised to have."""
    if param.dimensions() != 3:
        return None
    extent = param._sym.dims[2].fixed_extent
    return None if extent is None else const_int(extent)


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


__all__ = [
    "WRITTEN",
    "check_held",
    "check_written",
    "fitted",
    "is_array",
    "levels",
    "read",
    "size_of",
    "write",
]
