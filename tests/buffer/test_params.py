"""`Param` and `ImageParam`: values, ranges, promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.support.realized import single


def test_param_names_and_values() -> None:
    p = hl.Param(hl.Float(32))
    assert p.get() is None
    assert hl.Param(hl.Int(32), 5).get() == 5
    q = hl.Param(hl.Int(32), "threshold", 7)
    assert (q.name(), q.get(), q.type()) == ("threshold", 7, hl.Int(32))
    q.set(np.int64(9))
    assert q.get() == 9
    assert "threshold" in repr(q)
    assert isinstance(q + 1, hl.Expr)
    assert (q + 1).type() is hl.Int(32)


def test_doubles_keep_their_digits() -> None:
    p = hl.Param(hl.Float(64), 0.1)
    f = hl.Func("f")
    f[hl.Var("x")] = p * 3.0
    assert single(f.realize([1]))[0] == 0.1 * 3.0


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (hl.UInt(8), 256),
        (hl.UInt(8), -1),
        (hl.Int(32), 2.5),
        (hl.Int(32), 2**40),
        (hl.Float(32), 1e300),
        (hl.Bool(), 2),
    ],
)
def test_values_that_do_not_fit_are_refused(type: Any, value: Any) -> None:
    p = hl.Param(type, "p")
    with pytest.raises(hl.LiteralError, match="Param 'p") as caught:
        p.set(value)
    assert "test_params.py" in str(caught.value)
    with pytest.raises(hl.TypeMismatchError):
        p.set("3")  # type: ignore[arg-type]


def test_a_param_needs_a_scalar_type() -> None:
    with pytest.raises(hl.TypeMismatchError):
        hl.Param("x")
    with pytest.raises(hl.TypeMismatchError):
        hl.Param(hl.Int(32, 4))


def test_ranges_are_kept_and_checked_at_run_time() -> None:
    p = hl.Param(hl.Int(32), "level", 3)
    assert not p.min_value().defined()
    p.set_range(0, 5)
    assert p.max_value().defined()
    f = hl.Func("f")
    f[hl.Var("x")] = p + 1
    assert single(f.realize([1]))[0] == 4
    p.set(7)
    with pytest.raises(hl.BoundsError, match="'level.* is 7, above its maximum 5"):
        f.realize([1])
    p.set(-1)
    with pytest.raises(hl.BoundsError, match="is -1, below its minimum 0"):
        f.realize([1])
    with pytest.raises(hl.BoundsError, match="empty"):
        p.set_range(4, 2)


def test_image_param_takes_arrays_and_buffers() -> None:
    im = hl.ImageParam(hl.UInt(8), 2, "im")
    assert not im.get().defined()
    a = np.arange(12, dtype=np.uint8).reshape(3, 4)
    im.set(a)
    assert np.shares_memory(np.asarray(im.get()), a)
    im.set(hl.Buffer(a))
    im.reset()
    assert not im.get().defined()
    with pytest.raises(hl.TypeMismatchError, match="of type uint8.*is uint16"):
        im.set(a.astype(np.uint16))
    with pytest.raises(hl.TypeMismatchError, match="has 2 dimensions.*has 1"):
        im.set(a[0])


def test_image_param_dimensions_are_expressions() -> None:
    im = hl.ImageParam(hl.UInt(8), 3, "im")
    for e in (
        im.width(),
        im.height(),
        im.channels(),
        im.left(),
        im.right(),
        im.top(),
        im.bottom(),
        im.dim(2).min(),
        im.dim(2).max(),
        im.dim(2).extent(),
        im.dim(2).stride(),
    ):
        assert isinstance(e, hl.Expr)
        assert e.type() is hl.Int(32)
    with pytest.raises(hl.BoundsError, match="no dimension 3"):
        im.dim(3)
    im.dim(2).set_bounds(0, 3).dim(0).set_estimate(0, 100)
    assert repr(im.dim(2).extent()) == repr(hl.Expr(3))


def test_image_extents_in_expressions_are_those_of_the_run() -> None:
    im = hl.ImageParam(hl.UInt(8), 2, "im")
    x, y = hl.vars("x y")
    f = hl.Func("f")
    f[x, y] = im.width() * 100 + im.height() * 10 + im.left() + hl.i32(im[x, y]) * 0
    im.set(hl.Buffer(np.zeros((3, 4), np.uint8)))
    assert single(f.realize([1, 1]))[0, 0] == 430


def test_indices_may_hold_placeholders() -> None:
    im = hl.ImageParam(hl.UInt(8), 2, "im")
    f = hl.Func("f")
    f[hl._] = im[hl._]
    a = np.arange(6, dtype=np.uint8).reshape(2, 3)
    im.set(a)
    assert (np.asarray(f.realize([3, 2])) == a).all()


def test_broken_promises_are_errors() -> None:
    im = hl.ImageParam(hl.UInt(8), 2, "im")
    x, y = hl.vars("x y")
    f = hl.Func("f")
    f[x, y] = im[x, y]
    im.dim(0).set_bounds(0, 4)
    im.dim(1).set_stride(8)
    good = np.zeros((3, 8), np.uint8)[:, :4]
    im.set(good)
    f.realize([4, 3])
    im.set(np.zeros((3, 4), np.uint8))
    with pytest.raises(
        hl.InvalidBufferError, match=r"stride of im\S* must be 8, but it is 4"
    ):
        f.realize([4, 3])
    im.set(np.zeros((3, 8), np.uint8))
    with pytest.raises(
        hl.InvalidBufferError, match="extent of im.* must be 4, but it is 8"
    ):
        f.realize([4, 3])


def test_host_alignment_is_checked() -> None:
    im = hl.ImageParam(hl.UInt(8), 1, "im")
    f = hl.Func("f")
    x = hl.Var("x")
    f[x] = im[x]
    im.set_host_alignment(32)
    b = hl.Buffer(hl.UInt(8), [100])
    b.fill(1)
    im.set(b)
    f.realize([10])
    im.set(b.cropped(0, 1, 50).translated([-1]))
    with pytest.raises(hl.InvalidBufferError, match="multiple of 32 bytes"):
        f.realize([10])
    with pytest.raises(hl.TypeMismatchError):
        im.set_host_alignment(3)
