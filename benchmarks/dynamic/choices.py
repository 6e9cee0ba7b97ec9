"""What the default scheduler makes of `set_coverage`, beside the schedules by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.lazy.denoise import denoised_of, padded
from apps.lazy.dewarp import fisheye_view
from benchmarks.dynamic.contenders import (
    INLINE,
    ROOT,
    SHARPEN,
    TILES,
    TONAL,
    VALUES,
    Consumer,
    Contender,
    agree,
    contender,
    corners_of,
    masked,
    patches,
    remapped,
    windows,
)
from benchmarks.runtime import measure

BY_HAND = (ROOT, INLINE, VALUES, TILES)
CHOSEN = "chosen"
#: Parts that are read, of windows and of masks; of a fisheye's image, by the angle that
#: a view of it spans.
PARTS = (0.02, 0.1, 0.3, 0.5, 0.8)
VIEWS = {65: 0.1, 120: 0.3, 140: 0.4}


def chosen(
    image: Array,
    consumer: Consumer,
    shape: tuple[int, ...],
    part: float,
    patch: tuple[int, int] | None,
) -> tuple[Contender, str]:
    """The consumer as the scheduler makes it, and what it has decided. part, patch: of
    the denoised image, as `set_coverage` takes them."""
    f = denoised_of(padded(image), TONAL, SHARPEN)
    f.set_coverage(part, patch)
    out = consumer(f)
    result = hl.autoschedule(out, list(shape[::-1]))
    (decision,) = [d for d in result.explain() if d.kind == "demand"]
    made = Contender(out.compile_to_callable([]), np.zeros(shape, np.float32))
    return made, decision.chosen.label


def choices(
    image: Array, seconds: float, patch: tuple[int, int]
) -> list[dict[str, Any]]:
    """By case and part: times by hand, of what is chosen, and what that is."""
    height, width = image.shape
    shape = height - 2, width - 2
    corners = corners_of(shape, patch)
    cases: list[Any] = []
    for part in PARTS:
        first = corners[: max(round(part * len(corners)), 1)]
        size = len(first), patch[1], patch[0]
        cases.append(("windows", part, windows(first, shape, patch), size, patch))
    for part in PARTS:
        mask = patches(shape, part, patch)
        cases.append(("a mask of patches", part, masked(mask), shape, patch))
    for pixels in (0.02, 0.3):
        # Each pixel of the mask reads nine values.
        mask, part = patches(shape, pixels, (1, 1)), 1 - (1 - pixels) ** 9
        cases.append(("a mask of pixels", part, masked(mask), shape, (3, 3)))
    view = height * 9 // 20, width * 4 // 5
    for zoom, part in VIEWS.items():
        maps = fisheye_view(image.shape, view, zoom=zoom)
        cases.append(("dewarp", part, remapped(*maps, image.shape), view, None))
    found = []
    for name, part, consumer, size, piece in cases:
        made = {s: contender(image, consumer, s, size) for s in BY_HAND}
        made[CHOSEN], label = chosen(image, consumer, size, part, piece)
        agree(made, f"{name}, {part}")
        times = measure({n: c.run for n, c in made.items()}, seconds)
        least = {n: times[n]["min"] for n in times}
        found.append({"case": name, "part": part, "label": label, "times": least})
    return found


def lines_of(found: list[dict[str, Any]]) -> list[list[str]]:
    """A row of the page's table for each."""
    made = []
    for one in found:
        times = one["times"]
        best = min([times[n] for n in BY_HAND])
        cells = [f"{times[n] * 1e3:.2f}" for n in (*BY_HAND, CHOSEN)]
        ratio = f"{times[CHOSEN] / best:.2f}"
        made.append(
            [one["case"], f"{100 * one['part']:.0f}%", *cells, one["label"], ratio]
        )
    return made


__all__ = ["BY_HAND", "CHOSEN", "choices", "lines_of"]
