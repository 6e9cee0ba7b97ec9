"""Finds interned nodes that only hold each other.

A Func whose update reads it holds, in its definition, the calls of itself, which hold
it: `node.sweep` sees that something holds those nodes, and Python's collector sees that
the table of nodes does. Neither frees them. Here the references are counted that come
from elsewhere, as Python's collector does it, with the table's left out.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from parhelion.ir import node

#: Containers that are looked into, besides our own objects.
_PLAIN = (tuple, list, dict, set, frozenset)
_OURS = ("parhelion.ir.", "parhelion.schedule.")


def _is_ours(o: object) -> bool:
    kind = type(o)
    return kind in _PLAIN or kind.__module__.startswith(_OURS)


def sweep_cycles() -> int:
    """Drops the nodes that nothing holds but the table, and each other; what they hold
    is garbage then, for Python's collector. Returns how many nodes were dropped.

    As for `node.sweep`, no other thread should compile meanwhile.
    """
    referents, count = gc.get_referents, sys.getrefcount
    keys = list(node._TABLE)
    objects: list[Any] = [*keys, *map(node._TABLE.__getitem__, keys)]
    held_by_table = len(objects)
    places = {id(o): i for i, o in enumerate(objects)}
    edges: list[list[int]] = []
    inside = [1] * held_by_table
    for o in objects:  # which grows
        to: list[int] = []
        for child in referents(o):
            at = places.get(id(child))
            if at is None:
                if not _is_ours(child) or not gc.is_tracked(child):
                    continue
                at = places[id(child)] = len(objects)
                objects.append(child)
                inside.append(0)
            inside[at] += 1
            to.append(at)
        edges.append(to)
    child = o = None
    probe = [object()]
    own = count(probe[0])  # the list's, and what counting takes
    extra = len(keys)  # `keys` holds those once more
    alive = [
        i
        for i in range(len(objects))
        if count(objects[i]) - inside[i] - (i < extra) > own
    ]
    reached = bytearray(len(objects))
    for i in alive:
        reached[i] = 1
    while alive:
        for at in edges[alive.pop()]:
            if not reached[at]:
                reached[at] = 1
                alive.append(at)
    dropped = 0
    for i, key in enumerate(keys):
        if not reached[extra + i]:
            node._TABLE.pop(key, None)
            dropped += 1
    return dropped


__all__ = ["sweep_cycles"]
