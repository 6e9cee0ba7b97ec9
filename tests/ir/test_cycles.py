"""What is left of programs that are gone."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir import node
from parhelion.ir.cycles import sweep_cycles
from parhelion.ir.function import Function
from parhelion.runtime import program

x = hl.Var("x")


def plain(f: hl.Func, i: int) -> None:
    f[x] = x * i


def updated(f: hl.Func, i: int) -> None:
    r = hl.RDom([(0, 5)])
    f[x] = x
    f[x] += r.x * i


def tuples(f: hl.Func, i: int) -> None:
    r = hl.RDom([(0, 5)])
    f[x] = (x + i, x)
    f[x] = (f[x][1] + r.x, f[x][0])


def inside(f: hl.Func, i: int) -> None:
    """Has an update within an update's Func."""
    g = hl.Func("g")
    updated(g, i)
    r = hl.RDom([(0, 5)])
    f[x] = x
    f[x] = hl.max(f[x], g[x] + r.x)
    g.compute_at(f, x)


def factored(f: hl.Func, i: int) -> None:
    r = hl.RDom([(0, 8)])
    f[x] = 0
    f[x] += r.x * (i + 1)
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update(0).split(r.x, ro, ri, 4)
    f.update(0).rfactor(ro, hl.Var("u")).compute_root()


def functions() -> int:
    gc.collect()
    return sum(type(o) is Function for o in gc.get_objects())


def build(define: Callable[[hl.Func, int], None], i: int) -> None:
    f = hl.Func("f")
    define(f, i)
    f.realize([16])


def settle() -> None:
    """Sweeps until nothing goes any more of what other tests have left: programs that
    hold each other go one after the other."""
    before = None
    while before != (before := (functions(), node.table_size())):
        node.sweep()
        sweep_cycles()


@pytest.mark.parametrize("define", [plain, updated, tuples, inside, factored])
def test_programs_that_are_gone_leave_nothing(
    define: Callable[[hl.Func, int], None],
) -> None:
    settle()
    counts = []
    for _ in range(3):
        for i in range(3):
            build(define, i)
        gc.collect()
        for _ in range(3):
            node.sweep()
            sweep_cycles()
            gc.collect()
        counts.append((functions(), node.table_size()))
    assert counts[1] == counts[2]


def test_the_compiler_sweeps_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_sweep_at", sys.maxsize)
    before = functions()
    for i in range(12):
        build(updated, i)
    assert functions() >= before + 12
    # The table has more nodes than this when the next one is compiled.
    monkeypatch.setattr(program, "_sweep_at", 0)
    build(updated, 12)
    assert functions() <= before + 2


def test_pixels_go_with_what_mentions_them() -> None:
    """What images stand for is kept apart from them, and no longer than they are."""
    buffer = hl.Buffer(np.zeros((5, 6), np.float32), "pixels")
    f = hl.Func("f")
    f[x] = buffer[x, 2] + 1
    alive = weakref.ref(buffer)
    del buffer
    gc.collect()
    assert alive() is not None and np.asarray(f.realize([6])).tolist() == [1] * 6
    del f
    for _ in range(3):
        node.sweep()
        sweep_cycles()
        gc.collect()
    assert alive() is None


def test_what_is_held_stays() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    updated(f, 3)
    g[x] = f[x] + f[x + 1]
    e = f[x] + 7
    before = node.table_size()
    sweep_cycles()
    again = f[x] + 7
    assert again._node is e._node
    assert node.table_size() <= before
    got = np.asarray(g.realize([3]))
    assert got.tolist() == [1 + 2 * 30, 3 + 2 * 30, 5 + 2 * 30]
