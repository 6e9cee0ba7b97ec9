"""`Array`: a whole image as a value, with NumPy's operators and methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, overload

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.build import cast as cast_node
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr as Node
from parhelion.lang.convert import TypeLike
from parhelion.lang.expr import Arithmetic, Expr, wrap
from parhelion.lang.func import Func
from parhelion.shown import view
from parhelion.types import INT32, Type
from parhelion.whole import (
    assembling,
    borders,
    choosing,
    creating,
    gathering,
    indexing,
    products,
    quantiles,
    rearranging,
    reductions,
    reshaping,
)
from parhelion.whole.core import Whole, define, moved
from parhelion.whole.elementwise import OPERATIONS, cast, clip
from parhelion.whole.extents import Extent, extent
from parhelion.whole.operands import constant, operand, whole_of
from parhelion.whole.operators import ArrayLike, Operators
from parhelion.whole.promotion import FLOAT64
from parhelion.whole.reductions import Axes
from parhelion.whole.trace import shape_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What is taken of one axis.
_Part: TypeAlias = (
    "int | np.integer[Any] | slice | None | EllipsisType | Array | NDArray[Any]"
)


class Array(Operators):
    """A whole image as a value: what a function under `hl.jit` computes with.

    It has NumPy's operators, indexing, methods and functions, and no elements of its
    own: each operation says what each element will be, and all are compiled together.
    ``Array(pixels)`` makes one of a NumPy array or a Buffer, whose pixels become part
    of the program.

    axes: a letter for each axis, outermost first, such as ``"yxc"``. Arrays all of
        whose axes have names fit together by these; else axes are counted from the
        last, as in NumPy.

    Types promote as in NumPy, and Python numbers take the type of the array that they
    stand beside; where a float is needed of integers of at most 16 bits, it is a
    float32. Raises TypeMismatchError for what is no image.

    >>> a = hl.Array(np.arange(6, dtype=np.uint8).reshape(2, 3))
    >>> a * 2 + 1
    <parhelion.Array of shape (2, 3) and type uint8>
    >>> np.asarray((a * 2 + 1).func.realize([3, 2])).tolist()
    [[1, 3, 5], [7, 9, 11]]
    """

    __slots__ = ()

    def __init__(self, source: object, axes: str | None = None) -> None:
        self._whole = constant(source, axes)

    # What it is.

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents, outermost first: ints where they are known while the function is
        traced, and expressions elsewhere, which compute as Python numbers do.

        Known are extents of 0 and 1, those of constants, and of a last axis with at
        most 4 elements behind two others: the channels of a photograph.
        """
        return tuple([_size(n) for n in self._whole.shape])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._whole.rank

    @property
    def size(self) -> Any:
        """The number of elements: an int or an expression."""
        found: Any = 1
        for n in self.shape:
            found = found * n
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements, as NumPy's."""
        return self._whole.type.to_numpy()

    @property
    def type(self) -> Type:
        """The type of the elements, as the language's."""
        return self._whole.type

    @property
    def axes(self) -> str:
        """The letters of the axes, outermost first, with ``?`` for those that have no
        name."""
        return "".join([n or "?" for n in self._whole.names])

    @property
    def func(self) -> Func:
        """The Func that computes it.

        Its dimensions are the axes from the last on, but that a last axis of at most 4
        elements, behind two others, comes at the end. A second use gives the same Func.
        """
        if self._whole.func is None:
            self._whole.func = define(self._whole, "array")
        return self._whole.func

    def __repr__(self) -> str:
        shape = ", ".join([str(n) for n in shape_of(self._whole.shape, {})])
        comma = "," * (self.ndim == 1)
        named = f", axes {self.axes!r}" if any(self._whole.names) else ""
        return (
            f"<parhelion.Array of shape ({shape}{comma}) and type {self.type}{named}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture, if its pixels are known."""
        return str(view("array")(self))

    # What it has no answer to.

    def __bool__(self) -> NoReturn:
        raise TypeMismatchError(
            f"{self!r} has no truth value: its elements are known only when the"
            " function runs",
            at=here(),
            hint="hl.where(condition, a, b) chooses for each element, and hl.max(a, b)"
            " is the larger one; conditions are combined by &, | and ~; an argument"
            " that an if depends on is named in @hl.jit(static=[…])",
        )

    def _no_number(self, what: str) -> TypeMismatchError:
        return TypeMismatchError(
            f"{self!r} is no {what}: its value is known only when the function runs",
            at=here(),
            hint="an argument that must be a number while the function is traced is"
            " named in @hl.jit(static=[…]); functions of arrays are NumPy's, such as"
            " np.sqrt(a)",
        )

    def __index__(self) -> NoReturn:
        raise self._no_number("Python int")

    def __int__(self) -> NoReturn:
        raise self._no_number("Python int")

    def __float__(self) -> NoReturn:
        raise self._no_number("Python float")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeMismatchError(
            f"{self!r} cannot become a NumPy array: its elements are known only when"
            " the function runs",
            at=here(),
            hint="NumPy's functions that have no counterpart here are applied to what"
            " the function returns",
        )

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise TypeMismatchError(
            "an element of an Array is not assigned to: Arrays are values",
            at=here(),
            hint="hl.where(condition, a, b) is an array with other elements at some"
            " places; np.concatenate puts parts together",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            raise AttributeError(
                f"an Array has no {name!r}: of NumPy's arrays it has operators,"
                " indexing and the methods that help(hl.Array) lists"
            )
        raise AttributeError(f"an Array has no attribute {name!r}")

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of an Array without axes")
        known = const_int(self._whole.shape[0])
        if known is None:
            raise TypeMismatchError(
                "the length of the array is known only when the function runs",
                at=here(),
                hint="array.shape[0] is an expression of it",
            )
        return known

    def __iter__(self) -> Iterator[Array]:
        return iter([self[k] for k in range(len(self))])

    # NumPy's functions.

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Array:
        given = {name: o for name, o in options.items() if o is not None}
        if method == "reduce" and ufunc in _REDUCING:
            kept = {k: v for k, v in given.items() if k in ("axis", "keepdims")}
            _refuse(f"np.{ufunc.__name__}.reduce", given.keys() - kept.keys())
            kept.setdefault("axis", 0)
            found: Array = getattr(inputs[0], _REDUCING[ufunc])(*inputs[1:], **kept)
            return found
        if method == "__call__" and ufunc is np.matmul and not given:
            return Array._of(products.matmul(*inputs))
        if method != "__call__" or ufunc.__name__ not in OPERATIONS:
            suffix = "" if method == "__call__" else f".{method}"
            raise _unknown(f"np.{ufunc.__name__}{suffix}")
        _refuse(f"np.{ufunc.__name__}", given)
        return self._applied(ufunc.__name__, *inputs)

    def __array_function__(
        self, function: Any, _: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        name = f"np.{function.__name__}"
        method = _METHODS.get(function)
        made = _FUNCTIONS.get(function)
        if function in creating.FUNCTIONS:
            # Where elements lie is decided by what the function returns.
            named = {k: v for k, v in named.items() if k not in ("order", "device")}
            return Array._of(creating.FUNCTIONS[function](*args, **named))
        if method is None and made is None:
            raise _unknown(name)
        odd = [k for k in _REFUSED if named.get(k, np._NoValue) is not np._NoValue]
        _refuse(name, [k for k in odd if named[k] is not None])
        named = {k: v for k, v in named.items() if k not in _REFUSED}
        named.pop("a", None) if args else None
        if method is not None:
            first, *rest = args if args else (named.pop("a"),)
            return getattr(Array._of(operand(first)), method)(*rest, **named)
        assert made is not None
        return Array._of(made(*args, **named))

    # Parts, and other orders.

    @overload
    def __getitem__(self, key: _Part | tuple[_Part, ...]) -> Array: ...
    @overload
    def __getitem__(self, key: Arithmetic | tuple[Arithmetic, ...]) -> Expr: ...
    def __getitem__(self, key: Any) -> Any:
        """Returns a part: numbers, slices with steps, None and ``...`` as in NumPy.
        Numbers and the ends of slices may be made of extents: ``a[a.shape[0] // 2]``.

        Arrays and lists of integers are coordinates, as in NumPy: ``image[ys, xs]`` has
        their shape, ``rgb[..., [2, 1, 0]]`` has other channels. But those outside of
        the array are limited to its edges.

        With a Var or an expression for each axis, in the order of the axes, it is the
        value at that point, an Expr for the definition of a Func.
        """
        at = list(key) if isinstance(key, tuple) else [key]
        values = [k for k in at if isinstance(k, Arithmetic)]
        if not all([isinstance(k, Extent) for k in values]):
            return self._point(at)
        if gathering.is_gather(key):
            return Array._of(gathering.gather(self._whole, key))
        return Array._of(indexing.take(self._whole, key))

    def _point(self, at: Sequence[object]) -> Expr:
        nodes = [_coordinate(k) for k in at]
        if len(nodes) != self.ndim or None in nodes:
            raise TypeMismatchError(
                f"a point of an array of {self.ndim} axes has as many coordinates, not"
                f" {len(at)}"
                if len(nodes) != self.ndim
                else "an index has Vars for all axes, or for none",
                at=here(),
            )
        places = {self.ndim - 1 - k: n for k, n in enumerate(nodes) if n is not None}
        return wrap(moved(self._whole.value, places))

    def transpose(self, *order: Any) -> Array:
        """Returns the array with its axes in another order: of numbers or of letters,
        ``a.transpose("cyx")``; reversed, if none is given. Raises TypeMismatchError for
        what is no order of the axes."""
        listed = order[0] if len(order) == 1 else order or range(self.ndim)[::-1]
        given = [listed] if isinstance(listed, int) else list(listed)
        found = reductions.places(self._whole, given, "transpose")
        if len(found) != self.ndim:
            raise TypeMismatchError(
                f"{listed!r} is no order of {self.ndim} axes", at=here()
            )
        return Array._of(indexing.transposed(self._whole, found))

    @property
    def T(self) -> Array:
        """The array with its axes reversed."""
        return self.transpose()

    # Elements.

    def astype(self, dtype: TypeLike) -> Array:
        """Returns the array in another type: ``a.astype("float32")``, what NumPy takes
        for one, or ``hl.Float(32)``.

        Floats are truncated to integers, and integers wrap; a float that no integer of
        the type is near to has no result that can be relied on. `clip` limits first.
        """
        return Array._of(cast(self._whole, creating.type_named(dtype, FLOAT64)))

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
        """Returns the array limited to a range; either end may be None."""
        low = None if min is None else operand(min)
        high = None if max is None else operand(max)
        return Array._of(clip(self._whole, low, high))

    def round(self, decimals: int = 0) -> Array:
        """Returns the array rounded to that many digits after the point, to the even
        one of two."""
        whole = self.type.is_int_or_uint()
        if whole and decimals >= 0:
            return self
        if decimals == 0:
            return self._applied("rint", self)
        factor = 10.0 ** abs(decimals)
        if decimals > 0:
            return self._applied("rint", self * factor) / factor
        rounded = self._applied("rint", self / factor) * factor
        return rounded.astype(self.type) if whole else rounded

    def reshape(self, *shape: Any) -> Array:
        """Returns the same elements, in NumPy's order, in another shape, in which -1
        stands for the extent that is left: ``a.reshape(-1, 3)``.

        Extents may be made of those of arrays: of ``h, w = a.shape``,
        ``a.reshape(h // 2, 2, w // 2, 2).mean((1, 3))`` has the means of 2 by 2. Raises
        BoundsError for another number of elements.

        >>> a = hl.Array(np.arange(6, dtype=np.uint8))
        >>> np.asarray(a.reshape(2, -1).func.realize([3, 2])).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
        listed = shape[0] if len(shape) == 1 else shape
        return Array._of(reshaping.reshape(self._whole, listed))

    def ravel(self) -> Array:
        """Returns all elements in a row, in NumPy's order."""
        return Array._of(reshaping.ravel(self._whole))

    def flatten(self) -> Array:
        """Returns all elements in a row, as `ravel`."""
        return self.ravel()

    def pad(
        self,
        pad_width: Any,
        mode: str = "constant",
        constant_values: ArrayLike = 0,
    ) -> Array:
        """Returns a larger array, with more elements at the edges.

        pad_width: as of `numpy.pad`: a number, a pair (before, after) for all axes, or
            a pair for each axis; or a dict of these by letters.
        mode: "constant", "edge", "reflect", "symmetric" or "wrap", as in NumPy, or the
            name of a function of `hl.BoundaryConditions`.

        Raises TypeMismatchError for other widths and modes.

        >>> a = hl.Array(np.array([1, 2, 3], np.int32))
        >>> np.asarray(a.pad(1, "edge").func.realize([5])).tolist()
        [1, 1, 2, 3, 3]
        """
        widths = _widths(self._whole, pad_width)
        fill = operand(constant_values)
        return Array._of(borders.pad(self._whole, widths, mode, fill))

    def shift(
        self,
        shift: int | Sequence[int],
        axis: Axes = None,
        border: str = "edge",
        value: ArrayLike = 0,
    ) -> Array:
        """Returns an array of the same shape with its elements moved.

        Element ``i`` comes from ``i - shift``, as of `numpy.roll`, which is
        ``border="wrap"``.

        shift: how far, or a number for each of the axes.
        axis: numbers or letters of axes; all of them, one number of `shift` each, if it
            is None.
        border: what comes in from outside, by the names of `pad`. value: that of
            "constant".

        Raises TypeMismatchError for distances that are not as many as the axes.

        >>> a = hl.Array(np.array([1, 2, 3], np.int32))
        >>> np.asarray(a.shift(1).func.realize([3])).tolist()
        [1, 1, 2]
        """
        over = reductions.places(self._whole, axis, "shift")
        by = [shift] * len(over) if isinstance(shift, int) else list(shift)
        if len(by) != len(over):
            raise TypeMismatchError(
                f"shift is given {len(by)} distances for {len(over)} axes", at=here()
            )
        moves = dict(zip(over, by, strict=True))
        fill = operand(value)
        return Array._of(borders.shift(self._whole, moves, border, fill))

    # Reductions.

    def sum(self, axis: Axes = None, keepdims: bool = False) -> Array:
        """Returns the sum over axes, given by numbers or letters; over all, if none is
        given. Sums of integers have 64 bits, as NumPy's.

        keepdims: whether the axes stay, with one element each.
        """
        return self._reduced("sum", axis, keepdims)

    def prod(self, axis: Axes = None, keepdims: bool = False) -> Array:
        """Returns the product over axes, as `sum`."""
        return self._reduced("prod", axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Array:
        """Returns the greatest element along axes, as `sum`; NaN if there is one."""
        return self._reduced("max", axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Array:
        """Returns the least element along axes, as `sum`; NaN if there is one."""
        return self._reduced("min", axis, keepdims)

    def any(self, axis: Axes = None, keepdims: bool = False) -> Array:
        """Returns whether an element is not 0, as `sum`."""
        return self._reduced("any", axis, keepdims)

    def all(self, axis: Axes = None, keepdims: bool = False) -> Array:
        """Returns whether no element is 0, as `sum`."""
        return self._reduced("all", axis, keepdims)

    def mean(self, axis: Axes = None, keepdims: bool = False) -> Array:
        """Returns the mean over axes, as `sum`: a float32 for integers of at most 16
        bits, a float64 for others, and the own type of floats."""
        return Array._of(reductions.mean(self._whole, axis, keepdims))

    def var(self, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Array:
        """Returns the variance over axes, in the type of `mean`: the squares of what
        the elements are from their mean, divided by their number less `ddof`."""
        return Array._of(reductions.variance(self._whole, axis, keepdims, ddof))

    def std(self, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Array:
        """Returns the standard deviation over axes: the root of `var`."""
        return self._applied("sqrt", self.var(axis, ddof, keepdims))

    def argmax(self, axis: int | str | None = None, keepdims: bool = False) -> Array:
        """Returns the place of the first of the greatest elements along an axis, an
        int64; in the order of all elements, if none is given."""
        return Array._of(choosing.argmax(self._whole, axis, keepdims))

    def argmin(self, axis: int | str | None = None, keepdims: bool = False) -> Array:
        """Returns the place of the first of the least elements, as `argmax`."""
        return Array._of(choosing.argmin(self._whole, axis, keepdims))

    def dot(self, b: ArrayLike) -> Array:
        """Returns the product with a vector, a matrix or a number, as `numpy.dot`."""
        return Array._of(products.dot(self._whole, b))

    def repeat(self, repeats: int, axis: int | str | None = None) -> Array:
        """Returns each element so often along an axis, as `numpy.repeat`."""
        return Array._of(rearranging.repeat(self._whole, repeats, axis))

    def _reduced(self, kind: str, axis: Axes, keepdims: bool) -> Array:
        return Array._of(reductions.reduce(kind, self._whole, axis, keepdims))


#: Functions of NumPy's that are methods here.
_METHODS: dict[Any, str] = {
    **{getattr(np, n): n for n in ("sum", "prod", "max", "min", "any", "all")},
    **{getattr(np, n): n for n in ("mean", "var", "std", "clip", "pad", "round")},
    np.amax: "max",
    np.amin: "min",
    np.around: "round",
    np.transpose: "transpose",
}
_FUNCTIONS = {
    **assembling.FUNCTIONS,
    **rearranging.FUNCTIONS,
    **products.FUNCTIONS,
    **choosing.FUNCTIONS,
    **quantiles.FUNCTIONS,
}
_REDUCING: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}
#: Options of NumPy's functions that have no meaning here.
_REFUSED = ("out", "dtype", "where", "initial", "order", "casting", "subok")


def _refuse(name: str, options: Iterable[str]) -> None:
    listed = sorted(options)
    if listed:
        raise TypeMismatchError(
            f"{name} of an Array takes no {listed[0]}=",
            at=here(),
            hint="astype gives the result another type"
            if listed[0] == "dtype"
            else "Arrays are values: the result is what the function returns",
        )


def _unknown(name: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"{name} has no counterpart for Arrays",
        at=here(),
        hint="docs/arrays.md lists what has; NumPy's own is applied to what the"
        " function under hl.jit returns",
    )


def _size(n: Node) -> Any:
    known = const_int(n)
    return extent(n) if known is None else known


def _coordinate(given: object) -> Node | None:
    found = whole_of(given)
    if found is None and isinstance(given, Arithmetic):
        return cast_node(INT32, given._node)
    return None if found is None else cast_node(INT32, found.value)


def _widths(whole: Whole, given: Any) -> dict[int, tuple[int, int]]:
    """The widths of `pad` by the places of axes."""
    if isinstance(given, dict):
        return {
            place: _pair(pair)
            for axis, pair in given.items()
            for place in reductions.places(whole, axis, "pad")
        }
    try:
        table = np.broadcast_to(np.asarray(given), (whole.rank, 2))
    except (TypeError, ValueError):
        table = None
    if table is None or (table.size and table.dtype.kind not in "iu"):
        raise _wrong_widths(given)
    return {a: (int(table[a, 0]), int(table[a, 1])) for a in range(whole.rank)}


def _pair(given: Any) -> tuple[int, int]:
    pair = np.asarray(given)
    if pair.dtype.kind not in "iu" or pair.shape not in ((), (1,), (2,)):
        raise _wrong_widths(given)
    before, after = np.broadcast_to(pair, 2).tolist()
    return before, after


def _wrong_widths(given: object) -> TypeMismatchError:
    return TypeMismatchError(
        f"pad takes widths, and {given!r:.60} are none",
        at=here(),
        legal=["2", "(1, 2)", "((1, 1), (2, 2))", "{'y': (1, 1)}"],
    )


__all__ = ["Array", "ArrayLike"]
