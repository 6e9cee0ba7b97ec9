"""What each directive adds to the schedule, and that a refused one adds nothing."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest

import parhelion as hl
from parhelion.errors import Site
from parhelion.ir.build import const_int
from parhelion.ir.changes import epoch
from parhelion.ir.stmt import MemoryKind
from parhelion.schedule import rules
from parhelion.schedule.directives import (
    OUTERMOST,
    DimType,
    Fuse,
    Place,
    Rename,
    Split,
    StageSchedule,
)
from parhelion.schedule.reach import Reach
from parhelion.schedule.recomputing import RecomputeWarning

x, y, z, u, v, w, t = (hl.Var(n) for n in ("x", "y", "z", "u", "v", "w", "t"))
Tail = hl.TailStrategy


def func() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = x + y
    return f


def schedule(f: hl.Func, stage: int = 0) -> StageSchedule:
    return f._function.stages()[stage].schedule


def loops(f: hl.Func, stage: int = 0) -> str:
    """The loops innermost first, with the first letter of their kind."""
    return " ".join(f"{d.var.name}:{d.kind.value[0]}" for d in schedule(f, stage).dims)


def splits(f: hl.Func, stage: int = 0) -> list[tuple[str, str, str, int | None, str]]:
    return [
        (t.old.name, t.outer.name, t.inner.name, const_int(t.factor), t.tail.name)
        for t in schedule(f, stage).transforms
        if isinstance(t, Split)
    ]


# Loops.


def test_initial_loops() -> None:
    f = hl.Func("f")
    r = hl.RDom([(0, 4), (0, 5)], "r")
    f[x, y, z] = 0
    f[x, r.x, z] += r.y
    assert loops(f) == "x:f y:f z:f"
    assert loops(f, 1) == "r$x:f r$y:f x:f z:f"
    types = [d.type for d in schedule(f, 1).dims]
    assert types[:2] == [DimType.PURE_RVAR, DimType.IMPURE_RVAR]
    assert types[2:] == [DimType.PURE_VAR] * 2


def test_split() -> None:
    f = func().split(x, u, v, 8)
    assert loops(f) == "v:f u:f y:f"
    assert splits(f) == [("x", "u", "v", 8, "ShiftInwards")]
    f.split(u, u, w, 4, Tail.GuardWithIf)
    assert loops(f) == "v:f w:f u:f y:f"
    assert splits(f)[1] == ("u", "u", "w", 4, "GuardWithIf")


def test_split_into_its_own_name() -> None:
    f = func().split(x, u, x, 8)
    assert loops(f) == "x:f u:f y:f"


def test_split_by_what_a_run_gives() -> None:
    size = hl.Param(hl.Int(32), "size")
    f = func().split(x, u, v, size + 1).split(y, y, w, size)
    assert [s[3] for s in splits(f)] == [None, None]


def test_splits_keep_the_kind_of_the_loop() -> None:
    f = func().parallel(x).split(x, u, v, 8)
    assert loops(f) == "v:p u:p y:f"


def test_tails_chosen() -> None:
    # What is inside a shifted split only repeats its last iteration.
    f = func().vectorize(x, 8).unroll(x, 4).unroll(x, 16)
    assert [s[4] for s in splits(f)] == ["ShiftInwards", "RoundUp", "ShiftInwards"]
    f[x, y] += 1
    r = hl.RDom([(0, 10)], "r")
    f[x, r] += 1
    f.update(0).vectorize(x, 8)
    f.update(1).unroll(r, 2)
    assert splits(f, 1)[0][4] == splits(f, 2)[0][4] == "GuardWithIf"


def test_tails_of_updates() -> None:
    f = func()
    f[x, y] += 1
    f.update(0).split(x, u, v, 8, Tail.RoundUp).split(u, u, w, 2, Tail.RoundUp)
    assert [s[4] for s in splits(f, 1)] == ["RoundUp", "RoundUp"]


def test_fuse() -> None:
    f = func().fuse(x, y, t)
    assert loops(f) == "t:f"
    (made,) = schedule(f).transforms
    assert isinstance(made, Fuse)
    assert (made.inner.name, made.outer.name, made.fused.name) == ("x", "y", "t")


def test_fuse_brings_the_outer_loop_to_the_inner() -> None:
    f = hl.Func("f")
    f[x, y, z] = x + y + z
    f.fuse(x, z, t)
    assert loops(f) == "t:f y:f"
    f = hl.Func("f")
    f[x, y, z] = x + y + z
    f.fuse(z, x, x)
    assert loops(f) == "y:f x:f"


def test_rename() -> None:
    f = func().rename(x, u).vectorize(u, 4)
    assert loops(f) == "v0:v u:f y:f"
    first = schedule(f).transforms[0]
    assert isinstance(first, Rename) and first.new.name == "u"


def test_reorder() -> None:
    assert loops(func().reorder(y, x)) == "y:f x:f"
    assert loops(func().reorder([y, x])) == "y:f x:f"
    f = hl.Func("f")
    f[x, y, z] = 0
    # Those not named keep their places.
    assert loops(f.reorder(z, x)) == "z:f y:f x:f"


@pytest.mark.parametrize(
    "f, expected",
    [
        (func().tile(x, y, u, v, 8, 4), "u:f v:f x:f y:f"),
        (func().tile(x, y, z, w, u, v, 8, 4), "u:f v:f z:f w:f"),
        (func().tile([x, y], [u, v], [8, 4]), "u:f v:f x:f y:f"),
        (func().tile([x, y], [z, w], [u, v], [8, 4], Tail.RoundUp), "u:f v:f z:f w:f"),
        (func().tile(x=x, y=y, xi=u, yi=v, xfactor=8, yfactor=4), "u:f v:f x:f y:f"),
    ],
)
def test_tile(f: hl.Func, expected: str) -> None:
    assert loops(f) == expected
    assert [s[3] for s in splits(f)] == [8, 4]


def test_kinds() -> None:
    f = func().parallel(y).vectorize(x, 8).unroll(x, 2)
    assert loops(f) == "v0:v v1:u x:f y:p"
    assert loops(f.serial(y)) == "v0:v v1:u x:f y:f"
    assert loops(func().parallel(y, 4)) == "x:f v0:f y:p"
    assert loops(func().vectorize(x)) == "x:v y:f"


def test_an_rdom_of_one_dimension_is_its_variable() -> None:
    f = hl.Func("f")
    r = hl.RDom([(0, 10)], "r")
    f[x] = 0
    f[x] += r
    f.update(0).unroll(r, 2)
    assert loops(f, 1) == "v0:u r$x:f x:f"


# Reductions.


def test_integer_sums_may_be_reordered() -> None:
    f = hl.Func("f")
    r = hl.RDom([(0, 4), (0, 5)], "r")
    f[x] = 0
    f[x] += r.x * r.y
    f.update(0).reorder(r.y, r.x)
    assert loops(f, 1) == "r$y:f r$x:f x:f"


def test_independent_rvars_run_as_vectors_and_tasks() -> None:
    f = hl.Func("f")
    r = hl.RDom([(0, 64), (0, 5)], "r")
    f[x, y] = 0
    f[r.x, y] = f[r.x, y] * 2 + r.y
    f.update(0).reorder(r.y, r.x).vectorize(r.x, 8).parallel(r.x)
    assert loops(f, 1) == "r$y:f v0:v r$x:p y:f"


def test_users_may_answer_for_races() -> None:
    f = hl.Func("f")
    r = hl.RDom([(0, 4), (0, 5)], "r")
    f[x] = 0.0
    f[x] += hl.f32(r.x) / (r.y + 1)
    with pytest.raises(hl.ScheduleError):
        f.update(0).reorder(r.y, r.x)
    f.update(0).allow_race_conditions().reorder(r.y, r.x).parallel(r.x)
    assert loops(f, 1) == "r$y:f r$x:p x:f"


def test_vars_may_move_anywhere() -> None:
    f = hl.Func("f")
    r = hl.RDom([(1, 4), (0, 5)], "r")
    f[x, y] = 0
    f[x, r.x] = f[x, r.x - 1] * 3 + r.y
    f.update(0).reorder(x, r.x, r.y).vectorize(x, 4)
    assert loops(f, 1) == "v0:v x:f r$x:f r$y:f"


# Places.


def test_places() -> None:
    f, g = func(), hl.Func("g")
    g[x, y] = f[x, y]
    s = f._function.schedule
    assert s.compute.place is Place.INLINED and s.store is None
    f.compute_root()
    assert s.compute.place is s.store_level.place is Place.ROOT
    f.compute_at(g, y)
    assert s.compute.func is g._function and s.compute.var is y._var
    assert s.store_level is s.compute
    f.store_root()
    assert s.store_level.place is Place.ROOT
    f.store_at(g, y).compute_at(g, x)
    assert s.store_level.var is y._var
    f.compute_inline()
    assert s.compute.place is Place.INLINED and s.store is None


def test_the_outermost_place() -> None:
    f, g = func(), hl.Func("g")
    g[x, y] = f[x, y]
    f.compute_at(g, hl.Var.outermost())
    assert f._function.schedule.compute.var is OUTERMOST


def test_loop_levels() -> None:
    f, g = func(), hl.Func("g")
    g[x, y] = f[x, y]
    level = hl.LoopLevel(g, x, 0)
    alias = hl.LoopLevel(level)
    f.compute_at(level).store_at(hl.LoopLevel.root())
    s = f._function.schedule
    assert (s.compute.var, s.compute.stage) == (x._var, 0)
    assert level.stage_index() == 0
    alias.set(hl.LoopLevel(g, y))
    assert (s.compute.var, s.compute.stage) == (y._var, -1)
    assert s.store_level.place is Place.ROOT
    # A later directive takes the Func away from the level.
    f.compute_root()
    level.set(hl.LoopLevel.inlined())
    assert s.compute.place is Place.ROOT


# Storage, bounds and estimates.


def test_storage() -> None:
    f = hl.Func("f")
    f[x, y, z] = 0
    s = f._function.schedule
    assert s.storage_order == (0, 1, 2)
    f.reorder_storage(z, x)
    assert s.storage_order == (2, 1, 0)
    f.reorder_storage([x, y, z])
    assert s.storage_order == (0, 1, 2)
    memory = []
    for kind in (hl.MemoryType.Stack, hl.MemoryType.Auto):
        f.store_in(kind)
        memory.append(s.memory)
    assert memory == [MemoryKind.STACK, MemoryKind.AUTO]


def test_bounds() -> None:
    f = func().bound(x, 0, 16).bound(x, 2, 32).bound_extent(y, 8)
    f.align_bounds(x, 16, 18).align_extent(y, 4)
    region = [b for b in f._function.schedule.bounds if b.modulus is None]
    assert [b.var.name for b in region] == ["x", "y"]
    assert const_int(region[0].min) == 2  # type: ignore[arg-type]
    assert region[1].min is None
    aligned = [b for b in f._function.schedule.bounds if b.modulus is not None]
    assert [(b.modulus, b.remainder) for b in aligned] == [(16, 2), (4, None)]


def test_estimates() -> None:
    f = func().set_estimate(y, 0, 480).set_estimate(x, 0, 640)
    assert [b.var.name for b in f._function.schedule.estimates] == ["y", "x"]
    f.set_estimates([(0, 64), hl.Range(1, 32)])
    made = f._function.schedule.estimates
    assert [const_int(b.extent) for b in made] == [64, 32]  # type: ignore[arg-type]


# Refusals change nothing.


@pytest.mark.parametrize(
    "directive",
    [
        lambda f: f.tile(x, y, u, x, 8, 8),
        lambda f: f.tile(x, y, u, v, 8, 0),
        lambda f: f.vectorize(x, 0),
        lambda f: f.update(0).split(x, u, v, 8, Tail.ShiftInwards),
        lambda f: f.fuse(x, z, t),
        lambda f: f.reorder(y, x, y),
        lambda f: f.rename(x, y),
        lambda f: f.update(0).vectorize(hl.RVar("r"), 4),
        lambda f: f.compute_at(f, x),
        lambda f: f.reorder_storage(x, z),
        lambda f: f.bound(x, 0, -1),
    ],
)
def test_a_refused_directive_changes_nothing(directive: object) -> None:
    f = func()
    f[x, y] += 1
    own = f._function.schedule
    before = [copy.copy(schedule(f, k)) for k in (0, 1)]
    loops = [(s.dims, s.transforms) for s in before]
    places = (own.compute, own.store, own.storage_order, own.bounds)
    state = Reach([f._function]).look()
    with pytest.raises(hl.ScheduleError):
        directive(f)  # type: ignore[operator]
    after = [schedule(f, k) for k in (0, 1)]
    assert [(s.dims, s.transforms) for s in after] == loops
    assert places == (own.compute, own.store, own.storage_order, own.bounds)
    assert not any(s.touched for s in after)
    assert Reach([f._function]).look() == state


def test_directives_move_the_epoch() -> None:
    f = func()
    marks = [epoch()]
    directives: list[Callable[[], object]] = [
        lambda: f.vectorize(x, 4),
        lambda: f.compute_root(),
        lambda: f.bound(x, 0, 8),
        lambda: f.reorder_storage(y, x),
        lambda: f.store_in(hl.MemoryType.Heap),
    ]
    for directive in directives:
        directive()
        marks.append(epoch())
    assert marks == sorted(set(marks))


def test_sites_are_the_users_lines() -> None:
    f = func().vectorize(x, 4)
    (made,) = schedule(f).transforms
    assert made.site is not None and made.site.file == __file__
    assert "vectorize" in made.site.text()


def test_a_warning_is_shown_once_and_few_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process may warn of pipelines without end, each with its own names."""
    monkeypatch.setattr(rules, "_WARNED", {})
    monkeypatch.setattr(rules, "_MOST_WARNED", 10)
    here = Site(__file__, 1)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for k in range(100):
            for kind in (rules.ScheduleWarning, RecomputeWarning):
                rules.show_once(f"f${k} is warned of", kind, here)
                rules.show_once(f"f${k} is warned of", kind, here)
            assert len(rules._WARNED) <= 12
    assert len(shown) == 200
