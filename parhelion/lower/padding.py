"""Rows of shared memory are made longer where that keeps lanes apart.

Lanes of a warp that go down a column of a tile with rows of 32 words all use one bank
of the memory, one after the other. With rows of 33 they use 32. The uses of a tile are
looked at as linear forms of the numbers of a thread; of all lengths up to as many words
more as there are banks, the shortest with the fewest waits (`bank_conflicts`) is taken.

A place is changed where it is proved what row it is in: the terms of its form that are
no multiples of a row, with the constant, stay within one. Rows remain multiples of what
vectors in them are wide, and so do those of neighbouring scalars that a load of several
may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial

from parhelion.analysis.interval import (
    Interval,
    add_intervals,
    constant_interval,
    scale_interval,
)
from parhelion.analysis.linear import Linear, build
from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int, int32
from parhelion.ir.device import Device
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import Allocate, For, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.allocate import constant_bytes
from parhelion.lower.bank_conflicts import BANKS, WORD, lanes_of, waits
from parhelion.lower.kernel_blocks import rewrite_blocks
from parhelion.lower.kernel_loops import (
    THREADS,
    leaves,
    thread_counts,
)
from parhelion.lower.lanes import concat
from parhelion.lower.thread_places import (
    Leaf,
    Use,
    read_together,
    shared_storage,
    thread_numbers,
)

#: No access of a thread is wider, in bytes.
_WIDEST = 16
#: Rows of fewer elements are not looked at.
_SHORTEST = 4


def pad_shared(s: Stmt, device: Device | None) -> Stmt:
    """Makes rows of shared memory longer in kernels, which have their normal form."""
    if device is None:
        return s
    return rewrite_blocks(s, lambda _, body: _Block(device, body).rewritten(body))


@dataclass(slots=True)
class Tile:
    """Shared storage in rows. uses: with the number of the nest of each. fixed: whether
    the row of a place is not known, so that none is to change."""

    buffer: BufferSym
    row: int
    numbers: Sequence[Var]
    uses: list[tuple[int, Use]] = field(default_factory=list)
    fixed: bool = False

    def split(self, use: Use, form: Linear) -> tuple[Linear, Linear] | None:
        """The number of the row of a place and its number there; None if that is not
        known."""
        rows: dict[Expr, int] = {}
        rest: dict[Expr, int] = {}
        reach = Interval(0, 0)
        ends = dict(zip(self.numbers, use.extents, strict=True))
        for atom, factor in form.terms.items():
            whole = (factor + self.row // 2) // self.row
            if whole:
                rows[atom] = whole
            left = factor - whole * self.row
            if left:
                rest[atom] = left
                end = ends.get(atom) if isinstance(atom, Var) else None
                known = constant_interval(atom) if end is None else Interval(0, end - 1)
                reach = add_intervals(reach, scale_interval(known, left))
        if reach.lo is None or reach.hi is None:
            return None
        first = int(reach.lo + form.const) // self.row
        if int(reach.hi + form.const) // self.row != first:
            return None
        return Linear(first, rows), Linear(form.const - first * self.row, rest)

    def padded(self, use: Use, form: Linear, more: int) -> Linear:
        """A place in rows that are so much longer."""
        found = self.split(use, form)
        assert found is not None
        return found[0].scaled(self.row + more).plus(found[1])

    def accesses(self) -> list[tuple[Use, Linear, int]]:
        """Each access of a thread: the form of its first element, and how many lie
        beside each other in it. Scalars of one nest that do, at multiples of as many,
        are one access: they become one."""
        found: list[tuple[Use, Linear, int]] = []
        scalars: dict[tuple[object, ...], dict[int, Use]] = {}
        most = max(_WIDEST // self.buffer.type.bytes(), 1)
        for leaf, use in self.uses:
            dense = all(
                [form.same(use.lanes[0].shifted(k)) for k, form in enumerate(use.lanes)]
            )
            if len(use.lanes) > 1 and dense:
                for k in range(0, len(use.lanes), most):
                    count = min(most, len(use.lanes) - k)
                    found.append((use, use.lanes[k], count))
                continue
            for form in use.lanes:
                key = (leaf, use.writes, use.loops, frozenset(form.terms.items()))
                scalars.setdefault(key, {})[form.const] = use
        for every in scalars.values():
            found += _joined(every, most)
        return found

    def unit(self) -> int:
        """What a row is to stay a multiple of, in elements."""
        size = self.buffer.type.bytes()
        widest = max([count for *_, count in self.accesses()], default=1)
        return max(widest & -widest, WORD // size, 1)

    def waits(self, more: int, block: Sequence[int]) -> int:
        """How often lanes wait in all uses, with rows that are so much longer."""
        size, total = self.buffer.type.bytes(), 0
        for use, form, count in self.accesses():
            extents = [n or 0 for n in use.extents]
            made = self.padded(use, form, more)
            apart = [a for a in made.terms if a not in self.numbers]
            if any([not free_vars(a).isdisjoint(self.numbers) for a in apart]):
                continue
            steps = [made.terms.get(n, 0) * size for n in self.numbers]
            times = 1
            for loop in use.loops:
                times *= const_int(loop.extent) or 1
            places = lanes_of(steps, extents, block)
            base = made.const * size
            total += times * waits([base + p for p in places], count * size)
        return total


def _joined(every: dict[int, Use], most: int) -> list[tuple[Use, Linear, int]]:
    """Scalars whose places differ by constants, those that lie together as one."""
    found: list[tuple[Use, Linear, int]] = []
    left = dict(sorted(every.items()))
    while left:
        at, use = next(iter(left.items()))
        form = next(f for f in use.lanes if f.const == at)
        count = most
        whole = [*form.terms.values(), at]
        while count > 1 and (
            any([k % count for k in whole])
            or any([at + k not in left for k in range(count)])
        ):
            count //= 2
        for k in range(count):
            del left[at + k]
        found.append((use, form, count))
    return found


class _Block:
    """What one block does. more: by how many elements the rows of tiles are longer."""

    def __init__(self, device: Device, body: Stmt) -> None:
        counts = thread_counts(body)
        self.numbers = thread_numbers(counts)
        self.tiles: dict[BufferSym, Tile] = {}
        self.more: dict[BufferSym, int] = {}
        total = 0
        together = read_together(body)
        for buffer, found in shared_storage(body).items():
            sizes = [constant_bytes(buffer.type, a.extents, a.padding) for a in found]
            total += max([size or 0 for size in sizes])
            rows = {const_int(a.extents[0]) for a in found}
            row = rows.pop()
            several = all([len(a.extents) > 1 for a in found])
            if rows or row is None or row < _SHORTEST or not several:
                continue
            if buffer not in together:
                self.tiles[buffer] = Tile(buffer, row, self.numbers)
        if not self.tiles or None in counts:
            return
        for number, leaf in enumerate(leaves(body)):
            Leaf(leaf, self.numbers, partial(self.note, number)).rewritten()
        block = [n or 1 for n in counts]
        for buffer, tile in self.tiles.items():
            if tile.fixed or not tile.uses:
                continue
            found = shared_storage(body)[buffer]
            size = max([constant_bytes(buffer.type, a.extents) or 0 for a in found])
            more = self.choice(tile, block, device.shared - total, size)
            if more:
                self.more[buffer] = more
                total += size // tile.row * more

    def note(self, leaf: int, use: Use) -> None:
        tile = self.tiles.get(use.buffer)
        if tile is None:
            return
        tile.uses.append((leaf, use))
        known = all([n is not None for n in use.extents])
        if not known or any([tile.split(use, form) is None for form in use.lanes]):
            tile.fixed = True

    def choice(self, tile: Tile, block: Sequence[int], room: int, size: int) -> int:
        """How much longer rows are to be. room: the bytes that are left. size: of all
        rows."""
        unit = tile.unit()
        best = tile.waits(0, block)
        if not best or tile.row % unit:
            return 0
        found, most = 0, BANKS * WORD // tile.buffer.type.bytes()
        for more in range(unit, most, unit):
            if size // tile.row * more > room:
                break
            count = tile.waits(more, block)
            if count < best:
                found, best = more, count
        return found

    # What it becomes.

    def rewritten(self, s: Stmt) -> Stmt:
        if not self.more:
            return s
        if isinstance(s, For) and s.kind in THREADS:
            return self.leaf(s)
        if isinstance(s, Allocate) and s.buffer in self.more:
            first = self.tiles[s.buffer].row + self.more[s.buffer]
            extents = (int32(first), *s.extents[1:])
            return Allocate(s.buffer, extents, s.condition, s.kind, s.padding)
        return s.map(lambda c: c if isinstance(c, Expr) else self.rewritten(c))

    def leaf(self, s: For) -> Stmt:
        def replaced(use: Use) -> Expr | None:
            more = self.more.get(use.buffer)
            if more is None:
                return None
            tile = self.tiles[use.buffer]
            forms = [tile.padded(use, form, more) for form in use.lanes]
            return concat([build(f, use.type) for f in forms])

        return Leaf(s, self.numbers, replaced).rewritten()


__all__ = ["Tile", "pad_shared"]
