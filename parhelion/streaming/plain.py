"""A function of one frame, run over a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.pipeline import Pipeline
from parhelion.runtime.layout import Array
from parhelion.streaming.pieces import Layout
from parhelion.streaming.rings import Ring, power_of_two
from parhelion.types import Type


class PlainWork:
    """Computes each output from one frame. function: of a frame, returns its arrays."""

    ahead = 0

    def __init__(
        self, frame: Array, queue: int, function: Callable[[Array], list[Array]]
    ) -> None:
        shape, rank = frame.shape, frame.ndim
        size = power_of_two(queue + 1)
        kind = Type.from_numpy(frame.dtype)
        self.ring: Ring = Ring(kind, size, shape, range(rank), rank, [0] * (rank + 1))
        self.function = function

    def count(self, n: int) -> int:
        """As many outputs as frames."""
        return n

    def needs(self, t: int, arrived: int, ended: bool) -> bool | None:
        """Whether frame `t` has come; None if not."""
        return True if arrived > t else None

    def run(self, t: int, step: bool, arrived: int, ended: bool) -> list[Array]:
        """Computes output `t`."""
        return self.function(self.ring.frame(t))

    def low(self, step: bool, t: int) -> int:
        """Frame `t` is the first that is read later."""
        return t

    def larger_ring(self, arrived: int, low: int) -> None:
        """Never needed: the ring has room for a frame more than wait."""
        raise AssertionError

    def computed(self) -> dict[str, int]:
        """Nothing is kept."""
        return {}


class FrameCode:
    """A Pipeline of one frame, compiled. outputs: of each output the shape of its
    frames and the dimensions that their axes are."""

    def __init__(
        self,
        pipeline: Pipeline,
        image: BufferSym,
        axes: Sequence[int],
        outputs: Sequence[Layout],
        value_of: Callable[[BufferSym | ParamSym], object],
    ) -> None:
        self.image, self.axes, self.outputs = image, tuple(axes), outputs
        self.value_of = value_of
        given = pipeline.infer_arguments()
        self.symbols = [a._symbol for a in given]
        self.code = pipeline.compile_to_callable(given)
        functions = [f._function for f in pipeline.outputs()]
        self.types = [t for f in functions for t in f.types]

    def __call__(self, frame: Array) -> list[Array]:
        kind = self.image.type
        if frame.dtype != kind.to_numpy():
            raise TypeMismatchError(
                f"ImageParam {self.image.name!r} is of type {kind}; the frames of the"
                f" stream are {frame.dtype}",
                at=here(),
            )
        view = _placed(frame, self.axes)
        pixels = Buffer._of(kind, view, [0] * view.ndim, "")
        values = [pixels if s is self.image else self.value_of(s) for s in self.symbols]
        made, targets = [], []
        for layout, t in zip(self.outputs, self.types, strict=True):
            array = np.empty(tuple([n or 0 for n in layout.extents]), t.to_numpy())
            made.append(array)
            view = _placed(array, layout.axes)
            targets.append(Buffer._of(t, view, [0] * view.ndim, ""))
        self.code(*values, *targets)
        return made


def _placed(array: Array, axes: Sequence[int]) -> Array:
    """An array with its axes in the order of an image's dimensions."""
    places = [0] * len(axes)
    for axis, d in enumerate(axes):
        places[d] = axis
    return array.transpose(places)


__all__ = ["FrameCode", "PlainWork"]
