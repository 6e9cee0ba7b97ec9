"""Random recursive filters on random chunks against one run on the whole array.

A case is one to four filters of any order along the axes of an array, forwards and
backwards, with feedforward coefficients or without: of integers, which are to be equal,
or of floats, which are to agree as float64 does.
"""

from __future__ import annotations

import random
from typing import Any

import dask.array as da
import numpy as np

import parhelion as hl
import parhelion.dask as hd
from parhelion.recfilter import RecFilter, RecFilterDim

Pixels = np.ndarray[Any, np.dtype[Any]]
TYPES = (hl.UInt(8), hl.Int(32), hl.UInt(64), hl.Float(64), hl.Float(64))


def _coefficients(r: random.Random, floats: bool) -> list[Any]:
    """[a0, a1, …] of a stable filter; of integers, of a sum or what is like it."""
    if not floats:
        return r.choice(([1, 1], [1, 2, -1], [3, 0, 1], [1, 1, 0, -1, 1], [2]))
    poles = [r.uniform(-0.95, 0.95) for _ in range(r.randint(0, 4))]
    back = (-np.atleast_1d(np.poly(poles))[1:]).tolist()
    return [r.uniform(0.2, 2), *back]


def check(seed: int) -> str:
    """What one case has come to: "same". Raises AssertionError, with how it was made,
    if the results differ."""
    r = random.Random(seed)
    t = r.choice(TYPES)
    floats = t.is_float()
    shape = tuple([r.randint(1, 40) for _ in range(r.choice((1, 2, 2, 3)))])
    pixels: Pixels = np.random.default_rng(seed).integers(0, 200, shape)
    pixels = pixels.astype(t.to_numpy())
    image = hl.ImageParam(t, len(shape), "image")
    dims = [RecFilterDim(f"d{k}", n) for k, n in enumerate(reversed(shape))]
    f = RecFilter("f")
    f[tuple(dims)] = image[tuple(dims)] + 1
    told = [f"{t} {shape}"]
    for _ in range(r.randint(1, 3)):
        dim = r.choice(dims)
        way = +dim if r.random() < 0.6 else -dim
        back = _coefficients(r, floats)
        forward = [1]
        if r.random() < 0.4:
            forward = [r.randint(-2, 3) for _ in range(r.randint(1, 5))]
        f.add_filter(way, back, forward)
        told.append(f"along {dim.name()} {way}: {back}, {forward}")
    chunks = []
    for n in shape:  # few sizes: each is compiled
        size = r.choice((1, 2, 5, 20, 40))
        whole, rest = divmod(n, size)
        sizes = [size] * whole + [rest] * bool(rest)
        r.shuffle(sizes)
        chunks.append(tuple(sizes))
    told.append(f"chunks {chunks}")
    lazy = hd.scan(f, da.from_array(pixels, chunks=tuple(chunks)))
    found = lazy.compute(scheduler="synchronous")
    image.set(pixels)
    made: Any = f.realize()
    exact = np.asarray(made)
    same = found.dtype == exact.dtype and found.shape == exact.shape
    if floats:
        near = 1e-9 * max(1.0, float(np.abs(exact).max()))
        same = same and bool(np.abs(found - exact).max() <= near)
    if not same or not (floats or np.array_equal(found, exact)):
        raise AssertionError("\n".join([f"scan {seed} differs", *told]))
    return "same"
