"""Mathematical functions as expressions."""

from __future__ import annotations

from parhelion.ir.expr import Expr
from parhelion.ir.fixedpoint import lower_intrinsic


def expand(op: str, args: tuple[Expr, ...]) -> Expr | None:
    """None for now."""
    return None


__all__ = ["expand", "lower_intrinsic"]
