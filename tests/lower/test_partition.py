"""Partitioned loops compute the same, and their steady state has no guards."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.build import (
    add,
    block,
    cast,
    clamp,
    int32,
    likely,
    lt,
    maximum,
    minimum,
    mul,
    select,
    sub,
)
from parhelion.ir.expr import (
    LE,
    LT,
    And,
    Expr,
    Intrinsic,
    Load,
    Max,
    Min,
    Ramp,
    Select,
    Var,
)
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import For, ForKind, If, LetStmt, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import generic_target
from parhelion.ir.text import text
from parhelion.lower.options import LowerOptions
from parhelion.lower.partition import partition_loops
from parhelion.lower.passes import lower
from parhelion.lower.remove_marks import remove_marks
from parhelion.lower.vectorize import vectorize_loops
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32, UInt
from tests.lower.execute import execute
from tests.lower.random_loops import (
    Draw,
    inputs,
    internal,
    output_index,
)
from tests.lower.test_vectorize import random_body
from tests.support.spec import spec_of

VEC, SERIAL, PARALLEL = ForKind.VECTORIZED, ForKind.SERIAL, ForKind.PARALLEL


def var(name: str, low: Expr, extent: Expr) -> Var:
    return Var(name, INT32, lo=low, hi=simplify(sub(add(low, extent), int32(1))))


def free(name: str) -> Var:
    return Var(name, INT32)


def loops(s: Stmt) -> list[For]:
    return [n for n in nodes(s) if isinstance(n, For)]


def guards(s: Stmt) -> list[Any]:
    return [n for n in nodes(s) if isinstance(n, (Min, Max, Select, If))]


def clean(s: Stmt) -> Stmt:
    return simplify(remove_marks(s))


def test_a_clamped_loop_has_three_pieces() -> None:
    f, g, w, n = internal("f"), internal("g"), free("w"), free("n")
    x = var("x", int32(0), n)
    at = clamp(likely(sub(x, int32(2))), int32(0), sub(w, int32(1)))
    s = For(x, int32(0), n, SERIAL, Store(f, Load(INT32, g, at, None), x, None))
    made = partition_loops(s)
    first, steady, last = loops(made)
    assert not guards(clean(steady.body))
    assert isinstance(first.body, Store) and first.body.value is Load(
        INT32, g, int32(0), None
    )
    assert guards(last)
    for count in range(8):
        for width in (1, 2, 5, 20):
            memory: dict[BufferSym, list[Any]] = {
                f: [None] * count,
                g: list(range(width)),
            }
            want = [min(max(i - 2, 0), width - 1) for i in range(count)]
            for one in (s, made, clean(made)):
                assert execute(one, memory, {w: width, n: count}).memory[f] == want


def _rows(extent: Expr, kind: ForKind) -> For:
    """Rows of `extent` elements, the row's coordinate clamped."""
    f, g, h = internal("f"), internal("g"), free("h")
    y, x = var("y", int32(0), free("n")), var("x", int32(0), extent)
    row = clamp(likely(sub(y, int32(2))), int32(0), sub(h, int32(1)))
    load = Load(INT32, g, add(mul(row, int32(100)), x), None)
    store = Store(f, load, add(mul(y, int32(100)), x), None)
    return For(y, int32(0), free("n"), kind, For(x, int32(0), extent, SERIAL, store))


@pytest.mark.parametrize("kind", [SERIAL, PARALLEL])
def test_a_clamp_before_a_long_loop_is_no_reason_to_split(kind: ForKind) -> None:
    for extent in (free("w"), int32(16), int32(64)):
        assert len(loops(partition_loops(_rows(extent, kind)))) == 2
    assert len(loops(partition_loops(_rows(int32(8), kind)))) == 3


def test_a_clamp_that_changes_along_the_loop_inside_is_a_reason() -> None:
    f, g, w, n = internal("f"), internal("g"), free("w"), free("n")
    t, x = var("t", int32(0), n), var("x", int32(0), int32(16))
    at = add(mul(t, int32(16)), x)
    load = Load(INT32, g, clamp(likely(sub(at, int32(2))), int32(0), w), None)
    inside = For(x, int32(0), int32(16), SERIAL, Store(f, load, at, None))
    made = partition_loops(For(t, int32(0), n, SERIAL, inside))
    (branch,) = [n for n in nodes(made) if isinstance(n, If)]
    assert not guards(clean(branch.then))


@pytest.mark.parametrize("size", [1, 60])
def test_a_test_for_the_first_iteration_goes_from_small_bodies(size: int) -> None:
    f, n = internal("f"), free("n")
    y = var("y", int32(0), n)
    extent = select(likely(lt(int32(0), y)), int32(1), int32(3))
    nests = []
    for i in range(size):
        x = var(f"x{i}", int32(0), extent)
        at = add(mul(y, int32(1 + i)), x)
        nests.append(For(x, int32(0), extent, SERIAL, Store(f, at, at, None)))
    s = For(y, int32(0), n, SERIAL, block(*nests))
    made = partition_loops(s)
    assert len([one for one in loops(made) if one.var.name == "y"]) == (
        2 if size == 1 else 1
    )
    memory: dict[BufferSym, list[Any]] = {f: [0] * 700}
    want = execute(s, memory, {n: 7}).memory
    assert execute(clean(made), memory, {n: 7}).memory == want


def test_a_steady_state_has_a_limited_number_of_bounds() -> None:
    """Of 60 clamps to different widths, some stay: the code for finding out where none
    of them does anything grows with the square of their number."""
    f, g, n = internal("f"), internal("g"), free("n")
    x = var("x", int32(0), n)
    widths = [free(f"w{i}") for i in range(60)]
    total: Expr = int32(0)
    for w in widths:
        total = add(total, Load(INT32, g, minimum(likely(x), w), None))
    s = For(x, int32(0), n, SERIAL, Store(f, total, x, None))
    made = partition_loops(s)
    steady, last = loops(made)
    clamps = [n for n in nodes(steady.body) if isinstance(n, Min)]
    assert 30 <= len(clamps) < 60
    lets = [n for n in nodes(made) if isinstance(n, LetStmt)]
    assert len(list(nodes(block(*lets)))) < 100
    memory: dict[BufferSym, list[Any]] = {f: [None] * 40, g: list(range(99))}
    env: dict[Var, Any] = {w: 3 + i % 40 for i, w in enumerate(widths)}
    want = [sum(min(i, env[w]) for w in widths) for i in range(40)]
    for one in (s, made, clean(made)):
        assert execute(one, memory, {**env, n: 40}).memory[f] == want


def test_unmarked_clamps_of_an_index_count_in_innermost_loops() -> None:
    f, g, n = internal("f"), internal("g"), free("n")
    x = var("x", int32(0), n)
    at = clamp(x, int32(0), int32(9))
    s = For(x, int32(0), n, SERIAL, Store(f, Load(INT32, g, at, None), x, None))
    made = partition_loops(s)
    assert [bool(guards(one.body)) for one in loops(made)] == [False, True]
    value = For(x, int32(0), n, SERIAL, Store(f, at, x, None))
    assert partition_loops(value) is value


def test_a_guarded_tail_just_ends_the_loop() -> None:
    f, n, xo = internal("f"), free("n"), free("xo")
    xi = var("xi", int32(0), int32(8))
    at = add(mul(xo, int32(8)), xi)
    body = If(likely(LT(at, n)), Store(f, at, at, None), None)
    made = partition_loops(For(xi, int32(0), int32(8), SERIAL, body))
    assert len(loops(made)) == 1 and not guards(loops(made)[0].body)
    for count in range(20):
        got = execute(made, {f: [9] * 24}, {n: count, xo: 1}).memory[f]
        assert got == [i if 8 <= i < min(count, 16) else 9 for i in range(24)]


def test_an_unmarked_condition_around_a_body_trims_the_loop() -> None:
    """RDom.where of a triangle: ``r.x <= r.y``."""
    f, y = internal("f"), free("y")
    x = var("x", int32(0), int32(8))
    body = If(LE(x, y), Store(f, x, x, None), None)
    made = partition_loops(For(x, int32(0), int32(8), SERIAL, body))
    assert len(loops(made)) == 1 and not guards(loops(made)[0].body)
    for top in (-3, 0, 4, 7, 12):
        got = execute(made, {f: [9] * 8}, {y: top}).memory[f]
        assert got == [i if i <= top else 9 for i in range(8)]


def test_the_first_iteration_of_a_sliding_window_is_peeled() -> None:
    f, y0, n = internal("f"), free("y0"), free("n")
    y = var("y", y0, n)
    start = select(likely(LT(y0, y)), add(y, int32(1)), sub(y, int32(1)))
    r = Var("r", INT32, lo=start, hi=add(y, int32(1)))
    extent = add(sub(add(y, int32(1)), start), int32(1))
    inner = For(r, start, extent, SERIAL, Store(f, y, add(sub(r, y0), int32(1)), None))
    s = For(y, y0, n, SERIAL, inner)
    made = partition_loops(s)
    outer = [one for one in loops(made) if one.var.name == "y"]
    assert len(outer) == 2
    assert all(not [g for g in guards(one) if isinstance(g, Select)] for one in outer)
    for count in range(5):
        env = {y0: 1, n: count}
        want = execute(s, {f: [None] * 12}, env)
        assert execute(made, {f: [None] * 12}, env).memory == want.memory


def test_inner_loops_run_through() -> None:
    """At the outer loop, the inner variable takes the end that is worst."""
    f, g, n = internal("f"), internal("g"), free("n")
    xo, xi = var("xo", int32(0), n), var("xi", int32(0), int32(4))
    x = add(mul(xo, int32(4)), xi)
    at = clamp(likely(sub(x, int32(1))), int32(0), int32(20))
    store = Store(f, Load(INT32, g, at, None), x, None)
    s = For(xo, int32(0), n, SERIAL, For(xi, int32(0), int32(4), SERIAL, store))
    made = clean(partition_loops(s))
    free_of_guards = [
        one for one in loops(made) if one.var.name == "xi" and not guards(one)
    ]
    assert free_of_guards
    for count in (0, 1, 2, 5, 6, 9):
        memory: dict[BufferSym, list[Any]] = {f: [None] * 36, g: list(range(21))}
        want = execute(s, memory, {n: count}).memory
        assert execute(made, memory, {n: count}).memory == want


def test_vector_conditions_hold_in_all_lanes() -> None:
    f, g, n = internal("f"), internal("g"), free("n")
    xo, xi = var("xo", int32(0), n), var("xi", int32(0), int32(4))
    x = add(mul(xo, int32(4)), xi)
    at = clamp(likely(sub(x, int32(1))), int32(0), int32(20))
    store = Store(f, Load(INT32, g, at, None), x, None)
    s = For(xo, int32(0), n, SERIAL, For(xi, int32(0), int32(4), VEC, store))
    for made in (
        partition_loops(vectorize_loops(s)),
        vectorize_loops(partition_loops(s)),
    ):
        dense = [
            e
            for e in nodes(clean(made))
            if isinstance(e, Load) and type(e.index) is Ramp
        ]
        assert len(dense) == 1
        for count in (0, 1, 2, 5, 6, 9):
            memory: dict[BufferSym, list[Any]] = {f: [None] * 36, g: list(range(21))}
            want = execute(s, memory, {n: count}).memory
            assert execute(made, memory, {n: count}).memory == want


def test_vectors_are_dense_where_a_short_loop_around_has_no_steady_state() -> None:
    """``x + d``, of a few offsets and a whole row, is inside for all of a row for no
    offset; and with a loop inside of the row's, that is not the innermost, either."""
    f, g, w = internal("f"), internal("g"), free("w")
    d = var("d", int32(-2), int32(5))
    xo, xi = var("xo", int32(0), free("n")), var("xi", int32(0), int32(4))
    c = var("c", int32(0), int32(3))
    x = add(mul(xo, int32(4)), xi)
    at = clamp(likely(add(x, d)), int32(0), sub(w, int32(1)))
    load = Load(INT32, g, add(at, mul(c, w)), None)
    place = add(add(mul(d, int32(1000)), mul(c, int32(100))), add(x, int32(2000)))
    inside = For(c, int32(0), int32(3), SERIAL, Store(f, load, place, None))
    lines = For(
        xo, int32(0), free("n"), SERIAL, For(xi, int32(0), int32(4), VEC, inside)
    )
    s = For(d, int32(-2), int32(5), SERIAL, lines)
    made = partition_loops(vectorize_loops(s))
    short = [one for one in loops(made) if one.var.name == "d"]
    (choice,) = [n for n in nodes(short[0]) if isinstance(n, If)][:1]
    assert choice.otherwise is not None
    for part in (choice.then, choice.otherwise):
        dense = [
            e
            for e in nodes(clean(part))
            if isinstance(e, Load) and type(e.index) is Ramp
        ]
        assert dense


def test_shift_inwards_moves_the_last_iteration_only() -> None:
    f, n = internal("f"), free("n")
    outer = simplify((n_plus := add(n, int32(7))) and _div(n_plus, 8))
    xo, xi = var("xo", int32(0), outer), var("xi", int32(0), int32(8))
    base = Var("base", INT32)
    value = minimum(likely(mul(xo, int32(8))), sub(n, int32(8)))
    body = block(
        LetStmt(base, value),
        For(xi, int32(0), int32(8), VEC, Store(f, xo, add(base, xi), None)),
    )
    s = vectorize_loops(For(xo, int32(0), outer, SERIAL, body))
    made = clean(partition_loops(s))
    assert any(not guards(one) for one in loops(made))
    for count in (8, 9, 15, 16, 17, 30):
        want = execute(s, {f: [None] * count}, {n: count}).memory
        assert execute(made, {f: [None] * count}, {n: count}).memory == want


def _div(e: Expr, k: int) -> Expr:
    from parhelion.ir.build import div

    return div(e, int32(k))


def test_parallel_loops_stay_one_loop() -> None:
    f, g, n = internal("f"), internal("g"), free("n")
    y = var("y", int32(0), n)
    at = clamp(likely(sub(y, int32(1))), int32(0), int32(5))
    s = For(y, int32(0), n, PARALLEL, Store(f, Load(INT32, g, at, None), y, None))
    made = partition_loops(s)
    assert [one.kind for one in loops(made)] == [PARALLEL]
    branch = loops(made)[0].body
    assert isinstance(branch, If) and not guards(clean(branch.then))
    for count in range(10):
        memory: dict[BufferSym, list[Any]] = {f: [None] * count, g: list(range(6))}
        assert execute(made, memory, {n: count}).memory == (
            execute(s, memory, {n: count}).memory
        )


def test_likely_if_innermost_is_for_innermost_loops() -> None:
    f, n, m = internal("f"), free("n"), free("m")
    y, x = var("y", int32(0), n), var("x", int32(0), n)

    def mark(cond: Expr) -> Expr:
        return Intrinsic(cond.type, "likely_if_innermost", (cond,))

    at = add(mul(y, int32(10)), x)
    inner = If(mark(LT(x, m)), Store(f, x, at, None), None)
    s = For(y, int32(0), n, SERIAL, For(x, int32(0), n, SERIAL, inner))
    assert len(loops(partition_loops(s))) == 2
    outer = If(mark(LT(y, m)), inner.then, None)
    s = For(y, int32(0), n, SERIAL, For(x, int32(0), n, SERIAL, outer))
    assert partition_loops(s) is s


def test_a_condition_on_memory_is_left_alone() -> None:
    f, g, n = internal("f"), internal("g"), free("n")
    x = var("x", int32(0), n)
    cond = And(likely(LT(x, int32(5))), likely(LT(Load(INT32, g, x, None), x)))
    s = For(x, int32(0), n, SERIAL, If(cond, Store(f, x, x, None), None))
    made = partition_loops(s)
    memory: dict[BufferSym, list[Any]] = {f: [9] * 6, g: [0, 3, 1, 1, 7, 9]}
    want = execute(s, memory, {n: 6}).memory
    assert execute(made, memory, {n: 6}).memory == want
    assert any(isinstance(n, If) for n in nodes(made))


def test_a_branch_that_is_likely_decides_its_select() -> None:
    """constant_exterior: the condition says when to leave the likely branch."""
    f, g, n = internal("f"), internal("g"), free("n")
    x = var("x", int32(0), n)
    inside = Load(INT32, g, clamp(x, int32(2), int32(5)), None)
    from parhelion.ir.expr import Or

    outside = Or(LT(x, int32(2)), LT(int32(5), x))
    s = For(
        x,
        int32(0),
        n,
        SERIAL,
        Store(f, Select(outside, int32(-1), likely(inside)), x, None),
    )
    made = clean(partition_loops(s))
    assert [bool(guards(one)) for one in loops(made)] == [False] * 3
    for count in range(9):
        memory: dict[BufferSym, list[Any]] = {f: [None] * count, g: [0, 1, 2, 3, 4, 5]}
        want = execute(s, memory, {n: count}).memory
        assert execute(made, memory, {n: count}).memory == want


def test_what_guards_the_likely_branch_is_settled_too() -> None:
    """The pixel is guarded by the opposite of each part of the condition, which stayed:
    every vector of the steady state was loaded through a mask."""
    x = hl.Var("x")
    inner = hl.Buffer(np.arange(80, dtype=np.int32), "inner")
    outside = (x < 0) | (x >= 80)
    padded = hl.Func("padded")
    padded[x] = hl.select(outside, 0, hl.likely(inner[x]))
    padded.vectorize(x, 8)
    steady = padded._pipeline().lowered_text().split("for (")[2]
    assert "inner[ramp(" in steady and " if " not in steady
    out = hl.Buffer(hl.Int(32), [160])
    out.set_min([-37])
    padded.realize(out)
    inside = range(80)
    assert [out[i] for i in range(-37, 123)] == [
        i if i in inside else 0 for i in range(-37, 123)
    ]


def test_code_grows_by_a_constant_per_level() -> None:
    f, g = internal("f"), internal("g")
    depth = 5
    vs = [var(f"v{i}", int32(0), int32(20)) for i in range(depth)]
    total: Expr = int32(0)
    for v in vs:
        at = clamp(likely(sub(v, int32(3))), int32(0), int32(11))
        total = add(total, Load(INT32, g, at, None))
    s: Stmt = Store(f, total, vs[-1], None)
    for v in reversed(vs):
        s = For(v, int32(0), int32(20), SERIAL, s)
    stores = 0
    stack: list[Any] = [partition_loops(s)]
    while stack:
        n = stack.pop()
        stores += isinstance(n, Store)
        stack.extend([c for c in n.children() if isinstance(c, Stmt)])
    assert stores <= 3 * depth


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_clamps_that_move_with_several_loops_do_not_double_the_code(bits: int) -> None:
    """Of reads at ``x + d``, each with another short loop's `d`, the rest of one of
    these loops has no second steady state for the others."""
    options = LowerOptions(target=generic_target(bits))
    x, xo, xi, y = hl.vars("x xo xi y")
    inside = hl.BoundaryConditions.repeat_edge(hl.Buffer(hl.UInt(16), [60, 40]))
    lines = []
    for count in range(2, 7):
        d = [hl.Var(f"d{k}") for k in range(count)]
        f = hl.Func("f")
        f[(x, y, *d)] = sum([inside[x + v, y] for v in d], hl.u16(0))
        f.split(x, xo, xi, 8, hl.TailStrategy.GuardWithIf).vectorize(xi)
        f.reorder(xi, xo, y, *d)
        body = lower(spec_of(f), name="f", options=options).body
        lines.append(text(body).count("\n"))
    more = [b - a for a, b in zip(lines, lines[1:], strict=False)]
    assert max(more) < 2 * more[0], lines


@pytest.mark.parametrize("seed", range(160))
def test_random_loops(seed: int) -> None:
    rng = random.Random(seed)
    memory: dict[Any, list[Any]] = dict(inputs())
    draw = Draw(rng, inputs=list(memory), marks=True)
    extents = {n: free(f"n{n}") for n in "yx"}
    values = {extents["y"]: rng.randrange(0, 5), extents["x"]: rng.randrange(0, 12)}
    if rng.random() < 0.3:
        values[extents["x"]] = 12
    lows = {"y": rng.randint(-3, 3), "x": rng.randint(-3, 3)}
    y = var("y", int32(lows["y"]), extents["y"])
    x = var("x", int32(lows["x"]), extents["x"])
    for name, v in (("y", y), ("x", x)):
        draw.scope[v] = (lows[name], lows[name] + 12)
    out = internal("out", rng.choice([INT32, UInt(8)]))
    terms = [(x, lows["x"], 1), (y, lows["y"], 12)]
    lanes = rng.choice([1, 1, 4])
    if lanes > 1:
        i = draw.loop_var("i", 0, lanes)
        terms = [(i, 0, 1), (x, lows["x"], lanes), (y, lows["y"], 12 * lanes)]
    at = output_index(terms)
    body = block(
        Store(out, cast(out.type, int32(1)), at, None), random_body(draw, out, at)
    )
    if lanes > 1:
        body = For(i, int32(0), int32(lanes), VEC, body)
    kinds = [rng.choice([SERIAL, SERIAL, PARALLEL]) for _ in range(2)]
    inner = For(x, int32(lows["x"]), extents["x"], kinds[0], body)
    s = For(y, int32(lows["y"]), extents["y"], kinds[1], inner)
    memory[out] = [None] * (values[extents["y"]] * 12 * lanes + 12 * lanes)
    want = execute(s, memory, values).memory[out]
    order = rng.random() < 0.5
    made = partition_loops(vectorize_loops(s)) if order else partition_loops(s)
    assert execute(made, memory, values).memory[out] == want
    last = clean(made if order else vectorize_loops(made))
    assert execute(last, memory, values).memory[out] == want


def test_bounds_far_outside_the_type_do_not_wrap() -> None:
    f, n = internal("f"), free("n")
    x = var("x", int32(0), n)
    for at in (
        minimum(likely(sub(x, int32(1))), int32(2**31 - 1)),
        maximum(likely(add(x, int32(5))), int32(-(2**31))),
    ):
        s = For(x, int32(0), n, SERIAL, Store(f, at, x, None))
        made = partition_loops(s)
        assert not guards(made)
        assert execute(made, {f: [0] * 3}, {n: 3}).memory == (
            execute(s, {f: [0] * 3}, {n: 3}).memory
        )


def test_nothing_to_do_is_nothing_done() -> None:
    f, x = internal("f"), var("x", int32(0), int32(9))
    s = For(x, int32(0), int32(9), SERIAL, Store(f, x, x, None))
    assert partition_loops(s) is s
    s = For(
        x,
        int32(0),
        int32(9),
        SERIAL,
        Store(f, select(lt(x, int32(3)), x, int32(0)), x, None),
    )
    assert partition_loops(s) is s


@pytest.mark.parametrize("c", range(-1, 9))
def test_clamps_of_one_kind_inside_each_other(c: int) -> None:
    """Below the outer bound an inner one may still have the say."""
    f, g, n = internal("f"), internal("g"), free("n")
    x = var("x", int32(0), n)
    at = maximum(minimum(maximum(likely(x), int32(6)), int32(8)), int32(c))
    s = For(x, int32(0), n, SERIAL, Store(f, Load(INT32, g, at, None), x, None))
    memory: dict[BufferSym, list[Any]] = {f: [None] * 12, g: list(range(12))}
    want = execute(s, memory, {n: 12}).memory
    assert execute(partition_loops(s), memory, {n: 12}).memory == want


def test_a_radius_cast_from_float_parameters() -> None:
    """Bounds made of a parameter's cast are coordinates: clamps go as elsewhere."""
    x, y, radius = hl.Var("x"), hl.Var("y"), hl.Param(hl.Float(32), "radius")
    source = hl.ImageParam(hl.Float(32), 2, "source")
    edge = hl.BoundaryConditions.repeat_edge(source)
    double, out = hl.Func("double"), hl.Func("out")
    reach = hl.i32(radius * 0.5)
    double[x, y] = edge[x, y] * 2
    out[x, y] = double[x - reach, y] + double[x + reach, y]
    double.compute_root().vectorize(x, 8)
    loops = hl.Pipeline(out).lowered_text().split("produce out:")[0]
    assert loops.count("for (double.s0.x") == 3  # left of the image, inside, right
    steady = loops.split("for (double.s0.x#2")[1].split("for (")[0]
    along = steady.split("source[")[1].split(", 1, 8)")[0]
    assert along.startswith("ramp(double.s0.x.base") and "max(double.s0.x" not in along


def test_clamps_inside_of_a_mark_inside_of_a_clamp() -> None:
    """What reads a clamped image is itself read at clamped places: where neither clamp
    does anything, none is left."""
    f, g, n, w = internal("f"), internal("g"), free("n"), free("w")
    x = var("x", int32(0), n)
    last = sub(w, int32(1))
    inner = clamp(likely(sub(x, int32(2))), int32(0), last)
    at = clamp(likely(inner), int32(0), last)
    s = For(x, int32(0), n, SERIAL, Store(f, Load(INT32, g, at, None), x, None))
    made = partition_loops(s)
    steady = loops(made)[1]
    assert not guards(clean(steady.body))
    for count in range(8):
        for width in (1, 2, 5, 20):
            memory: dict[BufferSym, list[Any]] = {
                f: [None] * count,
                g: list(range(width)),
            }
            want = execute(s, memory, {w: width, n: count}).memory
            assert execute(made, memory, {w: width, n: count}).memory == want


def test_clamps_inside_of_a_product_inside_of_a_clamp() -> None:
    """What reads each second pixel of a clamped image, itself at clamped places."""
    f, g, n, w, h = internal("f"), internal("g"), free("n"), free("w"), free("h")
    x = var("x", int32(0), n)
    inner = clamp(likely(sub(x, int32(2))), int32(0), sub(h, int32(1)))
    twice = add(mul(inner, int32(2)), int32(1))
    at = clamp(likely(twice), int32(0), sub(w, int32(1)))
    s = For(x, int32(0), n, SERIAL, Store(f, Load(INT32, g, at, None), x, None))
    made = partition_loops(s)
    assert not guards(clean(loops(made)[1].body))
    for count in range(9):
        for width, half in ((1, 1), (2, 1), (5, 3), (5, 1), (3, 9), (20, 10), (20, 3)):
            memory: dict[BufferSym, list[Any]] = {
                f: [None] * count,
                g: list(range(width)),
            }
            env = {w: width, h: half, n: count}
            want = execute(s, memory, env).memory
            for one in (made, clean(made)):
                assert execute(one, memory, env).memory == want
