"""Where new arrays begin in memory: on a cache line, and elsewhere in a page than the
arrays that they are computed from.

The first-level cache has one place for some lines, eight for example, of all that lie a
multiple of 4 KiB apart. Rows of images whose width is a power of two do. So do images
themselves, if each begins a page as the memory of large arrays does: a stencil then
reads and writes more lines of one place than there is room for, and takes half as long
again (a 2048 x 2048 emboss on a Zen 4: 2.1 ms where both begin a page, 1.4 elsewhere).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from parhelion.errors import OutOfMemoryError, here
from parhelion.runtime.layout import Array, address

#: New arrays start on a multiple of this many bytes (a cache line, and the widest
#: vector register).
ALIGNMENT = 64
#: What lies a multiple of this many bytes apart shares a place in the nearest cache.
PAGE = 4096
#: Where in a page large arrays may begin. Those of others begin where it does, so that
#: the first of these is taken only by arrays that are known to be away from them.
PLACES = tuple(range(0, PAGE, 512))
#: Smaller arrays stay in the cache, and waste no memory.
_LARGE = 64 << 10

_next = itertools.count()


def place(read: Sequence[int] = ()) -> int:
    """Returns where in a page an array is to begin, in bytes: as far as can be from
    the addresses `read`, and where it is computed from nothing that is known, each time
    elsewhere."""
    if not read:
        return PLACES[1 + next(_next) % (len(PLACES) - 1)]
    return max(PLACES, key=lambda at: min([_apart(at, one) for one in read]))


def _apart(a: int, b: int) -> int:
    """How far two addresses are apart in a page, whose end is its beginning."""
    return min((a - b) % PAGE, (b - a) % PAGE)


def aligned(dtype: np.dtype[Any], count: int, read: Sequence[int] = ()) -> Array:
    """`count` uninitialised elements, on a multiple of `ALIGNMENT` bytes. Large ones
    begin away from the addresses `read`, of what they are computed from.

    Raises OutOfMemoryError.
    """
    size = count * dtype.itemsize
    large = size >= _LARGE
    try:
        raw = np.empty(size + (PAGE if large else ALIGNMENT), np.uint8)
    except (MemoryError, ValueError) as error:
        raise OutOfMemoryError(
            f"out of memory: a buffer needs {size} bytes", at=here()
        ) from error
    skip = (place(read) - address(raw)) % PAGE if large else -address(raw) % ALIGNMENT
    return raw[skip : skip + size].view(dtype)


__all__ = ["ALIGNMENT", "PAGE", "PLACES", "aligned", "place"]
