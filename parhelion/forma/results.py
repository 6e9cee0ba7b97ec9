"""Which outputs of a program are computed in their place, and which are copies."""

from __future__ import annotations

from parhelion.forma.images import has_channels
from parhelion.forma.stages import Apply, Compose, Graph, Output, Stage


def computed_in_place(graph: Graph) -> frozenset[Output]:
    """The outputs whose stage writes into the caller's array, from which other stages
    read then.

    Others take the values of their stage: inputs and crops, what is returned a second
    time, one of several results of a stencil, and structs, which the caller has side by
    side and stages one field after the other.
    """
    taken: set[Stage] = set()
    found = []
    for output in graph.outputs:
        stage = output.source.stage
        computes = isinstance(stage, Apply | Compose) and len(stage.types) == 1
        if computes and stage not in taken and not has_channels(stage.types[0]):
            taken.add(stage)
            found.append(output)
    return frozenset(found)


__all__ = ["computed_in_place"]
