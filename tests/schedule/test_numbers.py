"""Numbers of directives that are Params: what is lawful computes the same, what is not
is refused before any pixel is computed, whoever calls the code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.failure_site import FailureSite
from parhelion.interp import interpret_all
from parhelion.runtime.context import RenamedFailure, renaming
from tests.aot.test_buffers import called, forms
from tests.cache.programs import child
from tests.codegen.c_code import asking, needs_cc, struct_of
from tests.support.realized import single

x, y, xo, xi, yi, t = hl.vars("x y xo xi yi t")
TAILS = list(hl.TailStrategy)
NOT_POSITIVE = -46
#: Sizes of a task, a tile or a window, and of what none is.
LAWFUL, UNLAWFUL = (1, 2, 3, 5, 7), (0, -1, -3, -(2**31), 2**31 - 1, 2**20 + 1)
Schedule = Callable[[hl.Func, hl.Func, hl.Param, hl.TailStrategy], object]


def pair() -> tuple[hl.Func, hl.Func]:
    f, g = hl.funcs("f g")
    r = hl.RDom([(0, 6)], "r")
    g[x, y] = hl.cast(hl.Int(32), x * 3 - y)
    f[x, y] = g[x, y] * 2 + g[x + 1, y + 1]
    f[x, y] += g[x, y] * r.x
    return f, g


def split(f: hl.Func, g: hl.Func, p: hl.Param, tail: hl.TailStrategy) -> None:
    f.split(x, xo, xi, p, tail)


def split_of_a_producer(
    f: hl.Func, g: hl.Func, p: hl.Param, tail: hl.TailStrategy
) -> None:
    g.compute_root().split(x, xo, xi, p, tail).split(y, y, yi, p, tail)


def tile(f: hl.Func, g: hl.Func, p: hl.Param, tail: hl.TailStrategy) -> None:
    f.tile(x, y, xi, yi, p, p, tail)
    g.compute_at(f, x)


def parallel(f: hl.Func, g: hl.Func, p: hl.Param, tail: hl.TailStrategy) -> None:
    g.compute_root().parallel(y, p, tail)


def update(f: hl.Func, g: hl.Func, p: hl.Param, tail: hl.TailStrategy) -> None:
    f.update(0).split(x, xo, xi, p, tail)


def update_over_the_domain(
    f: hl.Func, g: hl.Func, p: hl.Param, tail: hl.TailStrategy
) -> None:
    (r,) = f.rvars(0)
    f.update(0).split(r, hl.RVar("ro"), hl.RVar("ri"), p, tail)


def fused(f: hl.Func, g: hl.Func, p: hl.Param, tail: hl.TailStrategy) -> None:
    g.compute_root().tile(x, y, xi, yi, p, p, tail).fuse(xi, yi, t)


SPLITS: list[Schedule] = [
    *(split, split_of_a_producer, tile, parallel, update, update_over_the_domain),
    fused,
]


def expected(f: hl.Func) -> np.ndarray:
    ((found,),) = interpret_all([(f._function, [(0, 15), (0, 8)])])
    return np.asarray(found).transpose()


@pytest.mark.parametrize("schedule", SPLITS)
@pytest.mark.parametrize("tail", TAILS)
def test_every_split_under_every_tail(
    schedule: Schedule, tail: hl.TailStrategy
) -> None:
    f, g = pair()
    p = hl.Param(hl.Int(32), "p", 1)
    try:
        schedule(f, g, p, tail)
    except hl.ScheduleError:
        return  # a tail that this definition cannot have
    if not f.update(0)._function.updates[0].schedule.touched:
        f.update(0).unscheduled()
    wanted = expected(f)
    for value in (*LAWFUL, *UNLAWFUL, 4):
        p.set(value)
        out = hl.Buffer(hl.Int(32), [15, 8])
        out.fill(-77)
        if value in UNLAWFUL:
            with pytest.raises(hl.ScheduleError, match="p of [xyr]"):
                f.realize(out)
            with pytest.raises(hl.ScheduleError, match="p of [xyr]"):
                f.realize([15, 8])
            assert (np.asarray(out) == -77).all()
            continue
        try:
            f.realize(out)
            got = np.asarray(out)
        except hl.BoundsError as error:
            # Some tails write more than the buffer has, and say so.
            assert "output buffer 'f" in str(error)
            made = f.realize([15, 8])
            got = np.asarray(made)[:8, :15]
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("threaded", [False, True])
def test_copies_of_a_ring_buffer(threaded: bool) -> None:
    f, g = pair()
    p = hl.Param(hl.Int(32), "p", 1)
    g.store_at(f, y).compute_at(f, y).hoist_storage_root().ring_buffer(p)
    if threaded:
        g.async_()
    f.update(0).unscheduled()
    wanted = expected(f)
    for value in (1, 2, 3, 100, *UNLAWFUL, 2):
        p.set(value)
        if value in UNLAWFUL:
            with pytest.raises(hl.ScheduleError, match="number of copies p"):
                f.realize([15, 8])
        else:
            np.testing.assert_array_equal(np.asarray(f.realize([15, 8])), wanted)


def test_copies_that_are_too_many_together() -> None:
    f, g = hl.funcs("f g")
    g[x] = x
    f[x, y] = g[x] + y
    p = hl.Param(hl.Int(32), "p", 1 << 20)
    g.compute_at(f, y).hoist_storage_root().ring_buffer(p)
    with pytest.raises(hl.ScheduleError, match="1048576 copies of 4096 coord"):
        f.realize([4096, 4])
    p.set(2)
    assert single(f.realize([4096, 4]))[4095, 3] == 4098


@pytest.mark.parametrize("directive", ["bound_storage", "fold_storage"])
def test_sizes_of_storage(directive: str) -> None:
    f, g = hl.funcs("f g")
    g[x, y] = x * 3 - y
    f[x, y] = g[x, y] + g[x, y + 1]
    p = hl.Param(hl.Int(32), "p", 16)
    g.store_root().compute_at(f, y)
    getattr(g, directive)(y, p)
    wanted = expected(f)
    for value in (9, 16, 100, 0, -1, 1, -(2**31), 2**31 - 1, 12):
        p.set(value)
        if value > 1 and value < 1000:
            np.testing.assert_array_equal(np.asarray(f.realize([15, 8])), wanted)
            continue
        # A lawful size may still be too small, which has a message of its own.
        error = hl.BoundsError if value == 1 else hl.ScheduleError
        with pytest.raises(error):
            f.realize([15, 8])


@pytest.mark.parametrize(
    "type", [hl.Int(8), hl.UInt(8), hl.UInt(32), hl.Int(64), hl.UInt(64)]
)
def test_params_of_every_type(type: hl.Type) -> None:
    """Of more than 32 bits, the value counts and not what fits 32."""
    p = hl.Param(type, "p", 3)
    f = hl.Func("f")
    f[x] = x
    f.split(x, xo, xi, p, hl.TailStrategy.GuardWithIf)
    np.testing.assert_array_equal(np.asarray(f.realize([20])), np.arange(20))
    most = 2 ** (type.bits() - type.is_int()) - 1
    values = [0, *([2**31, most] if most > 255 else [])]
    values += [2**32 + 3] if most > 2**32 else []
    for value in values:
        p.set(min(value, most))
        with pytest.raises(hl.ScheduleError, match=f"evaluated to {p.get()}, "):
            f.realize([20])


def test_only_branches_that_run_are_asked() -> None:
    p = hl.Param(hl.Int(32), "p", 3)
    f = hl.Func("f")
    f[x] = x
    f.specialize(p > 0).split(x, xo, xi, p, hl.TailStrategy.GuardWithIf)
    f.specialize(p < -5).split(x, xo, xi, -p, hl.TailStrategy.GuardWithIf)
    for value in (3, 0, -3, -7):
        p.set(value)
        np.testing.assert_array_equal(np.asarray(f.realize([20])), np.arange(20))
    p.set(2**21)
    with pytest.raises(hl.ScheduleError, match="more than 1048576"):
        f.realize([20])


def test_factors_of_loops_that_rfactor_has_taken() -> None:
    """They have become the bounds of RDoms, which no directive speaks of any more."""
    p, q = hl.Param(hl.Int(32), "p"), hl.Param(hl.Int(32), "q", 2)
    f, g = pair()
    (r,) = f.rvars(0)
    ro, rm, ri = (hl.RVar(name) for name in ("ro", "rm", "ri"))
    f.update(0).split(r, ro, ri, p).split(ro, ro, rm, q)
    f.update(0).rfactor(ro, t).compute_root()
    wanted = expected(f)
    for value in (*LAWFUL, *UNLAWFUL, 4):
        p.set(value)
        if value in UNLAWFUL:
            with pytest.raises(hl.ScheduleError, match="the factor p of r"):
                f.realize([15, 8])
        else:
            np.testing.assert_array_equal(np.asarray(f.realize([15, 8])), wanted)
    p.set(1 << 16)
    q.set(1 << 16)
    with pytest.raises(hl.ScheduleError, match="product of the factors down to q"):
        f.realize([15, 8])


def test_a_fused_loop_that_rfactor_has_taken() -> None:
    p = hl.Param(hl.Int(32), "p", 5)
    f, r = hl.Func("f"), hl.RDom([(0, p), (0, p)], "r")
    f[x] = 0
    f[x] += r.x + r.y
    f.update(0).fuse(r.x, r.y, rt := hl.RVar("rt"))
    f.update(0).rfactor(rt, t).compute_root()
    assert single(f.realize([1]))[0] == 100
    p.set(1 << 16)
    with pytest.raises(hl.ScheduleError, match="length of rt evaluated to 4294967296"):
        f.realize([1])


def test_factors_made_of_the_size_of_an_image() -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("f")
    f[x] = image[x % 3] + x
    f.split(x, xo, xi, image.width() / 4, hl.TailStrategy.GuardWithIf)
    image.set(np.zeros(8, np.int32))
    np.testing.assert_array_equal(np.asarray(f.realize([20])), np.arange(20))
    image.set(np.zeros(3, np.int32))
    with pytest.raises(hl.ScheduleError, match="not strictly positive"):
        f.realize([20])


def test_regions_are_not_asked_of_what_is_unlawful() -> None:
    """Neither the images that are needed nor the buffers that are written."""
    image = hl.ImageParam(hl.Int(32), 1, "image")
    p = hl.Param(hl.Int(32), "p", 0)
    f = hl.Func("f")
    f[x] = image[x]
    f.split(x, xo, xi, p, hl.TailStrategy.RoundUp)
    with pytest.raises(hl.ScheduleError, match="not strictly positive"):
        f.infer_input_bounds([20])
    p.set(8)
    f.infer_input_bounds([20])
    assert image.get().width() == 24
    p.set(0)
    with pytest.raises(hl.ScheduleError, match="not strictly positive"):
        hl.Pipeline(f).report([20])


def test_a_callable_says_so_too() -> None:
    p = hl.Param(hl.Int(32), "p")
    f = hl.Func("f")
    f[x] = x
    f.split(x, xo, xi, p, hl.TailStrategy.GuardWithIf)
    call = f.compile_to_callable([p])
    out = hl.Buffer(hl.Int(32), [20])
    call(3, out)
    np.testing.assert_array_equal(np.asarray(out), np.arange(20))
    with pytest.raises(hl.ScheduleError, match="the factor p of x evaluated to -1"):
        call(-1, out)


_CACHED = """
import parhelion as hl
x, xo, xi = hl.vars("x xo xi")
{lines}
p = hl.Param(hl.Int(32), "p", 0)
f = hl.Func("f")
f[x] = x
f.split(x, xo, xi, p, hl.TailStrategy.RoundUp)
for run in (lambda: f.realize([20]), lambda: f.realize(hl.Buffer(hl.Int(32), [20]))):
    try:
        run()
    except hl.ScheduleError as error:
        print(error.at.line, str(error).split("\\n")[0])
import sys
print("parhelion.lower.passes" in sys.modules)
"""


def test_code_from_the_cache_says_the_lines_of_today(tmp_path: Path) -> None:
    said = "f.split: the factor p of x evaluated to 0, which is not strictly positive"
    program = tmp_path / "program.py"
    for lines, compiled in (0, True), (3, False):
        program.write_text(_CACHED.format(lines="\n" * lines))
        run = f"import runpy; runpy.run_path({str(program)!r})"
        done = child(run, tmp_path / "cache")
        assert done.returncode == 0, done.stderr
        told = f"{8 + lines} {said}"
        assert done.stdout.split("\n")[:3] == [told, told, str(compiled)]


@needs_cc
@forms
def test_files_check_them_too(form: str, tmp_path: Path) -> None:
    """The code, and what it answers to callers who ask for regions."""
    image = hl.ImageParam(hl.Int(32), 1, "image")
    p = hl.Param(hl.Int(32), "p")
    f = hl.Func("f")
    f[x] = image[x] + 1
    f.split(x, xo, xi, p, hl.TailStrategy.RoundUp)
    call = called(form, f, [image, p], tmp_path)
    pixels = hl.Buffer(np.arange(24, dtype=np.int32))
    out = hl.Buffer(hl.Int(32), [24])
    assert call(struct_of(pixels), 8, struct_of(out)) == 0
    np.testing.assert_array_equal(np.asarray(out), np.arange(24) + 1)
    out.fill(-77)
    for value in (0, -8, -(2**31)):
        assert call(struct_of(pixels), value, struct_of(out)) == NOT_POSITIVE
    assert call(struct_of(pixels), 2**31 - 1, struct_of(out)) == -1
    assert (np.asarray(out) == -77).all()
    asked = asking(hl.Buffer(hl.Int(32), [1]))
    assert call(ctypes.byref(asked), 8, struct_of(out)) == 0
    assert (asked.dim[0].min, asked.dim[0].extent) == (0, 24)
    asked = asking(hl.Buffer(hl.Int(32), [1]))
    for value in (0, -8):
        assert call(ctypes.byref(asked), value, struct_of(out)) == NOT_POSITIVE


def test_names_within_texts_are_told_as_callers_know_them() -> None:
    told = FailureSite("number_not_positive", ("f#0", "factor rows$1*2 of rows$12"))
    renamed = RenamedFailure(told, renaming({"rows$1": "rows", "f": "blur"}))
    assert renamed.args == ["blur#0", "factor rows*2 of rows$12"]
