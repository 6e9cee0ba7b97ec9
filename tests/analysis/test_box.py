"""Boxes of coordinates and the narrowing of scopes by conditions."""

from __future__ import annotations

import pytest

from parhelion.analysis.box import boxes_touched, holds_nothing, narrow, union
from parhelion.analysis.symbolic import SymInterval
from parhelion.errors import InternalError
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import Value, evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import text
from parhelion.types import INT32, UInt
from tests.analysis.drawing import Drawing, load, well_behaved

U8 = UInt(8)
a, b, n = Var("a", INT32), Var("b", INT32), Var("n", INT32)
x, y = Var("x", INT32), Var("y", INT32)
image = BufferSym("img", U8, 2, "input")
SCOPE = {x: SymInterval(a, b), y: SymInterval(B.int32(0), B.int32(9))}


def i(value: int) -> Expr:
    return B.int32(value)


def at(u: Expr, v: Expr) -> Expr:
    return E.ImageLoad(U8, image, (u, v))


def shown(interval: SymInterval) -> tuple[str, str]:
    lo, hi = interval
    return ("None" if lo is None else text(lo)), ("None" if hi is None else text(hi))


def test_stencil() -> None:
    total: Expr = at(x, y)
    for dx in (-1, 0, 1):
        for dy in (-2, 0, 2):
            total = E.Add(total, at(B.add(x, i(dx)), B.add(y, i(dy))))
    box = boxes_touched([total], SCOPE)[image]
    assert [shown(r) for r in box] == [("a + -1", "b + 1"), ("-2", "11")]


def test_nested_reads() -> None:
    d = Drawing(0)
    inner = E.FuncCall(INT32, d.func, (B.mul(x, i(2)),), 0)
    boxes = boxes_touched(
        [at(B.clamp(inner, i(0), n), y)], SCOPE, lambda g, k: SymInterval(i(3), None)
    )
    assert shown(boxes[d.func][0]) == ("a*2", "b*2")
    assert shown(boxes[image][0]) == ("max(min(n, 3), 0)", "max(n, 0)")


def test_both_sides_of_a_select_are_read() -> None:
    e = E.Select(E.LT(x, i(5)), at(x, y), at(B.add(x, i(1)), y))
    assert shown(boxes_touched([e], SCOPE)[image][0]) == ("a", "b + 1")


def test_values_of_a_select_are_narrowed() -> None:
    e = at(E.Select(E.LT(x, i(5)), x, i(5)), y)
    assert shown(boxes_touched([e], SCOPE)[image][0]) == ("min(a, 5)", "5")


def test_an_empty_scope_reads_nothing() -> None:
    d = Drawing(0)
    call = E.FuncCall(INT32, d.func, (B.add(x, i(2)),), 0)
    scope = {x: SymInterval(n, B.sub(n, i(1))), y: SymInterval(a, b)}
    boxes = boxes_touched([E.Add(call, E.Cast(INT32, at(x, y)))], scope)
    assert image not in boxes
    assert holds_nothing(boxes[d.func])


def test_an_empty_box_adds_nothing() -> None:
    some, none = (SymInterval(i(1), i(2)),), (SymInterval(i(9), i(8)),)
    assert union(some, none) == union(none, some) == some
    assert holds_nothing(none) and not holds_nothing(some)
    assert not holds_nothing((SymInterval(a, b),))


def test_union_of_unlike_boxes_is_a_bug() -> None:
    with pytest.raises(InternalError):
        union((SymInterval(a, b),), ())


NARROWED: list[tuple[str, Expr, tuple[str, str]]] = [
    ("above", B.le(i(3), x), ("max(a, 3)", "b")),
    ("below", B.lt(x, n), ("a", "min(b, n + -1)")),
    ("likely", B.likely(B.lt(x, n)), ("a", "min(b, n + -1)")),
    ("scaled", B.lt(B.mul(x, i(3)), i(10)), ("a", "min(b, 3)")),
    ("scaled up", B.lt(i(10), B.mul(x, i(3))), ("max(a, 4)", "b")),
    ("negative", B.le(B.sub(i(4), x), i(1)), ("max(a, 3)", "b")),
    ("with another", B.lt(x, y), ("a", "min(b, 8)")),
    ("divided", B.lt(B.div(x, i(4)), i(3)), ("a", "min(b, 11)")),
    ("equal", B.eq(x, n), ("max(a, n)", "min(b, n)")),
    ("two", B.land(B.le(i(0), x), B.lt(x, n)), ("max(a, 0)", "min(b, n + -1)")),
    ("either", B.lor(B.eq(x, i(2)), B.eq(x, i(7))), ("max(a, 2)", "min(b, 7)")),
    ("not", B.lnot(B.lt(x, n)), ("max(a, n)", "b")),
    (
        "not both",
        B.lnot(B.lor(B.lt(x, i(1)), B.lt(i(4), x))),
        ("max(a, 1)", "min(b, 4)"),
    ),
    ("min", B.le(i(2), B.minimum(x, n)), ("max(a, 2)", "b")),
    ("nothing", B.lt(n, i(3)), ("a", "b")),
]


@pytest.mark.parametrize(
    ("cond", "expected"), [c[1:] for c in NARROWED], ids=[c[0] for c in NARROWED]
)
def test_narrow(cond: Expr, expected: tuple[str, str]) -> None:
    assert shown(narrow(SCOPE, cond)[x]) == expected


def test_narrow_keeps_the_scope_it_cannot_improve() -> None:
    assert narrow(SCOPE, B.TRUE) is SCOPE
    assert narrow(SCOPE, B.lt(n, i(3))) is SCOPE


def test_triangle() -> None:
    """r.y <= r.x over a square: x is at least y, y at most x."""
    scope = {x: SymInterval(i(0), i(9)), y: SymInterval(i(0), i(9))}
    inside = narrow(scope, B.le(B.add(y, i(2)), x))
    assert shown(inside[x]) == ("2", "9")
    assert shown(inside[y]) == ("0", "7")


@pytest.mark.parametrize("seed", range(4))
def test_narrowed_scope_keeps_what_satisfies_it(seed: int) -> None:
    kept = 0
    for k in range(250):
        d = Drawing(77_000 + seed * 1000 + k)
        cond, scope = d.condition(3), d.scope()
        inner = narrow(scope, cond, lambda g, j: SymInterval(i(0), i(255)))
        for _ in range(6):
            env = d.free_point()
            point = _inside(d, scope, env)
            if point is None or not well_behaved(cond, point):
                continue
            if not evaluate(cond, point, load):
                continue
            ends = [e for r in inner.values() for e in r if e is not None]
            if not all(well_behaved(e, env) for e in ends):
                continue
            kept += 1
            for v, r in inner.items():
                where = f"{v.name}={point[v]} where {text(cond)}: {shown(r)}"
                assert r.lo is None or evaluate(r.lo, env) <= point[v], where
                assert r.hi is None or point[v] <= evaluate(r.hi, env), where
    assert kept > 100


@pytest.mark.parametrize("seed", range(4))
def test_boxes_contain_every_read(seed: int) -> None:
    reads = 0
    for k in range(150):
        d = Drawing(50_000 + seed * 1000 + k)
        e, scope = d.expr(INT32, 4), d.scope()
        boxes = boxes_touched([e], scope, lambda g, j: SymInterval(i(0), i(255)))
        for _ in range(4):
            env = d.free_point()
            point = _inside(d, scope, env)
            if point is None or not well_behaved(e, point):
                continue
            seen: list[tuple[object, int]] = []

            def watch(read: Expr, where: tuple[int, ...]) -> Value:
                source = read.func if isinstance(read, E.FuncCall) else read.image  # type: ignore[attr-defined]
                seen.append((source, where[0]))  # noqa: B023 - used at once
                return load(read, where)

            evaluate(e, point, watch)
            for source, where in seen:
                (r,) = boxes[source]  # type: ignore[index]
                ends = [end for end in r if end is not None]
                if not all(well_behaved(end, env) for end in ends):
                    continue
                reads += 1
                assert r.lo is None or evaluate(r.lo, env) <= where, text(e)
                assert r.hi is None or where <= evaluate(r.hi, env), text(e)
    assert reads > 50


def _inside(
    d: Drawing, scope: dict[Var, SymInterval], env: dict[Var, Value]
) -> dict[Var, Value] | None:
    """A point of the scope, if the interval is not empty there."""
    point = d.inside(scope, env)
    for v, r in scope.items():
        if r.lo is not None and evaluate(r.lo, env) > point[v]:
            return None
        if r.hi is not None and point[v] > evaluate(r.hi, env):
            return None
    return point
