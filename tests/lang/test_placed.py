"""New arrays begin a cache line, and elsewhere in a page than what they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion import forma
from parhelion.lang.placed import ALIGNMENT, PAGE, PLACES, aligned, place
from parhelion.runtime.layout import address

#: A stencil reads rows to both sides of the one that it writes.
FAR = 256


def apart(a: int, b: int) -> int:
    return min((a - b) % PAGE, (b - a) % PAGE)


@pytest.mark.parametrize("at", range(0, PAGE, 16))
def test_one_array_that_is_read_is_half_a_page_away(at: int) -> None:
    assert apart(place([at]), at) >= PAGE // 2 - FAR
    assert apart(place([7 * PAGE + at]), at) >= PAGE // 2 - FAR


def test_each_of_four_that_are_read_is_elsewhere() -> None:
    read = [16, 1040, 2064, 3088]
    assert min(apart(place(read), one) for one in read) >= FAR


def test_arrays_of_nothing_known_take_turns() -> None:
    found = [place() for _ in PLACES[1:]]
    assert sorted(found) == sorted(PLACES[1:])


def test_an_array_of_nothing() -> None:
    assert aligned(np.dtype(np.float32), 0, [16]).shape == (0,)


@pytest.mark.parametrize("count", [1, 1000, 1 << 16, 1 << 20])
def test_all_begin_a_line_and_can_be_written(count: int) -> None:
    array = aligned(np.dtype(np.float32), count, [16])
    assert array.shape == (count,) and array.dtype == np.float32
    assert address(array) % ALIGNMENT == 0
    array[:] = 1
    assert array.sum() == count


def test_results_of_pipelines_and_programs_are_away_from_their_inputs() -> None:
    x, y = hl.vars("x y")
    run = forma.compile(
        "stencil twice(vector#2 float X) { return X + X; }\n"
        "parameter N; vector#2 float a[N,N]; return twice(a);"
    )
    for shift in range(0, PAGE // 4, 256):
        space = np.ones((512 + 4) * 512, np.float32)
        image = space[shift : shift + 512 * 512].reshape(512, 512)
        double = hl.Func("double")
        double[x, y] = hl.Buffer(image)[x, y] * 2
        for result in (double.realize([512, 512]), run(image)):
            made = np.asarray(result)
            assert made.min() == made.max() == 2
            assert address(made) % ALIGNMENT == 0
            assert apart(address(made), address(image)) >= PAGE // 2 - FAR
