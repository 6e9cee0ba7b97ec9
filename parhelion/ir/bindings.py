"""The arrays and numbers that images and Params stand for when a program runs.

They are kept apart from the symbols that programs consist of. An image lasts as long as
its symbol; their bytes are counted here, so that they are freed in time (`ir.images`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, ref

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
    """The Bindings that users have set; they last as long as the symbols.

    lock: held while something is set, a symbol is asked for by a weak reference, or
        the images of symbols are taken away that nothing holds.
    bytes: of the images that were there when they were last counted, and of those that
        were set since; too many rather than too few.
    """

    __slots__ = ("_known", "_relieve", "_set", "bytes", "lock", "most")

    def __init__(self) -> None:
        super().__init__()
        self._set: WeakKeyDictionary[BufferSym | ParamSym, Any] = WeakKeyDictionary()
        self.lock = threading.RLock()
        self.bytes = 0
        self.most = 0
        #: The memory that has been counted: its bytes by its address.
        self._known: dict[int, int] = {}
        self._relieve: Callable[[], None] | None = None

    def of(self, symbol: BufferSym | ParamSym) -> Any:
        return self._set.get(symbol)

    def set(self, symbol: BufferSym | ParamSym, value: Any) -> None:
        """Sets what a symbol stands for: a Buffer, a number, or None for nothing."""
        with self.lock:
            self._set[symbol] = value
            if value is not None and type(symbol) is BufferSym:
                self._add(value)
        if self.bytes > self.most and self._relieve is not None:
            self._relieve()

    def standing(self, symbol: ref[BufferSym], value: Any) -> BufferSym | None:
        """Returns a symbol that stands for `value`; None if it is gone, or is left over
        without its image because nothing held it."""
        with self.lock:
            found = symbol()
        return found if found is not None and self._set.get(found) is value else None

    def drop(self, symbols: Iterable[BufferSym]) -> list[Any]:
        """Has symbols stand for nothing, and returns what they stood for. Call it while
        the lock is held."""
        return [self._set.pop(s, None) for s in symbols]

    def relieved_by(self, relieve: Callable[[], None], most: int) -> None:
        """Has a function called when something is set and there are more than `most`
        bytes of images. It may set `most` anew."""
        self._relieve, self.most = relieve, most

    def count(self) -> int:
        """Counts the bytes of images anew, each once whatever mentions it."""
        with self.lock:
            self.bytes = 0
            self._known.clear()
            for one in self._set.keyrefs():  # made in one step: symbols may go
                symbol = one()
                if isinstance(symbol, BufferSym):
                    value = self._set.get(symbol)
                    if value is not None:
                        self._add(value)
            return self.bytes

    def _add(self, image: Any) -> None:
        address, size = image._memory()
        self.bytes += max(size - self._known.get(address, 0), 0)
        self._known[address] = size


#: What ImageParams and Params have been set to, and the Buffers that definitions
#: mention.
SET = UserBindings()

__all__ = ["SET", "Bindings"]
