"""Who calls whom in a pipeline, as it is compiled, and the order of realization."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parhelion.errors import DefinitionError
from parhelion.ir.function import Function
from parhelion.ir.names import order_key
from parhelion.schedule.wrappers import called


def stage_callees(function: Function, stage: int) -> list[Function]:
    """The other Funcs that one stage calls, in order of first appearance."""
    return called(function, function.stages()[stage])


def callees(function: Function) -> list[Function]:
    """The other Funcs that any stage of `function` calls, in order."""
    found: dict[Function, None] = {}
    for k in range(len(function.stages())):
        found.update(dict.fromkeys(stage_callees(function, k)))
    return list(found)


def realization_order(outputs: Sequence[Function]) -> list[Function]:
    """All Funcs that the outputs need, each after those it calls.

    Depth first, the callees of a Func by name, as Halide orders them, but for numbers
    that make a name unique (`order_key`). Raises DefinitionError if Funcs call each
    other in a circle.
    """
    order: dict[Function, None] = {}
    open_: dict[Function, None] = {}

    def callees_by_name(f: Function) -> Iterator[Function]:
        return iter(sorted(callees(f), key=lambda g: order_key(g.name)))

    for output in outputs:
        if output in order:
            continue
        open_[output] = None
        stack = [(output, callees_by_name(output))]
        while stack:
            f, rest = stack[-1]
            g = next(rest, None)
            if g is None:
                stack.pop()
                del open_[f]
                order[f] = None
            elif g in open_:
                circle = [h.name for h in open_]
                circle = [*circle[circle.index(g.name) :], g.name]
                raise DefinitionError(
                    f"Funcs call each other in a circle: {' -> '.join(circle)}",
                    at=g.site,
                )
            elif g not in order:
                open_[g] = None
                stack.append((g, callees_by_name(g)))
    return list(order)


__all__ = ["callees", "realization_order", "stage_callees"]
