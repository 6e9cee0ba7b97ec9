"""Random updates under random directives: what is accepted gives the same values."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.schedule.rules import ScheduleWarning

x, y, xi = hl.Var("x"), hl.Var("y"), hl.Var("xi")
SIZE = (13, 9)


def index(rng: random.Random, r: hl.RDom, own: Any, size: int) -> Any:
    """A coordinate inside [0, size): the Func's own Var, or something over the RDom."""
    pick = rng.random()
    if pick < 0.35:
        return own
    e = rng.choice([r.x, r.y, r.x + r.y, 2 * r.x + 1, r.y + 2, 3 * r.y + r.x, r.x + 4])
    return e if pick < 0.8 else hl.clamp(e, 0, size - 1)


def update(rng: random.Random) -> tuple[hl.Func, hl.RDom]:
    f = hl.Func("f")
    r = hl.RDom([(0, rng.choice((1, 2, 3))), (0, rng.choice((2, 3)))], "r")
    f[x, y] = x + 3 * y
    left = [index(rng, r, v, n) for v, n in zip((x, y), SIZE, strict=True)]
    read = [
        own if own is v else rng.choice([own, index(rng, r, own, n)])
        for own, v, n in zip(left, (x, y), SIZE, strict=True)
    ]
    # A pure Var stands alone at its own place, everywhere.
    read = [
        e if left[d] is (x, y)[d] or e is not (x, y)[d] else r.x
        for d, e in enumerate(read)
    ]
    old, other = f[tuple(read)], r.x * 5 + r.y
    f[tuple(left)] = rng.choice(
        [old + other, old * 3 + other, hl.max(old, other * 7 % 11), other - old]
    )
    return f, r


def direct(rng: random.Random, f: hl.Func, r: hl.RDom) -> int:
    """Tries random directives on the update; returns how many were accepted."""
    s = f.update(0)
    ro, ri, t = hl.RVar("ro"), hl.RVar("ri"), hl.RVar("t")
    tries: list[Callable[[], object]] = [
        lambda: s.reorder(r.y, r.x),
        lambda: s.parallel(r.x),
        lambda: s.parallel(r.y),
        lambda: s.vectorize(r.x),
        lambda: s.vectorize(r.y, 2),
        lambda: s.unroll(r.x),
        lambda: s.split(r.x, ro, ri, 2),
        lambda: s.fuse(r.x, r.y, t).parallel(t),
        lambda: s.fuse(r.y, r.x, t),
        lambda: s.reorder(x, r.x),
        lambda: s.reorder(x, y, r.x, r.y),
        lambda: s.vectorize(x, 4),
        lambda: s.parallel(y),
        lambda: s.unroll(y, 2, hl.TailStrategy.RoundUp),
    ]
    accepted = 0
    for attempt in rng.sample(tries, 5):
        try:
            attempt()
        except hl.ScheduleError:
            continue
        accepted += 1
    return accepted


@pytest.mark.parametrize("seed", range(6))
def test_accepted_directives_keep_the_values(seed: int) -> None:
    rng = random.Random(seed)
    accepted = 0
    for _ in range(8):
        f, r = update(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScheduleWarning)
            accepted += direct(rng, f, r)
            g = hl.Func("g")
            g[x, y] = f[x, y]
            f.compute_root()
            got = np.asarray(g.realize(list(SIZE)))
        want = interpret(g._function, [(0, n) for n in SIZE])[0].transpose()
        np.testing.assert_array_equal(got, want)
    assert accepted > 4
