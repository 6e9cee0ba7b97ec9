"""trace_stores and trace_loads print a line where Funcs are stored and loaded."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.ir.expr import Intrinsic, StringImm
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Block, Evaluate, If, Provide
from parhelion.lower.tracing import trace_accesses
from tests.support.realized import single

x, y = hl.vars("x y")


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was printed since the last time, without the beginning and the end."""
    first, *rest, last = capsys.readouterr().out.splitlines()
    assert first.startswith("Begin pipeline "), first
    assert last == first.replace("Begin", "End")
    return rest


def test_only_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    f, g = hl.funcs("traced_f traced_g")
    f[x, y] = x + 2 * y
    g[x, y] = f[y, x]
    f.compute_root()
    g.realize([1, 2])
    assert capsys.readouterr().out == ""
    f.trace_stores()
    g.realize([1, 2])
    assert lines(capsys) == [
        "Store traced_f.0(0, 0) = 0",
        "Store traced_f.0(1, 0) = 1",
    ]
    f.trace_loads()
    g.trace_stores()
    g.realize([1, 2])
    assert lines(capsys)[2:] == [
        "Load traced_f.0(0, 0) = 0",
        "Store traced_g.0(0, 0) = 0",
        "Load traced_f.0(1, 0) = 1",
        "Store traced_g.0(0, 1) = 1",
    ]


def test_an_inlined_func_is_never_stored(capsys: pytest.CaptureFixture[str]) -> None:
    f, g = hl.funcs("inlined_f its_g")
    f[x] = x + 1
    g[x] = f[x] * 2
    f.trace_stores().trace_loads()
    g.realize([2])
    assert capsys.readouterr().out == ""


def test_tuples_name_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("traced_pair")
    f[x] = (x + 7, hl.f64(x) / 4)
    f.trace_stores()
    f.realize([2])
    assert lines(capsys) == [
        "Store traced_pair.0(0) = 7",
        "Store traced_pair.1(0) = 0.000000e+00",
        "Store traced_pair.0(1) = 8",
        "Store traced_pair.1(1) = 2.500000e-01",
    ]


def test_a_vector_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("traced_vector")
    f[x, y] = hl.f32(x) / 2 + y
    f.trace_stores().vectorize(x, 4)
    f.realize([4, 2])
    coordinates = "<0, 1, 2, 3>, <{0}, {0}, {0}, {0}>"
    assert lines(capsys) == [
        f"Store traced_vector.0({coordinates.format(0)}) = "
        "<0.000000, 0.500000, 1.000000, 1.500000>",
        f"Store traced_vector.0({coordinates.format(1)}) = "
        "<1.000000, 1.500000, 2.000000, 2.500000>",
    ]


def test_a_guarded_vector_prints_what_it_stores(
    capsys: pytest.CaptureFixture[str],
) -> None:
    f = hl.Func("traced_tail")
    f[x] = x * x
    f.trace_stores().vectorize(x, 4, hl.TailStrategy.GuardWithIf)
    f.realize([6])
    assert lines(capsys) == [
        "Store traced_tail.0(<0, 1, 2, 3>) = <0, 1, 4, 9>",
        "Store traced_tail.0(4) = 16",
        "Store traced_tail.0(5) = 25",
    ]


def test_each_load_of_an_update_once(capsys: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("traced_update")
    f[x] = hl.u8(x) + 100
    f[x] += hl.u8(1)
    f[0] = f[1]
    f.trace_stores().trace_loads()
    out = single(f.realize([2]))
    assert lines(capsys) == [
        "Store traced_update.0(0) = 100",
        "Store traced_update.0(1) = 101",
        "Load traced_update.0(0) = 100",
        "Store traced_update.0(0) = 101",
        "Load traced_update.0(1) = 101",
        "Store traced_update.0(1) = 102",
        "Load traced_update.0(1) = 102",
        "Store traced_update.0(0) = 102",
    ]
    assert [out[0], out[1]] == [102, 102]


def test_parallel_lines_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("traced_rows")
    f[x, y] = 10 * y + x
    f.trace_stores().parallel(y)
    f.realize([5, 7])
    assert sorted(lines(capsys)) == sorted(
        f"Store traced_rows.0({i}, {j}) = {10 * j + i}"
        for i in range(5)
        for j in range(7)
    )


def test_no_dimensions_and_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("traced_point")
    f[()] = hl.u16(3)
    f.trace_stores()
    f.realize([])
    assert lines(capsys) == ["Store traced_point.0() = 3"]
    g = hl.Func("traced_undef")
    g[x] = hl.undef(hl.Int(32))
    g[hl.RDom([(0, 1)])] = 5
    g.trace_stores()
    g.realize([1])
    assert lines(capsys) == ["Store traced_undef.0(0) = 5"]


def test_a_condition_on_the_store_is_one_on_the_line() -> None:
    f = hl.Func("traced_if")
    f[x] = x
    f.trace_stores()
    function = f._function
    store = Provide(function, (f.values()[0]._node,), function.args, (x > 1)._node)
    made = trace_accesses(store, "p")
    assert isinstance(made, Block)
    begin, guarded, end = made.items
    assert isinstance(begin, Evaluate) and isinstance(end, Evaluate)
    assert isinstance(guarded, If) and guarded.cond is (x > 1)._node
    said = [n.value for n in nodes(made) if isinstance(n, StringImm)]
    assert said == [
        "Begin pipeline p.0()",
        "Store traced_if.0(%) = %",
        "End pipeline p.0()",
    ]
    assert sum(isinstance(n, Intrinsic) for n in nodes(made)) == 3


def test_realizations_and_tags(capsys: pytest.CaptureFixture[str]) -> None:
    f, g = hl.funcs("real_f real_g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_at(g, y).trace_realizations().add_trace_tag("100 % of f")
    g.add_trace_tag("not traced")
    g.realize([3, 2])
    line = [
        "Begin realization real_f.0(0, 4, {0}, 1)",
        "Produce real_f.0(0, 4, {0}, 1)",
        "End produce real_f.0(0, 4, {0}, 1)",
        "Consume real_f.0(0, 4, {0}, 1)",
        "End consume real_f.0(0, 4, {0}, 1)",
        "End realization real_f.0(0, 4, {0}, 1)",
    ]
    assert lines(capsys) == [
        'Tag real_f.0() tag = "100 % of f"',
        *[one.format(row) for row in range(2) for one in line],
    ]


def test_the_realization_of_an_output(capsys: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("real_out")
    f[x, y] = x + y
    f.trace_realizations().trace_stores()
    f.realize([2, 1])
    assert lines(capsys) == [
        "Produce real_out.0(0, 2, 0, 1)",
        "Store real_out.0(0, 0) = 0",
        "Store real_out.0(1, 0) = 1",
        "End produce real_out.0(0, 2, 0, 1)",
    ]
