"""Recursive filters of long signals: of high orders, and as second-order sections.

A signal has one dimension, and no other one across which lines could be computed in
vectors and in parallel: it is computed in tiles. The higher the order of a filter, the
more it is changed by the rounding of its coefficients; a filter of high order is
therefore mostly given as *sections*, filters of order 2 that run one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import parhelion as hl
from apps.common import Array
from parhelion.recfilter import RecFilter, RecFilterDim


def recursive(
    signal: Array, coefficients: Sequence[float], orders: Sequence[int] = ()
) -> Array:
    """Returns y[i] = a0 x[i] + a1 y[i-1] + … + ak y[i-k] of a signal x of floats.

    coefficients: [a0, a1, …, ak]. orders: if given, those of filters which do the same
    one after the other, and are found from the poles.
    """
    line = line_of(signal, [coefficients])
    last = line.factor_filter_order(*orders)[-1] if orders else line
    return np.asarray(last.realize())


def sections(
    signal: Array, coefficients: Sequence[Sequence[float]], together: int = 6
) -> Array:
    """Returns a signal of floats filtered by sections, one after the other.

    coefficients: [a0, a1, a2] of each section. together: how many of them are computed
    in the same tiles. What a tile passes on to the next one grows with that number, so
    that several groups can be faster than all sections together.
    """
    line = line_of(signal, coefficients)
    numbers = range(len(coefficients))
    groups = [numbers[k : k + together] for k in numbers[::together]]
    return np.asarray(line.cascade(*groups)[-1].realize())


def line_of(signal: Array, filters: Sequence[Sequence[float]]) -> RecFilter:
    """A signal, filtered by some filters one after the other."""
    t, inp = RecFilterDim("t", len(signal)), hl.Buffer(signal)
    line = RecFilter("line")
    line[t] = inp[t]
    for coefficients in filters:
        line.add_filter(+t, coefficients)
    return line
