"""A Buffer as an array: shape, slices, iteration, sums, NumPy's functions and pickles.

What is asked of a Buffer counts its dimensions, x first. What is asked of NumPy about
it counts the axes of ``np.asarray(buffer)``, whose last one is x.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, SupportsIndex, TypeAlias, overload

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.lang import arrays
from parhelion.lang.checked import a_kind, integer
from parhelion.runtime.layout import Array
from parhelion.types import Type

Scalar = int | float | bool
Axis: TypeAlias = "int | Sequence[int]"


def is_part(index: object) -> bool:
    """Whether an index has slices or ``...``, and nothing that is an expression."""
    items = index if type(index) is tuple else (index,)
    if not any([isinstance(i, slice) or i is Ellipsis for i in items]):
        return False
    return not any([hasattr(type(i), "_node") for i in items])


class ArrayLike:
    """What `Buffer` inherits; it has the pixels and the mins."""

    __slots__ = ()
    _array: Array | None
    _mins: list[int]
    _name: str
    _type: Type

    @classmethod
    def _of(cls, type: Type, array: Array, mins: Sequence[int], name: str) -> Self:
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError

    def _grid(self) -> Array:
        raise NotImplementedError

    def _pixels(self) -> Array:
        raise NotImplementedError

    def _given_away(self) -> Array:
        raise NotImplementedError

    def _become(self, array: Array, mins: Sequence[int]) -> None:
        raise NotImplementedError

    def _view(self) -> Self:
        raise NotImplementedError

    def _writable(self) -> Array:
        raise NotImplementedError

    def _from_python(self, value: Any) -> Any:
        raise NotImplementedError

    def _dimension(self, d: Any) -> int:
        raise NotImplementedError

    def sliced(self, dimension: int, pos: int | None = None) -> Self:
        raise NotImplementedError

    def reverse_axes(self) -> Self:
        raise NotImplementedError

    def copy(self) -> Self:
        raise NotImplementedError

    def name(self) -> str:
        raise NotImplementedError

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, dimension 0 first: (width, height, …). That of
        ``np.asarray(buffer)`` is the reverse.

        >>> hl.Buffer(np.zeros((480, 640), np.uint8)).shape
        (640, 480)
        """
        extents: tuple[int, ...] = self._grid().shape
        return extents

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._mins)

    @property
    def size(self) -> int:
        """The number of pixels, each channel counted."""
        return self._grid().size

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the pixels; uint16 for bfloat16, whose bits they are."""
        return np.dtype(self._type.to_numpy())

    @property
    def T(self) -> Self:
        """A view with the dimensions in reverse order, as `reverse_axes` returns.

        >>> image = hl.Buffer(np.arange(6).reshape(2, 3))
        >>> image.T.shape, image.T[1, 2]
        ((2, 3), 5)
        """
        return self.reverse_axes()

    def array(self, axes: str) -> Array:
        """Returns the pixels as a NumPy array with these axes, outermost first.

        It shares their memory, and is the reverse of ``hl.Buffer(array, axes=…)``:
        letters stand for dimensions in the same order. Raises TypeMismatchError for
        axes that do not name the dimensions.

        >>> photo = np.zeros((480, 640, 3), np.uint8)
        >>> hl.Buffer(photo, axes="yxc").array("yxc").shape
        (480, 640, 3)
        """
        return self._given_away().transpose(arrays.places_of(axes, self.shape))

    def __len__(self) -> int:
        """The extent of dimension 0."""
        if not self._grid().ndim:
            raise TypeMismatchError(
                f"Buffer {self.name()!r} has no dimensions, and so no length", at=here()
            )
        extent: int = self._grid().shape[0]
        return extent

    def __bool__(self) -> bool:
        """True, as in Halide: also of a Buffer without pixels (`defined` tells)."""
        return True

    def __iter__(self) -> Iterator[Any]:
        """The pixels of a Buffer of one dimension; else a view for each coordinate of
        dimension 0, without that dimension."""
        if not self._grid().ndim:
            raise TypeMismatchError(
                f"Buffer {self.name()!r} has no dimensions to iterate over",
                at=here(),
                hint="its value is buffer[()]",
            )
        low = self._mins[0]
        coordinates = range(low, low + len(self))
        if len(self._mins) == 1:
            return iter([self[i] for i in coordinates])
        return iter([self.sliced(0, i) for i in coordinates])

    def __contains__(self, value: object) -> bool:
        """Whether a pixel has this value."""
        if not isinstance(value, int | float | np.generic):
            raise TypeMismatchError(
                f"what is looked for in Buffer {self.name()!r} is a number, not"
                f" {a_kind(value)}",
                at=here(),
            )
        return bool((self._numbers() == value).any())

    # Parts.

    def _part(self, index: object) -> Self:
        """The view that slices and numbers select."""
        cut, mins = self._cut(index)
        made = self._view()
        made._become(made._grid()[(*cut, ...)], mins)
        return made

    def _cut(self, index: object) -> tuple[list[slice | int], list[int]]:
        """What an index with slices selects of the array, and the mins of that."""
        array = self._grid()
        items = list(index) if isinstance(index, tuple) else [index]
        if items.count(Ellipsis) > 1:
            raise TypeMismatchError(
                "an index has one '...' at most: it stands for all other dimensions",
                at=here(),
            )
        given = len(items) - items.count(Ellipsis)
        if given > array.ndim:
            raise TypeMismatchError(
                f"Buffer {self.name()!r} has {array.ndim} dimensions; {given} "
                "coordinates and slices are given",
                at=here(),
            )
        at = items.index(Ellipsis) if Ellipsis in items else len(items)
        items[at : at + 1] = [slice(None)] * (array.ndim - given)
        cut: list[slice | int] = []
        mins: list[int] = []
        for d, one in enumerate(items):
            if isinstance(one, slice):
                selected, low = self._slice(one, d)
                cut.append(selected)
                mins.append(low)
            else:
                i = integer(one, "a coordinate")
                self._check(i, d, 0)
                cut.append(i - self._mins[d])
        return cut, mins

    def _slice(self, one: slice, d: int) -> tuple[slice, int]:
        """A slice of dimension d as one of the array, and the least coordinate of what
        it selects."""
        low, n = self._mins[d], self._grid().shape[d]
        step = 1 if one.step is None else integer(one.step, "the step of a slice")
        if step == 0:
            raise TypeMismatchError("the step of a slice is not 0", at=here())
        back = step < 0
        first = low + n - 1 if back else low
        if one.start is not None:
            first = integer(one.start, "where a slice begins")
            self._check(first, d, 0 if back else 1)
        end = low - 1 if back else low + n
        if one.stop is not None:
            end = integer(one.stop, "where a slice ends")
            self._check(end, d, -1 if back else 1)
        count = max(-((first - end) // step), 0)
        if count == 0:
            return slice(0, 0), first if step == 1 else 0
        stop = first - low + count * step
        selected = slice(first - low, stop if stop >= 0 else None, step)
        return selected, first if step == 1 else 0

    def _check(self, i: int, d: int, beyond: int) -> None:
        """Raises BoundsError for a coordinate that dimension d does not have. beyond:
        1 if it may lie just behind the last one, -1 if just before the first."""
        low, n = self._mins[d], self._grid().shape[d]
        if not low + min(beyond, 0) <= i < low + n + max(beyond, 0):
            raise BoundsError(
                f"{i} is out of bounds for dimension {d} of Buffer {self.name()!r}, "
                f"which covers {low} to {low + n - 1}",
                at=here(),
                hint="a slice counts coordinates, as an index does: none are counted "
                "from the end, and none are left out in silence",
            )

    def _set_part(self, index: object, value: object) -> None:
        """Stores a number, an array or another Buffer's pixels in a part."""
        cut, _ = self._cut(index)
        target = self._writable()[(*cut, ...)]
        if not isinstance(value, ArrayLike | np.ndarray):
            target[...] = self._from_python(value)
            return
        if isinstance(value, ArrayLike):
            of, source = value._type, value._pixels()
        else:
            of, array = arrays.pixel_type(arrays.array_of(value))
            source = array.T
        if of is not self._type or source.shape != target.shape:
            raise TypeMismatchError(
                f"pixels of {of} and extents {list(source.shape)} do not fit a part "
                f"of Buffer {self.name()!r} of {self._type} and extents "
                f"{list(target.shape)}",
                at=here(),
                hint="an array's last axis is dimension 0",
            )
        target[...] = source

    # Numbers of all pixels.

    def _numbers(self) -> Array:
        """The pixels as numbers: for bfloat16, as float32."""
        pixels = self._pixels()
        if not self._type.is_bfloat():
            return pixels
        return (pixels.astype(np.uint32) << 16).view(np.float32)

    def _reduced(self, name: str, axis: Axis | None) -> Any:
        """What a method of NumPy's makes of all pixels, or of some dimensions."""
        numbers = self._numbers()
        if name in ("min", "max") and not numbers.size:
            raise BoundsError(
                f"Buffer {self.name()!r} has no pixels, of which none is the {name}",
                at=here(),
            )
        if axis is None:
            return getattr(numbers, name)().item()
        listed = axis if isinstance(axis, tuple | list) else [axis]
        gone = tuple([self._dimension(d) for d in listed])
        if len(set(gone)) != len(gone):
            raise TypeMismatchError(
                f"a dimension is given twice in axis={axis!r}", at=here()
            )
        found = np.asarray(getattr(numbers, name)(axis=gone))
        mins = [m for d, m in enumerate(self._mins) if d not in gone]
        return self._of(Type.from_numpy(found.dtype), found, mins, "")

    @overload
    def sum(self, axis: None = None) -> int | float: ...
    @overload
    def sum(self, axis: Axis) -> Self: ...
    def sum(self, axis: Axis | None = None) -> Any:
        """Returns the sum of all pixels, as NumPy adds them, or a Buffer with the sums
        over one dimension or several, which it lacks.

        >>> image = hl.Buffer(np.arange(6, dtype=np.uint8).reshape(2, 3))
        >>> image.sum(), list(image.sum(axis=0))
        (15, [3, 12])
        """
        return self._reduced("sum", axis)

    @overload
    def prod(self, axis: None = None) -> int | float: ...
    @overload
    def prod(self, axis: Axis) -> Self: ...
    def prod(self, axis: Axis | None = None) -> Any:
        """Returns the product of all pixels, or of dimensions: see `sum`."""
        return self._reduced("prod", axis)

    @overload
    def mean(self, axis: None = None) -> float: ...
    @overload
    def mean(self, axis: Axis) -> Self: ...
    def mean(self, axis: Axis | None = None) -> Any:
        """Returns the mean of all pixels, or a Buffer of those over dimensions.

        >>> image = hl.Buffer(np.arange(6, dtype=np.uint8).reshape(2, 3))
        >>> image.mean(), list(image.mean(axis=1))
        (2.5, [1.5, 2.5, 3.5])
        """
        return self._reduced("mean", axis)

    @overload
    def var(self, axis: None = None) -> float: ...
    @overload
    def var(self, axis: Axis) -> Self: ...
    def var(self, axis: Axis | None = None) -> Any:
        """Returns the variance of all pixels, or over dimensions: see `mean`."""
        return self._reduced("var", axis)

    @overload
    def std(self, axis: None = None) -> float: ...
    @overload
    def std(self, axis: Axis) -> Self: ...
    def std(self, axis: Axis | None = None) -> Any:
        """Returns the standard deviation of all pixels, or over dimensions: see
        `mean`."""
        return self._reduced("std", axis)

    @overload
    def min(self, axis: None = None) -> Scalar: ...
    @overload
    def min(self, axis: Axis) -> Self: ...
    def min(self, axis: Axis | None = None) -> Any:
        """Returns the least pixel, or a Buffer of the least over dimensions. Raises
        BoundsError if there are no pixels. (The least coordinate is
        ``dim(d).min()``.)"""
        return self._reduced("min", axis)

    @overload
    def max(self, axis: None = None) -> Scalar: ...
    @overload
    def max(self, axis: Axis) -> Self: ...
    def max(self, axis: Axis | None = None) -> Any:
        """Returns the greatest pixel, or a Buffer of the greatest over dimensions.
        Raises BoundsError if there are no pixels."""
        return self._reduced("max", axis)

    @overload
    def any(self, axis: None = None) -> bool: ...
    @overload
    def any(self, axis: Axis) -> Self: ...
    def any(self, axis: Axis | None = None) -> Any:
        """Returns whether a pixel is not 0, or a Buffer of that over dimensions."""
        return self._reduced("any", axis)

    @overload
    def all(self, axis: None = None) -> bool: ...
    @overload
    def all(self, axis: Axis) -> Self: ...
    def all(self, axis: Axis | None = None) -> Any:
        """Returns whether no pixel is 0, or a Buffer of that over dimensions."""
        return self._reduced("all", axis)

    # NumPy. Outside, the last axis is dimension 0.

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """NumPy's functions take the pixels as an array."""
        if "out" in options:
            options["out"] = tuple([as_arrays(o) for o in options["out"]])
        return getattr(ufunc, method)(*[as_arrays(i) for i in inputs], **options)

    def __array_function__(
        self,
        function: Any,
        kinds: Iterable[builtins.type],
        args: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        """So do those that are no ufuncs: ``np.shape(b)`` is that of the array, and
        ``np.mean(b, axis=0)`` counts the array's axes."""
        if not all([issubclass(k, ArrayLike | np.ndarray) for k in kinds]):
            return NotImplemented  # expressions are asked
        return function(
            *[as_arrays(a) for a in args], **{n: as_arrays(v) for n, v in named.items()}
        )

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> Array:
        array = self._given_away().T
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"an array of {dtype} would have to be a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    # Copies and pickles.

    def __copy__(self) -> Self:
        """A second Buffer of the same pixels in memory, with a symbol of its own."""
        if self._array is None:
            return type(self)()
        return self._of(self._type, self._pixels(), self._mins, self._name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Pixels of its own, and the layout and coordinates of these."""
        if self._array is None:
            return type(self)()
        made = self.copy()
        if not self._grid().flags.writeable:
            made._grid().flags.writeable = False
        return made

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """For a pickle: the newest pixels, dense, in the order of memory."""
        told = (type(self), self._type, self._name, list(self._mins))
        if self._array is None:
            return _restored, told
        pixels = self._pixels()
        order = arrays.storage_order(pixels)[::-1]
        dense = np.asarray(pixels.transpose(order), order="C")
        return _restored, (*told, dense, order, pixels.flags.writeable)


def _restored(
    kind: builtins.type[Any],
    of: Type,
    name: str,
    mins: list[int],
    dense: Array | None = None,
    order: Sequence[int] = (),
    writable: bool = True,
) -> Any:
    """The Buffer of a pickle."""
    if dense is None:
        made = kind()
        made._type, made._name = of, name
        return made
    array = dense.transpose(np.argsort(order))
    array.flags.writeable = writable and array.flags.writeable
    return kind._of(of, array, mins, name)


def as_arrays(x: object) -> object:
    """Buffers as NumPy's arrays, also those inside of lists and tuples."""
    if isinstance(x, ArrayLike):
        return np.asarray(x)
    if type(x) is list or type(x) is tuple:
        return type(x)([as_arrays(i) for i in x])
    return x


__all__ = ["ArrayLike", "as_arrays", "is_part"]
