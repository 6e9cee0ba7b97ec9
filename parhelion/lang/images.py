"""Reading an image at coordinates that are expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parhelion.ir.expr import ImageLoad
from parhelion.ir.symbols import BufferSym

if TYPE_CHECKING:
    from parhelion.lang.expr import Expr


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
