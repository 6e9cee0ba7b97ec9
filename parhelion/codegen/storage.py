"""The memories that storage of Funcs can be in, as all back ends have them.

A back end has a class of each (`Memory`), which says what it takes, and writes the
allocation. An allocation goes to the first that takes it (`tables.Tables.allocate`).
"""

from __future__ import annotations

from typing import Generic, TypeVar

from parhelion.ir import build
from parhelion.ir import stmt as S

_F = TypeVar("_F", contravariant=True)


class Memory(Generic[_F]):
    """A place for the storage of Funcs, in functions of one back end's."""

    def takes(self, f: _F, s: S.Allocate, size: int | None) -> bool:
        """Whether an allocation can be had there. size: in bytes, where that is known
        and the allocation surely happens."""
        raise NotImplementedError

    def allocate(self, f: _F, s: S.Allocate, size: int | None) -> None:
        """Writes the allocation, and has the function know where the storage is."""
        raise NotImplementedError


def constant_size(s: S.Allocate) -> int | None:
    """The size in bytes, if it is known and the allocation surely happens."""
    if not build.is_true(s.condition):
        return None
    elements = 1
    for extent in s.extents:
        known = build.const_int(extent)
        if known is None:
            return None
        elements *= max(known, 0)
    return (elements + s.padding) * s.buffer.type.bytes()


__all__ = ["Memory", "constant_size"]
