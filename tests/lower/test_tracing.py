"""trace_stores and trace_loads put prints where Funcs are stored and loaded."""

from __future__ import annotations

import parhelion as hl
from parhelion.ir.build import block
from parhelion.ir.expr import FuncCall, Intrinsic
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Provide
from parhelion.lower.tracing import trace_accesses

x, y = hl.vars("x y")


def lines(n: object) -> list[str]:
    """What the prints in a statement say, without their values."""
    return [
        " ".join(getattr(a, "value", None) or a.name for a in e.args[1:])  # type: ignore[attr-defined]
        for e in nodes(n)  # type: ignore[arg-type]
        if isinstance(e, Intrinsic) and e.op == "print"
    ]


def program(f: hl.Func, g: hl.Func) -> object:
    stores = [
        Provide(h._function, tuple(v._node for v in h.values()), h._function.args, None)
        for h in (f, g)
    ]
    return trace_accesses(block(*stores))


def test_only_what_was_asked_for() -> None:
    f, g = hl.funcs("traced_f traced_g")
    f[x, y] = x + y
    g[x, y] = f[y, x]
    assert lines(program(f, g)) == []
    f.trace_stores()
    assert lines(program(f, g)) == ["stored in traced_f at x y"]
    f.trace_loads()
    g.trace_stores()
    assert lines(program(f, g)) == [
        "stored in traced_f at x y",
        "stored in traced_g at x y",
        "loaded from traced_f at y x",
    ]


def test_tuples_name_the_value() -> None:
    f = hl.Func("traced_pair")
    f[x] = (x, 2 * x)
    f.trace_stores()
    g = hl.Func("reads_pair")
    g[x] = f[x][1]
    made = program(f, g)
    assert lines(made) == [
        "stored in traced_pair.0 at x",
        "stored in traced_pair.1 at x",
    ]
    assert any(isinstance(n, FuncCall) for n in nodes(made))  # type: ignore[arg-type]
