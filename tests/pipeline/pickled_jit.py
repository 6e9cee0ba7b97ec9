"""Functions of arrays that tests pickle: other processes find them here by name."""

from __future__ import annotations

import numpy as np

import parhelion as hl


@hl.jit
def halved(image: hl.Array) -> hl.Array:
    return image // 2


def of_array(values: list[int]) -> list[int]:
    """Runs in another process."""
    found: list[int] = halved(np.array(values, np.int32)).tolist()
    return found
