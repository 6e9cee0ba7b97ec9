"""Indices that are data: kept in bounds once, not once for each neighbour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret

SLOPE = 5.0


def neighbours() -> tuple[hl.Func, hl.ImageParam, hl.Param]:
    """Linear interpolation in a table computed for the purpose, whose size depends on
    a parameter."""
    x, z = hl.vars("x z")
    image = hl.ImageParam(hl.Float(32), 1, "image")
    slope = hl.Param(hl.Float(32), "slope", SLOPE)
    table, f = hl.funcs("table f")
    table[z] = hl.f32(z * z)
    at = hl.clamp(image[x], 0.0, 1.0) * slope
    cell = hl.i32(at)
    share = at - hl.f32(cell)
    f[x] = table[cell] * (1.0 - share) + table[cell + 1] * share + table[cell - 1]
    table.compute_root()
    f.vectorize(x, 8)
    return f, image, slope


def test_neighbours_of_a_pinned_index_are_not_pinned_again(tmp_path: Path) -> None:
    f, image, slope = neighbours()
    path = tmp_path / "f.stmt"
    f.compile_to_lowered_stmt(str(path), [image, slope], hl.StmtOutputFormat.Text)
    text = path.read_text()
    loops = text[text.index("produce f") :]
    # In the loop and in its last vector, which lies inside: a cast, its ends, and the
    # neighbours at constant distances from it. x8(slope) is no end: it is a factor.
    assert loops.count("int32x8(") == 2, loops
    assert loops.count("x8(int32(min(slope") == 2, loops
    assert loops.count("x8(int32(max(slope") == 2, loops
    assert loops.count(" + x8(1 - table.z.min)]") == 2, loops


@pytest.mark.parametrize("slope", [SLOPE, 0.0, -7.0])
def test_neighbours_of_what_is_not_a_number(slope: float) -> None:
    f, image, param = neighbours()
    values = np.array([0, 0.3, 0.99, 1, -3, 8, np.inf, 0.5] * 2, np.float32)
    param.set(slope)
    image.set(values)
    at = np.clip(values, 0, 1) * np.float32(slope)
    cell = at.astype(np.int32)
    share = at - cell.astype(np.float32)
    expected = cell**2 * (1 - share) + (cell + 1) ** 2 * share + (cell - 1) ** 2
    np.testing.assert_allclose(np.asarray(f.realize([16])), expected, rtol=1e-5)
    image.set(np.full(16, np.nan, np.float32))
    assert np.isnan(np.asarray(f.realize([16]))).all()


@pytest.mark.parametrize("slope", [2.0**31, -(2.0**31), 1e30, np.nan], ids=str)
def test_regions_of_neighbours_that_overflow(slope: float) -> None:
    f, image, param = neighbours()
    param.set(slope)
    image.set(np.ones(16, np.float32))
    with pytest.raises(hl.BoundsError, match="overflows"):
        f.realize([16])


def promised() -> tuple[hl.Func, hl.ImageParam, hl.Param]:
    """Neighbours of elements that a list names, in a table of a Param's size."""
    x, z = hl.vars("x z")
    places = hl.ImageParam(hl.Int(32), 1, "places")
    end = hl.Param(hl.Int(32), "end", 9)
    table, f = hl.funcs("table f")
    table[z] = z * z
    at = hl.unsafe_promise_clamped(places[x], 0, end)
    f[x] = table[at] + table[at + 3] * 1000 + table[at - 2] * 1000000
    table.compute_root()
    f.vectorize(x, 8)
    return f, places, end


def test_neighbours_of_a_promise_are_not_pinned(tmp_path: Path) -> None:
    f, places, end = promised()
    path = tmp_path / "f.stmt"
    f.compile_to_lowered_stmt(str(path), [places, end], hl.StmtOutputFormat.Text)
    text = path.read_text()
    loops = text[text.index("produce f") :]
    # In the loop and in its last vector: the promise is kept by force, once.
    assert loops.count("x8(end)") == loops.count("x8(0)") == 2, loops


@pytest.mark.parametrize("end", [0, 9, 70])
def test_neighbours_of_a_broken_promise(end: int) -> None:
    f, places, param = promised()
    param.set(end)
    far = np.iinfo(np.int32)
    list_ = np.array([0, 5, -1, 80, far.max, far.min, far.max - 2, 9] * 2, np.int32)
    places.set(list_)
    at = np.clip(list_, 0, end)
    expected = at**2 + (at + 3) ** 2 * 1000 + (at - 2) ** 2 * 1000000
    np.testing.assert_array_equal(np.asarray(f.realize([16])), expected)


def mixed(lanes: int) -> tuple[hl.Func, hl.ImageParam]:
    """Neighbours of a pixel mixed by how far a coordinate is between them, zero beyond
    the image, in whole numbers."""
    x = hl.Var("x")
    image = hl.ImageParam(hl.Float(32), 1, "image")
    outside = hl.BoundaryConditions.constant_exterior(image, 0.0)
    f = hl.Func("f")
    at = hl.f32(x) * 0.75 - 3.5
    left = hl.i32(hl.floor(at))
    share = at - hl.floor(at)
    near, next_ = outside[left], outside[left + 1]
    f[x] = hl.u8(hl.clamp((near + (next_ - near) * share) * 200.0, 0.0, 255.0))
    f.vectorize(x, lanes)
    return f, image


def test_what_is_stored_has_no_ends_by_coordinates(tmp_path: Path) -> None:
    """They would be the same sum once more for each of them, of choices of the ends."""
    f, image = mixed(16)
    path = tmp_path / "f.stmt"
    f.compile_to_lowered_stmt(str(path), [image], hl.StmtOutputFormat.Text)
    text = path.read_text()
    loops = text[text.index("produce f") :]
    stores = loops.count("f[ramp(")
    assert stores and loops.count("uint8x16(") == stores, loops


def test_what_is_stored_is_what_the_definition_says() -> None:
    f, image = mixed(16)
    image.set(np.random.default_rng(3).uniform(-0.5, 1.5, 40).astype(np.float32))
    want = interpret(f._function, [(0, 64)])[0]
    assert np.array_equal(np.asarray(f.realize([64])), want)


def test_what_is_stored_may_be_an_index_and_of_no_number() -> None:
    """NaN is made zero, wherever the ends are for these coordinates."""
    f, image = mixed(16)
    x, z = hl.vars("x z")
    table, g = hl.funcs("table g")
    table[z] = hl.i32(z) * 3 + 1
    g[x] = table[hl.i32(f[x])]
    f.compute_root()
    table.compute_root()
    g.vectorize(x, 16)
    image.set(np.full(40, np.nan, np.float32))
    assert (np.asarray(g.realize([48])) == 1).all()
