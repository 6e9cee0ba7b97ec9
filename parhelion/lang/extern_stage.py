"""Foreign stages: Funcs that a C function or a Python callable computes.

`Func.define_extern` makes one of these two classes, which the compiler and the
interpreter know as `ir.externs.ExternStage`.
"""

from __future__ import annotations

import ctypes
import enum
import gc
import inspect
import traceback
from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import Any, cast

from parhelion.errors import (
    BoundsError,
    InvalidBufferError,
    PipelineRuntimeError,
    TypeMismatchError,
    here,
)
from parhelion.ir.externs import STAGES, Box, Number, Parameter, Pixels
from parhelion.ir.names import fresh
from parhelion.lang.buffer import Buffer
from parhelion.lang.extern import CPointer, address_of, c_type, is_pointer
from parhelion.lang.handles import is_func
from parhelion.runtime.foreign import (
    RAISED,
    Array,
    KeptPixelsError,
    Owner,
    Struct,
    box_at,
    first_address,
    is_query,
    owner_of,
    pixels_at,
    set_box,
)
from parhelion.runtime.memo import hold
from parhelion.runtime.pins import pin
from parhelion.types import Type

#: Says what is read: the region of the outputs (a (min, extent) for each dimension) and
#: the numbers give a region for each buffer.
BoundsFunction = Callable[..., Sequence[Sequence[tuple[int, int]]]]


class NameMangling(enum.Enum):
    """How the name of a foreign function is spelled in object files.

    Names are those of C; pass a C++ function as a ctypes function or an address.
    """

    Default = 0
    C = 1
    CPlusPlus = 2


class _Lent(Buffer):
    """A Buffer over the memory of a run, which Python code may use during one call.

    After the call, any use of it or of its views raises InvalidBufferError.
    """

    __slots__ = ("_views", "_whose")
    _views: list[_Lent]
    _whose: str

    @classmethod
    def of(cls, type: Type, pixels: Pixels, name: str, whose: str) -> _Lent:
        made = cls._of(type, *pixels, name)
        made._views, made._whose = [made], whose
        return made

    def take_back(self) -> None:
        """Takes the pixels away from this Buffer and its views, at the end of the
        call."""
        for view in self._views:
            view._array, view._lay = None, None
        self._views = []

    def _view(self) -> _Lent:
        made = _Lent.of(self._type, (self._grid(), self._mins), self._name, "")
        made._views, made._whose = self._views, self._whose
        self._views.append(made)
        return made

    def _grid(self) -> Array:
        if self._array is None:
            raise InvalidBufferError(
                "the pixels of a Buffer are used that were lent to the Python function "
                f"which computes Func {self._whose!r}, for the time of its call",
                at=here(),
                hint="let the function keep a copy: buffer.copy()",
            )
        return self._array

    def defined(self) -> bool:
        return True  # `_grid` says more

    @property
    def __array_interface__(self) -> dict[str, Any]:
        # NumPy's views would hold the Buffer by it, and not its pixels, which `called`
        # watches.
        raise AttributeError("__array_interface__")


class _Stage:
    """The common part of both kinds of foreign stages."""

    packed = False

    def __init__(
        self,
        name: str,
        params: tuple[Parameter, ...],
        results: tuple[Type, ...],
        dimensions: int,
    ) -> None:
        self.key = fresh(f"{name}.extern.")
        self.name, self.params, self.results = name, params, results
        self.dimensions = dimensions
        STAGES[self.key] = self


class CStage(_Stage):
    """A C function, given numbers by value and ``halide_buffer_t *``, outputs last."""

    def __init__(
        self,
        function: CPointer,
        name: str,
        params: tuple[Parameter, ...],
        results: tuple[Type, ...],
        dimensions: int,
    ) -> None:
        super().__init__(name, params, results, dimensions)
        self._kept = function
        found = address_of(function, f"{name}.define_extern")
        self.symbol, self.known_as, self.address = found
        kinds = [
            ctypes.c_void_p if p.is_buffer else c_type(p.type, "an argument")
            for p in params
        ]
        kinds += [ctypes.c_void_p] * len(results)
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self.address)

    def query(self, scalars: Sequence[Number], region: Box) -> list[Box]:
        empty = (0, 0, 0)
        inputs = [
            Struct(p.type, [empty] * p.dimensions)
            for p in self.params
            if p.dimensions is not None
        ]
        shape = [(low, extent, 0) for low, extent in region]
        outputs = [Struct(t, shape) for t in self.results]
        self._run(scalars, inputs, outputs)
        return [s.box() for s in inputs]

    def run(
        self,
        scalars: Sequence[Number],
        inputs: Sequence[Pixels],
        outputs: Sequence[Pixels],
    ) -> None:
        buffers = [p.type for p in self.params if p.is_buffer]
        self._run(
            scalars,
            [Struct.of(t, *pixels) for t, pixels in zip(buffers, inputs, strict=True)],
            [
                Struct.of(t, *pixels)
                for t, pixels in zip(self.results, outputs, strict=True)
            ],
        )

    def _run(
        self,
        scalars: Sequence[Number],
        inputs: Sequence[Struct],
        outputs: Sequence[Struct],
    ) -> None:
        numbers, structs = iter(scalars), iter(inputs)
        given: list[Any] = [
            next(structs).address if p.is_buffer else next(numbers) for p in self.params
        ]
        code = self._call(*given, *[s.address for s in outputs])
        if code != 0:
            raise PipelineRuntimeError(
                f"the foreign code that computes Func {self.name!r} failed: it "
                f"returned {code}",
                at=here(),
            )


class PythonStage(_Stage):
    """A Python callable, given numbers and Buffers, outputs last."""

    packed = True

    def __init__(
        self,
        function: Callable[..., object],
        bounds: BoundsFunction | None,
        name: str,
        params: tuple[Parameter, ...],
        results: tuple[Type, ...],
        dimensions: int,
    ) -> None:
        super().__init__(name, params, results, dimensions)
        self.function, self.bounds = function, bounds
        # Not a bound method: the stage would hold itself, and outlive its Func.
        self._entry = _entry_of(self.key)
        self.address = id(self._entry)
        self.symbol, self.known_as = f"{self.key}@{self.address:x}", self.key

    def query(self, scalars: Sequence[Number], region: Box) -> list[Box]:
        asked = [(int(low), int(extent)) for low, extent in region]
        wanted = [p.dimensions for p in self.params if p.dimensions is not None]
        if self.bounds is None:
            return [asked] * len(wanted)
        answer = self.bounds(asked, *scalars)
        try:
            made = [
                [(index(low), index(extent)) for low, extent in part] for part in answer
            ]
        except (TypeError, ValueError):
            made = []
        # Of nothing, less than nothing may be asked for, and needed.
        nothing = any(extent <= 0 for _, extent in asked)
        for low, extent in [pair for part in made for pair in part]:
            least = -(2**31) if nothing else 0
            inside = low >= -(2**31) and low + max(extent, 0) <= 2**31
            if extent < least or not inside:
                raise BoundsError(
                    f"the bounds function of Func {self.name!r} returned a min of "
                    f"{low} and an extent of {extent}: extents are not negative, and "
                    "coordinates have 32 bits",
                    at=here(),
                )
        if [len(part) for part in made] != wanted:
            shape = ", ".join(
                ["[" + ", ".join(["(min, extent)"] * n) + "]" for n in wanted]
            )
            raise TypeMismatchError(
                f"the bounds function of Func {self.name!r} must return a region for "
                f"each buffer, [{shape}], not {answer!r:.100}",
                at=here(),
            )
        return cast("list[Box]", made)

    def run(
        self,
        scalars: Sequence[Number],
        inputs: Sequence[Pixels],
        outputs: Sequence[Pixels],
    ) -> None:
        numbers, pixels = iter(scalars), iter(inputs)
        lent: list[_Lent] = []
        given: list[object] = []
        for p in self.params:
            if p.is_buffer:
                one = next(pixels)
                one[0].flags.writeable = False
                lent.append(_Lent.of(p.type, one, "", self.name))
                given.append(lent[-1])
            else:
                given.append(next(numbers))
        for t, one in zip(self.results, outputs, strict=True):
            lent.append(_Lent.of(t, one, self.name, self.name))
            given.append(lent[-1])
        try:
            result = self.function(*given)
        finally:
            for buffer in lent:
                buffer.take_back()
            del one
        if result is not None and result != 0:
            raise PipelineRuntimeError(
                f"the Python function that computes Func {self.name!r} returned "
                f"{result!r:.60}: it writes into its last argument and returns None",
                at=here(),
            )

    def called(self, argv: int) -> None:
        """Serves a call from compiled code: a bounds query, or the computation
        itself."""
        count = len(self.params) + len(self.results)
        addresses = (ctypes.c_void_p * count).from_address(argv)
        places = [int(a or 0) for a in addresses]
        outputs = places[len(self.params) :]
        scalars = list(self._numbers(places))
        buffers = [a for a, p in zip(places, self.params, strict=False) if p.is_buffer]
        if is_query(outputs[0]):
            for a, box in zip(
                buffers, self.query(scalars, box_at(outputs[0])), strict=True
            ):
                set_box(a, box)
            return
        types = [p.type for p in self.params if p.is_buffer]
        inputs = [
            pixels_at(a, t.to_numpy(), False)
            for a, t in zip(buffers, types, strict=True)
        ]
        results = [
            pixels_at(a, t.to_numpy(), True)
            for a, t in zip(outputs, self.results, strict=True)
        ]
        memory = [owner_of(array) for array, _ in (*inputs, *results)]
        try:
            self.run(scalars, inputs, results)
        except BaseException as error:
            inputs.clear()
            results.clear()
            if _held(memory):
                _clear_frames(error)  # what a debugger would show may be gone
            if _held(memory):
                raise self._kept(memory) from error
            raise
        inputs.clear()
        results.clear()
        if _held(memory):
            raise self._kept(memory)

    def _kept(self, memory: Sequence[Owner]) -> KeptPixelsError:
        """Returns the error for arrays that the function kept after its call.

        The memory stays valid while the arrays live, for whoever catches the error.
        """
        owners = [owner for one in memory if (owner := one()) is not None]
        for owner in owners:
            address = first_address(owner)
            pin(address, owner)
            hold(address, owner)
        return KeptPixelsError(
            owners,
            f"the Python function that computes Func {self.name!r} keeps an array of "
            "pixels that were lent to it: their memory is another's after the call",
            at=here(),
            hint="keep a copy: np.array(buffer)",
        )

    def _numbers(self, places: Sequence[int]) -> Iterator[Number]:
        for a, p in zip(places, self.params, strict=False):
            if not p.is_buffer:
                yield c_type(p.type, "an argument").from_address(a).value


def _held(memory: Sequence[Owner]) -> bool:
    """Whether arrays of some lent memory are left, other than as garbage."""
    if all([one() is None for one in memory]):
        return False
    gc.collect()
    return any([one() is not None for one in memory])


def _clear_frames(error: BaseException) -> None:
    """Drops the local variables of the calls that an exception has ended, and those
    that came before it."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__context__, one.__cause__]


def _entry_of(key: str) -> Callable[[int], None]:
    """What compiled code calls. Exceptions wait until it has been left: the result is
    2 then, else 1. It stays 0 where one is raised too early to be caught."""

    def entry(given: int) -> None:
        words = (ctypes.c_int64 * 3).from_address(given)
        context, argv, _ = words
        try:
            STAGES[key].called(argv)
        except BaseException as error:
            RAISED.setdefault(context, error)
            words[2] = 2
            return
        words[2] = 1

    return entry


def make_stage(
    function: object,
    bounds: BoundsFunction | None,
    name: str,
    params: tuple[Parameter, ...],
    results: tuple[Type, ...],
    dimensions: int,
) -> CStage | PythonStage:
    """The stage of whatever `define_extern` was given as the function."""
    if isinstance(function, str | int) or is_pointer(function):
        if bounds is not None:
            raise TypeMismatchError(
                f"{name}.define_extern: bounds is for Python functions; a C function "
                "answers itself, when it is given buffers whose host is null",
                at=here(),
            )
        return CStage(function, name, params, results, dimensions)
    if not callable(function) or is_func(function):
        raise TypeMismatchError(
            f"{name}.define_extern takes a C function's name, a function of a ctypes "
            f"library or a Python callable, not {function!r:.60}",
            at=here(),
        )
    if bounds is None and any(
        p.is_buffer and p.dimensions != dimensions for p in params
    ):
        raise TypeMismatchError(
            f"{name}.define_extern: {name} has {dimensions} dimensions and one of the "
            "buffers it is given has another number",
            at=here(),
            hint="bounds=function says what is read of each buffer for a region of the "
            "output; without it, that is the same region",
        )
    inputs, outputs = len(params), len(results)
    _check_arity(
        function,
        inputs + outputs,
        f"{name}.define_extern: the function is called with {_counted(inputs, 'param')}"
        f" and {_counted(outputs, 'output')}",
    )
    if bounds is not None:
        numbers = sum([not p.is_buffer for p in params])
        _check_arity(
            bounds,
            1 + numbers,
            f"{name}.define_extern: the bounds function is called with a region and "
            f"{_counted(numbers, 'number')}",
        )
    return PythonStage(function, bounds, name, params, results, dimensions)


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _check_arity(function: object, count: int, what: str) -> None:
    """Raises TypeMismatchError for what cannot be called with so many arguments.
    `what` says by whom it is called. Functions in C do not tell what they take."""
    if not callable(function):
        raise TypeMismatchError(f"{what}, and is {function!r:.60}", at=here())
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * count)
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeMismatchError(
            f"{what}, but cannot be: {error}",
            at=here(),
            detail=f"it is defined as {name}{signature}",
        ) from None


__all__ = ["BoundsFunction", "NameMangling", "make_stage"]
