"""How recursive filters are computed when nothing is said, and in pipelines."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim
from parhelion.recfilter.schedules import across_few, lanes, strip_of, strips_alike
from parhelion.runtime.threads import get_num_threads

Array = NDArray[Any]

rng = np.random.default_rng(3)
W, H = 75, 50
image = rng.random((H, W), np.float32)


def smooth(source: hl.Buffer | hl.Func) -> RecFilter:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f = RecFilter("smooth")
    f[x, y] = source[x, y]
    for direction in (+x, -x, +y, -y):
        f.add_filter(direction, [0.5, 0.5])
    return f


@pytest.mark.parametrize("split", [0, 16])
@pytest.mark.parametrize("border", ["zero", "clamp", "mirror"])
@pytest.mark.parametrize(
    "shape",
    [(50, 37), (64, 64), (7, 300), (300, 7), (3, 40, 50), (40, 50, 3), (20_011,)],
)
def test_code_is_made_once(shape: tuple[int, ...], border: str, split: int) -> None:
    """No stage reads beyond the image, for which other code would be made then."""
    dims = [RecFilterDim("xyz"[k], n) for k, n in enumerate(shape[::-1])]
    f, inp = RecFilter("f", border), hl.Buffer(rng.random(shape, np.float32))
    f[tuple(dims)] = inp[tuple(dims)]
    for d in dims:
        if d.extent > 3:
            f.add_filter(+d, [0.5, 0.5])
            f.add_filter(-d, [0.5, 0.3, 0.1])
            if split:
                f.split(d, split)
    f.realize()
    assert f.as_func()._pipeline()._runner.variants() == 1


@pytest.mark.parametrize("scheduler", [None, "Parhelion", "Mullapudi2016"])
def test_a_part_of_a_pipeline(scheduler: str | None) -> None:
    """It has its own schedule; the rest is the user's, or a scheduler's."""
    inp, u, v = hl.Buffer(image), hl.Var("u"), hl.Var("v")
    bright, sharp = hl.Func("bright"), hl.Func("sharp")
    bright[u, v] = inp[u, v] + hl.f32(u) / 100
    low = smooth(bright)
    sharp[u, v] = 2 * bright[u, v] - low[u, v]
    if scheduler:
        hl.autoschedule(sharp, [W, H], scheduler=scheduler)
    source = image + np.arange(W, dtype=np.float32) / 100
    wanted = 2 * source - np.asarray(smooth(hl.Buffer(source)).realize())
    got = np.asarray(sharp.realize([W, H]))
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_a_filter_that_is_read_by_several() -> None:
    inp, u, v = hl.Buffer(image), hl.Var("u"), hl.Var("v")
    low = smooth(inp)
    first, second = hl.Func("first"), hl.Func("second")
    first[u, v] = low[u, v] * 2
    second[u, v] = low[u, v] - low[v % W, u % H]
    results = hl.Pipeline([first, second]).realize([W, H])
    assert isinstance(results, tuple)
    wanted = np.asarray(smooth(inp).realize())
    np.testing.assert_allclose(np.asarray(results[0]), 2 * wanted, atol=1e-6)
    swapped = wanted[np.arange(W)[None] % H, np.arange(H)[:, None] % W]
    np.testing.assert_allclose(np.asarray(results[1]), wanted - swapped, atol=1e-6)


def test_an_explanation() -> None:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f, w = RecFilter("f"), hl.Buffer(image)
    f[x, y] = w[x, y]
    f.add_filter(+x, [0.5, 0.5])
    f.add_filter(-x, [1, 2, -1])
    f.add_filter(+y, [1, 1], feedforward=[1, 0, -1])
    f.add_filter(+y, [1, w[x, y]])
    f.add_filter(-x, [1], feedforward=[1, 1])
    f.split(x, 16)
    assert f.explain().splitlines() == [
        "f: 5 filters over 75 x 50 points of float32, zero beyond them",
        "along x, in 5 tiles of 16 points:",
        "  +x, order 1, largest pole 0.5, values grow by up to 0.5 within a tile",
        "  -x, order 2, largest pole 1, values grow by up to 33 within a tile",
        "along y, in whole lines:",
        "  +y, sums of 3 points, order 1, largest pole 1",
        "  +y, order 1, coefficients that vary",
        "along x, in whole lines:",
        "  -x, sums of 2 points",
    ]
    f.realize()


def test_an_explanation_of_tiles() -> None:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f = RecFilter("both")
    f[x, y] = hl.f32(x + y)
    for direction in (+x, +y, -x):
        f.add_filter(direction, [0.5, 0.5])
    f.split(x, 16, y, 25)
    assert (
        f.explain().splitlines()[1] == "along x and y, in 10 tiles of 16 x 25 points:"
    )
    t = RecFilterDim("t", 100_000)
    line = RecFilter("line", "repeat")
    line[t] = hl.f32(t)
    line.add_filter(+t, [0.5, 0.5])
    assert line.explain().splitlines()[:2] == [
        "line: 1 filter over 100000 points of float32, repeat beyond them",
        "along t, in 98 tiles of 1024 points, as there are few lines:",
    ]


@pytest.mark.parametrize(
    ("points", "value", "filters", "told"),
    [
        (16_383, hl.f32(1), [[0.5, 0.5]], "in whole lines"),
        (16_384, hl.f32(1), [[0.5, 0.5]], "in 16 tiles of 1024 points"),
        (524_287, hl.f32(1), [[0.5, 0.5]], "in 512 tiles of 1024 points"),
        (524_288, hl.f32(1), [[0.5, 0.5]], "in 256 tiles of 2048 points"),
        (1_048_575, hl.f32(1), [[0.5, 0.5]], "in 512 tiles of 2048 points"),
        (1_048_576, hl.f32(1), [[0.5, 0.5]], "in 256 tiles of 4096 points"),
        (1_048_575, hl.f64(1), [[0.5, 0.5]], "in 256 tiles of 4096 points"),
        (1_048_576, hl.u8(1), [[1, 1]], "in 1024 tiles of 1024 points"),
        # A sum of all points grows no more in wider tiles; poles near to 1 do.
        (1_048_576, hl.f32(1), [[1, 1]], "in 256 tiles of 4096 points"),
        (1_048_576, hl.f32(1), [[1, 1.9, -0.9025]], "in 256 tiles of 4096 points"),
        (1_048_576, hl.f64(1), [[1, 1.998, -0.998_001]], "in 256 tiles of 4096"),
        (1_048_576, hl.f64(1), [[1, 1.9998, -0.999_800_01]], "in 1024 tiles of 1024"),
        (1_048_576, hl.i32(1), [[1, 2, -1]], "in 256 tiles of 4096 points"),
    ],
)
def test_longer_lines_have_wider_tiles(
    points: int, value: hl.Expr, filters: list[list[float]], told: str
) -> None:
    t = RecFilterDim("t", points)
    f = RecFilter("f")
    f[t] = value
    for c in filters:
        f.add_filter(+t, c)
    assert told in f.explain()


def test_many_filters_are_computed_in_several_runs() -> None:
    """What a run takes to compile grows with the square of its filters."""
    t = RecFilterDim("t", 40_000)
    source = rng.integers(-9, 9, 40_000).astype(np.int32)
    f, whole = RecFilter("f"), RecFilter("whole")
    for one in (f, whole):
        one[t] = hl.Buffer(source)[t]
        for k in range(20):
            one.add_filter(+t if k < 9 else -t, [1, 0, -1], [1, 1] if not k else [1])
        one.add_filter(-t, [1, 1])
    whole.split(t, 40_000)
    said = f.explain().splitlines()
    assert [n for n, told in enumerate(said) if told.startswith("along")] == [1, 12]
    np.testing.assert_array_equal(np.asarray(f.realize()), np.asarray(whole.realize()))


def test_a_filter_of_high_order_is_a_run() -> None:
    t = RecFilterDim("t", 40_000)
    f = RecFilter("f")
    f[t] = hl.u32(t)
    for order in (2, 35, 1):
        f.add_filter(+t, [1, *[0] * (order - 1), 1])
    said = [told for told in f.explain().splitlines() if "order" in told]
    assert [told.split()[2] for told in said] == ["2,", "35,", "1,"]
    f.split(t, 50)
    wanted = np.arange(40_000, dtype=np.uint32)
    for order in (2, 35, 1):
        for first in range(order):
            wanted[first::order] = np.cumsum(wanted[first::order], dtype=np.uint32)
    np.testing.assert_array_equal(np.asarray(f.realize()), wanted)


@pytest.mark.parametrize(("order", "at_a_time"), [(15, 8), (16, 4), (63, 2), (64, 1)])
@pytest.mark.parametrize("split", [False, True])
def test_filters_of_high_order_go_over_fewer_points_at_a_time(
    order: int, at_a_time: int, split: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their code is written out, and what takes it long is to compile."""
    x, y = RecFilterDim("x", 300), RecFilterDim("y", 9)
    source = rng.random((9, 300))
    back = (0.9 / order * (1 - 2 * rng.random(order))).tolist()
    f = RecFilter("f")
    f[x, y] = hl.Buffer(source)[x, y]
    f.add_filter(+x, [1, *back])
    if split:
        f.split(x, 100)
    wanted = source.copy()
    for i in range(1, 300):
        for k, a in enumerate(back[:i], 1):
            wanted[:, i] += a * wanted[:, i - k]
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, rtol=1e-12)
    f.print_loop_nest()
    unrolled = re.findall(r"unrolled rx\S+ in \[0, (\d)\]", capsys.readouterr().out)
    assert set(unrolled) == ({str(at_a_time - 1)} if at_a_time > 1 else set())


@pytest.mark.parametrize(("order", "at_a_time"), [(1, 16), (9, 16), (10, 8), (16, 4)])
def test_tiles_of_a_line_are_gone_over_more_points_at_a_time(
    order: int, at_a_time: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Vectors are across tiles: there is no other line beside it."""
    t = RecFilterDim("t", 40_000)
    f = RecFilter("f")
    f[t] = hl.u32(t)
    f.add_filter(+t, [1, *[0] * (order - 1), 1])
    f.print_loop_nest()
    unrolled = re.findall(r"unrolled rt\S+ in \[0, (\d+)\]", capsys.readouterr().out)
    assert set(unrolled) == {str(at_a_time - 1)}


def test_the_loops(capsys: pytest.CaptureFixture[str]) -> None:
    smooth(hl.Buffer(image)).print_loop_nest()
    assert "produce smooth" in capsys.readouterr().out


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Any:
    before = get_num_threads()
    hl.set_num_threads(request.param)
    yield request.param
    hl.set_num_threads(before)


@pytest.mark.parametrize("width", [16, 24, 33, 64, 100, 700, 1000, 5000])
@pytest.mark.parametrize("t", ["uint8", "float32", "int64"])
def test_strips_of_columns_fit_the_image(t: str, width: int, threads: int) -> None:
    """A strip has less than a vector beyond its share of the image, and there is one
    for each thread if columns are enough."""
    x, y = RecFilterDim("x", width), RecFilterDim("y", 21)
    kind = hl.Buffer(np.zeros(1, t)).type()
    found = across_few((x, y), 1, kind)
    assert found is not None and found[0] is x
    size, wide = strips_alike(width, kind, found[1])
    count = -(-width // size)
    assert size % wide == 0
    assert count * size - width < count * wide
    assert count >= threads or width * np.dtype(t).itemsize < threads * 512

    pixels = rng.integers(0, 100, (21, width)).astype(t)
    f, inp = RecFilter("f"), hl.Buffer(pixels)
    f[x, y] = inp[x, y]
    f.add_filter(+y, [1, 1])
    assert np.array_equal(np.asarray(f.realize()), np.cumsum(pixels, 0, t))


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("shape", [(48, 5), (5, 20), (33, 3), (7, 7), (5, 4), (3, 3)])
def test_vectors_of_few_lines(
    shape: tuple[int, int], back: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines that do not fill a register are scanned in vectors of fewer, down to four,
    whether they lie side by side or one after the other."""
    pixels = rng.integers(0, 100, shape).astype(np.uint8)
    height, width = shape
    x, y = RecFilterDim("x", width), RecFilterDim("y", height)
    for axis, d in enumerate((y, x)):
        lines = shape[1 - axis]
        found = across_few((x, y), 1 - axis, hl.UInt(8))
        if lines < 4:
            assert found is None
        else:
            n = min(lanes(hl.UInt(8)), 1 << lines.bit_length() - 1)
            assert found is not None and found[0] is (x, y)[axis] and found[1] == n
        f, inp = RecFilter("f"), hl.Buffer(pixels)
        f[x, y] = inp[x, y]
        f.add_filter(+d, [1, 1])
        wanted = np.cumsum(pixels, axis, np.uint8)
        if back:
            f.add_filter(-d, [1, 1])
            wanted = np.flip(np.cumsum(np.flip(wanted, axis), axis, np.uint8), axis)
        assert np.array_equal(np.asarray(f.realize()), wanted)
        f.print_loop_nest()
        assert ("vectorized" in capsys.readouterr().out) == (lines >= 4)


@pytest.mark.parametrize("t", [hl.UInt(8), hl.Float(32), hl.Float(64)])
def test_strips_of_filters_that_keep_lines(t: hl.Type) -> None:
    """They are as wide as registers are many, but for images that they do not fit:
    strips never go beyond the image, and compute little twice."""
    n = lanes(t)
    widest, least = strip_of(True, 100, t), max(n, 256 // t.bytes())
    assert widest >= least and widest % n == 0
    for extent in range(n, 6 * widest):
        size = strip_of(True, 100, t, extent)
        assert size <= extent and size % n == 0
        twice = -(-extent // size) * size - extent
        assert size <= least or twice <= extent / 8
        fits = widest <= extent and extent % widest == 0
        assert size == widest or not fits
