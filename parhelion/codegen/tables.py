"""The tables of a back end, loaded, as code that is being written asks them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic

from parhelion.codegen.backend import Backend, F, Key, R, V, Writer
from parhelion.errors import InternalError
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.stmt import Stmt

_NONE: Mapping[Any, Any] = MappingProxyType({})


class Tables(Generic[F, V, R]):
    """The tables of a back end."""

    def __init__(self, backend: Backend[F, V, R]) -> None:
        self.backend = backend
        self._emitters = backend.all_emitters()
        self._statements = backend.all_statements()
        self._memories = backend.all_memories()
        #: What code says of each function of the run time that it may call, by name.
        self.symbols = backend.all_symbols()

    def emit(self, key: Key, f: F, e: Expr) -> V | None:
        """What the first emitter gives that takes an expression; None if none does."""
        for one in self._emitters.get(key, ()):
            found = one(f, e)
            if found is not None:
                return found
        return None

    def writer(
        self, kind: type[Stmt], general: Mapping[type[Stmt], Writer[F]] = _NONE
    ) -> Writer[F]:
        """What writes statements of a class. general: those of several back ends.
        Raises InternalError for what passes were to make other statements of."""
        found = self._statements.get(kind) or general.get(kind)
        if found is None:
            raise InternalError(f"code for {self.backend.name} has no {kind.__name__}")
        return found

    def allocate(self, f: F, s: S.Allocate, size: int | None) -> None:
        """Writes an allocation. size: as for `Memory.takes`. Raises InternalError if no
        memory takes it, which a pass was to see to."""
        for memory in self._memories:
            if memory.takes(f, s, size):
                memory.allocate(f, s, size)
                return
        raise InternalError(
            f"{self.backend.name} has no memory of the kind {s.kind.value!r}"
        )

    def calls(self, name: str) -> bool:
        """Whether the run time has a function of that name for this code."""
        return name in self.symbols

    def symbol(self, name: str) -> R:
        """What code says of a function of the run time. Raises InternalError for one
        that it cannot call."""
        found = self.symbols.get(name)
        if found is None:
            raise InternalError(f"code for {self.backend.name} cannot call {name}")
        return found


__all__ = ["Tables"]
