"""Schedules as data: applied, and printed as programs that do the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import parhelion as hl
from parhelion.autoschedule.calls import FuncArg, Made, RVarArg, VarArg
from parhelion.autoschedule.script import Script
from parhelion.ir.names import is_made, plain_name
from parhelion.schedule.order import realization_order
from parhelion.schedule.reach import _FUNC_FIELDS, _frozen, _stage_parts
from parhelion.schedule.snapshot import Snapshot
from tests.autoschedule.recording import recording
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import build
from tests.fuzz.draw import draw

#: Directives of the fuzzer that a script does not have.
NOT_IN_SCRIPTS = ("specialize", "specialize_fail")


def plain(text: str) -> str:
    """A text without what tells apart two runs of one program: numbers that make names
    unique, and lines."""
    text = re.sub(r"Site\([^)]*\)", "None", text)
    # Of "f$1_given", which the fuzzer makes, loop nests show the "f".
    text = re.sub(r"(\$\d+)?_given\b", "", text)
    # Wrappers of images without a name have its number in their own.
    text = re.sub(r"\bp\d+_im_", "p_im_", text)
    return re.sub(
        r"[A-Za-z_]\w*(\$\d+)*",
        lambda m: plain_name(m[0]) if is_made(m[0]) else re.sub(r"\$\d+", "", m[0]),
        text,
    )


def state(outputs: Sequence[hl.Func]) -> list[str]:
    """All that the schedule of a pipeline says, Func by Func."""
    found = []
    for f in realization_order([o._function for o in outputs]):
        parts = [f.name, *[_frozen(getattr(f.schedule, n)) for n in _FUNC_FIELDS]]
        for d in f.stages():
            parts += [d.args, *_stage_parts(d.schedule)]
        found.append(plain(repr(parts)))
    return found


def nest(outputs: Sequence[hl.Func]) -> str:
    return plain(hl.Pipeline(list(outputs)).loop_nest())


def exec_on(text: str, outputs: Sequence[hl.Func]) -> None:
    names: dict[str, Callable[[hl.Pipeline], None]] = {}
    exec(compile(text, "printed", "exec"), names)  # noqa: S102
    names["schedule"](hl.Pipeline(list(outputs)))


def check(
    make: Callable[[], Sequence[hl.Func]], give: Callable[[Sequence[hl.Func]], object]
) -> Script:
    """Directives given by hand, the script of them applied, and the program that it
    prints: all three are one schedule."""
    outputs = make()
    before = Snapshot([f._function for f in outputs])
    unscheduled = state(outputs)
    with recording(outputs) as script:
        give(outputs)
    text = script.to_python()
    wanted, loops = state(outputs), nest(outputs)
    assert script.to_python() == text, "the text depends on what has been applied"
    before.restore()
    assert state(outputs) == unscheduled
    script.apply()
    assert (state(outputs), nest(outputs)) == (wanted, loops)
    again = make()
    assert state(again) == unscheduled
    exec_on(text, again)
    assert (state(again), nest(again)) == (wanted, loops), text
    return script


x, y, c = hl.vars("x y c")
xi, yi, xo, yo, t, u = hl.vars("xi yi xo yo t u")


# Random schedules.


@pytest.mark.parametrize("first", range(0, 90, 30))
@pytest.mark.filterwarnings("ignore::parhelion.ScheduleWarning")
def test_random_schedules_are_the_same_from_scripts(first: int) -> None:
    compared = 0
    for seed in range(first, first + 30):
        case = draw(random.Random(seed))
        # Scripts hold numbers, no Params.
        schedule = [
            replace(d, given=()) for d in case.schedule if d.name not in NOT_IN_SCRIPTS
        ]
        case = replace(case, schedule=tuple(schedule))
        program = build(case)
        outputs = program.outputs()
        before = Snapshot([f._function for f in outputs])
        unscheduled = state(outputs)
        with recording(outputs) as script:
            Scheduler(program).run()
        before.restore()
        assert state(outputs) == unscheduled, f"seed {seed}"
        script.apply()
        wanted, text = state(outputs), script.to_python()
        compile(text, "printed", "exec")
        again = build(case).outputs()
        exec_on(text, again)
        assert state(again) == wanted, f"seed {seed}\n{text}"
        try:
            loops = nest(outputs)
        except hl.ScheduleError:
            with pytest.raises(hl.ScheduleError):
                nest(again)
            continue
        assert nest(again) == loops, f"seed {seed}\n{text}"
        compared += len(script.calls) > 0
    assert compared >= 12


# Kinds of Funcs and loops.


def blur() -> list[hl.Func]:
    image = hl.ImageParam(hl.UInt(16), 2, "image")
    blur_x, blur_y = hl.funcs("blur_x blur_y")
    blur_x[x, y] = (image[x - 1, y] + image[x, y] + image[x + 1, y]) // 3
    blur_y[x, y] = (blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]) // 3
    return [blur_y]


def called(outputs: Sequence[hl.Func], name: str) -> hl.Func:
    """A Func of a pipeline by the name that the program gives it."""
    for f in realization_order([o._function for o in outputs]):
        if plain_name(f.name) == name:
            return hl.Func._of(f)
    raise AssertionError(name)


def test_the_text_of_blur() -> None:
    def give(outputs: Sequence[hl.Func]) -> None:
        blur_y, blur_x = outputs[0], called(outputs, "blur_x")
        blur_y.tile(x, y, xi, yi, 256, 32).vectorize(xi, 16).parallel(y)
        blur_x.compute_at(blur_y, x).vectorize(x, 16, hl.TailStrategy.RoundUp)

    assert check(blur, give).to_python() == (
        "import parhelion as hl\n"
        "\n"
        "\n"
        "def schedule(pipeline):\n"
        '    """Schedules the Funcs of `pipeline`, which have no schedule yet."""\n'
        "    blur_x = pipeline.get_func(0)\n"
        "    blur_y = pipeline.get_func(1)\n"
        '    x, y, xi, yi = hl.vars("x y xi yi")\n'
        "\n"
        "    # blur_y\n"
        "    blur_y.tile(x, y, xi, yi, 256, 32).vectorize(xi, 16).parallel(y)\n"
        "\n"
        "    # blur_x\n"
        "    blur_x.compute_at(blur_y, x).vectorize(x, 16, hl.TailStrategy.RoundUp)\n"
    )


def test_a_long_call_goes_over_several_lines() -> None:
    long = [hl.Var(f"a_rather_long_name_for_a_loop_{k}") for k in range(6)]

    def give(outputs: Sequence[hl.Func]) -> None:
        outputs[0].tile([x, y], long[:2], long[2:4], [8, 8])
        outputs[0].split(long[0], long[4], long[5], 4, hl.TailStrategy.ShiftInwards)

    text = check(blur, give).to_python()
    assert max(map(len, text.splitlines())) <= 88
    name = "a_rather_long_name_for_a_loop"
    assert (
        "    blur_y.tile(\n"
        "        [x, y],\n"
        f"        [{name}_0, {name}_1],\n"
        f"        [{name}_2, {name}_3],\n"
        "        [8, 8],\n"
        "    )\n"
        "    blur_y.split(\n"
    ) in text


def test_no_directive_is_a_program_too() -> None:
    text = check(blur, lambda outputs: None).to_python()
    assert text.count("\n") == 5


def inline_reductions() -> list[hl.Func]:
    f, g = hl.funcs("f g")
    f[x, y] = x * y
    one, two = hl.RDom([(0, 9)]), hl.RDom([(0, 5), (0, 5)], "window")
    outer = hl.RDom([(0, 4)], "outer")
    g[x, y] = hl.sum(f[x + one, y]) + hl.sum(f[x, y + one] * 2)
    g[x, y] += hl.maximum(two, f[x + two.x, y + two.y] + outer)
    return [g]


def test_inline_reductions_are_found_by_their_places() -> None:
    def give(outputs: Sequence[hl.Func]) -> None:
        functions = realization_order([f._function for f in outputs])
        sums = [f for f in functions if plain_name(f.name) == "sum"]
        first, second = [hl.Func._of(f) for f in sums]
        first.compute_root().update().split(first.rvars()[0], hl.RVar("ro"), xi_r, 3)
        second.compute_at(outputs[0], x).vectorize(x, 4)
        second.update().unscheduled()
        greatest = called(outputs, "maximum")
        # A free RVar is a pure Var there, with a name that nobody gave.
        assert is_made(greatest.args()[0].name()) or is_made(greatest.args()[2].name())
        greatest.compute_root().reorder(*reversed(greatest.args()))
        greatest.update().unroll(greatest.rvars()[1]).reorder(x, *greatest.rvars())

    xi_r = hl.RVar("ri")
    text = check(inline_reductions, give).to_python()
    assert "sum" not in re.sub(r"sum_?\d*|# sum", "", text)
    assert "    sum_2 = pipeline.get_func(" in text
    assert "window_y = maximum.rvars(0)[1]\n" in text
    assert re.search(r"\n    v = maximum\.args\(\)\[\d\]\n", text)


def test_more_than_ten_funcs_of_one_name_keep_their_places() -> None:
    """As names, sum$9 is after sum$10, and what they are called next time is not."""

    def make() -> list[hl.Func]:
        f, g = hl.funcs("f g")
        f[x, y] = x + y
        total: hl.Expr = hl.i32(0)
        for k in range(14):
            r = hl.RDom([(0, 2 + k)])
            total = total + hl.sum(f[x + r, y + k])
        g[x, y] = total
        return [g]

    def give(outputs: Sequence[hl.Func]) -> None:
        pipeline = hl.Pipeline(list(outputs))
        for k in range(1, 15):
            s = pipeline.get_func(k)
            s.compute_root().update().unroll(s.rvars()[0], 1 + k)

    for _ in range(4):
        check(make, give)


def test_funcs_without_names_keep_their_places() -> None:
    def make() -> list[hl.Func]:
        made = [hl.Func() for _ in range(12)]
        made[0][x, y] = x + y
        for k in range(1, 12):
            made[k][x, y] = sum(made[j][x + k, y] for j in range(k))
        return [made[-1]]

    def give(outputs: Sequence[hl.Func]) -> None:
        pipeline = hl.Pipeline(list(outputs))
        for k in range(11):
            pipeline.get_func(k).compute_root().vectorize(x, 1 + k)

    for _ in range(3):
        text = check(make, give).to_python()
    assert "func3 = pipeline.get_func(3)\n" in text
    assert "# a Func without a name, of test_script.py, line " in text


def test_implicit_vars_and_the_outermost_loop() -> None:
    def make() -> list[hl.Func]:
        image = hl.ImageParam(hl.Float(32), 2, "image")
        f = hl.Func("f")
        f[hl._] = image[hl._] + 1
        return [hl.Func(f * 2 + image)]

    def give(outputs: Sequence[hl.Func]) -> None:
        out, f = outputs[0], called(outputs, "f")
        out.split(hl._0, xo, xi, 8).parallel(hl._1)
        f.compute_at(out, hl.Var.outermost()).vectorize(hl._0, 8)

    text = check(make, give).to_python()
    assert ".split(hl._0, xo, xi, 8).parallel(hl._1)\n" in text
    assert ".compute_at(func1, hl.Var.outermost())" in text


def test_a_var_and_an_rvar_of_one_name() -> None:
    def make() -> list[hl.Func]:
        f = hl.Func("f")
        r = hl.RDom([(0, 30)], "r")
        f[x] = 0
        f[x] += r
        return [f]

    def give(outputs: Sequence[hl.Func]) -> None:
        f = outputs[0]
        f.split(x, xo, hl.Var("t"), 4)
        f.update().split(f.rvars()[0], hl.RVar("ro"), hl.RVar("t"), 4)
        f.update().split(x, hl.Var("r"), hl.Var("f"), 4)

    text = check(make, give).to_python()
    assert 't_2 = hl.RVar("t")\n' in text
    assert 'f_2 = hl.Func("f")' not in text


def test_names_that_are_no_names_of_python() -> None:
    a, b, c, d = [hl.Var(n) for n in ("for", "hl", "x'", "1st")]
    e, f, g, h = [hl.Var(n) for n in ("print", "pipeline", "é", "x_")]

    def make() -> list[hl.Func]:
        f = hl.Func("schedule")
        f[x, y] = x + y
        g = hl.Func("a.b")
        g[x, y] = f[x, y]
        return [g]

    def give(outputs: Sequence[hl.Func]) -> None:
        called(outputs, "schedule").compute_root().tile(x, y, a, b, c, d, 4, 4)
        outputs[0].tile(x, y, e, f, g, h, 4, 4)

    text = check(make, give).to_python()
    assert 'for_2 = hl.Var("for")\n' in text
    assert "schedule_2 = pipeline.get_func(0)\n" in text


def test_two_rdoms_of_one_name() -> None:
    """The name alone does not say which; the domain does."""

    def make() -> list[hl.Func]:
        f, g = hl.funcs("f g")
        f[x] = x
        g[x] = 0
        for size in (8, 9):
            r = hl.RDom([(0, size)], "r")
            g[x] += f[x + r] * size
        return [g]

    def give(outputs: Sequence[hl.Func]) -> None:
        g, f = outputs[0], called(outputs, "f")
        f.compute_at(hl.LoopLevel(g, g.rvars(1)[0], 2))
        g.update(0).split(g.rvars(0)[0], hl.RVar("ro"), hl.RVar("ri"), 4)
        g.update(1).unscheduled()

    outputs = make()
    with recording(outputs) as script:
        give(outputs)
    assert "r_x = g.rvars(1)[0]" in script.to_python()
    assert "r_x_2 = g.rvars(0)[0]" in script.to_python()
    by_name = Script(tuple(f._function for f in make()))
    g, f = by_name.order[1], by_name.order[0]
    by_name.add(g, 2, "unroll", RVarArg("r$x"), 3)
    by_name.add(f, -1, "compute_at", FuncArg(g), RVarArg("r$x"))
    with pytest.raises(hl.InternalError, match="2 RDoms have a dimension 'r\\$x'"):
        by_name.apply()


def test_wrappers_and_parts() -> None:
    def make() -> list[hl.Func]:
        f, g = hl.funcs("f g")
        r = hl.RDom([(0, 32), (0, 16)], "r")
        f[x] = hl.u32(x)
        g[x] = hl.u32(0)
        g[x] += f[x + r.x] * hl.u32(r.y)
        return [g]

    def give(outputs: Sequence[hl.Func]) -> None:
        g, f = outputs[0], called(outputs, "f")
        rx, ry = g.rvars()
        g.update().split(rx, rx, hl.RVar("rxi"), 8)
        parts = g.update().rfactor([(hl.RVar("rxi"), u), (ry, t)])
        parts.compute_root().vectorize(u)
        parts.update().vectorize(u).parallel(t).unroll(rx, 2)
        g.update().reorder(ry, x)
        f.compute_root()
        f.in_(parts).compute_at(parts, x).store_in(hl.MemoryType.Stack)
        f.in_(parts).unroll(x, 2)

    text = check(make, give).to_python()
    assert "g_parts = g.update(0).rfactor([(rxi, u), (r_y, t)])\n" in text
    assert "# g: parts\n" in text
    assert "f_wrapper = f.in_(g_parts)\n" in text


def test_images_are_found_by_their_places() -> None:
    def make() -> list[hl.Func]:
        a, b = hl.ImageParam(hl.Int(32), 2, "a"), hl.ImageParam(hl.Int(32), 2)
        table = hl.Buffer(hl.Int(32), [4], name="table")
        f, g = hl.funcs("f g")
        f[x, y] = a[x, y] + b[y, x] + table[x % 4]
        g[x, y] = f[x, y] + b[x, y]
        return [g]

    def give(outputs: Sequence[hl.Func]) -> None:
        g, f = outputs[0], called(outputs, "f")
        # Of g's own mention first.
        pipeline = hl.Pipeline(list(outputs))
        b, a = pipeline.get_image(0), pipeline.get_image(1)
        assert plain_name(a.name()) == "a" and is_made(b.name())
        f.compute_root().prefetch(b, y, y, 2)
        b.in_(g).compute_at(g, y).vectorize(b.in_(g).args()[0], 8)
        a.in_(f).compute_root()

    text = check(make, give).to_python()
    assert "image = pipeline.get_image(0)\n" in text
    assert "f.compute_root().prefetch(image, y, y, 2)\n" in text
    assert "a_wrapper = a.in_(f)\n" in text
    with pytest.raises(hl.BoundsError, match="has 2 ImageParams; there is no Image"):
        hl.Pipeline(make()).get_image(2)


# What a script refuses, and what it keeps.


def test_what_is_no_directive_of_a_script() -> None:
    script = Script(tuple(f._function for f in blur()))
    f = script.order[0]
    for stage, method, message in (
        (0, "realize", "no directive 'realize' on the loops of a definition"),
        (0, "compute_root", "no directive 'compute_root' on the loops of a definition"),
        (-1, "split", "no directive 'split' on a Func as a whole"),
    ):
        with pytest.raises(hl.InternalError, match=message):
            script.add(f, stage, method)
    with pytest.raises(hl.InternalError, match="cannot hold the argument 1.5"):
        script.add(f, -1, "bound", VarArg("x"), 0, 1.5)
    with pytest.raises(hl.InternalError, match="is no Func of the pipeline"):
        script.add(blur()[0]._function, -1, "compute_root")
    assert script.calls == []


def test_definitions_left_alone_are_acknowledged() -> None:
    outputs = inline_reductions()
    script = Script((outputs[0]._function,))
    script.add(outputs[0]._function, 0, "vectorize", VarArg("x"), 8)
    script.acknowledge()
    assert [(c.stage, c.method) for c in script.calls] == [
        (0, "vectorize"),
        (1, "unscheduled"),
    ]
    script.apply()
    nest(outputs)  # warns of nothing


def test_a_copy_goes_on_by_itself() -> None:
    script = Script(tuple(f._function for f in blur()))
    script.add(script.order[0], -1, "compute_root")
    other = script.copy()
    assert other.add(script.order[1], -1, "compute_root") == Made(1)
    assert len(script.calls) == 1 and other.order is script.order


def test_a_snapshot_restores_branches_and_wrappers_of_images() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    f = hl.Func("f")
    f[x, y] = image[x, y] + 1
    first = f.specialize(image.width() > 100)
    first.vectorize(x, 8)
    before, wanted = Snapshot([f._function]), nest([f])
    first.unroll(y, 2)
    f.specialize(image.width() > 50).parallel(y)
    image.in_().compute_root()
    f.parallel(y).bound(x, 0, 64)
    assert nest([f]) != wanted
    for _ in range(2):
        before.restore()
        assert nest([f]) == wanted
        f.vectorize(x, 4)


def test_rvars_after_rfactor_are_loops() -> None:
    f = hl.Func("f")
    r = hl.RDom([(0, 10), (0, 5)], "r")
    f[x] = 0
    f[x] += x * r.x + r.y
    parts = f.update().rfactor(r.y, u)
    assert [v.name() for v in (*f.rvars(), *parts.rvars())] == ["r.y", "r.x"]
    f.update().reorder(x, f.rvars()[0])
    parts.update().unroll(parts.rvars()[0], 2)
