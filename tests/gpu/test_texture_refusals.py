"""Textures that are refused, with the line, the reason and the remedy; and textures of
sizes at the limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime import devices
from tests.gpu.test_textures import TEXTURE, tiled

x, y, z = hl.vars("x y z")
tx, ty = hl.vars("tx ty")


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


BAD: list[tuple[str, Callable[[], hl.Func]]] = []


def bad(message: str) -> Callable[[Callable[[], hl.Func]], Callable[[], hl.Func]]:
    def add(build: Callable[[], hl.Func]) -> Callable[[], hl.Func]:
        BAD.append((message, build))
        return build

    return add


def pair(value: hl.Expr) -> tuple[hl.Func, hl.Func]:
    f, g = hl.funcs("f g")
    f[x, y] = value
    g[x, y] = f[x, y] + f[x, y + 1] if value.type().bits() > 1 else hl.i32(f[x, y])
    tiled(g)
    return f, g


@bad(
    "its values are of type int64, and a texel is an integer or a float of 8, 16 or 32"
)
def wide_values() -> hl.Func:
    f, g = pair(hl.i64(x) * y)
    f.compute_root().store_in(TEXTURE)
    return g


@bad("its values are of type float64, and a texel is")
def wide_floats() -> hl.Func:
    f, g = pair(hl.f64(x) * y)
    f.compute_root().store_in(TEXTURE)
    return g


@bad("its values are of type bool, and a texel is")
def truths() -> hl.Func:
    f, g = pair(x < y)
    f.compute_root().store_in(TEXTURE)
    return g


@bad("f is one value, and a texture has one dimension at least")
def one_value() -> hl.Func:
    f, g = hl.funcs("f g")
    f[()] = 3
    g[x, y] = f[()] + x
    f.compute_root().store_in(TEXTURE)
    tiled(g)
    return g


@bad("no kernel reads it that does not store to it, too")
def read_by_the_host_alone() -> hl.Func:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + 1
    f.compute_root().store_in(TEXTURE)
    tiled(f)
    return g


@bad("the storage of f is in a kernel, and is to be a texture (store_in)")
def of_a_block() -> hl.Func:
    f, g = pair(x + y)
    f.compute_at(g, x).store_in(TEXTURE).gpu_threads(x, y)
    return g


@bad("the storage of f is in a kernel, and is to be a texture (store_in)")
def of_a_thread() -> hl.Func:
    f, g = pair(x + y)
    f.compute_at(g, tx).store_in(TEXTURE)
    return g


@pytest.mark.parametrize(
    "message, build", BAD, ids=[build.__name__ for _, build in BAD]
)
def test_refusals(message: str, build: Callable[[], hl.Func], simulator: None) -> None:
    f = build()
    with pytest.raises(hl.ScheduleError) as caught:
        f.realize([300, 300])
    assert message in str(caught.value)
    at = caught.value.at
    assert at is not None and at.file == __file__
    first = build.__code__.co_firstlineno
    assert first < at.line <= first + 8


def test_an_output_is_where_the_caller_has_it(simulator: None) -> None:
    _, g = pair(x + y)
    g.store_in(TEXTURE)
    with pytest.warns(hl.ScheduleWarning, match="g.store_in has no effect"):
        g.realize([20, 20])


def test_what_is_too_large(simulator: None) -> None:
    """Said before anything is computed; as large as can be is read."""
    f, g = hl.funcs("f g")
    f[x] = hl.u8(x)
    g[x] = f[x] + f[0]
    f.compute_root().store_in(TEXTURE).gpu_tile(x, tx, 256)
    g.gpu_tile(x, tx, 256)
    assert np.asarray(g.realize([131072]))[-1] == 255
    with pytest.raises(hl.ScheduleError) as caught:
        g.realize([131073])
    assert (
        "the storage of f is a texture (store_in) with 131104 texels in a row, and a"
        " texture has at most 131072"
    ) in str(caught.value)
    f, g = hl.funcs("f g")
    f[x, y, z] = hl.u8(x + y + z)
    g[x, y, z] = f[x, y, z] + f[0, 0, 0]
    f.compute_root().store_in(TEXTURE).gpu_tile(x, y, tx, ty, 4, 64)
    g.gpu_tile(x, y, tx, ty, 4, 64)
    assert np.asarray(g.realize([4, 13000, 5])).shape == (5, 13000, 4)
    with pytest.raises(hl.ScheduleError, match="with 65005 rows, and a texture has at"):
        g.realize([4, 13001, 5])


def test_images_are_textures_by_way_of_a_func(simulator: None) -> None:
    """However an image lies, it is copied to the device once, and there once more by a
    kernel; the image itself is refused."""
    picture = hl.ImageParam(hl.UInt(8), 2, "picture")
    with pytest.raises(hl.HalideError, match="in the caller's memory, whose rows lie"):
        picture.store_in(TEXTURE)
    texels, f = hl.funcs("texels f")
    texels[x, y] = picture[x, y]
    size = [(0, picture.width()), (0, picture.height())]
    near = hl.BoundaryConditions.repeat_edge(texels, size)
    f[x, y] = hl.i32(near[x - 1, y]) + near[x + 1, y]
    tiled(texels.compute_root().store_in(TEXTURE), f)
    whole = np.random.default_rng(1).integers(0, 255, (37, 61)).astype(np.uint8)
    for given in (whole, whole[::2, 1:]):
        picture.set(given)
        devices.reset_counts()
        got = np.asarray(f.realize(list(given.shape[::-1])))
        wide = np.pad(given.astype(np.int32), ((0, 0), (1, 1)), "edge")
        np.testing.assert_array_equal(got, wide[:, :-2] + wide[:, 2:])
        counts = devices.counts()
        assert (counts.to_device, counts.to_host, counts.launches) == (1, 1, 2)
        assert counts.bytes_to_device <= given.size


def test_without_a_device_there_are_no_textures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + 1
    f.compute_root().store_in(TEXTURE)
    with pytest.raises(hl.ScheduleError, match="no kernel reads it"):
        g.realize([4, 4])
