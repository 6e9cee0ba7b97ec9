"""What the stages of cases that Python code computes do: sums of moved inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parhelion as hl

Box = Sequence[tuple[int, int]]


#: How often foreign code may be called in one case: some 20 s of Python.
MOST_CALLS = 100_000


class TooManyCalls(Exception):
    """A schedule computes foreign code so often that the case would take minutes."""


class _Calls:
    """How often foreign code was called since `begin`."""

    def __init__(self) -> None:
        self.count = 0

    def begin(self) -> None:
        self.count = 0

    def one(self) -> None:
        self.count += 1
        if self.count > MOST_CALLS:
            raise TooManyCalls(f"more than {MOST_CALLS} calls of foreign code")


CALLS = _Calls()


@dataclass(frozen=True)
class MovedSum:
    """At each point the sum of the inputs, each read `moves` away along the dimensions
    that it shares with the output, and at 0 in those that it has more.

    small: what values are taken modulo (of integers), or clamped to (of floats).
    """

    ranks: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]
    small: int

    def needs(self, region: Box) -> list[list[tuple[int, int]]]:
        """What it reads of each input."""
        found = []
        for rank, move in zip(self.ranks, self.moves, strict=True):
            shared = [
                (low + by, extent)
                for (low, extent), by in zip(region, move, strict=False)
            ]
            found.append((shared + [(0, 1)] * rank)[:rank])
        return found

    def __call__(self, *buffers: hl.Buffer) -> None:
        CALLS.one()
        *given, out = buffers
        result = np.asarray(out).transpose()
        region = [
            (out.dim(d).min(), out.dim(d).extent()) for d in range(out.dimensions())
        ]
        whole = result.dtype.kind in "iub"
        total: NDArray[Any] = np.zeros(result.shape, np.int64 if whole else np.float64)
        for buffer, box in zip(given, self.needs(region), strict=True):
            pixels = np.asarray(buffer).transpose()
            starts = [low - buffer.dim(d).min() for d, (low, _) in enumerate(box)]
            rank = min(len(box), total.ndim)
            part = pixels[
                tuple(
                    slice(start, start + extent) if d < rank else start
                    for d, (start, (_, extent)) in enumerate(
                        zip(starts, box, strict=True)
                    )
                )
            ]
            # A NaN is no integer, but the same one wherever this runs.
            with np.errstate(invalid="ignore"):
                part = part.astype(total.dtype)
            total += part.reshape(part.shape + (1,) * (total.ndim - rank))
        small = self.small
        limited = total % small if whole else np.clip(total, -small, small)
        result[...] = limited.astype(result.dtype)
