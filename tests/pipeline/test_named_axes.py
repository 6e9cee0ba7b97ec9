"""``axes=`` of `realize` and `autoschedule`: outputs with the axes of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl


def coloured(name: str = "f") -> hl.Func:
    x, y, c = hl.vars("x y c")
    f = hl.Func(name)
    f[x, y, c] = hl.u8(x + 10 * y + 100 * c)
    return f


EXPECTED = np.fromfunction(lambda y, x, c: x + 10 * y + 100 * c, (4, 5, 3)).astype("u1")


@pytest.mark.parametrize("axes", ["yxc", "cyx", "xyc"])
@pytest.mark.parametrize("scheduled", [False, True])
def test_sizes_are_the_shape_of_the_array(axes: str, scheduled: bool) -> None:
    f = coloured()
    if scheduled:
        # More than the sizes is written, and cut off.
        xi = hl.Var("xi")
        f.split(hl.Var("x"), hl.Var("x"), xi, 8, hl.TailStrategy.RoundUp).vectorize(xi)
    shape = tuple([{"x": 5, "y": 4, "c": 3}[a] for a in axes])
    made = f.realize(shape, axes=axes)
    assert isinstance(made, hl.Buffer)
    assert made.shape == (5, 4, 3)
    array = made.array(axes)
    assert array.shape == shape
    assert array.flags.c_contiguous or scheduled
    assert np.array_equal(made.array("yxc"), EXPECTED)


def test_named_sizes_and_axes() -> None:
    made = coloured().realize({"x": 5, "y": 4, "c": 3}, axes="yxc")
    assert isinstance(made, hl.Buffer)
    assert made.array("yxc").flags.c_contiguous
    assert np.array_equal(made.array("yxc"), EXPECTED)


def test_arrays_that_are_given_have_the_axes() -> None:
    out = np.zeros((4, 5, 3), np.uint8)
    assert coloured().realize(out, axes="yxc") is None
    assert np.array_equal(out, EXPECTED)
    # As a Buffer of the same axes, and the whole of a Pipeline.
    two = [np.zeros((4, 5, 3), np.uint8), np.zeros((4, 5, 3), np.uint8)]
    hl.Pipeline([coloured("f"), coloured("g")]).realize(two, axes="yxc")
    assert all([np.array_equal(one, EXPECTED) for one in two])


def test_empty_outputs_have_the_axes() -> None:
    made = coloured().realize((0, 5, 3), axes="yxc")
    assert isinstance(made, hl.Buffer)
    assert made.array("yxc").shape == (0, 5, 3)


@pytest.mark.parametrize("axes", ["yx", "yxq", "yyx", 3])
@pytest.mark.parametrize("where", [(4, 5, 3), {"x": 5, "y": 4, "c": 3}, np.zeros(1)])
def test_axes_that_do_not_fit(axes: object, where: object) -> None:
    with pytest.raises(hl.TypeMismatchError, match="does not name the"):
        coloured().realize(where, axes=axes)  # type: ignore[arg-type]


def test_schedules_for_arrays_with_axes() -> None:
    x, y, c = hl.vars("x y c")
    image = hl.ImageParam(hl.UInt(8), 3, "image")
    f = hl.Func("f")
    f[x, y, c] = image[x, y, c] + 1
    photo = np.zeros((480, 640, 3), np.uint8)
    by_shape = hl.autoschedule(f, photo, photo.shape, axes="yxc").to_python()
    g = hl.Func("f")
    g[x, y, c] = image[x, y, c] + 1
    by_buffer = hl.autoschedule(g, hl.Buffer(photo, axes="yxc"), [640, 480, 3])
    assert by_shape == by_buffer.to_python()
    h = hl.Func("f")
    h[x, y, c] = image[x, y, c] + 1
    by_inputs = hl.autoschedule(
        h, inputs={image: photo}, sizes=photo.shape, axes="yxc"
    ).to_python()
    assert by_inputs == by_shape
    with pytest.raises(hl.TypeMismatchError, match="does not name the"):
        hl.autoschedule(f, photo, (3, 3), axes="yxc")
