"""In which order the points of an update definition may be computed.

The definition's own order is the RDom's, point by point, the first dimension fastest.
A NumPy program that walked it so would be slow; here it is found which points can be
computed at once with the same result, by reasons that need no arithmetic:

- An update that does not read its own Func: all points at once; of several writes to
  one place the last counts.
- ``f[at] = f[at] op e``, where `e` does not read `f`: all the `e` at once, and `op`
  applied in the RDom's order (``ufunc.at`` does), which is exact for floats too.
- An RVar that alone, but for factors and terms without RVars, makes up one coordinate
  of the left-hand side and of every read of the Func: two points that differ in it
  touch different places, so they commute.
"""

from __future__ import annotations

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.ir import expr as E
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.node import Node
from parhelion.ir.rewrite import nodes


@dataclass(frozen=True, slots=True)
class UfuncUpdate:
    """``f[at] = ufunc(f[at], operand)``"""

    ufunc: np.ufunc
    operand: Expr


@dataclass(frozen=True, slots=True)
class Order:
    """What an update allows.

    reads_itself: whether it reads the Func it updates.
    folds: one `UfuncUpdate` per value, if it is of that form.
    independent: the RVars whose points commute.
    """

    reads_itself: bool
    folds: tuple[UfuncUpdate, ...] | None
    independent: frozenset[Var]


def order_of(func: Function, update: Definition) -> Order:
    rvars = update.rdom.vars if update.rdom is not None else ()
    roots = list(update.args + update.values)
    if update.rdom is not None:
        roots.append(update.predicate)
    own = {n for root in roots for n in nodes(root) if _is_call(n, func)}
    independent = frozenset(
        [v for v in rvars if _separates(v, rvars, update.args, own)]
    )
    return Order(bool(own), _folds(func, update), independent)


def _is_call(n: object, func: Function) -> bool:
    return isinstance(n, FuncCall) and n.func is func


def _reads(e: Expr, func: Function) -> bool:
    return any(_is_call(n, func) for n in nodes(e))


def _separates(
    v: Var, rvars: tuple[Var, ...], args: tuple[Expr, ...], own: set[Node]
) -> bool:
    for position, arg in enumerate(args):
        if not _is_affine(arg, v, frozenset(rvars)):
            continue
        if all(isinstance(n, FuncCall) and n.args[position] is arg for n in own):
            return True
    return False


def _is_affine(e: Expr, v: Var, rvars: frozenset[Var]) -> bool:
    """Whether `e` is ``c * v + d`` with a constant c other than 0 and a `d` that has
    no RVar and reads nothing."""
    if e is v:
        return True
    if isinstance(e, E.Add | E.Sub):
        return (_is_affine(e.a, v, rvars) and _is_fixed(e.b, rvars)) or (
            _is_affine(e.b, v, rvars) and _is_fixed(e.a, rvars)
        )
    if isinstance(e, E.Mul):
        return (_is_affine(e.a, v, rvars) and const_int(e.b) not in (None, 0)) or (
            _is_affine(e.b, v, rvars) and const_int(e.a) not in (None, 0)
        )
    return False


def _is_fixed(e: Expr, rvars: frozenset[Var]) -> bool:
    return not any(
        n in rvars or isinstance(n, E.FuncCall | E.ImageLoad) for n in nodes(e)
    )


def _folds(func: Function, update: Definition) -> tuple[UfuncUpdate, ...] | None:
    placing = list(update.args)
    if update.rdom is not None:
        placing.append(update.predicate)
    if any(_reads(e, func) for e in placing):
        return None
    found = [
        _fold(func, update.args, k, value) for k, value in enumerate(update.values)
    ]
    folds = tuple([f for f in found if f is not None])
    return folds if len(folds) == len(found) else None


def _fold(
    func: Function, args: tuple[Expr, ...], index: int, value: Expr
) -> UfuncUpdate | None:
    if value.type.is_bfloat() or value.type.is_bool():
        return None
    ufunc = _UFUNCS.get(type(value))
    if ufunc is None or (value.type.is_float() and ufunc in _INTEGERS_ONLY):
        return None
    assert isinstance(value, E._Binary)
    place = FuncCall(value.type, func, args, index)
    if value.a is place:
        operand = value.b
    elif value.b is place and not isinstance(value, E.Sub):
        operand = value.a
    else:
        return None
    return None if _reads(operand, func) else UfuncUpdate(ufunc, operand)


_UFUNCS: dict[type[Expr], np.ufunc] = {
    E.Add: np.add,
    E.Sub: np.subtract,
    E.Mul: np.multiply,
    E.Min: np.minimum,
    E.Max: np.maximum,
}
#: NumPy's float minimum and maximum differ in NaN and in the sign of zero.
_INTEGERS_ONLY = (np.minimum, np.maximum)
