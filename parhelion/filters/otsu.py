"""Otsu's threshold: the level that parts the pixels of an image best."""

from __future__ import annotations

from typing import Any

import numpy as np

from parhelion.filters.running import Image
from parhelion.filters.tabled import as_table, by_tables, check_bytes, counts, spread
from parhelion.filters.whole_images import run
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import select
from parhelion.lang.rdom import RDom
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var
from parhelion.types import Float
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, coordinate, letters, moved
from parhelion.whole.functions import where

_WIDE = Float(64)
#: A class of fewer pixels than this share does not count: the least float32.
_LEAST = float(np.finfo(np.float32).eps)


def threshold_otsu(image: Image) -> Image:
    """Returns the level that parts the pixels of an image into two classes whose means
    are far apart, and whose levels are close together.

    image: (H, W) or (H, W, C) of uint8. The result is one level of uint8, or (C,) of
    them, the greatest of the lower class: ``image > level`` is the upper one. If all
    pixels have one level, it is 0.

    ``threshold(image, "otsu")`` applies it. OpenCV calls it ``cv2.threshold`` with
    THRESH_OTSU, scikit-image ``threshold_otsu``. Raises TypeMismatchError for what is
    no image of uint8.

    Formula: the greatest variance between the classes, q1 * q2 * (m1 - m2)**2, of their
    shares and means; N. Otsu, A threshold selection method from gray-level histograms,
    1979.

    >>> image = np.array([[10, 12, 11, 200, 220]], np.uint8)
    >>> int(hl.filters.threshold_otsu(image))
    12
    """
    found: Image = run(_level, image, schedule=by_tables)
    return found


def otsu_threshold(image: Any, most: float, kind: str) -> Any:
    """`threshold` at Otsu's level, of pixels or an Array. most, kind: as there."""
    return run(_threshold_otsu, image, most, kind, schedule=by_tables)


def _threshold_otsu(image: Array, most: float, kind: str) -> Array:
    level = spread(as_table(_level(image)), image, "threshold")
    above = image > level
    zero: np.generic = np.uint8(0)
    if kind == "trunc":
        return where(above, level, image)
    if kind == "tozero":
        return where(above, image, zero)
    if kind == "tozero_inv":
        return where(above, zero, image)
    top: np.generic = np.uint8(min(max(round(most), 0), 255))
    one, other = (top, zero) if kind == "binary" else (zero, top)
    return where(above, one, other)


def _level(image: Array) -> Array:
    y, x = check_bytes(image, "threshold_otsu")
    whole = image._whole
    found = counts(image, 256, "threshold_otsu")
    table = found._whole
    pixels = build.mul(whole.extent(y), whole.extent(x))
    scale = build.div(imm(1.0, _WIDE), build.cast(_WIDE, pixels))
    levels = Array(np.arange(256))
    if found.ndim > 1:
        levels = levels[:, None]
    by = Array._of(Whole(scale, (), (), whole.trace))
    mean = as_table((found * levels).sum(axis=0).astype("float64") * by)
    lower = _classes(table, scale)

    def of_class(k: int) -> Array:
        p = table.rank - 1
        at = [wrap(coordinate(q)) for q in range(p)]
        value = lower[(*at, wrap(build.add(coordinate(p), int32(1))))][k]._node
        return Array._of(Whole(value, table.shape, table.names, table.trace))

    share, below = of_class(0), of_class(1)
    rest = 1.0 - share
    is_nothing = Array._of(
        Whole(
            _is_nothing(wrap(share._whole.value))._node,
            table.shape,
            table.names,
            table.trace,
        )
    )
    above = (mean - share * below) / where(is_nothing, 1.0, rest)
    apart = below - above
    between = as_table(where(is_nothing, 0.0, share * rest * apart * apart))
    best = as_table(between.max(axis=0))
    return where(between == best, levels, 255).min(axis=0).astype("uint8")


def _classes(table: Whole, scale: Node) -> Func:
    """Of the pixels up to each level, their share and mean: at the level and 1."""
    p = table.rank - 1
    named = [Var(c) for c in letters(table.names)]
    rest, n = named[:p], named[p]
    lower = Func("classes")
    nothing = wrap(imm(0.0, _WIDE))
    lower[(*rest, n)] = Tuple(nothing, nothing)
    r = RDom([(0, 256)])
    to = {q: v._node for q, v in enumerate(rest)} | {p: r.x._node}
    count = wrap(build.cast(_WIDE, moved(table.value, to)))
    before = lower[(*rest, r.x)]
    own = count * wrap(scale)
    total = before[1] * before[0]
    share = before[0] + own
    level = wrap(build.cast(_WIDE, r.x._node))
    is_nothing = _is_nothing(share)
    mean = (total + level * own) / select(is_nothing, wrap(imm(1.0, _WIDE)), share)
    lower[(*rest, r.x + 1)] = Tuple(share, select(is_nothing, total, mean))
    return lower


def _is_nothing(share: Expr) -> Expr:
    """Whether one of two classes has hardly any pixels."""
    rest = 1.0 - share
    return (share < _LEAST) | (rest < _LEAST)


__all__ = ["otsu_threshold", "threshold_otsu"]
