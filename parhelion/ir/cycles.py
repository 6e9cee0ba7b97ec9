"""Finds interned nodes that only hold each other.

A Func whose update reads it holds, in its definition, the calls of itself, which hold
it: `node.sweep` sees that something holds those nodes, and Python's collector sees that
the table of nodes does. Neither frees them. Here the references are counted that come
from elsewhere, as Python's collector does it, with the table's left out.

Of the images among what nothing else holds, the pixels are given back at once: the
symbols themselves hold each other and wait for Python's collector.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from parhelion.ir import node
from parhelion.ir.bindings import SET
from parhelion.ir.changes import CHANGES
from parhelion.ir.symbols import BufferSym

#: Containers that are looked into, besides our own objects.
_PLAIN = (tuple, list, dict, set, frozenset)
#: Where our own objects' classes are. Of analysis, nodes remember linear forms, which
#: hold other nodes.
_OURS = ("parhelion.ir.", "parhelion.schedule.", "parhelion.analysis.")


class _Classes(dict[type, bool]):
    """Of which classes objects are looked into."""

    def __missing__(self, kind: type) -> bool:
        ours = kind in _PLAIN or kind.__module__.startswith(_OURS)
        self[kind] = ours
        return ours


def sweep_cycles(young: bool = False) -> int:
    """Drops the nodes that nothing holds but the table, and each other; what they hold
    is garbage then, for Python's collector. Returns how many nodes were dropped.

    young: only of the nodes that were interned since the last time, which takes no
    longer if there are many others.

    As for `node.sweep`, no other thread should compile meanwhile. Others may define
    and run Funcs.
    """
    objects: list[Any] = []
    with CHANGES:
        # Freed after it: what is freed may run code of the user's.
        dropped, pixels = _sweep(objects, node._seen if young else 0)
    del objects[:], pixels
    return dropped


def _sweep(objects: list[Any], since: int) -> tuple[int, list[Any]]:
    """Drops such nodes among those that were interned after `since`, and returns how
    many, and the Buffers of images that nothing holds any more.

    objects: gets all that it looks at.
    """
    referents, count = gc.get_referents, sys.getrefcount
    # Each list is made in one step, as other threads intern nodes meanwhile.
    keys = list(node._TABLE)[since:]
    older = set(map(id, list(node._TABLE.values())[:since]))
    objects += [*keys, *map(node._TABLE.__getitem__, keys)]
    held_by_table = len(objects)
    places = {id(o): i for i, o in enumerate(objects)}
    edges: list[list[int]] = []
    ours = _Classes()
    inside = [1] * held_by_table
    for o in objects:  # which grows
        to: list[int] = []
        for child in referents(o):
            at = places.get(id(child))
            if at is None:
                if (
                    not ours[type(child)]
                    or id(child) in older
                    or not gc.is_tracked(child)
                ):
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
    lost = [i for i, o in enumerate(objects) if not reached[i] and type(o) is BufferSym]
    o = None
    with SET.lock:
        # A Buffer may have been asked for its symbol meanwhile.
        if any([count(objects[i]) - inside[i] != own for i in lost]):
            return 0, []
        pixels = SET.drop([objects[i] for i in lost])
    dropped = 0
    for i, key in enumerate(keys):
        if not reached[extra + i]:
            node._TABLE.pop(key, None)
            dropped += 1
    node._seen = since + len(keys) - dropped
    return dropped, pixels


__all__ = ["sweep_cycles"]
