"""`iir`, `sosfilt` and `filtfilt` against SciPy's functions of these names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter.zero_phase import _before

signal = pytest.importorskip("scipy.signal")

Array = NDArray[Any]
#: Numerator and denominator, in turn.
Filters = Sequence[tuple[Any, Any]]
EPS = float(np.finfo(np.float64).eps)
rng = np.random.default_rng(11)

SHAPES = [((61,), 0), ((23, 37), 0), ((23, 37), -1), ((9, 17, 14), 1)]
#: Low-pass, band-stop, of a[0] other than 1, a delay, and without feedback.
FILTERS: dict[str, tuple[Any, Any]] = {
    "butter": signal.butter(3, 0.2),
    "notch": signal.iirnotch(0.3, 4.0),
    "scaled": ([0.3, -0.2, 0.1, 0.05], [2.0, -1.5, 0.7]),
    "delay": ([0.0, 0.0, 1.0], [-4.0, 1.0]),
    "mean": (np.ones(3) / 3, 1),
}
B, A = FILTERS["butter"]
SECTIONS = signal.butter(5, 0.15, output="sos")


def image(shape: tuple[int, ...], kind: str = "float64") -> Array:
    pixels = rng.integers(0, 256, shape) if kind == "uint8" else rng.normal(size=shape)
    return pixels.astype(kind)


def rounding(filters: Filters, largest: float, longest: int = 3000) -> float:
    """How far two programs that run filters in float64 can be apart.

    largest: magnitude in what the first one filters. A sum of products is off by some
    roundings, of 4 EPS of the sum of their magnitudes. These are as good as random, so
    that the recursion makes of them the root of the squares of its impulse response. A
    later filter adds up what comes in.
    """
    off = 0.0
    pulse = np.zeros(longest)
    pulse[0] = 1
    for b, a in filters:
        above, below = np.atleast_1d(b) / np.ravel(a)[0], np.ravel(a) / np.ravel(a)[0]
        gain = np.abs(signal.lfilter(above, below, pulse)).sum()
        recursion = np.sqrt(np.square(signal.lfilter([1], below, pulse)).sum())
        made = gain * largest
        sums = np.abs(above).sum() * largest + np.abs(below[1:]).sum() * made
        off = gain * off + 4 * EPS * recursion * sums
        largest = made
    return float(off)


def assert_same(got: Any, wanted: Array, bound: float) -> None:
    """Results of float64 are `bound` apart, those of float32 are rounded once more."""
    got = np.asarray(got)
    assert got.shape == wanted.shape
    half = 0.5 * np.finfo(np.float32).eps * (got.dtype == np.float32)
    apart = np.abs(got - wanted)
    assert (apart <= bound + half * (np.abs(wanted) + bound)).all(), apart.max()


def by_scipy(run: Any, source: Array, axis: int, reverse: bool = False) -> Array:
    """A filter of SciPy's in float64, from the last point back if `reverse`."""
    pixels = np.asarray(source, np.float64)
    if reverse:
        return np.flip(run(np.flip(pixels, axis)), axis)
    return np.asarray(run(pixels))


def type_of(kind: str) -> str:
    return "float64" if kind == "float64" else "float32"


# iir.


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_iir_is_lfilter(
    shape: tuple[int, ...], axis: int, reverse: bool, kind: str
) -> None:
    pixels = image(shape, kind)
    b, a = FILTERS["scaled"]
    got = hl.iir(pixels, b, a, axis, reverse)
    wanted = by_scipy(lambda p: signal.lfilter(b, a, p, axis), pixels, axis, reverse)
    assert got.dtype == type_of(kind)
    assert_same(got, wanted, rounding([(b, a)], float(np.abs(pixels).max())))


@pytest.mark.parametrize("name", FILTERS)
def test_iir_of_several_filters(name: str) -> None:
    b, a = FILTERS[name]
    pixels = image((5, 70))
    bound = rounding([(b, a)], float(np.abs(pixels).max()))
    assert_same(hl.iir(pixels, b, a), signal.lfilter(b, a, pixels), bound)


def test_a_narrow_filter_of_float32_is_that_of_scipy() -> None:
    """With coefficients in float32 it is 1 % off."""
    b, a = signal.butter(4, 0.02)
    pixels = rng.random((2, 800)).astype(np.float32)
    wanted = signal.lfilter(b, a, pixels.astype(np.float64))
    assert_same(hl.iir(pixels, b, a), wanted, rounding([(b, a)], 1.0))


@pytest.mark.parametrize("kind", ["float16", "bool", "int16", "int64", ">f8", ">u2"])
def test_arrays_of_other_types(kind: str) -> None:
    pixels = (rng.random((6, 12)) * 100).astype(kind)[:, ::2]
    b, a = [0.5, 0.25], [1, -0.5]
    got = hl.iir(pixels, b, a, 0)
    assert got.dtype == type_of(np.dtype(kind).name)
    wanted = signal.lfilter(b, a, pixels.astype(np.float64), 0)
    assert_same(got, wanted, rounding([(b, a)], 100.0))


def test_images_of_any_shape() -> None:
    b, a = [0.5, 0.25], [1, -0.5]
    for shape in [(1,), (2, 1), (1, 2), (3, 1, 2, 1, 2, 2)]:
        pixels = image(shape)
        for axis in range(len(shape)):
            wanted = signal.lfilter(b, a, pixels, axis)
            assert_same(hl.iir(pixels, b, a, axis), wanted, rounding([(b, a)], 5.0))
    assert hl.iir(np.zeros((0, 4), np.uint8), b, a).shape == (0, 4)
    assert hl.sosfilt(SECTIONS, np.zeros((4, 0))).shape == (4, 0)
    assert hl.filtfilt(b, a, np.zeros((9, 0)), 0).shape == (9, 0)
    given: Any = [1, 2, 4]
    assert hl.iir(given, 1, [1, -0.5]).tolist() == [1, 2.5, 5.25]


# sosfilt.


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_sosfilt(shape: tuple[int, ...], axis: int, reverse: bool, kind: str) -> None:
    pixels = image(shape, kind)
    got = hl.sosfilt(SECTIONS, pixels, axis, reverse=reverse)
    wanted = by_scipy(
        lambda p: signal.sosfilt(SECTIONS, p, axis), pixels, axis, reverse
    )
    assert got.dtype == type_of(kind)
    parts = [(row[:3], row[3:]) for row in SECTIONS]
    assert_same(got, wanted, rounding(parts, float(np.abs(pixels).max())))


def test_sections_with_another_a0_and_without_feedback() -> None:
    sections = np.array(
        [[1, 0.5, 0, 2, -1, 0], [0, 0, 3, 1, 0, 0], [1, 0, 0, -4, 0, 1]]
    )
    pixels = image((40,))
    scaled = sections / sections[:, 3:4]
    parts = [(row[:3], row[3:]) for row in scaled]
    wanted = signal.sosfilt(scaled, pixels)
    assert_same(hl.sosfilt(sections, pixels), wanted, rounding(parts, 5.0))


def test_sections_of_an_image_without_end() -> None:
    pixels = image((30, 8))
    sections = [[0.2, 0, 0, 1, -0.8, 0], [0.5, 0, 0, 1, -0.7, 0.2]]
    long = np.pad(pixels, [(300, 0), (0, 0)], "edge")
    wanted = signal.sosfilt(sections, long, 0)[300:]
    parts = [(row[:3], row[3:]) for row in sections]
    got = hl.sosfilt(sections, pixels, 0, border="clamp")
    assert_same(got, wanted, rounding(parts, 5.0))


# filtfilt.


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("padtype", ["odd", "even", "constant", None])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_filtfilt(
    shape: tuple[int, ...], axis: int, padtype: str | None, kind: str
) -> None:
    pixels = image(shape, kind)
    got = hl.filtfilt(B, A, pixels, axis, padtype)
    wanted = by_scipy(lambda p: signal.filtfilt(B, A, p, axis, padtype), pixels, axis)
    assert got.dtype == type_of(kind)
    # An odd extension is up to three times as large as the image.
    assert_same(got, wanted, rounding([(B, A)] * 2, 3 * float(np.abs(pixels).max())))


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("padlen", [None, 0, 4])
def test_filtfilt_of_several_filters(name: str, padlen: int | None) -> None:
    b, a = FILTERS[name]
    pixels = image((30, 5))
    got = hl.filtfilt(b, a, pixels, 0, "odd", padlen)
    wanted = signal.filtfilt(b, a, pixels, 0, "odd", padlen)
    assert_same(got, wanted, rounding([(b, a)] * 2, 3 * float(np.abs(pixels).max())))


@pytest.mark.parametrize("padtype", ["odd", "even", "constant"])
def test_filtfilt_of_signals_of_padlen_and_one_sample(padtype: str) -> None:
    b, a = FILTERS["scaled"]
    for count in (1, 2, 3, 13):
        pixels, padlen = image((count,)), count - 1
        got = hl.filtfilt(b, a, pixels, -1, padtype, padlen)
        wanted = signal.filtfilt(b, a, pixels, -1, padtype, padlen)
        assert_same(got, wanted, rounding([(b, a)] * 2, 15.0))
    shortest = image((13,))  # 3 * len(b) + 1
    wanted = signal.filtfilt(b, a, shortest, padtype=padtype)
    got = hl.filtfilt(b, a, shortest, padtype=padtype)
    assert_same(got, wanted, rounding([(b, a)] * 2, 15.0))


def test_a_pole_on_the_unit_circle_beside_1() -> None:
    b, a = [1.0, 0.5], [1.0, 1.0]
    pixels = image((40,))
    wanted = signal.filtfilt(b, a, pixels)
    assert_same(hl.filtfilt(b, a, pixels), wanted, rounding([(b, a)] * 2, 15.0, 52))


def test_a_run_starts_with_the_states_of_lfilter_zi() -> None:
    """These are what outputs and what inputs before the first sample add."""
    for b, a in FILTERS.values():
        size = max(len(np.atleast_1d(b)), len(np.atleast_1d(a)))
        forward, below = np.zeros(size), np.zeros(size)
        forward[: len(np.atleast_1d(b))] = np.atleast_1d(b) / np.ravel(a)[0]
        below[: len(np.atleast_1d(a))] = np.atleast_1d(a) / np.ravel(a)[0]
        inputs = forward[::-1].cumsum()[::-1][1:]
        states = np.array(_before(list(forward), list(-below[1:]))) + inputs
        wanted = signal.lfilter_zi(b, a)
        np.testing.assert_allclose(states, wanted, rtol=0, atol=64 * EPS)


# Buffers and Funcs.


def test_buffers_keep_their_coordinates() -> None:
    pixels = image((20, 30), "float32")
    buffer = hl.Buffer(pixels).translated([7, -3])
    for axis, k in (("y", 0), (-1, 1)):
        once = hl.iir(buffer, [0.5], [1, -0.5], axis)
        both = hl.filtfilt(B, A, buffer, axis)
        assert np.array_equal(once, hl.iir(pixels, [0.5], [1, -0.5], k))
        assert np.array_equal(both, hl.filtfilt(B, A, pixels, k))
        for made in (once, both):
            assert isinstance(made, hl.Buffer) and made.type() == hl.Float(32)
            assert [made.dim(d).min() for d in (0, 1)] == [7, -3]
    got = hl.sosfilt(SECTIONS, buffer, "y")
    assert np.array_equal(got, hl.sosfilt(SECTIONS, pixels, 0))
    none = hl.iir(hl.Buffer(hl.UInt(8), [0, 3]).translated([2, 5]), 1, 1)
    assert none.type() == hl.Float(32) and none.dim(1).min() == 5


def test_funcs_in_a_larger_pipeline() -> None:
    pixels = image((20, 30), "float32")
    inp, sizes = hl.Buffer(pixels), [30, 20]
    u, v, x, y = hl.vars("u v x y")
    twice = hl.Func("twice")
    twice[u, v] = inp[u, v] * 2
    across = hl.iir(twice, [0.5], [1, -0.5], axis="u", sizes=sizes)
    down = hl.sosfilt(SECTIONS, across, "v", sizes=sizes)
    both = hl.filtfilt(B, A, down, -1, sizes=sizes)
    sharp = hl.Func("sharp")
    sharp[x, y] = twice[x, y] - both[x, y]
    wide = 2 * pixels
    wide_once = hl.iir(wide, [0.5], [1, -0.5])
    wanted = hl.filtfilt(B, A, hl.sosfilt(SECTIONS, wide_once, 0))
    got = np.asarray(sharp.vectorize(x, 8).realize(sizes))
    np.testing.assert_array_equal(got, wide - wanted)
    assert [a.name() for a in both.args()] == ["u", "v"]
    np.testing.assert_array_equal(np.asarray(both.realize(sizes)), wanted)


def test_axes_of_funcs() -> None:
    pixels = image((6, 9))
    inp, sizes = hl.Buffer(pixels), (9, 6)
    x, y, u, v = hl.vars("x y u v")

    def filtered(a: hl.Var, b: hl.Var, axis: int | str) -> Array:
        f = hl.Func()
        f[a, b] = inp[a, b]
        return np.asarray(hl.iir(f, 1, [1, -0.5], axis, sizes=sizes).realize(sizes))

    across, down = (hl.iir(pixels, 1, [1, -0.5], axis) for axis in (1, 0))
    assert np.array_equal(filtered(u, v, "u"), across)
    assert np.array_equal(filtered(u, v, "y"), down)
    assert np.array_equal(filtered(y, x, "x"), down)  # by the name that it has
    assert np.array_equal(filtered(y, x, 1), across)
    implicit = hl.Func(inp + 0)
    made = hl.iir(implicit, 1, [1, -0.5], "y", sizes=sizes)
    assert np.array_equal(np.asarray(made.realize(sizes)), down)
    refused(lambda: filtered(x, u, "y"), hl.BoundsError, "no axis 'y'")


# What is refused.


def refused(call: Any, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why) as error:
        call()
    assert "test_iir.py" in str(error.value)


PIXELS = image((20, 30))


@pytest.mark.parametrize("name", ["iir", "filtfilt"])
@pytest.mark.parametrize(
    ("b", "a", "kind", "why"),
    [
        ([1], [0, 1], hl.DefinitionError, r"a\[0\] is 0; it is the coefficient of y"),
        (
            [1],
            [1, -1.1],
            hl.DefinitionError,
            r"the filter is unstable: it has a pole of mag",
        ),
        ([], [1], hl.DefinitionError, "b: no coefficients are given"),
        ([1], [1, np.nan], hl.DefinitionError, "a: a coefficient must be finite"),
        ("1", [1], hl.TypeMismatchError, "b: the coefficients must be a list of numb"),
        ([1], None, hl.TypeMismatchError, "a: the coefficients must be a list of numb"),
        (["1"], [1], hl.TypeMismatchError, "b: a coefficient must be a real number"),
        (1j, [1], hl.TypeMismatchError, "b: a coefficient must be a real number"),
        (True, [1], hl.TypeMismatchError, "b: a coefficient must be a real number"),
        (np.ones((2, 2)), 1, hl.TypeMismatchError, "b: a coefficient must be a real n"),
    ],
)
def test_coefficients(name: str, b: Any, a: Any, kind: Any, why: str) -> None:
    if name == "iir":
        refused(lambda: hl.iir(PIXELS, b, a), kind, f"iir: .*{why}")
    else:
        refused(lambda: hl.filtfilt(b, a, PIXELS), kind, f"filtfilt: .*{why}")


@pytest.mark.parametrize(
    ("sos", "kind", "why"),
    [
        ([1, 0, 0, 1, 0, 0], hl.DefinitionError, r"\(n_sections, 6\).*not \(6,\)"),
        (np.ones((2, 5)), hl.DefinitionError, r"\(n_sections, 6\).*not \(2, 5\)"),
        ([[1] * 6, [1] * 5], hl.DefinitionError, r"\(n_sections, 6\)"),
        (np.ones((0, 6)), hl.DefinitionError, r"\(n_sections, 6\).*not \(0, 6\)"),
        ("sos", hl.DefinitionError, r"\(n_sections, 6\).*not \(\)"),
        ([[1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0]], hl.DefinitionError, r"1: a\[0\] is"),
        (
            [[1, 0, 0, 1, -3, 1]],
            hl.DefinitionError,
            "section 0: the filter is unstable",
        ),
        ([["b", 0, 0, 1, 0, 0]], hl.TypeMismatchError, "section 0: b: .* real number"),
        ([[1, 0, 0, 1, 0, 1j]], hl.TypeMismatchError, "section 0: a: .* real number"),
    ],
)
def test_sections(sos: Any, kind: Any, why: str) -> None:
    refused(lambda: hl.sosfilt(sos, PIXELS), kind, f"sosfilt: .*{why}")


def test_paddings() -> None:
    b, a = [1], [1, -0.5]
    error = hl.BoundsError
    mirror: Any = "mirror"
    why = "padtype is 'odd', 'even', 'constant' or None, not 'mirror'"
    refused(lambda: hl.filtfilt(b, a, PIXELS, 0, mirror), hl.DefinitionError, why)
    why = r"axis 'y' has 6 samples, and must have more than padlen, 6 = 3 \* max\(len"
    refused(lambda: hl.filtfilt(b, a, PIXELS[:6], 0), error, why)
    why = r"(?s)has 30 samples, and must .* 30.*padlen=29 or less"
    refused(lambda: hl.filtfilt(b, a, PIXELS, padlen=30), error, why)
    why = "has 0 samples, and must have more than padlen, 0, of padtype=None"
    refused(lambda: hl.filtfilt(b, a, PIXELS[:0], 0, None), error, why)
    why = "padlen must be 0 or more, not -1"
    refused(lambda: hl.filtfilt(b, a, PIXELS, padlen=-1), error, why)
    half: Any = 2.5
    why = "padlen is an integer, not 2.5"
    refused(lambda: hl.filtfilt(b, a, PIXELS, padlen=half), hl.TypeMismatchError, why)


def test_a_pole_at_1_has_no_state_to_start_from() -> None:
    why = r"(?s)pole at 1, because the sum of a / a\[0\] is 0:.*hint: hl.iir"
    refused(lambda: hl.filtfilt(1, [1, -1], PIXELS), hl.DefinitionError, why)
    why = "pole at 1"
    refused(lambda: hl.filtfilt(1, [5, -6, 1], PIXELS), hl.DefinitionError, why)
    refused(lambda: hl.filtfilt(1, [1, -1.2, 0.2], PIXELS), hl.DefinitionError, why)


def test_axes_that_are_not_there() -> None:
    b, a = [1], [1, -0.5]
    why = "(?s)an image of 2 dimensions has no axis 2.*'x', 'y', or -2 to 1 in NumPy"
    refused(lambda: hl.iir(PIXELS, b, a, 2), hl.BoundsError, why)
    refused(lambda: hl.sosfilt(SECTIONS, PIXELS, "z"), hl.BoundsError, "no axis 'z'")
    refused(lambda: hl.filtfilt(b, a, PIXELS, -3), hl.BoundsError, "no axis -3")
    zero: Any = np.float32(1)
    refused(lambda: hl.iir(zero, b, a), hl.BoundsError, "(?s)0 dimens.*at least one")
    half: Any = 0.5
    refused(lambda: hl.iir(PIXELS, b, a, half), hl.TypeMismatchError, "an integer")


def test_sizes() -> None:
    b, a = [1], [1, -0.5]
    x, y = hl.vars("x y")
    f = hl.Func("f")
    f[x, y] = x + y
    call: Any = hl.iir
    error = hl.DefinitionError
    why = r"(?s)a Func has no extents of its own.*dimensions x, y.*sizes=\[width, he"
    refused(lambda: call(f, b, a), error, why)
    call = hl.sosfilt
    refused(lambda: call(SECTIONS, f), error, why)
    call = hl.filtfilt
    refused(lambda: call(b, a, f), error, why)
    why = r"one extent for each of the dimensions x, y of Func 'f.*', and is \[3\]"
    refused(lambda: hl.iir(f, b, a, sizes=[3]), error, why)
    why = r"each of sizes must be positive, not \[3, 0\]"
    refused(lambda: hl.iir(f, b, a, sizes=[3, 0]), error, why)
    half: Any = [3, 2.5]
    refused(lambda: hl.iir(f, b, a, sizes=half), hl.TypeMismatchError, "not 2.5")
    call = hl.iir
    why = r"sizes is for Funcs; this image has extents of its own, \[30, 20\]"
    refused(lambda: call(PIXELS, b, a, sizes=[30, 20]), error, why)
    refused(lambda: call(hl.Buffer(PIXELS), b, a, sizes=[30, 20]), error, why)


def test_what_is_no_image() -> None:
    call: Any = hl.iir
    x = hl.Var("x")
    why = "iir filters arrays of real numbers, Buffers and Funcs, not an Expr"
    refused(lambda: call(x + 1, 1, 1), hl.TypeMismatchError, why)
    param = hl.ImageParam(hl.UInt(8), 2, "p")
    why = "(?s)not an ImageParam.*is filtered as a Func of it"
    refused(lambda: call(param, 1, 1), hl.TypeMismatchError, why)
    refused(lambda: call("image", 1, 1), hl.TypeMismatchError, "not a str")
    why = "(?s)the array is of complex128.*image.real and image.imag"
    refused(lambda: call(PIXELS * 1j, 1, 1), hl.TypeMismatchError, why)
    pair = hl.Func("pair")
    pair[x] = hl.Tuple(x, x)
    why = "has 2 values"
    refused(lambda: call(pair, 1, 1, sizes=[3]), hl.TypeMismatchError, why)
    undefined = hl.Func("undefined")
    refused(lambda: call(undefined, 1, 1, sizes=[3]), hl.DefinitionError, "not defined")


@pytest.mark.parametrize("filters", [1, 2])
@pytest.mark.parametrize("border", ["zero", "mirror"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((61,), 0), ((20_000,), 0), ((40, 24), 0), ((40, 24), 1), ((5_000, 9), 0)],
)
def test_results_are_rounded_where_they_are_computed(
    shape: tuple[int, ...], axis: int, border: str, filters: int
) -> None:
    """In float32 there are the values of float64, rounded, on all paths."""
    sections = SECTIONS[:filters]
    pixels = image(shape, "float32")
    got = hl.sosfilt(sections, pixels, axis, border=border)
    wide = hl.sosfilt(sections, pixels.astype(np.float64), axis, border=border)
    assert got.dtype == np.float32 and wide.dtype == np.float64
    np.testing.assert_array_equal(got, wide.astype(np.float32))


@pytest.mark.parametrize(("rows", "passes"), [(64, 0), (5_000, 1)])
def test_rounding_takes_no_pass(
    rows: int, passes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    u, v = hl.vars("u v")
    f = hl.Func("f")
    f[u, v] = hl.f32(u + v)
    hl.iir(f, [0.2], [1, -0.8], "v", sizes=[64, rows]).print_loop_nest()
    assert capsys.readouterr().out.count("produce iir_rounded") == passes
    hl.iir(f, [0.2], [1, -0.8], "u", sizes=[64, rows]).print_loop_nest()
    assert "iir_rounded" not in capsys.readouterr().out
