"""Where in the memory that the threads of a block share each allocation lies.

Two allocations share bytes if no value of one is needed when the other is written: from
the first to the last nest of threads that uses it, an allocation is alive, and so in
all of a loop around some of these that it is allocated outside of. As one thread may
still be in the last nest of one when another is in the first nest of the other, a
barrier must stand between the two on every way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym

#: Every allocation begins at a multiple of so many bytes: vectors are as wide.
ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """The bytes of shared memory that a block needs, and where each buffer begins."""

    offsets: Mapping[BufferSym, int]
    size: int


#: What stands around a statement of block level: loops, and branches of Ifs, each with
#: the position at which it begins.
_Chain = tuple[int, ...]


@dataclass(slots=True)
class _Storage:
    """An allocation: its bytes, what is around it, and the places of its uses."""

    size: int
    chain: _Chain
    uses: list[tuple[int, _Chain]] = field(default_factory=list)


@dataclass(slots=True)
class _BlockLevel:
    """What stands at block level, in the order of the program.

    barriers: with what is around each. loops: those serial ones, where each begins and
    ends. excludes: pairs of branches of which only one is taken.
    """

    at: int = 0
    storage: dict[BufferSym, _Storage] = field(default_factory=dict)
    barriers: list[tuple[int, _Chain]] = field(default_factory=list)
    loops: dict[int, int] = field(default_factory=dict)
    excludes: set[tuple[int, int]] = field(default_factory=set)

    def visit(self, s: Stmt, chain: _Chain) -> None:
        """Notes what `s` allocates and uses, and its barriers."""
        self.at += 1
        if isinstance(s, S.Block):
            for item in s.items:
                self.visit(item, chain)
        elif isinstance(s, S.Produce):
            self.visit(s.body, chain)
        elif isinstance(s, S.Barrier):
            self.barriers.append((self.at, chain))
        elif isinstance(s, S.Allocate):
            if s.kind is MemoryKind.SHARED:
                self._allocate(s, chain)
        elif isinstance(s, S.If):
            self._use(s.cond, chain)
            self._branches(s, chain)
        elif isinstance(s, S.For) and s.kind is ForKind.SERIAL:
            self._use(s.min, chain)
            self._use(s.extent, chain)
            begin = self.at
            self.visit(s.body, (*chain, begin))
            self.loops[begin] = self.at
        else:
            self._use(s, chain)

    def _branches(self, s: S.If, chain: _Chain) -> None:
        # Places of their own, as no statement has.
        self.at += 1
        then = self.at
        self.visit(s.then, (*chain, then))
        if s.otherwise is not None:
            self.at += 1
            otherwise = self.at
            self.visit(s.otherwise, (*chain, otherwise))
            self.excludes |= {(then, otherwise), (otherwise, then)}

    def _allocate(self, s: S.Allocate, chain: _Chain) -> None:
        size = bytes_of(s)
        known = self.storage.get(s.buffer)
        if known is None:
            self.storage[s.buffer] = _Storage(size, chain)
            return
        # Copies of a body allocate one buffer in several places.
        known.size = max(known.size, size)
        known.chain = _common(known.chain, chain)

    def _use(self, n: Stmt | Expr, chain: _Chain) -> None:
        for buffer in _touched(n):
            found = self.storage.get(buffer)
            if found is not None:
                found.uses.append((self.at, chain))

    # What may lie at one place.
    def apart(self, a: _Storage, b: _Storage) -> bool:
        """Whether two allocations may have bytes in common."""
        exclusive = True
        for x in a.uses:
            for y in b.uses:
                if not self._ordered(min(x, y), max(x, y)):
                    return False
                exclusive = exclusive and self._exclusive(x, y)
                for loop in _common(x[1], y[1]):
                    if loop not in self.loops:
                        continue
                    if not self._around(x, y, loop):
                        return False
                    # What is allocated further out is kept for other iterations.
                    if loop not in a.chain or loop not in b.chain:
                        exclusive = False
        first, last = self._alive(a)
        begin, end = self._alive(b)
        return exclusive or last < begin or end < first

    def _alive(self, a: _Storage) -> tuple[int, int]:
        first = min([at for at, _ in a.uses])
        last = max([at for at, _ in a.uses])
        for _, chain in a.uses:
            for loop in chain[len(a.chain) :]:
                if loop in self.loops:
                    first, last = min(first, loop), max(last, self.loops[loop])
        return first, last

    def _exclusive(self, x: tuple[int, _Chain], y: tuple[int, _Chain]) -> bool:
        common = len(_common(x[1], y[1]))
        one, other = x[1][common : common + 1], y[1][common : common + 1]
        return bool(one and other) and (one[0], other[0]) in self.excludes

    def _ordered(self, x: tuple[int, _Chain], y: tuple[int, _Chain]) -> bool:
        """Whether a barrier surely comes after `x` and before `y`, the later one."""
        return self._exclusive(x, y) or any(
            [x[0] < at < y[0] and _surely(chain, x, y) for at, chain in self.barriers]
        )

    def _around(self, x: tuple[int, _Chain], y: tuple[int, _Chain], loop: int) -> bool:
        """Whether a barrier surely comes between `x` or `y` in one iteration of a loop
        and the other in the next."""
        begin, end = loop, self.loops[loop]
        return all(
            [
                any(
                    [
                        (one[0] < at <= end and _surely(chain, one, one, loop))
                        or (
                            begin < at < other[0] and _surely(chain, other, other, loop)
                        )
                        for at, chain in self.barriers
                    ]
                )
                for one, other in ((x, y), (y, x))
            ]
        )


def _surely(
    chain: _Chain, x: tuple[int, _Chain], y: tuple[int, _Chain], loop: int = 0
) -> bool:
    """Whether who comes to `x` or to `y` comes to what this is around, too, within an
    iteration of a loop."""
    inside = chain[chain.index(loop) + 1 :] if loop in chain else chain
    if loop and loop not in chain:
        return False
    return any([set(inside) <= set(one[1]) for one in (x, y)])


def _common(a: _Chain, b: _Chain) -> _Chain:
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return a[:same]


def _touched(n: Stmt | Expr) -> list[BufferSym]:
    """The buffers that are loaded from or stored to, in the order of the program."""
    found: dict[BufferSym, None] = {}
    for one in nodes(n):
        if isinstance(one, E.Load | S.Store):
            found[one.buffer] = None
    return list(found)


def bytes_of(s: S.Allocate) -> int:
    """The size of an allocation in a kernel, which is a constant."""
    elements = 1
    for extent in s.extents:
        known = build.const_int(extent)
        if known is None:
            raise InternalError(f"shared storage of {s.buffer.name} of unknown size")
        elements *= max(known, 0)
    return (elements + s.padding) * s.buffer.type.bytes()


def lay_out_shared(s: Stmt) -> SharedLayout:
    """Lays out the shared memory of what a block does: the largest allocations first,
    each at the first place where nothing is that it must be apart from."""
    level = _BlockLevel()
    level.visit(s, ())
    offsets: dict[BufferSym, int] = {}
    total = 0
    # The order of the program decides among equals.
    for buffer in sorted(level.storage, key=lambda b: -level.storage[b].size):
        mine = level.storage[buffer]
        if not mine.uses:
            offsets[buffer] = 0
            continue
        taken = sorted(
            [
                (at, at + level.storage[other].size)
                for other, at in offsets.items()
                if level.storage[other].uses
                and not level.apart(mine, level.storage[other])
            ]
        )
        at = _first_gap(taken, mine.size)
        offsets[buffer] = at
        total = max(total, at + mine.size)
    return SharedLayout(offsets, total)


def _first_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """The first place for `size` bytes between those that are taken."""
    at = 0
    for begin, end in taken:
        if at + size <= begin:
            break
        at = max(at, (end + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
    return at


__all__ = ["ALIGNMENT", "SharedLayout", "bytes_of", "lay_out_shared"]
