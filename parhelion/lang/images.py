"""Reading an image at coordinates that are expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.build import cast
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import ImageLoad
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32

if TYPE_CHECKING:
    from parhelion.lang.expr import Expr


def is_symbolic(index: object) -> bool:
    """Whether an index holds anything but whole numbers."""
    if isinstance(index, tuple | list):
        return any(not isinstance(i, SupportsIndex) or _is_operand(i) for i in index)
    return not isinstance(index, SupportsIndex) or _is_operand(index)


def _is_operand(x: object) -> bool:
    # Operands have an ``__index__`` only to raise a clear error.
    return hasattr(type(x), "_node") or hasattr(x, "_var")


def coordinate(value: object, image: BufferSym, d: int) -> Node:
    """One index of an image as an int32 node."""
    from parhelion.lang.convert import node_of

    node = node_of(value)
    if not node.type.is_int_or_uint() or not INT32.can_represent(node.type):
        raise TypeMismatchError(
            f"index {d} of {image.name!r} is of type {node.type}; an index must be "
            "an integer that fits int32",
            at=here(),
            hint="hl.i32(value) converts",
        )
    return cast(INT32, node)


def load(image: BufferSym, index: object) -> Expr:
    """The pixel of `image` at `index`, a value or a tuple or list of them."""
    from parhelion.lang.expr import wrap

    given = tuple(index) if isinstance(index, tuple | list) else (index,)
    if len(given) != len(image.dims):
        raise TypeMismatchError(
            f"{image.name!r} has {len(image.dims)} dimensions; it is read with "
            f"{len(given)} indices",
            at=here(),
        )
    nodes = tuple(coordinate(v, image, d) for d, v in enumerate(given))
    return wrap(ImageLoad(image.type, image, nodes))
