"""`hd.apply` against one run on the whole arrays."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd

x, y, c, i = hl.vars("x y c i")
B = hl.BoundaryConditions
RNG = np.random.default_rng(27)
IMAGE = RNG.integers(0, 256, (50, 70), np.uint8)
COLOURS = RNG.integers(0, 256, (3, 40, 60), np.uint8)
CHUNKINGS: list[Any] = [
    (50, 70),
    (16, 16),
    (7, 70),
    (50, 9),
    (3, 2),
    ((20, 1, 29), (1, 69)),
]


def computed(array: da.Array) -> np.ndarray[Any, Any]:
    found = array.compute(scheduler="synchronous")
    assert found.shape == array.shape and found.dtype == array.dtype
    assert isinstance(found, np.ndarray)
    return found


def photo() -> hl.ImageParam:
    return hl.ImageParam(hl.UInt(8), 2, "photo")


BORDERS = {
    "repeat_edge": B.repeat_edge,
    "repeat_image": B.repeat_image,
    "mirror_image": B.mirror_image,
    "mirror_interior": B.mirror_interior,
    "constant": lambda image: B.constant_exterior(image, hl.u8(9)),
}


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("chunks", CHUNKINGS, ids=str)
def test_borders_are_at_the_edges_alone(border: str, chunks: Any) -> None:
    """The halo has 3 pixels on the left, 2 on the right, 4 above and 6 below: more than
    some of the chunks have."""
    image = photo()
    edge = BORDERS[border](image)
    rows, out = hl.funcs("rows out")
    rows[x, y] = hl.i32(edge[x - 3, y]) * 3 + edge[x + 2, y]
    out[x, y] = hl.u16(rows[x, y - 4] * 5 + rows[x, y] + rows[x, y + 6])
    rows.compute_at(out, y).vectorize(x, 8)
    out.vectorize(x, 8).parallel(y, 4)
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=chunks))
    assert lazy.chunks == da.from_array(IMAGE, chunks=chunks).chunks
    image.set(IMAGE)
    whole = np.asarray(out.realize([70, 50]))
    np.testing.assert_array_equal(computed(lazy), whole)


@pytest.mark.parametrize("chunks", [(20, 20), (40, 60), (11, 7)])
def test_floats_are_the_same_bits(chunks: Any) -> None:
    image = hl.ImageParam(hl.Float(32), 2, "image")
    edge = B.mirror_interior(image)
    r = hl.RDom([(-2, 5), (-2, 5)])
    out = hl.Func("out")
    out[x, y] = 0.0
    weight = hl.exp(-hl.f32(r.x * r.x + r.y * r.y) / 3.0)
    out[x, y] += edge[x + r.x, y + r.y] * weight
    out.update().vectorize(x, 8)
    pixels = RNG.random((40, 60), np.float32)
    lazy = hd.apply(out, da.from_array(pixels, chunks=chunks))
    image.set(pixels)
    whole = np.asarray(out.realize([60, 40]))
    np.testing.assert_array_equal(computed(lazy), whole)


@pytest.mark.parametrize("chunks", [(16, 16), (10, 70), (3, 5), (50, 70)])
def test_sizes_that_change(chunks: Any) -> None:
    image = photo()
    edge = B.repeat_edge(image)
    half, up = hl.funcs("half up")
    total = hl.u16(edge[2 * x, 2 * y]) + edge[2 * x + 1, 2 * y]
    half[x, y] = hl.u8(
        (total + edge[2 * x, 2 * y + 1] + edge[2 * x + 1, 2 * y + 1]) / 4
    )
    up[x, y] = hl.u8((hl.u16(edge[x / 3, y / 2]) + edge[(x + 1) / 3, (y + 1) / 2]) / 2)
    image.set(IMAGE)
    for f, shape in ((half, (25, 35)), (up, (100, 210))):
        lazy = hd.apply(f, da.from_array(IMAGE, chunks=chunks), shape=shape)
        assert lazy.shape == shape
        whole = np.asarray(f.realize([shape[1], shape[0]]))
        np.testing.assert_array_equal(computed(lazy), whole)
    even = hd.apply(half, da.from_array(IMAGE, chunks=(10, 20)), shape=(25, 35))
    assert even.chunks == ((5,) * 5, (10, 10, 10, 5))


def test_transposed_and_flipped() -> None:
    image = photo()
    turned, flipped = hl.funcs("turned flipped")
    turned[x, y] = image[y, x]
    flipped[x, y] = image[image.width() - 1 - x, y]
    pixels = da.from_array(IMAGE, chunks=(20, 30))
    lazy = hd.apply(turned, pixels, shape=(70, 50))
    assert lazy.chunks == ((30, 30, 10), (20, 20, 10))
    np.testing.assert_array_equal(computed(lazy), IMAGE.T)
    lazy = hd.apply(flipped, pixels)
    np.testing.assert_array_equal(computed(lazy), IMAGE[:, ::-1])
    assert len(lazy.chunks[1]) == 3


def test_several_inputs_of_different_shapes_and_chunks() -> None:
    left, right = (
        hl.ImageParam(hl.UInt(8), 2, "left"),
        hl.ImageParam(hl.Int(32), 1, "by"),
    )
    edge, by = B.repeat_edge(left), B.repeat_edge(right)
    out = hl.Func("out")
    out[x, y] = hl.i32(edge[x + 1, y]) * by[y - 1] + by[y + 1]
    weights = np.arange(50, dtype=np.int32)
    # Definitions are looked at from the last one that is mentioned to the first.
    arrays = da.from_array(weights, chunks=7), da.from_array(IMAGE, chunks=(12, 33))
    left.set(IMAGE)
    right.set(weights)
    whole = np.asarray(out.realize([70, 50]))
    np.testing.assert_array_equal(computed(hd.apply(out, *arrays)), whole)
    named = hd.apply(out, {"by": arrays[0], left: arrays[1]})
    np.testing.assert_array_equal(computed(named), whole)
    fixed = hd.apply(out, {"left": arrays[1]})  # `by` is set, and each chunk reads it
    np.testing.assert_array_equal(computed(fixed), whole)


def test_several_outputs() -> None:
    image = photo()
    edge = B.repeat_edge(image)
    both, sums, half = hl.funcs("both sums half")
    both[x, y] = hl.Tuple(edge[x + 1, y], hl.u16(edge[x, y + 1]) * 3)
    sums[x, y] = both[x, y][0] + hl.i32(both[x, y - 1][1])
    half[x, y] = edge[2 * x, 2 * y]
    pipeline = hl.Pipeline([both, sums, half])
    pixels = da.from_array(IMAGE, chunks=(20, 20))
    lazy = hd.apply(pipeline, pixels, shape=[(50, 70), (50, 70), (50, 70), (25, 35)])
    assert [a.shape for a in lazy] == [(50, 70)] * 3 + [(25, 35)]
    assert [a.dtype for a in lazy] == [np.uint8, np.uint16, np.int32, np.uint8]
    image.set(IMAGE)
    for f, of in ((both, lazy[:2]), (sums, lazy[2:3]), (half, lazy[3:])):
        whole = f.realize(list(reversed(of[0].shape)))
        each = whole if isinstance(whole, tuple) else (whole,)
        for got, want in zip(of, each, strict=True):
            np.testing.assert_array_equal(computed(got), np.asarray(want))
    joint = da.compute(*lazy, scheduler="threads")
    np.testing.assert_array_equal(joint[2], computed(lazy[2]))


def test_params() -> None:
    image, gain = photo(), hl.Param(hl.Int(32), "gain", 2)
    reach = hl.Param(hl.Int(32), "reach", 1)
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y] = edge[x + reach, y] * gain
    pixels = da.from_array(IMAGE, chunks=(50, 8))
    padded = np.pad(IMAGE, ((0, 0), (0, 20)), mode="edge").astype(np.int32)
    np.testing.assert_array_equal(computed(hd.apply(out, pixels)), padded[:, 1:71] * 2)
    for key in ("reach", reach):
        lazy = hd.apply(out, pixels, params={key: 19})
        np.testing.assert_array_equal(computed(lazy), padded[:, 19:89] * 2)
    assert reach.get() == 1  # which a call does not change


def test_global_and_data_dependent_reads_need_a_whole_axis() -> None:
    image, lut = photo(), hl.ImageParam(hl.UInt(8), 1, "lut")
    counts, sums, out, shifted = hl.funcs("counts sums out shifted")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    counts[i] = 0
    counts[image[r.x, r.y]] += 1
    s = hl.RDom([(1, 255)])
    sums[i] = counts[i]
    sums[s.x] += sums[s.x - 1]
    total = image.width() * image.height()
    out[x, y] = lut[hl.u8(sums[image[x, y]] * 255 / total)]
    shifted[x, y] = image[hl.clamp(x + hl.i32(image[x, y]), 0, image.width() - 1), y]
    counts.compute_root()
    sums.compute_root()
    table = np.arange(255, -1, -1, dtype=np.uint8)
    image.set(IMAGE)
    lut.set(table)
    whole = np.asarray(out.realize([70, 50]))
    pixels = da.from_array(IMAGE, chunks=(20, 30))
    arrays = {image: pixels, lut: da.from_array(table, chunks=50)}
    np.testing.assert_array_equal(computed(hd.apply(out, arrays)), whole)
    whole = np.asarray(shifted.realize([70, 50]))
    np.testing.assert_array_equal(computed(hd.apply(shifted, pixels)), whole)


@pytest.mark.parametrize("chunks", [(3, 16, 16), (1, 40, 60), (2, 7, 60)])
def test_channels_that_the_schedule_unrolls_are_whole(chunks: Any) -> None:
    image = hl.ImageParam(hl.UInt(8), 3, "image")
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y, c] = edge[x - 1, y, 2 - c] / 2 + edge[x + 1, y, c] / 2
    out.bound(c, 0, 3).reorder(c, x, y).unroll(c).vectorize(x, 16)
    lazy = hd.apply(out, da.from_array(COLOURS, chunks=chunks))
    assert lazy.chunks[0] == (3,)
    image.set(COLOURS)
    whole = np.asarray(out.realize([60, 40, 3]))
    np.testing.assert_array_equal(computed(lazy), whole)


def test_promises_of_the_whole_image_do_not_bind_its_chunks() -> None:
    image = photo()
    image.dim(0).set_bounds(0, 70)
    image.dim(1).set_bounds(0, 50)
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y] = edge[x - 1, y] + edge[x, y + 1]
    out.bound(x, 0, 70).bound(y, 0, 50).vectorize(x, 8)
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=(9, 20)))
    assert lazy.chunks[1] == (20, 20, 20, 10)
    image.set(IMAGE)
    whole = np.asarray(out.realize([70, 50]))
    np.testing.assert_array_equal(computed(lazy), whole)
    with pytest.raises(hl.BoundsError, match="promised to be 70, .* is 60"):
        hd.apply(out, da.from_array(IMAGE[:, :60], chunks=(9, 20)))


def test_tails_that_round_up() -> None:
    image = photo()
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y] = edge[x - 1, y] + edge[x + 1, y]
    out.vectorize(x, 16, hl.TailStrategy.RoundUp)
    image.set(IMAGE)
    whole = np.asarray(out.realize([70, 50]))
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=(20, 9)))
    np.testing.assert_array_equal(computed(lazy), whole)


def test_axes_are_named() -> None:
    image = hl.ImageParam(hl.UInt(8), 3, "image")
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y, c] = edge[x - 1, y + 2, c] + hl.u8(c)
    image.set(COLOURS)
    whole = np.asarray(out.realize([60, 40, 3])).transpose(1, 2, 0)
    pixels = da.from_array(np.ascontiguousarray(COLOURS.transpose(1, 2, 0)), chunks=16)
    lazy = hd.apply(out, pixels, axes="yxc")
    assert lazy.chunks == pixels.chunks
    np.testing.assert_array_equal(computed(lazy), whole)


def test_origin_is_where_the_result_begins() -> None:
    image = photo()
    out = hl.Func("out")
    out[x, y] = hl.i32(image[x - 1, y - 2]) + image[x + 1, y + 2]
    pixels = da.from_array(IMAGE, chunks=(20, 20))
    lazy = hd.apply(out, pixels, shape=(46, 68), origin=(2, 1))
    wide = IMAGE.astype(np.int32)
    np.testing.assert_array_equal(computed(lazy), wide[:-4, :-2] + wide[4:, 2:])


@pytest.mark.parametrize("workers", [1, 4])
def test_chunks_are_proposed(workers: int) -> None:
    image = photo()
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y] = edge[x - 9, y] + edge[x + 9, y]
    tall = da.from_array(np.tile(IMAGE, (20, 1)), chunks=(1000, 1))
    lazy = hd.apply(out, tall, rechunk="auto", workers=workers, memory="50 kB")
    # Narrow chunks would read their halo of 18 columns many times.
    assert lazy.chunks[1] == (70,)
    most = max(lazy.chunks[0])
    assert len(lazy.chunks[0]) >= 2 and most * 140 <= 50_000
    image.set(np.tile(IMAGE, (20, 1)))
    whole = np.asarray(out.realize([70, 1000]))
    np.testing.assert_array_equal(computed(lazy), whole)


def test_functions_of_whole_arrays() -> None:
    @hl.jit
    def sharpen(image: hl.Array, amount: float) -> Any:
        wide: Any = np.pad(image.astype(np.float32), 1, mode="edge")
        soft = (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]) / 4
        sharp = image + (image - soft) * amount
        return np.clip(sharp, 0, 255).astype(np.uint8)

    lazy = hd.apply(
        sharpen, da.from_array(IMAGE, chunks=(16, 70)), params={"amount": 1.5}
    )
    assert lazy.chunks == ((16, 16, 16, 2), (70,))
    np.testing.assert_array_equal(computed(lazy), sharpen(IMAGE, 1.5))
    with pytest.raises(hl.BoundsError, match=r"returns the shape \(50, 70\)"):
        hd.apply(sharpen, da.from_array(IMAGE), params={"amount": 1.5}, shape=(5, 5))


def test_functions_of_colours_and_means() -> None:
    @hl.jit
    def grey(image: hl.Array) -> tuple[hl.Array, hl.Array]:
        wide = image.astype(np.int32)
        return wide.sum(axis=2), image[::-1]

    photograph = np.ascontiguousarray(COLOURS.transpose(1, 2, 0))
    lazy = hd.apply(grey, da.from_array(photograph, chunks=(16, 16, 2)))
    for got, want in zip(lazy, grey(photograph), strict=True):
        np.testing.assert_array_equal(computed(got), want)


def test_results_are_arrays_of_dask() -> None:
    image = photo()
    out = hl.Func("twice")
    out[x, y] = hl.u16(image[x, y]) * 2
    pixels = da.from_array(IMAGE, chunks=(20, 20))
    lazy = hd.apply(out, pixels + 1)
    chained = hd.apply(out, (lazy[10:30, ::2] % 256).astype(np.uint8)).sum(axis=0)
    want = ((IMAGE + 1).astype(np.uint16) * 2)[10:30, ::2] % 256 * 2
    np.testing.assert_array_equal(chained.compute(), want.sum(axis=0))
    # One name for the same work, so that dask does it once.
    assert hd.apply(out, pixels).name == hd.apply(out, pixels).name
    assert hd.apply(out, pixels).name != hd.apply(out, pixels + 1).name
    assert lazy.name.startswith("twice")
    empty = hd.apply(out, pixels[:0])
    assert computed(empty).shape == (0, 70)


def test_small_parts_of_blocks_are_cut_off() -> None:
    """A neighbour's halo is a task of its own, so that no block is kept for it."""
    image = photo()
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y] = edge[x - 1, y] + edge[x + 1, y]
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=(50, 35)))
    kinds = [str(key[0]).split("-")[0] for key in lazy.dask if isinstance(key, tuple)]
    assert kinds.count("halo") == 2


def test_promises_of_memory_do_not_bind_chunks() -> None:
    image = photo()
    image.dim(1).set_stride(70)
    image.set_host_alignment(64)
    edge = B.repeat_edge(image)
    out = hl.Func("out")
    out[x, y] = edge[x - 1, y + 1]
    out.output_buffer().dim(1).set_stride(70)
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=(11, 13)))
    padded = np.pad(IMAGE, 1, mode="edge")
    np.testing.assert_array_equal(computed(lazy), padded[2:, :-2])


@pytest.mark.parametrize("chunks", CHUNKINGS, ids=str)
def test_points_that_an_rdom_leaves_out(chunks: Any) -> None:
    image = photo()
    edge = B.repeat_edge(image)
    r = hl.RDom([(-2, 5), (-2, 5)])
    r.where(r.x * r.x + r.y * r.y <= 4)
    out = hl.Func("disc")
    out[x, y] = hl.u16(0)
    out[x, y] += hl.u16(edge[x + r.x, y + r.y])
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=chunks))
    image.set(IMAGE)
    whole = np.asarray(out.realize([70, 50]))
    np.testing.assert_array_equal(computed(lazy), whole)
