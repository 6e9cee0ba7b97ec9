"""Foreign functions that C text calls."""

from __future__ import annotations

from parhelion.codegen.c.support import HELPER
from parhelion.codegen.c.text import Text
from parhelion.errors import HalideError, here
from parhelion.ir import expr as E
from parhelion.ir.externs import known_as


def foreign_name(f: Text, e: E.Extern) -> str:
    """What C calls a foreign function. Raises HalideError where it cannot."""
    name = known_as(e.name)
    if name == "function":
        raise HalideError(
            "a C function that was given by its address has no name to call it by",
            at=here(),
            hint="give its name, or a function of a ctypes library",
        )
    if f.tables.calls(name) or HELPER.fullmatch(name):
        raise HalideError(
            f"the C function {name!r} has the name of one that C text has of its own",
            at=here(),
        )
    return name


def is_own(f: Text, name: str) -> bool:
    """Whether C text has a function of its own by this name."""
    return f.tables.calls(name) or HELPER.fullmatch(name) is not None


__all__ = ["foreign_name", "is_own"]
