"""Programs as C: compiled by the system's compiler, and called with plain pointers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma.reference import dtype_of, evaluate
from parhelion.forma.sizes import value_of
from tests.forma.compare import same
from tests.forma.draw import draw
from tests.forma.listings import CROP, EXPOSURE, JACOBI, PYRAMID
from tests.forma.support import Array, inputs_for
from tests.forma.test_calls import MIXED, SWAP

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

_OPTIONS = ("-O3", "-fopenmp", "-std=c11", "-shared", "-fPIC")
_WARNINGS = ("-Wall", "-Wextra", "-Werror")
_NUMBERS = {"int8": ctypes.c_int8, "int16": ctypes.c_int16, "int": ctypes.c_int32}
_NUMBERS |= {"float": ctypes.c_float, "double": ctypes.c_double}  # type: ignore[dict-item]


class Compiled:
    """A program as a shared library."""

    def __init__(
        self, program: forma.Program, folder: Path, name: str = "prog"
    ) -> None:
        program.compile_to_c(folder / f"{name}.c")
        library = folder / f"{name}.so"
        source = str(folder / f"{name}.c")
        output = ["-o", str(library), "-lm"]
        command = ["gcc", *_OPTIONS, *_WARNINGS, source, *output]
        subprocess.run(command, check=True, capture_output=True)
        self.function = getattr(ctypes.CDLL(str(library)), name)
        self.graph = program.graph

    def __call__(
        self, inputs: dict[str, Array], numbers: dict[str, Any]
    ) -> tuple[int, list[Array]]:
        """What it returns, and the results."""
        sizes = {one.name: one.var for one in self.graph.parameters}
        values = {v: int(numbers[n]) for n, v in sizes.items() if v is not None}
        wanted = self.graph.outputs
        outputs = [
            np.zeros(
                [value_of(size, values) for size in one.source.sizes][::-1],
                _natural(dtype_of(one.source.type)),
            )
            for one in wanted
        ]
        given = [_natural_copy(inputs[one.name]) for one in self.graph.inputs]
        args: list[Any] = [ctypes.c_void_p(one.ctypes.data) for one in given]
        args += [_NUMBERS[p.type.value](numbers[p.name]) for p in self.graph.parameters]
        args += [ctypes.c_void_p(one.ctypes.data) for one in outputs]
        return self.function(*args), outputs


def _natural(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A structured type with the gaps that C has."""
    return np.dtype(dtype.descr, align=True) if dtype.names else dtype


def _natural_copy(array: Array) -> Array:
    return np.ascontiguousarray(array.astype(_natural(array.dtype)))


def assert_agrees(text: str, folder: Path, math: bool = False, **numbers: Any) -> None:
    program = forma.compile(text, strict_float=not math)
    inputs = inputs_for(program.graph, **numbers)
    status, found = Compiled(program, folder)(inputs, numbers)
    assert status == 0
    wanted = evaluate(program.graph, inputs, numbers)
    for got, want in zip(found, wanted, strict=True):
        assert same(got.astype(want.dtype), want, math)


@pytest.mark.parametrize(
    "text, numbers",
    [
        (JACOBI, {"M": 33, "N": 7}),
        (CROP, {"M": 33, "N": 31}),
        (PYRAMID, {"M": 70, "N": 33}),
        (SWAP, {"M": 19, "N": 2}),
        (MIXED, {"M": 19, "N": 2}),
    ],
)
def test_listings(text: str, numbers: dict[str, Any], tmp_path: Path) -> None:
    assert_agrees(text, tmp_path, **numbers)


def test_exposure(tmp_path: Path) -> None:
    assert_agrees(EXPOSURE, tmp_path, math=True, M=40, N=9)


def test_random_programs(tmp_path: Path) -> None:
    for seed in range(60, 66):
        drawn = draw(seed)
        program = forma.compile(drawn.text, strict_float=True)
        wanted = evaluate(program.graph, drawn.inputs, drawn.parameters)
        name = f"drawn{seed}"
        status, found = Compiled(program, tmp_path, name)(
            drawn.inputs, drawn.parameters
        )
        assert status == 0
        for got, want in zip(found, wanted, strict=True):
            assert same(got.astype(want.dtype), want), drawn.text


def test_what_it_refuses(tmp_path: Path) -> None:
    crop = Compiled(forma.compile(CROP), tmp_path)
    outs = [np.zeros(10000, np.int32) for _ in range(2)]
    x = np.zeros(10000, np.int32)
    pointers = [ctypes.c_void_p(one.ctypes.data) for one in (x, *outs)]
    assert crop.function(pointers[0], 26, 30, *pointers[1:]) == 0
    assert crop.function(pointers[0], 25, 30, *pointers[1:]) == -1
    assert crop.function(pointers[0], 0, 30, *pointers[1:]) == -1
    assert crop.function(None, 26, 30, *pointers[1:]) == -12
    assert crop.function(pointers[0], 1 << 20, 1 << 20, *pointers[1:]) == -6


HEADER = """\
#ifndef FORMA_SWAP_H
#define FORMA_SWAP_H
// Made by Parhelion from <forma>.
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct RGB { int16_t r; int16_t g; int16_t b; };

// Arrays are dense, the first dimension being the fastest.
//
//   x: input, RGB, [M, N]
//   M: a parameter, int
//   N: a parameter, int
//   swap_2: output, RGB, [M, N]
//     so the caller allocates (M) * (N) of them
//
// It returns 0, or else a negative number: -1 for parameters with which the
// program makes no sense, -6 for too large arrays, -11 without memory, -12
// for pointers that are NULL.
int swap(const struct RGB *x, int32_t M, int32_t N, struct RGB *swap_2);
// Frees the memory that is kept for the next call, at any time.
void swap_release(void);

#ifdef __cplusplus
}
#endif
#endif
"""


def test_the_header_and_names(tmp_path: Path) -> None:
    """Names are those of the program where C allows it."""
    _, header = forma.compile(SWAP).c_text("swap")
    assert header == HEADER
    words = (
        "struct register { int for_; double main; } parameter int sin, x_n0;"
        "parameter M; vector#1 register x[M]; vector#1 register malloc[M];"
        "stencil f(vector#1 register X, int a) { return register(X.for_ + a, X.main); }"
        "x_for_ = f(x, sin + x_n0); M_size = f(malloc, 1); return x_for_, M_size, x;"
    )
    assert_agrees(words, tmp_path, M=5, sin=2, x_n0=3)


def test_a_scheduler_that_waits_for_its_sizes() -> None:
    program = forma.compile(JACOBI, scheduler="Mullapudi2016")
    with pytest.raises(FormaError, match="makes its schedule at the first call"):
        program.c_text()
    program = forma.compile(
        JACOBI, scheduler="Mullapudi2016", estimates={"M": 99, "N": 99}
    )
    assert "omp parallel" in program.c_text()[0]
