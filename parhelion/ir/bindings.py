"""The arrays and numbers that images and Params stand for when a program runs.

They are kept apart from the symbols that programs consist of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from parhelion.ir.symbols import BufferSym, ParamSym

_NOTHING: Mapping[BufferSym | ParamSym, Any] = {}


class Bindings:
    """The Buffers of images and the numbers of Params.

    given: some of them.
    beyond: the Bindings in which all others are looked up.
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
        """Returns what a symbol stands for; None if nothing."""
        found = self._given.get(symbol)
        if found is None and self._beyond is not None:
            return self._beyond.of(symbol)
        return found


class UserBindings(Bindings):
    """The Bindings that users have set; they last as long as the symbols."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        super().__init__()
        self._set: WeakKeyDictionary[BufferSym | ParamSym, Any] = WeakKeyDictionary()

    def of(self, symbol: BufferSym | ParamSym) -> Any:
        return self._set.get(symbol)

    def set(self, symbol: BufferSym | ParamSym, value: Any) -> None:
        """Sets what a symbol stands for: a Buffer, a number, or None for nothing."""
        self._set[symbol] = value


#: What ImageParams and Params have been set to, and the Buffers that definitions
#: mention.
SET = UserBindings()

__all__ = ["SET", "Bindings"]
