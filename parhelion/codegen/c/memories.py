"""The memories of C text: arrays, and blocks of the heap."""

from __future__ import annotations

from parhelion.analysis.interval import constant_interval
from parhelion.codegen.c.blocks import BLOCKS
from parhelion.codegen.c.text import Text, c_type
from parhelion.codegen.storage import Memory
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.stmt import HEAPS, MemoryKind
from parhelion.lower.allocate import MOST_ON_STACK


class Array(Memory[Text]):
    """An array of the block, for what is small and of a known size, or is asked to be
    on the stack."""

    def takes(self, f: Text, s: S.Allocate, size: int | None) -> bool:
        if size is None or s.kind is MemoryKind.HEAP:
            return False
        return s.kind is MemoryKind.STACK or size <= MOST_ON_STACK

    def allocate(self, f: Text, s: S.Allocate, size: int | None) -> None:
        assert size is not None
        b = s.buffer
        count = max(size // b.type.bytes(), 1)
        name = f.name(b, b.name)
        f.out(f"{c_type(b.type)} {name}[{count}];")
        if b not in f.read:
            f.out(f"(void){name};")
        f.arrays.add(b)


class Heap(Memory[Text]):
    """Blocks of the heap (`blocks`); it is checked that there is some."""

    #: The stack has no place for a size that is no constant.
    _KINDS = (*HEAPS, MemoryKind.AUTO, MemoryKind.STACK, MemoryKind.REGISTER)

    def takes(self, f: Text, s: S.Allocate, size: int | None) -> bool:
        return s.kind in self._KINDS

    def allocate(self, f: Text, s: S.Allocate, size: int | None) -> None:
        b, t = s.buffer, c_type(s.buffer.type)
        f.arrays.discard(b)
        sizes = []
        for e in s.extents:
            if build.const_int(e) != 1:
                sizes.append(f"(size_t){_extent(f, e)}")
        count = " * ".join(sizes) or "1"
        if s.padding:
            count = f"{count} + {s.padding}"
        wanted = f.root(s.condition)
        always = build.is_true(s.condition)
        name = f.name(b, b.name)
        for function in BLOCKS:
            f.runtime(function)
        made = f"storage({count}, sizeof({t}))"
        if not always:
            kept = f.name((s, "wanted"), f"{name}_wanted")
            f.out(f"const bool {kept} = {wanted};")
            f.out(f"{t} *{name} = {kept} ? {made} : NULL;")
            f.fail_unless(f"!{kept} || {name}", "out_of_memory")
        else:
            f.out(f"{t} *{name} = {made};")
            f.fail_unless(name, "out_of_memory")
        f.live.append(b)


def _extent(f: Text, e: Expr) -> str:
    """The text of a size, which is never negative."""
    least = constant_interval(e).lo
    if least is None or least < 0:
        e = E.Max(e, build.imm(0, e.type))
    f.begin(e)
    return f.atom(e)


MEMORIES: tuple[Memory[Text], ...] = (Array(), Heap())

__all__ = ["MEMORIES"]
