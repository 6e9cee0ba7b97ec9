"""The numbers of images that go on without an end: what filters find at the edges.

Beyond its edges an image is made of its own pixels, so that whatever stable filters
have made there is a sum of these, with weights that the filters alone decide: those of
their impulse response, each put where the pixel beyond comes from. (Nehab and Maximo,
"Parallel recursive filtering of infinite input extensions", 2016, find the same values
from the results of filters that begin with zeros.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import DefinitionError, here
from parhelion.recfilter.coefficients import Number, Parts, largest_pole

Floats = NDArray[np.float64]

#: The share of a response that may be left out where it is found as far as it goes.
_FORGOTTEN = 1e-20
#: Periods up to so many points are summed up exactly, whatever is forgotten in them.
_SHORT = 1 << 16
#: Points of a response that are computed at most.
_MOST = 1 << 24


def place(border: str, x: Any, extent: int) -> Any:
    """The points of an image of `extent` points that stand at points `x`, which may be
    beyond its edges."""
    if border == "clamp":
        return np.clip(x, 0, extent - 1)
    if border == "repeat":
        return x % extent
    x = x % (2 * extent)
    return np.where(x < extent, x, 2 * extent - 1 - x)


def weights_of_entering(
    parts: Parts,
    taps: Mapping[int, Number],
    border: str,
    extent: int,
    end: int,
    share: float,
    what: str,
) -> tuple[Floats, Floats]:
    """The values that filters have before their first points, as sums of pixels.

    taps: what is multiplied with x[i - j], by j, before the first filter. end: where
    filters that are not causal begin, `extent` or further on. share: of each sum, the
    part that may be left out.

    Returns weights of shapes (n, slots) and (m, slots), for the first n and the last m
    points. Slots are the values of one filter after the other, the nearest first.
    Raises DefinitionError if the filters forget too slowly to be summed up.
    """
    grid = _grid(parts, taps, border, extent, what)
    steps = np.arange(grid) - grid // 2
    sums: list[tuple[NDArray[np.intp], Floats]] = []
    for response, (_, feedback, causal) in zip(
        _responses(parts, taps, grid), parts, strict=True
    ):
        h = np.roll(response, grid // 2)
        kept = np.abs(h) > share * np.abs(h).sum() / grid
        for q in range(len(feedback)):
            start = -1 - q if causal else end + q
            sums.append((place(border, start - steps[kept], extent), h[kept]))
    half = extent // 2
    n = max([int(at[at < half].max(initial=-1)) + 1 for at, _ in sums])
    m = max([extent - int(at[at >= half].min(initial=extent)) for at, _ in sums])
    first, last = np.zeros((n, len(sums))), np.zeros((m, len(sums)))
    for slot, (at, h) in enumerate(sums):
        near = at < half
        np.add.at(first[:, slot], at[near], h[near])
        np.add.at(last[:, slot], at[~near] - extent + m, h[~near])
    return first, last


def _responses(parts: Parts, taps: Mapping[int, Number], grid: int) -> list[Floats]:
    """What filters up to each make of a one at point 0, on a circle of points."""
    turn = np.exp(-2j * np.pi * np.arange(grid // 2 + 1) / grid)
    impulse = np.zeros(grid)
    np.add.at(impulse, np.array(list(taps)) % grid, list(taps.values()))
    spectrum = np.fft.rfft(impulse)
    found = []
    for (gain,), feedback, causal in parts:
        z = turn if causal else turn.conj()
        back = sum([a * z**j for j, a in enumerate(feedback, 1)], np.zeros_like(z))
        spectrum = spectrum * float(gain) / (1 - back)
        found.append(np.fft.irfft(spectrum, grid))
    return found


def _grid(
    parts: Parts, taps: Mapping[int, Number], border: str, extent: int, what: str
) -> int:
    """The points of a circle on which responses are found: a period of the image, in
    which they are summed up exactly, or so many that they have died out."""
    pole = max([largest_pole(feedback) for _, feedback, _ in parts])
    orders = sum([len(feedback) for _, feedback, _ in parts])
    # Of poles that coincide, responses are powers times a polynomial.
    reach = 1.0
    for _ in range(20):
        grows = (orders - 1) * np.log(reach)
        fades = -np.log(pole) if pole > 0 else np.inf
        reach = max(orders + 1.0, (grows - np.log(_FORGOTTEN)) / fades)
    reach += max(map(abs, taps))
    found = 1 << int(2 * reach).bit_length()
    if border != "clamp":
        period = extent if border == "repeat" else 2 * extent
        if period <= max(_SHORT, found):
            found = period
    if found > _MOST:
        raise DefinitionError(
            f"{what}: with the border {border!r}, a filter with a pole of magnitude"
            f" {pole:.9g} forgets too slowly: what enters would be a sum of"
            f" {found} points, and it may be {_MOST}",
            at=here(),
        )
    return found


__all__ = ["place", "weights_of_entering"]
