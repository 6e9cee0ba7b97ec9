"""The recipes of docs/architecture.md, carried out on toys.

That of a front end is in tests/error/test_sites.py, that of a back end in
tests/codegen/test_backends.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit, emit_with_sites
from parhelion.codegen.target import host_target
from parhelion.errors import ScheduleError, here
from parhelion.interp import interpret
from parhelion.ir import expr as E
from parhelion.ir import intrinsics, mathlib, rounding
from parhelion.ir.device import device_of
from parhelion.ir.expr import Expr
from parhelion.ir.formula import V
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import IntrinsicInfo
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import Stmt
from parhelion.ir.target import generic_target
from parhelion.ir.text import text
from parhelion.lang import mathfuncs, ops
from parhelion.lang.expr import ExprLike, wrap
from parhelion.lower import passes
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import PASSES, Context, Pass, Trace, lower
from parhelion.schedule import placement, stage
from parhelion.schedule.directives import OUTERMOST, LoopLevel, Place
from parhelion.schedule.legality import resolve
from parhelion.schedule.placement import PLACEMENTS, Placement
from parhelion.schedule.sites import Nests
from parhelion.schedule.snapshot import Snapshot
from tests.support.recipes import PACKAGE, Toy, recipes, touched
from tests.support.spec import spec_of

x, y, xi = hl.vars("x y xi")


def test_recipes_name_the_files_that_they_touch() -> None:
    found = recipes()
    assert {"A pass", "An intrinsic", "A placement", "A directive"} <= found.keys()
    assert {"A back end", "A front end"} <= found.keys()
    for name, (count, files) in found.items():
        assert len(files) == count, name
        assert all((PACKAGE / file).exists() for file in files), name


# A pass: a function from a statement to a statement, and its entry in the list.


class _Halves(Rewriter):
    """Divisions of unsigned numbers by two become shifts."""

    def on_div(self, n: E.Div) -> Expr:
        a, b = self.go(n.a), self.go(n.b)
        if n.type.is_uint() and isinstance(b, E.Imm) and b.value == 2:
            return E.Intrinsic(n.type, "shift_right", (a, E.Imm(n.type, 1)))
        return E.Div(a, b)


def shift_halves(s: Stmt, context: Context) -> Stmt:
    return _Halves().go(s)


TOY = Pass(
    "shift_halves",
    shift_halves,
    "halves of unsigned numbers are shifts",
    "before vectors are made of the divisions",
)


def halved() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = hl.u16(x * y + 7) / 2
    return f


def test_a_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = interpret(halved()._function, [(0, 40), (0, 30)])[0]
    at = [p.name for p in PASSES].index("vectorize_loops")
    toy = Toy(monkeypatch)
    toy.add("lower/")
    toy.put(passes, "PASSES", (*PASSES[:at], TOY, *PASSES[at:]))
    assert toy.files == touched("A pass")
    monkeypatch.setenv("PARHELION_VERIFY", "1")
    monkeypatch.setenv("PARHELION_DUMP", "shift_halves")
    f = halved().split(x, x, xi, 8).vectorize(xi)
    trace = Trace()
    lower(spec_of(f), name="f", trace=trace)
    steps = {name: text(s) for name, s, _ in trace}
    before = [name for name, _, _ in trace]
    previous = steps[before[before.index("shift_halves") - 1]]
    assert "/u16(2)" in previous and "shift_right" not in previous
    assert "/u16(2)" not in steps["shift_halves"]
    assert "shift_right(" in steps["shift_halves"]
    np.testing.assert_array_equal(np.asarray(f.realize([40, 30])).T, wanted)
    assert "=== shift_halves" in capsys.readouterr().err


# An intrinsic: what there is to know of it, and its expansion in basic nodes.


@pytest.fixture
def smoothstep(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``smoothstep(a)``: 0 below 0, 1 above 1, and between them a * a * (3 - 2 * a)."""

    def expansion(a: V) -> V:
        inside = V(E.Min(E.Max(a.e, a.of(0.0)), a.of(1.0)))
        return inside * inside * (inside * -2.0 + 3.0)

    def smoothstep(x: ExprLike) -> hl.Expr:
        """Returns a step from 0 to 1 with a slope of 0 at both ends."""
        return wrap(ops.float_call("smoothstep", x))

    toy = Toy(monkeypatch)
    info = IntrinsicInfo(1, True, "a smooth step from 0 to 1", alike=True)
    toy.enter(intrinsics, "INTRINSICS", "smoothstep", info)
    toy.enter(mathlib, "_FLOAT32", "smoothstep", expansion)
    toy.put(mathfuncs, "smoothstep", smoothstep)
    toy.put(hl, "smoothstep", smoothstep)
    assert toy.files == touched("An intrinsic")
    # What has been asked for of definitions is kept.
    monkeypatch.setattr(rounding, "_DEFINITIONS", {})
    yield


@pytest.mark.usefixtures("smoothstep")
def test_an_intrinsic() -> None:
    """It is computed alike by the interpreter, in scalars and in vectors, on every
    target."""
    f, scalar = hl.Func("f"), hl.Func("scalar")
    for made in (f, scalar):
        made[x] = cast(Any, hl).smoothstep(hl.f32(x) / 16 - 0.5)
    f.split(x, x, xi, 8).vectorize(xi)
    got, plain = np.asarray(f.realize([40])), np.asarray(scalar.realize([40]))
    wanted = interpret(f._function, [(0, 40)])[0]
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(plain, wanted)
    t = np.clip(np.arange(40) / 16 - 0.5, 0, 1)
    np.testing.assert_allclose(wanted, t * t * (3 - 2 * t), atol=1e-6)
    code = emit(lower(spec_of(f), name="f"), generic_target(256))
    assert "smoothstep" not in code and "fmul <8 x float>" in code


@pytest.mark.usefixtures("smoothstep")
def test_an_intrinsic_in_c_and_in_a_kernel(tmp_path: Path) -> None:
    plain, kernel = hl.Func("plain"), hl.Func("kernel")
    for made in (plain, kernel):
        made[x] = cast(Any, hl).smoothstep(hl.f32(x) / 16 - 0.5)
    plain.compile_to_c(tmp_path / "plain.c", [], "plain")
    text = (tmp_path / "plain.c").read_text()
    assert "smoothstep" not in text and "3.0f" in text
    kernel.gpu_tile(x, xi, 32)
    options = LowerOptions(target=host_target(), device=device_of("sm_80"))
    lowered = lower(spec_of(kernel), name="kernel", options=options)
    code = emit_with_sites(lowered, host_target()).kernels
    assert "smoothstep" not in code and "fmul float" in code


# A placement, and the directive that asks for it.


class AtEachStage(Placement):
    """Computed once for each stage that uses it, outside of all the stage's loops."""

    @classmethod
    def of(cls, f: Function, outputs: Collection[Function]) -> Self | None:
        level = f.schedule.compute
        return cls(f) if level.place is Place.LOOP and level.func is None else None

    def settle(self, nests: Nests) -> None:
        if self.func.updates:
            raise ScheduleError(
                f"{self.func.name}.compute_at_each_stage: {self.func.name} has updates",
                at=self.func.schedule.compute.site,
            )
        uses = nests.uses[self.func]
        stacks = [u.stack[: 1 + [s.func for s in u.stack].index(u.func)] for u in uses]
        nests.place(self.func, stacks, stacks)

    def level(self) -> LoopLevel | None:
        return None

    def loops_around(self, count: int) -> int:
        return 0

    def __str__(self) -> str:
        return "at each stage"


class ByStages:
    """The directive, as a mixin of Func."""

    _function: Function

    def compute_at_each_stage(self) -> Self:
        """Computes the Func once for each stage that uses it."""
        schedule = self._function.schedule
        schedule.compute = LoopLevel(Place.LOOP, None, OUTERMOST, site=here())
        return self


@pytest.fixture
def each_stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    first, *others = PLACEMENTS
    toy = Toy(monkeypatch)
    toy.put(placement, "PLACEMENTS", (first, AtEachStage, *others))
    assert toy.files == touched("A placement")
    give = ByStages.compute_at_each_stage
    toy.method(hl.Func, stage, "compute_at_each_stage", give)
    # It needs no more data than there are.
    assert toy.files == touched("A directive") - {"schedule/directives.py"}
    yield


def used_twice() -> tuple[hl.Func, hl.Func]:
    """A Func that two stages of another one use, which is not computed at the root."""
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = x * 3 + y
    g[x, y] = f[x, y] + f[x + 1, y]
    g[x, 0] += f[x, 2]
    h[x, y] = g[x, y] + g[x, y + 1]
    g.compute_at(h, y)
    return f, h


@pytest.mark.usefixtures("each_stage")
def test_a_placement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the two stages has a copy of the Func, of the size that it reads."""
    monkeypatch.setenv("PARHELION_VERIFY", "1")
    f, h = used_twice()
    cast(ByStages, f).compute_at_each_stage()
    f.vectorize(x, 4)
    wanted = interpret(h._function, [(0, 23), (0, 9)])[0]
    np.testing.assert_array_equal(np.asarray(h.realize([23, 9])).T, wanted)
    h.print_loop_nest()
    told = capsys.readouterr()
    nest = (told.out + told.err).splitlines()
    made = [line.strip() for line in nest if "produce" in line]
    assert made == ["produce h:", "produce g:", "produce f:", "produce f:"]


@pytest.mark.usefixtures("each_stage")
def test_a_directive() -> None:
    """It is part of the schedule like all others: copied, compared, taken back."""
    f, h = used_twice()
    before, plain = Snapshot([h._function]), spec_of(h)
    cast(ByStages, f).compute_at_each_stage()
    given = spec_of(h)
    assert given != plain and pickle.loads(pickle.dumps(given)) == given
    assert "at each stage" in map(str, resolve(given).placements.values())
    before.restore()
    assert spec_of(h) == plain
    twice, reader = hl.Func("twice"), hl.Func("reader")
    twice[x] = x
    twice[3] += 1
    reader[x] = twice[x]
    cast(ByStages, twice).compute_at_each_stage()
    with pytest.raises(hl.ScheduleError, match="compute_at_each_stage: twice has upd"):
        reader.realize([4])
