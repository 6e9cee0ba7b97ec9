"""`atomic`: reductions on threads and lanes, in words and under locks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion import interp
from parhelion.lang.runner import Runner
from parhelion.runtime.program import Variant
from parhelion.schedule.legality import resolve
from parhelion.schedule.rules import ScheduleWarning
from tests.support.realized import several
from tests.support.spec import spec_of

x = hl.Var("x")
PIXELS = np.random.default_rng(5).integers(0, 256, (60, 70)).astype(np.uint8)


def interpret_all(f: hl.Func, sizes: list[int]) -> tuple[Any, ...]:
    return interp.interpret(f._function, [(0, n) for n in sizes])


def interpret(f: hl.Func, sizes: list[int]) -> Any:
    return interpret_all(f, sizes)[0]


Sched = Callable[[hl.Func, hl.RDom], object]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = hl.set_num_threads(4)
    yield
    hl.set_num_threads(before)


def parallel(f: hl.Func, r: hl.RDom) -> None:
    f.update().atomic().parallel(r.y)


def vectorized(f: hl.Func, r: hl.RDom) -> None:
    f.update().atomic().vectorize(r.x, 8)


def both(f: hl.Func, r: hl.RDom) -> None:
    f.update().atomic().parallel(r.y).vectorize(r.x, 16)


def fused(f: hl.Func, r: hl.RDom) -> None:
    t = hl.RVar("t")
    f.update().atomic().fuse(r.x, r.y, t).parallel(t, 37)


SCHEDULES: list[Sched] = [parallel, vectorized, both, fused]
schedules = pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.__name__)


def histogram(t: hl.Type) -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("hist"), hl.RDom([(0, 70), (0, 60)], "r")
    image = hl.Buffer(PIXELS)
    f[x] = hl.cast(t, 0)
    f[hl.i32(image[r.x, r.y])] += hl.cast(t, 1)
    return f, r


@schedules
@pytest.mark.parametrize("t", ["u8", "i32", "f32"])
def test_histogram(schedule: Sched, t: str) -> None:
    f, r = histogram(getattr(hl, t)(0).type())
    schedule(f, r)
    want = np.bincount(PIXELS.ravel(), minlength=256)
    np.testing.assert_array_equal(np.asarray(f.realize([256])), want)


Fold = Callable[[Any, Any], Any]
FOLDS: dict[str, Fold] = {
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "mul": lambda old, new: old * (2 * new + 1),
    "min": lambda old, new: hl.min(old, new),
    "max": lambda old, new: hl.max(new, old),
    "and": lambda old, new: old & new,
    "or": lambda old, new: new | old,
    "xor": lambda old, new: old ^ new,
    "several": lambda old, new: new + (old - 3) - 2 * new,
    "guarded": lambda old, new: hl.select(new > 7, old + new, old),
}


def total(t: hl.Type, fold: Fold) -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("total"), hl.RDom([(0, 70), (0, 59)], "r")
    image = hl.Buffer(PIXELS)
    f[()] = hl.cast(t, 77)
    f[()] = fold(f[()], hl.cast(t, image[r.x, r.y]))
    return f, r


WORDS = [*[(op, "i32") for op in FOLDS], ("mul", "u8"), ("min", "i16"), ("add", "u64")]


@cache
def total_of_words(op: str, t: str) -> Any:
    """What the interpreter makes of a fold, whatever the schedule."""
    return interpret(total(getattr(hl, t)(0).type(), FOLDS[op])[0], [])


@schedules
@pytest.mark.parametrize(("op", "t"), WORDS)
def test_everything_into_one_place(schedule: Sched, op: str, t: str) -> None:
    f, r = total(getattr(hl, t)(0).type(), FOLDS[op])
    schedule(f, r)
    np.testing.assert_array_equal(np.asarray(f.realize()), total_of_words(op, t))


def total_in_floats(op: str) -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("total"), hl.RDom([(0, 70), (0, 59)], "r")
    image = hl.Buffer(PIXELS)
    f[()] = hl.f64(1.5)
    # The old value on the left: a NaN on the right is passed over, wherever it stands.
    fold: Fold = hl.max if op == "max" else FOLDS[op]
    f[()] = fold(f[()], hl.f64(image[r.x, r.y]) / 4096)
    return f, r


@cache
def total_of_floats(op: str) -> Any:
    return interpret(total_in_floats(op)[0], [])


@schedules
@pytest.mark.parametrize("op", ["add", "sub", "mul", "min", "max"])
def test_floats(schedule: Sched, op: str) -> None:
    f, r = total_in_floats(op)
    schedule(f, r)
    got = np.asarray(f.realize())
    np.testing.assert_allclose(got, total_of_floats(op), rtol=1e-9)


@pytest.mark.parametrize("pattern", ["nan first", "nan last", "between", "all nan"])
@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("form", ["old first", "old last", "chain", "nested"])
def test_lanes_that_are_no_numbers(form: str, op: str, pattern: str) -> None:
    """min and max pass over a NaN on their right and keep one on their left, so that
    folding lanes first must not drop what stands beside a NaN."""
    values = np.array([5, 3, 9, 7, 1, 8, 2, 6] * 2, np.float32)
    where = {"nan first": [0, 1], "nan last": [14, 15], "between": [1, 4, 7, 11]}
    values[where.get(pattern, list(range(16)))] = np.nan
    image, r = hl.Buffer(values), hl.RDom([(0, 8)], "r")
    f, fold = hl.Func("f"), getattr(hl, op)
    f[()] = hl.f32(4)
    old, a, b = f[()], image[r.x], image[r.x + 8]
    f[()] = {
        "old first": fold(old, a),
        "old last": fold(a, old),
        "chain": fold(fold(old, a), b),
        "nested": fold(old, fold(a, b)),
    }[form]
    want = interpret(f, [])
    # Threads would not keep the order that decides of a NaN on the left; lanes do.
    f.update().atomic(form == "old last").vectorize(r.x, 8)
    np.testing.assert_array_equal(np.asarray(f.realize()), want)


@schedules
def test_bool(schedule: Sched) -> None:
    f, r = hl.Func("any"), hl.RDom([(0, 70), (0, 60)], "r")
    image = hl.Buffer(PIXELS)
    f[x] = hl.cast(hl.Bool(), False)
    f[x] = f[x] | (image[r.x, r.y] == hl.cast(hl.UInt(8), x))
    schedule(f, r)
    want = np.isin(np.arange(256), PIXELS)
    np.testing.assert_array_equal(np.asarray(f.realize([256])), want)


def count_and_last() -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("pair"), hl.RDom([(0, 70), (0, 60)], "r")
    image = hl.Buffer(PIXELS)
    f[x] = hl.Tuple(hl.u32(0), hl.i16(-9))
    at = hl.i32(image[r.x, r.y])
    f[at] = hl.Tuple(f[at][0] + 1, hl.max(f[at][1], hl.i16(r.x + r.y)))
    return f, r


@cache
def counts_and_lasts() -> tuple[Any, ...]:
    return interpret_all(count_and_last()[0], [256])


@schedules
def test_several_values_hold_a_lock(schedule: Sched) -> None:
    f, r = count_and_last()
    schedule(f, r)
    got = several(f.realize([256]))
    for a, b in zip(got, counts_and_lasts(), strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_a_condition_of_the_domain() -> None:
    want = None
    for schedule in SCHEDULES:
        f, r = hl.Func("total"), hl.RDom([(0, 70), (0, 60)], "r")
        image = hl.Buffer(PIXELS)
        r.where(image[r.x, r.y] > 99)
        f[x] = hl.i32(0)
        f[hl.i32(image[r.x, r.y]) % 7] += hl.i32(image[r.x, r.y])
        want = interpret(f, [7]) if want is None else want
        schedule(f, r)
        np.testing.assert_array_equal(np.asarray(f.realize([7])), want)


def test_pure_lanes_beside_parallel_updates() -> None:
    y = hl.Var("y")
    f, r = hl.Func("rows"), hl.RDom([(0, 70), (0, 60)], "r")
    image = hl.Buffer(PIXELS)
    f[x, y] = hl.u16(0)
    f[x, y] += hl.u16(image[r.x, r.y]) * hl.u16(x + y)
    want = interpret(f, [9, 3]).T
    f.update().atomic().reorder(x, y, r.x, r.y).parallel(r.y).vectorize(x, 4)
    np.testing.assert_array_equal(np.asarray(f.realize([9, 3])), want)


def test_override() -> None:
    """An update that is not a fold, though its order is free here."""
    f, r = hl.Func("steps"), hl.RDom([(0, 5000)], "r")
    f[x] = hl.u32(1)
    f[r.x % 7] = f[r.x % 7] * 3 + 5
    want = interpret(f, [7])
    f.update().atomic(override_associativity_test=True).parallel(r.x)
    np.testing.assert_array_equal(np.asarray(f.realize([7])), want)


def test_a_failure_lets_the_lock_go() -> None:
    f, r = hl.Func("pair"), hl.RDom([(0, 100)], "r")
    limit = hl.Param(hl.Int(32), "limit")
    f[x] = hl.Tuple(hl.i32(0), hl.i32(0))
    new = hl.require(f[0][1] < limit, r.x, "too much")
    f[0] = hl.Tuple(f[0][0] + 1, hl.max(f[0][1], new))
    f.update().atomic(True).parallel(r.x)
    for _ in range(20):
        limit.set(40)
        with pytest.raises(hl.HalideError, match="too much"):
            f.realize([1])
        limit.set(1000)
        assert np.asarray(several(f.realize([1]))[0]).tolist() == [100]


# What it is made of.


def code(f: hl.Func) -> tuple[str, str]:
    """The LLVM text and the assembly of a Func by itself."""
    runner = Runner([f._function], "it")
    runner.refresh()
    compiled = runner.program(Variant()).call.compiled
    return compiled.text, compiled.assembly()


@pytest.mark.parametrize(
    ("op", "t", "wanted"),
    [
        ("add", "u32", "atomicrmw add"),
        ("sub", "i32", "atomicrmw sub"),
        ("min", "u8", "atomicrmw umin"),
        ("max", "i16", "atomicrmw max"),
        ("and", "u64", "atomicrmw and"),
        ("xor", "i64", "atomicrmw xor"),
        ("mul", "i32", "cmpxchg weak"),
        ("add", "f32", "cmpxchg weak"),
    ],
)
def test_one_word(op: str, t: str, wanted: str) -> None:
    f, r = total(getattr(hl, t)(0).type(), FOLDS[op])
    parallel(f, r)
    text, assembly = code(f)
    assert wanted in text and "ph_lock" not in text
    assert re.search(r"\block\b|\bxchg", assembly)


def test_a_lock() -> None:
    f, r = hl.Func("pair"), hl.RDom([(0, 70), (0, 60)], "r")
    f[x] = hl.Tuple(hl.u32(0), hl.i16(-9))
    f[r.x % 5] = hl.Tuple(f[r.x % 5][0] + 1, hl.max(f[r.x % 5][1], hl.i16(r.x)))
    parallel(f, r)
    text, _ = code(f)
    assert "call ptr @ph_lock" in text and "call void @ph_unlock" in text


def test_lanes_are_folded_first() -> None:
    f, r = total(hl.Int(32), FOLDS["add"])
    vectorized(f, r)
    text, _ = code(f)
    assert "llvm.vector.reduce.add.v8i32" in text
    assert "atomicrmw" not in text


def test_threads_and_lanes() -> None:
    f, r = total(hl.Int(32), FOLDS["add"])
    both(f, r)
    text, _ = code(f)
    assert "llvm.vector.reduce.add.v16i32" in text
    assert "atomicrmw add" in text


# What is refused, and what has no effect.


def test_what_is_not_a_fold() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 9)], "r")
    f[x] = x
    f[r.x % 3] = 2 * f[r.x % 3] + r.x
    with pytest.raises(hl.ScheduleError) as caught:
        f.update().atomic()
    assert _plain(caught.value) == (
        "f.update(0).atomic: it is not proven that the updates may happen in any"
        " order\n"
        "each value must be the old one at the same place, folded with something that"
        " does not read f by +, -, *, min, max, &, | or ^, or be part of a product of"
        " complex numbers; or each value must be the one a point before it, plus such a"
        " thing\n"
        "hint: atomic(override_associativity_test=True) takes the responsibility"
    )


def test_a_place_that_depends_on_the_func() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 9)], "r")
    f[x] = x
    f[hl.clamp(f[r.x], 0, 9)] += 1
    with pytest.raises(hl.ScheduleError) as caught:
        f.update().atomic(True)
    assert _plain(caught.value) == (
        "f.update(0).atomic: which place is updated depends on values of f itself,"
        " which other iterations change"
    )


def test_parallel_hints_at_it() -> None:
    f, r = histogram(hl.UInt(32))
    with pytest.raises(hl.ScheduleError, match=r"hint: atomic\(\), given before"):
        f.update().parallel(r.x)


@pytest.mark.parametrize("stage", [0, 1])
def test_no_effect(stage: int) -> None:
    f, r = histogram(hl.UInt(32))
    if stage:
        f.update().atomic().unroll(r.x, 2)
    else:
        f.atomic().parallel(x)
        f.update().unscheduled()
    with pytest.warns(ScheduleWarning, match="atomic has no effect"):
        resolve(spec_of(f))


def _plain(error: hl.HalideError) -> str:
    lines = str(error).split("\n")
    kept = [s for s in lines if not s.startswith(("  --> ", "   |  "))]
    return re.sub(r"\b([A-Za-z]\w*)\$\d+\b", r"\1", "\n".join(kept))


def complex_product(t: str) -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("product"), hl.RDom([(0, 70), (0, 60)], "r")
    image = hl.Buffer(PIXELS)
    of = getattr(hl, t)
    f[x] = hl.Tuple(of(1), of(x))
    old = f[x]
    a, b = of(image[r.x, r.y]) / 255, of(image[r.x, 59 - r.y]) / 255
    if t != "f64":
        a, b = of(image[r.x, r.y]), of(image[r.x, 59 - r.y]) + of(x)
    f[x] = hl.Tuple(old[0] * a - old[1] * b, old[0] * b + old[1] * a)
    return f, r


@cache
def complex_products(t: str) -> tuple[Any, ...]:
    return interpret_all(complex_product(t)[0], [5])


@schedules
@pytest.mark.parametrize("t", ["i32", "u8"])
def test_complex_products(schedule: Sched, t: str) -> None:
    """Two values at once, in any order."""
    f, r = complex_product(t)
    schedule(f, r)
    got = several(f.realize([5]))
    for a, b in zip(got, complex_products(t), strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_complex_products_of_floats() -> None:
    f, r = complex_product("f64")
    parallel(f, r)
    got = several(f.realize([5]))
    for a, b in zip(got, complex_products("f64"), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-9, atol=1e-300)


NARROW: dict[str, Fold] = {
    "in more bits": lambda old, new: hl.u8(hl.u16(old) + hl.u16(new) * 3),
    "less, chosen": lambda old, new: hl.select(new < old, new, old),
    "one or the other": lambda old, new: hl.select(new > 7, old + new, old - 1),
}


@cache
def narrow_total(name: str) -> Any:
    return interpret(total(hl.UInt(8), NARROW[name])[0], [])


@schedules
@pytest.mark.parametrize("name", NARROW)
def test_other_forms_of_folds(schedule: Sched, name: str) -> None:
    f, r = total(hl.UInt(8), NARROW[name])
    schedule(f, r)
    np.testing.assert_array_equal(np.asarray(f.realize()), narrow_total(name))


def test_where_the_least_value_is_depends_on_the_order() -> None:
    f, r = hl.Func("least"), hl.RDom([(0, 70), (0, 60)], "r")
    e = hl.i32(hl.Buffer(PIXELS)[r.x, r.y])
    f[()] = hl.Tuple(256, -1)
    c = e < f[()][0]
    f[()] = hl.Tuple(hl.select(c, e, f[()][0]), hl.select(c, r.x, f[()][1]))
    with pytest.raises(hl.ScheduleError, match="of equal ones the order decides"):
        f.update().atomic()
    with pytest.raises(hl.ScheduleError, match="cannot be parallel"):
        f.update().parallel(r.y)
