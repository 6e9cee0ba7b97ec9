"""What `hl.jit` does not take, and how it says so."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import parhelion as hl

IMAGE = np.arange(12, dtype=np.float32).reshape(3, 4)


def scaled(x: hl.Array, k: float = 1.0) -> hl.Array:
    return x * k


def test_a_partial_function_has_the_name_of_what_it_calls() -> None:
    doubled = hl.jit(functools.partial(functools.partial(scaled), k=2))
    np.testing.assert_array_equal(doubled(IMAGE), IMAGE * 2)
    np.testing.assert_array_equal(doubled(IMAGE, k=3), IMAGE * 3)
    assert repr(doubled) == "<parhelion.jit scaled(x, k)>"
    with pytest.raises(hl.TypeMismatchError, match="the argument 'x' of scaled is"):
        doubled()


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (np.sqrt, "hl.jit(lambda a: np.sqrt(a))"),
        (np.add, "hl.jit(lambda a, b: np.add(a, b))"),
        (len, "hl.jit(lambda a: len(a))"),
    ],
)
def test_functions_that_are_compiled_already(function: Any, hint: str) -> None:
    with pytest.raises(hl.TypeMismatchError, match="is compiled already") as caught:
        hl.jit(function)
    assert f"hint: {hint}" in str(caught.value)


def test_memory_that_changes_is_no_part_of_a_program() -> None:
    with pytest.raises(hl.TypeMismatchError, match="a memoryview, which has no hash"):
        hl.jit(scaled)(memoryview(bytearray(8)))


def test_numbers_of_many_digits_are_told_of() -> None:
    """Python itself refuses to print some of them."""
    x, large = hl.Var("x"), 10**5000
    with pytest.raises(hl.LiteralError, match="^an integer of 16610 bits is too large"):
        hl.jit(scaled)(IMAGE, k=large)
    for make in (
        lambda: x + large,
        lambda: hl.f32(x) + large,
        lambda: hl.Param(hl.Float(64), "p", large),
        lambda: hl.Param(hl.Int(8), "p", large),
        lambda: hl.Expr(large),
    ):
        with pytest.raises(hl.LiteralError, match="^an integer of 16610 bits "):
            make()
    with pytest.raises(hl.LiteralError, match="cannot be an integer of 16610 bits"):
        hl.Param(hl.Bool(), "p", large)


PROGRAM = """
import traceback
import numpy as np
import parhelion as hl

@hl.jit
def leaking(x):
    leaking.x = x
    return x

leaking(np.ones(3))
for use in (lambda: leaking.x + 1, lambda: np.asarray(leaking.x)):
    try:
        use()
    except hl.HalideError as error:
        print(traceback.extract_tb(error.__traceback__)[-1].name)
"""


def test_errors_of_arrays_end_at_the_users_line() -> None:
    """Also where only `hl.jit` was asked for by its name."""
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PARHELION_TRACEBACK": ""},
    )
    assert made.stdout.split() == ["<lambda>", "<lambda>"], made.stderr
