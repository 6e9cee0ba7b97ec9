"""Photographs in files of all kinds: upright, in grey, in colours, or with opacity.

Pillow says what the numbers of a file mean. Values that it would narrow, those of TIFF
files with 16 bits or floats, are read by tifffile; kinds of files that Pillow does not
know are left to imageio.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from parhelion import imageio
from parhelion.cli.problem import Problem, note

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: How PNG files begin, and the kinds of them that have several channels.
_PNG = b"\x89PNG\r\n\x1a\n"
_CHANNELS = (b"\x02", b"\x04", b"\x06")

#: How TIFF files begin, those of large offsets too.
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

#: Tags of TIFF and EXIF: the bits of a value, what the values mean, how the camera was
#: held, and whether values are unsigned (1), signed or floats.
_BITS, _MEANING, _ORIENTATION, _FORMAT = 258, 262, 274, 339

#: Meanings of values: grey from white to black, from black to white, and colours.
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _COLOURS = 0, 1, 2

#: Pillow's kinds of pixels of 8 bits, each with that in which they are handed on.
_HANDED_ON = {
    **{mode: mode for mode in ("1", "L", "LA", "RGB", "RGBA")},
    **dict.fromkeys(("P", "CMYK", "YCbCr", "LAB"), "RGB"),
    **dict.fromkeys(("PA", "RGBa"), "RGBA"),
}


#: Bytes of memory that a pixel takes while an image is read, at least: as it is
#: decoded, with its planes apart, and as the pipeline takes it.
_PIXEL_BYTES = 12


def photo(path: Path) -> Array:
    """The image in a file, upright, planar: (H, W) or (C, H, W) with 2 to 4 planes. Of
    several pages or frames it is the first, which a note tells.

    Raises Problem if it is no image that can be read or one too large for the memory,
    and whatever the packages raise that read it if it is a damaged one.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise Problem(
            "reading image files needs the package pillow",
            hint='pip install "parhelion[image]"',
        ) from error
    # Pillow refuses images from 179 million pixels on, which may be attacks where files
    # come from strangers. Here the user has named the file; what bounds its size is the
    # memory.
    most = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = None
    try:
        return _photo(path)
    finally:
        Image.MAX_IMAGE_PIXELS = most


def _photo(path: Path) -> Array:
    from PIL import Image, UnidentifiedImageError

    with path.open("rb") as file:
        head = file.read(26)
    try:
        # Not by its name, as Pillow would then map some files into memory, and take
        # the rows of turned TIFFs to be as long as their columns.
        with path.open("rb") as file, Image.open(file) as image:
            _check_size(path, *image.size)
            if image.format == "TIFF":
                return _tiff(path, image)
            # What JPEG files have beside their picture are previews and maps of it.
            if image.format != "MPO":
                _tell_of_more(path, getattr(image, "n_frames", 1))
            options: dict[str, Any] = {}
            if image.mode == "CMYK":
                options["mode"] = "RGB"
            if image.getexif().get(_ORIENTATION, 1) != 1:
                options["rotate"] = True
    except UnidentifiedImageError:
        if head[:4] in _TIFF:
            return _exact(path)
        return _other(path)
    if head[:8] == _PNG and head[24:25] == b"\x10" and head[25:] in _CHANNELS:
        _tell_of_bits(path)
    return np.asarray(imageio.imread(path, **options))


def _check_size(path: Path, width: int, height: int) -> None:
    """Raises Problem for an image that the memory cannot hold."""
    most = _memory() // _PIXEL_BYTES
    if width * height > most:
        raise Problem(
            f"{path} is an image of {width} x {height} pixels, for which this computer "
            f"has not the memory: at {_PIXEL_BYTES} bytes a pixel, there is room for "
            f"{most} pixels",
            hint="cut it into parts, or make it smaller",
        )


def _memory() -> int:
    """Bytes of memory that this computer has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _tell_of_more(path: Path, pages: int) -> None:
    if pages > 1:
        note(f"{path} has {pages} pages or frames, of which the first is read")


def _tell_of_bits(path: Path) -> None:
    note(f"{path} has colours of 16 bits, of which the upper 8 are read")


def _tiff(path: Path, image: Any) -> Array:
    """The first page of a TIFF file that Pillow has opened."""
    tags = image.tag_v2
    bits, meaning = max(tags.get(_BITS, (1,))), tags.get(_MEANING)
    unsigned = set(tags.get(_FORMAT, (1,))) == {1}
    plain = meaning in (_WHITE_IS_ZERO, _BLACK_IS_ZERO, _COLOURS)
    # Of what is no plain grey or colours, Pillow alone knows the colours.
    narrow = image.mode in _HANDED_ON and unsigned and (bits <= 8 or not plain)
    # Grey of 16 bits it keeps as it is, and knows more ways to compress it.
    wide = image.mode.startswith("I;16") and unsigned and meaning == _BLACK_IS_ZERO
    if not narrow and not (wide and bits == 16):
        return _exact(path)
    _tell_of_more(path, image.n_frames)
    if narrow and bits > 8:
        _tell_of_bits(path)
    from PIL import ImageOps

    image.seek(0)
    image.load()
    upright = ImageOps.exif_transpose(image)
    if upright.mode == "LAB":
        upright = _of_lightness(upright)
    elif narrow:
        upright = upright.convert(_HANDED_ON[upright.mode])
    pixels = np.asarray(upright)
    return pixels if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0)


def _of_lightness(image: Any) -> Any:
    """Colours of an image of CIE lightness, a and b."""
    from PIL import ImageCms

    own, shown = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    return ImageCms.profileToProfile(image, own, shown, outputMode="RGB")


def _exact(path: Path) -> Array:
    """The first page of a TIFF file with all its bits."""
    try:
        import tifffile
    except ImportError as error:
        raise Problem(
            "reading TIFF files of such values needs the package tifffile",
            hint='pip install "parhelion[image]"',
        ) from error
    try:
        with tifffile.TiffFile(path) as file:
            pages = len(file.pages)
            page: Any = file.pages[0]
            _check_size(path, page.imagewidth, page.imagelength)
            pixels, axes, meaning = page.asarray(), page.axes, int(page.photometric)
            orientation = page.tags.valueof(_ORIENTATION, 1)
    except (tifffile.TiffFileError, IndexError) as error:
        raise Problem(f"{path} cannot be read as an image: {error}") from error
    if meaning not in (_WHITE_IS_ZERO, _BLACK_IS_ZERO, _COLOURS):
        raise Problem(
            f"{path}: colours of this kind of TIFF ({_named(page.photometric)}, "
            f"{pixels.dtype}) cannot be read",
            hint="convert it to grey or RGB",
        )
    if axes == "YXS":
        pixels = np.moveaxis(pixels, 2, 0)
    elif axes not in ("YX", "SYX"):
        raise Problem(f"{path}: a volume ({axes}) cannot be read as an image")
    _tell_of_more(path, pages)
    if meaning == _WHITE_IS_ZERO and pixels.dtype.kind in "bu":
        pixels = np.invert(pixels)
    return _turned(pixels, orientation)


def _named(meaning: Any) -> str:
    """What tifffile calls the meaning of values; it leaves those that it does not know
    as numbers."""
    return str(getattr(meaning, "name", meaning))


def _turned(pixels: Array, orientation: int) -> Array:
    """A planar image upright, whose rows lie as an orientation of EXIF says."""
    if orientation >= 5:
        pixels = np.swapaxes(pixels, -1, -2)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[..., ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[..., ::-1, :]
    return np.ascontiguousarray(pixels)


def _other(path: Path) -> Array:
    """The image in a file of a kind that Pillow does not know."""
    try:
        with warnings.catch_warnings():
            # Of imageio's own parts, which it tries one after the other.
            warnings.simplefilter("ignore", DeprecationWarning)
            # As bytes, since it would not close the file after each of them.
            return np.asarray(imageio.imread(path.read_bytes()))
    except (OSError, ValueError) as error:
        # imageio tells of its own parts here, not of the file.
        raise Problem(f"{path} is no image file that can be read") from error


__all__ = ["photo"]
