"""The loops of the Funcs that are computed inside those of a group's root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Level, Loops
from parhelion.autoschedule.search.shapes import (
    block_choices,
    most_copies,
    plain_loops,
    row_blocks,
    row_dimension,
)
from parhelion.ir.function import Function

_Memo = dict[object, Loops]


class Inside:
    """Members' loops under a root with given loops.

    order: the root and its members, consumers first. memo: what is known of other
    groups; the loops of a Func depend on its definitions and on the box that it is
    computed over alone.
    """

    def __init__(
        self,
        model: Model,
        root: Function,
        loops: Loops,
        order: Sequence[Function],
        memo: _Memo,
    ) -> None:
        self.model, self.root, self.own, self.order = model, root, loops, order
        self.memo = memo
        self.row = row_dimension(loops, model.extents(root))
        #: The dimensions whose loops are inside of the one over rows.
        self._within: tuple[int, ...] = ()
        if self.row >= 0:
            self._within = loops.order[: loops.order.index(self.row)]
        self._boxes: dict[int, dict[Function, list[int]]] = {}
        self._parts: dict[tuple[int, ...], dict[Function, list[int]]] = {}

    def loops(self, f: Function, level: Level, apart: tuple[int, ...] = ()) -> Loops:
        """Those that take the least time in the core. apart: the dimensions of the root
        in which tiles are no more than a block."""
        model = self.model
        whole = box = model.extents(f)
        if apart:
            box = self._part(f, apart)
        elif level is Level.BLOCK:
            box = self._box(f, 0)
        elif level is Level.ROW and self.row >= 0:
            box = self._new(f)
        key = (model.graph.stages[f], level, tuple(whole), tuple(box))
        found = self.memo.get(key)
        if found is None:
            if level is Level.BLOCK:
                found = _unrolled(model, f, box)
            else:
                found = min(
                    self._choices(f, level, whole, box),
                    key=lambda made: float(model.computing(f, made, box)),
                )
            self.memo[key] = found
        return found

    def _choices(
        self, f: Function, level: Level, whole: Sequence[int], box: Sequence[int]
    ) -> Iterator[Loops]:
        """Blocks of rows where they fit what is new in a row; of two rows in a tile,
        whose size is not known yet, so that the tail is short."""
        plain = plain_loops(self.model, f, whole)
        for loops in block_choices(self.model, f, plain):
            if any(
                b > max(n, p)
                for b, n, p in zip(loops.block, box, plain.block, strict=True)
            ):
                continue
            yield loops
            row = row_dimension(loops, whole)
            if row < 0:
                continue
            most = box[row] if level is Level.ROW else 2
            for made in row_blocks(self.model, f, loops, most):
                if level is Level.TILE or box[row] % made.block[row] == 0:
                    yield made

    def _new(self, f: Function) -> list[int]:
        """The extents of what one more row of blocks needs anew."""
        one, two = self._box(f, 1), self._box(f, 2)
        return [b - a if b > a else a for a, b in zip(one, two, strict=True)]

    def _part(self, f: Function, apart: tuple[int, ...]) -> list[int]:
        """The extents of what a block needs that is all of the root in every dimension
        but these."""
        found = self._parts.get(apart)
        if found is None:
            spans = []
            for d, (lo, hi) in enumerate(self.model.regions.bounds[self.root]):
                last = lo + self.own.block[d] - 1
                spans.append((lo, min(hi, last) if d in apart else hi))
            found = self._parts[apart] = self._needed(tuple(spans))
        return found[f]

    def _box(self, f: Function, rows: int) -> list[int]:
        """The extents of what so many rows of blocks need, in the middle of the image;
        no rows: a single block."""
        found = self._boxes.get(rows)
        if found is None:
            bounds = self.model.regions.bounds
            spans = []
            for d, (lo, hi) in enumerate(bounds[self.root]):
                b = self.own.block[d]
                if rows and d in self._within:
                    spans.append((lo, hi))
                    continue
                more = rows if d == self.row else 1
                # Of three blocks the second, though the middle is in the first half.
                beyond = max(0, hi - lo + 1 - b)
                start = lo + max(beyond // 2 // b, min(1, beyond // b)) * b
                spans.append((start, min(hi, start + max(1, more) * b - 1)))
            found = self._boxes[rows] = self._needed(tuple(spans))
        return found[f]

    def _needed(self, spans: tuple[tuple[int, int], ...]) -> dict[Function, list[int]]:
        """The extents of what such a part of the root needs."""
        bounds = self.model.regions.bounds
        wanted = {self.root: spans}
        needed = self.model.regions.needed(self.order, wanted, keep=True)
        return {
            # Of what is not needed, as the edges of a branch, there is no point.
            g: [max(1, int(hi - lo + 1)) for lo, hi in needed.get(g, bounds[g])]
            for g in self.order
        }


def _unrolled(model: Model, f: Function, extents: Sequence[int]) -> Loops:
    """Everything that a block needs at once, as far as the code remains short."""
    own = plain_loops(model, f, extents)
    block = list(own.block)
    total = 1
    most = most_copies(model, f, own)
    for d in own.order:
        n = -(-extents[d] // block[d])
        if total * n <= most:
            block[d] *= n
            total *= n
    # Of what is stored beside the block, no sum can stay in a register.
    local = all(b >= e for b, e in zip(block, extents, strict=True))
    return Loops(own.vector, own.lanes, tuple(block), own.order, local=local)


__all__ = ["Inside"]
