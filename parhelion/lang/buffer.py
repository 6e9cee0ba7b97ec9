"""`Buffer`: a NumPy array with a minimum coordinate in each dimension.

Dimension 0 is x, the innermost. A C-ordered array of shape (C, H, W) is a Buffer of
extents (W, H, C). The array is shared, never copied, and kept alive.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeAlias, cast, overload

import numpy as np

from parhelion.errors import (
    BoundsError,
    InvalidBufferError,
    LiteralError,
    TypeMismatchError,
    here,
)
from parhelion.ir.bindings import SET
from parhelion.ir.expr import FloatImm, float_bits
from parhelion.ir.names import fresh
from parhelion.ir.symbols import BufferSym
from parhelion.lang import arrays
from parhelion.lang.arraylike import ArrayLike, Scalar, is_part
from parhelion.lang.checked import function, integer
from parhelion.lang.convert import TypeLike, check_type, names_type
from parhelion.lang.device_memory import DeviceMemory, borrowed
from parhelion.lang.images import Pointwise, is_symbolic, load, numpy_first
from parhelion.lang.showing import ShownBuffer
from parhelion.lang.views import Views
from parhelion.runtime.device_copy import DeviceCopy
from parhelion.runtime.layout import Array, Layout
from parhelion.types import Type, UInt

if TYPE_CHECKING:
    from parhelion.lang.expr import Expr, ExprLike

Index = SupportsIndex | Sequence[SupportsIndex]
Part: TypeAlias = "builtins.slice | EllipsisType"
_Whole: TypeAlias = "int | np.integer[Any]"


class BufferDimension:
    """One dimension of a Buffer, read only.

    >>> hl.Buffer(np.zeros((2, 3), np.uint8)).dim(1)
    [0,2,3]
    """

    __slots__ = ("_extent", "_min", "_stride")

    def __init__(self, min: int, extent: int, stride: int) -> None:
        self._min, self._extent, self._stride = min, extent, stride

    def min(self) -> int:
        """Returns the first coordinate."""
        return self._min

    def max(self) -> int:
        """Returns the last coordinate."""
        return self._min + self._extent - 1

    def extent(self) -> int:
        """Returns the number of coordinates."""
        return self._extent

    def stride(self) -> int:
        """Returns the elements from one coordinate to the next in memory."""
        return self._stride

    def __repr__(self) -> str:
        return f"[{self._min},{self._extent},{self._stride}]"


@numpy_first
class Buffer(Views, DeviceMemory, ArrayLike, ShownBuffer, Pointwise):
    """An image in memory: a NumPy array with a least coordinate in each dimension.

    ``Buffer(array)`` shares the pixels of a NumPy array, or of anything that has the
    buffer protocol, ``__array_interface__`` or DLPack, and those of an array on a GPU
    that has ``__cuda_array_interface__``. ``Buffer(hl.UInt(8), [w, h])``
    allocates pixels that are not set. ``Buffer(buffer)`` is a second view of the same
    pixels. ``np.asarray(buffer)`` is an array of them, in turn; so are
    ``__array_interface__``, DLPack and, from Python 3.12 on, ``memoryview``.

    reverse_axes: whether dimension 0 is the last axis of the array; else it is the
        first.
    axes: a letter for each axis of the array, ``"yxc"`` for an (H, W, C) image; the
        dimensions are then x, y, c.

    Beside an array, a Buffer is an array: ``buffer - array``. Beside anything else it
    is an image in an expression: ``hl.Func(buffer + 1)`` adds 1 at each point. Raises
    TypeMismatchError and InvalidBufferError for what is no image.

    >>> image = hl.Buffer(np.arange(6, dtype=np.uint8).reshape(2, 3))
    >>> image.width(), image.height(), image[2, 1]
    (3, 2, 5)
    """

    __slots__ = ("__weakref__", "_array", "_lay", "_mins", "_name", "_symbol", "_type")
    _array: Array | None
    _type: Type
    _mins: list[int]

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(
        self,
        source: object,
        name: str = "",
        reverse_axes: bool = True,
        *,
        axes: str | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self, type: TypeLike, sizes: Sequence[int], name: str = ""
    ) -> None: ...

    @overload
    def __init__(
        self,
        type: TypeLike,
        sizes: Sequence[int],
        storage_order: Sequence[int],
        name: str = "",
    ) -> None: ...

    def __init__(  # type: ignore[misc]  # the overloads name their places
        self,
        source: object = None,
        second: object = None,
        third: object = None,
        name: str = "",
        *,
        buffer: object = None,
        reverse_axes: bool = True,
        axes: str | None = None,
        type: TypeLike | None = None,
        sizes: Sequence[int] | None = None,
        storage_order: Sequence[int] | None = None,
    ) -> None:
        # Halide's overloads share places: (type, sizes, [storage_order,] name) and
        # (buffer, name, reverse_axes).
        self._symbol: weakref.ref[BufferSym] | None = None
        self._lay: Layout | None = None
        self._device = None
        self._array = None
        self._mins = []
        if names_type(source) and (isinstance(second, Sequence) or sizes is not None):
            source = check_type(source, "hl.Buffer(type, sizes) takes")
        if isinstance(source, Type) or type is not None:
            given = [v for v in (second, third) if v is not None]
            if sizes is None:
                sizes = cast("Sequence[int]", given.pop(0)) if given else None
            if given and isinstance(given[0], str):
                name = cast(str, given.pop(0))
            elif given:
                storage_order = cast("Sequence[int]", given.pop(0))
            self._name = name
            given_type = cast("Type", source) if type is None else type
            known = check_type(given_type, "the pixels of a Buffer have")
            self._allocate(known, sizes, storage_order)
            return
        if isinstance(second, list | tuple):
            check_type(source, "hl.Buffer(type, sizes) takes")
        self._name = second if isinstance(second, str) else name
        if isinstance(third, bool):
            reverse_axes = third
        self._share(buffer if source is None else source, reverse_axes, axes)

    def _share(self, source: object, reverse_axes: bool, axes: str | None) -> None:
        if source is None:
            self._type = UInt(8)
        elif isinstance(source, Buffer):
            self._type = source._type
            if source.defined():
                self._array, self._device = source._grid(), source._shared_copy()
            self._mins = list(source._mins)
            self._name = self._name or source._name
        else:
            found = borrowed(source)
            array, self._device = found or (arrays.array_of(source), None)
            self._type, array = arrays.pixel_type(array)
            self._array = arrays.in_dimension_order(array, reverse_axes, axes)
            self._mins = [0] * array.ndim

    def _allocate(self, type: Type, sizes: object, order: Sequence[int] | None) -> None:
        if not isinstance(sizes, Sequence) or isinstance(sizes, str):
            raise TypeMismatchError(
                f"hl.Buffer({type}, sizes) takes a list of extents, not {sizes!r}",
                at=here(),
            )
        if not type.is_scalar():
            raise TypeMismatchError(
                f"the pixels of a Buffer are scalars, not {type}", at=here()
            )
        extents = arrays.check_sizes(sizes, "a Buffer")
        if order is not None and sorted(order) != list(range(len(extents))):
            raise TypeMismatchError(
                f"storage_order {list(order)} is no order of {len(extents)} dimensions",
                at=here(),
            )
        self._type = type
        self._array = arrays.allocate(type, extents, order)
        self._mins = [0] * len(extents)

    @classmethod
    def _of(cls, type: Type, array: Array, mins: Sequence[int], name: str) -> Self:
        """A Buffer of an array in dimension order."""
        made = cls.__new__(cls)
        made._type, made._array, made._mins = type, array, list(mins)
        made._name, made._symbol, made._lay = name, None, None
        made._device = None
        return made

    @classmethod
    def _fresh(cls, type: Type, array: Array, mins: Sequence[int]) -> Buffer:
        """A Buffer of a new array that nobody else has: a run may leave its pixels on a
        device."""
        made = cls._of(type, array, mins, "")
        made._device = DeviceCopy(type, array, fresh=True)
        return made

    @classmethod
    def make_interleaved(
        cls,
        type: Type,
        width: int,
        height: int,
        channels: int,
        name: str = "",
    ) -> Buffer:
        """Returns a new image (x, y, c) whose channels lie side by side in memory."""
        return cls(type, [width, height, channels], [2, 0, 1], name)

    @classmethod
    def make_scalar(cls, type: Type, name: str = "") -> Buffer:
        """Returns a new Buffer without dimensions: one value, ``b[()]``."""
        return cls(type, [], name)

    @classmethod
    def make_with_shape_of(cls, src: Buffer | Array, name: str = "") -> Buffer:
        """Returns a new Buffer with the type, region and storage order of another one,
        or of ``Buffer(array)``."""
        src = src if isinstance(src, Buffer) else Buffer(src)
        shape, order = src._grid().shape, arrays.storage_order(src._grid())
        array = arrays.allocate(src._type, shape, order)
        return cls._of(src._type, array, src._mins, name)

    # What it is.

    def _grid(self) -> Array:
        """The array, for who asks for its shape alone: the pixels may be older than
        those on a device."""
        if self._array is None:
            raise InvalidBufferError(
                "an undefined Buffer, hl.Buffer(), is used", at=here()
            )
        return self._array

    def _pixels(self) -> Array:
        """The array with the newest pixels."""
        if self._device is not None:
            self._device.read_on_host()
        return self._grid()

    def _memory(self) -> tuple[int, int]:
        """The address and the bytes of the memory that it keeps."""
        return (0, 0) if self._array is None else arrays.memory(self._array)

    def _layout(self) -> Layout:
        """Its layout, computed once until the Buffer is changed."""
        made = self._lay
        if made is None:
            made = self._lay = Layout(self._type, self._grid(), self._mins)
            made.copy = self._device
        return made

    @property
    def _sym(self) -> BufferSym:
        """The symbol that stands for this Buffer in expressions."""
        found = None if self._symbol is None else SET.standing(self._symbol, self)
        if found is None or len(found.dims) != len(self._mins):
            found = BufferSym(
                self.name(),
                self._type,
                self._grid().ndim,
                "input",
                embedded=True,
                site=here(),
            )
            # Weakly: the symbol is kept by what mentions it, and keeps this Buffer.
            self._symbol = weakref.ref(found)
            SET.set(found, self)
        return found

    def defined(self) -> bool:
        """Returns whether there are pixels: False for ``hl.Buffer()``."""
        return self._array is not None

    def type(self) -> Type:
        """Returns the type of the pixels."""
        return self._type

    def dimensions(self) -> int:
        """Returns the number of dimensions."""
        return len(self._mins)

    def name(self) -> str:
        """Returns the name, which is made up if none was given."""
        if not self._name:
            self._name = fresh("b")
        return self._name

    def set_name(self, name: str) -> None:
        """Sets the name, by which messages call it."""
        self._name = name
        self._symbol = None

    def same_as(self, other: Buffer) -> bool:
        """Returns whether both are the same object."""
        return self is other

    def dim(self, dimension: int) -> BufferDimension:
        """Returns one dimension. Raises BoundsError if there are not so many."""
        d = self._dimension(dimension)
        layout = self._layout()
        return BufferDimension(layout.mins[d], layout.extents[d], layout.strides[d])

    def _dimension(self, d: SupportsIndex) -> int:
        n = integer(d, "a dimension")
        if not 0 <= n < self._grid().ndim:
            raise BoundsError(
                f"Buffer {self.name()!r} has {len(self._mins)} dimensions; "
                f"there is no dimension {n}",
                at=here(),
            )
        return n

    def _extent_or_one(self, d: int) -> int:
        return self._grid().shape[d] if d < len(self._mins) else 1

    def width(self) -> int:
        """Returns the extent of dimension 0 in pixels; 1 if there is none."""
        return self._extent_or_one(0)

    def height(self) -> int:
        """Returns the extent of dimension 1 in pixels; 1 if there is none."""
        return self._extent_or_one(1)

    def channels(self) -> int:
        """Returns the extent of dimension 2; 1 if there is none."""
        return self._extent_or_one(2)

    def left(self) -> int:
        """Returns the least x."""
        return self.dim(0).min()

    def right(self) -> int:
        """Returns the greatest x."""
        return self.dim(0).max()

    def top(self) -> int:
        """Returns the least y."""
        return self.dim(1).min()

    def bottom(self) -> int:
        """Returns the greatest y."""
        return self.dim(1).max()

    def number_of_elements(self) -> int:
        """Returns the number of pixels, each channel counted."""
        return self._grid().size

    def size_in_bytes(self) -> int:
        """Returns the bytes from the first element in memory to the end of the last."""
        return self._layout().span * self._type.bytes() if self._grid().size else 0

    def contains(self, *coords: SupportsIndex | Sequence[SupportsIndex]) -> bool:
        """Returns whether a point lies inside, given as one list or as numbers."""
        at = self._coordinates(coords)
        return all(
            m <= i < m + e
            for i, m, e in zip(at, self._mins, self._grid().shape, strict=True)
        )

    def _coordinates(self, given: tuple[Any, ...]) -> list[int]:
        if len(given) == 1 and isinstance(given[0], list | tuple):
            given = tuple(given[0])
        if len(given) != len(self._mins):
            raise TypeMismatchError(
                f"Buffer {self.name()!r} has {len(self._mins)} dimensions; "
                f"{len(given)} coordinates are given",
                at=here(),
                hint="buffer[3, ...] is a view of all pixels at 3 of dimension 0"
                if len(given) < len(self._mins)
                else "",
            )
        return [integer(i, "a coordinate") for i in given]

    def __repr__(self) -> str:
        if self._array is None:
            return "<undefined parhelion.Buffer>"
        layout = self._layout()
        shape = ",".join(
            f"[{m},{e},{s}]"
            for m, e, s in zip(layout.mins, layout.extents, layout.strides, strict=True)
        )
        return f"<parhelion.Buffer of type {self._type} shape:[{shape}]>"

    # Pixels.

    def _quick_place(self, index: object) -> tuple[int, ...] | None:
        """The array index of a point that is given as plain ints and lies inside; None
        where `_place` has to look closer. Loops over pixels spend their time here."""
        array = self._array
        point = index if type(index) is tuple else (index,)
        if array is None or len(point) != len(self._mins):
            return None
        place = []
        for i, m, e in zip(point, self._mins, array.shape, strict=True):
            if type(i) is not int or not 0 <= i - m < e:
                return None
            place.append(i - m)
        return tuple(place)

    def _place(self, index: object) -> tuple[int, ...]:
        """Returns the array index of a point; raises BoundsError if it is outside."""
        given = index if isinstance(index, tuple) else (index,)
        array = self._grid()
        at = self._coordinates(given)
        for d, (i, m, e) in enumerate(zip(at, self._mins, array.shape, strict=True)):
            if not m <= i < m + e:
                raise BoundsError(
                    f"index {i} is out of bounds for dimension {d} of Buffer "
                    f"{self.name()!r}, which covers {m} to {m + e - 1}",
                    at=here(),
                )
        return tuple([i - m for i, m in zip(at, self._mins, strict=True)])

    # Plain numbers come first, and all else that has an ``__index__`` last: Vars and
    # Exprs have one too, which only raises.
    @overload
    def __getitem__(self, index: _Whole | Sequence[_Whole]) -> Scalar: ...  # type: ignore[overload-overlap]

    @overload
    def __getitem__(self, index: ExprLike | Sequence[ExprLike]) -> Expr: ...  # type: ignore[overload-overlap]

    @overload
    def __getitem__(self, index: Index) -> Scalar: ...  # type: ignore[overload-overlap]

    @overload
    def __getitem__(self, index: Part | tuple[Part | _Whole, ...]) -> Buffer: ...

    def __getitem__(self, index: Any) -> Any:
        """Returns ``b[3, 4]``, a number; ``b[x, y]`` with Vars or Exprs, an Expr; or
        ``b[3:9, :]``, a view. Slices count coordinates, and the view keeps them; those
        of a slice with a step are 0, 1, …."""
        quick = self._quick_place(index)
        if quick is not None:
            return self._to_python(self._pixels()[quick])
        if is_part(index):
            return self._part(index)
        if is_symbolic(index):
            return load(self._sym, index)
        return self._to_python(self._pixels()[self._place(index)])

    def __setitem__(
        self,
        index: Index | Part | tuple[Part | SupportsIndex, ...],
        value: Scalar | np.generic | Array | Buffer,
    ) -> None:
        if is_part(index):
            self._set_part(index, value)
            return
        place = self._quick_place(index) or self._place(index)
        self._writable()[place] = self._from_python(value)

    def __call__(self, *index: Any) -> Any:
        """Returns the same as indexing."""
        return self[index]

    def _writable(self) -> Array:
        array = self._pixels()
        if not array.flags.writeable:
            raise InvalidBufferError(
                f"Buffer {self.name()!r} shares a read-only array", at=here()
            )
        self.set_host_dirty()
        return array

    def _to_python(self, value: Any) -> Scalar:
        if self._type.is_bfloat():
            return FloatImm(self._type, int(value)).value
        return cast("Scalar", value.item())

    def _from_python(self, value: Any) -> Any:
        """A number as the array stores it; raises if the type cannot hold it."""
        t = self._type
        if type(value) is float and t.is_float() and not t.is_bfloat():
            return value
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, int | float):
            raise TypeMismatchError(
                f"a pixel of Buffer {self.name()!r} is a number of type {t}, "
                f"not {value!r}",
                at=here(),
            )
        if t.is_int_or_uint() and not t.can_represent(value):
            raise LiteralError(
                f"{value} does not fit the type {t} of Buffer {self.name()!r}",
                at=here(),
            )
        if t.is_bfloat():
            return float_bits(value, t)
        return value

    def fill(self, value: Scalar | np.generic) -> None:
        """Sets every pixel to one value. Raises LiteralError if the type cannot hold
        it."""
        self._writable()[...] = self._from_python(value)

    def all_equal(self, value: Scalar | np.generic) -> bool:
        """Returns whether every pixel has this value."""
        return bool((self._pixels() == self._from_python(value)).all())

    def for_each_element(self, f: Callable[[list[int]], object]) -> None:
        """Calls `f` with the coordinates of each pixel, dimension 0 fastest."""
        function(f, "what for_each_element calls")
        shape = self._grid().shape
        for at in np.ndindex(*reversed(shape)):
            f([i + m for i, m in zip(reversed(at), self._mins, strict=True)])

    def copy(self) -> Buffer:
        """Returns a Buffer with pixels of its own, dense and in the same storage
        order."""
        made = Buffer.make_with_shape_of(self, self._name)
        made._pixels()[...] = self._pixels()
        return made

    def copy_from(self, src: Buffer | Array) -> None:
        """Copies the pixels of the region that both have; all of an array, which has no
        coordinates. Raises TypeMismatchError for another type or number of dimensions,
        BoundsError for an array of another shape."""
        mine = self._writable()
        if not isinstance(src, Buffer):
            src = Buffer(src)
            arrays.check_same_shape(src._grid(), mine, self.name())
            src._mins = self._mins
        theirs = src._pixels()
        if src._type is not self._type or theirs.ndim != mine.ndim:
            raise TypeMismatchError(
                f"cannot copy a Buffer of {src._type} and {theirs.ndim} dimensions "
                f"into one of {self._type} and {mine.ndim}",
                at=here(),
            )
        to, source = [], []
        for d, (a, b) in enumerate(zip(self._mins, src._mins, strict=True)):
            n = max(min(a + mine.shape[d], b + theirs.shape[d]) - max(a, b), 0)
            to.append(slice(max(b - a, 0), max(b - a, 0) + n))
            source.append(slice(max(a - b, 0), max(a - b, 0) + n))
        mine[tuple(to)] = theirs[tuple(source)]

    def _become(self, array: Array, mins: Sequence[int]) -> None:
        self._array, self._mins, self._lay = array, list(mins), None

    def _view(self) -> Buffer:
        made = Buffer._of(self._type, self._grid(), self._mins, self._name)
        made._device = self._shared_copy()
        return made
