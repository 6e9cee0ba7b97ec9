"""`hd.reduce`: reductions over whole images, folded chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd

x, y = hl.vars("x y")
PIXELS = np.random.default_rng(5).integers(0, 256, (70, 90), np.uint8)
SOME_CHUNKS = [(70, 90), (20, 30), (1, 90), ((3, 50, 17), (89, 1))]


def histogram(image: hl.ImageParam, where: bool = False) -> hl.Func:
    f = hl.Func("histogram")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    if where:
        r.where((r.x + r.y) % 2 == 0)
    f[x] = 0
    f[hl.i32(image[r.x, r.y])] += 1
    return f


def photo(t: hl.Type = hl.UInt(8)) -> hl.ImageParam:  # noqa: B008
    return hl.ImageParam(t, 2, "photo")


@pytest.mark.parametrize("chunks", SOME_CHUNKS)
def test_a_histogram_is_the_same_for_any_chunks(chunks: Any) -> None:
    lazy = hd.reduce(histogram(photo()), da.from_array(PIXELS, chunks), shape=(256,))
    counts = lazy.compute()
    assert counts.dtype == np.int32
    assert (counts == np.bincount(PIXELS.ravel(), minlength=256)).all()


def test_a_predicate_is_kept() -> None:
    f = histogram(photo(), where=True)
    counts = hd.reduce(f, da.from_array(PIXELS, 32), shape=(256,)).compute()
    rows, columns = np.indices(PIXELS.shape)
    chosen = PIXELS[(rows + columns) % 2 == 0]
    assert (counts == np.bincount(chosen, minlength=256)).all()


def test_a_chunk_reads_its_own_pixels_alone() -> None:
    read: list[tuple[int, ...]] = []

    def block(block_info: Any = None) -> Any:
        read.append(tuple(block_info[None]["chunk-location"]))
        (r0, r1), (c0, c1) = block_info[None]["array-location"]
        return PIXELS[r0:r1, c0:c1]

    image = da.map_blocks(
        block, chunks=((35, 35), (45, 45)), dtype=np.uint8, meta=PIXELS[:0]
    )
    lazy = hd.reduce(histogram(photo()), image, shape=(256,))
    folds = [k for k in lazy.__dask_graph__() if "fold-histogram" in str(k)]
    assert len(folds) == 4
    lazy.compute(scheduler="synchronous")
    assert sorted(read) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("better", "place"),
    [
        (lambda new, old: new > old, lambda p: p.argmax()),
        (lambda new, old: new >= old, lambda p: p.size - 1 - p.ravel()[::-1].argmax()),
    ],
)
def test_of_equal_extremes_the_same_is_taken(
    better: Callable[[Any, Any], Any], place: Callable[[Any], int]
) -> None:
    pixels = np.minimum(PIXELS, 200)
    image, best = photo(), hl.Func("best")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    best[()] = hl.Tuple(hl.u8(0), hl.i32(0), hl.i32(0))
    takes = better(image[r.x, r.y], best[()][0])
    new = (image[r.x, r.y], r.x, r.y)
    best[()] = hl.Tuple(*[hl.select(takes, n, best[()][k]) for k, n in enumerate(new)])
    for chunks in SOME_CHUNKS:
        lazy = hd.reduce(best, da.from_array(pixels, chunks))
        value, column, row = [int(a.compute()) for a in lazy]
        assert value == 200
        assert (row, column) == divmod(int(place(pixels)), 90)


def test_pixels_are_equalised_in_a_second_pass() -> None:
    image, cdf, out = photo(), hl.Func("cdf"), hl.Func("out")
    counts = histogram(image).compute_root()
    b = hl.RDom([(1, 255)])
    cdf[x] = counts[x]
    cdf[b.x] = cdf[b.x - 1] + counts[b.x]
    total = hl.f32(image.width() * image.height())
    out[x, y] = hl.u8(cdf[hl.i32(image[x, y])] * 255 / total)
    cdf.compute_root()
    lazy = hd.reduce(out, da.from_array(PIXELS, 25))
    image.set(PIXELS)
    assert (lazy.compute() == np.asarray(out.realize([90, 70]))).all()
    assert lazy.chunks == ((25, 25, 20), (25, 25, 25, 15))
    # What the user holds is as it was.
    assert counts.num_update_definitions() == 1


def test_two_passes_that_follow_from_each_other() -> None:
    @hl.jit
    def deviation(pixels: hl.Array) -> hl.Array:
        wide = pixels.astype(np.float32)
        return ((wide - wide.mean()) ** 2).mean()

    lazy = hd.reduce(deviation, da.from_array(PIXELS, 25))
    assert lazy.shape == ()
    assert float(lazy.compute()) == pytest.approx(PIXELS.var(), rel=1e-5)


def test_sums_of_floats_stay_within_the_bound_that_is_stated() -> None:
    pixels = np.random.default_rng(3).random((200, 300), np.float32)
    image, total = photo(hl.Float(32)), hl.Func("total")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    total[()] = hl.f32(0)
    total[()] += image[r.x, r.y]
    exact = pixels.sum(dtype=np.float64)
    for chunks, points, depth in ((50, 2500, 3), (10, 100, 5), ((200, 300), 60_000, 0)):
        lazy = hd.reduce(total, da.from_array(pixels, chunks))
        found = [
            float(lazy.compute(scheduler="threads", num_workers=n)) for n in (1, 4)
        ]
        assert found[0] == found[1]
        bound = (points + 4 * depth) * 2.0**-24 * exact
        assert abs(found[0] - exact) <= bound


def test_parts_are_cut_until_they_fit() -> None:
    f = histogram(photo())
    lazy = hd.reduce(f, da.from_array(PIXELS, 90), shape=(256,), memory=2100)
    folds = [k for k in lazy.__dask_graph__() if "fold-histogram" in str(k)]
    assert len(folds) >= 7
    assert (lazy.compute() == np.bincount(PIXELS.ravel(), minlength=256)).all()
    with pytest.raises(hl.OutOfMemoryError, match="1025 bytes.* memory=900") as error:
        hd.reduce(f, da.from_array(PIXELS, 90), shape=(256,), memory=900)
    assert "memory=1025 or more" in error.value.hint


def test_a_reduction_over_nothing_is_what_the_func_was_before() -> None:
    image, total = photo(), hl.Func("total")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    total[()] = hl.Tuple(hl.f32(0.5), hl.i32(7))
    new = hl.f32(image[r.x, r.y])
    takes = total[()][0] < new
    total[()] = hl.Tuple(
        hl.select(takes, new, total[()][0]), hl.select(takes, r.x, total[()][1])
    )
    lazy = hd.reduce(total, da.from_array(np.zeros((4, 5), np.uint8), 2))
    assert [float(a.compute()) for a in lazy] == [0.5, 7.0]


def test_what_is_not_associative_is_refused_as_by_rfactor() -> None:
    image, f = photo(), hl.Func("f")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    f[()] = 0
    f[()] = f[()] * 2 + image[r.x, r.y]
    with pytest.raises(hl.ScheduleError, match="not known to fold") as error:
        hd.reduce(f, da.from_array(PIXELS, 25))
    assert error.value.what.startswith("hd.reduce: f")
    assert error.value.at is not None and error.value.at.file == __file__
    with pytest.raises(hl.ScheduleError) as other:
        f.update().rfactor(r.y, x)
    assert other.value.hint == error.value.hint
    assert other.value.what.split(":")[1] == error.value.what.split(":", 2)[2]


def test_what_is_no_reduction_is_refused() -> None:
    image, f = photo(), hl.Func("f")
    f[x, y] = image[x, y] + 1
    pixels = da.from_array(PIXELS, 25)
    with pytest.raises(hl.ScheduleError, match="no update of 'f'.* folds") as error:
        hd.reduce(f, pixels)
    assert "hd.apply" in error.value.hint
    g = hl.Func("g")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    g[()] = 0
    g[()] += image[r.x, r.y]
    g[()] += 2 * image[r.x, r.y]
    with pytest.raises(hl.ScheduleError, match="'g' has 2 updates over RDoms"):
        hd.reduce(g, pixels)
    with pytest.raises(hl.ScheduleError, match="split_every is .*, not 1"):
        hd.reduce(histogram(image), pixels, shape=(256,), split_every=1)
