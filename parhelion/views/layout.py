"""Drawing layered graphs: where boxes stand, and along what points edges go.

The method is that of Sugiyama, Tagawa and Toda ("Methods for Visual Understanding of
Hierarchical System Structures", 1981), in its plainest form: layers by longest paths,
placeholders where an edge crosses a layer, an order in each layer by the mean place of
the neighbours, and then places as near to the neighbours as the order allows.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.dataclass import dataclass

Place = tuple[float, float]

#: Room between boxes of a layer, and between layers.
_GAP = 22.0
_LAYER_GAP = 46.0
_MARGIN = 8.0
#: How often orders and places are improved, down and up again.
_ROUNDS = 8
#: The width of an edge that crosses a layer.
_THIN = 8.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """centres: of the boxes. paths: of each edge, from box to box."""

    centres: tuple[Place, ...]
    paths: tuple[tuple[Place, ...], ...]
    width: float
    height: float


def layered(sizes: Sequence[Place], edges: Sequence[tuple[int, int]]) -> Drawing:
    """Places for boxes of these widths and heights; edges (without circles) go down."""
    return _Layered(sizes, edges).layout()


class _Layered:
    """Boxes and placeholders by number; the boxes come first."""

    def __init__(
        self, sizes: Sequence[Place], edges: Sequence[tuple[int, int]]
    ) -> None:
        self.sizes = list(sizes)
        self.boxes = len(self.sizes)
        self.edges = list(edges)
        rank = self._ranks()
        #: The numbers along each edge, one in each layer.
        self.chains: list[list[int]] = []
        above: list[list[int]] = [[] for _ in self.sizes]
        below: list[list[int]] = [[] for _ in self.sizes]
        for a, b in self.edges:
            chain = [a]
            for r in range(rank[a] + 1, rank[b]):
                chain.append(len(self.sizes))
                self.sizes.append((_THIN, 0.0))
                rank.append(r)
                above.append([])
                below.append([])
            chain.append(b)
            self.chains.append(chain)
            for p, q in zip(chain, chain[1:], strict=False):
                below[p].append(q)
                above[q].append(p)
        self.above, self.below = above, below
        self.layers: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
        for v, r in enumerate(rank):
            self.layers[r].append(v)
        self.x = [0.0] * len(self.sizes)

    def _ranks(self) -> list[int]:
        """Layers: as far up as those above allow; then sources just above their use."""
        n = self.boxes
        into: list[list[int]] = [[] for _ in range(n)]
        out: list[list[int]] = [[] for _ in range(n)]
        for a, b in self.edges:
            into[b].append(a)
            out[a].append(b)
        left = [len(producers) for producers in into]
        ready = [v for v in range(n) if left[v] == 0]
        rank = [0] * n
        for v in ready:  # grows meanwhile
            for w in out[v]:
                rank[w] = max(rank[w], rank[v] + 1)
                left[w] -= 1
                if left[w] == 0:
                    ready.append(w)
        for v in range(n):
            if not into[v] and out[v]:
                rank[v] = min([rank[w] for w in out[v]]) - 1
        return rank

    def layout(self) -> Drawing:
        for layer in self.layers:
            self._pack(layer)
        down = list(range(1, len(self.layers)))
        up = list(range(len(self.layers) - 2, -1, -1))
        for _ in range(_ROUNDS):
            for order, near in ((down, self.above), (up, self.below)):
                for r in order:
                    self._sort(self.layers[r], near)
        for _ in range(_ROUNDS):
            for order, near in ((down, self.above), (up, self.below)):
                for r in order:
                    self._settle(self.layers[r], near)
        return self._measured()

    def _pack(self, layer: list[int]) -> None:
        """Side by side from 0 on."""
        at = 0.0
        for v in layer:
            width = self.sizes[v][0]
            self.x[v] = at + width / 2
            at += width + _GAP

    def _mean(self, v: int, near: list[list[int]]) -> float:
        found = near[v]
        return sum([self.x[w] for w in found]) / len(found) if found else self.x[v]

    def _sort(self, layer: list[int], near: list[list[int]]) -> None:
        layer.sort(key=lambda v: self._mean(v, near))
        self._pack(layer)

    def _settle(self, layer: list[int], near: list[list[int]]) -> None:
        """Towards the neighbours, in this order, without overlap."""
        wanted = [self._mean(v, near) for v in layer]
        placed: list[float] = []
        for i, v in enumerate(layer):
            at = wanted[i]
            if i > 0:
                apart = (self.sizes[layer[i - 1]][0] + self.sizes[v][0]) / 2 + _GAP
                at = max(at, placed[-1] + apart)
            placed.append(at)
        if not placed:
            return
        # What was pushed to the right goes back by as much as is too far on average.
        pairs = zip(placed, wanted, strict=True)
        shift = sum([p - w for p, w in pairs]) / len(placed)
        for v, at in zip(layer, placed, strict=True):
            self.x[v] = at - shift

    def _measured(self) -> Drawing:
        left = min(
            [self.x[v] - w / 2 for v, (w, _) in enumerate(self.sizes)], default=0
        )
        y = [0.0] * len(self.sizes)
        at = _MARGIN
        for layer in self.layers:
            tall = max([self.sizes[v][1] for v in layer], default=0.0)
            for v in layer:
                y[v] = at + tall / 2
            at += tall + _LAYER_GAP
        places = [(self.x[v] - left + _MARGIN, y[v]) for v in range(len(self.sizes))]
        right = [x + w / 2 for (x, _), (w, _) in zip(places, self.sizes, strict=True)]
        paths = []
        for chain in self.chains:
            path = [places[v] for v in chain]
            (ax, ay), (bx, by) = path[0], path[-1]
            path[0] = (ax, ay + self.sizes[chain[0]][1] / 2)
            path[-1] = (bx, by - self.sizes[chain[-1]][1] / 2)
            paths.append(tuple(path))
        return Drawing(
            tuple(places[: self.boxes]),
            tuple(paths),
            max(right, default=0.0) + _MARGIN,
            max(at - _LAYER_GAP, 0.0) + _MARGIN,
        )


__all__ = ["Drawing", "layered"]
