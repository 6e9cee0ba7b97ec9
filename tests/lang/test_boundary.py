"""Boundary conditions against numpy.pad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.expr import Intrinsic
from parhelion.ir.rewrite import nodes

x, y = hl.vars("x y")
B = hl.BoundaryConditions
MODES = {
    "repeat_edge": (B.repeat_edge, "edge"),
    "repeat_image": (B.repeat_image, "wrap"),
    "mirror_image": (B.mirror_image, "symmetric"),
    "mirror_interior": (B.mirror_interior, "reflect"),
}
PIXELS = np.arange(5 * 4, dtype=np.int16).reshape(5, 4) * 7 % 23
PAD = 6


def around(f: hl.Func) -> np.ndarray:
    """The values of `f` over the image and PAD pixels around it, rows first."""
    h, w = PIXELS.shape
    (out,) = interpret(f._function, [(-PAD, w + 2 * PAD), (-PAD, h + 2 * PAD)])
    return out.T


def as_func(image: hl.Buffer) -> hl.Func:
    f = hl.Func()
    # Defined everywhere, so that reading past the bounds shows.
    inside = (x >= 0) & (x < 4) & (y >= 0) & (y < 5)
    f[x, y] = hl.select(
        inside, image[hl.clamp(x, 0, 3), hl.clamp(y, 0, 4)], hl.i16(-999)
    )
    return f


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("source", ["buffer", "func", "bounded buffer"])
def test_like_numpy_pad(name: str, source: str) -> None:
    make, mode = MODES[name]
    image = hl.Buffer(PIXELS)
    bounds = [(0, 4), (0, 5)]
    if source == "buffer":
        f = make(image)
    elif source == "func":
        f = make(as_func(image), bounds)
    else:
        f = make(image, bounds)
    assert f.type() is hl.Int(16) and f.dimensions() == 2
    np.testing.assert_array_equal(around(f), np.pad(PIXELS, PAD, mode=mode))  # type: ignore[call-overload]


@pytest.mark.parametrize("source", ["buffer", "func"])
def test_constant_exterior(source: str) -> None:
    image = hl.Buffer(PIXELS)
    f = (
        B.constant_exterior(image, -3)
        if source == "buffer"
        else B.constant_exterior(as_func(image), -3, [(0, 4), (0, 5)])
    )
    want = np.pad(PIXELS, PAD, constant_values=-3)
    np.testing.assert_array_equal(around(f), want)


@pytest.mark.parametrize("name", MODES)
def test_a_size_of_one(name: str) -> None:
    f = MODES[name][0](hl.Buffer(np.full((1, 1), 7, np.uint8)))
    (out,) = interpret(f._function, [(-3, 7), (-3, 7)])
    assert (out == 7).all()


def test_image_params_use_their_run_time_bounds() -> None:
    image = hl.ImageParam(hl.Int(16), 2)
    f = B.mirror_image(image)
    (out,) = interpret(
        f._function,
        [(-3, 10), (2, 9)],
        {},
        {image._sym: (PIXELS.T, (-1, 3))},
    )
    padded = np.pad(PIXELS.T, 6, mode="symmetric")
    np.testing.assert_array_equal(out, padded[4:14, 5:14])


def test_dimensions_without_bounds_are_left_alone() -> None:
    f = hl.Func("left_alone")
    f[x, y] = x * 100 + y
    for bounds in (
        [(0, 4)],
        [(0, 4), None],
        [(0, 4), (None, None)],
        [hl.Range(0, 4), hl.Range()],
        [(0, 4), (hl.Expr(), hl.Expr())],
    ):
        g = B.repeat_edge(f, bounds)  # type: ignore[arg-type]
        (out,) = interpret(g._function, [(9, 1), (9, 1)])
        assert out[0, 0] == 309
    g = B.constant_exterior(f, 1, [None, (0, 4)])
    (out,) = interpret(g._function, [(50, 1), (3, 2)])
    assert out.tolist() == [[5003, 1]]


def test_several_values() -> None:
    f = hl.Func()
    f[x] = (x, hl.u8(x))
    g = B.repeat_edge(f, [(0, 4)])
    a, b = interpret(g._function, [(3, 3)])
    assert a.tolist() == [3, 3, 3] and b.tolist() == [3, 3, 3]
    h = B.constant_exterior(f, (7, hl.u8(9)), [(0, 4)])
    a, b = interpret(h._function, [(3, 3)])
    assert a.tolist() == [3, 7, 7] and b.tolist() == [3, 9, 9]
    k = B.constant_exterior(f, 1, [(0, 4)])
    assert k.types() == [hl.Int(32), hl.UInt(8)]


@pytest.mark.parametrize(
    "make", [m for m, _ in MODES.values()] + [lambda i: B.constant_exterior(i, 0)]
)
def test_the_interior_is_likely(make: Callable[[hl.Buffer], hl.Func]) -> None:
    f = make(hl.Buffer(PIXELS))
    assert any(
        isinstance(n, Intrinsic) and n.op == "likely" for n in nodes(f.value()._node)
    )


@pytest.mark.parametrize(
    ("make", "twice"), [(B.mirror_interior, 0), (B.mirror_image, 1)]
)
@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [
        (200, 299, 200, 299),
        (-30, 69, 0, 69),
        (-30, 9, 0, 30),
        (930, 1029, 930, 999),
        (990, 1029, 969, 999),
        (-30, -10, 0, 30),
        (-3000, -2900, 0, 999),
        (-5, 1005, 0, 999),
    ],
)
def test_a_part_of_a_mirrored_image_needs_no_more_than_its_mirror(
    make: Callable[..., hl.Func], twice: int, low: int, high: int, first: int, last: int
) -> None:
    image = hl.ImageParam(hl.UInt(8), 1)
    out = hl.Buffer(hl.UInt(8), [high - low + 1]).translated(0, low)
    make(image, [(0, 1000)]).infer_input_bounds(out)
    found = image.get()
    if last == 30:
        last -= twice
    elif first == 969:
        first += twice
    assert (found.dim(0).min(), found.dim(0).max()) == (first, last)


@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [
        (200, 299, 200, 299),
        (0, 999, 0, 999),
        (-1, 99, 0, 999),
        (900, 1000, 0, 999),
        (1000, 1001, 0, 999),
    ],
)
def test_a_part_of_a_repeated_image_needs_itself_or_all(
    low: int, high: int, first: int, last: int
) -> None:
    image = hl.ImageParam(hl.UInt(8), 1)
    out = hl.Buffer(hl.UInt(8), [high - low + 1]).translated(0, low)
    B.repeat_image(image, [(0, 1000)]).infer_input_bounds(out)
    found = image.get()
    assert (found.dim(0).min(), found.dim(0).max()) == (first, last)


@pytest.mark.parametrize("make", [B.mirror_interior, B.mirror_image])
def test_tiles_compute_what_they_mirror_once(make: Callable[..., hl.Func]) -> None:
    counted, blurred, n = hl.Func("counted"), hl.Func("blurred"), hl.Param(hl.Int(32))
    counted[x] = hl.i32(x) * 3
    wide = make(counted, [(0, n)])
    blurred[x] = wide[x - 2] + wide[x + 2]
    xo, xi = hl.vars("xo xi")
    blurred.split(x, xo, xi, 100)
    counted.compute_at(blurred, xo)
    n.set(1000)
    (wanted,) = interpret(blurred._function, [(0, 1000)], params={n._sym: 1000})
    np.testing.assert_array_equal(np.asarray(blurred.realize([1000])), wanted)
    (told,) = [f for f in blurred.profile([1000]).funcs if f.func == counted.name()]
    assert 4 * 1000 <= told.bytes < 4 * 1000 * 1.2


NOTHING: Any = None
THREE: Any = 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: B.repeat_edge(f), "needs its bounds"),
        (lambda f: B.repeat_edge(hl.Func("nothing")), "not defined"),
        (lambda f: B.repeat_edge(f, [(0, 1), (0, 1)]), "bounds for 2 dimensions"),
        (lambda f: B.repeat_edge(f, [(0, NOTHING)]), "min without an extent"),
        (lambda f: B.repeat_edge(f, [(0, 2.5)]), "are integers"),
        (lambda f: B.repeat_edge(f, [THREE]), "pairs"),
        (lambda f: B.constant_exterior(f, 300, [(0, 1)]), "does not fit uint8"),
        (lambda f: B.constant_exterior(f, hl.f32(3), [(0, 1)]), "is of type float32"),
        (lambda f: B.constant_exterior(f, (1, 2), [(0, 1)]), "2 exterior values"),
        (lambda f: B.repeat_edge(THREE), "takes a Func, a Buffer or an ImageParam"),
    ],
)
def test_what_is_refused(make: Callable[[hl.Func], object], message: str) -> None:
    f = hl.Func()
    f[x] = hl.u8(x)
    with pytest.raises(hl.HalideError, match=message):
        make(f)


def test_repeated_where_an_extent_may_be_negative() -> None:
    """A remainder by it has no bounds; the images that are read have."""
    x, image = hl.Var("x"), hl.ImageParam(hl.UInt(16), 1, "image")
    f, out = hl.Func("f"), hl.Func("out")
    f[x] = image[2 * x + 2]
    around = B.repeat_image(f, [(0, (image.width() - 1) // 2)])
    out[x] = around[x + 3]
    pixels = np.arange(33, dtype=np.uint16)
    image.set(pixels)
    found = np.asarray(out.realize([16]))
    np.testing.assert_array_equal(found, np.roll(pixels[2::2], -3))
