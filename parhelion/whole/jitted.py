"""What `jit` makes of a function: calls of it, compiled for what they are given."""

from __future__ import annotations

import functools
import os
import sys
import threading
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.errors import (
    BoundsError,
    HalideError,
    InvalidBufferError,
    LiteralError,
    TypeMismatchError,
    here,
)
from parhelion.ir.expr import Var
from parhelion.lang.callable import Callable as Compiled
from parhelion.lang.convert import number_text
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.tracebacks import ends_itself, leave
from parhelion.whole import schedules
from parhelion.whole.arguments import (
    Kind,
    NumberKind,
    Pixels,
    array_kind,
    fixed,
    has_pixels,
    is_number,
    number_kind,
    pixels,
)
from parhelion.whole.array import Array
from parhelion.whole.core import loop_order
from parhelion.whole.declared import MISSING, call, declared_by, name_of
from parhelion.whole.program import Program, places
from parhelion.whole.schedules import Schedule

if TYPE_CHECKING:
    from parhelion.autoschedule.result import AutoSchedulerResults
    from parhelion.lang.generator import Generator
    from parhelion.lang.module import OutputFileType
    from parhelion.lang.target_api import Target
    from parhelion.whole.gradients import GradientProgram

_R = TypeVar("_R")
#: For how many different shapes and strides of arguments calls are remembered.
_MOST_PLANS = 256


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a call with arguments of some shapes does.

    steps: for each argument of the code its place in the call, and the order of its
    axes, None if it goes as it is. outputs: shape, type and the order of axes of each
    result. filled: those that have elements, by their places, if not all have.
    """

    code: Compiled | None
    steps: tuple[tuple[int, tuple[int, ...] | None], ...]
    outputs: tuple[tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]], ...]
    filled: tuple[int, ...] | None
    program: Program
    several: bool


class Jitted(Generic[_R]):
    """A function of arrays, compiled for what it is given: what `hl.jit` makes.

    A call takes the arguments of the function: NumPy arrays, Buffers and arrays of
    other libraries, numbers, and anything that can be hashed; it returns a NumPy array,
    a number where no axes are left, or a tuple of these. ``out=`` takes an array, or a
    tuple of arrays, that the results are written to. Several threads may call it.

    A call raises TypeMismatchError for arguments that do not fit, BoundsError for
    shapes that do not fit together, and what the function raises. Called with an Array,
    in another function under `hl.jit`, it is a part of that one.

    >>> halved = hl.jit(lambda image: image // 2)
    >>> halved(np.array([8, 9], np.uint8)).tolist()
    [4, 4]
    >>> halved.func(np.array([8, 9], np.uint8)).realize([2])[1]
    4
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: Collection[str] = (),
        schedule: Schedule = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name_of(function)
        self._declared = declared_by(function, static)
        self._schedule = schedules.function_of(schedule)
        self._named = [d.name for d in self._declared if d.named]
        placed = [d.placed for d in self._declared]
        #: With how many arguments, none of them named, a call has all; -1 if with none.
        self._all = len(placed) if all(placed) else -1
        #: Whether all numbers are given at each call.
        self._varying = not any([d.static for d in self._declared])
        self._plans: dict[tuple[object, ...], _Plan] = {}
        self._programs: dict[tuple[object, ...], Program] = {}
        #: Schedules that were found by `autoschedule`, by kinds and class of sizes.
        self._found: dict[tuple[object, ...], str] = {}
        self._gradients: dict[tuple[object, ...], GradientProgram] = {}
        self._lock = threading.RLock()

    # Calls.

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The function as a method: the object is its first argument, and traced for,
        as whatever is no array and no number."""
        return self if instance is None else types.MethodType(self, instance)

    @ends_itself
    def __call__(self, *args: Any, out: Any = None, **named: Any) -> _R:
        try:
            if named or len(args) != self._all:
                args = self._bound(args, named)
            told: list[object] = []
            for a in args:
                kind = type(a)
                if kind is np.ndarray:
                    told += (a.dtype, a.shape, a.strides)
                elif (kind is float or kind is int) and self._varying:
                    told.append(kind)
                else:
                    return self._general(args, out)
            plan = self._plans.get(tuple(told))
            if plan is None:
                plan = self._plan(tuple(told), args)
            return self._run(plan, args, out)
        except BaseException as error:
            leave(error)
            raise

    def _run(self, plan: _Plan, args: Sequence[Any], out: Any) -> _R:
        values = [
            args[i] if not order else args[i].transpose(order)
            for i, order in plan.steps
        ]
        if plan.program.trace.fits:
            self._check_fits(plan, args)
        if out is None:
            made = [np.empty(shape, dtype) for shape, dtype, _ in plan.outputs]
        else:
            made = self._targets(plan, out, values)
        for array, (_, _, order) in zip(made, plan.outputs, strict=True):
            values.append(array.transpose(order) if order else array)
        if plan.filled is not None:
            first = len(plan.steps)
            values = [*values[:first], *[values[first + i] for i in plan.filled]]
        if plan.code is not None:
            plan.code(*values)
        found: Any
        if out is None:
            found = [a if a.ndim else a[()] for a in made]
            found = tuple(found) if plan.several else found[0]
        else:
            for target, array in zip(_listed(out), made, strict=True):
                if target is not array:
                    target[...] = array
            found = out
        return found  # type: ignore[no-any-return]

    def _bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments by position, with defaults."""
        name = self._name
        most = sum([d.placed for d in self._declared])
        if len(args) > most:
            others = " by their places" if most < len(self._declared) else ""
            raise TypeMismatchError(
                f"{name} takes {most} arguments{others}; {len(args)} are given",
                at=here(),
            )
        rest = dict(named)
        found = list(args)
        for d in self._declared[len(args) :]:
            value = rest.pop(d.name, d.default) if d.named else d.default
            if value is MISSING:
                raise TypeMismatchError(
                    f"the argument {d.name!r} of {name} is missing", at=here()
                )
            found.append(value)
        if rest:
            raise TypeMismatchError(
                f"{next(iter(rest))!r} is no argument of {name}, or is given twice",
                at=here(),
                legal=[*self._named, "out"],
            )
        return tuple(found)

    def _general(self, args: tuple[Any, ...], out: Any) -> _R:
        """A call with other arguments than NumPy arrays and Python numbers."""
        if any([isinstance(a, Array) for a in args]):
            # Inside of another function that is traced it is a part of that.
            if out is not None:
                raise TypeMismatchError(
                    f"{self._name} is a part of another function here,"
                    " and computes no arrays of its own for out=",
                    at=here(),
                    hint="the other function takes out=",
                )
            return call(self._function, self._declared, args)  # type: ignore[no-any-return]
        kinds, values, told = self._sorted(args)
        plan = self._plans.get(told)
        if plan is None:
            plan = self._plan(told, values, kinds)
        return self._run(plan, values, out)

    def _sorted(
        self, args: Sequence[Any]
    ) -> tuple[list[Kind], list[Any], tuple[object, ...]]:
        """The kinds of arguments, their values as the code takes them, and what tells
        the call from others."""
        kinds: list[Kind] = []
        values: list[Any] = []
        told: list[object] = []
        for d, a in zip(self._declared, args, strict=True):
            if not d.static and has_pixels(a):
                array, names = pixels(a, d)
                kinds.append(array_kind(array, names))
                values.append(array)
                told += (array.dtype, array.shape, array.strides, names)
                continue
            if d.axes is not None:
                pixels(np.asarray(a) if isinstance(a, int | float) else a, d)
            kind: Kind = number_kind(a, d) if is_number(a, d) else fixed(a, d)
            plain = isinstance(kind, NumberKind)
            kinds.append(kind)
            values.append(_plain(a, kind) if plain else a)
            told.append(kind)
        return kinds, values, tuple(told)

    def _plan(
        self,
        told: tuple[object, ...],
        args: Sequence[Any],
        kinds: Sequence[Kind] | None = None,
    ) -> _Plan:
        """What calls like this one do, made and remembered."""
        if kinds is None:
            kinds, args, _ = self._sorted(args)
        with self._lock:
            program, shapes = self._program(kinds, args)
            steps = []
            for i, (one, order) in enumerate(
                zip(program.inputs, program.orders, strict=True)
            ):
                if one is not None:
                    # NumPy's order is that of a Buffer, reversed.
                    turned = tuple(reversed(places(order)))
                    plain = turned == tuple(range(len(turned)))
                    steps.append((i, None if plain else turned))
            outputs = []
            for w, shape in zip(program.results, shapes, strict=True):
                turned = tuple(reversed(places(loop_order(w.shape))))
                plain = turned == tuple(range(len(turned)))
                dtype = w.type.to_numpy()
                outputs.append((shape, dtype, () if plain else turned))
            # Outputs without elements are computed by no code.
            filled = [i for i, shape in enumerate(shapes) if 0 not in shape]
            code = program.compiled(filled) if filled else None
            some = tuple(filled) if len(filled) < len(shapes) else None
            plan = _Plan(
                code, tuple(steps), tuple(outputs), some, program, program.several
            )
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[told] = plan
        return plan

    def _program(
        self, kinds: Sequence[Kind], args: Sequence[Any]
    ) -> tuple[Program, list[tuple[int, ...]]]:
        """The program for a call, scheduled, and the shapes of its results."""
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        for of_class in range(4):
            program = self._programs.get((*kinds, of_class))
            if program is None:
                continue
            shapes = program.shapes(program.sizes(arrays))
            if self._schedule or schedules.size_class(arrays, shapes) == of_class:
                return program, shapes
        program = Program(self._function, self._declared, kinds)
        shapes = program.shapes(program.sizes(arrays))
        of_class = 0 if self._schedule else schedules.size_class(arrays, shapes)
        self._give_schedule(program, of_class, arrays, shapes)
        self._programs[(*kinds, of_class)] = program
        return program, shapes

    def _give_schedule(
        self,
        program: Program,
        of_class: int,
        arrays: Sequence[Pixels],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        text = self._found.get((*program.kinds, of_class))
        given = self._schedule or schedules.function_of(text)
        if given is not None:
            given(program.pipeline)
        elif all([0 not in shape for shape in shapes]):
            schedules.apply_kept(program, of_class, arrays, shapes)

    def _check_fits(self, plan: _Plan, args: Sequence[Any]) -> None:
        given = numbers(plan.program, args)
        for check in plan.program.trace.fits:
            check.look(given)

    def _targets(self, plan: _Plan, out: Any, inputs: Sequence[Any]) -> list[Pixels]:
        """What is computed into for ``out=``: its arrays, checked, and new ones in the
        place of those that are not dense, or share memory with an input or another."""
        given = _listed(out)
        name = self._name
        if len(given) != len(plan.outputs):
            raise TypeMismatchError(
                f"{name} returns {len(plan.outputs)} arrays, and out= has {len(given)}",
                at=here(),
            )
        for array, (shape, dtype, _) in zip(given, plan.outputs, strict=True):
            if not isinstance(array, np.ndarray):
                raise TypeMismatchError(
                    f"out= of {name} is a NumPy array, not {array!r:.60}", at=here()
                )
            if array.dtype != dtype:
                raise TypeMismatchError(
                    f"{name} returns {dtype}, and out= is {array.dtype}", at=here()
                )
            if array.shape != shape:
                raise BoundsError(
                    f"{name} returns the shape {shape}, and out= has {array.shape}",
                    at=here(),
                )
            if not array.flags.writeable:
                raise InvalidBufferError(f"out= of {name} is read-only", at=here())
        # An input that is the same array is a view here, and no `array` itself.
        others = [*[v.view() for v in inputs if isinstance(v, np.ndarray)], *given]
        return [
            array
            if array.flags.c_contiguous
            and not any(
                [o is not array and np.may_share_memory(array, o) for o in others]
            )
            else np.empty(array.shape, array.dtype)
            for array in given
        ]

    def grad(self, *args: Any, cotangent: Any = None, **named: Any) -> tuple[Any, ...]:
        """Returns the gradients by each argument that is an array of floats or a float,
        in their order: NumPy arrays of the shapes and types of the arguments.

        They are those of the sum of ``cotangent * result``: `cotangent` is an array of
        the result's shape, or a tuple of them for several results. It may be left out
        where the result is a number. Code for them is compiled for arguments of each
        kind, as that of calls, and scheduled by the automatic scheduler.

        Raises DefinitionError for what has no derivative, TypeMismatchError where no
        argument or not each result is of floats, or the cotangent is missing, and what
        a call raises.

        >>> @hl.jit
        ... def energy(signal: hl.Array, gain: float) -> hl.Array:
        ...     return (signal * signal * gain).sum()
        >>> by_signal, by_gain = energy.grad(np.array([1.0, 2.0]), 3.0)
        >>> by_signal.tolist(), float(by_gain)
        ([6.0, 12.0], 5.0)
        """
        # Not needed for calls.
        from parhelion.whole.gradients import GradientProgram, cotangents_of, scheduled

        kinds, values, _ = self._sorted(self._bound(args, named))
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        name = self._name
        with self._lock:
            one = None
            for of_class in range(4):
                known = self._gradients.get((*kinds, of_class))
                if known is None:
                    continue
                shapes = known.program.shapes(known.program.sizes(arrays))
                if schedules.size_class(arrays, shapes) == of_class:
                    one = known
            if one is None:
                program = Program(self._function, self._declared, kinds)
                shapes = program.shapes(program.sizes(arrays))
                of_class = schedules.size_class(arrays, shapes)
                one = GradientProgram(program, name)
                scheduled(one, of_class, arrays, shapes)
                self._gradients[(*kinds, of_class)] = one
        shapes = one.program.shapes(one.program.sizes(arrays))
        for check in one.program.trace.fits:
            check.look(numbers(one.program, values))
        return one.run(
            values, shapes, cotangents_of(cotangent, one.program, shapes, name)
        )

    # What is behind it.

    def _fresh(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """A program of its own for a call, with its values, arrays and shapes."""
        kinds, values, _ = self._sorted(self._bound(args, named))
        program = Program(self._function, self._declared, kinds)
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        return program, values, arrays, program.shapes(program.sizes(arrays))

    def func(self, *args: Any, **named: Any) -> Any:
        """Returns the Func behind a call with these arguments, without a schedule.

        Its inputs are set to the arguments, so that `Func.realize` computes it; it is
        to be scheduled, looked at or compiled as any Func. If the function returns a
        tuple, it is a tuple of Funcs. Each use traces the function anew.
        """
        program, values, _, _ = self._fresh(args, named)
        program.set(values)
        return tuple(program.funcs) if program.several else program.funcs[0]

    def pipeline(self, *args: Any, **named: Any) -> Pipeline:
        """Returns the Pipeline that calls with such arguments run, with its schedule
        and its inputs set: to be printed, profiled or reported on."""
        program, values, arrays, shapes = self._fresh(args, named)
        of_class = 0 if self._schedule else schedules.size_class(arrays, shapes)
        self._give_schedule(program, of_class, arrays, shapes)
        program.set(values)
        pipeline: Pipeline = program.pipeline
        return pipeline

    def autoschedule(self, *args: Any, **named: Any) -> AutoSchedulerResults:
        """Asks the automatic scheduler for the sizes of these arguments, and returns
        its answer, which calls of this class of sizes use from now on.

        ``print(result.to_python())`` is a text for ``hl.jit(schedule=…)``.
        """
        program, _, arrays, shapes = self._fresh(args, named)
        result = schedules.search(program, arrays, shapes)
        key = (*program.kinds, schedules.size_class(arrays, shapes))
        with self._lock:
            self._found[key] = result.to_python()
            self._programs.pop(key, None)
            self._plans.clear()
        return result

    def compile_to(
        self,
        outputs: Mapping[OutputFileType, str | os.PathLike[str]],
        *args: Any,
        fn_name: str = "",
        target: Target | None = None,
        **named: Any,
    ) -> None:
        """Writes the code for arguments of these types and class of sizes to files.

        ``f.compile_to({hl.OutputFileType.object: "f.o"}, photo)``: see
        `Func.compile_to`. The C function takes the arrays and numbers in the order of
        the arguments, then the results; it is called `fn_name`, or as this one.
        """
        program, _, arrays, shapes = self._fresh(args, named)
        of_class = 0 if self._schedule else schedules.size_class(arrays, shapes)
        self._give_schedule(program, of_class, arrays, shapes)
        name = fn_name or self._name
        program.pipeline.compile_to(outputs, program.arguments(), name, target)

    def generator(self, *args: Any, name: str = "", **named: Any) -> type[Generator]:
        """Returns a Generator for arguments of these types and class of sizes.

        It is registered by `name`, or as the function is called; its inputs are the
        arrays and numbers among the arguments, by their names, and its output is
        called as it is itself. `hl.main`, ``parhelion build`` and
        `create_callable_from_generator` compile it. An automatic scheduler that they
        name is used, else the schedule of the function.

        Raises DefinitionError if there is such a Generator, or for names that inputs
        and outputs of Generators cannot have, and TypeMismatchError for arguments that
        do not fit.

        >>> halved = hl.jit(lambda image: image // 2)
        >>> Halved = halved.generator(np.empty((480, 640), np.uint8), name="halved")
        >>> image, out = np.full((1, 2), 9, np.uint8), np.empty((1, 2), np.uint8)
        >>> Halved().compile_to_callable()(image, out), out.tolist()
        (0, [[4, 4]])
        """
        from parhelion.whole.generators import generator_of

        kinds, values, _ = self._sorted(self._bound(args, named))
        arrays = [v for v in values if isinstance(v, np.ndarray)]

        def trace(
            inputs: Sequence[ImageParam | Param], outputs: Sequence[Func]
        ) -> Program:
            return Program(self._function, self._declared, kinds, inputs, outputs)

        def schedule(program: Program, automatic: bool) -> None:
            shapes = program.shapes(program.sizes(arrays))
            program.estimate(arrays, shapes)
            if automatic:
                return
            of_class = 0 if self._schedule else schedules.size_class(arrays, shapes)
            self._give_schedule(program, of_class, arrays, shapes)

        function = self._function
        return generator_of(
            name or self._name,
            function.__module__,
            function.__doc__,
            self._declared,
            kinds,
            trace,
            schedule,
        )

    def __reduce__(self) -> str:
        """It pickles by its module and name, as functions do: schedules that
        `autoschedule` has found in this process stay here."""
        module = self._function.__module__
        name = getattr(self._function, "__qualname__", self._name)
        found: object = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not self:
            raise HalideError(
                f"{self!r} is not found as {module}.{name}, by which name another"
                " process would look for it",
                at=here(),
                hint="define it at the top of a module, under its own name",
            )
        return name

    def __repr__(self) -> str:
        names = ", ".join([d.name for d in self._declared])
        return f"<parhelion.jit {self._name}({names})>"


def numbers(program: Program, args: Sequence[Any]) -> dict[Var, Any]:
    """The numbers of a call, by what stands for them."""
    return {
        one._sym.var: value
        for one, value in zip(program.inputs, args, strict=True)
        if isinstance(one, Param)
    }


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, tuple | list) else [out]


def _plain(value: Any, kind: Kind) -> Any:
    """A number as compiled code takes it."""
    assert isinstance(kind, NumberKind)
    if isinstance(value, np.generic):
        return value.item()
    if not kind.type.is_float():
        return value
    try:
        return float(value)
    except OverflowError:
        raise LiteralError(
            f"{number_text(value)} is too large for a {kind.type}", at=here()
        ) from None


__all__ = ["Jitted", "numbers"]
