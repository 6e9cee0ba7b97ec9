"""The cache of memoized Funcs: what compiled code asks it, and what users may set.

An entry holds the storage of all values of one production of a Func. Compiled code
finds it by a key (the program, the region, the parameters that the Func depends on),
uses it in place of storage of its own, and gives it back: entries are counted, and one
that is dropped while a pipeline uses it lives until that pipeline is done.

Entries leave in the order of their last use when all together are larger than the
limit, or by their eviction key. One lock guards it all; it is never held while a Func
is computed, so several threads that miss at once all compute, and the first one's entry
stays.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import OrderedDict
from collections.abc import MutableSequence
from dataclasses import field
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, here
from parhelion.runtime.after_fork import DATA, freed_by_forks
from parhelion.runtime.threads import python_function

#: Halide's: a megabyte.
DEFAULT_SIZE = 1 << 20
_ALIGN = 64

#: What compiled code is told (see `codegen.memo`); 0 is told by nobody.
_NOTHING, _FOUND, _NEW = -1, 1, 2


@dataclass(eq=False, slots=True)
class _Entry:
    """uses: how many buffers of running pipelines are in it. kept: whether the cache
    finds it."""

    key: bytes
    memory: Any
    addresses: list[int]
    bytes: int
    eviction: int | None
    uses: int
    kept: bool = False


@dataclass(slots=True)
class MemoStatistics:
    """What the cache of memoized Funcs has done since the process began.

    hits, misses: how often a result was found there, and how often not.
    evictions: how many results were dropped.
    entries, bytes: how many results it holds now, and their size in bytes.

    >>> hl.memoization_cache_statistics().bytes >= 0
    True
    """

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    entries: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _Cache:
    limit: int = DEFAULT_SIZE
    entries: OrderedDict[bytes, _Entry] = field(default_factory=OrderedDict)
    #: The entries in use, by the address of each of their buffers.
    used: dict[int, _Entry] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)
    told: MemoStatistics = field(default_factory=MemoStatistics)

    # The handler of a signal may raise in the main thread at calls, and where loops go
    # back. What counts is done in one step, between two of these; the method is called
    # again if it was left, and then does what is left to do.

    def find(
        self,
        key: bytes,
        sizes: list[int],
        eviction: int | None,
        answer: MutableSequence[int],
    ) -> None:
        """Puts the addresses of an entry's buffers into `answer`, and whether it was
        found.

        A new entry is made if there is none for the key. Does nothing if `answer` is
        filled.
        """
        with self.lock:
            if answer[len(sizes)]:
                return
            entry = self.entries.get(key)
            found = entry is not None
            if entry is None:
                entry = _made(key, sizes, eviction)
            uses = dict.fromkeys(entry.addresses, entry)
            count = len(sizes)
            told = [*entry.addresses, _FOUND if found else _NEW]
            if found:
                self.entries.move_to_end(key)
            # One step from here.
            self.used |= uses
            entry.uses += count
            answer[:] = told
            self.told.hits += found
            self.told.misses += not found

    def store(self, address: int) -> None:
        """The production of an entry is complete. Does nothing the second time."""
        with self.lock:
            entry = self.used[address]
            if entry.key not in self.entries:  # else another thread was faster
                self.entries[entry.key] = entry
                entry.kept = True
                self.told.bytes += entry.bytes
            self.trim()

    def release(self, address: int, counted: ctypes.c_int64) -> None:
        """Gives one use of an entry back."""
        with self.lock:
            entry = self.used.get(address)
            if entry is None:
                return  # all is done
            if not counted.value:
                counted.value = 1
                entry.uses -= 1
            self.forget(entry, address)

    def forget(self, entry: _Entry, last: int) -> None:
        """Removes an entry without uses from `used`, the address `last` after all
        others."""
        if entry.uses == 0:
            for one in entry.addresses:
                if one != last:
                    self.used.pop(one, None)
            self.used.pop(last, None)

    def drop(self, entry: _Entry) -> None:
        del self.entries[entry.key]
        entry.kept = False
        self.told.evictions += 1
        self.told.bytes -= entry.bytes

    def trim(self) -> None:
        """Drops what was used longest ago until the rest is within the limit."""
        while self.told.bytes > self.limit and self.entries:
            self.drop(next(iter(self.entries.values())))


def _made(key: bytes, sizes: list[int], eviction: int | None) -> _Entry:
    starts: list[int] = []
    top = 0
    for size in sizes:
        starts.append(top)
        top += (max(size, 1) + _ALIGN - 1) // _ALIGN * _ALIGN
    memory = ctypes.create_string_buffer(top + _ALIGN)
    base = ctypes.addressof(memory)
    base += -base % _ALIGN
    return _Entry(key, memory, [base + s for s in starts], top, eviction, 0)


_CACHE = _Cache()
freed_by_forks(_CACHE.lock, DATA)


def _find(given: int) -> None:
    """Tells compiled code what there is (see `codegen.memo`)."""
    key, words, sizes, count, eviction, evicts, out = _words(given, 7)
    answer = _words(out, count + 1)
    try:
        asked = list(_words(sizes, count))
        told = ctypes.string_at(key, 8 * words)
        _CACHE.find(told, asked, eviction if evicts else None, answer)
    except MemoryError:
        answer[count] = _NOTHING


def _store(given: int) -> None:
    (address,) = _words(given, 1)
    _CACHE.store(address)


def _release(given: int) -> None:
    (address,) = _words(given, 1)
    _CACHE.release(address, ctypes.c_int64.from_address(given + 8))


def _words(address: int, count: int) -> Any:
    """Words of 64 bits at an address, as an array."""
    return (ctypes.c_int64 * count).from_address(address)


def symbols() -> dict[str, int]:
    """The Python functions that compiled code calls, again if one was interrupted."""
    return {
        "ph_memo_find": python_function(_find),
        "ph_memo_store": python_function(_store),
        "ph_memo_release": python_function(_release),
    }


def hold(address: int, owner: Any) -> None:
    """Keeps the storage with that address while `owner` lives, if it is a memoized
    Func's that some run uses."""
    with _CACHE.lock:
        for entry in {id(e): e for e in _CACHE.used.values()}.values():
            if 0 <= address - entry.addresses[0] < entry.bytes:
                weakref.finalize(owner, id, entry.memory).atexit = False


# What users may do.


def memoization_cache_set_size(size: int) -> None:
    """Sets how many bytes the results of memoized Funcs may take in all.

    0 goes back to the default, 1 MiB. Results beyond that are dropped, the one first
    that was not used for longest. Raises BoundsError for what is no number of bytes.

    >>> hl.memoization_cache_set_size(64 << 20)
    >>> hl.memoization_cache_set_size(0)
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise BoundsError(
            f"the size of the memoization cache is a number of bytes, not {size!r}",
            at=here(),
        )
    with _CACHE.lock:
        _CACHE.limit = size or DEFAULT_SIZE
        _CACHE.trim()


def memoization_cache_evict(eviction_key: int) -> None:
    """Drops the results of Funcs that were memoized with this eviction key.

    >>> f = hl.Func()
    >>> f[x] = x * x
    >>> f = f.compute_root().memoize(hl.EvictionKey(7))
    >>> hl.memoization_cache_evict(7)
    """
    with _CACHE.lock:
        for entry in list(_CACHE.entries.values()):
            if entry.eviction == int(eviction_key):
                _CACHE.drop(entry)


def memoization_cache_cleanup() -> None:
    """Drops all results of memoized Funcs.

    >>> hl.memoization_cache_cleanup()
    >>> hl.memoization_cache_statistics().entries
    0
    """
    with _CACHE.lock:
        for entry in list(_CACHE.entries.values()):
            _CACHE.drop(entry)


def memoization_cache_statistics() -> MemoStatistics:
    """Returns what the cache of memoized Funcs has done so far and holds now.

    >>> hl.memoization_cache_statistics().hits >= 0
    True
    """
    with _CACHE.lock:
        told = _CACHE.told
        return MemoStatistics(
            told.hits, told.misses, told.evictions, len(_CACHE.entries), told.bytes
        )


__all__ = [
    "MemoStatistics",
    "hold",
    "memoization_cache_cleanup",
    "memoization_cache_evict",
    "memoization_cache_set_size",
    "memoization_cache_statistics",
    "symbols",
]
