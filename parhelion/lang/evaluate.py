"""``hl.evaluate``: the value of an expression without free variables, now."""

from __future__ import annotations

from parhelion.lang.buffer import Buffer
from parhelion.lang.expr import ExprLike, to_expr
from parhelion.lang.func import Func
from parhelion.lang.tuples import Tuple, TupleLike, values_of


def evaluate(expr: ExprLike | TupleLike) -> int | float | bool | tuple[object, ...]:
    """Returns the value of an expression, or of a Tuple, that depends on no Var.

    The value is a Python number, or a tuple of them. The expression is compiled and run
    at once. Params and images have the values that they are set to. Raises what
    `Func.realize` raises, and DefinitionError if the expression depends on a Var.

    >>> hl.evaluate(hl.sqrt(9.0) + 1)
    4.0
    """
    several = values_of(expr)
    f = Func("evaluate")
    f[()] = to_expr(expr) if several is None else Tuple(*several)  # type: ignore[arg-type]
    out = f.realize([])
    if isinstance(out, Buffer):
        return out[()]
    assert isinstance(out, tuple)
    return tuple([b[()] for b in out])


def evaluate_may_gpu(
    expr: ExprLike | TupleLike,
) -> int | float | bool | tuple[object, ...]:
    """Returns what `evaluate` does, which computes a single value on the CPU.

    It may use a GPU, says Halide, and need not. Raises what `evaluate` raises.

    >>> hl.evaluate_may_gpu(hl.Expr(3) * 4)
    12
    """
    return evaluate(expr)
