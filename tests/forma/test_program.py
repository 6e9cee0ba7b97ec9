"""Compiled programs against the reference: each construct, and tiny sizes."""

from __future__ import annotations

import pytest

from parhelion import forma
from tests.forma.listings import LISTINGS, PYRAMID
from tests.forma.support import SCHEDULERS, assert_agrees, assert_same

BOUNDARIES = ("", ":constant(3)", ":clamped", ":wrap", ":mirror")
#: The least sizes that the requirements of listings allow, and odd ones.
SIZES = {8: [(26, 30), (33, 41)], 10: [(4, 4), (33, 33)], 12: [(8, 8), (37, 51)]}


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("number", LISTINGS)
def test_listings(number: int, scheduler: str | None) -> None:
    program = forma.compile(
        LISTINGS[number], scheduler=scheduler, strict_float=number != 11
    )
    if number == 11:
        return  # its functions are rounded otherwise than NumPy's: see test_math
    for m, n in SIZES.get(number, [(2, 3), (70, 33)]):
        names = [one.name for one in program.graph.parameters]
        assert_same(program, **dict(zip(names, (m, n), strict=False)))


@pytest.mark.parametrize("scheduler", ["Parhelion", "Mullapudi2016"])
@pytest.mark.parametrize("number", [4, 7, 10])
def test_automatic_schedulers(number: int, scheduler: str) -> None:
    """A schedule that is made for large images computes small ones, too."""
    program = forma.compile(
        LISTINGS[number],
        scheduler=scheduler,
        estimates={"N": 200} if number == 10 else {"M": 200, "N": 200},
        strict_float=True,
    )
    for m, n in SIZES.get(number, [(2, 3), (70, 33)]):
        names = [one.name for one in program.graph.parameters]
        assert_same(program, **dict(zip(names[::-1], (n, m), strict=False)))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_boundaries(boundary: str, scheduler: str | None) -> None:
    """All conditions on domains of all small sizes, and beyond their size, twice."""
    program = forma.compile(
        "stencil f(vector#2 int X, vector#2 int Y) {"
        "  return X@[-2,0] + 3*X@[0,-1] + 5*X@[1,2] + 7*X@[5,0] + 9*Y@[(1,2), (-1,3)];"
        "}"
        "parameter M, N; vector#2 int x[M,N]; vector#2 int y[2*M, 3*N];"
        f"return f(x{boundary}, y{boundary});",
        scheduler=scheduler,
    )
    for m, n in [(1, 1), (1, 2), (2, 1), (3, 3), (2, 7), (17, 3), (33, 18), (65, 9)]:
        assert_same(program, M=m, N=n)


def test_boundary_of_a_parameter_and_of_structs() -> None:
    assert_agrees(
        "struct S { float a; float b; }"
        "stencil f(vector#1 S X) { return X@[-1].a, X@[1].b, X@[-1]; }"
        "parameter M; parameter float v; vector#1 S x[M];"
        "a, b, c = f(x:constant(v)); d, e, g = f(x:mirror);"
        "return b, c, e, g;",
        M=5,
        v=2.5,
    )


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    "text",
    [
        # Points of one row, of several rows, of three dimensions, of eight.
        "return one(x);",
        "z[2.., 1..] = x; return z;",
        "z = x[1..M-1, 0..0]; return z, one(z);",
        "z = ( [0.., 0..] = x; [M.., 0..] = one(x); ); return z;",
        "z = ( [0.., 0..] = x; [0.., N..] = one(x); ); return one(z);",
        "z = ( [0.., 0.., 0..] = x; [0.., 0.., 1..] = one(x); ); return z;",
        "z[0.., 0.., 0.., 0.., 0.., 2..] = x; return z;",
        "z@[(1,3), (0,2)] = x; return z;",
        "z@[(2,20), 0] = x; return z;",
        "z = ( @[(0,2), (0,2)] = x; @[(1,2), (0,2)] = one(x);"
        "      @[(0,2), (1,2)] = one(x); @[(1,2), (1,2)] = x; ); return one(z), z;",
        "z = ( @[(0,2), 0] = one(x); @[(1,2), 0] = x; );"
        "return one(z[3..2*M-1, 0..N-1]);",
        "z = ( @[(0,3), 0] = one(x); @[(1,3), 0] = x; @[(2,3), 0] = x; );"
        "return around(z:mirror);",
        "z = ( @[(0,2), 0] = one(x); [1.., N..] = x; @[(1,2), 0] = x;"
        "      [0.., N..] = x[0..0, 0..N-1]; [M+1.., N..] = x[0..M-2, 0..N-1]; );"
        "return z;",
        "for i = 0..3 g<i> = one(x); endfor return g<0>, g<3>, g<0>;",
        "return x, x[1..1, 0..N-1], two(x, one(x));",
        "a, b = both(x); return b, a, two(a, b);",
    ],
)
def test_domains(text: str, scheduler: str | None) -> None:
    program = forma.compile(
        "stencil one(vector#2 int X) { return X + 1; }"
        "stencil two(vector#2 int X, vector#2 int Y) { return X * Y; }"
        "stencil both(vector#2 int X) { return X / 3, X % 3; }"
        "stencil around(vector#2 int X) { return X@[-1, 0] - X@[1, 1]; }"
        "parameter M, N; vector#2 int x[M, N];" + text,
        scheduler=scheduler,
    )
    for m, n in [(2, 1), (3, 2), (40, 9)]:
        assert_same(program, M=m, N=n)


def test_other_dimensions() -> None:
    """Lines, volumes of few planes or columns, and domains of known size."""
    assert_agrees(
        "stencil f(vector#1 int X) { return X@[-1] + X@[1]; }"
        "parameter M; vector#1 int x[M]; return f(x:wrap);",
        M=40_000,
    )
    text = (
        "stencil f(vector#3 int X) { return X@[-1,0,0] + 2*X@[0,1,0] + 3*X@[0,0,1]; }"
        "parameter M, N, K; vector#3 int x[M, N, K]; return f(x), f(x:mirror);"
    )
    for m, n, k in [(3, 40, 5), (40, 3, 2), (1, 1, 1)]:
        assert_agrees(text, M=m, N=n, K=k)
    assert_agrees(
        text.replace("x[M, N, K]", "x[3, M, N]").replace(", K;", ";"), M=9, N=7
    )
    assert_agrees(
        "stencil f(vector#2 float X) { return X@[-1,0] + X@[0,1]; }"
        "vector#2 float x[5, 4]; return f(x:clamped);"
    )


@pytest.mark.parametrize("boundary", ["", ":mirror"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_pyramid(scheduler: str | None, boundary: str) -> None:
    text = PYRAMID.replace(
        "sample_y(sample_x(Z))", f"sample_y(sample_x(Z{boundary}){boundary})"
    )
    for argument in ("X", "Y"):
        for parity in ("even", "odd"):
            call = f"{parity}({argument}"
            text = text.replace(f"{call})", f"{call}{boundary})")
    program = assert_agrees(text, scheduler, M=64, N=48)
    for m, n in [(8, 8), (9, 11), (33, 70)]:
        assert_same(program, M=m, N=n)
