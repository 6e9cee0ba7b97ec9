"""Images in expressions: pixels at coordinates, and arithmetic on whole images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import ImageLoad
from parhelion.ir.symbols import BufferSym
from parhelion.lang.expr import Arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from parhelion.lang.expr import Expr

_T = TypeVar("_T", bound=type)

#: The operators of two operands that NumPy has too, without their reflected forms.
_BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("and", "or", "xor", "lshift", "rshift"),
)
_ORDER = ("lt", "le", "gt", "ge")


def is_symbolic(index: object) -> bool:
    """Whether an index holds anything but whole numbers."""
    if isinstance(index, tuple | list):
        return any([type(i) is not int and not _is_whole(i) for i in index])
    return type(index) is not int and not _is_whole(index)


def _is_whole(x: object) -> bool:
    # Operands have an ``__index__`` too, but only to raise a clear error.
    return hasattr(type(x), "__index__") and not hasattr(type(x), "_node")


def load(image: BufferSym, index: object) -> Expr:
    """The pixel of `image` at `index`: a value, or several in a tuple or list, with
    ``hl._`` for all dimensions that are left."""
    from parhelion.lang.expr import wrap
    from parhelion.lang.ref import as_indices, index_nodes

    nodes = index_nodes(as_indices(index), len(image.dims), f"image {image.name!r}")
    return wrap(ImageLoad(image.type, image, nodes))


class Pointwise(Arithmetic):
    """Arithmetic on an image without indices, point by point: ``hl.Func(image + 1)``
    is the Func whose value at every point is one more than the image's there, as with
    an undecorated Func."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError

    @property
    def _node(self) -> Node:
        from parhelion.lang.var import Var

        return self[Var("_")]._node  # type: ignore[no-any-return]


def numpy_first(cls: _T) -> _T:
    """Makes the operators of a `Pointwise` class leave NumPy's operands to NumPy:
    ``buffer - array`` is an array, as ``array - buffer`` is."""
    names = [f"__{r}{n}__" for n in _BINARY for r in ("", "r")]
    for name in names + [f"__{n}__" for n in _ORDER]:
        setattr(cls, name, _leaving_numpy(getattr(cls, name)))
    return cls


def _leaving_numpy(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def leaving(self: Any, other: Any) -> Any:
        if isinstance(other, np.ndarray | np.generic):
            return NotImplemented
        return operator(self, other)

    leaving.__name__, leaving.__doc__ = operator.__name__, operator.__doc__
    return leaving
