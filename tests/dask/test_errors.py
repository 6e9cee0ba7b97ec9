"""What `hd.apply` refuses, with the numbers and the remedy."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd

x, y = hl.vars("x y")
IMAGE = np.zeros((50, 70), np.uint8)
PIXELS = da.from_array(IMAGE, chunks=20)


def stencil(border: bool = True) -> hl.Func:
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    source: Any = hl.BoundaryConditions.repeat_edge(image) if border else image
    out = hl.Func("out")
    out[x, y] = source[x - 1, y] + source[x + 2, y]
    return out


def test_pixels_that_an_image_does_not_have() -> None:
    with pytest.raises(
        hl.BoundsError, match=r"pixels -1 to 21 of axis 1 of 'photo', which has 0 to 69"
    ) as caught:
        hd.apply(stencil(border=False), PIXELS)
    assert "chunk (0, 0) of out, which is [0:20, 0:20]" in str(caught.value)
    assert "BoundaryConditions" in caught.value.hint
    assert caught.value.at is not None and caught.value.at.file == __file__


@pytest.mark.parametrize(
    "chunks", [(20, 20, 20), ((20, 20), (70,)), ((50,), (35, 36)), "nonsense", (-3, 5)]
)
def test_chunks_that_do_not_match(chunks: Any) -> None:
    with pytest.raises(hl.BoundsError, match=r"do not fit the shape \(50, 70\)") as e:
        hd.apply(stencil(), PIXELS, chunks=chunks)
    assert "one size, or a tuple" in e.value.hint


def test_chunks_of_unknown_size() -> None:
    rows = PIXELS[da.from_array(np.arange(50) % 2 == 0, chunks=20)]
    with pytest.raises(hl.BoundsError, match="axis 0 has 3 chunks of nan") as caught:
        hd.apply(stencil(), rows)
    assert "compute_chunk_sizes" in caught.value.hint
    with pytest.raises(hl.BoundsError, match="nan|do not fit"):
        hd.apply(stencil(), PIXELS, chunks=((float("nan"),) * 3, (70,)))


def test_chunks_beyond_indices() -> None:
    huge = da.zeros((70_000, 70_000), chunks=(70_000, 70_000), dtype=np.uint8)
    with pytest.raises(hl.BoundsError, match="4900000000 elements.*2147483647") as e:
        hd.apply(stencil(), huge)
    assert "rechunk='auto'" in e.value.hint
    assert max(hd.apply(stencil(), huge, rechunk="auto").chunks[0]) < 70_000
    long = da.zeros((1, 1 << 31), chunks=(1, 1 << 20), dtype=np.uint8)
    with pytest.raises(hl.BoundsError, match="has 2147483648 elements, and coord"):
        hd.apply(stencil(), long)


def test_chunks_beyond_memory() -> None:
    with pytest.raises(hl.OutOfMemoryError, match="460 bytes.*400.*860 .*=500") as e:
        hd.apply(stencil(), PIXELS, memory=500)
    assert "rechunk='auto'" in e.value.hint
    small = hd.apply(stencil(), PIXELS, memory=500, rechunk="auto")
    assert all(max(c) < 20 for c in small.chunks) or max(small.chunks[0]) < 20
    with pytest.raises(hl.OutOfMemoryError, match="memory=3"):
        hd.apply(stencil(), PIXELS, memory=3, rechunk="auto")
    with pytest.raises(hl.TypeMismatchError, match="memory is .*not 'plenty'"):
        hd.apply(stencil(), PIXELS, memory="plenty")


def test_a_whole_axis_beyond_memory() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    out = hl.Func("out")
    out[x, y] = image[hl.clamp(hl.i32(image[x, y]) * 9, 0, image.width() - 1), y]
    with pytest.raises(hl.OutOfMemoryError, match="1400 bytes") as caught:
        hd.apply(out, PIXELS, chunks=(20, 5), memory=1450)
    assert "each chunk needs all of axis 1 of photo" in str(caught.value)
    assert hd.apply(out, PIXELS, chunks=(20, 5), memory=1500).shape == (50, 70)


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(hl.TypeMismatchError, match="has 2 dimensions.* 1, its shape"):
        hd.apply(stencil(), PIXELS[0])
    with pytest.raises(hl.TypeMismatchError, match="uint8; the array given is float64"):
        hd.apply(stencil(), PIXELS * 1.0)
    with pytest.raises(hl.TypeMismatchError, match="1 ImageParams.*2 arrays are given"):
        hd.apply(stencil(), PIXELS, PIXELS)
    with pytest.raises(hl.TypeMismatchError, match="'phot' is no ImageParam") as caught:
        hd.apply(stencil(), {"phot": PIXELS})
    assert caught.value.legal
    with pytest.raises(hl.UnsetParamError, match="photo.* has no array"):
        hd.apply(stencil(), {})
    with pytest.raises(hl.TypeMismatchError, match="is a dask array, not 'photo.png'"):
        hd.apply(stencil(), "photo.png")
    with pytest.raises(hl.TypeMismatchError, match="takes a Pipeline, a Func"):
        hd.apply(np.mean, PIXELS)
    plain = hl.Func("plain")
    plain[x, y] = x
    with pytest.raises(hl.DefinitionError, match="reads no image"):
        hd.apply(plain)


def test_options_that_do_not_fit() -> None:
    out = stencil()
    with pytest.raises(hl.BoundsError, match=r"2 dimensions, and the shape \(5,\)"):
        hd.apply(out, PIXELS, shape=(5,))
    with pytest.raises(hl.TypeMismatchError, match="a shape is a tuple of integers"):
        hd.apply(out, PIXELS, shape=(5.5, 2))  # type: ignore[arg-type]
    with pytest.raises(hl.TypeMismatchError, match="is of type uint8, and dtype= is"):
        hd.apply(out, PIXELS, dtype=np.float32)
    with pytest.raises(hl.TypeMismatchError, match="1 output values.*list of 2"):
        hd.apply(out, PIXELS, shape=[(5, 5), (5, 5)])
    with pytest.raises(hl.TypeMismatchError, match="rechunk is 'auto' or None"):
        hd.apply(out, PIXELS, rechunk="please")
    with pytest.raises(hl.BoundsError, match=r"origin=\(1,\) has 1 coordinates"):
        hd.apply(out, PIXELS, origin=(1,))
    with pytest.raises(hl.ScheduleError, match="threads is .*not 0"):
        hd.apply(out, PIXELS, threads=0)
    with pytest.raises(hl.TypeMismatchError, match="'gain' is no Param"):
        hd.apply(out, PIXELS, params={"gain": 3})
    gain = hl.Param(hl.Int(32), "gain")
    scaled = hl.Func("scaled")
    scaled[x, y] = hl.ImageParam(hl.UInt(8), 2)[x, y] * gain
    with pytest.raises(hl.UnsetParamError, match="'gain' has no value"):
        hd.apply(scaled, PIXELS)


def test_an_axis_that_the_schedule_counts_on() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    out = hl.Func("out")
    out[x, y] = image[x, y]
    out.bound(y, 0, 50).unroll(y)
    with pytest.raises(hl.BoundsError, match="axis 0 of 'out' has 5 chunks") as caught:
        hd.apply(out, PIXELS, chunks=(10, 70))
    assert "one chunk" in caught.value.hint


def test_a_chunk_that_fails_says_which_it_was() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    out = hl.Func("out")
    out[x, y] = hl.require(image[x, y] < 200, image[x, y], "too bright:", image[x, y])
    pixels = IMAGE.copy()
    pixels[33, 44] = 250
    lazy = hd.apply(out, da.from_array(pixels, chunks=20))
    for scheduler in ("synchronous", "threads"):
        with pytest.raises(hl.PipelineRuntimeError, match="too bright: 250") as caught:
            lazy.compute(scheduler=scheduler)
        assert "in chunk (1, 2) of out, which is [20:40, 40:60]" in str(caught.value)
        assert caught.value.at is not None and caught.value.at.file == __file__
    assert lazy[:20].compute(scheduler="synchronous").shape == (20, 70)
