"""Shared values are named once, and only where they cannot change in between."""

from __future__ import annotations

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
from parhelion.types import INT32
from tests.lower.execute import execute
from tests.lower.random_loops import internal

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
