"""Which shapes the default scheduler considers for a kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache

from parhelion.autoschedule.kernels.roles import SMALL
from parhelion.autoschedule.kernels.shape import MOST_LOOPS, Shape

#: Threads along the first, the second and the third long loop.
_THREADS = ((8, 16, 32, 64, 128), (1, 2, 4, 8, 16, 32), (1, 4))
#: Points of one thread along them.
_POINTS = ((1, 2, 4), (1, 2, 4, 8), (1, 2))
#: The same where so much is computed in the kernel that each shape takes long to judge.
_FEW_THREADS = ((16, 32, 64), (1, 4, 8, 16), (1, 4))
_FEW_POINTS = ((1, 2), (1, 2, 4), (1,))
#: Threads of a block: fewer leave SMs idle, which hold just so many blocks; more wait
#: for each other longer.
_FEWEST, _MOST = 64, 512
#: No more points of one thread.
_MOST_POINTS = 32


@lru_cache(maxsize=256)
def shapes(
    extents: tuple[int, ...],
    most: int,
    unrolled: bool,
    together: bool,
    few: bool = False,
) -> Sequence[Shape]:
    """The shapes of a kernel whose parallel loops have these extents.

    most: threads of a block at most. unrolled: whether threads may have several points.
    together: whether these lie side by side, as something is computed for them at once.
    few: whether fewer shapes will do.
    """
    all_threads = _FEW_THREADS if few else _THREADS
    all_points = _FEW_POINTS if few else _POINTS
    long = [d for d, e in enumerate(extents) if e > SMALL][:MOST_LOOPS]
    if not long:
        long = [d for d, e in enumerate(extents) if e > 1][:MOST_LOOPS]
    long = long or [0]
    choices: list[list[tuple[int, int]]] = []
    for d, e in enumerate(extents):
        if d in long:
            k = long.index(d)
            points = all_points[k] if unrolled and e > SMALL else (1,)
            choices.append(list(_pairs(e, all_threads[k], points)))
        elif e <= SMALL and unrolled:
            choices.append(sorted({(1, 1), (1, e)}))
        else:
            choices.append([(1, 1)])
    whole = 1
    for e in extents:
        whole *= e
    found = []
    for one in itertools.product(*choices):
        threads, points = zip(*one, strict=True)
        made = Shape(threads, points, apart=not together)
        number = 1
        for n in points:
            number *= n
        fewest = min(_FEWEST, _up(whole) // 2)
        if number <= _MOST_POINTS and fewest <= made.count <= min(_MOST, most):
            if made.legal(most):
                found.append(made)
    return found or [plain(extents, most)]


def _pairs(
    extent: int, threads: Sequence[int], points: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Threads and points along one loop that do not go far beyond it."""
    seen = False
    for t, p in itertools.product(threads, points):
        if t * p <= _up(extent):
            seen = True
            yield t, p
    if not seen:
        yield min(threads[0], _up(extent)), 1


def _up(n: int) -> int:
    """The next power of 2."""
    return 1 << max(0, n - 1).bit_length()


def plain(extents: Sequence[int], most: int, wanted: int = 128) -> Shape:
    """About so many threads, each with one point, the first loop filling a warp."""
    threads, count = [1] * len(extents), 1
    order = [d for d, e in enumerate(extents) if e > SMALL]
    order += [d for d in range(len(extents)) if d not in order]
    for used, d in enumerate(order[:MOST_LOOPS]):
        room = min(wanted, most) // count
        limit = 32 if not used else room
        while threads[d] * 2 <= min(limit, room, _up(extents[d])):
            threads[d] *= 2
        count *= threads[d]
    # What is left of one row goes along it.
    for d in order[:1]:
        while count * 2 <= min(wanted, most) and threads[d] * 2 <= _up(extents[d]):
            threads[d] *= 2
            count *= 2
    return Shape(tuple(threads), (1,) * len(extents))


__all__ = ["plain", "shapes"]
