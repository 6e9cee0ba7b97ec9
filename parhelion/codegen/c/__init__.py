"""C text, which any C compiler makes code of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parhelion.codegen.backend import Backend

if TYPE_CHECKING:
    from parhelion.codegen.c.text import Text, Value

#: What stands for C in the place of a machine.
ARCH = "c11"

C: Backend[Text, Value, str] = Backend(
    "C",
    (ARCH,),
    "parhelion.codegen.c.emitters",
    "parhelion.codegen.c.memories",
    "parhelion.codegen.c.statements",
    "parhelion.codegen.c.symbols",
)

__all__ = ["ARCH", "C"]
