"""Vector loads and stores of every shape against lane-by-lane execution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr, Var
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.types import INT32, INT64, Bool, Float, Int, Type, UInt

from .elementwise import same, sample, to_python
from .harness import Compiled, lowered
from .runner import Runner

SIZE = 512
P = ParamSym("p", INT32)
Y = Var("y", INT32, lo=int32(0), hi=int32(2))


def base(offset: int) -> Expr:
    """Where vectors begin: a sum of a loop variable, a parameter and a constant."""
    return build.add(build.add(build.mul(Y, int32(7)), P.var), int32(offset))


def indices(lanes: int) -> dict[str, Expr]:
    """Vector indices within [0, SIZE) for y in 0..2 and p in 0..3."""
    found: dict[str, Expr] = {}
    for step in (0, 1, 2, 3, 4, 5, -1, -2, -3, -4, -7):
        start = 20 - step * lanes if step < 0 else 20
        found[f"ramp {step}"] = E.Ramp(base(start), int32(step), lanes)
    found["variable stride"] = E.Ramp(base(3), build.add(P.var, int32(1)), lanes)
    ramp = E.Ramp(int32(0), int32(1), lanes)
    found["sum"] = E.Add(ramp, E.Broadcast(base(9), lanes))
    found["scaled"] = E.Mul(
        E.Add(ramp, E.Broadcast(base(2), lanes)), E.Broadcast(int32(2), lanes)
    )
    found["data"] = E.Mod(
        E.Mul(E.Ramp(base(1), int32(3), lanes), E.Ramp(base(5), int32(7), lanes)),
        E.Broadcast(int32(SIZE), lanes),
    )
    found["offset data"] = E.Add(
        E.Mod(E.Ramp(base(1), int32(13), lanes), E.Broadcast(int32(31), lanes)),
        E.Broadcast(base(0), lanes),
    )
    half = lanes // 2
    if half > 1:
        parts = (
            E.Ramp(base(100), int32(1), half),
            E.Ramp(base(7), int32(2), lanes - half),
        )
        found["concatenated"] = E.Shuffle(parts, tuple(range(lanes)))
    found["wide"] = E.Cast(INT64.with_lanes(lanes), E.Ramp(base(2), int32(1), lanes))
    return found


def masks(lanes: int) -> dict[str, Expr | None]:
    ramp = E.Ramp(base(0), int32(3), lanes)
    some = E.LT(E.Mod(ramp, E.Broadcast(int32(5), lanes)), E.Broadcast(int32(2), lanes))
    return {
        "all": None,
        "some": some,
        "first": E.LT(E.Ramp(int32(0), int32(1), lanes), E.Broadcast(P.var, lanes)),
        "none or all": E.Broadcast(E.LT(P.var, Y), lanes),
    }


def execute(body: Stmt, t: Type, source: BufferSym, out: BufferSym, p: int) -> None:
    """Runs both ways and compares the output buffer."""
    data = sample(t, SIZE, seed=t.width)
    start = sample(t, SIZE, seed=t.width + 1)
    loop = S.For(Y, int32(0), int32(3), ForKind.SERIAL, body)
    result = start.copy()
    compiled = Compiled(lowered(loop, [source, P, out]))
    assert compiled(data, p, result) == 0
    buffers: dict[BufferSym, list[Any]] = {
        source: to_python(data, t),
        out: to_python(start, t),
    }
    Runner(buffers, {P.var: p}).run(loop)
    wrong = [
        i
        for i, (got, want) in enumerate(
            zip(to_python(result, t), buffers[out], strict=True)
        )
        if not same(got, want)
    ]
    assert not wrong, compiled.emitted.text


CASES = [(UInt(8), 16), (Int(16), 8), (Float(32), 4), (Bool(), 12), (UInt(64), 3)]


@pytest.mark.parametrize("mask", masks(2))
@pytest.mark.parametrize(("t", "lanes"), CASES, ids=str)
def test_loads(t: Type, lanes: int, mask: str) -> None:
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    stores: list[Stmt] = []
    for k, index in enumerate(indices(lanes).values()):
        value = E.Load(t.with_lanes(lanes), source, index, masks(lanes)[mask])
        at = E.Ramp(
            build.add(build.mul(Y, int32(lanes)), int32(k * 3 * lanes)), int32(1), lanes
        )
        stores.append(S.Store(out, value, build_wrap(at, lanes), None))
    execute(S.Block(tuple(stores)), t, source, out, 2)


def build_wrap(index: E.Ramp, lanes: int) -> Expr:
    """The ramp moved into the output buffer (its start is a constant and y)."""
    start = E.Mod(index.base, int32(SIZE - lanes))
    return E.Ramp(start, int32(1), lanes)


@pytest.mark.parametrize("mask", masks(2))
@pytest.mark.parametrize(("t", "lanes"), CASES, ids=str)
def test_stores(t: Type, lanes: int, mask: str) -> None:
    for name, index in indices(lanes).items():
        source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
        value = E.Load(
            t.with_lanes(lanes), source, E.Ramp(base(0), int32(1), lanes), None
        )
        if name in ("ramp 0", "data", "ramp 3"):
            execute(S.Store(out, value, index, masks(lanes)[mask]), t, source, out, 2)
    every = [
        S.Store(out, value, index, masks(lanes)[mask])
        for index in indices(lanes).values()
    ]
    execute(S.Block(tuple(every)), t, source, out, 3)


@pytest.mark.parametrize("t", [UInt(8), Float(32), Bool(), Int(64)], ids=str)
def test_scalar_predicates(t: Type) -> None:
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    cond = E.LT(Y, P.var)
    body = S.Block(
        (
            S.Store(out, E.Load(t, source, base(0), cond), Y, None),
            S.Store(out, E.Load(t, source, base(0), None), base(9), cond),
        )
    )
    execute(body, t, source, out, 1)


def test_a_masked_load_may_point_anywhere() -> None:
    t = UInt(8)
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    far = build.mul(P.var, int32(1 << 20))
    never = E.LT(P.var, int32(0))
    body = S.Block(
        (
            S.Store(out, E.Load(t, source, far, never), int32(0), None),
            S.Store(
                out,
                E.Load(
                    t.with_lanes(16),
                    source,
                    E.Ramp(far, int32(1), 16),
                    E.Broadcast(never, 16),
                ),
                E.Ramp(int32(1), int32(1), 16),
                None,
            ),
        )
    )
    result = np.ones(SIZE, np.uint8)
    compiled = Compiled(lowered(body, [source, P, out]))
    assert compiled(np.ones(SIZE, np.uint8), 2000, result) == 0
    assert result[:17].tolist() == [0] * 17


def test_indices_beyond_32_bits() -> None:
    """Rows times stride may pass 2**31 elements; addresses are 64-bit sums."""
    t = UInt(8)
    source, out = BufferSym("a", t, 2, "input"), BufferSym("b", t, 1, "output")
    stride = source.dims[1].stride
    row = build.sub(build.mul(P.var, stride), build.mul(P.var, stride))
    index = build.add(build.mul(P.var, stride), build.sub(row, int32(0)))
    body = S.Store(out, E.Load(t, source, index, None), int32(0), None)
    size = (1 << 31) + (1 << 12)
    big = np.lib.stride_tricks.as_strided(
        np.zeros(size, np.uint8), shape=(3, 1), strides=((1 << 30) + 7, 1)
    )
    big[2, 0] = 77
    result = np.zeros(1, np.uint8)
    compiled = Compiled(lowered(body, [source, P, out]))
    assert compiled(big, 2, result) == 0
    assert result[0] == 77


def test_a_stride_that_is_a_sum_is_one_factor() -> None:
    """The terms of a stride are added up once, not multiplied in each row's offset."""
    t, rows = UInt(8), 8
    first, last = ParamSym("first", INT32), ParamSym("last", INT32)
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    stride, x = Var("stride", INT32), Var("x", INT32)
    where = [build.add(x, build.mul(stride, int32(k))) for k in range(rows)]
    total: Expr = build.imm(0, t)
    for index in where:
        total = build.add(total, E.Load(t, source, index, None))
    body: Stmt = S.Store(out, total, x, None)
    body = S.For(x, int32(0), int32(5), ForKind.SERIAL, body)
    extent = build.add(build.sub(last.var, first.var), int32(1))
    body = build.block(S.LetStmt(stride, extent), body)
    compiled = Compiled(lowered(body, [source, first, last, out]))
    assert compiled.emitted.text.count("mul i64") == rows - 2  # not for rows 0 and 1
    data = np.arange(rows * 7, dtype=np.uint8)
    result = np.zeros(5, np.uint8)
    assert compiled(data, 3, 9, result) == 0
    assert np.array_equal(result, data.reshape(rows, 7).sum(0, np.uint8)[:5])


def test_vectors_made_and_folded() -> None:
    t, lanes = Int(16), 12
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    dense = E.Load(t.with_lanes(lanes), source, E.Ramp(base(0), int32(1), lanes), None)
    other = E.Load(t.with_lanes(lanes), source, E.Ramp(base(40), int32(2), lanes), None)
    small = E.Load(t.with_lanes(4), source, E.Ramp(base(80), int32(1), 4), None)
    scalars = tuple(E.Load(t, source, base(i * i), None) for i in range(3))
    values: list[Expr] = [
        E.Shuffle((dense,), tuple(range(lanes - 1, -1, -1))),
        E.Shuffle((dense, other), (0, 12, 1, 13, 2, 23)),
        E.Shuffle((dense, small), (15, 0, 12, 11)),
        E.Shuffle((small, small, small, dense), (0, 4, 8, 12, 23, 1)),
        E.Shuffle((dense,), (5,)),
        E.Shuffle(scalars, (2, 1, 0, 1)),
        E.Shuffle((scalars[0], small, scalars[1]), (0, 1, 2, 3, 4, 5)),
        E.Shuffle((dense,), tuple(range(3, 9))),
        E.Shuffle(
            (small, E.Add(small, small), E.Sub(small, E.Broadcast(P_16, 4)), small),
            tuple(c * 4 + i for i in range(4) for c in range(4)),
        ),
        E.Ramp(scalars[0], scalars[1], 6),
        E.Ramp(scalars[0], build.imm(-3, t), 5),
        E.Ramp(build.imm(7, t), build.imm(5, t), 4),
        E.Broadcast(small, 12),
        *[
            E.VectorReduce(op, dense, n)
            for op in ("add", "mul", "min", "max")
            for n in (1, 2, 3, 4, 12)
        ],
    ]
    stores = []
    for k, value in enumerate(values):
        n = value.type.count
        stores.append(S.Store(out, value, build.ramp(int32(k * 12), int32(1), n), None))
    execute(S.Block(tuple(stores)), t, source, out, 2)


P_16 = build.cast(Int(16), P.var)


@pytest.mark.parametrize("op", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("lanes", [1, 2, 3, 6])
def test_float_folds_in_order(op: str, lanes: int) -> None:
    t = Float(32)
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    dense = E.Load(t.with_lanes(12), source, E.Ramp(base(0), int32(1), 12), None)
    value = E.Intrinsic(
        t.with_lanes(lanes), "strict_float", (E.VectorReduce(op, dense, lanes),)
    )
    at = build.ramp(build.mul(Y, int32(12)), int32(1), lanes)
    execute(S.Store(out, value, at, None), t, source, out, 1)


def test_bool_folds() -> None:
    t = Bool()
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    dense = E.Load(t.with_lanes(12), source, E.Ramp(base(0), int32(1), 12), None)
    stores = [
        S.Store(
            out,
            E.VectorReduce(op, dense, n),
            build.ramp(build.add(build.mul(Y, int32(100)), int32(k * 8)), int32(1), n),
            None,
        )
        for k, (op, n) in enumerate(
            (op, n) for op in ("and", "or", "min", "max") for n in (1, 4, 6)
        )
    ]
    execute(S.Block(tuple(stores)), t, source, out, 1)


@pytest.mark.parametrize("t", [hl.UInt(8), hl.Int(16), hl.BFloat(16), hl.Bool()])
@pytest.mark.parametrize("lanes", [4, 8])
def test_a_mask_of_one_lane_stores_one_element(t: hl.Type, lanes: int) -> None:
    """LLVM stored what the element had been truncated from: bytes of its neighbours."""
    x = hl.Var("x")
    f, g = hl.Func("f"), hl.Func("g")
    g[x] = x * 3
    f[x] = hl.cast(t, hl.cast(hl.Float(32), g[x]) if t.is_float() else g[x])
    g.compute_root()
    f.vectorize(x, lanes, hl.TailStrategy.PredicateStores)
    f.output_buffer().dim(0).set_bounds(0, 9)
    whole = hl.Buffer(t, [16])
    raw = np.asarray(whole).view(np.uint8)
    raw[...] = 0xA5
    f.realize(whole.cropped(0, 0, 9))
    assert np.all(raw[9 * raw.size // 16 :] == 0xA5)


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize(
    ("t", "wide"),
    [(UInt(8), Int(16)), (UInt(8), INT32), (Int(16), INT32), (INT32, INT64)],
    ids=str,
)
def test_a_mask_of_one_lane_that_only_llvm_knows(
    t: Type, wide: Type, lanes: int
) -> None:
    """The mask is behind a name, and becomes a constant in LLVM alone."""
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    ramp = E.Ramp(int32(0), int32(1), lanes)
    body: list[Stmt] = []
    for k in range(lanes):
        mask = Var(f"mask{k}", Bool(lanes))
        a = E.Load(t.with_lanes(lanes), source, E.Ramp(base(k), int32(1), lanes), None)
        three = E.Broadcast(build.imm(3, wide), lanes)
        value = E.Div(E.Cast(wide.with_lanes(lanes), a), three)
        body += [
            S.LetStmt(mask, E.EQ(ramp, E.Broadcast(int32(k), lanes))),
            S.Store(
                out,
                E.Cast(t.with_lanes(lanes), value),
                E.Ramp(base(k * lanes), int32(1), lanes),
                mask,
            ),
        ]
    execute(S.Block(tuple(body)), t, source, out, 2)


@pytest.mark.parametrize("cast", [False, True])
@pytest.mark.parametrize("inverted", [False, True])
def test_what_was_loaded_before_a_store_is_not_loaded_again(
    inverted: bool, cast: bool
) -> None:
    """A swap under a mask, as in LLVM's issue 215453."""
    lanes, t = 8, Int(32)
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    ramp = E.Ramp(int32(0), int32(1), lanes)
    mask = E.LT(ramp, E.Broadcast(P.var, lanes))
    kept: Expr = E.Load(t.with_lanes(lanes), out, ramp, mask)
    new: Expr = E.Load(t.with_lanes(lanes), source, ramp, None)
    if cast:
        single = Float(32, lanes)
        kept, new = E.Reinterpret(single, kept), E.Reinterpret(single, new)
    old = Var("old", kept.type)
    arms = (new, old) if inverted else (old, new)
    cond: Expr = E.Not(mask) if inverted else mask
    chosen: Expr = E.Select(cond, *arms)
    if cast:
        chosen = E.Reinterpret(t.with_lanes(lanes), chosen)
    stores: list[Stmt] = [
        S.LetStmt(old, kept),
        S.Store(out, E.Broadcast(int32(-1), lanes), ramp, None),
        S.Store(out, chosen, E.Ramp(int32(lanes), int32(1), lanes), None),
    ]
    compiled = Compiled(lowered(S.Block(tuple(stores)), [source, P, out]))
    data = np.arange(100, 100 + lanes, dtype=np.int32)
    result = np.arange(2 * lanes, dtype=np.int32)
    assert compiled(data, 5, result) == 0
    wanted = [-1] * lanes + [0, 1, 2, 3, 4, 105, 106, 107]
    assert result.tolist() == wanted, compiled.emitted.text
