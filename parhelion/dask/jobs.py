"""The work of each chunk: what it reads of which blocks, and what it computes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from parhelion.dask.asked import Asked
from parhelion.dask.chunks import Chunks, Grid, starts
from parhelion.dask.compiled import Job, Piece
from parhelion.dask.needs import Needs
from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, here
from parhelion.lang.boxes import Box


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a block of an image. block: its place among the image's blocks. piece:
    the part, in the block's own coordinates. small: whether it is better cut off than
    handed on with all of its block."""

    image: int
    block: tuple[int, ...]
    piece: Piece
    small: bool


@dataclass(frozen=True, slots=True)
class Part:
    """Outputs of one shape, which are computed together.

    values: their places among the asked for. chunks: in the order of dimensions.
    orders: of the images, then of these outputs.
    """

    asked: Asked
    values: tuple[int, ...]
    needs: Needs
    grid: Grid
    chunks: Chunks
    orders: tuple[tuple[int, ...], ...]

    def boxes(self) -> Iterator[tuple[tuple[int, ...], Box]]:
        """The place of each chunk in the grid, and its region."""
        begin = [starts(sizes) for sizes in self.chunks]
        for place in product(*[range(len(sizes)) for sizes in self.chunks]):
            first = [b[k] for b, k in zip(begin, place, strict=True)]
            size = [c[k] for c, k in zip(self.chunks, place, strict=True)]
            yield place, self.grid.box(first, size)

    def in_array(self, place: Sequence[int]) -> tuple[int, ...]:
        """A place in the grid in NumPy's order of axes."""
        order = self.orders[len(self.asked.arrays)]
        return tuple([place[order.index(a)] for a in range(len(order))])


class Cutter:
    """Finds what chunks read of which blocks of the images."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._begin = [
            [starts(sizes) for sizes in array.chunks] for array in part.asked.arrays
        ]

    def job(self, place: tuple[int, ...], box: Box) -> tuple[Job, list[list[Cut]]]:
        """The work of one chunk, and the parts of blocks that it needs.

        Raises BoundsError where it needs pixels that an image does not have.
        """
        part = self._part
        needs = part.needs
        label = self._label(place, box)
        written, needed = needs.written(box), needs.needed(box)
        cuts: list[list[Cut]] = []
        pieces: list[list[Piece]] = []
        for k, (array, region) in enumerate(
            zip(part.asked.arrays, needed, strict=True)
        ):
            if 0 in [n for _, n in box]:
                region = needed[k] = [(0, 0)] * len(region)
            if 0 in [n for _, n in region]:
                # Where it begins is kept, as an image of no pixels covers that alone.
                cuts.append([])
                pieces.append([])
                continue
            order = part.orders[k]
            axes = [region[order.index(a)] for a in range(len(order))]
            for a, ((lo, n), extent) in enumerate(zip(axes, array.shape, strict=True)):
                if lo < 0 or lo + n > extent:
                    self._beyond(label, k, a, lo, n, extent)
            own: list[Cut] = []
            into: list[Piece] = []
            for block, dest, source in self._blocks(k, axes):
                size = prod([array.chunks[a][b] for a, b in enumerate(block)])
                taken = prod([s.stop - s.start for s in source])
                small = 2 * taken < size
                piece = Piece(dest, source)
                own.append(Cut(k, block, piece, small))
                all_of_it = tuple([slice(0, s.stop - s.start) for s in source])
                into.append(Piece(dest, all_of_it if small else source))
            cuts.append(own)
            pieces.append(into)
        return Job(label, box, written, needed, pieces), cuts

    def _blocks(
        self, image: int, axes: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]]:
        """The blocks that a region touches: their place, where their part goes in the
        region, and which part of them it is."""
        along: list[list[tuple[int, slice, slice]]] = []
        for begin, (lo, n) in zip(self._begin[image], axes, strict=True):
            found = []
            b = max(bisect_right(begin, lo) - 1, 0)
            while n and b < len(begin) - 1 and begin[b] < lo + n:
                first, last = max(begin[b], lo), min(begin[b + 1], lo + n)
                if last > first:
                    source = slice(first - begin[b], last - begin[b])
                    found.append((b, slice(first - lo, last - lo), source))
                b += 1
            along.append(found)
        for one in product(*along):
            yield (
                tuple([b for b, _, _ in one]),
                tuple([dest for _, dest, _ in one]),
                tuple([source for _, _, source in one]),
            )

    def _label(self, place: Sequence[int], box: Box) -> str:
        part = self._part
        names = ", ".join([part.asked.targets[v].name for v in part.values])
        order = part.orders[len(part.asked.arrays)]
        spans = [box[order.index(a)] for a in range(len(order))]
        shown = ", ".join([f"{lo}:{lo + n}" for lo, n in spans])
        return f"chunk {part.in_array(place)} of {names}, which is [{shown}] of it"

    def _beyond(
        self, label: str, image: int, a: int, lo: int, n: int, extent: int
    ) -> None:
        part = self._part
        name = part.asked.images[image].name
        raise BoundsError(
            f"{label}: it needs the pixels {lo} to {lo + n - 1} of axis {a} of"
            f" {name!r}, which has 0 to {extent - 1}",
            at=part.asked.images[image].site or here(),
            hint="put a border condition around the image (hl.BoundaryConditions), or"
            " ask for less: shape= and origin=",
        )


__all__ = ["Cut", "Cutter", "Part"]
