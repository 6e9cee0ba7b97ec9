"""Conversions of colours: grey, HSV, YCrCb, Lab, and the order of red and blue."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.filters import lab
from parhelion.filters.applied import applied
from parhelion.filters.channels import joined, split
from parhelion.filters.planes import plane_axes
from parhelion.filters.points import by_pixels
from parhelion.filters.whole_images import Image, run
from parhelion.types import Float, Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.functions import max as max_of
from parhelion.whole.functions import min as min_of
from parhelion.whole.functions import where

_BYTE, _SHORT = UInt(8), UInt(16)


def convert_color(image: Image, code: str) -> Image:
    """Returns an image with its colours written in another way.

    image: (H, W, 3), or (H, W) for "gray2bgr"; of uint8, or floats in [0, 1], and but
        for HSV and Lab uint16. An axis that is called c holds the channels wherever it
        stands. The result has the same type; (H, W) for "bgr2gray", else (H, W, 3).
    code: "bgr2rgb" or "rgb2bgr", and two of the words "gray", "hsv", "ycrcb" and "lab"
        with "bgr" or "rgb": "bgr2gray", "gray2bgr", "rgb2hsv", "hsv2rgb" and so on.
        OpenCV's names of them, such as "COLOR_BGR2GRAY", are understood, too.

    What channels mean is what it is in OpenCV. HSV: of floats the hue is an angle in
    degrees, [0, 360), saturation and value are in [0, 1]; of uint8 the hue is half the
    angle, [0, 180), and the others are in [0, 255]. Lab, of sRGB and the white D65: of
    floats L is in [0, 100] and a and b are about -127 to 127; of uint8 L is scaled to
    [0, 255], and 128 is added to a and b. YCrCb: 0.5 is added to Cr and Cb, or half the
    range of integers.

    OpenCV calls it ``cv2.cvtColor``. Raises TypeMismatchError for what is no image,
    another code and types that the code does not have, and BoundsError for another
    number of channels.

    Formula: of grey and YCrCb, ITU-R BT.601; of HSV, A. R. Smith, Color gamut transform
    pairs, 1978; of Lab, CIE 15, and IEC 61966-2-1 for sRGB.

    >>> image = np.array([[[255, 0, 0], [0, 0, 255], [40, 40, 40]]], np.uint8)
    >>> hl.filters.convert_color(image, "bgr2gray").tolist()
    [[29, 76, 40]]
    >>> hl.filters.convert_color(image, "rgb2hsv")[0].tolist()
    [[0, 255, 255], [120, 255, 255], [0, 0, 40]]
    """
    # Loops over the other axes of more are left to the search.
    schedule = by_pixels if getattr(image, "ndim", 0) in (2, 3) else None
    found: Image = run(_convert_color, image, _word(code), schedule=schedule)
    return found


def _word(code: object) -> str:
    word = code.lower().removeprefix("color_") if isinstance(code, str) else ""
    word = word.replace("grey", "gray").removesuffix("_full")
    if word not in _CODES or str(code).lower().endswith("_full"):
        raise TypeMismatchError(
            f"there is no conversion {code!r:.60}", at=here(), legal=sorted(_CODES)
        )
    return word


@dataclass(frozen=True, slots=True)
class _Code:
    """A conversion. make: the channels of the result, from those of the image, which
    are in the order red, green, blue where they are these. takes, gives: how many.
    blue: whether blue comes first in the image, or the result. shorts: whether it has a
    meaning for uint16."""

    make: Callable[[list[Array], Type], list[Array]]
    takes: int = 3
    gives: int = 3
    blue: tuple[bool, bool] = (False, False)
    shorts: bool = False


def _convert_color(image: Array, code: str) -> Array:
    one, own = _CODES[code], image.type
    what = f"the conversion {code!r}"
    plane_axes(image, what)
    if not (own.is_float() or own is _BYTE or (own is _SHORT and one.shorts)):
        raise TypeMismatchError(
            f"{what} takes an image of uint8{', uint16' if one.shorts else ''} or"
            f" floats, not of {own}",
            at=here(),
            hint="(image / 65535).astype('float32') makes one of uint16",
        )
    if one.takes == 1 and image.ndim != 2:
        raise TypeMismatchError(
            f"{what} takes an image of one channel, (H, W), not an array of"
            f" {image.ndim} axes",
            at=here(),
        )
    parts = [image] if one.takes == 1 else split(image, one.takes, what)
    made = one.make(parts[::-1] if one.blue[0] else parts, own)
    if one.gives == 1:
        return made[0]
    if one.blue[1]:
        made = made[::-1]
    return joined(made, image if one.takes > 1 else None, what)


def _wide(own: Type) -> str:
    """The type that colours are computed in."""
    return "float64" if own is Float(64) else "float32"


def _shifted(value: Array, bits: int) -> Array:
    """A number with so many bits behind the point, rounded."""
    return (value + (1 << (bits - 1))) >> bits


def _limited(value: Array, own: Type) -> Array:
    return value.clip(0, int(own.highest())).astype(own)


def _same(parts: list[Array], _: Type) -> list[Array]:
    return parts


def _grey(parts: list[Array], own: Type) -> list[Array]:
    if own.is_float():
        r, g, b = [c.astype(_wide(own)) for c in parts]
        return [(r * 0.299 + g * 0.587 + b * 0.114).astype(own)]
    r, g, b = [c.astype("uint32") for c in parts]
    return [_shifted(r * 9798 + g * 19235 + b * 3735, 15).astype(own)]


def _from_grey(parts: list[Array], _: Type) -> list[Array]:
    return [parts[0]] * 3


def _ycrcb(parts: list[Array], own: Type) -> list[Array]:
    if own.is_float():
        r, g, b = [c.astype(_wide(own)) for c in parts]
        y = r * 0.299 + g * 0.587 + b * 0.114
        found = [y, (r - y) * 0.713 + 0.5, (b - y) * 0.564 + 0.5]
        return [c.astype(own) for c in found]
    r, g, b = [c.astype("int32") for c in parts]
    half = (int(own.highest()) + 1 >> 1) << 14
    y = _shifted(r * 4899 + g * 9617 + b * 1868, 14)
    cr = _shifted((r - y) * 11682 + half, 14)
    cb = _shifted((b - y) * 9241 + half, 14)
    return [y.astype(own), _limited(cr, own), _limited(cb, own)]


def _from_ycrcb(parts: list[Array], own: Type) -> list[Array]:
    if own.is_float():
        y, cr, cb = [c.astype(_wide(own)) for c in parts]
        cr, cb = cr - 0.5, cb - 0.5
        g = y + cr * -0.714 + cb * -0.344
        return [c.astype(own) for c in (y + cr * 1.403, g, y + cb * 1.773)]
    half = int(own.highest()) + 1 >> 1
    y, cr, cb = [c.astype("int32") for c in parts]
    cr, cb = cr - half, cb - half
    r = y + _shifted(cr * 22987, 14)
    g = y + _shifted(cb * -5636 + cr * -11698, 14)
    b = y + _shifted(cb * 29049, 14)
    return [_limited(c, own) for c in (r, g, b)]


def _hsv(parts: list[Array], own: Type) -> list[Array]:
    if own.is_float():
        r, g, b = [c.astype(_wide(own)) for c in parts]
        v = max_of(max_of(r, g), b)
        span = v - min_of(min_of(r, g), b)
        tiny = float(np.finfo(v.dtype).eps)
        turn = 60 / (span + tiny)
        h = where(
            v == r,
            (g - b) * turn,
            where(v == g, (b - r) * turn + 120, (r - g) * turn + 240),
        )
        s = span / (abs(v) + tiny)
        return [c.astype(own) for c in (where(h < 0, h + 360, h), s, v)]
    v = max_of(max_of(parts[0], parts[1]), parts[2])
    low = min_of(min_of(parts[0], parts[1]), parts[2])
    r, g, b = [c.astype("int32") for c in parts]
    span = (v - low).astype("int32")
    s = _shifted(span * _parts_of(255 << 12, v), 12)
    h = where(
        v == parts[0],
        g - b,
        where(v == parts[1], b - r + span * 2, r - g + span * 4),
    )
    h = _shifted(h * _parts_of((180 << 12) // 6, v - low), 12)
    return [c.astype(own) for c in (where(h < 0, h + 180, h), s, v)]


def _parts_of(whole: int, n: Array) -> Array:
    """A number divided by a byte and rounded, as int32; of 0 any."""
    least = max_of(n, n.dtype.type(1)).astype("float32")
    return (np.float32(whole) / least).round().astype("int32")


def _from_hsv(parts: list[Array], own: Type) -> list[Array]:
    h, s, v = [c.astype(_wide(own)) for c in parts]
    most = 1 if own.is_float() else 255
    h = h * (6 / 360 if own.is_float() else 6 / 180)
    if most > 1:
        s, v = s * (1 / most), v * (1 / most)
    sector = applied("floor", h)
    f = h - sector
    sector = sector - applied("floor", sector * (1 / 6)) * 6
    p, q, t = v * (1 - s), v * (1 - s * f), v * (1 - s * (1 - f))
    r = _by_sector(sector, [v, q, p, p, t, v])
    g = _by_sector(sector, [t, v, v, q, p, p])
    b = _by_sector(sector, [p, p, t, v, v, q])
    if own.is_float():
        return [c.astype(own) for c in (r, g, b)]
    return [(c * most).round().clip(0, most).astype(own) for c in (r, g, b)]


def _by_sector(sector: Array, values: list[Array]) -> Array:
    found = values[5]
    for k in reversed(range(5)):
        found = where(sector == k, values[k], found)
    return found


def _lab(parts: list[Array], own: Type) -> list[Array]:
    if own.is_float():
        found = lab.of_floats([c.astype(_wide(own)) for c in parts])
        return [c.astype(own) for c in found]
    return [c.astype(own) for c in lab.of_bytes(parts)]


def _from_lab(parts: list[Array], own: Type) -> list[Array]:
    if own.is_float():
        found = lab.to_floats([c.astype(_wide(own)) for c in parts])
        return [c.astype(own) for c in found]
    return [c.astype(own) for c in lab.to_bytes(parts)]


def _both(word: str, there: _Code, back: _Code) -> dict[str, _Code]:
    """The conversions from and to both orders of colours."""
    found = {}
    for name, blue in (("rgb", False), ("bgr", True)):
        found[f"{name}2{word}"] = _Code(
            there.make, 3, there.gives, (blue, False), there.shorts
        )
        found[f"{word}2{name}"] = _Code(
            back.make, back.takes, 3, (False, blue), back.shorts
        )
    return found


_CODES = {
    "bgr2rgb": _Code(_same, blue=(False, True), shorts=True),
    "rgb2bgr": _Code(_same, blue=(False, True), shorts=True),
    **_both(
        "gray",
        _Code(_grey, gives=1, shorts=True),
        _Code(_from_grey, takes=1, shorts=True),
    ),
    **_both("ycrcb", _Code(_ycrcb, shorts=True), _Code(_from_ycrcb, shorts=True)),
    **_both("hsv", _Code(_hsv), _Code(_from_hsv)),
    **_both("lab", _Code(_lab), _Code(_from_lab)),
}

__all__ = ["convert_color"]
