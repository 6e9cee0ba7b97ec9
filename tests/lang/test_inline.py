"""Inline reductions: the Funcs that they make, and what they are worth."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.expr import FuncCall

x, y = hl.vars("x y")


def call_of(e: hl.Expr) -> FuncCall:
    assert isinstance(e._node, FuncCall)
    return e._node


def values(e: hl.Expr, n: int) -> list[int]:
    """`e`, which may mention x, for x from 0 to n - 1."""
    f = hl.Func()
    f[x] = e
    (out,) = interpret(f._function, [(0, n)])
    return list(out.tolist())


def test_free_variables_become_arguments() -> None:
    f = hl.Func()
    f[x, y] = x + y
    r = hl.RDom([(0, 3)])
    e = hl.sum(f[x + r.x, y], "the_sum")
    call = call_of(e)
    assert call.func.name == "the_sum"
    assert [a.name for a in call.func.args] == ["x", "y"]
    assert call.args == (x._var, y._var)
    assert call.func.updates[0].rdom is r._domain


def test_values() -> None:
    r = hl.RDom([(1, 4)])
    assert values(hl.sum(x * r.x), 3) == [0, 10, 20]
    assert values(hl.product(x + r.x), 3) == [24, 120, 360]
    assert values(hl.maximum((r.x - 2) * (x - 1)), 3) == [1, 0, 2]
    assert values(hl.minimum((r.x - 2) * (x - 1)), 3) == [-2, 0, -1]
    place, value = hl.argmax((r.x - 2) * (x - 1))
    assert values(place, 3) == [1, 1, 4]
    assert values(value, 3) == [1, 0, 2]
    place, value = hl.argmin((r.x - 2) * (x - 1))
    assert values(place, 3) == [4, 1, 1]


def test_sums_keep_their_arguments_type_and_wrap() -> None:
    r = hl.RDom([(0, 100)])
    e = hl.sum(hl.u8(r.x))
    assert e.type() is hl.UInt(8)
    assert values(e, 1) == [sum(range(100)) % 256]


def test_over_two_dimensions() -> None:
    r = hl.RDom([(0, 3), (0, 2)])
    px, py, v = hl.argmax(hl.u8(r.x * 10 + r.y + x))
    assert (px.type(), py.type(), v.type()) == (hl.Int(32), hl.Int(32), hl.UInt(8))
    assert values(px, 2) == [2, 2] and values(py, 2) == [1, 1]
    assert values(v, 2) == [21, 22]


def test_a_named_domain_leaves_other_rvars_free() -> None:
    r, s = hl.RDom([(0, 3)]), hl.RDom([(0, 4)])
    e = hl.sum(r, r.x * s.x + x)
    call = call_of(e)
    assert call.args == (s.x._var, x._var)
    assert call.func.updates[0].rdom is r._domain
    f = hl.Func()
    f[x] = 0
    f[x] += e
    (out,) = interpret(f._function, [(0, 2)])
    assert out.tolist() == [
        sum(i * j + v for i in range(3) for j in range(4)) for v in range(2)
    ]


def test_a_domain_that_the_expression_does_not_mention() -> None:
    assert values(hl.sum(hl.RDom([(0, 5)]), x), 3) == [0, 5, 10]
    assert values(hl.sum(hl.RDom([(0, 5)]), 2), 1) == [10]


def test_the_predicate_counts() -> None:
    r = hl.RDom([(0, 10)])
    r.where(r.x < x)
    assert values(hl.sum(r, 1), 4) == [0, 1, 2, 3]


def test_an_own_func() -> None:
    r = hl.RDom([(0, 3)])
    f = hl.Func("own_sum")
    e = hl.sum(r.x + x, f)
    assert call_of(e).func is f._function and f.num_update_definitions() == 1
    g = hl.Func("own_sum_2")
    assert call_of(hl.sum(r, x, name=g)).func is g._function
    assert call_of(hl.maximum(rdom=r, expr=x)).func.args == (x._var,)
    with pytest.raises(hl.DefinitionError, match="already defined"):
        hl.sum(r, x, f)


def test_of_an_image() -> None:
    image = hl.ImageParam(hl.UInt(8), 2)
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    r = hl.RDom(image)
    f = hl.Func()
    f[()] = hl.sum(hl.u32(image[r.x, r.y]))
    (out,) = interpret(f._function, [], {}, {image._sym: (pixels.T, (0, 0))})
    assert out == pixels.sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hl.sum(x + 1), "mentions no RDom"),
        (
            lambda: hl.sum(hl.RDom([(0, 3)]).x + hl.RDom([(0, 3)]).x),
            "RVars of two RDoms",
        ),
        (lambda: hl.sum(), "takes an expression"),  # type: ignore[call-overload]
        (lambda: hl.sum(x, y), "takes an expression"),  # type: ignore[call-overload]
    ],
)
def test_what_is_refused(make: object, message: str) -> None:
    with pytest.raises(hl.HalideError, match=message):
        make()  # type: ignore[operator]
