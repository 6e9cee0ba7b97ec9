"""Numbers of directives that only runs know: each with its message, whole."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest

import parhelion as hl
from tests.support.realized import single
from tests.support.refusals import plain

x, y, xo, xi, yi, t = hl.vars("x y xo xi yi t")
Guard = hl.TailStrategy.GuardWithIf
POSITIVE = (
    "hint: give the Param a value of 1 or more, and a range that says so; or"
    " specialize for the values that this schedule is for"
)
ANOTHER = (
    "hint: give what it depends on another value, and a range that says which it may be"
)

#: A schedule of f, which reads g; its line; Param values; the message.
Given = Callable[[hl.Func, hl.Func, hl.Param], object]
CASES: list[tuple[Given, int, str, str]] = []


def bad(value: int, message: str, hint: str) -> Callable[[Given], Given]:
    def register(program: Given) -> Given:
        CASES.append((program, value, message, hint))
        return program

    return register


@bad(0, "f.split: the factor p of x evaluated to 0, which is not strictly positive",
     POSITIVE)  # fmt: skip
def split_by_nothing(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    f.split(x, xo, xi, p)


@bad(0x7FFFFFFF, "f.split: the factor p of x evaluated to 2147483647, which is more"
     " than 1048576", ANOTHER)  # fmt: skip
def split_by_all(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    f.split(x, xo, xi, p)


@bad(65536, "f.split: the factor p*p of x evaluated to 4294967296, which is more than"
     " 1048576", ANOTHER)  # fmt: skip
def split_by_a_product_that_wraps_to_nothing(
    f: hl.Func, g: hl.Func, p: hl.Param
) -> None:
    f.split(x, xo, xi, p * p)


@bad(-2, "f.tile: the factor p of y evaluated to -2, which is not strictly positive",
     POSITIVE)  # fmt: skip
def tiled(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    f.tile(x, y, xi, yi, 4, p)


@bad(-1, "f.parallel: the task size p of y evaluated to -1, which is not strictly"
     " positive", POSITIVE)  # fmt: skip
def tasks(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    f.parallel(y, p)


@bad(0, "g.update(0).split: the factor p of r.x evaluated to 0, which is not strictly"
     " positive", POSITIVE)  # fmt: skip
def split_of_an_update(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    r = g.rvars(0)[0]
    g.compute_root().update(0).split(r, hl.RVar("ro"), hl.RVar("ri"), p)


@bad(-3, "f.specialize(p < 2).split: the factor p of x evaluated to -3, which is not"
     " strictly positive", POSITIVE)  # fmt: skip
def split_of_a_branch(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    f.specialize(p < 2).split(x, xo, xi, p)


@bad(0, "g.ring_buffer: the number of copies p evaluated to 0, which is not strictly"
     " positive", POSITIVE)  # fmt: skip
def no_copies(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    g.compute_at(f, y).hoist_storage_root()
    g.ring_buffer(p)


@bad(-1, "g.ring_buffer: the number of copies p evaluated to -1, which is not strictly"
     " positive", POSITIVE)  # fmt: skip
def less_than_no_copies(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    g.compute_at(f, y).hoist_storage_root().async_()
    g.ring_buffer(p)


@bad(0, "g.bound_storage: the bound p of x evaluated to 0, which is not strictly"
     " positive", POSITIVE)  # fmt: skip
def bound_to_nothing(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    g.compute_root().bound_storage(x, p)


@bad(0, "g.fold_storage: the extent p of y evaluated to 0, which is not strictly"
     " positive", POSITIVE)  # fmt: skip
def folded_by_nothing(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    g.store_root().compute_at(f, y).fold_storage(y, p)


@bad(-1, "g.bound: the extent p of x evaluated to -1, which is less than 0",
     ANOTHER)  # fmt: skip
def bound_to_less(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    g.compute_root().bound(x, 0, p)


@bad(0x7FF00000, "g.bound: the end p + p of x evaluated to 4292870144, which is more"
     " than 2146435072", ANOTHER)  # fmt: skip
def bound_too_far(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    g.compute_root().bound(x, p, p)


@bad(1 << 21, "f.prefetch: the offset p along y evaluated to 2097152, which is more"
     " than 1048576", ANOTHER)  # fmt: skip
def far_ahead(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    g.compute_root()
    f.prefetch(g, y, y, p)


@bad(1 << 16, "f: the fused loop t would have 4294967296 iterations, and loops count in"
     " 32 bits", "hint: fuse smaller loops, as inner loops of splits are")  # fmt: skip
def fused_beyond_32_bits(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    f.tile(x, y, xi, yi, p, p, Guard)
    f.fuse(xi, yi, t)


@bad(1 << 16, "f: the splits of x round it up by 4294967295 together, which overflows"
     " 32-bit coordinates",
     "hint: give smaller factors to the splits of what splits have made")  # fmt: skip
def splits_of_splits(f: hl.Func, g: hl.Func, p: hl.Param) -> None:
    f.split(x, x, xi, p, Guard)
    f.split(x, x, xo, p, Guard)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_what_runs_are_told(case: tuple[Given, int, str, str]) -> None:
    """On the given arrays as on new ones; the code stays fit for other values."""
    schedule, value, message, hint = case
    f, g = hl.funcs("f g")
    r = hl.RDom([(0, 3)], "r")
    g[x, y] = x - 3
    g[x, y] += r.x
    f[x, y] = g[x, y] + y
    p = hl.Param(hl.Int(32), "p", value)
    schedule(f, g, p)
    lines, first = inspect.getsourcelines(schedule)
    out = hl.Buffer(hl.Int(32), [20, 12])
    for where in (out, [20, 12]):
        out.fill(-77)
        with pytest.raises(hl.ScheduleError) as caught:
            f.realize(where)
        error = caught.value
        assert error.at is not None
        assert first < error.at.line < first + len(lines)
        assert error.at.file == __file__
        told = re.sub(r"\$\d+", "", plain(error, __file__)).split("\n")
        assert told[0] == message
        assert told[-1] == hint
        assert out[0, 0] == out[19, 11] == -77


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda f: f.fold_storage(x, 0x7FFFFFFF),
            "f.fold_storage: the extent 2147483647 is more than 2146435072",
        ),
        (
            lambda f: f.bound_storage(x, 0x7FFFFFFF),
            "f.bound_storage: the bound 2147483647 is more than 2146435072",
        ),
        (
            lambda f: f.ring_buffer(1 << 21),
            "f.ring_buffer: the number of copies 2097152 is more than 1048576",
        ),
        (
            lambda f: f.align_storage(x, 1 << 21),
            "f.align_storage: the alignment 2097152 is more than 1048576",
        ),
        (
            lambda f: f.align_bounds(x, 1 << 21),
            "f.align_bounds: the modulus 2097152 is more than 1048576",
        ),
        (
            lambda f: f.bound(x, 0x7FFFFFFF, 1),
            "f.bound: the min 2147483647 of x is out of range: coordinates lie within"
            " 2146435072 of 0",
        ),
        (
            lambda f: f.bound(x, 0x70000000, 0x70000000),
            "f.bound: the end 3758096384 of x is out of range: coordinates lie within"
            " 2146435072 of 0",
        ),
    ],
)
def test_what_is_known_when_it_is_given(
    given: Callable[[hl.Func], object], message: str
) -> None:
    f = hl.Func("f")
    f[x, y] = x
    with pytest.raises(hl.ScheduleError) as caught:
        given(f)
    assert str(caught.value).split("\n")[0].replace("$", "") == message


def test_constants_that_are_too_much_together() -> None:
    """Each is lawful by itself."""
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = x - y
    f.split(x, x, xi, 1 << 16, Guard).split(x, x, xo, 1 << 16, Guard)
    with pytest.raises(hl.ScheduleError, match="round it up by 4294967295 together"):
        f.realize([20, 20])
    g.tile(x, y, xi, yi, 1 << 16, 1 << 16, Guard).fuse(xi, yi, t)
    with pytest.raises(hl.ScheduleError, match="would have 4294967296 iterations"):
        g.realize([20, 20])


def test_what_is_large_and_fits() -> None:
    f = hl.Func("f")
    f[x] = x
    f.split(x, x, xi, 1 << 20, Guard).split(x, x, xo, 1 << 10, Guard)
    assert single(f.realize([20]))[19] == 19
