"""What the user calls a kernel and the storage in it."""

from __future__ import annotations

from parhelion.ir import stmt as S
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym


def label(buffer: BufferSym) -> str:
    """What the user calls that which a buffer holds."""
    return str(buffer.func.label) if buffer.func is not None else buffer.name


def computed(s: Stmt) -> str:
    """What the user calls the Func that a kernel computes for others than itself."""
    name = "a Func"
    for n in nodes(s):
        if isinstance(n, S.Store) and n.buffer.role != "internal":
            return label(n.buffer)
        if isinstance(n, S.Store):
            name = label(n.buffer)
    return name


__all__ = ["computed", "label"]
