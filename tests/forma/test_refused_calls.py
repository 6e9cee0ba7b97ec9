"""Calls that do not fit a program: each message names the line of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parhelion import forma
from parhelion.errors import FormaError, InvalidBufferError, TypeMismatchError
from tests.forma.listings import CROP
from tests.forma.test_calls import IMAGE, MIXED, SHIFT, SWAP

X = IMAGE
NEEDS = "an array of int32 with the shape (N, M)"
RGB = (
    "it is a structured array, fields r, g, b, with the shape (N, M); or an array of "
    "int16 with the shape (N, M, 3)"
)
AT_X = "  --> a.forma:4:14\n   |  vector#2 int x[M,N];\n   |               ^^^^^^\n"
AT_BY = "  --> a.forma:2:15\n   |  parameter int by;\n   |                ^^"
AT_END = "  --> a.forma:5:8\n   |  return f(x, by);\n   |         ^^^^^^^^\n"
AT_RGB = "  --> a.forma:4:14\n   |  vector#2 RGB x[M,N];\n   |               ^^^^^^\n"

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    (SHIFT, (), {}, f"the program needs 'x'\n{AT_X}{NEEDS}\nhint: give it one"),
    (
        SHIFT,
        (X,),
        {},
        f"the program needs 'by'\n{AT_BY}\nit is a number, int\nhint: give it one",
    ),
    (
        SHIFT,
        (X, 1, 4, 3, 2),
        {},
        f"the program takes 4 arguments, and 5 are given\n{AT_END}it takes x, by, M, N",
    ),
    (
        SHIFT,
        (X, 1),
        {"x": X},
        f"the argument 'x' is given twice\n{AT_END}it takes x, by, M, N",
    ),
    (
        SHIFT,
        (X, 1),
        {"z": 1},
        f"the program has no argument 'z'\n{AT_END}it takes x, by, M, N",
    ),
    (
        SHIFT,
        ([[1]], 1),
        {},
        f"the input 'x' is given as a list, not as an array\n{AT_X}it is {NEEDS}\n"
        "hint: np.asarray(…) makes arrays",
    ),
    (
        SHIFT,
        (X.astype(np.int64), 1),
        {},
        f"the input 'x' is given as an array of int64\n{AT_X}it is {NEEDS}\n"
        "hint: array.astype(np.int32) converts it",
    ),
    (
        SHIFT,
        (X.astype(np.uint32), 1),
        {},
        f"the input 'x' is given as an array of uint32\n{AT_X}it is {NEEDS}\n"
        "hint: integers of Forma are signed: double holds all values of uint32; declare"
        " it so and convert the array",
    ),
    (
        SHIFT,
        (X[0], 1),
        {},
        f"the input 'x' is given as an array of 1 dimensions, and has 2\n{AT_X}"
        f"it is {NEEDS}\n"
        "hint: the shape has the last dimension of the domain first: (N, M) for [M, N]",
    ),
    (
        SHIFT,
        (X[:0], 1),
        {},
        f"the input 'x' is given as an array without points\n{AT_X}it is {NEEDS}\n"
        "hint: give a larger array",
    ),
    (SHIFT, (X, 1.5), {}, f"the parameter 'by' is an int, not 1.5\n{AT_BY}"),
    (SHIFT, (X, "a"), {}, f"the parameter 'by' is a number, int, not 'a'\n{AT_BY}"),
    (
        SHIFT,
        (X, 2**31),
        {},
        f"2147483648 does not fit the parameter 'by', an int\n{AT_BY}",
    ),
    (
        SHIFT,
        (X, 1),
        {"M": 5},
        "the input 'x' has 4 points in dimension 0, and needs 5, as M is 5\n"
        f"{AT_X}it is {NEEDS}\nhint: give arrays and parameters that fit together",
    ),
    (
        SHIFT,
        (X, 1),
        {"M": 0},
        "the parameter 'M' is the size of an input, which is not 0\n"
        "  --> a.forma:3:11\n   |  parameter M, N;\n   |            ^\n"
        "hint: domains have a point at least",
    ),
    (
        SHIFT,
        (X, 1),
        {"out": np.zeros((3, 5), np.int32)},
        f"the output 'f' is (3, 4) here, and out= has (3, 5)\n{AT_END}it is {NEEDS}\n"
        "hint: give an array of that shape",
    ),
    (
        SHIFT,
        (X, 1),
        {"out": [X, X]},
        f"the program returns 1 domain, and out= has 2 arrays\n{AT_END}"
        "hint: give one for each",
    ),
    (
        SHIFT,
        (X, 1),
        {"out": np.broadcast_to(np.int32(0), (3, 4))},
        f"the output 'f' is given as a read-only array\n{AT_END}it is {NEEDS}\n"
        "hint: copy it",
    ),
    (
        SWAP,
        (np.zeros((3, 4, 4), np.int16),),
        {},
        f"the input 'x' is given with 4 channels, and has 3\n{AT_RGB}{RGB}\n"
        "hint: the fields of the struct are the last dimension of the array",
    ),
    (
        SWAP,
        (np.zeros((3, 4), [("r", np.int16), ("g", np.int16)]),),
        {},
        "the input 'x' is given as an array of [('r', '<i2'), ('g', '<i2')]\n"
        f"{AT_RGB}{RGB}\n"
        "hint: a structured array has the names and types of the struct's fields",
    ),
    (
        MIXED,
        (np.zeros((3, 4), [("a", np.int8), ("b", np.float64)]), X[:2]),
        {},
        "the input 'y' has 2 points in dimension 1, and needs 3, as N is, by the input"
        " 'x', 3\n"
        "  --> a.forma:5:14\n   |  vector#2 int y[M,N];\n   |               ^^^^^^\n"
        f"it is {NEEDS}\nhint: give arrays and parameters that fit together",
    ),
    (
        CROP,
        (X,),
        {},
        "the crop [3..25] ends outside of 'x', which has the size M\n"
        "  --> a.forma:3:7\n   |  y = x[3..25,5..29];\n   |        ^^^^^\n"
        "this is so where M = 4, N = 3\n"
        "hint: give a larger image, or other parameters",
    ),
]


@pytest.mark.parametrize("text, args, named, message", CASES)
def test_refused(
    text: str, args: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    program = forma.Program(forma.check(text, "a.forma"))
    with pytest.raises(FormaError) as caught:
        program(*args, **named)
    assert str(caught.value) == message


def test_sizes_need_what_they_depend_on() -> None:
    program = forma.compile(SHIFT)
    assert program.sizes(M=3, N=4) == {"x": (3, 4), "f": (3, 4)}
    with pytest.raises(FormaError, match="the program needs 'N'"):
        program.sizes(M=3)
    with pytest.raises(FormaError, match="no parameter 'K'"):
        program.sizes(M=3, N=4, K=3)


READERS: dict[str, Any] = {
    "check": forma.check,
    "check_file": forma.check_file,
    "compile": forma.compile,
    "parse": forma.parse,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("given", [5, None, b"return x;", ["return x;"]])
def test_what_is_no_program(name: str, given: Any) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        READERS[name](given)
    first, place, *_ = str(caught.value).splitlines()
    assert first.startswith("a program of Forma is a text, the path of a file, or a")
    assert first.endswith(f", not {given!r}")
    assert place.startswith(f"  --> {__file__}:")


@pytest.mark.parametrize("text", ["", " \n", "/* a\n", "\0", "}\n"])
def test_a_text_without_a_semicolon_is_no_path(text: str) -> None:
    with pytest.raises(FormaError):
        forma.compile(text)


def test_an_int_that_no_double_holds() -> None:
    compiled = forma.compile(
        """
        parameter M;
        parameter double d;
        vector#1 int x[M];
        stencil f(vector#1 int X) { return X * d; }
        return f(x);
        """
    )
    with pytest.raises(FormaError, match="is too large for 'd', double"):
        compiled(np.arange(3, dtype=np.int32), d=10**400)
    assert compiled(np.ones(1, np.int32), d=float("inf"))[0] == np.inf


def test_outputs_that_share_an_array_have_their_names() -> None:
    same = np.zeros(3, np.int32)
    stencil = "stencil f(vector#1 int X) { return X + 1; }"
    compiled = forma.compile(
        f"parameter M; vector#1 int x[M]; {stencil} return f(x), x;"
    )
    with pytest.raises(InvalidBufferError, match="'f' and 'x' share pixels"):
        compiled(np.arange(3, dtype=np.int32), out=[same, same])
