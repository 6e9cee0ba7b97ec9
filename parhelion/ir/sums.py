"""What sums add up, where parts of them are shared.

A sum of sums that share parts is a graph: to walk it as a tree takes a time that is
exponential in its depth. Here every node is opened once, with the sum of the factors
that all sums around it have for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.ir.expr import Expr

#: The operands of a sum, each with the factor that it has there; none for other nodes.
Parts = Callable[[Expr], Sequence[tuple[Expr, int]]]


def summands(root: Expr, parts: Parts) -> dict[Expr, int]:
    """What `root` is the sum of, with factors, in the order in which it is written.

    Factors may come to 0.
    """
    opened: dict[Expr, Sequence[tuple[Expr, int]]] = {}
    _open(root, parts, opened)
    if len(opened) == 1:
        return {root: 1}
    factors = dict.fromkeys(opened, 0)
    factors[root] = 1
    # Backwards: all that a node is part of comes before it.
    for e in reversed(opened):
        k = factors[e]
        for part, c in opened[e]:
            factors[part] += c * k
    return {e: factors[e] for e, inside in opened.items() if not inside}


def _open(
    e: Expr, parts: Parts, opened: dict[Expr, Sequence[tuple[Expr, int]]]
) -> None:
    """Notes `e` behind all that it is the sum of."""
    if e not in opened:
        inside = parts(e)
        for part, _ in inside:
            _open(part, parts, opened)
        opened[e] = inside


__all__ = ["Parts", "summands"]
