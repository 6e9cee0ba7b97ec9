"""`hd.scan` and `hd.iir`: recursive filters along axes that are cut into chunks."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
from dask.local import get_sync as get
from scipy.signal import butter, lfilter

import parhelion as hl
import parhelion.dask as hd
from parhelion.recfilter import RecFilter, RecFilterDim, gaussian_weights

PIXELS = np.random.default_rng(6).random((60, 80))
X, Y = RecFilterDim("x", 80), RecFilterDim("y", 60)


@pytest.mark.parametrize(
    ("axis", "chunks"), [(0, (60, 40)), (1, 40), (0, ((1, 58, 1), 80)), (-1, 27)]
)
def test_iir_is_as_of_one_run(axis: int, chunks: Any) -> None:
    b, a = butter(4, 0.1)
    lazy = hd.iir(da.from_array(PIXELS, chunks), b, a, axis)
    assert lazy.dtype == np.float64
    assert abs(lazy.compute() - lfilter(b, a, PIXELS, axis)).max() < 1e-12
    back = hd.iir(da.from_array(PIXELS, chunks), b, a, axis, reverse=True)
    turned = np.flip(lfilter(b, a, np.flip(PIXELS, axis), axis), axis)
    assert abs(back.compute() - turned).max() < 1e-12


def test_the_result_is_rounded_once() -> None:
    pixels = (PIXELS * 255).astype(np.uint8)
    lazy = hd.iir(da.from_array(pixels, 16), [0.1], [1, -0.9])
    assert lazy.dtype == np.float32
    whole = lfilter([0.1], [1, -0.9], pixels.astype(np.float64))
    # One rounding to float32: half a unit in the last place, of numbers below 256.
    assert abs(lazy.compute() - whole).max() <= 2.0**-17 + 1e-12


def test_a_summed_area_table_is_exact() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    pixels = (PIXELS * 255).astype(np.uint8)
    table = RecFilter("table")
    table[X, Y] = hl.i32(image[X, Y])
    table.add_filter(+X, [1, 1])
    table.add_filter(+Y, [1, 1])
    for chunks in (40, ((59, 1), (80,))):
        lazy = hd.scan(table, da.from_array(pixels, chunks))
        assert lazy.dtype == np.int32
        whole = pixels.astype(np.int32).cumsum(0).cumsum(1)
        assert (lazy.compute() == whole).all()


def gaussian(image: hl.ImageParam, sigma: float) -> RecFilter:
    f = RecFilter("gaussian")
    f[X, Y] = image[X, Y]
    for way in (+X, -X, +Y, -Y):
        f.add_filter(way, gaussian_weights(sigma))
    return f


def test_a_gaussian_is_as_near_as_one_run_for_any_number_of_workers() -> None:
    image = hl.ImageParam(hl.Float(32), 2, "image")
    wide = hl.ImageParam(hl.Float(64), 2, "wide")
    wide.set(PIXELS)
    exact = np.asarray(gaussian(wide, 4.0).realize())
    lazy = hd.scan(gaussian(image, 4.0), da.from_array(PIXELS.astype(np.float32), 20))
    one, four = [lazy.compute(scheduler="threads", num_workers=n) for n in (1, 4)]
    assert (one == four).all()
    assert abs(one - exact).max() < 2e-5


def test_chunks_exchange_states_and_no_pixels() -> None:
    lazy = hd.iir(da.from_array(PIXELS, (20, 16)), [0.1], [1, -0.5, 0.2])
    graph = dict(lazy.__dask_graph__())
    kinds = [str(k[0]).split("-")[0] for k in graph if isinstance(k, tuple)]
    assert kinds.count("tails") == kinds.count("state") == 15
    assert kinds.count("carry") == 3
    # A state is two numbers for each of 20 lines, of 16 points each.
    state = next(k for k in graph if k[0].startswith("state"))
    found = get(graph, state)
    assert found.shape == (2, 20)
    # The last pass reads the source again, under other names.
    blocks = {k for k in graph if isinstance(k, tuple) and "array-" in str(k[0])}
    assert len(blocks) == 30


def test_what_is_refused() -> None:
    pixels = da.from_array(PIXELS, 16)
    image = hl.ImageParam(hl.Float(64), 2, "image")
    with pytest.raises(hl.DefinitionError, match="is 'zero', not 'clamp'") as error:
        hd.iir(pixels, [1], [1, -0.5], border="clamp")
    assert "dask.array.pad" in error.value.hint
    with pytest.raises(hl.BoundsError, match="of 2 axes has no axis 2"):
        hd.iir(pixels, [1], [1, -0.5], axis=2)
    with pytest.raises(hl.DefinitionError, match="unstable|pole"):
        hd.iir(pixels, [1], [1, -1.5])
    with pytest.raises(hl.TypeMismatchError, match="complex128"):
        hd.iir(pixels + 1j, [1], [1, -0.5])
    with pytest.raises(hl.BoundsError, match="not known"):
        hd.iir(pixels[pixels[:, 0] > 0.5], [1], [1, -0.5])
    with pytest.raises(hl.TypeMismatchError, match="hd.scan takes a RecFilter"):
        hd.scan(image, pixels)  # type: ignore[arg-type]
    edge = RecFilter("edge", "clamp")
    edge[X, Y] = image[X, Y]
    edge.add_filter(+X, [0.5, 0.5])
    with pytest.raises(hl.DefinitionError, match="has the border 'clamp'"):
        hd.scan(edge, pixels)
    varying = RecFilter("varying")
    varying[X, Y] = image[X, Y]
    varying.add_filter(+X, [0.5, hl.f64(X) / 160])
    with pytest.raises(hl.DefinitionError, match="coefficients that vary"):
        hd.scan(varying, pixels)
    pair = RecFilter("pair")
    pair[X, Y] = hl.Tuple(image[X, Y], image[X, Y] * 2)
    pair.add_filter(+X, [0.5, 0.5])
    with pytest.raises(hl.DefinitionError, match="several values"):
        hd.scan(pair, pixels)
    with pytest.raises(hl.BoundsError, match=r"needs the pixels .* of axis 1"):
        hd.scan(gaussian(image, 2.0), pixels[:, :50])
