"""Flattened storage: indices in their intended form, and the values they reach."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from parhelion.ir.build import TRUE, add, block, int32, int64, likely, minimum, mul, sub
from parhelion.ir.expr import (
    LT,
    Expr,
    FuncCall,
    ImageLoad,
    Intrinsic,
    Load,
    Ramp,
    Select,
    Var,
)
from parhelion.ir.function import Function
from parhelion.ir.promises import Assumptions
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import (
    Allocate,
    Assert,
    Block,
    For,
    ForKind,
    If,
    LetStmt,
    MemoryKind,
    Produce,
    Provide,
    Realize,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.flatten import flatten_storage
from parhelion.lower.options import PLAIN, LowerOptions
from parhelion.lower.vectorize import vectorize_loops
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32, INT64, Int, Type
from tests.lower.execute import AssertFailed, execute
from tests.support.handmade import define, variables

SERIAL, VEC = ForKind.SERIAL, ForKind.VECTORIZED
X, Y = variables("x y")


def func(name: str, dims: int = 2, *types: Type) -> Function:
    made = define(
        name,
        variables("x y z")[:dims],
        *[Intrinsic(t, "undef", ()) for t in (types or (INT32,))],
    )
    return made


def output(f: Function) -> dict[Function, tuple[BufferSym, ...]]:
    return {f: f.buffers}


def flat(
    s: Stmt,
    outputs: dict[Function, tuple[BufferSym, ...]],
    options: LowerOptions = PLAIN,
) -> Stmt:
    images = [n.image for n in nodes(s) if isinstance(n, ImageLoad)]
    buffers = [b for f in outputs for b in outputs[f]]
    assumed = Assumptions.now((*images, *buffers))
    return flatten_storage(s, outputs, assumed, options)


def call(f: Function, *args: Expr, value: int = 0) -> Expr:
    return FuncCall(f.types[value], f, args, value)


def over(v: Var, low: Expr, extent: Expr, body: Stmt, kind: ForKind = SERIAL) -> Stmt:
    return For(v, low, extent, kind, body)


def allocations(s: Stmt) -> list[Allocate]:
    return [n for n in nodes(s) if isinstance(n, Allocate)]


def stores(s: Stmt) -> list[Store]:
    return [n for n in nodes(s) if isinstance(n, Store)]


def test_a_dense_access_vectorises_to_a_dense_ramp() -> None:
    f, image = func("f"), BufferSym("in", INT32, 2, "input")
    x, y = Var("x", INT32), Var("y", INT32)
    pixel = ImageLoad(INT32, image, (add(x, int32(1)), y))
    body = over(x, int32(0), int32(8), Provide(f, (pixel,), (x, y), None), VEC)
    made = vectorize_loops(simplify(flat(body, output(f))))
    (store,) = stores(made)
    load = store.value
    assert isinstance(store.index, Ramp) and store.index.stride is int32(1)
    assert isinstance(load, Load) and isinstance(load.index, Ramp)
    assert load.index.stride is int32(1)


def test_mins_are_gathered_at_the_top() -> None:
    f = func("f")
    (out,) = output(f)[f]
    x, y = Var("x", INT32), Var("y", INT32)
    s = over(y, int32(0), int32(2), Provide(f, (x,), (x, y), None))
    made = flat(s, {f: (out,)})
    assert isinstance(made, Block)
    first = made.items[0]
    assert isinstance(first, LetStmt)
    d0, d1 = out.dims
    assert first.value is add(mul(d1.min, d1.stride), d0.min)
    (store,) = stores(made)
    assert store.index is sub(add(x, mul(y, d1.stride)), first.var)


def test_promised_layouts_are_constants() -> None:
    """An interleaved image: c is dense, x steps by 3."""
    f, image = func("f", 3), BufferSym("in", INT32, 3, "input")
    for d, stride in ((0, 3), (2, 1)):
        image.dims[d].fixed_stride = int32(stride)
        image.dims[d].fixed_min = int32(0)
    v = [Var(n, INT32) for n in "xyc"]
    s = Provide(f, (ImageLoad(INT32, image, tuple(v)),), tuple(v), None)
    made = flat(s, output(f))
    (load,) = [n for n in nodes(made) if isinstance(n, Load)]
    offset = next(
        n for n in nodes(load.index) if isinstance(n, Var) and n.name == "in.offset"
    )
    want = add(add(v[2], mul(v[1], image.dims[1].stride)), mul(v[0], int32(3)))
    assert load.index is sub(want, offset)


def test_regions_that_shift_have_constant_extents() -> None:
    """Extents that only show when lets are opened: [b - 1, b + 32] is 34 rows."""
    f, g = func("f"), func("g")
    t, lo, hi = Var("t", INT32), Var("lo", INT32), Var("hi", INT32)
    extent = add(sub(hi, lo), int32(1))
    y = Var("y", INT32, lo=lo, hi=hi)
    fill = over(y, lo, extent, Provide(g, (y,), (int32(5), y), None))
    use = Provide(f, (call(g, int32(5), t),), (int32(0), t), None)
    s = block(
        LetStmt(lo, sub(t, int32(1))),
        LetStmt(hi, add(t, int32(32))),
        Realize(g, ((int32(5), int32(1)), (lo, extent)), TRUE, block(fill, use)),
    )
    made = simplify(flat(s, output(f)))
    (a,) = allocations(made)
    assert a.extents == (int32(1), int32(34)) and a.kind is MemoryKind.STACK
    (loop,) = [n for n in nodes(made) if isinstance(n, For)]
    assert loop.extent is int32(34)
    assert not [n for n in nodes(made) if isinstance(n, Assert)]


def test_small_bounded_storage_takes_its_upper_bound() -> None:
    f, g, n = func("f"), func("g"), Var("n", INT32, lo=int32(1))
    extent = minimum(n, int32(64))
    body = Provide(f, (call(g, int32(0), int32(1)),), (X, Y), None)
    s = Realize(g, ((int32(0), extent), (int32(0), extent)), TRUE, body)
    (a,) = allocations(flat(s, output(f)))
    assert a.extents == (int32(64), int32(64)) and a.kind is MemoryKind.STACK
    s = Realize(g, ((int32(0), extent), (int32(0), n)), TRUE, body)
    (a,) = allocations(flat(s, output(f)))
    assert a.extents == (extent, n) and a.kind is MemoryKind.HEAP


def test_an_uncountable_size_is_refused_at_run_time() -> None:
    f, g, n = func("f"), func("g", 3), Var("n", INT32)
    body = Provide(f, (X,), (int32(0), int32(0)), None)
    s = Realize(g, tuple([(int32(0), n)] * 3), TRUE, body)
    made = flat(s, output(f))
    check = next(m for m in nodes(made) if isinstance(m, Assert))
    assert check.code == "allocation_too_large"
    for count, fine in (
        (0, 1),
        (1290, 1),
        (1291, 0),
        (65536, 0),
        (2**31 - 1, 0),
        (-5, 1),
    ):
        if fine:
            execute(check, {}, {n: count})
            continue
        with pytest.raises(AssertFailed):
            execute(check, {}, {n: count})
    big = flat(s, output(f), LowerOptions(index64=True))
    check = next(m for m in nodes(big) if isinstance(m, Assert))
    execute(check, {}, {n: 30000})
    with pytest.raises(AssertFailed):
        execute(check, {}, {n: 2**31 - 1})


def test_indices_of_64_bits() -> None:
    f = func("f")
    x, y = Var("x", INT32), Var("y", INT32)
    s = Provide(f, (x,), (add(x, int32(1)), y), None)
    made = flat(s, output(f), LowerOptions(index64=True))
    (store,) = stores(made)
    assert store.index.type is INT64
    assert int64(1) in nodes(store.index)


def test_values_of_a_tuple_are_evaluated_before_any_is_stored() -> None:
    f = func("f", 1, INT32, INT32)
    x = Var("x", INT32)
    swap = Provide(f, (call(f, x, value=1), call(f, x, value=0)), (x,), None)
    outs = output(f)
    made = flat(swap, outs)
    a, b = outs[f]
    env: dict[Var, Any] = {x: 0}
    for buffer in (a, b):
        env |= {buffer.dims[0].min: 0, buffer.dims[0].stride: 1}
    got = execute(made, {a: [1], b: [2]}, env)
    assert (got.memory[a], got.memory[b]) == ([2], [1])
    plain = Provide(f, (x, add(x, int32(1))), (x,), None)
    kept = flat(plain, outs)
    names = [n.var.name for n in nodes(kept) if isinstance(n, LetStmt)]
    assert all("offset" in name for name in names)


def test_undefined_values_are_not_stored() -> None:
    f, x = func("f", 1), Var("x", INT32)
    undef = Intrinsic(INT32, "undef", ())
    outs = output(f)
    made = flat(Provide(f, (undef,), (x,), None), outs)
    assert not stores(made)
    choice = Select(LT(x, int32(2)), x, undef)
    made = flat(Provide(f, (choice,), (x,), None), outs)
    (branch,) = [n for n in nodes(made) if isinstance(n, If)]
    assert isinstance(branch.then, Store) and branch.then.value is x


def test_marks_in_indices_survive_for_partitioning() -> None:
    f, g = func("f", 1), func("g", 1)
    x = Var("x", INT32)
    body = Provide(f, (call(g, minimum(likely(x), int32(9))),), (x,), None)
    s = Realize(g, ((int32(0), int32(10)),), TRUE, body)
    for index64 in (False, True):
        made = flat(s, output(f), LowerOptions(index64=index64))
        assert [n for n in nodes(made) if isinstance(n, Intrinsic)]


def test_a_func_may_be_realised_in_two_places() -> None:
    f, g = func("f", 1), func("g", 1)
    x = Var("x", INT32)

    def once(low: int) -> Stmt:
        fill = Provide(g, (int32(low),), (int32(low),), None)
        use = Provide(f, (call(g, int32(low)),), (int32(low),), None)
        body = block(Produce(g, True, fill), Produce(g, False, use))
        return Realize(g, ((int32(low), int32(1)),), TRUE, body)

    del x
    outs = output(f)
    made = flat(block(once(0), once(1)), outs)
    assert len({a.buffer for a in allocations(made)}) == 2
    (d,) = outs[f][0].dims
    got = execute(made, {outs[f][0]: [None, None]}, {d.min: 0, d.stride: 1})
    assert got.memory[outs[f][0]] == [0, 1]


@pytest.mark.parametrize("seed", range(25))
def test_every_layout_reaches_its_own_element(seed: int) -> None:
    """Producer and consumer over random regions, storage orders and output layouts."""
    rng = random.Random(seed)
    dims = rng.choice([1, 2, 3])
    f, g = func("f", dims, Int(16)), func("g", dims, Int(16))
    g.schedule.storage_order = tuple(rng.sample(range(dims), dims))
    mins = [rng.randint(-5, 5) for _ in range(dims)]
    extents = [rng.randint(1, 4) for _ in range(dims)]
    vs = [Var(f"v{d}", INT32) for d in range(dims)]

    def nest(body: Stmt) -> Stmt:
        for v, low, n in zip(vs, mins, extents, strict=True):
            body = over(v, int32(low), int32(n), body)
        return body

    from parhelion.ir.build import cast

    key: Expr = int32(0)
    for v in vs:
        key = add(mul(key, int32(10)), v)
    fill = nest(Provide(g, (cast(Int(16), key),), tuple(vs), None))
    use = nest(Provide(f, (call(g, *vs),), tuple(vs), None))
    bounds = tuple(
        [(int32(low), int32(n)) for low, n in zip(mins, extents, strict=True)]
    )
    s = Realize(g, bounds, TRUE, block(fill, use))
    outs = output(f)
    (out,) = outs[f]
    order = rng.sample(range(dims), dims)
    if order[0] != 0:
        out.dims[0].fixed_stride = None
    strides, size = _strides(order, extents)
    env: dict[Var, Any] = {}
    for d in range(dims):
        env |= {out.dims[d].min: mins[d], out.dims[d].stride: strides[d]}
    want: list[Any] = [None] * size
    for point in itertools.product(*[range(n) for n in extents]):
        value = 0
        for i, low in zip(point, mins, strict=True):
            value = value * 10 + i + low
        want[sum(i * k for i, k in zip(point, strides, strict=True))] = value
    for index64 in (False, True):
        made = flat(s, outs, LowerOptions(index64=index64))
        for one in (made, simplify(made)):
            assert execute(one, {out: [None] * size}, env).memory[out] == want


def _strides(order: Sequence[int], extents: Sequence[int]) -> tuple[list[int], int]:
    strides, stride = [0] * len(order), 1
    for d in order:
        strides[d] = stride
        stride *= extents[d]
    return strides, stride
