"""Wrappers and clones: the result stays, and they are read where they should be."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.schedule.rules import ScheduleWarning
from tests.support.checking import check
from tests.support.spec import spec_of

x, y, xi, yi = hl.vars("x y xi yi")


def lowered(f: hl.Func) -> str:
    return text(lower(spec_of(f), name="test").body)


def chain() -> tuple[hl.Func, hl.Func, hl.Func]:
    p, q, o = hl.Func("p"), hl.Func("q"), hl.Func("o")
    p[x, y] = x * 3 + y
    p[x, 2] += x
    q[x, y] = p[x, y] * 2 + p[x + 1, y]
    o[x, y] = q[x, y] - p[x, y + 1]
    return o, q, p


def pairs() -> tuple[hl.Func, hl.Func]:
    p, o = hl.Func("p"), hl.Func("o")
    r = hl.RDom([(0, 4)], "r")
    p[x, y] = hl.Tuple(x + y, hl.u8(x * y))
    p[x, y] = hl.Tuple(p[x, y][0] + r.x, p[x, y][1] + hl.u8(1))
    o[x, y] = p[x, y][0] * 10 + p[x + 1, y][1]
    return o, p


def wrapped_for_one(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    p.compute_root()
    q.compute_at(o, y)
    p.in_(q).compute_at(q, x).vectorize(x, 4)


def wrapped_for_both(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    p.compute_root()
    o.tile(x, y, xi, yi, 8, 4)
    q.compute_at(o, x)
    p.in_([q, o]).compute_at(o, x).unroll(y, 2)


def wrapped_for_all(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    everywhere = p.in_().compute_root().parallel(y)
    p.compute_at(everywhere, y)
    everywhere.in_(o).compute_at(o, y)


def wrapped_twice(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    p.compute_root()
    q.compute_root()
    once = p.in_(q).compute_at(q, y)
    once.in_(q).compute_at(q, x)


def output_wrapped_nowhere_else(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    q.in_(o).compute_at(o, y).store_root()
    p.compute_root()


def cloned_for_one(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    p.compute_root()
    q.compute_root()
    p.clone_in(q).compute_at(q, y).vectorize(x, 8)


def cloned_for_both(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    q.compute_at(o, y)
    p.clone_in([q, o]).compute_root()


def cloned_and_wrapped(o: hl.Func, q: hl.Func, p: hl.Func) -> None:
    q.compute_root()
    p.clone_in(q).compute_root().in_(q).compute_at(q, x)
    p.compute_at(o, y)


@pytest.mark.filterwarnings("ignore::parhelion.schedule.rules.ScheduleWarning")
def test_the_result_stays() -> None:
    check(
        chain,
        (21, 13),
        (
            *(wrapped_for_one, wrapped_for_both, wrapped_for_all, wrapped_twice),
            *(output_wrapped_nowhere_else, cloned_for_one, cloned_for_both),
            cloned_and_wrapped,
        ),
    )


@pytest.mark.filterwarnings("ignore::parhelion.schedule.rules.ScheduleWarning")
def test_several_values() -> None:
    def wrapper(o: hl.Func, p: hl.Func) -> None:
        p.compute_root()
        p.in_(o).compute_at(o, y)

    def clone(o: hl.Func, p: hl.Func) -> None:
        p.clone_in(o).compute_at(o, x)

    check(pairs, (9, 7), (wrapper, clone))


def test_a_wrapper_is_stored_where_it_is_computed() -> None:
    p, o = hl.Func("p"), hl.Func("o")
    p[x, y] = x + y
    o[x, y] = p[x, y] + p[x + 1, y]
    p.compute_root()
    w = p.in_(o).compute_at(o, y)
    made = lowered(o)
    assert w.name().startswith("p") and f"allocate {w.name()}" in made
    # Nothing but the wrapper reads p.
    inside = made.split(f"produce {w.name()}")[1].split(f"consume {w.name()}")
    assert f"{p.name()}[" in inside[0] and f"{p.name()}[" not in inside[1]


def test_an_image_through_a_wrapper() -> None:
    pixels = np.arange(20 * 30, dtype=np.uint16).reshape(20, 30)
    for everywhere in (False, True):
        image, o = hl.ImageParam(hl.UInt(16), 2, "image"), hl.Func("o")
        o[x, y] = image[x, y] + image[x + 1, y + 1]
        w = image.in_() if everywhere else image.in_(o)
        w.compute_at(o, y)
        assert w.name() in lowered(o)
        image.set(pixels)
        got = np.asarray(o.realize([29, 19]))
        assert (got == pixels[:-1, :-1] + pixels[1:, 1:]).all()


def test_a_buffer_through_a_func() -> None:
    pixels = np.arange(64, dtype=np.int32).reshape(8, 8)
    image, o = hl.Func(hl.Buffer(pixels)), hl.Func("o")
    o[x, y] = image[x, y] + image[y, x]
    w = image.in_(o).compute_root()
    w.reorder_storage(*reversed(w.args()))
    assert (np.asarray(o.realize([8, 8])) == pixels + pixels.T).all()


def test_the_same_wrapper_again() -> None:
    o, q, p = chain()
    w = p.in_(q)
    assert p.in_(q).name() == w.name() == p.in_([q]).name()
    assert p.in_().name() == p.in_().name() != w.name()
    assert p.clone_in(o).name() == p.clone_in(o).name()


def test_a_wrapper_made_after_a_run_counts() -> None:
    o, q, p = chain()
    p.compute_root()
    before = np.asarray(o.realize([9, 9]))
    w = p.in_(q).compute_root()
    q.compute_root()
    assert w.name() in lowered(o)
    assert (np.asarray(o.realize([9, 9])) == before).all()


def test_later_definitions_are_wrapped_too() -> None:
    p, o = hl.Func("p"), hl.Func("o")
    p[x] = x
    o[x] = 0
    w = p.in_(o).compute_root()
    o[x] += p[x]
    assert w.name() in lowered(o)
    assert list(np.asarray(o.realize([4]))) == [0, 1, 2, 3]


def test_a_clone_of_a_func_that_its_own_predicate_reads() -> None:
    p, o = hl.Func("p"), hl.Func("o")
    r = hl.RDom([(0, 8)], "r")
    p[x] = x % 3
    r.where(p[r.x] > 0)
    p[r.x] += 10
    o[x] = p[x]
    p.compute_root()
    clone = p.clone_in(o).compute_root()
    made = lowered(o)
    assert f"allocate {clone.name()}" in made and "allocate p" in made
    assert (np.asarray(o.realize([8])) == interpret(o._function, [(0, 8)])).all()


def test_an_inlined_clone_of_an_inlined_func_has_no_effect() -> None:
    p, o = hl.Func("p"), hl.Func("o")
    p[x, y] = x + y
    o[x, y] = p[x, y]
    p.clone_in(o)
    with pytest.warns(ScheduleWarning, match=r"both inlined: p\S*\.clone_in has no"):
        lowered(o)


def test_an_inlined_wrapper_has_no_effect() -> None:
    o, q, p = chain()
    p.compute_root()
    p.in_(o)
    with pytest.warns(ScheduleWarning, match=r"is inlined: p\S*\.in_ has no effect"):
        lowered(o)
