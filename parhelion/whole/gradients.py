"""Gradients of functions of arrays: what `Jitted.grad` runs.

The Funcs of a traced function are differentiated (`adjoint.gradients`), and the Funcs
that result are compiled for arguments of these kinds, under a schedule of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parhelion.adjoint.derivative import seeds
from parhelion.adjoint.gradients import Gradients, coordinates
from parhelion.adjoint.handles import new_func
from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.ir.build import int32, sub
from parhelion.ir.expr import Expr as Node
from parhelion.lang.callable import Callable as Compiled
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.types import Type
from parhelion.whole import schedules
from parhelion.whole.core import loop_order
from parhelion.whole.program import Program, places

if TYPE_CHECKING:
    from parhelion.whole.arguments import Pixels

_Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class GradientProgram:
    """The Funcs of the gradients of a program, by its arguments that are floats.

    wanted: the places of these arguments. cotangents: an image for each result.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.wanted = [
            i
            for i, one in enumerate(program.inputs)
            if one is not None and _is_float(one)
        ]
        if not self.wanted:
            raise TypeMismatchError(
                f"no argument of {name} is an array of floats or a float, and only"
                " these have gradients",
                at=here(),
                hint="give the arrays as floats: array.astype(np.float32)",
            )
        self.cotangents: list[ImageParam] = []
        outputs = {}
        for k, (f, w) in enumerate(zip(program.funcs, program.results, strict=True)):
            if not w.type.is_float():
                raise TypeMismatchError(
                    f"{name} returns {w.type}, and integers have no gradient",
                    at=here(),
                    hint="return floats: result.astype('float32')",
                )
            image = ImageParam(w.type, w.rank, f"cotangent{k}")
            self.cotangents.append(image)
            extents = [w.extent(p) for p in loop_order(w.shape)]
            region = tuple([(_ZERO, sub(n, int32(1))) for n in extents])
            outputs[f._function] = region, seeds(f._function, image, region)
        found = Gradients(outputs)
        self.funcs = [self._func(found, program.inputs[i]) for i in self.wanted]
        self.pipeline = Pipeline(self.funcs)
        self._code: Compiled | None = None
        self._lock = threading.Lock()

    def _func(self, found: Gradients, source: ImageParam | Param | None) -> Func:
        assert source is not None
        sym = source._sym
        adjoint = found.of_leaf(sym)
        args = coordinates(
            len(source._sym.dims) if isinstance(source, ImageParam) else 0
        )
        # A Func of its own for each, which may be an output.
        return Func._of(new_func(f"d_{sym.name}", args, [adjoint.at(args)], sym.site))

    def estimate(
        self, arrays: Sequence[Pixels], shapes: Sequence[Sequence[int]]
    ) -> None:
        """Tells the automatic scheduler the sizes of a call."""
        program = self.program
        program.estimate(arrays, shapes)
        for image, w, shape in zip(
            self.cotangents, program.results, shapes, strict=True
        ):
            image.set_estimates([(0, shape[-1 - p]) for p in loop_order(w.shape)])
        given = iter(arrays)
        sizes = [
            next(given).shape if isinstance(one, ImageParam) else ()
            for one in program.inputs
        ]
        for f, i in zip(self.funcs, self.wanted, strict=True):
            order = program.orders[i]
            f.set_estimates([(0, sizes[i][-1 - p]) for p in order])

    def compiled(self) -> Compiled:
        """The code, made at the first use."""
        with self._lock:
            if self._code is None:
                given = [*self.program.arguments(), *self.cotangents]
                self._code = self.pipeline.compile_to_callable(given)
            return self._code

    def run(
        self,
        values: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        cotangents: Sequence[_Array],
    ) -> tuple[Any, ...]:
        """The gradients, in the shapes of the arguments. values: of all arguments.
        shapes: of the results."""
        program = self.program
        given: list[Any] = []
        for one, order, value in zip(
            program.inputs, program.orders, values, strict=True
        ):
            if isinstance(one, ImageParam):
                given.append(_turned(value, order))
            elif one is not None:
                given.append(value)
        for array, w in zip(cotangents, program.results, strict=True):
            turned = _turned(array, loop_order(w.shape))
            given.append(turned.copy(order="C"))
        found: list[_Array] = []
        dense: list[_Array] = []
        for i in self.wanted:
            one = program.inputs[i]
            assert one is not None
            shape = values[i].shape if isinstance(one, ImageParam) else ()
            axes = tuple(reversed(places(program.orders[i])))
            array = np.zeros([shape[t] for t in axes], one._sym.type.to_numpy())
            dense.append(array)
            found.append(array.transpose(np.argsort(axes)) if axes else array)
        empty = any([0 in s for s in shapes]) or any([a.size == 0 for a in dense])
        if not empty:
            self.compiled()(*given, *dense)
        return tuple([a if a.ndim else a[()] for a in found])


_ZERO: Node = int32(0)


def _is_float(one: ImageParam | Param) -> bool:
    t: Type = one._sym.type
    return t.is_float()


def _turned(array: _Array, order: Sequence[int]) -> _Array:
    """An array with its axes in the order of the dimensions of a Func."""
    return array.transpose(tuple(reversed(places(order)))) if array.ndim else array


def cotangents_of(
    given: Any, program: Program, shapes: Sequence[tuple[int, ...]], name: str
) -> list[_Array]:
    """The cotangent of each result, checked: 1 for a number where none is given.

    Raises TypeMismatchError where one is missing, and BoundsError for one of another
    shape.
    """
    if given is None:
        if any([shape != () for shape in shapes]):
            raise TypeMismatchError(
                f"{name} returns arrays of the shapes {list(shapes)}, and the gradient"
                " is that of one number",
                at=here(),
                hint="give cotangent=, an array like the result with the weight of"
                " each element, or return a number, as its sum",
            )
        return [np.ones((), w.type.to_numpy()) for w in program.results]
    items = list(given) if program.several else [given]
    if len(items) != len(shapes):
        raise TypeMismatchError(
            f"{name} returns {len(shapes)} arrays, and cotangent= has {len(items)}",
            at=here(),
        )
    found = []
    for item, w, shape in zip(items, program.results, shapes, strict=True):
        array = np.asarray(item)
        if array.dtype.kind not in "fiub":
            raise TypeMismatchError(
                f"cotangent= of {name} is an array of numbers, not {item!r:.60}",
                at=here(),
            )
        if array.shape != shape:
            raise BoundsError(
                f"{name} returns the shape {shape}, and cotangent= has {array.shape}",
                at=here(),
            )
        found.append(array.astype(w.type.to_numpy()))
    return found


def scheduled(
    one: GradientProgram,
    of_class: int,
    arrays: Sequence[Pixels],
    shapes: Sequence[tuple[int, ...]],
) -> GradientProgram:
    """A program with the schedule of a class of sizes."""
    if all([0 not in a.shape for a in arrays]) and all([0 not in s for s in shapes]):
        schedules.apply_kept(one, of_class, arrays, shapes)
    return one


__all__ = ["GradientProgram", "cotangents_of", "scheduled"]
