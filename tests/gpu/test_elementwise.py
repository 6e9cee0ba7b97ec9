"""Every arithmetic node and intrinsic in kernels: every type, several lane counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, BFloat, Bool, Float, Type
from tests.codegen import elementwise
from tests.codegen.elementwise import pairs, same, to_python
from tests.codegen.test_arithmetic import (
    BASIC,
    CHOICE,
    COMPARE,
    FLOAT_ONLY,
    FLOATS,
    INTEGERS,
    Make,
    casts,
    constants,
    fixed_point,
    huge_shift,
    outside,
)
from tests.gpu.harness import ARCHS, assembled, kernels_of, simulate

#: Threads of a block. Each computes so many elements as a vector has.
THREADS = 32


def kernel(
    makes: list[Make], types: tuple[Type, Type], lanes: int, count: int
) -> tuple[S.For, list[BufferSym], list[Expr]]:
    """``out_k[i] = makes[k](a[i], b[i])`` by a thread for each vector, the buffers, and
    the same of scalars."""
    left = BufferSym("a", types[0], 1, "input")
    right = BufferSym("b", types[1], 1, "input")
    bx, tx = Var("bx", INT32), Var("tx", INT32)
    i = build.add(build.mul(bx, build.int32(THREADS)), tx)
    index = build.ramp(build.mul(i, build.int32(lanes)), build.int32(1), lanes)
    x = E.Load(types[0].with_lanes(lanes), left, index, None)
    y = E.Load(types[1].with_lanes(lanes), right, index, None)
    sx, sy = Var("x", types[0]), Var("y", types[1])
    body: list[S.Stmt] = []
    buffers = [left, right]
    scalars: list[Expr] = []
    for k, make in enumerate(makes):
        value = make(x, y)
        out = BufferSym(f"out{k}", value.type.element_of(), 1, "output")
        body.append(S.Store(out, value, index, None))
        buffers.append(out)
        scalars.append(make(sx, sy))
    threads = S.For(
        tx,
        build.int32(0),
        build.int32(THREADS),
        S.ForKind.GPU_THREAD,
        S.Block(tuple(body)),
    )
    blocks = build.int32(count // (THREADS * lanes))
    loop = S.For(bx, build.int32(0), blocks, S.ForKind.GPU_BLOCK, threads)
    return loop, buffers, scalars


Array = np.ndarray[Any, Any]


def compute(
    makes: dict[str, Make], types: tuple[Type, Type], lanes: int
) -> tuple[Array, Array, list[Expr], list[Array]]:
    """Asserts that ptxas takes the kernel, and that it calls nothing; returns what it
    was given, the scalar expressions over x and y, and what it computes."""
    a, b = pairs(*types, types[0].width, 60)
    count = -(-len(a) // (THREADS * lanes)) * THREADS * lanes
    a, b = (np.resize(v, count) for v in (a, b))
    loop, buffers, scalars = kernel(list(makes.values()), types, lanes, count)
    ptx, _ = assembled(loop, strict=True)
    assert "call" not in ptx
    results = [np.zeros(count, o.type.to_numpy()) for o in buffers[2:]]
    module, (made,) = kernels_of(loop, strict=True)
    arrays = dict(zip(buffers, [a, b, *results], strict=True))
    simulate(module, made, arrays, {})
    return a, b, scalars, results


def check(
    makes: dict[str, Make],
    types: tuple[Type, Type],
    lanes: int,
    skip: Any = None,
) -> None:
    """Asserts that a kernel computes what `evaluate` does."""
    a, b, scalars, results = compute(makes, types, lanes)
    xs, ys = to_python(a, types[0]), to_python(b, types[1])
    for name, e, got in zip(makes, scalars, results, strict=True):
        used = {v.name: v for v in free_vars(e)}
        for k, value in enumerate(to_python(got, e.type)):
            if skip is not None and skip(name, xs[k], ys[k]):
                continue
            given = {"x": xs[k], "y": ys[k]}
            want = evaluate(e, {v: given[n] for n, v in used.items()})
            assert same(value, want), (
                f"{name} of {types} in {lanes} lanes: x={xs[k]!r} y={ys[k]!r} "
                f"gives {value!r}, not {want!r}"
            )


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_integers(t: Type, lanes: int) -> None:
    makes = BASIC | COMPARE | CHOICE | fixed_point(t) | constants(t) | casts(t)
    check(makes, (t, t), lanes, huge_shift)


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_floats(t: Type, lanes: int) -> None:
    makes = BASIC | COMPARE | CHOICE | FLOAT_ONLY | casts(t)
    check(makes, (t, t), lanes, outside)


@pytest.mark.parametrize("lanes", [1, 16])
def test_bools(lanes: int) -> None:
    logic: dict[str, Make] = {
        "and": E.And,
        "or": E.Or,
        "not": lambda x, y: E.Not(x),
        "min": E.Min,
        "select": lambda x, y: E.Select(x, y, E.Not(y)),
    }
    to = {k: v for k, v in casts(Bool()).items() if k.startswith("cast")}
    check(logic | to, (Bool(), Bool()), lanes)


def _functions(t: Type) -> dict[str, Make]:
    """The functions that are polynomials of our own, of a type."""
    from parhelion.codegen.intrinsics import library_call

    one = ["exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"]
    one += ["tanh", "asinh", "acosh", "atanh", "erf", "fast_exp", "fast_log"]
    one += ["fast_sin", "fast_cos", "fast_inverse", "fast_inverse_sqrt"]
    found: dict[str, Make] = {}
    for op in one:
        found[op] = lambda x, y, op=op: E.Intrinsic(x.type, op, (x,))  # type: ignore[misc]
    for op in ("pow", "atan2", "fast_pow"):
        found[op] = lambda x, y, op=op: E.Intrinsic(x.type, op, (x, y))  # type: ignore[misc]
    x, y = Var("x", t), Var("y", t)
    made = {op: make(x, y) for op, make in found.items()}
    calls = {
        op
        for op, e in made.items()
        if isinstance(e, E.Intrinsic) and library_call(e, True)
    }
    return {op: make for op, make in found.items() if op not in calls}


@pytest.mark.parametrize(
    ("t", "least"), [(Float(32), 20), (Float(64), 20), (Float(16), 20), (BFloat(), 20)]
)
def test_functions(t: Type, least: int) -> None:
    """All of all types, as on the CPU."""
    makes = _functions(t)
    assert len(makes) >= least
    a, b, _, results = compute(makes, (t, t), 1)
    _, wanted = elementwise.run(list(makes.values()), a, b, (t, t), 1)
    for name, got, want in zip(makes, results, wanted, strict=True):
        np.testing.assert_array_equal(got, want, err_msg=f"{name} of {t}")


def test_ptx_of_functions() -> None:
    """Those of float64, of which none is a call."""
    t = Float(64)
    loop, _, _ = kernel(list(_functions(t).values()), (t, t), 1, THREADS)
    ptx, kernels = assembled(loop)
    assert "call" not in ptx and ".extern" not in ptx and len(kernels) == len(ARCHS)


def test_no_contraction_and_ieee() -> None:
    """Floats are rounded as the CPU rounds them: to nearest, subnormals kept, products
    and sums by themselves."""
    t = Float(32)
    makes: dict[str, Make] = {
        "div": E.Div,
        "sqrt": lambda x, y: E.Intrinsic(t, "sqrt", (x,)),
        "sum": lambda x, y: E.Add(E.Mul(x, y), x),
        "fused": lambda x, y: E.Intrinsic(t, "mul_add", (x, y, x)),
    }
    loop, _, _ = kernel(list(makes.values()), (t, t), 1, THREADS)
    ptx, _ = assembled(loop)
    for found in ("div.rn.f32", "sqrt.rn.f32", "mul.rn.f32", "add.rn.f32"):
        assert found in ptx
    assert ptx.count("fma.rn.f32") == 1
    assert ".ftz" not in ptx and "approx" not in ptx
