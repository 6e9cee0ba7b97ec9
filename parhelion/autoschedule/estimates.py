"""The sizes that a schedule is made for: outputs, inputs and Params, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from parhelion.ir.bindings import SET
from parhelion.ir.build import const_int
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym, ParamSym

#: Inclusive bounds of each dimension.
Box = tuple[tuple[int, int], ...]

#: An image whose size nobody knows reaches this far to both sides: no coordinate is
#: clamped to it.
FAR = 1 << 30


@dataclass
class Sizes:
    """outputs: the box of each output Func. images: the box of each input, None where
    it is not known (then it is what the outputs need). params: the value of each
    scalar."""

    outputs: Mapping[Function, Box]
    images: Mapping[BufferSym, Box | None] = field(default_factory=dict)
    params: Mapping[ParamSym, int | float | bool] = field(default_factory=dict)

    def on(self, funcs: Mapping[Function, Function]) -> Sizes:
        """The same for other Funcs, given by these."""
        told = {funcs[f]: box for f, box in self.outputs.items()}
        return replace(self, outputs=told)

    @cached_property
    def _buffers(self) -> dict[BufferSym, Box]:
        """The boxes of outputs, by their buffers."""
        return {b: box for f, box in self.outputs.items() for b in f.buffers}

    def lookup(self, v: Var) -> int | float | None:
        """The number that a Var of the algorithm stands for: a Param, or the min or
        extent of an image's dimension; None if there is none."""
        origin = v.origin
        if isinstance(origin, ParamSym):
            found = self.params.get(origin, SET.of(origin))
            return int(found) if isinstance(found, bool) else found
        if isinstance(origin, tuple):
            owner, what, d = origin
            if what == "stride":
                return None
            box = (
                self._buffers.get(owner)
                if owner.role == "output"
                else self.images.get(owner)
            )
            if box is None:
                return -FAR if what == "min" else 2 * FAR + 1
            low, high = box[d]
            return low if what == "min" else high - low + 1
        return None

    def estimate(self, source: Function | BufferSym, d: int) -> tuple[int, int] | None:
        """What the user said of how far a dimension of a Func or image reaches."""
        if isinstance(source, BufferSym):
            box = self.images.get(source)
            return None if box is None else box[d]
        schedule = source.schedule
        for b in (*schedule.bounds, *schedule.estimates):
            if b.var is source.args[d] and b.min is not None and b.extent is not None:
                low, extent = const_int(b.min), const_int(b.extent)
                if low is not None and extent is not None:
                    return low, low + extent - 1
        return None


__all__ = ["FAR", "Box", "Sizes"]
