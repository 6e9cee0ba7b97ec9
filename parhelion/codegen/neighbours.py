"""Loads of one run of statements that differ by constant offsets alone."""

from __future__ import annotations

from collections.abc import Callable

from parhelion.codegen.addresses import address
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.symbols import BufferSym

#: The first element of a load that is like another one, None if it is not.
BaseOf = Callable[[E.Load], Expr | None]


def offsets_of_run(
    f: Function, e: E.Load, pointer: str, stride: Expr | int
) -> list[int]:
    """Where the current run of statements surely loads vectors as `e` does, before
    anything is stored to its buffer: the offsets of their first lanes past `pointer`,
    in elements, rising. stride: of their lanes, a number if it is known."""

    def base_of(n: E.Load) -> Expr | None:
        ramp = n.index
        if isinstance(ramp, E.Ramp) and _named(ramp.stride) == stride:
            return ramp.base
        return None

    return offsets_of_alike(f, e, pointer, stride, base_of)


def offsets_of_alike(
    f: Function, e: E.Load, pointer: str, what: object, base_of: BaseOf
) -> list[int]:
    """As `offsets_of_run`, of loads that are as far apart from each other in all lanes.

    what: tells them from others. base_of: a number for each that it takes, which is in
    all lanes of their indices.
    """
    key = ("offsets", pointer, what, e.type)
    known = f.memo.get(key)
    if known is None:
        found = sorted(_found(f, e, pointer, base_of))
        known = f.remember(key, " ".join(map(str, found)), f.level(e), e)
    return [int(n) for n in known.split()]


def _found(f: Function, e: E.Load, pointer: str, base_of: BaseOf) -> set[int]:
    found: set[int] = set()
    later: set[Var] = set()
    stored: set[BufferSym] = set()
    # This load may have been moved out of loops, to where nothing that changes in them
    # can be written. What does has another address.
    deepest = f.level(e)
    items, at = f.run
    for item in items[at:]:
        if not isinstance(item, S.LetStmt | S.Store | S.Evaluate):
            break
        for child in item.children():
            if e.buffer not in f.module.reads(child):
                continue
            for n in nodes(child):
                if (
                    isinstance(n, E.Load)
                    and n.buffer is e.buffer
                    and n.type is e.type
                    and n.predicate is None
                    and later.isdisjoint(free_vars(n.index))
                    and stored.isdisjoint(f.module.reads(n.index))
                    and all([v in f.vars for v in free_vars(n.index)])
                ):
                    base = base_of(n)
                    if base is None or f.level(base) > deepest:
                        continue
                    other, offset = _place(f, e.buffer, base)
                    if other == pointer:
                        found.add(offset)
        if isinstance(item, S.LetStmt):
            later.add(item.var)
        elif isinstance(item, S.Store):
            if item.buffer is e.buffer:
                break
            stored.add(item.buffer)
    return found


def _place(f: Function, buffer: BufferSym, index: Expr) -> tuple[str, int]:
    """The `address` of an element, which every load of a run asks for again."""
    start, level = f.pointers[buffer]
    key = ("place", start, index)
    known = f.memo.get(key)
    if known is None:
        pointer, offset = address(f, buffer, index)
        level = max(level, f.level(index))
        known = f.remember(key, f"{pointer} {offset}", level, index)
    pointer, _, places = known.partition(" ")
    return pointer, int(places)


def _named(stride: Expr) -> Expr | int:
    """A constant is the same stride in all types that indices have."""
    step = build.const_int(stride)
    return stride if step is None else step


__all__ = ["offsets_of_alike", "offsets_of_run"]
