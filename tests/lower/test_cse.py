"""Shared values are named once, and only where they cannot change in between."""

from __future__ import annotations

import numpy as np

import parhelion as hl
from parhelion.ir.build import add, block, int32, mul
from parhelion.ir.expr import LE, Expr, Intrinsic, Load, Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import (
    Assert,
    Block,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.cse import SMALLEST, common_subexpressions
from parhelion.types import INT32, Float
from tests.lower.execute import execute
from tests.lower.random_loops import internal
from tests.support.checking import check

F, G, H = internal("f"), internal("g"), internal("h")
X = Var("x", INT32)
DATA = {G: list(range(-4, 12)), F: [0] * 8, H: [0] * 8}


def big(buffer: BufferSym = G, shift: int = 0) -> Expr:
    """An expression of pixels that is worth a name."""
    e: Expr = Load(INT32, buffer, add(X, int32(shift)), None)
    for i in range(1, 4):
        e = add(mul(e, e), Load(INT32, buffer, add(X, int32(i + shift)), None))
    return e


def at(i: int) -> Expr:
    return add(X, int32(i))


def same(s: Stmt) -> Stmt:
    """The result of the pass, after checking that it computes the same."""
    made = common_subexpressions(s)
    for x in range(3):
        assert execute(made, DATA, {X: x}).memory == execute(s, DATA, {X: x}).memory
    return made


def lets(s: Stmt) -> list[LetStmt]:
    return [n for n in nodes(s) if isinstance(n, LetStmt)]


def test_a_value_of_two_statements_is_named_before_the_first() -> None:
    made = same(block(Store(F, big(), X, None), Store(H, add(big(), X), X, None)))
    assert isinstance(made, Block)
    *before, store, other = made.items
    assert before and all(isinstance(s, LetStmt) for s in before)
    assert not [e for s in (store, other) for e in nodes(s) if isinstance(e, Load)]


def test_a_value_used_twice_in_one_statement() -> None:
    e = big()
    made = same(Store(F, mul(add(e, int32(1)), add(e, int32(2))), X, None))
    assert e in [let.value for let in lets(made)] or len(lets(made)) > 1


def test_small_and_index_values_keep_their_shape() -> None:
    index: Expr = X
    for i in range(SMALLEST):
        index = add(mul(index, int32(1 + i)), X)
    s = block(Store(F, X, index, None), Store(H, X, index, None))
    assert common_subexpressions(s) is s
    small = add(Load(INT32, G, X, None), int32(1))
    s = block(Store(F, small, X, None), Store(H, small, X, None))
    assert common_subexpressions(s) is s


def test_a_store_in_between_keeps_loads_apart() -> None:
    s = block(
        Store(H, big(F), X, None),
        Store(F, int32(7), at(1), None),
        Store(H, big(F), at(1), None),
    )
    made = same(s)
    assert all(big(F) is not let.value for let in lets(made))
    s = block(
        Store(H, big(G), X, None),
        Store(F, int32(7), at(1), None),
        Store(H, big(G), at(1), None),
    )
    assert lets(same(s))


def test_a_let_in_between_that_the_value_needs() -> None:
    t = Var("t", INT32)
    value = add(big(), mul(t, t))
    s = block(
        LetStmt(t, add(X, int32(3))),
        Store(F, value, X, None),
        Store(H, value, X, None),
    )
    made = same(s)
    assert isinstance(made, Block) and isinstance(made.items[0], LetStmt)
    assert made.items[0].var is t


def test_nothing_moves_over_a_check_or_a_print() -> None:
    check = Assert(LE(int32(0), X), "constraint", ())
    s = block(Store(F, big(), X, None), check, Store(H, big(), X, None))
    assert not [let for let in lets(common_subexpressions(s)) if let.value is big()]
    say = Evaluate(Intrinsic(INT32, "print", (X,)))
    s = block(Store(F, big(), X, None), say, Store(H, big(), X, None))
    assert not [let for let in lets(common_subexpressions(s)) if let.value is big()]


def test_a_loop_shares_only_within_itself() -> None:
    v = Var("v", INT32)
    inner = For(v, int32(0), int32(2), ForKind.SERIAL, Store(F, big(), v, None))
    s = block(Store(H, big(), X, None), inner)
    made = same(s)
    assert all(let.value is not big() for let in lets(made))


def test_a_chain_of_doublings_prints_in_linear_size() -> None:
    from parhelion.ir.text import text

    e: Expr = Load(INT32, G, X, None)
    for _ in range(40):
        e = add(mul(e, e), e)
    made = common_subexpressions(Store(F, e, X, None))
    assert len(text(made)) < 4000


def test_what_strict_float_is_around_stays_strict() -> None:
    """Also where the same value has another use outside of it."""
    real, one, two = [internal(n, Float(32)) for n in ("real", "one", "two")]
    e: Expr = Load(real.type, real, X, None)
    for _ in range(4):
        e = add(mul(e, e), e)
    strict = Intrinsic(e.type, "strict_float", (mul(add(e, e), e),))
    made = common_subexpressions(
        block(Store(one, strict, X, None), Store(two, mul(e, e), X, None))
    )
    marked = {let.var for let in lets(made) if _is_strict(let.value)}
    plain = {let.var for let in lets(made)} - marked
    first, second = [n for n in nodes(made) if isinstance(n, Store)]
    assert marked & set(nodes(first)) and not plain & set(nodes(first))
    assert plain & set(nodes(second)) and not marked & set(nodes(second))


def _is_strict(e: Expr) -> bool:
    return isinstance(e, Intrinsic) and e.op == "strict_float"


def test_strict_values_that_rows_share_have_the_same_bits() -> None:
    """Divisions by a constant, which other code multiplies by its inverse."""
    x, y, xi, yi = hl.vars("x y xi yi")
    data = hl.Buffer(np.arange(40, dtype=np.float32) * 1.37, name="data")

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x, y] = hl.f32(y)
        row = (data[x] * data[x + 1] - data[x + 3] + data[x + 2] * 3.0) / 7.0
        f[x, y] = hl.strict_float(hl.sqrt(hl.abs(f[x, y])) + row)
        return f

    check(
        make,
        [37, 24],
        [
            lambda f: f.update(0).vectorize(x, 16),
            lambda f: f.update(0).reorder(y, x).unroll(y, 12),
            lambda f: (
                f.update(0)
                .tile(x, y, xi, yi, 16, 12)
                .reorder(xi, yi, x, y)
                .vectorize(xi)
                .unroll(yi)
            ),
        ],
    )
