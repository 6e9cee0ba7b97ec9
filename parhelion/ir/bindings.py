"""What images and Params stand for when a program runs: arrays and numbers, apart from
the symbols that programs are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from parhelion.ir.symbols import BufferSym, ParamSym

_NOTHING: Mapping[BufferSym | ParamSym, Any] = {}


class Bindings:
    """The Buffer of each image, and the number of each Param, that have one.

    given: some of them. beyond: where all others are looked up.
    """

    __slots__ = ("_beyond", "_given")

    def __init__(
        self,
        given: Mapping[BufferSym | ParamSym, Any] = _NOTHING,
        beyond: Bindings | None = None,
    ) -> None:
        self._given = dict(given)
        self._beyond = beyond

    def of(self, symbol: BufferSym | ParamSym) -> Any:
        """What a symbol stands for; None for nothing."""
        found = self._given.get(symbol)
        if found is None and self._beyond is not None:
            return self._beyond.of(symbol)
        return found


class UserBindings(Bindings):
    """What users have set, as long as the symbols are there."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        super().__init__()
        self._set: WeakKeyDictionary[BufferSym | ParamSym, Any] = WeakKeyDictionary()

    def of(self, symbol: BufferSym | ParamSym) -> Any:
        return self._set.get(symbol)

    def set(self, symbol: BufferSym | ParamSym, value: Any) -> None:
        """Has a symbol stand for a Buffer or a number; for nothing if it is None."""
        self._set[symbol] = value


#: What ImageParams and Params have been set to, and the Buffers that definitions
#: mention.
SET = UserBindings()

__all__ = ["SET", "Bindings"]
