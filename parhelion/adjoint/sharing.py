"""What several reads of a definition get in common is computed once, as a Func.

In ``g[x] = exp(f[x - 1] + f[x + 1])`` both reads of `f` get the same adjoint, at
different places. As terms of a gather each would be computed for every place anew; as
a Func, which is 0 outside of the region, it leaves a stencil with constant
coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parhelion.adjoint.arithmetic import core_of, mul, uncast
from parhelion.adjoint.flows import Flow, Walk
from parhelion.adjoint.handles import guarded, new_func
from parhelion.ir import build
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Function
from parhelion.ir.names import fresh, user_var
from parhelion.ir.rewrite import free_vars, nodes, substitute


def share(name: str, flows: Sequence[Flow], everywhere: set[Function]) -> list[Flow]:
    """The flows of one definition, with new Funcs in place of what they share."""
    groups: dict[Expr, list[Flow]] = {}
    for flow in flows:
        core, _ = core_of(uncast(flow.amount))
        groups.setdefault(core, []).append(flow)
    made: dict[Expr, Expr] = {}
    for core, users in groups.items():
        if _is_shared(core, users, everywhere):
            made[core] = _as_func(name, core, users[0], everywhere)
    return [_with(flow, made) for flow in flows]


def _is_shared(core: Expr, users: Sequence[Flow], everywhere: set[Function]) -> bool:
    """Whether something is worth a Func: several places get it, and it is more than an
    adjoint that may be read anywhere."""
    if isinstance(core, FuncCall) and core.func in everywhere:
        return False
    if not any([isinstance(n, FuncCall) for n in nodes(core)]):
        return False
    pure = frozenset([w.var for w in users[0].walks if w.pure])
    others = frozenset([w.var for w in users[0].walks if not w.pure])
    if not pure or not others.isdisjoint(free_vars(core)):
        return False
    places = {(f.source, f.index, f.place) for f in users}
    shifted = any([_is_shifted(f, others) for f in users])
    return shifted and (len(places) > 1 or _sums(users[0], others))


def _is_shifted(flow: Flow, others: frozenset[Var]) -> bool:
    """Whether a place is another than the point itself."""
    return any([not isinstance(p, Var) for p in flow.place])


def _sums(flow: Flow, others: frozenset[Var]) -> bool:
    """Whether a place gets a sum over reduction variables."""
    return any([not others.isdisjoint(free_vars(p)) for p in flow.place])


def _as_func(name: str, core: Expr, flow: Flow, everywhere: set[Function]) -> Expr:
    walks: list[Walk] = [w for w in flow.walks if w.pure]
    args = [user_var(fresh(w.var.name)) for w in walks]
    to: dict[Var, Expr] = {w.var: a for w, a in zip(walks, args, strict=True)}
    region = tuple([(w.lo, w.hi) for w in walks])
    value = guarded(substitute(core, to), args, region)
    f = new_func(name, args, [value], flow.site)
    everywhere.add(f)
    return FuncCall(core.type, f, tuple([w.var for w in walks]), 0)


def _with(flow: Flow, made: dict[Expr, Expr]) -> Flow:
    core, factor = core_of(uncast(flow.amount))
    if core not in made:
        return flow
    amount = made[core]
    if factor is not None:
        amount = mul(amount, factor)
    return replace(flow, amount=build.cast(flow.amount.type, amount))


__all__ = ["share"]
