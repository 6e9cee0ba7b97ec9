"""The domains of reductions as numbers, and where they are cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from parhelion.dask.asked import Asked
from parhelion.dask.chunks import chunk_bytes, starts
from parhelion.dask.needs import Needs
from parhelion.dask.preparing import Prepared, largest_chunk
from parhelion.dataclass import dataclass
from parhelion.errors import OutOfMemoryError, here
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Definition
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.boxes import Box
from parhelion.lang.given import Number, exact

#: A part of a domain: of each axis the least coordinate and the extent.
Tile: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """The box of an RDom, innermost axis first."""

    mins: tuple[int, ...]
    extents: tuple[int, ...]


def domain_of(found: Asked, d: Definition) -> Domain | None:
    """The domain of a definition; None if it has none."""
    if d.rdom is None:
        return None
    env: dict[Var, Number] = {p.var: exact(p, v) for p, v in found.scalars.items()}
    for image, array, order in zip(
        found.images, found.arrays, found.orders, strict=False
    ):
        for dim, axis in zip(image.dims, order, strict=True):
            env[dim.min], env[dim.extent] = 0, int(array.shape[axis])
    for image, pixels in found.constants.items():
        for k, dim in enumerate(image.dims):
            side = pixels.dim(k)
            env[dim.min], env[dim.extent] = side.min(), side.extent()

    def number(e: Expr) -> int:
        return int(evaluate(e, env))

    mins = [number(e) for e in d.rdom.mins]
    extents = [max(number(e), 0) for e in d.rdom.extents]
    return Domain(tuple(mins), tuple(extents))


class Cuts:
    """Finds the parts of a domain that are folded by themselves.

    prepared: the fold of a part; its first Params are the least coordinates of the
    axes, and then their extents. ordered: whether parts are merged in the order of the
    domain, so that they must follow each other in it.
    """

    def __init__(self, prepared: Prepared, domain: Domain, ordered: bool) -> None:
        self._prepared, self._ordered = prepared, ordered
        self._needs = prepared.part.needs
        count = len(domain.extents)
        params = self._needs.copy.params
        self._mins, self._extents = params[:count], params[count : 2 * count]
        self._domain = domain

    def needs(self, tile: Tile) -> Needs:
        """What a part needs."""
        numbers: dict[BufferSym | ParamSym, int] = {}
        for k, (lo, n) in enumerate(tile):
            numbers[self._mins[k]], numbers[self._extents[k]] = lo, n
        return self._needs.given(numbers)

    def tiles(self, most: int, limit: int | None) -> list[Tile]:
        """The parts, in the order of the domain: they end where chunks of an image do,
        and have no more than `most` bytes as far as that is possible.

        limit: raises OutOfMemoryError for parts with more bytes.
        """
        along = [self._along(k) for k in range(len(self._domain.extents))]
        if self._ordered:
            outer = [k for k, n in enumerate(self._domain.extents) if n > 1]
            along = [
                own if outer and k == outer[-1] else _pieces(own[0][0], [_sum(own)])
                for k, own in enumerate(along)
            ]
        while True:
            largest = tuple([max(own, key=lambda p: p[1]) for own in along])
            count = self._bytes(largest)
            free = [k for k, (_, n) in enumerate(largest) if n > 1]
            if count <= most or not free:
                break
            k = free[-1] if self._ordered else max(free, key=lambda a: largest[a][1])
            along[k] = [half for piece in along[k] for half in _halves(piece)]
        if limit is not None and count > limit:
            f = self._prepared.part.asked.outputs[0]
            raise OutOfMemoryError(
                f"hd.reduce: a part of the fold of {f.label!r} reads and writes {count}"
                f" bytes, which is more than memory={limit}, however small it is",
                at=here(),
                hint=f"memory={count} or more",
            )
        return [tuple(reversed(t)) for t in product(*reversed(along))]

    def _bytes(self, tile: Tile) -> int:
        """The bytes that a part reads and writes, of a largest chunk of the result."""
        part = self._prepared.part
        sizes = [a.dtype.itemsize for a in part.asked.arrays]
        if not all(part.grid.shape):
            return 0
        _, _, box = largest_chunk(part, sizes)
        return sum(chunk_bytes(self.needs(tile), part.grid, sizes, box))

    def _along(self, k: int) -> list[tuple[int, int]]:
        """The parts of one axis, which end where chunks of the image do that its points
        move over."""
        lo, n = self._domain.mins[k], self._domain.extents[k]
        part = self._prepared.part
        if n < 2 or not all(part.grid.shape):
            return [(lo, n)]
        box = part.grid.box([0] * len(part.grid.shape), part.grid.shape)
        one, other = self._at(k, lo, box), self._at(k, lo + n - 1, box)
        for image, array in enumerate(part.asked.arrays):
            for d, axis in enumerate(part.orders[image]):
                first, last = one[image][d][0], other[image][d][0]
                if first == last:
                    continue
                slope = (last - first) / (n - 1)
                cuts = {0, n}
                for b in starts(array.chunks[axis])[1:-1]:
                    t = round((b - first) / slope)
                    if 0 < t < n:
                        cuts.add(t)
                places = sorted(cuts)
                sizes = [b - a for a, b in zip(places, places[1:], strict=False)]
                return _pieces(lo, sizes)
        return [(lo, n)]

    def _at(self, k: int, t: int, box: Box) -> list[Box]:
        """What is needed of each image where one axis of the domain is one point."""
        whole = zip(self._domain.mins, self._domain.extents, strict=True)
        tile = [(t, 1) if a == k else own for a, own in enumerate(whole)]
        return self.needs(tuple(tile)).needed(box)


def _pieces(lo: int, sizes: Sequence[int]) -> list[tuple[int, int]]:
    begin = starts(sizes)
    return [(lo + b, n) for b, n in zip(begin, sizes, strict=False)]


def _sum(pieces: Sequence[tuple[int, int]]) -> int:
    return sum([n for _, n in pieces])


def _halves(piece: tuple[int, int]) -> list[tuple[int, int]]:
    lo, n = piece
    return [piece] if n < 2 else [(lo, n // 2), (lo + n // 2, n - n // 2)]


__all__ = ["Cuts", "Domain", "Tile", "domain_of"]
