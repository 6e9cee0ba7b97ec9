"""Definitions that change what is there: updates, reductions and their schedules."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")


def test_points_rows_and_columns() -> None:
    f = hl.Func("patched")
    f[x, y] = x + y
    f[3, 2] = 42
    f[x, y] = f[x, y] + 5
    f[x, 1] = f[x, 0] * f[x, 4]
    f[0, y] = f[0, y] / f[2, y]
    f[x, x + 1] = x + 8
    f[y / 2, y] = f[0, y] * 17
    size = 12
    a = np.add.outer(np.arange(size), np.arange(size)).astype(np.int32)  # a[y, x]
    a[2, 3] = 42
    a += 5
    a[1] = a[0] * a[4]
    a[:, 0] //= a[:, 2]
    for i in range(size - 1):
        a[i + 1, i] = i + 8
    for j in range(size):
        a[j, j // 2] = a[j, 0] * 17
    # The fifth update writes one row more than the image is wide.
    out = f.realize([size - 1, size])
    assert np.array_equal(np.asarray(out), a[:, : size - 1])


def test_loads_and_stores_of_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    g = hl.Func("stepped")
    g[x, y] = x + y
    g[1, 1] = 42
    g[x, 0] = g[x, 1]
    g.trace_stores().trace_loads()
    g.realize([2, 2])
    assert capsys.readouterr().out.splitlines()[1:-1] == [
        "Store stepped.0(0, 0) = 0",
        "Store stepped.0(1, 0) = 1",
        "Store stepped.0(0, 1) = 1",
        "Store stepped.0(1, 1) = 2",
        "Store stepped.0(1, 1) = 42",
        "Load stepped.0(0, 1) = 1",
        "Store stepped.0(0, 0) = 1",
        "Load stepped.0(1, 1) = 42",
        "Store stepped.0(1, 0) = 42",
    ]


def test_a_range_of_rows() -> None:
    f = hl.Func("squared")
    f[x, y] = x + y
    r = hl.RDom([(0, 5)])
    f[x, r] = f[x, r] * f[x, r]
    a = np.add.outer(np.arange(9), np.arange(7))
    a[:5] **= 2
    assert np.array_equal(np.asarray(f.realize([7, 9])), a)


def test_a_histogram() -> None:
    pixels = np.random.default_rng(5).integers(0, 256, (13, 17), np.uint8)
    image = hl.Buffer(pixels)
    bins = hl.Func("bins")
    bins[x] = 0
    r = hl.RDom([(0, image.width()), (0, image.height())])
    bins[image[r.x, r.y]] += 1
    expected = np.bincount(pixels.ravel(), minlength=256)
    assert np.array_equal(np.asarray(bins.realize([256])), expected)


def test_each_step_has_a_schedule() -> None:
    f = hl.Func("steps")
    f[x, y] = x * y
    f[x, 1] = f[x, 0]
    f[1, y] = f[0, y] + 2
    yo, yi = hl.vars("yo yi")
    f.vectorize(x, 4).parallel(y)
    f.update(0).vectorize(x, 4)
    f.update(1).split(y, yo, yi, 4).parallel(yo)
    a = np.multiply.outer(np.arange(16), np.arange(16))
    a[1] = a[0]
    a[:, 1] = a[:, 0] + 2
    assert np.array_equal(np.asarray(f.realize([16, 16])), a)


def test_a_reduction_used_by_another_func() -> None:
    made, used = hl.funcs("counted used")
    made[x] = x * 17
    made[x] += 1
    used[x] = 2 * made[x]
    assert np.array_equal(np.asarray(used.realize([10])), 2 * (17 * np.arange(10) + 1))


@pytest.mark.parametrize("which", ["pure", "update", "both"])
def test_a_func_computed_inside_a_reduction(which: str) -> None:
    made, used = hl.funcs("inner outer")
    made[x] = x * 17
    if which == "update":
        used[x] = x
    else:
        used[x] = 2 * made[x]
    if which == "pure":
        used[x] += 1
    else:
        used[x] += made[x]
    made.compute_at(used, x)
    i = np.arange(10)
    expected = {"pure": 34 * i + 1, "update": 18 * i, "both": 51 * i}[which]
    assert np.array_equal(np.asarray(used.realize([10])), expected)


def test_a_func_computed_inside_the_loop_of_an_rvar() -> None:
    made, used = hl.funcs("by_r total")
    r = hl.RDom([(0, 5)])
    made[x] = x % 8
    used[x] = x + 10
    used[x] += r + made[x + r]
    made.compute_at(used, r)
    expected = [i + 10 + sum(k + (i + k) % 8 for k in range(5)) for i in range(10)]
    assert np.array_equal(np.asarray(used.realize([10])), expected)


def test_a_sum_over_a_square() -> None:
    pixels = np.random.default_rng(6).integers(0, 256, (9, 11), np.uint8)
    held = hl.BoundaryConditions.repeat_edge(hl.Buffer(pixels))
    r = hl.RDom([(-2, 5), (-2, 5)])
    total, mean = hl.funcs("total mean")
    total[x, y] = 0
    total[x, y] += hl.i32(held[x + r.x, y + r.y])
    mean[x, y] = hl.u8(total[x, y] / 25)
    wide = np.pad(pixels.astype(int), 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(wide, (5, 5))
    expected = windows.sum((2, 3)) // 25
    assert np.array_equal(np.asarray(mean.realize([11, 9])), expected)
    inline = hl.Func("inline")
    inline[x, y] = hl.u8(hl.sum(hl.i32(held[x + r.x, y + r.y])) / 25)
    assert np.array_equal(np.asarray(inline.realize([11, 9])), expected)


def test_conditions_on_a_domain() -> None:
    disc = hl.Func("disc")
    disc[x, y] = x + y
    r = hl.RDom([(0, 9), (0, 9)])
    r.where((r.x - 4) * (r.x - 4) + (r.y - 4) * (r.y - 4) <= 12)
    disc[r.x, r.y] *= -1
    j, i = np.mgrid[:9, :9]
    a = np.where((i - 4) ** 2 + (j - 4) ** 2 <= 12, -(i + j), i + j)
    assert np.array_equal(np.asarray(disc.realize([9, 9])), a)

    wedge = hl.Func("wedge")
    wedge[x, y] = 1
    s = hl.RDom([(0, 8), (0, 10)])
    s.where(s.x + s.y > 4)
    s.where(2 * s.y - s.x < 11)
    wedge[s.x, s.y] += s.x
    j, i = np.mgrid[:10, :10]
    inside = (i + j > 4) & (2 * j - i < 11) & (i < 8)
    assert np.array_equal(
        np.asarray(wedge.realize([10, 10])), np.where(inside, 1 + i, 1)
    )


def test_conditions_on_values() -> None:
    f, g = hl.funcs("tested changed")
    f[x, y] = 3 * x + y
    g[x, y] = x - y
    r = hl.RDom([(0, 6), (0, 6)])
    r.where(f[r.x, r.y] >= 5)
    r.where(f[r.x, r.y] <= 9)
    f[r.x, r.y] /= 4
    f.compute_root()
    s = hl.RDom([(1, 4), (1, 4)])
    s.where(f[s.x, s.y] < 3)
    g[s.x, s.y] += 100
    j, i = np.mgrid[:6, :6]
    a = 3 * i + j
    a = np.where((a >= 5) & (a <= 9), a // 4, a)
    touched = (a < 3) & (i >= 1) & (i < 5) & (j >= 1) & (j < 5)
    assert np.array_equal(np.asarray(g.realize([6, 6])), i - j + 100 * touched)
