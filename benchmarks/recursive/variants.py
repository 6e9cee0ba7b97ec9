"""The paper's Figure 2: reorganizations of the Gaussian of order 3, as far as they go.

Filters along x and along y are not yet computed in the same tiles: what the paper
overlaps in both runs in tiles along x here, and then in tiles along y. The paper's 3xy
and 3x_3y are thus the same code, and likewise what follows a 1xy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import parhelion as hl
from benchmarks.recursive import exact, peers
from benchmarks.recursive.case import OURS, Array, Case, Check, Contender, Setup
from benchmarks.recursive.exact import Scan
from benchmarks.recursive.images import SIGMA, WIDTHS, both_ways, compiled, image
from parhelion.recfilter import RecFilter, RecFilterDim, gaussian_weights

SIZES = {"quick": (300,), "usual": (1024, 2048, 4096), "large": (4096, 8192)}
#: A group of filters: which ones, and along which dimensions they run both ways.
Step = tuple[str, str]
#: By the paper's names, the groups of each. "3" is the Gaussian, "1" and "2" are its
#: factors, "1/3" has a third of the variance by a filter of order 1.
VARIANTS: dict[str, tuple[Step, ...]] = {
    "3xy": (("3", "xy"),),
    "3x_3y": (("3", "x"), ("3", "y")),
    "1xy_2xy": (("1", "xy"), ("2", "xy")),
    "1xy_2x_2y": (("1", "xy"), ("2", "x"), ("2", "y")),
    "1xy_1xy_1xy": (("1/3", "xy"), ("1/3", "xy"), ("1/3", "xy")),
}


def coefficients(kind: str) -> list[float]:
    """Those of a group. The Gaussian has two complex poles, which no filters of order 1
    make: for 1xy_1xy_1xy, each has a real pole and a third of the variance."""
    if kind != "1/3":
        return gaussian_weights(SIGMA, int(kind))
    # Forwards and backwards, a pole p has the variance 2 p / (1 - p)².
    third = SIGMA**2 / 3
    pole = 1 + 1 / third - ((1 + 1 / third) ** 2 - 1) ** 0.5
    return [1 - pole, pole]


def build(inp: Any, n: int, steps: Sequence[Step], width: int) -> hl.Func:
    """A variant: a RecFilter for each group, which filters what the one before made."""
    source = inp
    for number, (kind, dims) in enumerate(steps):
        x, y = RecFilterDim("x", n), RecFilterDim("y", n)
        group = RecFilter(f"group{number}")
        group[x, y] = source[x, y]
        for d in [x] * ("x" in dims) + [y] * ("y" in dims):
            group.add_filter(+d, coefficients(kind))
            group.add_filter(-d, coefficients(kind))
            group.split(d, width)
        source = group.as_func()
        if number < len(steps) - 1:
            source.compute_root()
    assert isinstance(source, hl.Func)
    return source


def scans(steps: Sequence[Step]) -> list[Scan]:
    found: list[Scan] = []
    for kind, dims in steps:
        c = coefficients(kind)
        found += [s for s in both_ways(c, c) if "xy"[s.dim] in dims]
    return found


def _exact(pixels: Array, steps: Sequence[Step]) -> Array:
    return exact.filtered(pixels, scans(steps))


def variants() -> Case:
    """All of them, in tiles of each width."""

    def make(n: int, scale: str) -> Setup:
        pixels = image(n)
        inp = hl.Buffer(pixels)
        contenders: list[Contender] = []
        wanted = {}

        def add(name: str, steps: Sequence[Step], width: int) -> None:
            one = Contender(
                f"{name}, tiles of {width}",
                OURS,
                lambda: compiled(
                    build(inp, n, steps, width), (n, n), np.float32, [pixels]
                ),
                Check(4e-6),
            )
            contenders.append(one)
            wanted[one.label] = partial(_exact, pixels, steps)

        for name, steps in VARIANTS.items():
            for width in WIDTHS[scale]:
                add(name, steps, width)
        contenders.extend(peers.copies((n, n), np.float32))
        whole = VARIANTS["3xy"]
        return Setup(n * n, contenders, lambda: _exact(pixels, whole), wanted)

    title = "reorganizations of the Gaussian of order 3"
    return Case("variants", title, "variants", "size", SIZES, make)


def cases() -> list[Case]:
    return [variants()]
