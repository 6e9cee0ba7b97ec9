"""Programs written in Python: the same trees as those of the text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lark")

from apps.forma.programs import PROGRAMS
from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma import Vector1, Vector2, at
from parhelion.forma.terms import MATH
from parhelion.forma.twin import words
from tests.forma import twins, twins_of_pyramids, twins_of_stencils
from tests.forma.as_python import as_python
from tests.forma.draw import draw
from tests.forma.listings import LISTINGS
from tests.forma.python_files import PREFIX, run
from tests.forma.twins import TWINS
from tests.forma.twins_of_cameras import camera_pipe

#: The texts of the programs in apps/forma, and their twins, by their names.
APPS = {name: one.text for name, one in PROGRAMS.items()}
TWINS_OF_APPS = {
    one.name: one
    for one in (
        *vars(twins_of_stencils).values(),
        *vars(twins_of_pyramids).values(),
        camera_pipe,
    )
    if isinstance(one, forma.Twin)
}


@pytest.mark.parametrize("number", LISTINGS)
def test_listings(number: int) -> None:
    assert TWINS[number].tree == forma.parse(LISTINGS[number])


@pytest.mark.parametrize("number", LISTINGS)
def test_listings_that_are_translated(number: int) -> None:
    tree = forma.parse(LISTINGS[number])
    text = f"from parhelion import forma\n{as_python(tree)}"
    assert run(text)["twin"].tree == tree


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_drawn_programs_that_are_translated(first: int) -> None:
    for seed in range(first, first + 20):
        tree = forma.parse(draw(seed, math=True).text)
        text = as_python(tree)
        twin = run(f"from parhelion import forma\n{text}", f"drawn{seed}.py")["twin"]
        assert twin.tree == tree, text


@pytest.mark.parametrize("name", APPS)
def test_applications(name: str) -> None:
    assert TWINS_OF_APPS[name].tree == forma.parse(APPS[name])


def test_no_application_is_without_a_twin() -> None:
    assert sorted(TWINS_OF_APPS) == sorted(APPS)


def test_trees_are_compared() -> None:
    assert TWINS[4].tree != TWINS[5].tree
    assert TWINS[4].tree != forma.parse(LISTINGS[4].replace("4*X", "5*X"))


def test_all_words_are_there() -> None:
    for name in MATH:
        assert getattr(forma, name) is getattr(words, name)
        assert getattr(words, name).name == name
    for count in range(1, 9):
        assert getattr(forma, f"Vector{count}").dimensions == count


# What is written in another way


def same(twin: forma.Twin, text: str) -> None:
    assert twin.tree == forma.parse(text)


@forma.stencil
def half(X: Vector1[float]) -> object:
    return X / 2


def test_operators() -> None:
    @forma.program
    def p() -> object:
        M = forma.parameter(int)
        t = forma.parameter(forma.int8)
        x = Vector1[forma.double](M)

        @forma.stencil
        def s(X: Vector1[forma.double], by: forma.int16) -> object:
            """What is here is not read."""
            a = X > 0 and X < 1 and not X % by or t != 2 or X >= 3
            b = +X % 2 if a else -X <= 1
            c = forma.double("0.1") * b - forma.double("-1e40")
            return forma.pow(c, math.sqrt(abs(min(max(a, 1.5e3), pow(2, 3))))), int(a)

        return s(x, 1 - 2)

    same(
        p,
        """
        parameter M; parameter int8 t;
        vector#1 double x[M];
        stencil s(vector#1 double X, int16 by) {
          a = X > 0 && X < 1 && !(X % by) || t != 2 || X >= 3;
          b = a ? +X % 2 : -X <= 1;
          c = 0.1d * b - -1e40d;
          return pow(c, sqrt(abs(min(max(a, 1.5e3), pow(2, 3))))), int(a);
        }
        return s(x, 1 - 2);
        """,
    )


def test_logic_keeps_its_parentheses() -> None:
    @forma.program
    def p() -> object:
        @forma.stencil
        def s(X: Vector1[int]) -> object:
            return X and (X and 2) and X, (X or X) and X

        M = forma.parameter()
        x = Vector1[int](M)
        return s(x)

    same(
        p,
        """
        stencil s(vector#1 int X) { return X && (X && 2) && X, (X || X) && X; }
        parameter M; vector#1 int x[M]; return s(x);
        """,
    )


def test_one_dimension() -> None:
    @forma.program
    def p() -> object:
        @forma.stencil
        def s(X: Vector1[int]) -> object:
            return X[(-1)] + X[(0, 2),]

        M = forma.parameter()
        x, y = Vector1[int](2 * M + 1)
        wide = at[(0, 2),](s(x[0:M]))
        z = at[1:](y)
        return wide, z

    same(
        p,
        """
        stencil s(vector#1 int X) { return X@[-1] + X@[(0,2)]; }
        parameter M; vector#1 int x[2*M+1], y[2*M+1];
        wide@[(0,2)] = s(x[0..M-1]); z[1..] = y; return wide, z;
        """,
    )


def test_ends_of_ranges() -> None:
    @forma.program
    def p() -> object:
        M = forma.parameter()
        x = Vector1[int](M)
        a = x[:5]
        b = x[1 : M - 1]
        c = x[M - 3 : M + 1 - 1]
        d = x[0 : M + 1 + 2]
        e = x[0 : M - 3 + 1]
        return a, b, c, d, e

    same(
        p,
        """
        parameter M; vector#1 int x[M];
        a = x[0..4]; b = x[1..M-2]; c = x[M-3..M+1-2]; d = x[0..M+1+1]; e = x[0..M-3];
        return a, b, c, d, e;
        """,
    )


def test_loops() -> None:
    @forma.program
    def p() -> object:
        M = forma.parameter()
        x = Vector1[float](M)
        g: dict[int, Any] = {}
        h: dict[int, Any] = {}
        g[0] = x
        for i in range(1, 3):
            g[i] = half(g[i - 1])
        for j in range(2, -1, -1):
            for k in range(3):
                h[3 * j + k] = half(g[j])
        for up in range(9, 11, 1):
            h[up] = half(x)
        for n in range(12, 14 + 1):
            h[n] = at[(0, 2),](x)
        return h[0], h[8]

    same(
        p,
        """
        stencil half(vector#1 float X) { return X / 2; }
        parameter M; vector#1 float x[M];
        g<0> = x;
        for i = 1..2 g<i> = half(g<i-1>); endfor
        for j = 2..0 by -1 for k = 0..2 h<3*j+k> = half(g<j>); endfor endfor
        for up = 9..10 by 1 h<up> = half(x); endfor
        for n = 12..14 h<n>@[(0,2)] = x; endfor
        return h<0>, h<8>;
        """,
    )


def test_numbers_from_around() -> None:
    sigma, count = -0.5, 3

    @forma.stencil
    def s(X: Vector1[float]) -> object:
        return sigma * X + math.pi + count

    @forma.program
    def p() -> object:
        M = forma.parameter()
        x = Vector1[float](M)
        g: dict[int, Any] = {}
        for i in range(count):
            g[i] = s(x)
        return g[count - 1]

    same(
        p,
        f"""
        stencil s(vector#1 float X) {{ return -0.5 * X + {math.pi!r} + 3; }}
        parameter M; vector#1 float x[M];
        for i = 0..2 g<i> = s(x); endfor
        return g<3-1>;
        """,
    )


def test_words_of_python_are_names_with_an_underscore() -> None:
    @forma.program
    def p() -> object:
        @forma.struct
        class S:
            in_: int

        @forma.stencil
        def is_(X: Vector1[S], lambda_: float) -> object:
            x_ = X.in_
            return x_ * lambda_

        M = forma.parameter()
        from_ = Vector1[S](M)
        return is_(from_, 0.5)

    same(
        p,
        """
        struct S { int in; }
        stencil is(vector#1 S X, float lambda) { x_ = X.in; return x_ * lambda; }
        parameter M; vector#1 S from[M];
        return is(from, 0.5);
        """,
    )


gain = forma.parameter(float)
bias = forma.parameter(forma.int8)


@forma.stencil
def bright(X: Vector2[float]) -> object:
    return X * gain + bias


@forma.stencil
def unused(X: Vector2[float]) -> object:
    return X


@forma.vector
def brighter(X: Vector2[float]) -> object:
    return bright(bright(X))


def test_what_is_outside_of_a_program_belongs_to_it() -> None:
    @forma.program
    def p() -> object:
        M, N = forma.parameter()
        x = Vector2[float](M, N)
        return brighter(x)

    text = """
        parameter float gain; parameter int8 bias; parameter M, N;
        stencil bright(vector#2 float X) { return X * gain + bias; }
        vector brighter(vector#2 float X) { return bright(bright(X)); }
        vector#2 float x[M,N];
        return brighter(x);
    """
    same(p, text)
    (out,) = forma.check(p).outputs
    assert out.name == "brighter"


def test_functions_may_stand_behind_their_use() -> None:
    text = """
@program
def p():
    M, N = parameter()
    x = Vector2[float](M, N)
    y = first(mirror(x))
    @vector
    def first(X: Vector2[float]):
        return second(constant(X, 1))
    @stencil
    def second(X: Vector2[float]):
        return X[0, 1]
    return y
"""
    tree = run(PREFIX + text)["p"].tree
    assert [one.name for one in tree.functions] == ["first", "second"]


def test_functions_of_modules() -> None:
    @forma.program
    def p() -> object:
        M, N = forma.parameter()
        x = Vector2[int](M, N)
        return twins.upsample_x_odd(x)

    assert [one.name for one in p.tree.functions] == ["upsample_x_odd"]


# Programs that run


def test_a_twin_is_compiled() -> None:
    image = np.arange(48, dtype=np.int32).reshape(6, 8)
    from_text = forma.compile(LISTINGS[4])
    compiled = forma.compile(TWINS[4])
    assert np.array_equal(compiled(image), from_text(image))
    assert compiled.name == "jacobi"


def test_errors_of_calls_are_at_the_line_in_python() -> None:
    compiled = forma.compile(TWINS[4])
    with pytest.raises(FormaError, match=r"tests/forma/twins.py:\d+:\d+\n .*Vector2"):
        compiled(np.zeros(3, np.int32))


def test_a_twin_says_what_it_is() -> None:
    assert repr(TWINS[4]) == "<program jacobi of Forma>"
    assert repr(half) == "<stencil half of Forma>"
    assert repr(forma.stencil) == "@forma.stencil"
    assert (repr(forma.at), repr(forma.mirror)) == ("forma.at", "forma.mirror")

    @forma.program
    def p() -> object:
        """Says so."""
        M = forma.parameter()
        x = Vector1[float](M)
        return x

    assert p.__doc__ == "Says so."


THREE, HALF, NOTHING = np.int64(3), np.float32(0.5), float("nan")


def test_numbers_of_numpy_are_taken_over() -> None:
    @forma.program
    def p() -> object:
        M = forma.parameter()
        x = Vector1[float](M)

        @forma.stencil
        def scaled(X: Vector1[float]) -> object:
            return X * THREE * HALF

        return scaled(x)

    assert np.array_equal(forma.compile(p)(np.full(2, 2, np.float32)), [3, 3])
    with pytest.raises(FormaError, match="this is not a number, which Forma cannot"):

        @forma.stencil
        def nothing(X: Vector1[float]) -> object:
            return X * NOTHING
