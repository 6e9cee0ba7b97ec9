"""Definitions, updates, Tuples and implicit Vars."""

from __future__ import annotations

from typing import Any

import pytest

import parhelion as hl
from parhelion.ir.expr import FuncCall
from parhelion.schedule.directives import DimType

x, y, z = hl.vars("x y z")


def shown(e: hl.Expr) -> str:
    from parhelion.ir.text import brief

    return brief(e._node)


def test_names_are_unique() -> None:
    a, b = hl.Func("same_name"), hl.Func("same_name")
    assert a.name() == "same_name"
    assert b.name() == "same_name$1"
    assert hl.Func().name() != hl.Func().name()
    assert [f.name() for f in hl.funcs("one_of two_of")] == ["one_of", "two_of"]


def test_one_name_is_one_var() -> None:
    assert hl.Var("q").same_as(hl.Var("q"))
    assert not hl.Var().same_as(hl.Var())
    assert [v.name() for v in hl.vars("q r")] == ["q", "r"]
    assert len(hl.vars("q")) == 1


def test_a_pure_definition() -> None:
    f = hl.Func("pure")
    assert not f.defined()
    f[x, y] = hl.u8(x) + 1
    assert f.defined() and f.dimensions() == 2 and f.outputs() == 1
    assert [v.name() for v in f.args()] == ["x", "y"]
    assert f.type() is hl.UInt(8) and f.types() == [hl.UInt(8)]
    assert shown(f.value()) == "uint8(x) + u8(1)"
    assert not f.has_update_definition() and f.num_update_definitions() == 0
    assert f._function.schedule.storage_order == (0, 1)
    dims = f._function.pure.schedule.dims  # type: ignore[union-attr]
    assert [d.var.name for d in dims] == ["x", "y"]


@pytest.mark.parametrize("n", range(9))
def test_dimensions_from_0_to_8(n: int) -> None:
    args = [hl.Var(f"d{i}") for i in range(n)]
    f, g = hl.Func(), hl.Func()
    f[tuple(args)] = 3
    g[tuple(args)] = f[tuple(args)] + 1
    assert g.dimensions() == n
    g[tuple(args)] += 1
    assert g.num_update_definitions() == 1


def test_indices_may_be_a_list_and_of_narrow_types() -> None:
    f, g = hl.Func("list_of"), hl.Func()
    f[[x, y]] = x
    g[x] = f[hl.u16(x), hl.i8(3)] + f[x, 3]
    assert shown(g.value()) == "list_of(int32(uint16(x)), 3) + list_of(x, 3)"


def test_updates() -> None:
    f = hl.Func("updated")
    f[x, y] = 0
    r = hl.RDom([(0, 10), (2, 3)])
    f[r.x, y] += r.y
    f[x, 3] = f[x, 2] * 2
    assert f.num_update_definitions() == 2
    assert [shown(a) for a in f.update_args(0)] == [r.x.name(), "y"]
    assert [v.name() for v in f.rvars(0)] == [r.x.name(), r.y.name()]
    assert f.rvars(1) == []
    assert shown(f.update_value(1)) == "updated(x, 2)*2"
    assert f.update(1).name() == "updated.update(1)"
    update = f._function.updates[0]
    assert update.rdom is r._domain
    own = [v.name for v in r._domain.vars]
    assert [d.var.name for d in update.schedule.dims] == [*own, "y"]
    assert [d.type for d in update.schedule.dims] == [
        DimType.PURE_RVAR,
        DimType.IMPURE_RVAR,
        DimType.PURE_VAR,
    ]
    assert [d.var.name for d in f._function.updates[1].schedule.dims] == ["x"]


@pytest.mark.parametrize(("op", "initial"), [("+", 0), ("-", 0), ("*", 1), ("/", 1)])
def test_an_undefined_func_gets_a_neutral_initial_value(op: str, initial: int) -> None:
    f = hl.Func("neutral")
    r = hl.RDom([(1, 4)])
    value = hl.f64(r.x)
    ref = f[x, r.x]
    step = {"+": ref.__iadd__, "-": ref.__isub__, "*": ref.__imul__}
    f[x, r.x] = step.get(op, ref.__itruediv__)(value)
    assert f.type() is hl.Float(64)
    assert f.value()._node.value == initial  # type: ignore[attr-defined]
    assert f.args()[0].same_as(x) and not f.args()[1].same_as(r.x)  # type: ignore[arg-type]
    assert f.num_update_definitions() == 1
    assert shown(f.update_value()) == (
        f"{f.name()}(x, {r.x.name()}){op}float64({r.x.name()})"
        if op in "*/"
        else f"{f.name()}(x, {r.x.name()}) {op} float64({r.x.name()})"
    )


def test_all_updates_in_place() -> None:
    f = hl.Func("in_place")
    f[x] = 9
    f[x] += 1
    f[x] -= 1
    f[x] *= 2
    f[x] /= 2
    f[x] //= 2
    f[x] %= 5
    f[x] **= 2
    f[x] &= 7
    f[x] |= 8
    f[x] ^= 1
    f[x] <<= 2
    f[x] >>= 1
    assert f.num_update_definitions() == 12
    assert set(f.types()) == {hl.Int(32)}


def test_an_update_in_place_is_also_a_value() -> None:
    f = hl.Func("value_of")
    f[x] = 1
    a: Any = f[x]  # becomes an Expr
    a += 1
    assert shown(a) == "value_of(x) + 1"


def test_literals_in_updates_take_the_funcs_type() -> None:
    f = hl.Func()
    f[x] = hl.u8(0)
    f[3] = 7
    f[4] += 1
    assert f.update_value(0).type() is hl.UInt(8)
    g = hl.Func()
    g[x] = hl.f32(0)
    g[0] = 1
    assert g.update_value().type() is hl.Float(32)


def test_tuples() -> None:
    f = hl.Func("pairs")
    f[x] = (x, hl.u8(3))
    assert f.outputs() == 2 and f.types() == [hl.Int(32), hl.UInt(8)]
    assert len(f.values()) == 2
    assert len(f[x]) == 2 and f[x].size() == 2
    a, b = f[x]
    assert (a.type(), b.type()) == (hl.Int(32), hl.UInt(8))
    assert f[x][1].index() == 1 and f[x][-1].index() == 1
    f[x] = hl.Tuple(f[x][0] + 1, f[x][1])
    f[x] += (1, hl.u8(2))
    assert shown(f.update_values(1)[1]) == "pairs(x).1 + u8(2)" or f.update_values(1)
    g = hl.Func()
    g[x] = f[x]
    assert g.outputs() == 2
    h = hl.Func()
    h[x] = hl.Tuple(f[x])
    assert h.outputs() == 2
    one = hl.Func()
    one[x] = (x,)
    assert one.outputs() == 1
    chosen = hl.select(x < 3, g[x], h[x])
    assert isinstance(chosen, hl.Tuple) and chosen.size() == 2
    many = hl.Func()
    many[x] += (1, 2.5)
    assert many.types() == [hl.Int(32), hl.Float(32)]
    assert len(f._function.buffers) == 2


def test_select_between_references_is_an_expression() -> None:
    f, g = hl.funcs("left right")
    f[x] = x
    g[x] = -x
    assert isinstance(hl.select(x < 3, f[x], g[x]), hl.Expr)


def test_implicit_variables() -> None:
    f = hl.Func("three")
    f[x, y, z] = x + y * z
    g = hl.Func()
    g[x, hl._] = f[x, hl._] + f[0, hl._]
    assert [v.name() for v in g.args()] == ["x", "_0", "_1"]
    assert shown(g.value()) == "three(x, _0, _1) + three(0, _0, _1)"
    h = hl.Func(f[hl._] + 1)
    assert [v.name() for v in h.args()] == ["_0", "_1", "_2"]
    k = hl.Func()
    k[hl._0, hl._1] = hl._0 + hl._1
    k[hl._] += k[hl._]
    assert shown(k.update_value()) == f"{k.name()}(_0, _1) + {k.name()}(_0, _1)"
    flat = hl.Func()
    flat[hl._] = 3
    assert flat.dimensions() == 0


def test_implicit_var_methods() -> None:
    assert hl._.is_placeholder() and hl._.is_implicit() and hl._.implicit_index() == -1
    assert hl._3.is_implicit() and hl._3.implicit_index() == 3
    assert not x.is_implicit() and x.implicit_index() == -1
    assert hl.Var.implicit(3).same_as(hl._3)
    assert hl.Var.outermost().name() == "__outermost"


def test_undecorated_funcs_are_lifted_point_by_point() -> None:
    a, b = hl.funcs("lifted_a lifted_b")
    a[x, y] = hl.f32(x)
    b[x, y] = y
    f = hl.Func("lifted")
    f[hl._] = a * 2 + hl.sqrt(b)
    assert [v.name() for v in f.args()] == ["_0", "_1"]
    assert shown(f.value()) == (
        "lifted_a(_0, _1)*2.0f + sqrt(float32(lifted_b(_0, _1)))"
    )
    g = hl.Func(1 - a)
    assert g.dimensions() == 2
    h = hl.Func()
    h[x, y] = hl.select(a[x, y] < 3, b[x, y], 0)
    k = hl.Func()
    k[hl._] = a
    assert shown(k.value()) == "lifted_a(_0, _1)"
    c = hl.Func()
    c[x] = 3
    mixed = hl.Func(a + c)
    assert shown(mixed.value()) == f"lifted_a(_0, _1) + float32({c.name()}(_0))"


def test_lambda_func() -> None:
    f = hl.lambda_func(x, y, x + y)
    assert [v.name() for v in f.args()] == ["x", "y"]
    assert hl.lambda_func(3).dimensions() == 0


def test_declared_types_and_dimensions() -> None:
    f = hl.Func(hl.UInt(8), 2, "declared")
    assert f.type() is hl.UInt(8) and f.dimensions() == 2 and not f.defined()
    f[x, y] = 3
    assert f.type() is hl.UInt(8)
    g = hl.Func([hl.UInt(8), hl.Float(32)], 1, "declared_two")
    g[x] = (1, 2)
    assert g.types() == [hl.UInt(8), hl.Float(32)]


def test_literals_take_the_declared_type() -> None:
    f = hl.Func(hl.UInt(8), 1, "declared_counts")
    f[x] += 1
    assert f.type() is hl.UInt(8)


def test_a_failed_update_leaves_an_undefined_func_undefined() -> None:
    f = hl.Func("still_undefined")
    with pytest.raises(hl.DefinitionError, match="the variable y"):
        f[x] += y
    assert not f.defined()
    f[x, y] = 1
    assert f.dimensions() == 2


def test_a_shared_expression_is_one_node() -> None:
    e = hl.sqrt(hl.f32(x) * 2)
    assert (e + 1)._node is (hl.sqrt(hl.f32(x) * 2) + 1)._node


def test_random_numbers_are_tied_to_the_definition() -> None:
    def arguments(e: hl.Expr) -> tuple[object, ...]:
        from parhelion.ir.expr import Intrinsic
        from parhelion.ir.rewrite import nodes

        (found,) = [
            n
            for n in nodes(e._node)
            if isinstance(n, Intrinsic) and n.op == "random_int"
        ]
        return found.args

    f = hl.Func("random_one")
    noise = hl.random_uint()
    f[x, y] = noise
    f[x, 3] = f[x, 3] ^ noise
    g = hl.Func("random_two")
    g[x, y] = noise
    first, second = arguments(f.value()), arguments(f.update_value())
    assert first[-2:] == (x._var, y._var) and second[-1] is x._var
    assert len({first[:2], second[:2], arguments(g.value())[:2]}) == 3
    r = hl.RDom([(0, 3)])
    g[x, r] += hl.random_uint()
    assert set(arguments(g.update_value())) >= {x._var, r.x._var}


def test_sites() -> None:
    f = hl.Func()
    f[x] = 1
    f[3] = 2
    site = f._function.pure.site  # type: ignore[union-attr]
    assert site is not None and site.file == __file__ and site.text() == "f[x] = 1"
    assert f._function.updates[0].site.text() == "f[3] = 2"  # type: ignore[union-attr]


def test_calls_freeze_and_reach_the_function() -> None:
    f, g = hl.funcs("callee caller")
    f[x] = x
    g[x] = f[x + 1]
    call = g.value()._node
    assert isinstance(call, FuncCall) and call.func is f._function
    assert f._function.frozen and not g._function.frozen


def test_numpy_scalars_define() -> None:
    import numpy as np

    f = hl.Func()
    f[x] = np.uint8(3)
    assert f.type() is hl.UInt(8)


def test_a_lone_redefinition_warns() -> None:
    f = hl.Func("twice")
    f[x] = 1
    with pytest.warns(hl.RedefinitionWarning, match="hides all earlier definitions"):
        f[x] = 2
    assert f.num_update_definitions() == 1
