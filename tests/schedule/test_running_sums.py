"""Running sums, vectorized along themselves by `atomic`."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion import interp

x, y = hl.vars("x y")
WIDTH, HEIGHT = 45, 3

Made = tuple[hl.Func, hl.RDom]


def pixels(t: str) -> Any:
    """Numbers whose sums are exact in floats; those of bytes wrap around."""
    return np.random.default_rng(3).integers(0, 50, (HEIGHT, WIDTH)).astype(t)


def rows(t: str) -> Made:
    image, f, r = hl.Buffer(pixels(t)), hl.Func("f"), hl.RDom([(1, WIDTH - 1)], "r")
    f[x, y] = image[x, y]
    f[r, y] += f[r - 1, y]
    return f, r


def backwards(t: str) -> Made:
    image, f, r = hl.Buffer(pixels(t)), hl.Func("f"), hl.RDom([(1, WIDTH - 1)], "r")
    f[x, y] = image[x, y]
    at = WIDTH - 1 - r
    f[at, y] = image[at, y] - (f[at, y] - f[at + 1, y])
    return f, r


def columns(t: str) -> Made:
    image, f, r = hl.Buffer(pixels(t)), hl.Func("f"), hl.RDom([(1, WIDTH - 1)], "r")
    f[y, x] = image[x, y]
    f[y, r] = f[y, r - 1] + image[r, y]
    return f, r


def nothing_added(t: str) -> Made:
    image, f, r = hl.Buffer(pixels(t)), hl.Func("f"), hl.RDom([(1, WIDTH - 1)], "r")
    f[x, y] = image[x, y]
    f[r, y] = f[r - 1, y]
    return f, r


def of_two(t: str) -> Made:
    image, f, r = hl.Buffer(pixels(t)), hl.Func("f"), hl.RDom([(1, WIDTH - 1)], "r")
    f[x, y] = (image[x, y], image[x, y] * 2)
    f[r, y] = (f[r - 1, y][0] + image[r, y], f[r, y][1] + f[r - 1, y][1])
    return f, r


FORMS: list[Callable[[str], Made]] = [rows, backwards, columns, nothing_added, of_two]
TYPES = ["uint8", "int16", "int32", "uint64", "float32", "float64"]


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("form", FORMS)
def test_it_is_what_the_interpreter_says(form: Callable[[str], Made], t: str) -> None:
    sizes = [HEIGHT, WIDTH] if form is columns else [WIDTH, HEIGHT]
    wanted = interp.interpret(form(t)[0]._function, [(0, n) for n in sizes])
    for lanes in (2, 5, 16):
        f, r = form(t)
        f.update().atomic().vectorize(r, lanes)
        got: Any = f.realize(sizes)
        for one, right in zip(got if form is of_two else (got,), wanted, strict=True):
            assert np.array_equal(np.asarray(one), right.T)


def lowered(f: hl.Func, sizes: list[int], tmp_path: Any) -> str:
    for k, n in enumerate(sizes):
        f.output_buffer().dim(k).set_bounds(0, n)
    path = tmp_path / "f.txt"
    f.compile_to_lowered_stmt(str(path), [])
    return str(path.read_text())


def test_a_vector_is_summed_in_steps(tmp_path: Any) -> None:
    """Four of them for sixteen lanes, on all rows of a block at once."""
    f, r = rows("int32")
    ro, ri, yo, yi = hl.RVar("ro"), hl.RVar("ri"), hl.Var("yo"), hl.Var("yi")
    u = f.update().atomic().split(r, ro, ri, 16).split(y, yo, yi, 3)
    u.reorder(ri, yi, ro, yo).unroll(yi).vectorize(ri)
    text = lowered(f, [WIDTH, HEIGHT], tmp_path)
    assert len(re.findall(r"shuffle\(", text)) == 3 * 4
    assert np.array_equal(
        np.asarray(f.realize([WIDTH, HEIGHT])), np.cumsum(pixels("int32"), 1)
    )


def test_the_sign_of_a_zero_stays() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 31)], "r")
    f[x] = hl.f32(-0.0)
    f[r] += f[r - 1]
    f.update().atomic().vectorize(r, 16)
    assert np.signbit(np.asarray(f.realize([32]))).all()


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("across", ["c", "y"])
def test_lanes_beside_those_of_the_sum(order: tuple[int, ...], across: str) -> None:
    """Lanes of another loop are no steps of the sum, though both strides are known only
    when the program runs."""

    def made() -> Made:
        image = hl.Buffer(np.random.default_rng(3).integers(0, 50, (4, 8, 16)))
        f, r = hl.Func("f"), hl.RDom([(1, 15)], "r")
        f[at(x)] = image[x, y, c]
        f[at(r.x)] += f[at(r.x - 1)]
        return f, r

    def at(first: Any) -> tuple[Any, ...]:
        return tuple([(first, y, c)[k] for k in order])

    c = hl.Var("c")
    sizes = [(16, 8, 4)[k] for k in order]
    f, r = made()
    ro, ri, vo, vi = hl.RVar("ro"), hl.RVar("ri"), hl.Var("vo"), hl.Var("vi")
    u = f.update().atomic().split(r, ro, ri, 4)
    u.split({"c": c, "y": y}[across], vo, vi, 4).reorder(ri, vi, ro, vo)
    u.vectorize(ri).vectorize(vi)
    (wanted,) = interp.interpret(made()[0]._function, [(0, n) for n in sizes])
    assert np.array_equal(np.asarray(f.realize(sizes)), wanted.T)


def test_other_loops_may_be_parallel() -> None:
    f, r = rows("int32")
    f.update().atomic().vectorize(r, 8).parallel(y)
    assert np.array_equal(
        np.asarray(f.realize([WIDTH, HEIGHT])), np.cumsum(pixels("int32"), 1)
    )


def test_lanes_of_a_loop_further_out_are_refused() -> None:
    f, r = rows("int32")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update().atomic().split(r, ro, ri, 4).vectorize(ro, 4)
    with pytest.raises(hl.ScheduleError) as caught:
        f.realize([WIDTH, HEIGHT])
    text = str(caught.value)
    assert "is a loop of a running sum, and ri is inside of it" in text
    assert "hint: vectorize ri, the innermost one" in text


def test_its_order_stays() -> None:
    f, r = rows("int32")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    u = f.update().atomic().split(r, ro, ri, 4)
    with pytest.raises(hl.ScheduleError, match="cannot be parallel"):
        u.parallel(ro)
    with pytest.raises(hl.ScheduleError, match="cannot move inside"):
        u.reorder(ro, ri)


def test_without_atomic_it_is_refused() -> None:
    f, r = rows("int32")
    with pytest.raises(hl.ScheduleError, match="cannot be vectorized") as caught:
        f.update().vectorize(r, 4)
    assert "hint: atomic(), given before, sums a vector in steps" in str(caught.value)


@pytest.mark.parametrize("what", ["a multiple", "two points back", "strict"])
def test_what_is_no_running_sum(what: str) -> None:
    f, r = hl.Func("f"), hl.RDom([(2, 30)], "r")
    f[x] = hl.f32(x)
    if what == "a multiple":
        f[r] += hl.f32(0.5) * f[r - 1]
    elif what == "two points back":
        f[r] += f[r - 2]
    else:
        f[r] = hl.strict_float(f[r] + f[r - 1])
    with pytest.raises(hl.ScheduleError, match="it is not proven that the updates"):
        f.update().atomic()


def test_the_report_names_it() -> None:
    f, r = rows("float32")
    f.update().atomic().vectorize(r, 8)
    text = str(hl.Pipeline(f).report([WIDTH, HEIGHT]))
    assert "f rounds in another order in update 0: atomic over vectors of" in text
