"""What is given for an image, call after call: its layout, checked once."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from parhelion.errors import InvalidBufferError, here
from parhelion.ir.symbols import BufferSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.given import check_image, check_output
from parhelion.runtime.layout import Array, Layout, address

#: For how many arrays their layouts are remembered.
MOST_REMEMBERED = 64

_K = TypeVar("_K")
_V = TypeVar("_V")


def remember(memory: dict[_K, _V], key: _K, found: _V) -> None:
    """Puts what was found into a memory, which forgets all else when there is much."""
    if len(memory) >= MOST_REMEMBERED:
        memory.clear()
    memory[key] = found


class GivenImage:
    """Converts what is given for one image or output to a layout, checked.

    What was given before is remembered, so that calls with the same arrays cost little:
    `shapes` by type and strides, `known` by the address as well.
    """

    __slots__ = ("check", "good", "known", "name", "shapes", "sym")

    def __init__(self, sym: BufferSym, output: bool, name: str) -> None:
        self.sym, self.name = sym, name
        self.check = check_output if output else check_image
        self.good: Layout | None = None
        self.known: dict[tuple[object, ...], Layout] = {}
        self.shapes: dict[tuple[object, ...], Layout] = {}

    def __call__(self, given: object) -> Layout:
        if type(given) is np.ndarray:
            key = (
                address(given),
                given.dtype,
                given.shape,
                given.strides,
                given.flags.writeable,
            )
            return self.known.get(key) or self._array(given, key)
        buffer = given if isinstance(given, Buffer) else Buffer(given)
        layout = buffer._lay
        if layout is None and not buffer.defined():
            raise InvalidBufferError(
                f"the argument {self.name!r} of the Callable has no pixels: it is"
                f" {given!r}",
                at=here(),
            )
        if layout is None or layout is not self.good:
            layout = self.check(self.sym, buffer, self.name)
            # One with a copy would keep the image.
            self.good = layout if layout.copy is None else None
        return layout

    def _array(self, given: Array, key: tuple[object, ...]) -> Layout:
        """The layout of an array that has not been given before."""
        shape = key[1:]
        found = self.shapes.get(shape)
        if found is None or self.sym.host_alignment:
            found = self.check(self.sym, Buffer(given), self.name)
            remember(self.shapes, shape, found)
        else:
            host = key[0]
            assert isinstance(host, int)
            found = found.moved(host)
        remember(self.known, key, found)
        return found


__all__ = ["MOST_REMEMBERED", "GivenImage", "remember"]
