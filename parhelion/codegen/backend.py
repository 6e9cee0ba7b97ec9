"""What a kind of code has of its own, beside what is the same for all: a back end.

A `Backend` has tables: emitters of expressions and intrinsics, writers of statements,
the memories that storage can be in, and the functions of the run time that its code may
call. An `LLVMBackend` is that of a family of machines, for which general emitters write
text of LLVM's; what is in its own tables is asked first. Whoever adds a back end
describes it by a value, and adds that to `backends.BACKENDS`. The description names the
modules of its tables and loads none of them, as the run time asks for it in processes
that compile nothing; `tables.Tables` loads them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from parhelion.dataclass import dataclass
from parhelion.ir.target import Target

if TYPE_CHECKING:
    from parhelion.codegen.storage import Memory
    from parhelion.codegen.writer import Function
    from parhelion.ir.expr import Expr
    from parhelion.ir.stmt import Stmt

#: A function that is being written, and how it says a value.
F = TypeVar("F")
V = TypeVar("V")
#: What its code says of a function of the run time that it calls.
R = TypeVar("R")

#: Writes an expression, or is None for one that it leaves to the next emitter.
Emitter: TypeAlias = "Callable[[F, Any], V | None]"

#: Emits a node by an instruction of the machine's; None if it has none for it.
Attempt = Callable[["Function", Any], str | None]

#: Writes a statement.
Writer: TypeAlias = "Callable[[F, Any], None]"

#: What an emitter is for: a class of nodes, the name of an intrinsic, or one of these.
Key: TypeAlias = "type[Expr] | str"
#: Of loads whose lanes lie anywhere, asked for in their form in memory; and of loads
#: under a mask, which give zero for lanes that it does not have.
GATHER = "a load of lanes that lie anywhere"
MASKED_GATHER = "a load of some lanes that lie anywhere"

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


@dataclass(frozen=True, slots=True)
class Symbol:
    """The declaration of a function of the run time, in parts.

    rare: whether it is called by the convention of what is seldom more than a look at a
        word (`LLVMBackend.rare_call`).
    """

    result: str
    parameters: str = ""
    attributes: str = ""
    rare: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Backend(Generic[F, V, R]):
    """A kind of code.

    name: in words. families: how the first parts of its targets' triples begin.
    emitters: the module with the `EMITTERS` by what they are for, in the order in which
        they are asked, if it has any.
    storage: the module with the `MEMORIES` that storage can be in, in the order in
        which they are asked.
    statements: the module with the `STATEMENTS` by their class, if it has any.
    symbols: the module with the `SYMBOLS`: what its code says of each function of the
        run time that it may call, by name. Empty if it calls none.

    What is not in a table is the same for all machines, or cannot be said in this code.
    """

    name: str
    families: tuple[str, ...]
    emitters: str = ""
    storage: str = ""
    statements: str = ""
    symbols: str = ""

    def serves(self, arch: str) -> bool:
        """Whether targets whose triples have this first part have code of this kind."""
        return arch.startswith(self.families)

    # The tables, whose modules are loaded now.
    def all_emitters(self) -> Mapping[Key, tuple[Emitter[F, V], ...]]:
        found: Mapping[Key, tuple[Emitter[F, V], ...]]
        found = _table(self.emitters, "EMITTERS")
        return found

    def all_statements(self) -> Mapping[type[Stmt], Writer[F]]:
        found: Mapping[type[Stmt], Writer[F]] = _table(self.statements, "STATEMENTS")
        return found

    def all_memories(self) -> tuple[Memory[F], ...]:
        found: tuple[Memory[F], ...] = tuple(_table(self.storage, "MEMORIES"))
        return found

    def all_symbols(self) -> Mapping[str, R]:
        found: Mapping[str, R] = _table(self.symbols, "SYMBOLS")
        return found


def _table(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name) if module else {}


@dataclass(frozen=True, slots=True, eq=False)
class LLVMBackend(Backend["Function", str, Symbol]):
    """A family of machines that LLVM makes code for.

    word: the type that loops over int32 count in, and that factors of indices are
        computed in: that of addresses, where there are registers of that width.
    rare_call: the calling convention of what is seldom more than a look at a word, so
        that registers are saved where it is and not where it is called from.
    pause: what a thread does that waits for another in a loop. fence: what makes stores
        past the caches visible to others, if that is not so by itself.
    longest_step: the longest step between elements of so many bits that is loaded
        densely, and not lane by lane.
    generic_pointers: whether LLVM infers which memory a pointer is into, so that it
        must see what the pointer is computed from.
    """

    storage: str = "parhelion.codegen.memories"
    symbols: str = "parhelion.codegen.symbols"
    word: str = "i64"
    rare_call: str = "ccc"
    pause: Instruction | None = None
    fence: Instruction | None = None
    longest_step: Callable[[Target, int], int] = _short_steps
    generic_pointers: bool = False


__all__ = [
    "GATHER",
    "MASKED_GATHER",
    "SHORT_STEP",
    "Attempt",
    "Backend",
    "Emitter",
    "Instruction",
    "Key",
    "LLVMBackend",
    "Symbol",
    "Writer",
]
