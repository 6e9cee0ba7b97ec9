"""The numbers of recursive filters: of what is filtered in tiles, and of known filters.

A filter of order k is y[i] = a0 x[i] + a1 y[i-1] + … + ak y[i-k]. Within a tile of
width t it begins with zeros; what the tile before leaves behind, its *tail*, is its
last k values, the last of them first. The contribution of a tail to a tile is a matrix,
and so is what later filters make of it. (Supplement of the 2015 paper, derived anew:
the paper's listings hold for a0 = 1 and two filters alone.)

Matrices of integers are exact, of Python's integers, but for multiples of 2**64;
others are of float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.types import Type, round_float

Matrix = NDArray[Any]
#: Half of the numbers of 64 bits.
_HALF = 1 << 63
#: Rows that are filtered at a time, or as many as a filter reads back.
_BLOCK = 256
Number = int | float


def matrix(rows: int, columns: int, whole: bool) -> Matrix:
    """A matrix of zeros: of integers without limit if `whole`."""
    if whole:
        made = np.empty((rows, columns), object)
        made.fill(0)
        return made
    return np.zeros((rows, columns))


def continuation(feedback: Sequence[Number], width: int, whole: bool) -> Matrix:
    """What values a tail of ones in turn leads to, without any input: R, of shape
    (width, order). R[i, c] is y[i] where y[-1 - c] is 1 and all else is 0."""
    k = len(feedback)
    found = matrix(min(width, max(k, 64)), k, whole)
    for i in range(len(found)):
        for c in range(k):
            if i + c < k:
                found[i, c] = feedback[i + c]
        for j in range(1, min(i, k) + 1):
            found[i] = found[i] + feedback[j - 1] * found[i - j]
    while len(found) < width:
        # The last values are a tail themselves, which goes on as the first one did.
        more = min(len(found), width - len(found))
        found = np.concatenate([found, found[:more] @ found[::-1][:k]])
        if whole:  # they may grow without end, and are used in 64 bits at most
            found = (found + _HALF) % (2 * _HALF) - _HALF
    return found


def filtered(
    columns: Matrix, gain: Number, feedback: Sequence[Number], causal: bool
) -> Matrix:
    """Each column filtered by itself, from zeros on."""
    found = gain * (columns if causal else columns[::-1])
    if found.dtype == object or len(found) <= _BLOCK:
        _run(found, feedback)
    else:
        _run_blocks(found, feedback)
    return found if causal else found[::-1]


def _run(rows: Matrix, feedback: Sequence[Number]) -> None:
    """Filters rows in place, from zeros on."""
    for i in range(len(rows)):
        for j in range(1, min(i, len(feedback)) + 1):
            rows[i] = rows[i] + feedback[j - 1] * rows[i - j]


def _run_blocks(rows: Matrix, feedback: Sequence[Number]) -> None:
    """As `_run`, of floats, a block at a time: what a block makes by itself, and what
    the one before leaves in it."""
    k = len(feedback)
    size = max(_BLOCK, k)
    response = np.eye(size)
    _run(response, feedback)
    left = continuation(feedback, size, False)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        n = len(block)
        block[:] = response[:n, :n] @ block
        if start:
            block += left[:n] @ rows[start - k : start][::-1]


def tail(columns: Matrix, order: int, causal: bool) -> Matrix:
    """The values that the next tile needs, the nearest first."""
    return columns[::-1][:order] if causal else columns[:order]


#: (feedforward, feedback, whether causal) of filters, in the order in which they run.
Parts = Sequence[tuple[Sequence[Number], Sequence[Number], bool]]


def _followed(filters: Parts, width: int, valid: int, whole: bool) -> Iterator[Matrix]:
    """What the tails that come into a tile lead to there after each filter: matrices of
    shape (width, slots), of the slots of the filters so far.

    One with several feedforward coefficients reads what the filter before it, of its
    direction, has left behind: no further back than that one's tail.
    """
    columns, before = matrix(width, 0, whole), matrix(0, 0, whole)
    for forward, feedback, causal in filters:
        fed = _fed(columns, before, forward, causal)
        own = continuation(feedback, width, whole)
        own = own if causal else own[::-1]
        columns = np.hstack([filtered(fed, 1, feedback, causal), own])
        columns[valid:] = 0
        before = matrix(len(feedback), columns.shape[1], whole)
        before[:, columns.shape[1] - len(feedback) :] = np.eye(len(feedback), dtype=int)
        yield columns


def _fed(
    columns: Matrix, before: Matrix, forward: Sequence[Number], causal: bool
) -> Matrix:
    """What feedforward coefficients make of columns. before: the values before the
    first point, the nearest first."""
    if len(forward) == 1:
        return forward[0] * columns
    towards = columns if causal else columns[::-1]
    k, width = len(before), len(columns)
    longer = np.vstack([before[::-1], towards])
    made: Matrix = np.sum(
        [b * longer[k - m : k - m + width] for m, b in enumerate(forward)], axis=0
    )
    return made if causal else made[::-1]


def crossings(filters: Parts, width: int, valid: int, whole: bool) -> Matrix:
    """The matrix from all tails that come into a tile to those that leave it.

    width: of the tile, of which the first `valid` points are of the image; all filters
    find zeros beyond. Rows and columns are those of the tails, one filter after the
    other; the matrix is lower triangular by filters.
    """
    orders = [len(feedback) for _, feedback, _ in filters]
    starts = np.concatenate([[0], np.cumsum(orders)]).astype(int)
    found = matrix(int(starts[-1]), int(starts[-1]), whole)
    for n, columns in enumerate(_followed(filters, width, valid, whole)):
        own = tail(columns, orders[n], filters[n][2])
        found[starts[n] : starts[n + 1], : starts[n + 1]] = own
    return found


def contributions(filters: Parts, width: int, valid: int, whole: bool) -> Matrix:
    """The matrix from all tails that come into a tile to what the last filter makes
    there: of shape (width, slots). Arguments are those of `crossings`."""
    *_, last = _followed(filters, width, valid, whole)
    return last


def steady(gain: Number, feedback: Sequence[Number]) -> float:
    """What a filter makes of a constant 1 that has been there for ever."""
    return float(gain) / (1 - float(sum(feedback)))


def entering(filters: Parts) -> tuple[Matrix, Matrix]:
    """The values of the last filter before its first point, where the image goes on for
    ever as it is at that edge.

    Returns (base, weights): value q, the nearest first, is base[q] times the pixel at
    the edge, and weights[q] times the values that the earlier filters of the opposite
    direction have at the edge and after it: as many as each has tails, the nearest
    first, one filter after the other.

    Beyond the edge, what is left of these dies out; what filters of the last one's own
    direction make of it there is a multiple of it (after Nehab and Maximo, "Parallel
    recursive filtering of infinite input extensions", 2016).
    """
    _, _, forward = filters[-1]
    # One step away from the image: v becomes `step` v. `now`: the signal, of v.
    step: Matrix = np.zeros((0, 0))
    now: Matrix = np.zeros(0)
    level, levels = 1.0, np.zeros(0)
    for (gain,), feedback, causal in filters:
        level *= steady(gain, feedback)
        if causal == forward:
            whole, power = np.eye(len(step)), np.eye(len(step))
            for a in feedback:
                power = power @ step
                whole = whole - float(a) * power
            now = float(gain) * np.linalg.solve(whole.T, now) if len(now) else now
            continue
        k, n = len(feedback), len(step)
        larger = np.zeros((n + k, n + k))
        larger[:n, :n] = step
        larger[n, :n] = float(gain) * (now @ step)
        larger[n, n:] = feedback
        larger[n + 1 :, n : n + k - 1] = np.eye(k - 1)
        step, now = larger, np.eye(n + k)[n]
        levels = np.concatenate([levels, np.full(k, level)])
    order = len(filters[-1][1])
    weights, power = np.zeros((order, len(step))), np.eye(len(step))
    for q in range(order):
        power = power @ step
        weights[q] = now @ power
    return level - weights @ levels, weights


def rounding(t: Type) -> float:
    """The share by which a value changes at most when it is rounded to a type of
    floats."""
    return 2.0 ** -(8 if t.is_bfloat() else {16: 11, 32: 24, 64: 53}[t.bits()])


def shaken(feedback: Sequence[Number], t: Type) -> float:
    """By what share the response of a filter may change when its coefficients are
    rounded to a type of floats: where its poles resound, and for constants. Infinite
    if the rounded filter is unstable.

    Poles on the unit circle, as sums have them, are left out.
    """
    made = [round_float(a, t) for a in feedback]
    off = [a for a, rounded in zip(feedback, made, strict=True) if a != rounded]
    poles = poles_of(feedback)
    if not off or np.abs(poles).max(initial=0) > 1 - 1e-9:
        return 0.0
    if largest_pole(made) >= 1:
        return np.inf
    at = np.exp(1j * np.append(np.angle(poles), 0))
    least = np.abs(np.polyval(_polynomial(feedback), at)).min()
    return float(sum(map(abs, off)) * rounding(t) / least)


def growth(feedback: Sequence[Number], width: int) -> float:
    """The largest magnitude that a tail of magnitude one leads to within a tile."""
    if not feedback:
        return 0.0
    sums = np.abs(continuation([float(a) for a in feedback], width, False)).sum(axis=1)
    return float(sums.max())


def lasting(feedback: Sequence[Number], width: int, extent: int) -> float:
    """The largest magnitude that a tail of magnitude one, of the first tile of a line
    of `extent` points, leads to in the last one: near to 0 where a filter forgets, and
    above 1 where what a tile leaves behind, errors too, goes on growing."""
    count, k = -(-extent // width), len(feedback)
    if count < 2 or not any(feedback):
        return 0.0
    within = continuation([float(a) for a in feedback], width, False)
    rows = within[: extent - (count - 1) * width]
    with np.errstate(over="ignore", invalid="ignore"):
        between = np.linalg.matrix_power(within[::-1][:k], count - 2)
        found = np.abs(rows @ between).sum(axis=1).max()
    return float(found) if np.isfinite(found) else np.inf


def amplified(feedback: Sequence[Number], width: int, extent: int) -> float:
    """By how much rounding errors of tails may grow at most, along a line of tiles."""
    return growth(feedback, width) * max(1.0, lasting(feedback, width, extent))


def poles_of(feedback: Sequence[Number]) -> NDArray[np.complex128]:
    """The poles of a filter, but for those at 0."""
    if not any(feedback):
        return np.zeros(0, np.complex128)
    found: NDArray[np.complex128]
    found = np.asarray(np.roots(_polynomial(feedback)), np.complex128)
    kept: NDArray[np.complex128] = found[found != 0]
    return kept


def _polynomial(feedback: Sequence[Number]) -> list[float]:
    """Its zeros are the poles of a filter."""
    return [1.0, *[-float(a) for a in feedback]]


def largest_pole(feedback: Sequence[Number]) -> float:
    """The magnitude of the largest pole: below 1, the filter is stable."""
    return float(np.abs(poles_of(feedback)).max(initial=0.0))


def together(one: Sequence[Number], other: Sequence[Number]) -> list[Number]:
    """The coefficients [a0, a1, …] of a filter that does what two do one after the
    other, on the same dimension in the same direction (2015 paper, section 5)."""
    product = np.convolve([1, *[-a for a in one[1:]]], [1, *[-a for a in other[1:]]])
    return [one[0] * other[0], *[-a for a in product[1:].tolist()]]


# Known filters.

#: By how much a0 is above its rounding error at least.
_LEAST_GAIN = 100

#: The poles, for a sigma of 2, of the Gaussian filter of order 3 of van Vliet, Young
#: and Verbeek, "Recursive Gaussian derivative filters", ICPR 1998.
_REAL, _PAIR = (1.86543 + 0j,), (1.41650 + 1.00829j, 1.41650 - 1.00829j)
_POLES: dict[int, tuple[complex, ...]] = {1: _REAL, 2: _PAIR, 3: (*_PAIR, *_REAL)}


def gaussian_weights(sigma: float, order: int = 3) -> list[float]:
    """Returns [a0, a1, …] of a recursive filter which, run forwards and then backwards,
    approximates a Gaussian of standard deviation `sigma`, in points: that of order 3.
    Those of orders 1 and 2 are its factors, which make it one after the other.

    From: van Vliet, Young and Verbeek (ICPR 1998), as the 2015 paper uses them; poles
    are scaled by q = 0.00399341 + 0.4715161 sigma. Below a sigma of 2 it is 9 to 38 %
    off, of which a warning says so. Raises DefinitionError for another order, or a
    sigma that is not positive, and TypeMismatchError for what is no number.

    >>> from parhelion.recfilter import gaussian_weights
    >>> [round(a, 6) for a in gaussian_weights(5.0)]
    [0.022643, 2.296347, -1.79971, 0.48072]
    """
    value: object = sigma
    if isinstance(value, np.generic | np.ndarray) and not value.ndim:
        value = value.item()
    whole = isinstance(order, int | np.integer)
    flags = isinstance(value, bool) or isinstance(order, bool)
    if not isinstance(value, int | float) or not whole or flags:
        raise TypeMismatchError(
            "gaussian_weights takes a sigma, a number, and an order, an integer, not"
            f" {sigma!r:.60} and {order!r:.60}",
            at=here(),
        )
    if order not in _POLES:
        raise DefinitionError(
            f"gaussian_weights: there are filters of order 1, 2 and 3, not {order!r}",
            at=here(),
        )
    if not 0 < value < 1 << 53:
        raise DefinitionError(
            f"gaussian_weights: sigma must be positive, and a number of points, not"
            f" {sigma!r:.60}",
            at=here(),
        )
    sigma = float(value)
    if sigma < 2:
        from parhelion.recfilter.warning import warn

        warn(
            f"gaussian_weights: for a sigma of {sigma:g}, below 2, the filter is 9 to"
            " 38 % off a Gaussian; a stencil of so few points costs no more"
        )
    q = 0.00399341 + 0.4715161 * sigma
    poles = [abs(d) ** (1 / q) * np.exp(1j * np.angle(d) / q) for d in _POLES[order]]
    # 1 / prod(1 - z^-1 / d), scaled so that constants stay what they are.
    feedback = -np.real(np.poly([1 / d for d in poles]))[1:]
    gain, least = (
        float(1 - feedback.sum()),
        np.finfo(float).eps * np.abs(feedback).sum(),
    )
    if gain < _LEAST_GAIN * least:
        raise DefinitionError(
            f"gaussian_weights: for a sigma of {sigma:g}, a filter of order {order} has"
            f" a0 = {gain:.3g}, which is the difference of 1 and coefficients that"
            f" float64 rounds by {least:.3g}",
            at=here(),
            hint="filter a smaller image, with a smaller sigma",
        )
    return [gain, *[float(a) for a in feedback]]


__all__ = [
    "Matrix",
    "Number",
    "Parts",
    "amplified",
    "continuation",
    "contributions",
    "crossings",
    "entering",
    "filtered",
    "gaussian_weights",
    "growth",
    "largest_pole",
    "lasting",
    "rounding",
    "shaken",
    "poles_of",
    "steady",
    "tail",
    "together",
]
