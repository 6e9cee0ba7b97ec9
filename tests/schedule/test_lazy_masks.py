"""Values on demand that a mask selects: where it asks for none, none is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.reader import read_stmt
from parhelion.ir.text import symbols_of, text
from parhelion.lower.passes import Trace, lower
from tests.support.spec import spec_of

x, y = hl.Var("x"), hl.Var("y")
W, H = 90, 37

_RANDOM = np.random.default_rng(28)
PIXELS = _RANDOM.random((H + 4, W + 4)).astype(np.float32)
#: Rows of all, of none, of single lanes at either end and in the middle, of runs that
#: begin and end anywhere, and of noise.
MASK = np.zeros((H, W), np.uint8)
MASK[0] = 1
MASK[2, ::16] = MASK[3, 15::16] = MASK[4, 7::16] = 1
for _row, (_first, _last) in enumerate(_RANDOM.integers(0, W, (20, 2)), start=5):
    MASK[_row, min(_first, _last) : max(_first, _last) + 1] = 1
MASK[25:] = _RANDOM.random((H - 25, W)) < 0.2
OTHER = (_RANDOM.random((H, W)) < 0.3).astype(np.uint8)


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs are verified after each pass; more threads than cores take part."""
    monkeypatch.setenv("PARHELION_VERIFY", "1")
    before = hl.set_num_threads(3)
    yield
    hl.set_num_threads(before)


def producer() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = hl.sqrt(hl.Buffer(PIXELS)[x, y]) + x - 2 * y
    return f


def near(f: hl.Func) -> Any:
    return f[x, y] + f[x + 2, y] + f[x, y + 2] + f[x + 2, y + 2]


def chosen() -> Any:
    return hl.Buffer(MASK)[x, y] != 0


def also() -> Any:
    return hl.Buffer(OTHER)[x, y] == 1


#: What a consumer makes of the producer.
Value = Callable[[hl.Func], Any]
VALUES: dict[str, Value] = {
    "first arm": lambda f: hl.select(chosen(), near(f), -1.0),
    "second arm": lambda f: hl.select(chosen(), hl.f32(x), near(f)),
    "nested": lambda f: hl.select(chosen(), hl.select(also(), near(f), 3.0), hl.f32(y)),
    "both of a pair": lambda f: hl.select(chosen() & also(), near(f), -2.0),
    "two masks": lambda f: (
        hl.select(chosen(), f[x, y], 1.0) - hl.select(also(), f[x + 1, y], 2.0)
    ),
    "either arm": lambda f: hl.select(
        chosen(), f[x, y], hl.select(also(), f[x + 2, y], 0)
    ),
    "where data says": lambda f: hl.select(
        chosen(), f[hl.clamp(hl.i32(hl.Buffer(PIXELS)[x, y] * 90), 0, W), y], 0.5
    ),
    "another row": lambda f: hl.select(chosen(), f[x, y // 2], 0.5),
    "every second": lambda f: hl.select(chosen(), f[x // 2, y], 0.5),
}


LAZY: dict[str, Callable[[hl.Func], Any]] = {
    "values": lambda f: f.compute_lazy(),
    "wide tiles": lambda f: f.compute_lazy((64, 4)).vectorize(x, 8),
    "tiles of a vector": lambda f: f.compute_lazy((15, 3)),
    "narrow tiles": lambda f: f.compute_lazy((5, 3)),
}

CONSUMERS: dict[str, Callable[[hl.Func], Any]] = {
    "points": lambda g: g,
    "vectors of 4": lambda g: g.vectorize(x, 4, hl.TailStrategy.GuardWithIf),
    "vectors of 16, threads": lambda g: g.vectorize(
        x, 16, hl.TailStrategy.GuardWithIf
    ).parallel(y),
    "vectors of 64": lambda g: g.vectorize(x, 64, hl.TailStrategy.Predicate),
    "vectors of 12, inwards": lambda g: g.vectorize(
        x, 12, hl.TailStrategy.ShiftInwards
    ),
    "vectors of rows": lambda g: g.vectorize(y, 8, hl.TailStrategy.GuardWithIf),
}


def check(g: hl.Func, runs: int = 2) -> str:
    """Compares with the interpreter, reads the program's text after each pass, and
    returns the last."""
    wanted = interpret(g._function, [(0, W), (0, H)])
    run = g.compile_to_callable([])
    results = [np.zeros((H, W), e.dtype) for e in wanted]
    for _ in range(runs):
        for got in results:
            got[:] = 0
        run(*results)
        for got, want in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(got, want.T)
    trace = Trace()
    program = lower(spec_of(g), name="g", trace=trace)
    for _, body, _ in trace:
        assert read_stmt(text(body), symbols_of(body)) is body
    return text(program.body)


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("lazy", LAZY)
def test_first_arm(lazy: str, consumer: str) -> None:
    f, g = producer(), hl.Func("g")
    g[x, y] = VALUES["first arm"](f)
    LAZY[lazy](f)
    CONSUMERS[consumer](g)
    check(g)


@pytest.mark.parametrize("lazy", ["values", "wide tiles"])
@pytest.mark.parametrize("value", [name for name in VALUES if name != "first arm"])
def test_arms(value: str, lazy: str) -> None:
    f, g = producer(), hl.Func("g")
    g[x, y] = VALUES[value](f)
    LAZY[lazy](f)
    g.vectorize(x, 16, hl.TailStrategy.GuardWithIf)
    check(g)


def test_nothing_is_read_where_nothing_asks() -> None:
    f, g = producer(), hl.Func("g")
    g[x, y] = VALUES["first arm"](f)
    f.compute_lazy((64, 4))
    made = check(g.vectorize(x, 16, hl.TailStrategy.GuardWithIf))
    branches = made.split("} else {")[1:]
    unasked = [b.split("}")[0] for b in branches if "demand" not in b.split("}")[0]]
    stores = [b for b in unasked if "g[" in b]
    assert stores and all(["f[" not in b and "-1.0f" in b for b in stores]), made
    assert "if (reduce_or(" in made


def test_what_else_is_stored_may_be_much() -> None:
    """The other arm is not written twice where it is long."""
    f, g = producer(), hl.Func("g")
    pixel = hl.Buffer(PIXELS)[x, y]
    long: Any = hl.f32(x)
    for i in range(40):
        long = hl.max(long * pixel + i, pixel - i)
    g[x, y] = hl.select(chosen(), f[x, y], long)
    f.compute_lazy((64, 4))
    assert "reduce_or" not in check(g.vectorize(x, 16, hl.TailStrategy.GuardWithIf))


def test_tuples() -> None:
    f, g = producer(), hl.Func("g")
    g[x, y] = (hl.select(chosen(), f[x, y], 1.0), hl.select(chosen(), f[x + 1, y], 2.0))
    f.compute_lazy((32, 4))
    assert "reduce_or" in check(g.vectorize(x, 16, hl.TailStrategy.GuardWithIf))


def test_a_mask_that_the_first_store_changes() -> None:
    """The second value is selected by what the first one was, not by the new one."""
    f, g = producer(), hl.Func("g")
    g[x, y] = (hl.i32(chosen()), hl.f32(0))
    was = g[x, y][0]
    g[x, y] = (1 - was, hl.select(was != 0, f[x, y], hl.f32(7)))
    f.compute_lazy((32, 4))
    g.update().vectorize(x, 16, hl.TailStrategy.GuardWithIf)
    check(g)


@pytest.mark.parametrize("lanes", [1, 16])
def test_an_update_of_what_it_reads(lanes: int) -> None:
    f, g = producer(), hl.Func("g")
    g[x, y] = hl.select(chosen(), hl.f32(1), hl.f32(0))
    g[x, y] = hl.select(g[x, y] > 0.5, f[x, y], g[x, y] - 3)
    f.compute_lazy((32, 4))
    g.update().vectorize(x, lanes, hl.TailStrategy.GuardWithIf)
    assert "demand" in check(g)


@pytest.mark.parametrize("tile", [(1, 1), (16, 4), (64, 4)])
def test_counts(tile: tuple[int, int]) -> None:
    """Reads are counted of the lanes that ask, whether or not they ask for one part."""
    f, g = producer(), hl.Func("g")
    g[x, y] = VALUES["first arm"](f)
    f.compute_lazy(tile)
    g.vectorize(x, 16, hl.TailStrategy.GuardWithIf)
    hl.set_num_threads(1)
    seen = g.profile([W, H])["f"]
    rows, columns = np.nonzero(MASK)
    touched = {
        ((c + i) // tile[0], (r + j) // tile[1])
        for r, c in zip(rows, columns, strict=True)
        for i in (0, 2)
        for j in (0, 2)
    }
    made = np.zeros((H + 2, W + 2), bool)
    for column, row in touched:
        made[row * tile[1] :, column * tile[0] :][: tile[1], : tile[0]] = True
    assert seen.computed == made.sum()
    assert seen.hits == 4 * len(rows) - (len(touched))
