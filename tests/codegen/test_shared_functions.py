"""Parallel loops that do the same are one function, called with other closures."""

from __future__ import annotations

import re

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.codegen.target import host_target
from parhelion.lower.passes import lower
from tests.support.checking import check
from tests.support.spec import spec_of

x, y = hl.Var("x"), hl.Var("y")


def _start(name: str, value: int) -> hl.Func:
    f = hl.Func(name)
    f[x, y] = x * value + y
    return f


def _mix(name: str, a: hl.Func, b: hl.Func, by: int = 2) -> hl.Func:
    f = hl.Func(name)
    f[x, y] = a[x, y] * by + b[x + 1, y]
    return f


def _joined(*steps: hl.Func) -> hl.Func:
    """A serial loop that reads two stages, each computed in a parallel loop."""
    for f in steps:
        f.compute_root().vectorize(x, 8).parallel(y)
    last = hl.Func("last")
    last[x, y] = steps[0][x, y] * 3 - steps[1][x, y]
    return last


def _functions(f: hl.Func) -> int:
    """How many functions the parallel loops of a pipeline became."""
    text = emit(lower(spec_of(f), name="f"), host_target())
    return len(re.findall(r"(?m)^define internal i32 @\S*\.par", text))


def _starts() -> list[hl.Func]:
    return [_start(n, k).compute_root() for k, n in enumerate("abcd")]


def _alike() -> hl.Func:
    a, b, c, d = _starts()
    return _joined(_mix("e", a, b), _mix("f", c, d))


def _of_one() -> hl.Func:
    a, b, c, _ = _starts()
    return _joined(_mix("e", a, b), _mix("f", c, c))


def test_stages_that_are_computed_alike_share_a_function() -> None:
    assert _functions(_alike()) == 1
    check(_alike, [37, 11])


def test_another_constant_is_another_function() -> None:
    a, b, c, d = _starts()
    assert _functions(_joined(_mix("e", a, b), _mix("f", c, d, by=7))) == 2


def test_what_reads_one_buffer_is_no_function_of_two() -> None:
    assert _functions(_of_one()) == 2
    check(_of_one, [37, 11])


def test_loops_that_may_fail_tell_which_of_them_did() -> None:
    least = hl.Param(hl.Int(32), "least")
    funcs = []
    for name in ("c", "d"):
        f = hl.Func(name)
        f[x, y] = hl.require(x + y < least, x + y, "too much")
        funcs.append(f)
    assert _functions(_joined(*funcs)) == 2
