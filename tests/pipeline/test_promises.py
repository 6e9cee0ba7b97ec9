"""A promise that is broken gives other pixels, and never an access out of bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl


@pytest.mark.parametrize("lanes", [1, 8])
def test_reads_stay_inside_the_promise(lanes: int) -> None:
    x = hl.Var("x")
    index = hl.Buffer(np.array([0, 9, -(2**31), 2**31 - 1, 5, 10, -1, 3], np.int32))
    table = hl.Buffer(np.arange(10, dtype=np.int32) * 11)
    f = hl.Func("f")
    f[x] = table[hl.unsafe_promise_clamped(index[x], 0, 9)]
    f.vectorize(x, lanes)
    clamped = np.clip(np.asarray(index), 0, 9)
    assert np.array_equal(np.asarray(f.realize([8])), clamped * 11)


@pytest.mark.parametrize("at_root", [False, True])
def test_writes_stay_inside_the_promise(at_root: bool) -> None:
    x = hl.Var("x")
    index = hl.Buffer(np.array([3, 2**31 - 1, -(2**31), 3, 4], np.int32))
    f, g = hl.Func("f"), hl.Func("g")
    r = hl.RDom([(0, 5)])
    f[x] = 0
    f[hl.unsafe_promise_clamped(index[r], 0, 4)] += 1
    g[x] = f[x]
    if at_root:
        f.compute_root()
    else:
        f.compute_at(g, x)
    assert list(np.asarray(g.realize([5]))) == [1, 0, 0, 2, 2]


def test_a_promise_that_is_known_to_hold_costs_nothing(tmp_path: Path) -> None:
    x = hl.Var("x")
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    table = hl.Buffer(np.arange(256, dtype=np.uint8), "table")
    f = hl.Func("f")
    f[x] = table[hl.unsafe_promise_clamped(hl.i32(image[x]), 0, 255)]
    path = tmp_path / "f.stmt"
    f.compile_to_lowered_stmt(str(path), [image], hl.StmtOutputFormat.Text)
    body = path.read_text()
    assert "min(" not in body and "max(" not in body
