"""CIE Lab of sRGB colours and back: of floats by the formulas, of bytes by integers.

The integers are those of OpenCV's tables: linear light has 11 bits, the cube root 15,
and what comes back 14.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from parhelion.lang.expr import wrap
from parhelion.types import UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole
from parhelion.whole.functions import where

Table = np.ndarray[Any, np.dtype[Any]]

#: Rows: X, Y and Z of linear red, green and blue (ITU-R BT.709, the white D65).
_XYZ = np.array(
    [
        [0.412453, 0.357580, 0.180423],
        [0.212671, 0.715160, 0.072169],
        [0.019334, 0.119193, 0.950227],
    ]
)
#: And back.
_RGB = np.array(
    [
        [3.240479, -1.53715, -0.498535],
        [-0.969256, 1.875991, 0.041556],
        [0.055648, -0.204043, 1.057311],
    ]
)
_WHITE = np.array([0.950456, 1.0, 1.088754])
#: Below it, and its cube root, the root is a line.
_LOW, _LOW_ROOT = 216 / 24389, 6 / 29
_SLOPE, _BASE = 841 / 108, 16 / 116
#: Bits of the numbers that come back.
_BACK = 14


def of_floats(rgb: list[Array]) -> list[Array]:
    """L, a and b of red, green and blue in [0, 1]."""
    light = [
        where(c <= 0.04045, c * (1 / 12.92), ((c + 0.055) * (1 / 1.055)) ** 2.4)
        for c in rgb
    ]
    x, y, z = [
        _weighted(light, row / white) for row, white in zip(_XYZ, _WHITE, strict=True)
    ]
    fx, fy, fz = [
        where(t > _LOW, _positive(t) ** (1 / 3), t * _SLOPE + _BASE) for t in (x, y, z)
    ]
    return [fy * 116 - 16, (fx - fy) * 500, (fy - fz) * 200]


def to_floats(lab: list[Array]) -> list[Array]:
    """Red, green and blue in [0, 1] of L, a and b; other colours are limited to it."""
    level, a, b = lab
    fy = (level + 16) * (1 / 116)
    roots = [a * (1 / 500) + fy, fy, fy - b * (1 / 200)]
    xyz = [where(t > _LOW_ROOT, t * t * t, (t - _BASE) * (1 / _SLOPE)) for t in roots]
    light = [_weighted(xyz, row * _WHITE).clip(0, 1) for row in _RGB]
    return [
        where(c <= 0.0031308, c * 12.92, _positive(c) ** (1 / 2.4) * 1.055 - 0.055)
        for c in light
    ]


def _positive(c: Array) -> Array:
    # Other values are not chosen, and have no power.
    return c.clip(1e-9, None)


def _weighted(parts: list[Array], weights: Table) -> Array:
    one, two, three = [c * float(w) for c, w in zip(parts, weights, strict=True)]
    return one + two + three


def of_bytes(rgb: list[Array]) -> list[Array]:
    """As `of_floats`, of uint8, which L, a and b are scaled to."""
    gamma, roots = _tables()
    light = [_looked_up(gamma, c) for c in rgb]
    rows = np.rint(4096 * _XYZ / _WHITE[:, None]).astype(int)
    fx, fy, fz = [_looked_up(roots, _shifted(_whole(light, row), 12)) for row in rows]
    level = _shifted(fy * 296 - ((16 * 255 * (1 << 15) + 50) // 100), 15)
    a = _shifted((fx - fy) * 500 + (128 << 15), 15)
    b = _shifted((fy - fz) * 200 + (128 << 15), 15)
    return [c.clip(0, 255) for c in (level, a, b)]


def to_bytes(lab: list[Array]) -> list[Array]:
    """As `to_floats`, to uint8."""
    levels, y_of, bright = _tables_back()
    fy, y = _looked_up(levels, lab[0]), _looked_up(y_of, lab[0])
    a, b = [c.astype("int32") for c in lab[1:]]
    one = 1 << _BACK
    fx = fy + ((a * (5 * 53687) + (1 << 7)) >> 13) - 128 * one // 500
    fz = fy - (((b * 41943 + (1 << 4)) >> 9) - 128 * one // 200 + 1)
    x, z = [_cube(t) for t in (fx, fz)]
    rows = np.rint(4096 * _RGB * _WHITE).astype(int)
    light = [_shifted(_whole([x, y, z], row), 14) for row in rows]
    return [_looked_up(bright, c) for c in light]


def _whole(parts: list[Array], weights: Table) -> Array:
    one, two, three = [c * int(w) for c, w in zip(parts, weights, strict=True)]
    return one + two + three


def _shifted(value: Array, bits: int) -> Array:
    return (value + (1 << (bits - 1))) >> bits


def _cube(t: Array) -> Array:
    """The cube of a number with 14 bits behind the point, or of small ones the line."""
    one = 1 << _BACK
    low = _quotient(t * 108, 841) - one * 16 * 108 // (116 * 841)
    # Numbers that are chosen are positive, and cut off where they are divided.
    cube = (((t * t) >> _BACK) * t) >> _BACK
    return where(t <= 3390, low, cube)


def _quotient(value: Array, by: int) -> Array:
    """A quotient, rounded towards 0."""
    return where(value < 0, -((-value) // by), value // by)


def _looked_up(table: Table, at: Array) -> Array:
    """The elements of a table at some places, as int32."""
    if at.type is not UInt(8):
        at = at.clip(0, len(table) - 1)
    place = wrap(at._whole.value)
    held = Array(table.astype(np.int32))
    whole = at._whole
    value = held[place]._node
    return Array._of(Whole(value, whole.shape, whole.names, whole.trace))


@cache
def _tables() -> tuple[Table, Table]:
    """Linear light of each byte, with 11 bits, and cube roots of it, with 15."""
    x = np.arange(256) / 255
    light = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    gamma = np.rint(2040 * light.astype(np.float32)).astype(int)
    t = np.arange(256 * 3 // 2 * 8) / 2040
    root = np.where(t < _LOW, t * _SLOPE + _BASE, np.cbrt(t)).astype(np.float32)
    return gamma, np.rint(32768 * root).astype(int)


@cache
def _tables_back() -> tuple[Table, Table, Table]:
    """Of each byte of L the root of Y and Y, with 14 bits, and bytes of light."""
    one = 1 << _BACK
    i = np.arange(256)
    line = i <= 20
    root = np.where(
        line,
        np.rint(one * (_BASE + i * 5 / 1479)),
        np.rint(i * 100 * one / (255 * 116) + _BASE * one),
    )
    exact = ((i * 100 / 255 + 16) / 116) ** 3 * one
    y = np.rint(np.where(line, i * one * 20 / 46053, exact))
    x = np.arange(4096) / 4096
    bright = np.where(x <= 0.0031308, x * 12.92, 1.055 * x ** (1 / 2.4) - 0.055)
    return root.astype(int), y.astype(int), np.rint(255 * bright).astype(int)


__all__ = ["of_bytes", "of_floats", "to_bytes", "to_floats"]
