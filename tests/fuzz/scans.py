"""Random scans written as ordinary updates, in tiles, in vectors along themselves, and
in whole lines, against the interpreter.

    python -m tests.fuzz.scans --cases 1000 --seed 1

Integers are compared bit for bit. Floats are compared with the same scans in float64,
within a bound that is computed from the precision, the scans' impulse responses and the
growth within tiles. Images are as large as what is read of them, so that reading
outside fails.
"""

from __future__ import annotations

import random
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parhelion as hl
from parhelion.interp import interpret
from parhelion.recfilter.coefficients import continuation, growth
from tests.fuzz.numbered import run
from tests.fuzz.recursive import coefficients_of

Array = NDArray[Any]


@dataclass(frozen=True)
class Scan:
    """own: what the old value at the point is multiplied with: a number, 0 for none, or
    "pattern". rest: what is added: "", "image" or "pattern". first, points: in the
    order in which the scan goes. low: of its RVar. lines: whether other dimensions have
    RVars, too. param: whether the number of points is a Param. width: of tiles, 0 for
    none. lanes: of the vectors along a running sum that has no tiles, 0 for none.
    order: of the terms.
    """

    dim: int
    causal: bool
    feedback: tuple[float, ...]
    own: float | str
    rest: str
    first: int
    points: int
    low: int
    lines: bool
    param: bool
    width: int
    lanes: int
    order: int


@dataclass(frozen=True)
class Case:
    """Scans over an image of some extents, x first. between: whether there is another
    update before each scan, and after the last. read: whether another Func reads it.
    twice: whether values are Tuples of two, the second with other images."""

    type: str
    extents: tuple[int, ...]
    scans: tuple[Scan, ...]
    between: bool
    read: bool
    twice: bool
    seed: int


def draw(rng: random.Random) -> Case:
    """A case of 1 to 3 dimensions and 1 to 3 scans of orders 1 to 4."""
    dims = rng.choice([1, 1, 2, 2, 2, 3])
    most = {1: 600, 2: 80, 3: 24}[dims]
    extents = tuple([rng.randrange(6, most) for _ in range(dims)])
    t = rng.choice(["float32", "float32", "float64", "int32", "uint8", "int16"])
    scans = tuple([_scan(rng, t, extents) for _ in range(rng.choice([1, 1, 1, 2, 3]))])
    return Case(
        t,
        extents,
        scans,
        rng.random() < 0.4,
        rng.random() < 0.4,
        rng.random() < 0.25,
        rng.randrange(1 << 30),
    )


def _scan(rng: random.Random, t: str, extents: tuple[int, ...]) -> Scan:
    dim, order = rng.randrange(len(extents)), rng.choice([1, 1, 2, 2, 3, 4])
    feedback = coefficients_of(rng, t, order)[1:]
    if rng.random() < 0.3:  # reads some of the values only
        kept = rng.randrange(order)
        feedback = tuple([a / 2 if k == kept else 0 for k, a in enumerate(feedback)])
    if not t.startswith("float"):
        feedback = tuple([int(a) for a in feedback])
    if not any(feedback):
        feedback = (*feedback[:-1], 1)
    lanes = rng.choice([2, 4, 5, 8, 16]) if rng.random() < 0.2 else 0
    if lanes:
        order, feedback = 1, (1,)
    first = rng.choice([order, rng.randrange(order, extents[dim])])
    left = extents[dim] - first
    own: list[float | str] = [0, 1, 1, 2, "pattern"]
    return Scan(
        dim,
        rng.random() < 0.5,
        feedback,
        rng.choice(own),
        rng.choice(["", "image", "image", "pattern"]),
        first,
        rng.choice([left, left, rng.randrange(1, left + 1)]),
        rng.choice([0, 0, first, 5, -3]),
        rng.random() < 0.3,
        rng.random() < 0.3,
        max(order, rng.choice([order, order + 1, 8, 13, 16, 32]))
        if rng.random() < 0.85 and not lanes
        else 0,
        lanes,
        rng.randrange(1 << 30),
    )


# The pipeline.


def _number(a: float, t: Any) -> Any:
    return hl.cast(t, a)


def _pattern(at: tuple[Any, ...], t: Any) -> Any:
    """0, 1 or 2; of floats, the quarter of it."""
    whole = sum([(k + 1) * c for k, c in enumerate(at)], hl.i32(0)) % 3
    return hl.cast(t, whole) / 4 if t.is_float() else hl.cast(t, whole)


def _joined(terms: list[tuple[int, Any]], rng: random.Random, t: Any) -> Any:
    """The sum of terms with their signs, in any order and grouping."""
    rng.shuffle(terms)
    if len(terms) == 1:
        sign, one = terms[0]
        return one if sign > 0 else _number(0, t) - one
    at = rng.randrange(1, len(terms))
    left = _joined(terms[:at], rng, t)
    return left + _joined(terms[at:], rng, t)


def build(case: Case, images: list[Array], tiled: bool) -> hl.Func:
    """The pipeline, its scans in tiles or not."""
    dims = hl.vars(" ".join("xyz"[: len(case.extents)]))
    t = hl.Buffer(images[0]).type()
    f = hl.Func("f")
    count = 2 if case.twice else 1
    buffers = [hl.Buffer(a) for a in images]

    def values(at: tuple[Any, ...], one: Any) -> Any:
        made = [one(at, k) for k in range(count)]
        return hl.Tuple(*made) if count > 1 else made[0]

    def old(at: tuple[Any, ...], k: int) -> Any:
        return f[at][k] if count > 1 else f[at]

    f[dims] = values(dims, lambda at, k: buffers[k][at])
    for scan in case.scans:
        if case.between:
            f[dims] = values(dims, lambda at, k: old(at, k) + buffers[k][at])
        _update(f, case, scan, dims, values, old, buffers, t)
        number = len(f._function.updates) - 1
        if tiled and scan.width:
            r = f.rvars(number)[0]
            f.update(number).tile_scan(r, scan.width, reassociate=t.is_float())
        elif tiled and scan.lanes:
            r = f.rvars(number)[0]
            f.update(number).atomic().vectorize(r, scan.lanes)
    if case.between:
        f[dims] = values(dims, lambda at, k: old(at, k) + buffers[k][at])
    if not case.read:
        return f
    f.compute_root()
    g = hl.Func("g")
    g[dims] = values(dims, lambda at, k: old(at, k) * _number(2, t))
    return g


def _update(
    f: hl.Func,
    case: Case,
    scan: Scan,
    dims: tuple[Any, ...],
    values: Any,
    old: Any,
    buffers: list[hl.Buffer],
    t: Any,
) -> None:
    points: Any = scan.points
    if scan.param:
        points = hl.Param(hl.Int(32), scan.points)
    others = [n for k, n in enumerate(case.extents) if k != scan.dim]
    ranges = [(scan.low, points)]
    ranges += [(0, n) for n in others] if scan.lines else []
    r = hl.RDom(ranges)
    rvars = [r[k] for k in range(len(ranges))]
    last = case.extents[scan.dim] - 1
    place = rvars[0] + (scan.first - scan.low)
    step = 1 if scan.causal else -1
    at = list(rvars[1:] if scan.lines else [d for d in dims if d is not dims[scan.dim]])
    at.insert(scan.dim, place if scan.causal else last - place)

    def total(point: tuple[Any, ...], k: int) -> Any:
        rng = random.Random(scan.order)
        terms: list[tuple[int, Any]] = []
        if scan.own == "pattern":
            terms.append((1, _pattern(point, t) * old(point, k)))
        elif scan.own == 1:
            terms.append((1, old(point, k)))
        elif scan.own:
            terms.append((1, _number(float(scan.own), t) * old(point, k)))
        for j, a in enumerate(scan.feedback, 1):
            back = list(point)
            back[scan.dim] = back[scan.dim] - step * j
            if a:
                terms.append((1, _signed(a, old(tuple(back), k), t, rng)))
        if scan.rest:
            image = scan.rest == "image"
            terms.append((1, buffers[k][point] if image else _pattern(point, t)))
        return _joined(terms, rng, t)

    f[tuple(at)] = values(tuple(at), total)


def _signed(a: float, value: Any, t: Any, rng: random.Random) -> Any:
    if a == 1:
        return value
    if a < 0 and not t.is_int_or_uint():
        return _number(a, t) * value
    size = (
        value * _number(abs(a), t) if rng.random() < 0.5 else _number(abs(a), t) * value
    )
    return size if a > 0 else _number(0, t) - size


# What is right.


def reference(case: Case, image: Array) -> tuple[Array, Array]:
    """What floats come to in float64, and a bound for the error of each value. Arrays
    are indexed in the order of the dimensions."""
    info = np.finfo(image.dtype)
    eps, least = float(info.eps), float(info.tiny)
    inp = image.T.astype(np.float64)
    places = np.indices(inp.shape)
    pattern = np.tensordot(np.arange(1, len(places) + 1), places, 1) % 3 / 4
    y, error = inp.copy(), np.zeros(inp.shape)
    # Below the least of the normal numbers, digits are lost.
    for scan in case.scans:
        if case.between:
            y = y + inp
            error = error + eps * np.abs(y)
        y, error = _scanned(scan, y, error + least, inp, pattern, eps)
    if case.between:
        y = y + inp
        error = error + eps * np.abs(y)
    return (2 * y, 2 * error) if case.read else (y, error)


def _scanned(
    scan: Scan, y: Array, error: Array, inp: Array, pattern: Array, eps: float
) -> tuple[Array, Array]:
    def line(a: Array) -> Array:
        moved = np.moveaxis(a, scan.dim, 0)
        return moved if scan.causal else moved[::-1]

    y, error = y.copy(), error.copy()
    v, e, order = line(y), line(error), len(scan.feedback)
    own = line(pattern) if scan.own == "pattern" else float(scan.own)
    own = np.broadcast_to(own, v.shape)
    rest = line({"": 0 * inp, "image": inp, "pattern": pattern}[scan.rest])
    left = np.abs(continuation(scan.feedback, scan.points, False))
    response = np.eye(1, scan.points)[0]
    for i in range(scan.points):
        for j in range(1, min(i, order) + 1):
            response[i] += scan.feedback[j - 1] * response[i - j]
    width = scan.width or scan.points
    most = growth(scan.feedback, width) if width < scan.points else 1.0
    before = e[scan.first - order : scan.first][::-1].copy()
    made = np.zeros((scan.points, *v.shape[1:]))
    for i in range(scan.points):
        k = scan.first + i
        terms = [own[k] * v[k], rest[k]]
        terms += [a * v[k - j] for j, a in enumerate(scan.feedback, 1)]
        size = sum([np.abs(one) for one in terms])
        made[i] = np.abs(own[k]) * e[k]
        made[i] += (order + 5) ** 2 * eps * (1 + most) * size
        v[k] = sum(terms)
    for i in range(scan.points):
        e[scan.first + i] = np.tensordot(
            np.abs(response[: i + 1])[::-1], made[: i + 1], 1
        )
        e[scan.first + i] += np.tensordot(left[i], before, 1)
    return y, error


def images_of(case: Case) -> list[Array]:
    """An image for each value."""
    rng = np.random.default_rng(case.seed)
    shape, t = case.extents[::-1], np.dtype(case.type)
    if t.kind == "f":
        return [rng.standard_normal(shape).astype(t) for _ in range(1 + case.twice)]
    info = np.iinfo(t)
    return [
        rng.integers(info.min, info.max, shape, t, endpoint=True)
        for _ in range(1 + case.twice)
    ]


def realized(case: Case, images: list[Array], tiled: bool) -> list[Array]:
    made = build(case, images, tiled).realize(list(case.extents))
    return [np.asarray(b) for b in (made if isinstance(made, tuple) else (made,))]


def difference(case: Case) -> str:
    """What is wrong about a case; empty if nothing is."""
    images = images_of(case)
    box = [(0, n) for n in case.extents]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [a.T for a in interpret(build(case, images, True)._function, box)]
        whole, tiled = [realized(case, images, t) for t in (False, True)]
    for k, image in enumerate(images):
        found = {"whole lines": whole[k], "tiles": tiled[k]}
        if image.dtype.kind != "f":
            for name, got in found.items():
                wrong = np.argwhere(got != wanted[k])
                if len(wrong):
                    return f"{name}: {len(wrong)} values differ, first at {wrong[0]}"
            continue
        exact, bound = [a.T for a in reference(case, image)]
        for name, got in {**found, "the interpreter": wanted[k]}.items():
            excess = np.abs(got - exact) - bound
            if not (excess <= 0).all():
                at = np.unravel_index(int(np.argmax(excess)), excess.shape)
                return f"{name}: {got[at]}, not {exact[at]} within {bound[at]} at {at}"
    return ""


if __name__ == "__main__":
    sys.exit(run(__doc__, draw, difference))
