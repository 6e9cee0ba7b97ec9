"""compute_with where it cannot be: one bad program, one message."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.schedule.legality import resolve
from tests.support.spec import spec_of

x, y, z, yi = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("yi")
Funcs = tuple[hl.Func, hl.Func, hl.Func]


def pair() -> Funcs:
    f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
    f[x, y] = x + y
    g[x, y] = x - y
    o[x, y] = f[x, y] + g[x, y]
    f.compute_root()
    g.compute_root()
    return f, g, o


def refused(program: Callable[[], object]) -> hl.ScheduleError:
    with pytest.raises(hl.ScheduleError) as error:
        program()
    return error.value


def lower(*outputs: hl.Func) -> None:
    resolve(spec_of(*outputs))


def test_arguments() -> None:
    f, g, _ = pair()
    assert refused(lambda: g.compute_with(g, y)).what == (
        f"{g.name()}.compute_with: {g.name()} cannot share loops with itself"
    )
    no_loop = refused(lambda: g.compute_with(f, z))
    assert no_loop.what == f"{g.name()}.compute_with: {g.name()} has no loop z"
    assert no_loop.legal == ("x", "y")
    assert refused(lambda: g.compute_with(f)).what == (  # type: ignore[call-overload]
        f"{g.name()}.compute_with takes a Func or Stage and one of its loops, or a "
        "LoopLevel, and then an alignment"
    )
    assert refused(lambda: g.compute_with(f, y, 3)).what == (  # type: ignore[call-overload]
        f"{g.name()}.compute_with: the alignment is a LoopAlignStrategy, or a list of "
        "(Var, LoopAlignStrategy), not 3"
    )


def message(o: hl.Func, g: hl.Func, f: hl.Func, var: str = "y") -> str:
    error = refused(lambda: lower(o))
    head = f"{g.name()}.compute_with({f.name()}, {var}): "
    assert error.what.startswith(head)
    assert error.at is not None and "compute_with" in error.at.text()
    return error.what.removeprefix(head)


def test_the_other_lacks_the_loop() -> None:
    f, g, o = pair()
    f.rename(y, z)
    g.compute_with(f, y)
    assert message(o, g, f) == f"{f.name()} has no loop y"


def test_another_place() -> None:
    f, g, o = pair()
    g.compute_at(o, y)
    g.compute_with(f, y)
    assert message(o, g, f) == (
        f"{g.name()} is computed in the loop y of {o.name()}, and {f.name()} at the"
        " root"
    )


def test_what_nothing_reads_is_nowhere() -> None:
    """Both are read by the half of an inlined Tuple that is not taken."""
    f, g, both, out = hl.Func("f"), hl.Func("g"), hl.Func("both"), hl.Func("out")
    f[x, y], g[x, y] = x, y
    both[x, y] = (x + y, f[x, y] + g[x, y])
    out[x, y] = both[x, y][0]
    f.compute_root()
    g.compute_root()
    g.compute_with(f, y)
    assert np.array_equal(np.asarray(out.realize([3, 2])), [[0, 1, 2], [1, 2, 3]])
    other = hl.Func("other")
    other[x, y] = out[x, y] + f[x, y]
    out.compute_root()
    assert message(other, g, f) == (
        f"{g.name()} is computed nowhere, as nothing that is computed reads it, and"
        f" {f.name()} at the root"
    )


def test_inlined() -> None:
    f, g, o = pair()
    g.compute_inline()
    g.compute_with(f, y)
    assert message(o, g, f) == f"{g.name()} is inlined and has no loops"


def test_not_in_the_pipeline() -> None:
    _, g, o = pair()
    h = hl.Func("h")
    h[x, y] = x
    g.compute_with(h, y)
    assert message(o, g, h) == f"{h.name()} is not part of the pipeline"


def test_dependence() -> None:
    f, g, h, o = (hl.Func(n) for n in "fgho")
    f[x, y] = x
    h[x, y] = f[x, y] + 1
    g[x, y] = h[x, y]
    o[x, y] = f[x, y] + g[x, y]
    for one in (f, g):
        one.compute_root()
    g.compute_with(f, y)
    assert message(o, g, f) == f"{g.name()} depends on {f.name()}"


def test_different_depths_and_names() -> None:
    f, g, o = pair()
    g.reorder(y, x)
    g.compute_with(f, y)
    assert message(o, g, f) == (
        f"y is loop 2 of {g.name()}, counted from the outermost, and loop 1 of "
        f"{f.name()}"
    )
    f, g, o = pair()
    g.rename(y, z)
    g.compute_with(f, x)
    assert message(o, g, f, "x") == (
        f"the loop z of {g.name()} meets the loop y of {f.name()}"
    )


def test_different_kinds() -> None:
    f, g, o = pair()
    f.parallel(y)
    g.compute_with(f, y)
    assert message(o, g, f) == (
        f"the loop y is serial in {g.name()} and parallel in {f.name()}"
    )


def test_circle() -> None:
    f, g, o = pair()
    g.compute_with(f, y)
    f.compute_with(g, y)
    what = refused(lambda: lower(o)).what
    assert what.endswith("stages share each other's loops in a circle")


def test_order_of_definitions() -> None:
    f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
    f[x, y] = x
    g[x, y] = y
    f[x, y] += 1
    g[x, y] += 1
    o[x, y] = f[x, y] + g[x, y]
    f.compute_root()
    g.compute_root()
    g.compute_with(f.update(0), y)
    g.update(0).compute_with(f, y)
    what = refused(lambda: lower(o)).what
    assert what.endswith("the definitions of a Func would run in another order")


def test_specialized() -> None:
    f, g, o = pair()
    p = hl.Param(hl.Int(32), "p")
    g.specialize(p > 3)
    g.compute_with(f, y)
    assert message(o, g, f) == f"{g.name()} is specialized"


def test_memoized() -> None:
    """A result that is kept skips the loops of its Func, and with them the other's."""
    for one in (0, 1):
        f, g, o = pair()
        (f, g)[one].memoize()
        g.compute_with(f, y)
        assert message(o, g, f) == (
            f"{(f, g)[one].name()} is memoized: its loops run only where its result is"
            " not kept"
        )


def test_two_pairs_that_wait_for_each_other() -> None:
    a, b, c, d, o = (hl.Func(n) for n in "abcdo")
    c[x, y] = x
    b[x, y] = y
    a[x, y] = c[x, y] + 1
    d[x, y] = b[x, y] + 1
    o[x, y] = a[x, y] + d[x, y]
    for f in (a, b, c, d):
        f.compute_root()
    a.compute_with(b, y)
    c.compute_with(d, y)
    assert refused(lambda: lower(o)).what.endswith(
        "of the Funcs that share loops, each of these sets needs values of another"
        f" one: {d.name()}, {c.name()}; {b.name()}, {a.name()}"
    )


def test_producers_are_computed_at_the_leader() -> None:
    p, f, g, o = (hl.Func(n) for n in "pfgo")
    p[x, y] = x
    f[x, y] = p[x, y]
    g[x, y] = p[x, y]
    o[x, y] = f[x, y] + g[x, y]
    f.compute_root()
    g.compute_root()
    p.compute_at(g, y)
    g.compute_with(f, y)
    error = refused(lambda: lower(o))
    assert error.what == (
        f"{p.name()}.compute_at({g.name()}, y): {f.name()} uses {p.name()} outside the "
        f"loop y of {g.name()}"
    )
    assert f"{p.name()}.compute_at({f.name()}, y)" in error.legal
