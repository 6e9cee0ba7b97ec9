"""The reference evaluator against computations written by hand with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma.reference import dtype_of, evaluate
from parhelion.forma.types import Scalar
from tests.forma.listings import (
    BLUR,
    BOUNDARY,
    COMPOSE,
    CROP,
    EMBOSS,
    EXPOSURE,
    EXTRAPOLATION,
    HELLO,
    JACOBI,
    PYRAMID,
    SAMPLING,
    STACK,
)

Array = npt.NDArray[Any]

M, N = 24, 16


def run(text: str, inputs: dict[str, Array], **parameters: int | float) -> list[Array]:
    return evaluate(forma.check(text, "a.forma"), inputs, parameters)


def ints(seed: int = 0, shape: tuple[int, ...] = (N, M)) -> Array:
    return np.random.default_rng(seed).integers(0, 1000, shape, np.int32)


def floats(seed: int = 0, shape: tuple[int, ...] = (N, M)) -> Array:
    return np.random.default_rng(seed).random(shape, np.float32)


def quarter(x: Array) -> Array:
    """A sum of positive ints by four."""
    return x // 4


def test_hello() -> None:
    rgb = np.zeros((N, M), [("r", np.int8), ("g", np.int8), ("b", np.int8)])
    rgb["g"] = np.arange(M)
    (output,) = run(HELLO, {"input": rgb}, M=M, N=N)
    assert output.dtype == rgb.dtype
    assert np.array_equal(output, rgb)


def test_jacobi() -> None:
    x = ints()
    p = np.pad(x, 1)
    around = p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1]
    (y,) = run(JACOBI, {"x": x}, M=M, N=N)
    assert np.array_equal(y, 4 * x - around)


def test_sampling() -> None:
    image = ints()
    temp = np.zeros((N, M // 2), np.int32)
    for i in range(1, M // 2):
        temp[:, i] = quarter(
            image[:, 2 * i - 1] + 2 * image[:, 2 * i] + image[:, 2 * i + 1]
        )
    want = np.zeros((N // 2, M // 2), np.int32)
    for j in range(1, N // 2):
        want[j] = quarter(temp[2 * j - 1] + 2 * temp[2 * j] + temp[2 * j + 1])
    (got,) = run(SAMPLING, {"image": image}, M=M, N=N)
    assert np.array_equal(got, want)


def upsampled(image: Array) -> Array:
    """Listing 2 along x, where what would be read outside leaves zeros."""
    even, odd = np.zeros_like(image), np.zeros_like(image)
    even[:, 1:] = quarter(3 * image[:, 1:] + image[:, :-1])
    odd[:, :-1] = quarter(3 * image[:, :-1] + image[:, 1:])
    both = np.zeros((image.shape[0], 2 * image.shape[1]), image.dtype)
    both[:, ::2], both[:, 1::2] = even, odd
    return both


def test_extrapolation() -> None:
    image = ints()
    (got,) = run(EXTRAPOLATION, {"image": image}, M=M, N=N)
    assert got.shape == (N, 2 * M)
    assert np.array_equal(got[:, ::2], upsampled(image)[:, ::2])
    assert not got[:, 1::2].any()


def test_compose() -> None:
    image = ints()
    (got,) = run(COMPOSE, {"image": image}, M=M, N=N)
    assert np.array_equal(got, upsampled(upsampled(image).T).T)


def test_crop_and_padding() -> None:
    x = ints(shape=(31, 27))
    y, z = run(CROP, {"x": x}, M=27, N=31)
    assert np.array_equal(y, x[5:30, 3:26])
    assert np.array_equal(z, np.pad(x, ((5, 0), (3, 0))))


def test_stack() -> None:
    inputs = {name: ints(seed) for seed, name in enumerate("xyz")}
    (got,) = run(STACK, inputs, M=M, N=N)
    assert np.array_equal(got, np.stack(list(inputs.values())))


def test_custom_boundary() -> None:
    a = ints(shape=(N, N))
    want = np.empty_like(a)
    want[:, 1:-1] = quarter(a[:, :-2] + 2 * a[:, 1:-1] + a[:, 2:])
    want[:, 0] = quarter(3 * a[:, 0] + a[:, 1])
    want[:, -1] = quarter(3 * a[:, -1] + a[:, -2])
    (got,) = run(BOUNDARY, {"a": a}, N=N)
    assert np.array_equal(got, want)


def test_exposure() -> None:
    kind = np.dtype([(name, np.float32) for name in "rgb"])
    images = {name: np.empty((N, M), kind) for name in ("image1", "image2")}
    total = np.zeros((3, N, M))
    weights = np.zeros((N, M))
    for seed, image in enumerate(images.values()):
        for k, name in enumerate("rgb"):
            image[name] = floats(3 * seed + k)
        rgb = np.stack([image[name].astype(float) for name in "rgb"])
        grey = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]
        edges = np.zeros((N, M))
        edges[1:-1, 1:-1] = np.abs(
            *(
                grey[1:-1, :-2]
                + grey[1:-1, 2:]
                + grey[:-2, 1:-1]
                + grey[2:, 1:-1]
                - 4 * grey[1:-1, 1:-1],
            )
        )
        exposed = np.exp(-12.5 * (rgb - 0.5) ** 2).prod(axis=0)
        weight = edges * rgb.std(axis=0) * exposed + 1e-6
        total += weight * rgb
        weights += weight
    (got,) = run(EXPOSURE, images, M=M, N=N)
    for k, name in enumerate("rgb"):
        np.testing.assert_allclose(got[name], total[k] / weights, rtol=1e-4)


def test_pyramid() -> None:
    image = floats(shape=(32, 48))
    levels = run(PYRAMID, {"image": image}, M=48, N=32)
    assert [one.shape for one in levels] == [(32, 48), (16, 24), (8, 12), (4, 6)]
    # Away from the edges, where zeros are, a constant has no detail.
    flat = run(PYRAMID, {"image": np.ones((64, 64), np.float32)}, M=64, N=64)
    assert abs(flat[0][8:-8, 8:-8]).max() == 0 and flat[0].any()
    assert flat[3][4, 4] == 1


def test_emboss_and_blur() -> None:
    x = floats()
    want = np.zeros_like(x)
    want[1:-1, 1:-1] = (
        x[1:-1, 2:] + x[2:, 1:-1] - x[1:-1, :-2] - x[:-2, 1:-1] + x[1:-1, 1:-1]
    )
    (got,) = run(EMBOSS, {"input": x}, M=M, N=N)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    wide = np.zeros_like(x)
    wide[:, 1:-1] = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
    want = np.zeros_like(x)
    want[1:-1] = wide[:-2] + wide[1:-1] + wide[2:]
    (got,) = run(BLUR, {"input": x}, M=M, N=N)
    np.testing.assert_allclose(got, want, rtol=1e-6)


MODES = {
    "constant(7)": {"mode": "constant", "constant_values": 7},
    "clamped": {"mode": "edge"},
    "wrap": {"mode": "wrap"},
    "mirror": {"mode": "symmetric"},
}


@pytest.mark.parametrize("condition", MODES)
@pytest.mark.parametrize("distance", [1, 3, 11])
def test_boundary_conditions_at_any_distance(condition: str, distance: int) -> None:
    x = ints(shape=(5, 4))
    mode: Any = MODES[condition]
    padded = np.pad(x, distance, **mode)
    (got,) = run(
        f"""
        stencil f(vector#2 int X) {{ return 2*X@[-{distance},{distance}] + X; }}
        parameter M, N; vector#2 int x[M,N];
        return f(x:{condition});
        """,
        {"x": x},
        M=4,
        N=5,
    )
    assert np.array_equal(got, 2 * padded[2 * distance :, :4][:5] + x)


def test_arguments_have_conditions_of_their_own() -> None:
    x, y = ints(0, (6,)), ints(1, (9,))
    (got,) = run(
        """
        stencil f(vector#1 int X, vector#1 int Y) { return X@[-1] + Y@[1]; }
        parameter M, N; vector#1 int x[M], y[N];
        return f(x, y:wrap);
        """,
        {"x": x, "y": y},
        M=6,
        N=9,
    )
    assert np.array_equal(got, [0, *(x[:5] + y[2:7])])


def test_nothing_is_computed_where_the_interior_is_empty() -> None:
    (got,) = run(
        """
        stencil f(vector#1 int X) { return X@[-3] + X@[3] + 1; }
        parameter M; vector#1 int x[M];
        return f(x);
        """,
        {"x": ints(0, (4,))},
        M=4,
    )
    assert got.tolist() == [0] * 4


def point(expression: str, kind: str, x: float, given: str = "") -> Any:
    """The value of an expression of X at one point."""
    (got,) = run(
        f"""
        stencil f(vector#1 {kind} X) {{ {given} return {expression}; }}
        vector#1 {kind} x[1];
        return f(x);
        """,
        {"x": np.array([x], dtype_of(Scalar(kind)))},
    )
    return got[0]


@pytest.mark.parametrize(
    ("expression", "kind", "x", "want"),
    [
        ("X / 2", "int", -7, -3),
        ("X % 2", "int", -7, -1),
        ("X / -2", "int", 7, -3),
        ("X % -2", "int", 7, 1),
        ("5 / (X - X)", "int", 7, 0),
        ("5 % (X - X)", "int", 7, 0),
        ("-7 / 2", "int", 0, -3),
        ("-7 % 2", "int", 0, -1),
        ("X + X", "int8", 100, 200),
        ("int8(X + X)", "int8", 100, -56),
        ("int8(X)", "int", 300, 44),
        ("int16(X)", "float", -3.7, -3),
        ("X / 2", "float", 7, np.float32(3.5)),
        ("X + 0.1", "float", 1, np.float32(1) + np.float32(0.1)),
        ("X + 0.1", "double", 1, 1 + float(np.float32(0.1))),
        ("X + 0.1d", "double", 1, 1.1),
        ("X < 3", "int", 2, 1),
        ("(X < 3) + (X < 4)", "int", 3, 1),
        ("(X < 3) == 0", "int", 3, 1),
        ("X && 2", "int", 3, 1),
        ("!X", "float", 0.5, 0),
        ("X || 0", "int", 0, 0),
        ("X > 0 ? X : -X", "int8", -5, 5),
        ("X ? 1 : 2.5", "int", 0, np.float32(2.5)),
        ("round(X)", "float", 2.5, 3),
        ("round(X)", "float", -2.5, -3),
        ("round(X)", "float", 0.49999997, 0),
        ("floor(X) + ceil(X)", "float", -1.5, -3),
        ("trunc(X)", "double", -1.5, -1),
        ("abs(X)", "int8", -128, 128),
        ("min(X, 3) + max(X, 4)", "int", 9, 12),
        ("max(X, 4)", "float", 9.5, 9.5),
        ("atan2(X, 1)", "double", 1, math.pi / 4),
        ("pow(X, 3)", "int", 2, 8),
        ("sqrt(X)", "double", 2, math.sqrt(2)),
        ("exp(log(X))", "double", 2, math.exp(math.log(2))),
        ("asin(sin(X)) + acos(cos(X)) + atan(tan(X))", "double", 0.5, 1.5),
        ("cosh(X) - sinh(X)", "double", 0.5, math.cosh(0.5) - math.sinh(0.5)),
        ("tanh(X)", "double", 0.5, math.tanh(0.5)),
        ("-X - -X", "int", 4, 0),
        ("+X", "int16", 4, 4),
    ],
)
def test_arithmetic(expression: str, kind: str, x: float, want: float) -> None:
    got = point(expression, kind, x)
    assert got == pytest.approx(want, rel=1e-15, abs=0)


def test_types_of_results() -> None:
    assert point("X", "int8", 1).dtype == np.int8
    assert point("-X", "int8", 1).dtype == np.int32
    assert point("sqrt(X)", "int", 4).dtype == np.float32
    assert point("sqrt(X)", "double", 4).dtype == np.float64
    assert point("X ? X : X", "int16", 4).dtype == np.int16
    assert point("X < 3", "float", 4).dtype == np.int32


def test_locals_structs_and_several_results() -> None:
    kind = np.dtype([("a", np.int8), ("b", np.float64)])
    x = np.zeros((1, 2), kind)
    x["a"], x["b"] = [[1, 2]], [[0.5, 0.25]]
    first, second = run(
        """
        struct P { int8 a; double b; }
        stencil swap(vector#2 P X, double k) {
          p = X@[1,0];
          q = P(int8(p.b * 8), k * p.a);
          return q.a > 3 ? q : X, q.b < 1 || p.a == 2;
        }
        parameter double k; parameter M; vector#2 P x[M,1];
        a, b = swap(x:constant(P(100, 1)), k);
        return a, b;
        """,
        {"x": x},
        M=2,
        k=3,
    )
    assert first.tolist() == [[(1, 0.5), (8, 300.0)]]
    assert second.tolist() == [[1, 0]]


def test_requirements_name_the_line() -> None:
    with pytest.raises(FormaError) as caught:
        run(SAMPLING, {"image": ints(shape=(1, 5))}, M=5, N=1)
    assert (
        str(caught.value)
        == """\
the domain 'sample_y' has a size of N/2, and needs a point at least
  --> a.forma:12:8
   |  return sample_y(temp);
   |         ^^^^^^^^^^^^^^
this is so where M = 5, N = 1
hint: give a larger image, or other parameters"""
    )


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(FormaError) as caught:
        run(BLUR, {"input": ints()}, M=M, N=N)
    assert (
        str(caught.value)
        == """\
the input 'input' is an array of int32 with the shape (16, 24)
  --> a.forma:8:16
   |  vector#2 float input[M,N];
   |                 ^^^^^^^^^^
here it is one of float32 with the shape (16, 24)
hint: the shape has the last dimension first: (N, M) for [M, N]"""
    )
