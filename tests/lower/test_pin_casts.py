"""Indices that are data: kept in bounds once, not once for each neighbour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl

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
