"""The interpreter on algorithms written in the language, against compiled code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from tests.support.checking import assert_same, check
from tests.support.realized import several

x, y, c = hl.vars("x y c")
xo, yo, xi, yi = hl.vars("xo yo xi yi")

#: A photograph's stand-in: 3 channels of 40 x 30 pixels, as (C, H, W).
PIXELS = np.random.default_rng(5).integers(0, 256, (3, 30, 40), np.uint8)


def photo() -> hl.ImageParam:
    image = hl.ImageParam(hl.UInt(8), 3, "photo")
    image.set(PIXELS)
    return image


def blur() -> tuple[hl.Func, ...]:
    inside = hl.BoundaryConditions.repeat_edge(photo())
    bx, by = hl.Func("bx"), hl.Func("by")
    bx[x, y, c] = (
        hl.u16(inside[x - 1, y, c]) + inside[x, y, c] + inside[x + 1, y, c]
    ) / 3
    by[x, y, c] = hl.u8((bx[x, y - 1, c] + bx[x, y, c] + bx[x, y + 1, c]) / 3)
    return by, bx


def test_blur_under_the_papers_schedules() -> None:
    def root(by: hl.Func, bx: hl.Func) -> None:
        bx.compute_root()

    def tiled(by: hl.Func, bx: hl.Func) -> None:
        by.tile(x, y, xi, yi, 16, 8).vectorize(xi, 8).parallel(y)
        bx.compute_at(by, x).vectorize(x, 8)

    def sliding(by: hl.Func, bx: hl.Func) -> None:
        bx.store_root().compute_at(by, y)

    (found,) = check(blur, [40, 30, 3], [root, tiled, sliding])
    padded = np.pad(PIXELS, ((0, 0), (1, 1), (1, 1)), mode="edge").astype(np.uint16)
    rows = (padded[:, :, :-2] + padded[:, :, 1:-1] + padded[:, :, 2:]) // 3
    want = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) // 3
    assert np.array_equal(found.transpose(), want)
    # A part of it, elsewhere.
    check(blur, [7, 5, 2], [root, sliding], mins=[-3, 20, 1])


def equalised() -> tuple[hl.Func, ...]:
    image = photo()
    r = hl.RDom([(0, 40), (0, 30)])
    bins = hl.RDom([(1, 255)])
    i = hl.Var("i")
    hist, cdf, out = hl.Func("hist"), hl.Func("cdf"), hl.Func("out")
    hist[i, c] = hl.u32(0)
    hist[hl.i32(image[r.x, r.y, c]), c] += hl.u32(1)
    cdf[i, c] = hist[i, c]
    cdf[bins, c] += cdf[bins - 1, c]
    out[x, y, c] = hl.u8(cdf[hl.i32(image[x, y, c]), c] * 255 / (40 * 30))
    return out, cdf, hist


def test_histogram_equalisation() -> None:
    def root(out: hl.Func, cdf: hl.Func, hist: hl.Func) -> None:
        hist.compute_root()
        cdf.compute_root()
        out.vectorize(x, 8).parallel(c)

    (found,) = check(equalised, [40, 30, 3], [root])
    for channel in range(3):
        counts = np.bincount(PIXELS[channel].ravel(), minlength=256)
        levels = (np.cumsum(counts) * 255 // (40 * 30)).astype(np.uint8)
        assert np.array_equal(found[:, :, channel].transpose(), levels[PIXELS[channel]])


def test_argmin_over_a_window() -> None:
    def make() -> hl.Func:
        inside = hl.BoundaryConditions.mirror_image(photo())
        r = hl.RDom([(-2, 5), (-1, 3)])
        found = hl.argmin(inside[x + r.x, y + r.y, 0])
        f = hl.Func("f")
        f[x, y] = (found[0], found[1], found[2])
        return f

    check(make, [20, 15], [lambda f: f.vectorize(x, 4).unroll(y, 3)])


FUNCTIONS: dict[str, Callable[[hl.Expr], hl.Expr]] = {
    "exp": hl.exp,
    "log": hl.log,
    "sin": hl.sin,
    "cos": hl.cos,
    "tan": hl.tan,
    "asin": hl.asin,
    "acos": hl.acos,
    "atan": hl.atan,
    "sinh": hl.sinh,
    "cosh": hl.cosh,
    "tanh": hl.tanh,
    "asinh": hl.asinh,
    "acosh": hl.acosh,
    "atanh": hl.atanh,
    "erf": hl.erf,
    "sqrt": hl.sqrt,
    "fast_exp": hl.fast_exp,
    "fast_log": hl.fast_log,
    "fast_sin": hl.fast_sin,
    "fast_cos": hl.fast_cos,
    "fast_inverse": hl.fast_inverse,
    "fast_inverse_sqrt": hl.fast_inverse_sqrt,
    "pow": lambda a: hl.pow(hl.abs(a), a / 3),
    "atan2": lambda a: hl.atan2(a, a * a - 2),
    "fast_pow": lambda a: hl.fast_pow(hl.abs(a), a / 3),
}


#: The fast_ forms are of Float(32) alone.
NAMES = [(name, 32) for name in FUNCTIONS]
NAMES += [(name, 64) for name in FUNCTIONS if not name.startswith("fast_")]


@pytest.mark.parametrize(("name", "bits"), NAMES)
def test_functions_have_the_same_bits_under_strict_float(name: str, bits: int) -> None:
    t = hl.Float(bits)

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = hl.strict_float(FUNCTIONS[name](hl.cast(t, x - 40) * hl.cast(t, 0.173)))
        return f

    check(make, [80], [lambda f: f.vectorize(x, 8)])


def test_random_numbers() -> None:
    # One Func: without a seed, each call in a program has numbers of its own.
    f = hl.Func("f")
    f[x, y] = (hl.random_int(), hl.random_uint(7), hl.random_float(3))
    wanted = interpret(f._function, [(0, 30), (0, 20)])
    for schedule in (lambda: None, lambda: f.vectorize(x, 8).parallel(y)):
        schedule()
        for got, want in zip(several(f.realize([30, 20])), wanted, strict=True):
            assert_same(np.asarray(got).transpose(), want)
    a, b, u = wanted
    assert len(np.unique(a)) == a.size and len(np.unique(b)) == b.size
    assert u.min() >= 0 and u.max() < 1 and abs(float(u.mean()) - 0.5) < 0.05


def test_parameters_and_the_images_own_size() -> None:
    gain = hl.Param(hl.Float(32), "gain", 1.5)
    image = photo()
    f = hl.Func("f")
    f[x, y] = hl.f32(image[image.width() - 1 - x, y, 0]) * gain
    want = PIXELS[0, :, ::-1].astype(np.float32) * np.float32(1.5)
    assert_same(interpret(f._function, [(0, 40), (0, 30)])[0].transpose(), want)
    (other,) = interpret(f._function, [(0, 40), (0, 30)], {gain._sym: 2.0})
    assert_same(
        other.transpose(), PIXELS[0, :, ::-1].astype(np.float32) * np.float32(2)
    )


def test_a_buffer_of_the_algorithm() -> None:
    table = hl.Buffer(np.arange(10, 20, dtype=np.int16))
    table.set_min([-5])

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = table[x] * 2
        return f

    (found,) = check(make, [10], mins=[-5])
    assert found.tolist() == list(range(20, 40, 2))


def test_check_tells_what_differs() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = a.copy()
    b[1, 2] = np.nextafter(np.float32(5), np.float32(6))
    assert_same(a, b, ulps=1)
    with pytest.raises(
        AssertionError, match=r"1 of 6 values differ, first at \(1, 2\)"
    ):
        assert_same(a, b)
    with pytest.raises(AssertionError, match="first at"):
        assert_same(np.array([0.0], np.float32), np.array([-0.0], np.float32))
    assert_same(np.array([np.nan], np.float32), np.array([np.nan], np.float32))
