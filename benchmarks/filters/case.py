"""`Case`: one comparison of a filter with OpenCV's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Pixels = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison.

    levels: how far the results may be apart, of uint8, or for floats in [0, 1) in units
    of 1e-5. floats: how far for these, where that is more. chain: whether it is of
    three filters or more. grey, colour: whether images have one channel, or three.
    limit: the most that the ratio of times may be.
    """

    name: str
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    levels: float = 0
    floats: float = 1
    chain: bool = False
    grey: bool = False
    colour: bool = False
    limit: float = 1.3

    def takes(self, channels: int) -> bool:
        """Whether it is of images with so many channels."""
        return not (self.grey and channels > 1) and not (self.colour and channels == 1)


__all__ = ["Case", "Pixels"]
