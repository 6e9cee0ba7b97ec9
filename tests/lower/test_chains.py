"""Chains of inlined Funcs whose values are shared: work grows with the nodes, not with
the ways to them.

Every Func of a chain reads the one before it more than once, so that there are 2 ** n
ways from the last to the first, and a walk that does not know what it has seen does not
end. What is counted is calls of Python functions; no clock is read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.target import host_target
from parhelion.ir.deep import run_deep
from parhelion.ir.rewrite import nodes
from parhelion.lower.inline import MOST_NODES
from parhelion.lower.passes import lower
from parhelion.lower.stages import collect
from parhelion.runtime.program import compiling
from parhelion.schedule.legality import resolve
from tests.support.checking import check
from tests.support.counting import calls
from tests.support.spec import spec_of

x, xi = hl.Var("x"), hl.Var("xi")
Step = Callable[[hl.Func], hl.Expr]

#: By name: the type of the first Func, and each of the others in terms of the last.
STEPS: dict[str, tuple[hl.Type, Step]] = {
    "add": (hl.Int(32), lambda f: f[x] + f[x + 1]),
    "sub": (hl.Int(32), lambda f: f[x] - f[x + 1]),
    "mul": (hl.Int(32), lambda f: f[x] * f[x - 1]),
    "same": (hl.Int(32), lambda f: f[x] + f[x]),
    "square": (hl.Int(64), lambda f: f[x] * f[x]),
    "both_ways": (hl.Int(32), lambda f: f[x - 1] + f[x] * 2 + f[x + 1]),
    "quotient": (hl.Int(32), lambda f: (f[x] + f[x + 1]) / 2),
    "remainder": (hl.Int(32), lambda f: (f[x] % 7 + f[x + 1]) % 11),
    "min": (hl.Int(32), lambda f: hl.min(f[x], f[x + 1])),
    "max_and_min": (hl.Int(32), lambda f: hl.max(hl.min(f[x], f[x + 1]), f[x - 1])),
    "min_of_sum": (hl.Int(32), lambda f: hl.min(f[x] + 1, f[x + 1])),
    "clamp": (hl.Int(32), lambda f: hl.clamp(f[x] + f[x + 1], 0, 255)),
    "pick": (hl.Int(32), lambda f: hl.select(f[x] < f[x + 1], f[x], f[x + 1] + 1)),
    "pick_place": (hl.Int(32), lambda f: hl.select(x > 3, f[x], f[x + 1])),
    "likely": (hl.Int(32), lambda f: hl.select(hl.likely(x > 3), f[x], f[x + 1])),
    "float": (hl.Float(32), lambda f: f[x] * 0.5 + f[x + 1] * 0.25),
    "float_min": (hl.Float(32), lambda f: hl.min(f[x], f[x + 1])),
    "float_pick": (hl.Float(32), lambda f: hl.select(f[x] > 1.0, f[x], f[x + 1])),
    "bytes": (hl.UInt(8), lambda f: f[x] + f[x + 1]),
    "cast": (hl.UInt(8), lambda f: hl.u8((hl.u16(f[x]) + f[x + 1]) / 2)),
    "bits": (hl.UInt(32), lambda f: f[x] ^ (f[x + 1] << 1)),
    "absd": (hl.UInt(8), lambda f: hl.absd(f[x], f[x + 1])),
}

Index = Callable[[hl.Expr | hl.FuncRef], hl.Expr]

#: An index that is made of the last one, each more than once.
INDICES: dict[str, Index] = {
    "sum": lambda e: e * 3 + e / 2,
    "remainder": lambda e: e / 3 + e % 3,
    "min": lambda e: hl.min(e + e % 7, e * 2 - 3),
    "choice": lambda e: hl.select(e % 2 == 0, e + 1, e - 1),
    "square": lambda e: e * e,
    "square_and_place": lambda e: e * e + x,
}

SCHEDULES: dict[str, Callable[[hl.Func], object]] = {
    "none": lambda f: None,
    "vectors": lambda f: f.vectorize(x, 8),
    "unrolled": lambda f: f.unroll(x, 2),
    "guarded": lambda f: f.vectorize(x, 8, hl.TailStrategy.GuardWithIf),
}


def chain(t: hl.Type, step: Step, n: int, first: hl.ExprLike | None = None) -> hl.Func:
    """`n` Funcs, each `step` of the one before."""
    f = hl.Func("f0")
    f[x] = hl.cast(t, hl.ImageParam(hl.UInt(8), 1, name="image")[x])
    if first is not None:
        f = hl.Func("f0")
        f[x] = hl.cast(t, first)
    for k in range(n):
        g = hl.Func(f"f{k + 1}")
        g[x] = step(f)
        f = g
    out = hl.Func("out")
    out[x] = f[x]
    return out


def index_chain(step: Index, n: int) -> hl.Func:
    image = hl.ImageParam(hl.Int(32), 1, name="image")
    f = chain(hl.Int(32), lambda f: step(f[x]), n, x)
    out = hl.Func("out")
    out[x] = image[hl.clamp(f[x], 0, 99)]
    return out


def work(f: hl.Func, most: int) -> int:
    """Calls that lowering and code generation take. Fails beyond `most`."""
    target = host_target()

    def compiled() -> None:
        emit_with_sites(lower(spec_of(f), name="chain"), target)

    with compiling():
        return calls(compiled, most)[1]


#: Twice as many Funcs read four times as many places, each of which is copied for the
#: Funcs that read it further on: eight times the work at the worst, and not 256 times.
GROWTH = 10
#: More than any chain of eight Funcs takes.
MOST_CALLS = 2_000_000


def check_growth(make: Callable[[int], hl.Func], n: int = 8) -> None:
    few = work(make(n), MOST_CALLS)
    work(make(2 * n), GROWTH * few)


@pytest.mark.parametrize("name", STEPS)
def test_a_chain_is_walked_once(name: str) -> None:
    check_growth(lambda n: chain(*STEPS[name], n))


@pytest.mark.parametrize("name", ["add", "min", "pick", "pick_place", "float"])
@pytest.mark.parametrize("schedule", ["vectors", "unrolled", "guarded"])
def test_a_scheduled_chain_is_walked_once(name: str, schedule: str) -> None:
    def make(n: int) -> hl.Func:
        f = chain(*STEPS[name], n)
        SCHEDULES[schedule](f)
        return f

    check_growth(make, 6)


@pytest.mark.parametrize("name", INDICES)
def test_a_chain_of_indices_is_walked_once(name: str) -> None:
    check_growth(lambda n: index_chain(INDICES[name], n))


def test_sixty_sums_are_sixty_triangles_of_work() -> None:
    few = work(chain(*STEPS["add"], 15), MOST_CALLS)
    # Sixteen times as many sums, copied once for each level that reads them further on.
    work(chain(*STEPS["add"], 60), 64 * few)


def test_one_expression_shared_with_itself() -> None:
    e = hl.ImageParam(hl.Int(32), 1, name="image")[x]
    r = hl.RDom([(0, 10)])
    update = e
    for _ in range(60):
        e, update = e + e * 3, update + update
    f = hl.Func("f")
    f[x] = e
    f[x] = f[x] + update + r
    work(f, MOST_CALLS)


@pytest.mark.parametrize("name", STEPS)
def test_chains_compute_what_they_say(name: str) -> None:
    t, step = STEPS[name]
    values = np.arange(64, dtype=np.int64) * 37 % 101

    def make() -> hl.Func:
        image = hl.Buffer(values.astype(np.uint8), name="image")
        image.set_min([-20])
        return chain(t, lambda f: hl.strict_float(step(f)), 6, image[x])

    check(make, [32], list(SCHEDULES.values()))


@pytest.mark.parametrize("name", INDICES)
def test_chains_of_indices_compute_what_they_say(name: str) -> None:
    def make() -> hl.Func:
        f = chain(hl.Int(32), lambda f: INDICES[name](f[x]) % 1000, 5, x)
        table = hl.Buffer(np.arange(100, dtype=np.int32), name="table")
        out = hl.Func("out")
        out[x] = table[hl.clamp(f[x], 0, 99)]
        return out

    check(make, [32], list(SCHEDULES.values()))


def _doubling(n: int) -> hl.Func:
    return chain(hl.Int(32), lambda f: f[2 * x] + f[2 * x + 1], n)


def test_what_multiplies_itself_is_refused() -> None:
    with pytest.raises(hl.ScheduleError) as caught:
        _doubling(40).compile_jit()
    assert caught.value.what == (
        "the definition of 'f14' comes to 81,920 operations and loads when all that it "
        "reads is inlined, more than 50,326"
    )
    assert caught.value.hint == (
        "give a Func in between loops of its own: f6.compute_root(), whose definition "
        "comes to 320"
    )


def test_what_is_written_out_may_be_large() -> None:
    e = image = hl.ImageParam(hl.Int(32), 1, name="image")[x]
    for k in range(20_000):
        e = hl.select(image == k, 3 * k, e)
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = e
    g[x] = f[x]
    spec = spec_of(g)
    staged = run_deep(lambda: collect(resolve(spec), spec.assumptions))
    (stage,) = staged.stages[spec.outputs[0]]
    assert len(list(nodes(stage.values[0]))) > MOST_NODES


def test_and_compiles_as_the_message_says() -> None:
    image = hl.Buffer(np.arange(1 << 14, dtype=np.uint8), name="image")
    f = hl.Func("f0")
    f[x] = hl.i32(image[x])
    for k in range(14):
        g = hl.Func(f"f{k + 1}")
        g[x] = f[2 * x] + f[2 * x + 1]
        if k == 7:
            g.compute_root()
        f = g
    total = np.arange(1 << 14, dtype=np.uint8).astype(np.int32).sum()
    assert np.asarray(f.realize([1]))[0] == total
