"""A ring of frames: the last ones of an image, each in the place of an older one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.lang.buffer import Buffer
from parhelion.runtime.layout import Array
from parhelion.types import Type


class Ring:
    """The last frames of an image.

    size: how many it holds, a power of two: frame `n` is at ``n & (size - 1)``.
    shape: of a frame, in the order of memory. axes: which dimension of the image each
    axis of a frame is, without time. time: the dimension of time. mins: of all
    dimensions. buffer: all of it, for pipelines that read it.
    """

    def __init__(
        self,
        type: Type,
        size: int,
        shape: Sequence[int],
        axes: Sequence[int],
        time: int,
        mins: Sequence[int],
    ) -> None:
        assert size & (size - 1) == 0
        self.type, self.size, self.time = type, size, time
        self.shape, self.axes, self.mins = tuple(shape), tuple(axes), tuple(mins)
        self.memory = np.empty((size, *shape), type.to_numpy())
        self.buffer = self._buffer(self.memory, 0)

    def _buffer(self, memory: Array, first: int) -> Buffer:
        mins = list(self.mins)
        mins[self.time] = first
        return Buffer._of(self.type, laid(memory, self.axes, self.time), mins, "")

    def frame(self, n: int) -> Array:
        """The memory of frame `n`."""
        found: Array = self.memory[n & (self.size - 1)]
        return found

    def at(self, n: int) -> Buffer:
        """Frame `n` as an image of one frame, to be computed into."""
        place = n & (self.size - 1)
        return self._buffer(self.memory[place : place + 1], n)

    def grown(self, size: int, first: int, last: int) -> Ring:
        """A larger ring, with the frames from `first` to `last`."""
        made = Ring(self.type, size, self.shape, self.axes, self.time, self.mins)
        for n in range(first, last + 1):
            made.frame(n)[...] = self.frame(n)
        return made


def laid(memory: Array, axes: Sequence[int], time: int) -> Array:
    """An array (frames, *axes of a frame) in the order of an image's dimensions."""
    places = [0] * (len(axes) + 1)
    places[time] = 0
    for axis, d in enumerate(axes):
        places[d] = axis + 1
    return memory.transpose(places)


def power_of_two(n: int) -> int:
    """The least power of two that is not below `n`."""
    return 1 << max(n - 1, 0).bit_length()


__all__ = ["Ring", "laid", "power_of_two"]
