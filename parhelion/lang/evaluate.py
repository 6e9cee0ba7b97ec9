"""``hl.evaluate``: the value of an expression without free variables, now."""

from __future__ import annotations

from parhelion.lang.buffer import Buffer
from parhelion.lang.expr import ExprLike, to_expr
from parhelion.lang.func import Func
from parhelion.lang.tuples import Tuple, TupleLike, values_of


def evaluate(expr: ExprLike | TupleLike) -> int | float | bool | tuple[object, ...]:
    """Compiles and computes an expression (or a Tuple) that depends on no Var.

    Params and images count with the values that they are set to. Returns a Python
    number, or a tuple of them; raises what `Func.realize` raises.
    """
    several = values_of(expr)
    f = Func("evaluate")
    f[()] = to_expr(expr) if several is None else Tuple(*several)  # type: ignore[arg-type]
    out = f.realize([])
    if isinstance(out, Buffer):
        return out[()]
    assert isinstance(out, tuple)
    return tuple([b[()] for b in out])
