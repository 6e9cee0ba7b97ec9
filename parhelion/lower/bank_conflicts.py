"""How often the threads of a warp wait for each other at the banks of shared memory.

Words of 4 bytes lie in 32 banks by turns, and each bank gives one word at a time: the
lanes of a warp that want different words of one bank wait. Of accesses of 8 bytes a
half of the warp goes at once, of 16 bytes a quarter (CUDA C++ Programming Guide,
"Shared Memory").
"""

from __future__ import annotations

from collections.abc import Sequence

#: Banks, the bytes of a word, and lanes of a warp.
BANKS, WORD, WARP = 32, 4, 32


def waits(addresses: Sequence[int], size: int) -> int:
    """How many accesses come after the first of each part of a warp that goes at once.

    addresses: in bytes, of each lane that takes part. size: of one lane's access, in
    bytes.
    """
    at_once = WARP * WORD // max(size, WORD)
    total = 0
    for k in range(0, len(addresses), at_once):
        words: set[int] = set()
        for a in addresses[k : k + at_once]:
            words.update(range(a // WORD, (a + size - 1) // WORD + 1))
        banks = [0] * BANKS
        for word in words:
            banks[word % BANKS] += 1
        total += max(banks) - 1
    return total


def lanes_of(
    steps: Sequence[int], extents: Sequence[int], block: Sequence[int]
) -> list[int]:
    """The places of the first warp of a block, where they are a multiple of each number
    of a thread.

    steps: the factors. extents: how many threads take part. block: how many there are.
    All are outermost first; threads that are neighbours in a warp are so along the last
    dimension.
    """
    places: list[int] = []
    for lane in range(WARP):
        rest, place, inside = lane, 0, True
        for step, extent, count in zip(
            reversed(steps), reversed(extents), reversed(block), strict=True
        ):
            number = rest % count
            rest //= count
            place += step * number
            inside = inside and number < extent
        if inside and not rest:
            places.append(place)
    return places


__all__ = ["BANKS", "WARP", "WORD", "lanes_of", "waits"]
