"""What notebooks show of Buffers and Arrays: the picture, shape, type, range and
histogram."""

from __future__ import annotations

import base64
import math
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parhelion.errors import HalideError
from parhelion.ir.deadline import time_limit
from parhelion.views.page import styled
from parhelion.views.png import Bytes, png
from parhelion.whole.jit import jit

if TYPE_CHECKING:
    from parhelion.lang.buffer import Buffer
    from parhelion.lang.imageparam import ImageParam
    from parhelion.types import Type
    from parhelion.whole.array import Array

Pixels: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: The longer side of a picture, in pixels; of larger images fewer rows and columns are
#: shown.
_SIDE = 480
#: Images smaller than this are shown larger, each pixel as a square.
_SMALL = 96
#: How many values a histogram counts; of more, some rows and columns.
_COUNTED = 1 << 20
#: Seconds that showing an Array may take: a cell must end at once.
_LIMIT = 3.0
_BINS, _WIDTH, _HEIGHT = 64, 192, 48


def buffer_html(buffer: Buffer) -> str:
    """A Buffer as a part of a notebook."""
    if not buffer.defined():
        return styled("<p>a Buffer without pixels</p>")
    name = f"<b>{escape(buffer.name())}</b> " if buffer.name() else ""
    extents = " × ".join(map(str, buffer.shape)) or "one value"
    mins = [buffer.dim(d).min() for d in range(buffer.dimensions())]
    start = f", from ({', '.join(map(str, mins))})" if any(mins) else ""
    head = f"{name}{extents} <span class='ph-dim'>{buffer.type()}{start}</span>"
    return styled(f"<p>{head}</p>\n{_seen(np.asarray(buffer), buffer.type())}")


def image_html(image: ImageParam) -> str:
    """An ImageParam: what it is set to, if that is known."""
    given = image.get()
    name = f"<b>{escape(image.name())}</b>"
    if not given.defined():
        dims = image.dimensions()
        told = f"{image.type()}, {dims} dimension{'s' * (dims != 1)}, not set"
        return styled(f"<p>{name} <span class='ph-dim'>{told}</span></p>")
    return buffer_html(given)


def array_html(array: Array) -> str:
    """A whole array: its picture if its pixels are known, and else what it is."""
    text = f"<p>{escape(repr(array)[1:-1])}</p>"
    if array._whole.trace is not None:
        known = "its elements are known when the function runs"
        return styled(f"{text}\n<p class='ph-dim'>{known}</p>")
    try:
        with time_limit(_LIMIT):
            found = np.asarray(jit(lambda: array)())
    except HalideError as error:
        return styled(f"{text}\n<p class='ph-error'>{escape(str(error))}</p>")
    return styled(f"{text}\n{_seen(found, array.type)}")


def _seen(array: Pixels, type: Type) -> str:
    """The picture of pixels, and their numbers."""
    if type.is_bfloat():  # NumPy has none: these are the upper halves of floats
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if not array.size:
        return "<p class='ph-dim'>no pixels</p>"
    if array.dtype.kind not in "biuf":
        return f"<p class='ph-dim'>{array.size} values that are no numbers</p>"
    if not array.ndim:
        return f"<p><b>{array.item()!r}</b></p>"
    parts = []
    image, which = as_image(array)
    if image is not None:
        parts.append(picture(image, which))
    parts.append(_statistics(array))
    parts.append(_histogram(array if image is None else image))
    return "\n".join(parts)


def as_image(array: Pixels) -> tuple[Pixels | None, str]:
    """What is shown of an array as a picture, (H, W), (H, W, 3) or (H, W, 4), and which
    part of it that is, in words; None for what is no image.

    Three or four channels stand on the last axis or on the first.
    """
    which = ""
    if array.ndim > 3:
        which = f"the first of {math.prod(array.shape[:-3])} images"
        array = array.reshape(-1, *array.shape[-3:])[0]
    if array.ndim == 3 and array.shape[-1] not in (3, 4):
        if array.shape[0] in (3, 4):
            array = np.moveaxis(array, 0, -1)
        elif array.shape[-1] <= 2:
            which = "the first of 2 channels" if array.shape[-1] == 2 else which
            array = array[..., 0]
        else:
            which = f"the first of {len(array)} planes" if len(array) > 1 else which
            array = array[0]
    return (array, which) if array.ndim >= 2 else (None, "")


def picture(image: Pixels, which: str = "") -> str:
    """An image element of pixels, and below it a line on how they are shown."""
    step = max(1, -(-max(image.shape[:2]) // _SIDE))
    pixels, how = as_bytes(image[::step, ::step], image)
    height, width = pixels.shape[:2]
    scale = max(1, 2 * _SMALL // max(height, width))
    scale = scale if max(height, width) < _SMALL else 1
    data = base64.b64encode(png(pixels)).decode()
    notes = [which, how, f"every {_ordinal(step)} row and column" if step > 1 else ""]
    told = "; ".join([note for note in notes if note])
    caption = f"\n<p class='ph-dim'>{told}</p>" if told else ""
    return (
        f'<img alt="the picture" width="{width * scale}" height="{height * scale}"'
        f' src="data:image/png;base64,{data}">{caption}'
    )


def _ordinal(n: int) -> str:
    last = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return "second" if n == 2 else f"{n}{'th' if n in (11, 12, 13) else last}"


def as_bytes(shown: Pixels, whole: Pixels) -> tuple[Bytes, str]:
    """Pixels as bytes, and in words what is black and what is white.

    Bytes are shown as they are, and floats from 0 to 1 where all fit; everything else
    from the least to the largest of all values, `whole`.
    """
    if shown.dtype == np.uint8:
        return shown, ""
    if shown.dtype == np.bool_:
        return shown.astype(np.uint8) * np.uint8(255), ""
    low, high = _ends(whole)
    if whole.dtype.kind == "f" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = shown.astype(np.float64) / 2 - low / 2
        scaled /= (high / 2 - low / 2) or 1.0
    scaled = np.nan_to_num(scaled, nan=0.0, posinf=1.0, neginf=0.0)
    made = np.rint(np.clip(scaled, 0, 1) * 255).astype(np.uint8)
    return made, f"black is {low:.6g}, white {high:.6g}"


def _ends(array: Pixels) -> tuple[float, float]:
    """The least and the largest value that is a number; 0 and 1 if there is none."""
    low, high = float(array.min()), float(array.max())
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    finite = array[np.isfinite(array)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _statistics(array: Pixels) -> str:
    """The range and the mean, and how many values are no numbers."""
    bad = 0
    if array.dtype.kind == "f":
        finite = np.isfinite(array)
        bad = array.size - int(np.count_nonzero(finite))
        array = array[finite] if bad else array
    told = []
    if array.size:
        mean = float(np.mean(array, dtype=np.float64))
        low, high = array.min().item(), array.max().item()
        told.append(f"{_number(low)} … {_number(high)}, mean {mean:.6g}")
    if bad:
        told.append(
            f"<span class='ph-warn'>{bad:,} of {array.size + bad:,} values are infinite"
            " or no numbers</span>"
        )
    return f"<p>{'; '.join(told)}</p>"


def _number(value: int | float | bool) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(int(value))


def _histogram(image: Pixels) -> str:
    """How often each value is there, as a line for each channel; of an image that is
    all the same, nothing."""
    channels = list(np.moveaxis(image, -1, 0)) if image.ndim == 3 else [image]
    step = math.ceil(math.sqrt(max(1.0, channels[0].size / _COUNTED)))
    picked = [np.asarray(c[(slice(None, None, step),) * c.ndim]) for c in channels]
    exact = [c.astype(np.float64).ravel() for c in picked]
    exact = [c[np.isfinite(c)] for c in exact]
    joined = np.concatenate(exact)
    if not joined.size or joined.min() == joined.max():
        return ""
    low, high = float(joined.min()), float(joined.max())
    # Halves, since the largest floats are apart by more than a float can hold.
    counts = [np.histogram(c / 2, _BINS, (low / 2, high / 2))[0] for c in exact]
    most = max([int(c.max()) for c in counts])
    lines = [
        f"<polyline class='ph-c{k if len(counts) > 1 else 3}' points='{points}'/>"
        for k, points in enumerate([_points(c, most) for c in counts])
    ]
    return (
        f"<svg class='ph-histogram' width='{_WIDTH}' height='{_HEIGHT}' role='img'"
        f" viewBox='0 0 {_WIDTH} {_HEIGHT}'><title>how often each value is there, from"
        f" {low:.6g} to {high:.6g}</title>{''.join(lines)}</svg>"
    )


def _points(counts: Pixels, most: int) -> str:
    """A line of counts, from left to right."""
    wide, tall = _WIDTH / _BINS, _HEIGHT - 2
    return " ".join(
        [
            f"{(k + 0.5) * wide:.1f},{_HEIGHT - 1 - c * tall / most:.1f}"
            for k, c in enumerate(counts.tolist())
        ]
    )


__all__ = ["array_html", "as_bytes", "as_image", "buffer_html", "image_html", "picture"]
