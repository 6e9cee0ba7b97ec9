"""`Case`: one comparison of a filter with OpenCV's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Pixels = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison. levels: how far the results may be apart, of uint8, or for floats
    in [0, 1) in units of 1e-5. chain: whether it is of three filters or more. grey:
    whether images have one channel."""

    name: str
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    levels: float = 0
    chain: bool = False
    grey: bool = False


__all__ = ["Case", "Pixels"]
