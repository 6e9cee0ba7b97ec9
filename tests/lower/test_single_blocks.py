"""Funcs computed for a block of an update: the middle of the image has no guards."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.stmt import For, If, Stmt
from parhelion.lower.passes import lower
from tests.support.checking import check
from tests.support.spec import spec_of

i, iv, j, jv, iu = hl.vars("i iv j jv iu")


def nearest(block: int | None) -> hl.Func:
    """The number of the least of many sums, which are computed for 32 points at once,
    in blocks of so many by 16; with no schedule if that is None."""
    apart, best = hl.Func("apart"), hl.Func("best")
    k, r = hl.RDom([(0, 40)], "k"), hl.RDom([(1, hl.Param(hl.Int(32), "n", 70))], "r")
    apart[j, i] = 0
    term = (i * 7 + k.x * 3) % 11 - (j * 5 + k.x) % 13
    apart[j, i] += term * term
    best[i] = (0, apart[0, i])
    least = apart[r.x, i] < best[i][1]
    best[i] = (
        hl.select(least, r.x, best[i][0]),
        hl.select(least, apart[r.x, i], best[i][1]),
    )
    out = hl.Func("out")
    out[i] = best[i][0] * 1000 + best[i][1]
    if block is not None:
        best.compute_root()
        best.update().split(i, i, iv, 32).reorder(iv, r.x, i)
        apart.compute_at(best, i)
        best.update().vectorize(iv, 16).unroll(iv)
        update = apart.update().split(j, j, jv, 16).split(i, i, iu, block)
        update.reorder(jv, iu, k.x, j, i).vectorize(jv).unroll(iu)
    return out


def loops(s: Stmt, name: str) -> list[For]:
    found: list[For] = []
    stack: list[object] = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, For) and n.var.name.startswith(name):
            found.append(n)
        if isinstance(n, Stmt):
            stack += n.children()
    return found


def guards(s: object) -> int:
    inside = s.children() if isinstance(s, Stmt) else ()
    return isinstance(s, If) + sum(map(guards, inside))


def lowered(block: int) -> Stmt:
    return lower(spec_of(nearest(block)), name="out").body


def test_one_block_has_no_loop() -> None:
    """A loop of one iteration, for all that was known, kept guards in all copies."""
    body = lowered(32)
    assert not loops(body, "apart.1.s1.i")
    first, *_ = sorted(loops(body, "apart.1.s1.k"), key=guards)
    assert guards(first) == 0


@pytest.mark.parametrize("block", [4, 8, 16])
def test_blocks_of_a_block_have_a_clean_middle(block: int) -> None:
    """The loop around was split where its last iteration begins, and in what ran, the
    loop over the blocks was not split."""
    around = [n for n in loops(lowered(block), "best.s1.i") if loops(n, "apart")]
    assert not any(isinstance(n.body, If) for n in around)
    inside = [loops(n, "apart.1.s1.k") for n in around]
    assert min([guards(n) for n in sum(inside, [])]) == 0


@pytest.mark.parametrize("size", [1, 31, 32, 64, 77])
def test_they_compute_the_same(size: int) -> None:
    for block in (None, 4, 16, 32):
        check(partial(nearest, block), [size])


@pytest.mark.parametrize("last", [1, 2, 97, 98])
def test_a_user_may_ask_for_a_steady_state_of_few_iterations(last: int) -> None:
    """Of which the compiler makes none by itself."""
    x, r, f = hl.Var("x"), hl.RDom([(0, 100)], "r"), hl.Func("f")
    few = r.x < last if last < 50 else r.x >= last
    f[x] = 0
    f[x] += hl.select(hl.likely(few), x * 2, r.x)
    f.update().always_partition(r.x)
    n = np.arange(100)
    where = n < last if last < 50 else n >= last
    wanted = [np.where(where, k * 2, n).sum() for k in range(3)]
    assert np.asarray(f.realize([3])).tolist() == wanted
