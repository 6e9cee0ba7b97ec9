"""Loops of lanes that end where their guard does, in C.

The last vector of a row has a guard around each lane. C compilers make masks of it, and
of the places in memory, which they do not see through a branch, gathers and scatters.
"""

from __future__ import annotations

from parhelion.analysis.linear import built, difference, linear
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import INTRINSICS, MARKS
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32


def limited(loop: S.For) -> S.For:
    """A loop whose body is a branch, without those of its conditions that hold for the
    first lanes up to some one."""
    found, then = ends(loop)
    if not found:
        return loop
    end = build.add(loop.min, loop.extent)
    for one in found:
        end = build.minimum(end, one)
    return S.For(loop.var, loop.min, build.sub(end, loop.min), loop.kind, then)


def ends(loop: S.For) -> tuple[list[Expr], S.Stmt]:
    """Of a loop whose body is a branch, after names at most, before which lanes its
    conditions hold that hold for the first ones, and the body without them."""
    body = loop.body
    *names, branch = body.items if isinstance(body, S.Block) else (body,)
    if not isinstance(branch, S.If) or branch.otherwise is not None:
        return [], body
    places: dict[Var, Expr] = {}
    for one in names:
        if not isinstance(one, S.LetStmt) or _has_effects(one.value):
            return [], body
        places[one.var] = substitute(one.value, places)
    found: list[Expr] = []
    rest: list[Expr] = []
    for condition in _conditions(branch.cond):
        end = _end(substitute(condition, places), loop.var)
        (rest if end is None else found).append(condition if end is None else end)
    if not found:
        return [], body
    then = branch.then
    for condition in reversed(rest):
        then = S.If(condition, then, None)
    return found, build.block(*names, then)


def _has_effects(e: Expr) -> bool:
    """Whether it matters for how many lanes a value is computed."""
    for n in nodes(e):
        if isinstance(n, E.Extern):
            return True
        if isinstance(n, E.Intrinsic) and not INTRINSICS[n.op].pure:
            return True
    return False


def _conditions(e: Expr) -> list[Expr]:
    """Those that hold together where one does."""
    while isinstance(e, E.Intrinsic) and e.op in MARKS:
        e = e.args[0]
    return [*_conditions(e.a), *_conditions(e.b)] if isinstance(e, E.And) else [e]


def _end(condition: Expr, lane: Var) -> Expr | None:
    """Before which lane a condition holds, and from which on it does not; None if it is
    another one."""
    if not isinstance(condition, E.LT | E.LE) or condition.a.type is not INT32:
        return None
    form = difference(condition.b, condition.a)
    times = -form.terms.get(lane, 0)
    if times <= 0:
        return None
    others = form.without(lane)
    for atom in others.terms:
        if lane in free_vars(atom) or any([isinstance(n, E.Load) for n in nodes(atom)]):
            return None
    if times == 1:
        return built(others.shifted(isinstance(condition, E.LE)), INT32)
    # The last lane of which so many times are less than the others, or as much.
    most = built(others.shifted(-isinstance(condition, E.LT)), INT32)
    if most is None:
        return None
    last = simplify(build.div(most, build.int32(times)))
    return built(linear(last).shifted(1), INT32)


__all__ = ["ends", "limited"]
