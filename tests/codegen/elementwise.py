"""Runs expressions over arrays: compiled code against exact evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, Type, TypeCode

from .harness import Compiled, lowered

Array = np.ndarray[Any, Any]


def specials(t: Type) -> list[Any]:
    """Values of `t` at which things go wrong."""
    if t.is_float():
        found = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, 1e-3, 1e4, math.inf]
        found += [-math.inf, math.nan, 6.1e-5, 1.5, 0.1, -7.75]
        if t.width >= 32:
            found += [1e-40, -1e-40, 3e38, -3e38, 16777217.0, 1.1754944e-38, 1e30]
        return found
    if t.is_bool():
        return [0, 1]
    low, high = int(t.lowest()), int(t.highest())
    near = [low, low + 1, low + 2, high, high - 1, high - 2, high // 2, low // 2]
    small = [0, 1, 2, 3, 5, 7, t.width - 1, t.width, t.width + 1, 10, 13, 100]
    return [*near, *small, *[-v for v in small if t.is_int()]]


def from_floats(values: Sequence[float], t: Type) -> Array:
    """Values of a float type as they lie in memory."""
    if t.kind is TypeCode.BFloat:
        bits = [E.float_bits(v, t) for v in values]
        return np.array(bits, dtype=np.uint16)
    with np.errstate(over="ignore"):
        return np.array(values, dtype=t.to_numpy())


def sample(t: Type, count: int, seed: int) -> Array:
    """Random values of `t`, small and large."""
    rng = np.random.default_rng(seed)
    if t.is_float():
        scale = 10.0 ** rng.uniform(-3, 3, count)
        return from_floats(list(rng.normal(size=count) * scale), t)
    if t.is_bool():
        return rng.integers(0, 2, count).astype(np.bool_)
    dtype = t.to_numpy()
    info = np.iinfo(dtype)
    wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    narrow = rng.integers(max(info.min, -9), 10, count).astype(dtype)
    return np.where(rng.integers(0, 3, count) == 0, narrow, wide)


def to_python(a: Array, t: Type) -> list[Any]:
    """Array elements as `evaluate` takes them."""
    if t.kind is TypeCode.BFloat:
        return [E.FloatImm(t, int(v)).value for v in a]
    return [v.item() for v in a]


def pairs(t: Type, u: Type, seed: int, random: int) -> tuple[Array, Array]:
    """Special values against each other, then random ones."""
    left, right = specials(t), specials(u)
    cross = [(x, y) for x in left for y in right]
    make = from_floats if t.is_float() else (lambda v, k: np.array(v, k.to_numpy()))
    other = from_floats if u.is_float() else (lambda v, k: np.array(v, k.to_numpy()))
    a = np.concatenate([make([x for x, _ in cross], t), sample(t, random, seed)])
    b = np.concatenate([other([y for _, y in cross], u), sample(u, random, seed + 1)])
    return a, b


def run(
    makes: Sequence[Callable[[Expr, Expr], Expr]],
    a: Array,
    b: Array,
    types: tuple[Type, Type],
    lanes: int,
    *,
    strict: bool = True,
) -> tuple[list[Expr], list[Array]]:
    """Compiles ``out_k[i] = makes[k](a[i], b[i])`` and runs it.

    Returns the scalar expressions over two Vars (`X` and `Y`), and the results.
    """
    count = len(a) // lanes * lanes
    left = BufferSym("a", types[0], 1, "input")
    right = BufferSym("b", types[1], 1, "input")
    i = Var("i", INT32)
    index = build.ramp(build.mul(i, build.int32(lanes)), build.int32(1), lanes)
    x = E.Load(types[0].with_lanes(lanes), left, index, None)
    y = E.Load(types[1].with_lanes(lanes), right, index, None)
    sx, sy = Var("x", types[0]), Var("y", types[1])
    body: list[S.Stmt] = []
    outs: list[BufferSym] = []
    scalars: list[Expr] = []
    for k, make in enumerate(makes):
        value = make(x, y)
        out = BufferSym(f"out{k}", value.type.element_of(), 1, "output")
        body.append(S.Store(out, value, index, None))
        outs.append(out)
        scalars.append(make(sx, sy))
    loop = S.For(
        i,
        build.int32(0),
        build.int32(count // lanes),
        S.ForKind.SERIAL,
        S.Block(tuple(body)),
    )
    compiled = Compiled(lowered(loop, [left, right, *outs], strict=strict))
    results = [np.zeros(count, o.type.to_numpy()) for o in outs]
    assert compiled(a, b, *results) == 0
    return scalars, results


def check(
    makes: dict[str, Callable[[Expr, Expr], Expr]],
    types: tuple[Type, Type],
    lanes: int,
    *,
    seed: int = 0,
    random: int = 60,
    skip: Callable[[str, Any, Any], bool] | None = None,
) -> None:
    """Asserts that compiled code gives what `evaluate` gives, bit for bit."""
    a, b = pairs(*types, seed, random)
    scalars, results = run(list(makes.values()), a, b, types, lanes)
    xs, ys = to_python(a, types[0]), to_python(b, types[1])
    for name, e, got in zip(makes, scalars, results, strict=True):
        vx = next((v for v in _vars(e) if v.name == "x"), None)
        vy = next((v for v in _vars(e) if v.name == "y"), None)
        given = to_python(got, e.type)
        for k, value in enumerate(given):
            env = {v: z for v, z in ((vx, xs[k]), (vy, ys[k])) if v is not None}
            if skip is not None and skip(name, xs[k], ys[k]):
                continue
            want = evaluate(e, env)
            assert same(value, want), (
                f"{name} of {types} in {lanes} lanes: x={xs[k]!r} y={ys[k]!r} "
                f"gives {value!r}, not {want!r}"
            )


def same(a: Any, b: Any) -> bool:
    """Equal, NaNs among themselves, zeros by their sign."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return bool(a == b)


def _vars(e: Expr) -> list[Var]:
    from parhelion.ir.rewrite import free_vars

    return list(free_vars(e))
