"""NumPy's functions of Arrays, for code whose types are checked."""

from __future__ import annotations

from parhelion.whole.array import Array
from parhelion.whole.elementwise import apply
from parhelion.whole.operands import operand


def applied(name: str, *given: object) -> Array:
    """What a function of NumPy's makes of an Array, by its name."""
    return Array._of(apply(name, *[operand(g) for g in given]))


__all__ = ["applied"]
