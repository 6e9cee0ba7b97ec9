"""Bad directives on storage: each with its message, whole."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest

import parhelion as hl
from parhelion.schedule.legality import resolve
from parhelion.schedule.rules import ScheduleWarning
from tests.support.spec import spec_of

x, y, yo, yi = hl.vars("x y yo yi")


def pair() -> tuple[hl.Func, hl.Func]:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x, y + 1]
    return f, g


def lower(g: hl.Func) -> None:
    g.print_loop_nest()


def refused(program: Callable[[], object]) -> hl.ScheduleError:
    """The error of a program; its line is one of the program's."""
    with pytest.raises(hl.ScheduleError) as caught:
        program()
    error = caught.value
    assert error.at is not None and error.at.file == __file__
    lines, first = inspect.getsourcelines(program)
    assert first < error.at.line < first + len(lines)
    return error


def test_hoisted_further_in_than_stored() -> None:
    f, g = pair()

    def program() -> None:
        f.store_root().compute_at(g, y)
        f.hoist_storage(g, y)
        lower(g)

    error = refused(program)
    assert error.what == (
        "f.hoist_storage(g, y): the storage of f must be allocated at or outside"
        " f.store_root()"
    )
    assert error.legal == ("f.hoist_storage_root()",)
    assert error.detail.startswith("the loop nest without f:")


def test_hoisted_out_of_a_parallel_loop() -> None:
    f, g = pair()
    g.parallel(y)
    f.compute_at(g, x)

    def program() -> None:
        f.hoist_storage_root()
        lower(g)

    error = refused(program)
    assert error.what == (
        "f.hoist_storage_root(): the iterations of the parallel loop y of g would share"
        " the storage and overwrite each other's values"
    )
    assert error.legal == ("f.hoist_storage(g, y)", "f.hoist_storage(g, x)")


def test_hoisted_to_no_loop() -> None:
    f, g = pair()
    f.compute_at(g, y)

    def program() -> None:
        f.hoist_storage(g, yo)
        lower(g)

    error = refused(program)
    assert error.what == "f.hoist_storage(g, yo): g has no loop yo"
    assert error.legal == (
        "f.hoist_storage_root()",
        "f.hoist_storage(g, y)",
        "f.hoist_storage(g, x)",
    )


def test_hoisted_but_inlined() -> None:
    f, g = pair()

    def program() -> None:
        f.hoist_storage_root()
        lower(g)

    error = refused(program)
    assert error.what == "f.hoist_storage_root(): f is inlined and needs no storage"
    assert error.hint == "hoist_storage goes together with compute_at"


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (
            lambda f: f.fold_storage(yo, 4),
            "f.fold_storage: yo is not a dimension of f",
        ),
        (
            lambda f: f.fold_storage(y, 0),
            "f.fold_storage: the extent must be at least 1, not 0",
        ),
        (
            lambda f: f.fold_storage(y, 4, 1),
            "f.fold_storage: fold_forward is True or False, not 1",
        ),
        (
            lambda f: f.fold_storage(y, 2.5),
            "f.fold_storage: the extent must be an integer, not 2.5 (a float)",
        ),
        (
            lambda f: f.align_storage(x, -8),
            "f.align_storage: the alignment must be at least 1, not -8",
        ),
        (
            lambda f: f.align_storage(x, hl.Param(hl.Int(32), "n")),
            "f.align_storage: the alignment must be a constant",
        ),
        (
            lambda f: f.bound_storage(x, 0),
            "f.bound_storage: the bound must be at least 1, not 0",
        ),
        (
            lambda f: f.store_in("stack"),
            "f.store_in takes a MemoryType, not 'stack'",
        ),
        (
            lambda f: f.hoist_storage(x),
            "f.hoist_storage takes a Func and a Var or RVar, or a LoopLevel, not"
            " <parhelion.Var 'x'> alone",
        ),
    ],
)
def test_refused_at_once(directive: Callable[[hl.Func], object], message: str) -> None:
    f, _ = pair()
    with pytest.raises(hl.ScheduleError) as caught:
        directive(f)
    assert caught.value.what == message
    assert f._function.schedule.storage == {}


def test_folded_the_wrong_way() -> None:
    f, g = pair()
    f.store_root().compute_at(g, y).fold_storage(y, 4, False)
    with pytest.warns(ScheduleWarning) as caught:
        lower(g)
    assert str(caught[0].message) == (
        "f.fold_storage(y, …) has no effect: the loop g.y does not move backward"
        " through it (fold_forward=True is for the other direction)"
    )


def test_folded_where_whole_rows_must_stay() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y + 1]
    f.store_root().compute_at(g, x).fold_storage(x, 4)
    with pytest.warns(ScheduleWarning) as caught:
        lower(g)
    assert str(caught[0].message) == (
        "f.fold_storage(x, …) has no effect: of the loops between the storage of f and"
        " its computation (g.y, g.x), none moves through it while those outside leave"
        " nothing to their next iterations"
    )


def test_registers_of_unknown_number() -> None:
    f, g = pair()
    f.compute_root()

    def program() -> None:
        f.store_in(hl.MemoryType.Register)
        g.realize([4, 4])

    error = refused(program)
    assert error.what == (
        "f.store_in(MemoryType.Register): the size of the storage of f is not a"
        " constant"
    )
    assert error.hint == "f.bound_storage gives it a constant size"


@pytest.mark.parametrize(
    ("directive", "call"),
    [
        (lambda g: g.fold_storage(y, 4), "g.fold_storage(y, …)"),
        (lambda g: g.align_storage(x, 4), "g.align_storage(x, …)"),
        (lambda g: g.bound_storage(x, 4), "g.bound_storage(x, …)"),
        (lambda g: g.store_in(hl.MemoryType.Stack), "g.store_in"),
        (lambda g: g.reorder_storage(y, x), "g.reorder_storage"),
    ],
)
def test_an_output_has_no_storage_to_lay_out(
    directive: Callable[[hl.Func], object], call: str
) -> None:
    _, g = pair()
    directive(g)
    with pytest.warns(ScheduleWarning) as caught:
        resolve(spec_of(g))
    assert str(caught[0].message) == (
        "g is an output of the pipeline, stored in the caller's buffer:"
        f" {call} has no effect"
    )


def test_inlined_funcs_have_no_storage() -> None:
    f, g = pair()
    f.fold_storage(y, 4)
    with pytest.warns(ScheduleWarning) as caught:
        resolve(spec_of(g))
    assert str(caught[0].message) == (
        "f is inlined: f.fold_storage(y, …) has no effect"
    )


def test_a_copy_has_the_name_that_the_user_knows() -> None:
    """`f` is computed for `g` and for `h` apart, each time with a `p` of its own."""
    n = hl.Param(hl.Int(32), "n", 5)
    r = hl.RDom([(0, 8)], "r")
    p, f, g, h = hl.Func("copied"), hl.Func("inner"), hl.Func("g"), hl.Func("h")
    p[x, y] = x + y
    f[x] = 0
    f[x] += p[x, r.x] + p[x, r.x + n]
    g[x] = f[0]
    h[x] = g[x] + f[x]
    g.compute_root()
    p.store_at(f, x).compute_at(f, r.x).fold_storage(y, 4)
    shown = hl.Pipeline(h).lowered_text()
    assert "allocate copied.1[" in shown and "allocate inner.1[" in shown
    said = re.findall(r"assert\(.*", shown)
    assert said and not any("copied.1" in line.split(", ", 1)[1] for line in said)
    assert sum('"copied", "y", "inner.r.x", 4, ' in line for line in said) >= 2
    with pytest.raises(hl.BoundsError) as caught:
        h.realize([8])
    assert str(caught.value).startswith(
        "Func 'copied' is folded in dimension y by 4, but an iteration of the loop"
        " inner.r.x uses 6 coordinates of it\n"
    )
    assert "p[x, y] = x + y" in str(caught.value)


def test_a_warning_of_a_copy_is_one_of_the_func() -> None:
    f, g, h = hl.Func("twice"), hl.Func("g"), hl.Func("h")
    r = hl.RDom([(0, 4)], "r")
    f[x] = 0
    f[x] += r.x * x
    f.store_in(hl.MemoryType.Stack)
    g[x] = f[x] + f[2 * x]
    h[x] = g[x] + f[x] + f[3 * x]
    g.compute_root()
    with pytest.warns(ScheduleWarning) as caught:
        hl.Pipeline(h).lowered_text()
    assert {str(w.message) for w in caught} == {
        "twice.store_in(MemoryType.Stack): the size of the storage of twice is not a"
        " constant, so that it is on the heap"
    }
