"""The cases of lines: one filter of high order, and many filters of order 2.

They are those of the 2015 paper's Figures 12 and 13.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

import parhelion as hl
from benchmarks.recursive import applications, exact, peers, untiled
from benchmarks.recursive.case import (
    DEFAULT,
    HALIDE,
    OURS,
    UNTILED,
    Array,
    Case,
    Check,
    Contender,
    Run,
    Setup,
)
from benchmarks.recursive.exact import Scan
from benchmarks.recursive.images import compiled
from parhelion.recfilter import RecFilterWarning

#: Samples of a line.
SAMPLES = {"quick": 20_000, "usual": 10_000_000, "large": 100_000_000}
#: Widths of tiles.
WIDTHS = {
    "quick": (256,),
    "usual": (64, 256, 1024, 4096),
    "large": (64, 256, 1024, 4096),
}
#: Those of filters of order 2 that are parts of others.
PART_WIDTHS = {"quick": (256,), "usual": (256, 1024), "large": (256, 1024)}
ORDERS = {
    "quick": (1, 3),
    "usual": tuple(range(1, 13)),
    "large": (1, 3, 6, 9, 12),
}
COUNTS = {"quick": (2,), "usual": (1, 2, 3, 4, 6, 8, 12), "large": (1, 6, 12)}
#: How far one filter of order 1 or 2 may be from the exact result. Twelve of order 2
#: are 3.3e-4 off in SciPy's float32, on ten million samples.
_NEAR = {"orders": 2e-5, "overlapped": 4e-5}


def stable(order: int) -> list[float]:
    """The coefficients of a filter of an order that keeps constants what they are.

    Its poles are random, of magnitudes 0.5 to 0.8; pairs of complex ones lie spread
    around the circle, by which high orders stay insensitive to the rounding of
    coefficients to float32.
    """
    rng = np.random.default_rng(order)
    pairs = order // 2
    angles = np.pi * (np.arange(pairs) + rng.uniform(0.3, 0.7, pairs)) / max(1, pairs)
    complex_ones = rng.uniform(0.5, 0.8, pairs) * np.exp(1j * angles)
    real = rng.uniform(0.5, 0.8, order % 2)
    poles = np.concatenate([complex_ones, complex_ones.conj(), real])
    back = -np.real(np.poly(poles))[1:]
    return [float(1 - back.sum()), *[float(a) for a in back]]


def signal(count: int) -> Array:
    return np.random.default_rng(7).random(count, np.float32) - np.float32(0.5)


def scans_of(filters: Sequence[Sequence[float]]) -> list[Scan]:
    return [Scan(0, True, tuple(c)) for c in filters]


def _ours(
    name: str, count: int, build: Callable[[], hl.Func], check: Check
) -> Contender:
    def prepare() -> Run:
        with warnings.catch_warnings():
            # How far results are from the exact ones is reported.
            warnings.simplefilter("ignore", RecFilterWarning)
            return compiled(build(), (count,), np.float32)

    return Contender(name, OURS, prepare, check)


def _tiled(
    source: hl.Buffer, scale: str, filters: Sequence[Sequence[float]], check: Check
) -> list[Contender]:
    """All filters together: by default, and in tiles of each width."""
    count = SAMPLES[scale]
    widths = {DEFAULT: 0} | {f"tiles of {w}": w for w in WIDTHS[scale]}
    return [
        _ours(name, count, partial(applications.line, source, count, filters, w), check)
        for name, w in widths.items()
    ]


def _others(
    samples: Array, filters: Sequence[Sequence[float]], check: Check
) -> list[Contender]:
    """An ordinary Func with an update for each filter, in both modules; and what is not
    ours."""
    plain = partial(untiled.line, "parhelion", samples, filters)
    serial = partial(untiled.line, "halide", samples, filters)
    return [
        Contender(UNTILED, OURS, plain, check),
        Contender("serial", HALIDE, serial, check),
        peers.lfilter(samples, scans_of(filters), check),
        *peers.copies(samples.shape, np.float32),
    ]


def orders() -> Case:
    """One filter of each order, as it is and as filters of order 2."""

    def make(order: int, scale: str) -> Setup:
        count = SAMPLES[scale]
        samples, c = signal(count), stable(order)
        inp, near = hl.Buffer(samples), Check(_NEAR["orders"] * order)
        contenders = _tiled(inp, scale, [c], near)
        for width in PART_WIDTHS[scale] if order > 2 else ():
            for joint, how in ((False, "cascaded"), (True, "overlapped")):
                build = partial(applications.factored, inp, count, c, width, joint)
                name = f"factors of order 2, {how}, tiles of {width}"
                contenders.append(_ours(name, count, build, near))
        contenders += _others(samples, [c], near)
        return Setup(count, contenders, lambda: exact.filtered(samples, scans_of([c])))

    title = "one filter on a line"
    return Case("orders", title, "signal", "order", ORDERS, make)


def overlapped() -> Case:
    """Several filters of order 2: all in the same tiles, each in its own, and in two
    halves (2015 paper, section 8)."""

    def make(number: int, scale: str) -> Setup:
        count = SAMPLES[scale]
        samples = signal(count)
        # The factors of one filter of the whole order: none of them is like another.
        filters = [_pair(number, k) for k in range(number)]
        inp, near = hl.Buffer(samples), Check(_NEAR["overlapped"] * number)
        contenders = _tiled(inp, scale, filters, near)
        groups = {"each cascaded": 1, "two halves cascaded": -(-number // 2)}
        for how, group in groups.items() if number > 1 else ():
            for width in PART_WIDTHS[scale]:
                build = partial(
                    applications.cascaded, inp, count, filters, width, group
                )
                contenders.append(_ours(f"{how}, tiles of {width}", count, build, near))
        contenders += _others(samples, filters, near)
        return Setup(
            count, contenders, lambda: exact.filtered(samples, scans_of(filters))
        )

    title = "filters of order 2 on a line"
    return Case("overlapped", title, "signal", "filters", COUNTS, make)


def _pair(number: int, k: int) -> list[float]:
    """The filter of order 2 number `k` of so many."""
    rng = np.random.default_rng([number, k])
    angle = np.pi * (k + rng.uniform(0.3, 0.7)) / number
    magnitude = rng.uniform(0.5, 0.8)
    back = [2 * magnitude * float(np.cos(angle)), -(magnitude**2)]
    return [1 - sum(back), *back]


def cases() -> list[Case]:
    return [orders(), overlapped()]
