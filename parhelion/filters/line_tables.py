"""Where the points of a line lie in another one, and with what weights: tables for
images of pixels that get another size, kept for the next image of that size."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.filters.sampling import TAPS, between, first, shares, table
from parhelion.whole.array import Array
from parhelion.whole.jit import jit
from parhelion.whole.schedules import compute_all

Table = np.ndarray[Any, np.dtype[Any]]
#: For how many lines tables are kept: those of one of 4,000 colours may take 400 KB.
_MOST_KEPT = 32


@dataclass(frozen=True, slots=True)
class Line:
    """An axis of an image, and how many points the result has along it.

    pixels: of the image. points: of the result. step: from one of these to the next, in
    pixels of the image.
    """

    pixels: int
    points: int
    step: float

    @property
    def is_halved(self) -> bool:
        """Whether each point is made of two pixels, and each pixel part of one."""
        return self.step == 2 and self.pixels == 2 * self.points


@dataclass(frozen=True, slots=True)
class Tables:
    """What is read for each point of a line.

    places: the pixel before a point, or the first one that it is made of, as int32.
    weights: of that pixel and those behind it, (pixels, points); None for the nearest.
    """

    places: Table
    weights: Table | None


@lru_cache(_MOST_KEPT)
def tables(line: Line, kind: str, to: str) -> Tables:
    """The tables of a line. kind: as of `resize`. to: the type of weights."""
    points = np.arange(line.points, dtype=np.int32)
    if kind == "nearest":
        places: Table = _nearest(points, line.step)
        return Tables(places.clip(0, line.pixels - 1), None)
    if kind == "area":
        # A point covers as many whole pixels as its length has, and parts of two.
        pixels = np.arange(int(line.step) + 2, dtype=np.int32)
        return Tables(*_covered(points, pixels, line.step, to))
    places, weights = _around(points, line.step, kind, to)
    # Beyond the last pixel by all that are read, there are no others than that one.
    return Tables(places.clip(-1, line.pixels - 1 - first(kind)), weights)


@lru_cache(_MOST_KEPT)
def element_tables(line: Line, kind: str, to: str, apart: int) -> Tables:
    """The tables of a line whose pixels have so many elements side by side: those of
    each element of the result, places being counted in elements, and those of several
    pixels from the one before the first."""
    made = tables(line, kind, to)
    if made.weights is not None:
        # Counted from the pixel before the first one: none of them is below 0.
        made = Tables(made.places + np.int32(1), made.weights)
    return made if apart == 1 else _of_elements(made, apart)


@lru_cache(_MOST_KEPT)
def all_places(line: Line, kind: str, to: str, apart: int) -> Tables:
    """As `element_tables`, but with the places of all pixels that a point is made of,
    (pixels, points): beyond the last pixel of the line is that one."""
    made = tables(line, kind, to)
    assert made.weights is not None
    pixels = np.arange(len(made.weights), dtype=np.int32)
    places = np.add.outer(pixels, made.places).clip(0, line.pixels - 1)
    return _of_elements(Tables(places, made.weights), apart)


def _of_elements(made: Tables, apart: int) -> Tables:
    starts = made.places * np.int32(apart)
    each = starts[..., None] + np.arange(apart, dtype=np.int32)
    places = each.reshape(*made.places.shape[:-1], -1)
    if made.weights is None:
        return Tables(places, None)
    return Tables(places, np.repeat(made.weights, apart, axis=-1))


# They are compiled, so that they have the bits of those in programs of others.
@jit(schedule=compute_all)
def _nearest(points: Array, step: Array) -> Any:
    return (points.astype("float64") * step).astype("int32")


@jit(static=["kind", "to"], schedule=compute_all)
def _around(points: Array, step: Array, kind: str, to: str) -> Any:
    before, t = between(points.astype("float64"), step)
    return before, table(kind, t.astype(to))


@jit(static=["to"], schedule=compute_all)
def _covered(points: Array, pixels: Array, step: Array, to: str) -> Any:
    most = pixels._whole.extent(0)
    return shares(points.astype("float64"), step, to, most)[:2]


def reach(kind: str) -> tuple[int, int]:
    """The first pixel that is read, counted from a point's place, and how many are. By
    "area", points that are shorter than pixels are made of two at most."""
    return (0, 2) if kind == "area" else (first(kind), TAPS[kind])


__all__ = ["Line", "Tables", "all_places", "element_tables", "reach", "tables"]
