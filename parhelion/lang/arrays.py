"""NumPy arrays behind Buffers: taking them from any object, and making new ones.

Here an array is in *dimension order*: its axis 0 is the Buffer's dimension 0 (x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from parhelion.errors import BoundsError, InvalidBufferError, TypeMismatchError, here
from parhelion.lang.checked import a_kind
from parhelion.lang.placed import aligned
from parhelion.runtime.layout import Array, address
from parhelion.types import BFloat, Type

#: The order in which the letters of ``axes=`` become dimensions, innermost first.
AXIS_ORDER = "xyzwctn"

INT32_MAX = 2**31 - 1

#: What to do with a masked array.
UNMASKED = (
    "array.filled(value) is an array with a value in their places, and array.data the"
    " one behind the mask; np.ma.getmaskarray(array) can be another input"
)


def array_of(source: object) -> Array:
    """The array that an object holds, without a copy.

    Takes NumPy arrays and everything with ``__array_interface__``, ``__array__``,
    the buffer protocol or DLPack. Raises TypeMismatchError for anything else (lists
    among them: they hold no array to share).
    """
    if isinstance(source, np.ndarray):
        if hides(source):
            raise TypeMismatchError(
                "a Buffer has no mask, and the array hides some of its elements by one",
                at=here(),
                hint=UNMASKED,
            )
        return source
    if isinstance(source, np.generic):
        raise TypeMismatchError(
            f"a Buffer cannot share the NumPy scalar {source!r}",
            at=here(),
            hint="use np.array(value), or hl.Buffer.make_scalar(type)",
        )
    if hasattr(source, "__dlpack__") and not hasattr(source, "__array_interface__"):
        try:
            return np.from_dlpack(source)
        except (BufferError, RuntimeError, TypeError) as error:
            if not hasattr(source, "__array__"):
                raise InvalidBufferError(
                    f"{a_kind(source)} gives no array through DLPack",
                    at=here(),
                    detail=str(error),
                ) from error
    if hasattr(source, "__array_interface__") or hasattr(source, "__array__"):
        return np.asarray(source)
    try:
        return np.asarray(memoryview(source))  # type: ignore[arg-type]
    except TypeError:
        raise TypeMismatchError(
            f"a Buffer cannot be made from {a_kind(source)}",
            at=here(),
            legal=[
                "hl.Buffer(array)",
                "hl.Buffer(hl.UInt(8), [width, height])",
                "hl.Buffer(another_buffer)",
            ],
            hint="np.array(values, dtype) makes an array of a list",
        ) from None


def hides(source: object) -> bool:
    """Whether an object is a masked array of NumPy's, some of whose elements are
    masked: a pipeline would compute with the values that lie behind them."""
    if type(source) is np.ndarray or not isinstance(source, np.ndarray):
        return False  # before NumPy loads what it has for masks
    return isinstance(source, np.ma.MaskedArray) and bool(np.ma.is_masked(source))


def pixel_type(array: Array) -> tuple[Type, Array]:
    """The type of the elements, and the array in the dtype that we keep it in.

    bfloat16 arrays (of the ml_dtypes package) are viewed as uint16. Raises
    InvalidBufferError for foreign byte order and strides that are no whole elements.
    """
    dtype = array.dtype
    if dtype.name == "bfloat16":
        return BFloat(16), array.view(np.uint16)
    if not dtype.isnative:
        raise InvalidBufferError(
            f"an array of dtype {dtype} has its bytes in foreign order",
            at=here(),
            hint="array.astype(array.dtype.newbyteorder('=')) makes a native copy",
        )
    try:
        found = Type.from_numpy(dtype)
    except TypeMismatchError as error:
        raise TypeMismatchError(error.what, at=here()) from None
    size = dtype.itemsize
    for stride, extent in zip(array.strides, array.shape, strict=True):
        if stride % size and extent > 1:
            raise InvalidBufferError(
                f"an array with strides of {array.strides} bytes cannot be addressed "
                f"in elements of {size} bytes",
                at=here(),
                hint="np.ascontiguousarray(array) makes a dense copy",
            )
    return found, array


def in_dimension_order(array: Array, reverse: bool, axes: str | None) -> Array:
    """The array with axis 0 innermost: reversed, as it is, or by the axes' letters.

    With ``axes="yxc"``, an (H, W, C) image becomes x, y, c: letters take the order
    of `AXIS_ORDER`.
    """
    if axes is None:
        return array.T if reverse else array
    return array.transpose(np.argsort(places_of(axes, array.shape)))


def places_of(axes: str, shape: tuple[int, ...]) -> list[int]:
    """The dimension that each axis of an array is, by its letter. shape: the array's,
    or the extents, for messages."""
    wrong = not isinstance(axes, str) or not set(axes) <= set(AXIS_ORDER)
    if wrong or len(set(axes)) != len(axes) or len(axes) != len(shape):
        raise TypeMismatchError(
            f"axes={axes!r} does not name the {len(shape)} axes of an array of shape "
            f"{shape}, one different letter each",
            at=here(),
            legal=[f"the letters of {AXIS_ORDER!r}, outermost axis first"],
            hint="a photograph from imageio or OpenCV is axes='yxc'",
        )
    inwards = sorted(axes, key=AXIS_ORDER.index)
    return [inwards.index(letter) for letter in axes]


def check_sizes(extents: Sequence[int], what: str) -> tuple[int, ...]:
    """Extents as ints; raises BoundsError for what no buffer can have."""
    sizes = []
    for d, e in enumerate(extents):
        try:
            n = e.__index__()
        except (AttributeError, TypeError):
            raise TypeMismatchError(
                f"the extent of dimension {d} of {what} must be an integer, not"
                f" {e!r:.60}",
                at=here(),
            ) from None
        if not 0 <= n <= INT32_MAX:
            raise BoundsError(
                f"the extent of dimension {d} of {what} is {n}"
                + (", which is negative" if n < 0 else f", more than {INT32_MAX}"),
                at=here(),
            )
        sizes.append(n)
    return tuple(sizes)


def check_same_shape(theirs: Array, mine: Array, name: str) -> None:
    """Raises BoundsError for an array that is not of the shape of Buffer `name`."""
    if theirs.ndim == mine.ndim and theirs.shape != mine.shape:
        raise BoundsError(
            f"cannot copy an array of shape {theirs.shape[::-1]} into Buffer "
            f"{name!r}, which has the shape {mine.shape[::-1]}",
            at=here(),
            hint="hl.Buffer(array) has coordinates from 0 on, and only the region "
            "that both have is copied; axes='yxc' orders the axes",
        )


def allocate(
    type: Type,
    extents: Sequence[int],
    storage_order: Sequence[int] | None = None,
    read: Sequence[int] = (),
) -> Array:
    """A new uninitialised array; dimension ``storage_order[0]`` lies innermost. read:
    the addresses of the arrays that it is computed from, if they are known."""
    order = list(range(len(extents)) if storage_order is None else storage_order)
    flat = aligned(type.to_numpy(), math.prod(extents), read)
    dense = flat.reshape([extents[d] for d in reversed(order)])
    # Axis i of `dense` is dimension order[-1 - i].
    places = [0] * len(order)
    for i, d in enumerate(reversed(order)):
        places[d] = i
    return dense.transpose(places)


def like(
    shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int] | None
) -> Array:
    """A new uninitialised array with given strides in bytes; dense without."""
    if strides is None or 0 in shape:
        return np.empty(tuple(shape), dtype)
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low = sum([min(r, 0) for r in reach])
    span = sum([abs(r) for r in reach]) + dtype.itemsize
    raw = np.empty(span, np.uint8)
    return np.ndarray(tuple(shape), dtype, raw, -low, tuple(strides))


def storage_order(array: Array) -> list[int]:
    """The dimensions from the smallest stride to the largest."""
    return sorted(
        range(array.ndim), key=lambda d: (abs(array.strides[d]), array.shape[d] > 1, d)
    )


def memory(array: Array) -> tuple[int, int]:
    """The address and the bytes of what an array keeps in memory: of all of the array
    that it is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    size = array.nbytes
    if size and array.base is not None:  # steps may be 0, or overlap
        steps = zip(array.shape, array.strides, strict=True)
        size = min(size, array.itemsize + sum([(e - 1) * abs(s) for e, s in steps]))
    return address(array), size
