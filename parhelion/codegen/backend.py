"""What a family of machines has of its own, beside code that is the same for all.

General emitters write each node for any machine. A back end knows better for some: its
`attempts` are asked first, and may leave a node to the general emitter. Whoever adds a
family of machines describes it as a `Backend`, and adds it to `backends.BACKENDS`. The
description loads no emitters, as the run time asks for it in processes that compile
nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from parhelion.ir.target import Target

if TYPE_CHECKING:
    from parhelion.codegen.memories import Memory
    from parhelion.codegen.writer import Function
    from parhelion.ir.expr import Expr
    from parhelion.ir.stmt import Stmt

#: Emits a node by an instruction of the machine's; None if it has none for it.
Attempt = Callable[["Function", Any], str | None]

#: Writes a statement.
Writer = Callable[["Function", Any], None]

#: What an attempt is for: a class of nodes, the name of an intrinsic, or `GATHER`.
Key: TypeAlias = "type[Expr] | str"
#: Of loads whose lanes lie anywhere, which are asked for in their form in memory.
GATHER = "a load of lanes that lie anywhere"

#: Steps between elements up to which vectors are loaded densely everywhere.
SHORT_STEP = 4


def _short_steps(target: Target, bits: int) -> int:
    return SHORT_STEP


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """A function of LLVM's that stands for an instruction without a result.

    parameters, arguments: as they stand in its declaration and in a call.
    """

    name: str
    parameters: str = ""
    arguments: str = ""

    @property
    def declaration(self) -> str:
        return f"declare void @{self.name}({self.parameters})"

    @property
    def call(self) -> str:
        return f"call void @{self.name}({self.arguments})"


@dataclass(frozen=True, slots=True, eq=False)
class Backend:
    """A family of machines.

    name: in words. families: how the first parts of their triples begin.
    emitters: the module with the `ATTEMPTS` by what they are for, in the order in which
        they are asked, if it has any.
    storage: the module with the `MEMORIES` that storage can be in, in the order in
        which they are asked.
    statements: the module with the `STATEMENTS` that are written otherwise than
        elsewhere, by their class, if there are any.
    word: the type that loops over int32 count in, and that factors of indices are
        computed in: that of addresses, where there are registers of that width.
    rare_call: the calling convention of what is seldom more than a look at a word, so
        that registers are saved where it is and not where it is called from.
    pause: what a thread does that waits for another in a loop. fence: what makes stores
        past the caches visible to others, if that is not so by itself.
    longest_step: the longest step between elements of so many bits that is loaded
        densely, and not lane by lane.
    """

    name: str
    families: tuple[str, ...]
    emitters: str = ""
    storage: str = "parhelion.codegen.memories"
    statements: str = ""
    word: str = "i64"
    rare_call: str = "ccc"
    pause: Instruction | None = None
    fence: Instruction | None = None
    longest_step: Callable[[Target, int], int] = _short_steps

    def serves(self, arch: str) -> bool:
        """Whether machines whose triples have this first part are of the family."""
        return arch.startswith(self.families)

    def attempts(self) -> Mapping[Key, tuple[Attempt, ...]]:
        """The attempts, whose module is loaded now."""
        if not self.emitters:
            return {}
        found: Mapping[Key, tuple[Attempt, ...]]
        found = importlib.import_module(self.emitters).ATTEMPTS
        return found

    def statement_writers(self) -> Mapping[type[Stmt], Writer]:
        """The `statements`, whose module is loaded now."""
        if not self.statements:
            return {}
        found: Mapping[type[Stmt], Writer]
        found = importlib.import_module(self.statements).STATEMENTS
        return found

    def memories(self) -> tuple[Memory, ...]:
        """The memories, whose module is loaded now."""
        found: tuple[Memory, ...] = importlib.import_module(self.storage).MEMORIES
        return found


__all__ = [
    "GATHER",
    "SHORT_STEP",
    "Attempt",
    "Backend",
    "Instruction",
    "Key",
    "Writer",
]
