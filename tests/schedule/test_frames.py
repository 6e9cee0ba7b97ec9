"""`store_in(MemoryType.Stack)`: what fits on the stack of one thread."""

from __future__ import annotations

import re
import warnings

import pytest

import parhelion as hl
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.schedule.rules import ScheduleWarning
from tests.support.checking import check
from tests.support.spec import spec_of

x, y = hl.vars("x y")
KIB_100 = 25600  # elements of int32


def chain(count: int) -> tuple[hl.Func, ...]:
    """Each Func reads the one after it; all but the first are 100 KiB large."""
    funcs = [hl.Func(f"f{k}") for k in range(count)]
    funcs[-1][x, y] = x * 3 + y
    for user, used in zip(funcs[-2::-1], funcs[::-1], strict=False):
        user[x, y] = used[x, y] + used[KIB_100 - 1 - x, y]
    funcs[0].bound(x, 0, KIB_100)
    for f in funcs[1:]:
        f.bound_storage(x, KIB_100).store_in(hl.MemoryType.Stack)
    return tuple(funcs)


def places(f: hl.Func) -> dict[str, str]:
    """Where each Func's storage is, and what was said of it."""
    made = text(lower(spec_of(f), name="f").body)
    found = re.findall(r"allocate (f\d)(?:\$\d+)?\[.*\] (?:in|on) (?:the )?(\w+)", made)
    return dict(found)


def test_as_many_as_fit() -> None:
    funcs = chain(4)
    for f in funcs[1:]:
        f.compute_at(funcs[0], y)
    with pytest.warns(ScheduleWarning) as caught:
        found = places(funcs[0])
    assert found == {"f3": "stack", "f2": "stack", "f1": "heap"}
    (said,) = [str(w.message) for w in caught]
    assert re.sub(r"\$\d+", "", said) == (
        "f1.store_in(MemoryType.Stack): with all else that is on the stack of a thread"
        " at that time, the storage of f1 takes more than 262144 bytes, so that it is"
        " on the heap"
    )


def test_the_stacks_of_nested_loops_are_one() -> None:
    """A thread that waits for the inner loop has the frames of both on its stack."""

    def nested(*funcs: hl.Func) -> None:
        f, g, h, p = funcs
        f.parallel(y)
        g.compute_at(f, y).parallel(x, 6400)
        h.compute_at(g, x)
        p.compute_at(f, y)

    funcs = chain(4)
    nested(*funcs)
    with pytest.warns(ScheduleWarning, match=r"f\d.*store_in.*so that it is on"):
        found = places(funcs[0])
    assert sorted(found.values()) == ["heap", "stack", "stack"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScheduleWarning)
        check(lambda: chain(4), (KIB_100, 3), [nested])


def test_iterations_beside_each_other_have_stacks_of_their_own() -> None:
    """Loops of the same depth do not add up: a thread is in one of them at a time."""
    out = hl.Func("out")
    parts = [hl.Func(f"f{k}") for k in range(4)]
    for part in parts:
        inner = hl.Func("f9")
        inner[x, y] = x + y
        part[x, y] = inner[x, y] + inner[KIB_100 - 1 - x, y]
        inner.bound_storage(x, KIB_100).store_in(hl.MemoryType.Stack)
        inner.compute_at(part, y)
        part.compute_root().parallel(y)
    total: hl.Expr | hl.FuncRef = parts[0][x, y]
    for part in parts[1:]:
        total = total + part[x, y]
    out[x, y] = total
    out.bound(x, 0, KIB_100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = text(lower(spec_of(out), name="out").body)
    assert len(re.findall(r"allocate f9(?:\$\d+)?\[.*stack", made)) == 4


def test_registers_that_do_not_fit_are_refused() -> None:
    funcs = chain(4)
    for f in funcs[1:]:
        f.compute_at(funcs[0], y).store_in(hl.MemoryType.Register)
    with pytest.raises(hl.ScheduleError, match=r"f1.*store_in.*Register.*: with all"):
        places(funcs[0])


def test_other_storage_makes_room() -> None:
    """What the user wished for comes before what is on the stack for being small."""
    out, wished = hl.Func("out"), hl.Func("f0")
    wished[x, y] = x + y
    small = [hl.Func(f"f{k + 1}") for k in range(8)]
    total = wished[x, y] + wished[65535 - x, y]
    for f in small:
        f[x, y] = x * y
        total = total + f[x % 4096, y]
        f.compute_at(out, y).bound_storage(x, 4096)
    out[x, y] = total
    wished.bound_storage(x, 63000).store_in(hl.MemoryType.Stack).compute_at(out, y)
    out.bound(x, 0, 63000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = places(out)
    assert found.pop("f0") == "stack"
    assert set(found.values()) == {"heap"}
