"""Vars as indices of NumPy arrays, `photo[x, y]`: refused with the line and the remedy.

NumPy asks an index for ``__index__`` and, whatever that raises, for ``__array__``. It
asks elements of a list for the latter, too, when it makes an array of objects, which
stays legal: so the question is refused from inside of a subscript alone.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import Any

from parhelion.errors import TypeMismatchError, here


def refuse_subscript(operand: Any) -> None:
    """Raise TypeMismatchError if the user's line uses an operand as an index."""
    site = here()
    if site is not None and site.frame is not None and _is_subscript(*site.frame):
        raise TypeMismatchError(
            f"{operand!r} cannot index a NumPy array: its value is known only when the "
            "pipeline runs",
            at=site,
            hint='make an image of the array, image = hl.Buffer(array), or axes="yxc" '
            "with it for rows, columns and channels; then image[x, y] has its pixels",
        )


def _is_subscript(code: CodeType, at: int) -> bool:
    """Whether a program is at an instruction ``a[b]`` or ``a[b] = c``."""
    if at < 0:
        return False
    name = dis.opname[code.co_code[at]]
    if name == "BINARY_OP" and sys.version_info >= (3, 14):
        # Since Python 3.14 a subscript is one of the binary operations.
        return str(dis._nb_ops[code.co_code[at + 1]][0]) == "NB_SUBSCR"  # type: ignore[attr-defined]
    return name in ("BINARY_SUBSCR", "STORE_SUBSCR")


__all__ = ["refuse_subscript"]
