"""`ImageParam`: an image that is given when the pipeline runs; and the same view of
a Func's output, `OutputImageParam`, for promises about the caller's buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from parhelion.errors import BoundsError, HalideError, TypeMismatchError, here
from parhelion.ir.bindings import SET
from parhelion.ir.build import add, cast, int32, sub
from parhelion.ir.expr import Expr as Node
from parhelion.ir.names import fresh, unique_name
from parhelion.ir.symbols import BufferSym, DimSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import integer, items
from parhelion.lang.convert import TypeLike, check_type
from parhelion.lang.expr import Expr, Operand, wrap
from parhelion.lang.images import Pointwise, load
from parhelion.lang.wrapping import Readers, wrap_in
from parhelion.schedule.directives import MemoryType
from parhelion.shown import view
from parhelion.types import INT32, Type

if TYPE_CHECKING:
    from parhelion.lang.expr import ExprLike
    from parhelion.lang.func import Func


class Dimension:
    """One dimension of an ImageParam, or of a Func's output.

    `min`, `extent`, `max` and `stride` are expressions: what was promised, or else what
    the image has when the pipeline runs. The `set_` methods promise something, for
    which the compiler makes better code; runs with an image that breaks a promise raise
    InvalidBufferError.

    >>> image = hl.ImageParam(hl.UInt(8), 2)
    >>> image.dim(0).set_bounds(0, 640).set_stride(1).max()
    <parhelion.Expr of type int32: 639>
    """

    __slots__ = ("_d", "_image", "_sym")

    def __init__(self, image: OutputImageParam, d: int) -> None:
        self._image, self._d = image, d
        self._sym: DimSym = image._sym.dims[d]

    def min(self) -> Expr:
        """Returns the first coordinate."""
        return wrap(self._min())

    def extent(self) -> Expr:
        """Returns the number of coordinates."""
        return wrap(self._extent())

    def max(self) -> Expr:
        """Returns the last coordinate."""
        return wrap(sub(add(self._min(), self._extent()), int32(1)))

    def stride(self) -> Expr:
        """Returns the elements from one coordinate to the next in memory."""
        fixed = self._sym.fixed_stride
        return wrap(self._sym.stride if fixed is None else fixed)

    def _min(self) -> Node:
        fixed = self._sym.fixed_min
        return self._sym.min if fixed is None else fixed

    def _extent(self) -> Node:
        fixed = self._sym.fixed_extent
        return self._sym.extent if fixed is None else fixed

    def set_min(self, min: ExprLike) -> Self:
        """Promises the first coordinate. Returns the Dimension."""
        self._sym.fixed_min = _int32_or_none(min, "min")
        return self

    def set_extent(self, extent: ExprLike) -> Self:
        """Promises the number of coordinates. Returns the Dimension."""
        self._sym.fixed_extent = _int32_or_none(extent, "extent")
        return self

    def set_bounds(self, min: ExprLike, extent: ExprLike) -> Self:
        """Promises the first coordinate and the number of them. Returns the
        Dimension."""
        return self.set_min(min).set_extent(extent)

    def set_stride(self, stride: ExprLike) -> Self:
        """Promises the stride in elements. Returns the Dimension.

        The stride of dimension 0 is promised to be 1 at first;
        ``set_stride(hl.Expr())`` takes that back.
        """
        self._sym.fixed_stride = _int32_or_none(stride, "stride")
        return self

    def set_estimate(self, min: ExprLike, extent: ExprLike) -> Self:
        """Tells the automatic scheduler what region to expect. Returns the
        Dimension."""
        self._sym.estimate_min = _int32_or_none(min, "min")
        self._sym.estimate_extent = _int32_or_none(extent, "extent")
        return self

    def dim(self, dimension: int) -> Dimension:
        """Returns another dimension of the same image."""
        return self._image.dim(dimension)


def _int32_or_none(value: ExprLike, what: str) -> Node | None:
    from parhelion.lang.convert import node_of

    if isinstance(value, Expr) and not value.defined():
        return None
    node = node_of(value)
    if not node.type.is_int_or_uint() or not INT32.can_represent(node.type):
        raise TypeMismatchError(
            f"the {what} of a dimension is an int32, not {node.type}", at=here()
        )
    return cast(INT32, node)


class OutputImageParam:
    """The image that a Func is computed into; `Func.output_buffer` returns it.

    >>> f = hl.Func()
    >>> f[x, y] = x + y
    >>> f.output_buffer().dimensions()
    2
    """

    __slots__ = ("_sym",)
    #: NumPy leaves operators with arrays to the other operand.
    __array_ufunc__: Any = None
    _sym: BufferSym

    @classmethod
    def _of(cls, sym: BufferSym) -> Self:
        made = cls.__new__(cls)
        made._sym = sym
        return made

    def name(self) -> str:
        """Returns the name."""
        return self._sym.name

    def type(self) -> Type:
        """Returns the type of the pixels."""
        return self._sym.type

    def dimensions(self) -> int:
        """Returns the number of dimensions."""
        return len(self._sym.dims)

    def defined(self) -> bool:
        """Returns True."""
        return True

    def dim(self, dimension: int) -> Dimension:
        """Returns one dimension, to ask for its bounds and to promise them.

        Raises BoundsError if there are not so many.
        """
        d = integer(dimension, "a dimension")
        if not 0 <= d < len(self._sym.dims):
            raise BoundsError(
                f"{self._what()} has {len(self._sym.dims)} dimensions; there is no "
                f"dimension {d}",
                at=here(),
            )
        return Dimension(self, d)

    def _what(self) -> str:
        return f"the output of Func {self.name()!r}"

    def width(self) -> Expr:
        """Returns the extent of dimension 0, an expression."""
        return self.dim(0).extent()

    def height(self) -> Expr:
        """Returns the extent of dimension 1, an expression."""
        return self.dim(1).extent()

    def channels(self) -> Expr:
        """Returns the extent of dimension 2, an expression."""
        return self.dim(2).extent()

    def left(self) -> Expr:
        """Returns the least x, an expression."""
        return self.dim(0).min()

    def right(self) -> Expr:
        """Returns the greatest x, an expression."""
        return self.dim(0).max()

    def top(self) -> Expr:
        """Returns the least y, an expression."""
        return self.dim(1).min()

    def bottom(self) -> Expr:
        """Returns the greatest y, an expression."""
        return self.dim(1).max()

    def set_estimates(self, estimates: Sequence[tuple[ExprLike, ExprLike]]) -> Self:
        """Tells the automatic scheduler what region to expect: ``[(min, extent), …]``.

        Raises TypeMismatchError unless there is a pair for each dimension.
        """
        from parhelion.lang.rdom import pair_of

        what = f"set_estimates of {self._what()}"
        given = items(estimates, "estimates")
        pairs: list[Any] = [pair_of(one, what) for one in given]
        if len(estimates) != self.dimensions():
            raise TypeMismatchError(
                f"{self._what()} has {self.dimensions()} dimensions; "
                f"{len(estimates)} estimates are given",
                at=here(),
            )
        for d, (lo, extent) in enumerate(pairs):
            self.dim(d).set_estimate(lo, extent)
        return self

    def host_alignment(self) -> int:
        """Returns the promised alignment of the first pixel in bytes."""
        return self._sym.host_alignment or self._sym.type.bytes()

    def set_host_alignment(self, bytes: int) -> Self:
        """Promises that the address of the first pixel is a multiple of `bytes`.

        Raises TypeMismatchError unless `bytes` is a power of two.
        """
        if bytes < 1 or bytes & (bytes - 1):
            raise TypeMismatchError(
                f"an alignment is a power of two, not {bytes}", at=here()
            )
        self._sym.host_alignment = bytes
        return self

    def store_in(self, memory_type: MemoryType) -> Self:
        """Accepts Auto and Heap, which change nothing: the caller chooses the memory.

        Raises HalideError for other kinds of memory. Kernels read an image as a texture
        by way of a Func that is it, with `store_in` (`Func.store_in`).
        """
        if memory_type is MemoryType.GPUTexture:
            raise HalideError(
                f"{self._what()} is in the caller's memory, whose rows lie where a GPU"
                " need not be able to read them as a texture",
                at=here(),
                hint="define a Func as the image, compute_root() it by a kernel, and"
                " store that in MemoryType.GPUTexture",
            )
        if memory_type not in (MemoryType.Auto, MemoryType.Heap):
            raise HalideError(
                f"{self._what()} is in the caller's memory, not in {memory_type}",
                at=here(),
                legal=["MemoryType.Auto", "MemoryType.Heap"],
            )
        return self

    def parameter(self) -> Self:
        """Returns the image itself, for scripts written for Halide."""
        return self

    def __repr__(self) -> str:
        return (
            f"<parhelion.{type(self).__name__} {self.name()!r}, "
            f"dims: {self.dimensions()}, type: {self.type()}>"
        )


class ImageParam(OutputImageParam, Pointwise):
    """An image that is given when the pipeline runs: ``hl.ImageParam(hl.UInt(8), 2,
    "input")``; the type may be given as ``"uint8"`` or a NumPy type.

    ``image[x, y]`` is a pixel; ``image + 1``, without indices, adds 1 at each point.
    The calls of `realize` use the image that was set last; a `Callable` takes it as an
    argument. Raises TypeMismatchError for what is no type or number of dimensions.

    >>> image = hl.ImageParam(hl.UInt(8), 2, "image")
    >>> f = hl.Func()
    >>> f[x, y] = image[x, y] + 1
    >>> image.set(np.array([[1, 2, 3]], np.uint8))
    >>> np.asarray(f.realize([3, 1])).tolist()
    [[2, 3, 4]]
    """

    __slots__ = ()

    def __init__(self, type: TypeLike, dimensions: int, name: str = "") -> None:
        type = check_type(type, "an ImageParam has")
        known = unique_name(name) if name else fresh("p")
        n = integer(dimensions, "the number of dimensions")
        if n < 0:
            raise TypeMismatchError(f"an image cannot have {n} dimensions", at=here())
        self._sym = BufferSym(known, type, n, "input", site=here())

    def _what(self) -> str:
        return f"ImageParam {self.name()!r}"

    def set(self, image: object) -> None:
        """Sets the image for the calls of `realize` that follow.

        It is a Buffer or an array, which is taken as by ``hl.Buffer(array)`` and
        shared, not copied. An undefined Buffer is as `reset`. Raises TypeMismatchError
        for an image of another type or number of dimensions.

        >>> hl.ImageParam(hl.UInt(8), 2, "image").set(np.zeros((2, 3)))
        Traceback (most recent call last):
            ...
        parhelion.errors.TypeMismatchError: ImageParam 'image' is of type uint8; ...
        """
        buffer = image if isinstance(image, Buffer) else Buffer(image)
        if not buffer.defined():
            self.reset()
            return
        if buffer.type() is not self._sym.type:
            raise TypeMismatchError(
                f"{self._what()} is of type {self._sym.type}; the image given is "
                f"{buffer.type()}",
                at=here(),
                hint=_dtype_hint(self._sym.type),
            )
        if buffer.dimensions() != self.dimensions():
            raise TypeMismatchError(
                f"{self._what()} has {self.dimensions()} dimensions; the image given "
                f"has {buffer.dimensions()}",
                at=here(),
            )
        SET.set(self._sym, buffer)

    def get(self) -> Buffer:
        """Returns the image that was set, or an undefined Buffer."""
        given = SET.of(self._sym)
        return given if isinstance(given, Buffer) else Buffer()

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture of what is set."""
        return str(view("image")(self))

    def reset(self) -> None:
        """Forgets the image that was set."""
        SET.set(self._sym, None)

    def trace_loads(self) -> NoReturn:
        """Raises HalideError: loads of images are not traced yet."""
        raise HalideError(
            "ImageParam.trace_loads is not available yet",
            at=here(),
            hint="image.in_().compute_root().trace_loads() traces the loads of a copy",
        )

    def in_(self, f: Readers | None = None) -> Func:
        """Returns a Func with the same pixels, which `f` reads in place of the image.

        `f` is a Func or a list of Funcs; without it, all Funcs read the wrapper: see
        `Func.in_`.
        """
        return wrap_in(self._sym, f)

    __array_ufunc__ = Pointwise.__array_ufunc__
    __array_function__ = Operand.__array_function__

    def __getitem__(self, index: Any) -> Expr:
        """Returns the pixel at the given coordinates, Vars or expressions."""
        return load(self._sym, index)

    def __call__(self, *index: Any) -> Expr:
        """Returns the same as indexing."""
        return load(self._sym, index)


def _dtype_hint(type: Type) -> str:
    return f"array.astype(np.{type.to_numpy().name}) converts"
