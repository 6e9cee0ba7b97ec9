"""Untiled filters in plain Halide, and its schedules: what an expert writes by hand.

The definition is the 2015 paper's (section 4), one Func for the scans of each dimension
and one update for each scan. A scan cannot be split along its own dimension by any
directive, so that tiles are strips of whole lines. Zeros before the first point are in
the pure definition, over a few more points: Halide 21 is faster so than with a
condition in each update.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.common import Module
from benchmarks.case import load, zeros
from benchmarks.recursive.case import Array, Run
from benchmarks.recursive.exact import Scan

#: Pixels in a vector: those of 64 bytes.
LANES = 16
#: What is filtered, at coordinates.
Source = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Part:
    """The scans of one dimension.

    scans: a Func with an update for each of `domains`. out: what it made, to be read by
    the next part.
    """

    dim: int
    scans: Any
    domains: Sequence[Any]
    out: Any


@dataclass(frozen=True)
class Image:
    """A size in pixels, and the constructor of values of the type that is filtered
    in."""

    size: tuple[int, int]
    number: Callable[[Any], Any]


def define(hl: Module, source: Source, scans: Sequence[Scan], image: Image) -> Any:
    """The parts of a filter, in the order in which they run."""
    parts: list[Part] = []
    for dim in dict.fromkeys([s.dim for s in scans]):
        mine = [s for s in scans if s.dim == dim]
        parts.append(_part(hl, source, mine, image, len(parts)))
        source = _of(parts[-1].out)
    return parts


def _of(f: Any) -> Source:
    return lambda x, y: f[x, y]


def _part(
    hl: Module, source: Source, scans: Sequence[Scan], image: Image, number: int
) -> Part:
    x, y = hl.Var("x"), hl.Var("y")
    dim, constant = scans[0].dim, image.number
    n, f, out = image.size[dim], hl.Func(f"scans{number}"), hl.Func(f"out{number}")
    v = (x, y)[dim]
    near = [x, y]
    near[dim] = hl.clamp(v, 0, n - 1)
    inside = hl.likely((v >= 0) & (v < n))
    f[x, y] = hl.select(inside, source(*near), constant(0))
    domains = []
    for k, scan in enumerate(scans):
        r = hl.RDom([(0, n)], f"r{number}_{k}")
        domains.append(r)
        first, *back = scan.coefficients

        def at(i: Any, scan: Scan = scan) -> Any:
            place = [x, y]
            place[dim] = i if scan.causal else n - 1 - i
            return f[tuple(place)]

        total = at(r.x) if first == 1 else constant(first) * at(r.x)
        for j, a in enumerate(back, 1):
            term = at(r.x - j)
            total = total + (term if a == 1 else constant(a) * term)
        place = [x, y]
        place[dim] = r.x if scan.causal else n - 1 - r.x
        f[tuple(place)] = total
    out[x, y] = f[x, y]
    return Part(dim, f, domains, out)


# Schedules: each of all parts, the last one's result being the output.


def lines(hl: Module, parts: Sequence[Part]) -> None:
    """Scans along x line by line, lines in parallel; scans along y with vectors across
    columns, strips of columns in parallel."""
    for part in parts:
        _lines(hl, part)
    parts[-1].out.vectorize(hl.Var("x"), LANES).parallel(hl.Var("y"), 8)


def _lines(hl: Module, part: Part) -> None:
    x, y = hl.Var("x"), hl.Var("y")
    part.scans.compute_root().vectorize(x, LANES).parallel(y, 8)
    for k, r in enumerate(part.domains):
        update = part.scans.update(k)
        if part.dim == 0:
            update.reorder(r.x, y).parallel(y, 8)
        else:
            xo, xi = hl.Var("xo"), hl.Var("xi")
            update.split(x, xo, xi, 4 * LANES).reorder(xi, r.x, xo)
            update.vectorize(xi, LANES).parallel(xo)


def transposed(hl: Module, parts: Sequence[Part]) -> None:
    """As `lines`, but what is scanned along x is stored transposed, so that vectors
    across lines are dense; it is turned back before it is scanned along y."""
    x, y, yo, yi = hl.Var("x"), hl.Var("y"), hl.Var("yo"), hl.Var("yi")
    for part in parts:
        if part.dim == 1:
            _lines(hl, part)
            continue
        f = part.scans.compute_root().reorder_storage(y, x)
        f.split(y, yo, yi, 4 * LANES).reorder(yi, x, yo).vectorize(yi, LANES)
        f.parallel(yo)
        for k, r in enumerate(part.domains):
            update = f.update(k).split(y, yo, yi, 4 * LANES)
            update.reorder(yi, r.x, yo).vectorize(yi, LANES).parallel(yo)
        part.out.compute_root().split(y, yo, yi, LANES).reorder(x, yi, yo)
        part.out.vectorize(x, LANES).parallel(yo)
    if parts[-1].dim == 1:
        parts[-1].out.vectorize(x, LANES).parallel(y, 8)


def _strips(hl: Module, parts: Sequence[Part], rows: int, columns: int) -> None:
    """Strips of whole lines in parallel, all scans of one dimension while the strip is
    in the caches; strips of rows are transposed there, for dense vectors."""
    x, y, s, i = hl.Var("x"), hl.Var("y"), hl.Var("s"), hl.Var("i")
    for part in parts:
        f, out = part.scans, part.out
        across, along = (y, x) if part.dim == 0 else (x, y)
        out.compute_root()
        out.split(across, s, i, rows if part.dim == 0 else columns)
        if part.dim == 0:
            out.reorder(x, i, s).vectorize(x, LANES).parallel(s)
            f.reorder_storage(y, x)
        else:
            out.reorder(i, y, s).vectorize(i, LANES).parallel(s)
        f.compute_at(out, s).reorder(across, along).vectorize(across, LANES)
        for k, r in enumerate(part.domains):
            f.update(k).reorder(across, r.x).vectorize(across, LANES)


def strips(hl: Module, parts: Sequence[Part]) -> None:
    """Strips of 16 rows and of 64 columns."""
    _strips(hl, parts, LANES, 4 * LANES)


def wide_strips(hl: Module, parts: Sequence[Part]) -> None:
    """Strips of 32 rows and of 256 columns."""
    _strips(hl, parts, 2 * LANES, 16 * LANES)


#: By name, as in tables.
SCHEDULES: dict[str, Callable[[Module, Sequence[Part]], None]] = {
    "lines parallel": lines,
    "transposed": transposed,
    "strips": strips,
    "wide strips": wide_strips,
}


def prepared(
    image: Array,
    result_type: Any,
    scans: Sequence[Scan],
    schedule: str,
    module: str = "halide",
) -> Run:
    """A compiled filter of an image, under one of the schedules; of ordinary Funcs, so
    that "parhelion" takes the same definition and schedule."""
    hl = load(module)
    inp = hl.Buffer(image)
    whole = np.issubdtype(result_type, np.integer)
    number = hl.i32 if whole else hl.f32
    size = (image.shape[1], image.shape[0])

    def source(x: Any, y: Any) -> Any:
        return number(inp[x, y])

    parts = define(hl, source, scans, Image(size, number))
    SCHEDULES[schedule](hl, parts)
    return _run(hl, parts[-1].out, size, result_type, [image])


def box(image: Array, scans: Sequence[Scan], schedule: str, radius: int) -> Run:
    """A box from a compiled summed-area table."""
    hl = load("halide")
    inp = hl.Buffer(image)
    size = (image.shape[1], image.shape[0])
    parts = define(hl, _of(inp), scans, Image(size, hl.f32))
    SCHEDULES[schedule](hl, parts)
    table = parts[-1].out.compute_root()
    x, y, out = hl.Var("x"), hl.Var("y"), hl.Func("box")

    def at(u: Any, v: Any) -> Any:
        inside = hl.likely((u >= 0) & (v >= 0))
        return hl.select(inside, table[hl.max(u, 0), hl.max(v, 0)], hl.f32(0))

    right, bottom = hl.min(x + radius, size[0] - 1), hl.min(y + radius, size[1] - 1)
    left, top = x - radius - 1, y - radius - 1
    sums = at(right, bottom) - at(left, bottom) - at(right, top) + at(left, top)
    out[x, y] = sums * hl.f32(1 / (2 * radius + 1) ** 2)
    out.vectorize(x, LANES).parallel(y, LANES)
    return _run(hl, out, size, np.float32, [image])


def line(module: str, signal: Array, filters: Sequence[Sequence[float]]) -> Run:
    """Filters along a line, one update for each, serially: no directive makes anything
    else of them. module: "halide" or "parhelion", whose result is an ordinary Func."""
    hl = load(module)
    inp, t = hl.Buffer(signal), hl.Var("t")
    n, f, out = len(signal), hl.Func("scans"), hl.Func("out")
    inside = hl.likely((t >= 0) & (t < n))
    f[t] = hl.select(inside, inp[hl.clamp(t, 0, n - 1)], hl.f32(0))
    for k, (first, *back) in enumerate(filters):
        r = hl.RDom([(0, n)], f"r{k}")
        total = hl.f32(first) * f[r.x]
        for j, a in enumerate(back, 1):
            total = total + hl.f32(a) * f[r.x - j]
        f[r.x] = total
    out[t] = f[t]
    f.compute_root().vectorize(t, LANES)
    for k in range(len(filters)):
        f.update(k).unscheduled()
    out.vectorize(t, LANES)
    return _run(hl, out, (n,), np.float32)


def _run(
    hl: Module,
    out: Any,
    size: tuple[int, ...],
    dtype: Any,
    read: Sequence[Array] | None = None,
) -> Run:
    """A run into memory that is placed as new arrays are that are computed from those
    that it reads."""
    result = zeros(size[::-1], dtype, read)
    for name, n in zip("xy" if len(size) == 2 else "t", size, strict=True):
        out.bound(hl.Var(name), 0, n)
    with warnings.catch_warnings():
        # Halide warns of every literal that float32 rounds.
        warnings.filterwarnings("ignore", message="The floating-point value")
        out.compile_jit()
    buffer = hl.Buffer(result)

    def run() -> Array:
        out.realize(buffer)
        return result

    return run
