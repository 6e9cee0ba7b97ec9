"""A function of arrays, traced for arguments of some kinds: Funcs, and their code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import ImageLoad, Var
from parhelion.lang.buffer import Buffer
from parhelion.lang.callable import Callable as Compiled
from parhelion.lang.checked import a_kind
from parhelion.lang.expr import Expr
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam, OutputImageParam
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.whole.arguments import ArrayKind, Fixed, Kind, NumberKind, Pixels
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, coordinate, define, loop_order
from parhelion.whole.declared import Declared, call, name_of
from parhelion.whole.operands import whole_of
from parhelion.whole.trace import Trace, value_of


class Program:
    """The Funcs that compute what a function returns, for arguments of some kinds.

    inputs: the ImageParam or Param of each argument, None for those that are part of
    the program. results: what the function returns. several: whether that is a tuple.
    funcs: the Func of each result. pipeline: all of them.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        declared: Sequence[Declared],
        kinds: Sequence[Kind],
        inputs: Sequence[ImageParam | Param] = (),
        outputs: Sequence[Func] = (),
    ) -> None:
        """inputs, outputs: the ImageParams and Params of the arguments that are data,
        and the Funcs of the results, if there are any already."""
        self.trace = Trace()
        self.kinds = tuple(kinds)
        self._given = iter(inputs)
        self.inputs: list[ImageParam | Param | None] = []
        #: Of each input, the axes from the innermost loop on, counted from the last.
        self.orders: list[list[int]] = []
        given = [self._input(d, k) for d, k in zip(declared, kinds, strict=True)]
        returned = call(function, declared, given)
        self.trace.finished = True
        self.several = isinstance(returned, tuple)
        values = returned if isinstance(returned, tuple) else (returned,)
        name = name_of(function)
        self.results = [_result(v, name) for v in values]
        word = name if name.isidentifier() else "result"
        into: Sequence[Func | None] = outputs or [None] * len(self.results)
        self.funcs = [
            define(w, word, f) for w, f in zip(self.results, into, strict=True)
        ]
        for f, w in zip(self.funcs, self.results, strict=True):
            order = loop_order(w.shape)
            _promise(f.output_buffer(), [w.extent(p) for p in order])
            if order[-1:] == [0] and len(order) > 2:
                channels = const_int(w.extent(0))
                assert channels is not None
                f.output_buffer().dim(0).set_stride(channels)
                f.output_buffer().dim(len(order) - 1).set_stride(1)
        self.pipeline = Pipeline(self.funcs)
        self._compiled: dict[tuple[int, ...], Compiled] = {}
        self._lock = threading.Lock()

    def _input(self, declared: Declared, kind: Kind) -> object:
        """What the function is given for an argument while it is traced."""
        self.orders.append(_order(kind) if isinstance(kind, ArrayKind) else [])
        if isinstance(kind, Fixed):
            self.inputs.append(None)
            return kind.value
        if isinstance(kind, NumberKind):
            param = next(self._given, None)
            if param is None:
                param = Param(kind.type, declared.name)
            assert isinstance(param, Param)
            self.inputs.append(param)
            return Array._of(Whole(param._node, (), (), self.trace, kind.weak))
        image = next(self._given, None)
        if image is None:
            image = ImageParam(kind.type, len(kind.shape), declared.name)
        assert isinstance(image, ImageParam)
        self.inputs.append(image)
        return Array._of(_whole(image, kind, self.orders[-1], self.trace))

    def arguments(self) -> list[ImageParam | Param]:
        """The inputs of the compiled code."""
        return [one for one in self.inputs if one is not None]

    def sizes(self, arrays: Sequence[Pixels]) -> dict[Var, int]:
        """The extents of the images in a call."""
        found: dict[Var, int] = {}
        for (image, order), array in zip(self._images(), arrays, strict=True):
            for d, p in enumerate(order):
                found[image._sym.dims[d].extent] = array.shape[-1 - p]
        return found

    def shapes(self, sizes: Mapping[Var, int]) -> list[tuple[int, ...]]:
        """The shapes of the results. Raises BoundsError for arrays that do not fit
        together."""
        for check in self.trace.checks:
            check.look(sizes)
        return [tuple([value_of(n, sizes) for n in w.shape]) for w in self.results]

    def set(self, values: Sequence[object]) -> None:
        """Gives the ImageParams and Params values, for `Func.realize`."""
        for one, order, value in zip(self.inputs, self.orders, values, strict=True):
            if isinstance(one, ImageParam):
                assert isinstance(value, np.ndarray)
                turned = value.transpose(places(order))
                one.set(Buffer(turned, reverse_axes=False))
            elif one is not None:
                one.set(value)  # type: ignore[arg-type]

    def estimate(
        self, arrays: Sequence[Pixels], shapes: Sequence[Sequence[int]]
    ) -> None:
        """Tells the automatic scheduler the sizes of a call."""
        for (image, order), array in zip(self._images(), arrays, strict=True):
            image.set_estimates([(0, array.shape[-1 - p]) for p in order])
        for f, w, shape in zip(self.funcs, self.results, shapes, strict=True):
            f.set_estimates([(0, shape[-1 - p]) for p in loop_order(w.shape)])
        for one in self.inputs:
            if isinstance(one, Param):
                one.set_estimate(1)

    def _images(self) -> list[tuple[ImageParam, list[int]]]:
        """The images among the inputs, and the order of their dimensions."""
        pairs = zip(self.inputs, self.orders, strict=True)
        return [(one, order) for one, order in pairs if isinstance(one, ImageParam)]

    def compiled(self, wanted: Sequence[int]) -> Compiled:
        """The code for some of the results, by their places, made at the first use."""
        key = tuple(wanted)
        with self._lock:
            found = self._compiled.get(key)
            if found is None:
                all_of_them = len(key) == len(self.funcs)
                pipeline = (
                    self.pipeline
                    if all_of_them
                    else Pipeline([self.funcs[i] for i in key])
                )
                found = pipeline.compile_to_callable(self.arguments())
                self._compiled[key] = found
            return found


def places(order: Sequence[int]) -> list[int]:
    """The axes of an array in the order of its dimensions, the innermost loop first, by
    their places in the shape; `order` counts them from the last."""
    return [len(order) - 1 - p for p in order]


def _order(kind: ArrayKind) -> list[int]:
    """What `loop_order` will be, where any Var stands for what is not fixed."""
    unknown = coordinate(0)
    return loop_order([unknown if n is None else int32(n) for n in kind.shape])


def _whole(
    image: ImageParam, kind: ArrayKind, order: Sequence[int], trace: Trace
) -> Whole:
    """The array of an argument."""
    rank = len(kind.shape)
    shape: list[Node] = [int32(0)] * rank
    for d, p in enumerate(order):
        fixed = kind.shape[rank - 1 - p]
        known = image._sym.dims[d].extent if fixed is None else int32(fixed)
        shape[rank - 1 - p] = known
    _promise(image, [shape[rank - 1 - p] for p in order])
    if rank and kind.strides is None:
        image.dim(0).set_stride(Expr())
    elif kind.strides is not None and kind.strides[1] is not None:
        image.dim(0).set_stride(kind.strides[0])
        image.dim(rank - 1).set_stride(kind.strides[1])
    at = tuple([coordinate(p) for p in order])
    value = ImageLoad(kind.type, image._sym, at)
    return Whole(value, tuple(shape), kind.names, trace)


def _promise(image: OutputImageParam, extents: Sequence[Node]) -> None:
    """Coordinates begin at 0, and fixed extents are fixed."""
    for d, extent in enumerate(extents):
        known = const_int(extent)
        if known is None:
            image.dim(d).set_min(0)
        else:
            image.dim(d).set_bounds(0, known)


def _result(value: object, name: str) -> Whole:
    found = None if isinstance(value, Func) else whole_of(value)
    if found is None:
        what = "nothing" if value is None else f"{a_kind(value)}, {value!r:.60}"
        raise TypeMismatchError(
            f"{name} returns {what}; a function under hl.jit returns an Array, or a"
            " tuple of them",
            at=here(),
        )
    return found


__all__ = ["Program", "places"]
