"""Random recursive filters, in tiles or not, against filters run point by point.

    python -m tests.fuzz.recursive --cases 1000 --seed 1

Some are kernels of a GPU, on the simulator. Floats are compared with float64, within a
bound that is computed from the precision, the filters' impulse responses and the growth
within tiles; integers bit for bit.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim
from parhelion.recfilter.coefficients import growth
from tests.fuzz.numbered import run

Array = NDArray[Any]

#: dimension, whether causal, [a0, a1, …], [b0, b1, …], whether coefficients vary.
Drawn = tuple[int, bool, tuple[float, ...], tuple[float, ...], bool]


@dataclass(frozen=True)
class Case:
    """Filters over an image: its extents, x first, and the widths of tiles, 0 for
    none. threads: the most of a block of a GPU, 0 for a CPU."""

    type: str
    extents: tuple[int, ...]
    filters: tuple[Drawn, ...]
    widths: tuple[int, ...]
    border: str
    seed: int
    threads: int = 0


def draw(rng: random.Random) -> Case:
    """A case of 1 to 3 dimensions, filters of orders 1 to 6, in mixed directions."""
    dims = rng.choice([1, 1, 2, 2, 2, 3])
    most = {1: 400, 2: 70, 3: 24}[dims]
    extents = tuple([rng.randrange(1, most) for _ in range(dims)])
    t = rng.choice(["float32", "float32", "float64", "int32", "uint8", "int16"])
    filters = []
    for _ in range(rng.randrange(1, 4 if dims == 3 else 5)):
        order = rng.choice([1, 1, 2, 2, 3, 3, 4, 5, 6])
        back = coefficients_of(rng, t, order)
        varies = rng.random() < 0.15
        filters.append(
            (rng.randrange(dims), rng.random() < 0.5, back, _ahead(rng), varies)
        )
    widths = []
    for k in range(dims):
        least = max([len(c) - 1 for d, _, c, _, _ in filters if d == k], default=0)
        varies = any([v for d, _, _, _, v in filters if d == k])
        tiled = least and not varies and rng.random() < 0.7
        widths.append(rng.choice([least, least + 1, 8, 13, 16, 32]) if tiled else 0)
        if tiled:
            widths[k] = max(widths[k], least)
    endless = t.startswith("float") and rng.random() < 0.6
    endless = endless and not any([v for _, _, _, _, v in filters])
    return Case(
        t,
        extents,
        tuple(filters),
        tuple(widths),
        rng.choice(["clamp", "repeat", "mirror"]) if endless else "zero",
        rng.randrange(1 << 30),
        rng.choice([1, 7, 32, 64, 256, 1024]) if rng.random() < 0.2 else 0,
    )


def coefficients_of(rng: random.Random, t: str, order: int) -> tuple[float, ...]:
    if not t.startswith("float"):
        # Sums of sums: all poles on the unit circle.
        signs = [1, *[rng.choice([1, 1, -1, 0]) for _ in range(order - 1)]]
        whole = [-int(round(a)) for a in np.poly(signs)[1:]]
        return (rng.choice([1, 1, 2, -1]), *whole)
    poles: list[complex] = []
    while len(poles) < order:
        radius = rng.uniform(0.1, 0.93)
        if order - len(poles) > 1 and rng.random() < 0.6:
            p = radius * np.exp(1j * rng.uniform(0, np.pi))
            poles += [p, p.conjugate()]
        else:
            poles.append(radius * rng.choice([1, 1, -1]))
    back = [-float(a) for a in np.real(np.poly(poles))[1:]]
    return (rng.choice([1.0, float(abs(1 - sum(back))) or 1.0, 0.5]), *back)


def _ahead(rng: random.Random) -> tuple[float, ...]:
    if rng.random() < 0.7:
        return (1,)
    return tuple([rng.choice([1, -1, 2, 0]) for _ in range(rng.randrange(1, 4))])


def along(
    y: Array, axis: int, causal: bool, c: tuple[float, ...], by: Array | None = None
) -> Array:
    """One filter, point by point. by: what the coefficients are multiplied with."""
    z = np.moveaxis(y, axis, 0)
    z = (z if causal else z[::-1]).copy()
    if by is None:
        by = np.ones((1,) * y.ndim, y.dtype)
    by = np.broadcast_to(by, y.shape)
    scale = np.moveaxis(by, axis, 0)
    scale = scale if causal else scale[::-1]
    for i in range(len(z)):
        z[i] = _as(c[0], y) * scale[i] * z[i]
        for j in range(1, min(i, len(c) - 1) + 1):
            z[i] = z[i] + _as(c[j], y) * scale[i] * z[i - j]
    return np.moveaxis(z if causal else z[::-1], 0, axis)


def pattern(case: Case) -> Array:
    """What coefficients that vary are multiplied with: 0, 1 or 2 for integers, up to 1
    for floats."""
    places = np.indices(case.extents[::-1])[::-1]
    whole = np.tensordot(np.arange(1, len(places) + 1), places, 1) % 3
    return whole / 2 if case.type.startswith("float") else whole.astype(object)


def ahead(y: Array, axis: int, causal: bool, b: tuple[float, ...]) -> Array:
    """The feedforward part of a filter, with zeros beyond."""
    made = np.zeros_like(y)
    for m, one in enumerate(b):
        made = made + _as(one, y) * _shifted(y, axis, m if causal else -m)
    return made


def _as(a: float, y: Array) -> Any:
    return a if y.dtype.kind == "f" else int(a)


#: The width of the widest tiles that a GPU has by default.
_OF_A_GPU = 32
#: Points after which a filter of `draw` has forgotten what was there, to 1e-16.
_FORGOTTEN = 520


def reference(case: Case, image: Array) -> tuple[Array, Array]:
    """The result, and a bound for the error of each value: floats are as exact as
    float64, integers wrap in their own type."""
    floats = image.dtype.kind == "f"
    y = image.astype(np.float64) if floats else image.astype(object)
    error = np.zeros(image.shape)
    if case.border == "zero":
        return _filtered(case, image.dtype, case.filters, y, error)
    # One dimension after the other, continued until all is forgotten.
    mode: Any = {"clamp": "edge", "repeat": "wrap", "mirror": "symmetric"}[case.border]
    for dim in dict.fromkeys([d for d, _, _, _, _ in case.filters]):
        mine = tuple([f for f in case.filters if f[0] == dim])
        k = image.ndim - 1 - dim
        around = [(_FORGOTTEN * (axis == k),) * 2 for axis in range(image.ndim)]
        inside = tuple([slice(n, -n or None) for n, _ in around])
        parts = [np.pad(part, around, mode) for part in (y, error)]
        y, error = _filtered(case, image.dtype, mine, *parts)
        y, error = y[inside], error[inside]
    return y, error


def _filtered(
    case: Case, t: np.dtype[Any], filters: tuple[Drawn, ...], y: Array, error: Array
) -> tuple[Array, Array]:
    floats = t.kind == "f"
    # Errors travel as far as a unit impulse does: by the magnitudes of its response.
    eps = np.finfo(t).eps if floats else 0.0
    for dim, causal, c, b, varies in filters:
        by = pattern(case) if varies else None
        axis = y.ndim - 1 - dim
        before = np.abs(y.astype(np.float64)) if floats else error
        y = ahead(y, axis, causal, b)
        y = along(y, axis, causal, c, by)
        if not floats:
            continue
        n = case.extents[dim]
        impulse = np.zeros(y.shape[axis])
        impulse[0] = 1.0
        response = np.abs(along(impulse, 0, True, (1.0, *c[1:])))
        sizes = tuple([abs(one) for one in b])
        before = ahead(before, axis, causal, sizes)
        error = ahead(error, axis, causal, sizes)
        terms = len(b) * abs(c[0]) * before
        size = np.abs(y)
        for j, a in enumerate(c[1:], 1):
            terms = terms + abs(a) * _shifted(size, axis, j if causal else -j)
        # Without a split there are tiles on a GPU all the same.
        width = case.widths[dim] or (_OF_A_GPU if case.threads else n)
        most = growth(c[1:], min(width, n)) if width < n else 1.0
        made = (len(c) + 2) * eps * (1 + most) * len(c) * terms
        if by is None:
            error = _spread(abs(c[0]) * error + made, axis, causal, response)
        else:
            sizes = (1.0, *[abs(a) for a in c[1:]])
            error = along(abs(c[0]) * error + made, axis, causal, sizes)
    return y, error


def _shifted(y: Array, axis: int, by: int) -> Array:
    z = np.moveaxis(y, axis, 0)
    made = np.zeros_like(z)
    if 0 <= by < len(z):
        made[by:] = z[: len(z) - by]
    elif by < 0 and -by < len(z):
        made[:by] = z[-by:]
    return np.moveaxis(made, 0, axis)


def _spread(e: Array, axis: int, causal: bool, response: Array) -> Array:
    z = np.moveaxis(e, axis, 0)
    z = z if causal else z[::-1]
    made = np.zeros_like(z)
    for i in range(len(z)):
        near = z[max(i + 1 - len(response), 0) : i + 1]
        made[i] = np.tensordot(response[: len(near)][::-1], near, 1)
    return np.moveaxis(made if causal else made[::-1], 0, axis)


def image_of(case: Case) -> Array:
    rng = np.random.default_rng(case.seed)
    shape = case.extents[::-1]
    t = np.dtype(case.type)
    if t.kind == "f":
        return rng.standard_normal(shape).astype(t)
    info = np.iinfo(t)
    return rng.integers(info.min, info.max, shape, t, endpoint=True)


def computed(case: Case, image: Array, target: hl.Target | None = None) -> Array:
    """What a RecFilter makes of the image."""
    dims = [RecFilterDim("xyz"[k], n) for k, n in enumerate(case.extents)]
    f, inp = RecFilter("fuzz", case.border), hl.Buffer(image)
    f[tuple(dims)] = inp[tuple(dims)]
    whole = sum([(k + 1) * d for k, d in enumerate(dims)], hl.i32(0)) % 3
    by = hl.cast(inp.type(), whole)
    by = by / 2 if image.dtype.kind == "f" else by
    for dim, causal, c, b, varies in case.filters:
        given = [by * hl.cast(inp.type(), a) for a in c] if varies else list(c)
        f.add_filter(+dims[dim] if causal else -dims[dim], given, list(b))
    for d, width in zip(dims, case.widths, strict=True):
        if width:
            f.split(d, width)
    if not case.threads:
        return np.asarray(f.realize(target=target))
    f.gpu_auto_schedule(case.threads)
    with simulated():
        return np.asarray(f.realize(target=target))


@contextmanager
def simulated() -> Iterator[None]:
    """Has kernels run on the CPU."""
    before = os.environ.get("PARHELION_GPU")
    os.environ["PARHELION_GPU"] = "simulate"
    try:
        yield
    finally:
        del os.environ["PARHELION_GPU"]
        if before is not None:
            os.environ["PARHELION_GPU"] = before


def difference(case: Case) -> str:
    """What is wrong about a case; empty if nothing is."""
    image = image_of(case)
    wanted, bound = reference(case, image)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = computed(case, image)
    if image.dtype.kind != "f":
        bits = 8 * image.dtype.itemsize
        apart = (got.astype(object) - wanted) % (1 << bits)
        wrong = np.argwhere(apart != 0)
        return f"{len(wrong)} values differ, first at {wrong[0]}" if len(wrong) else ""
    excess = np.abs(got - wanted) - bound
    if not (excess <= 0).all():
        at = np.unravel_index(int(np.argmax(excess)), excess.shape)
        return f"{got[at]} is not {wanted[at]} within {bound[at]} at {at}"
    return ""


if __name__ == "__main__":
    sys.exit(run(__doc__, draw, difference))
