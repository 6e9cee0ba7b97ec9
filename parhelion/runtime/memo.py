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
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from parhelion.errors import BoundsError, here
from parhelion.runtime.fork import DATA, freed_by_forks

#: Halide's: a megabyte.
DEFAULT_SIZE = 1 << 20
_ALIGN = 64


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
    """What the cache has done since the process began, and what it holds now."""

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

    def find(
        self, key: bytes, sizes: list[int], eviction: int | None
    ) -> tuple[bool, list[int]]:
        """Whether there is an entry; the addresses of its buffers, or of new ones."""
        with self.lock:
            entry = self.entries.get(key)
            if entry is not None:
                self.entries.move_to_end(key)
                self.told.hits += 1
            else:
                self.told.misses += 1
                entry = _made(key, sizes, eviction)
            entry.uses += len(sizes)
            self.used.update(dict.fromkeys(entry.addresses, entry))
            return entry.kept, entry.addresses

    def store(self, address: int) -> None:
        """The production of an entry is complete."""
        with self.lock:
            entry = self.used[address]
            if entry.key in self.entries:
                return  # another thread was faster
            entry.kept = True
            self.entries[entry.key] = entry
            self.told.bytes += entry.bytes
            self.trim()

    def release(self, address: int) -> None:
        with self.lock:
            entry = self.used[address]
            entry.uses -= 1
            if entry.uses == 0:
                for one in entry.addresses:
                    del self.used[one]

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

_Find = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    *[ctypes.c_void_p, ctypes.c_int64],
    *[ctypes.c_void_p, ctypes.c_int64],
    *[ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p],
)
_Use = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _find(
    key: int, words: int, sizes: int, count: int, eviction: int, evicts: int, out: int
) -> int:
    """1 for an entry, 0 for a new one, -1 if there is no memory for that."""
    try:
        asked = [int(n) for n in (ctypes.c_int64 * count).from_address(sizes)]
        hit, addresses = _CACHE.find(
            ctypes.string_at(key, 8 * words), asked, eviction if evicts else None
        )
    except MemoryError:
        return -1
    places = (ctypes.c_void_p * count).from_address(out)
    for i, address in enumerate(addresses):
        places[i] = address
    return int(hit)


_callbacks = (_Find(_find), _Use(_CACHE.store), _Use(_CACHE.release))


def symbols() -> dict[str, int]:
    """What compiled code calls."""
    names = ("ph_memo_find", "ph_memo_store", "ph_memo_release")
    return {
        name: ctypes.cast(one, ctypes.c_void_p).value or 0
        for name, one in zip(names, _callbacks, strict=True)
    }


# What users may do.


def memoization_cache_set_size(size: int) -> None:
    """Sets how many bytes the results of memoized Funcs may take in all (1 MiB unless
    set); 0 goes back to that. What is over it is dropped, the longest unused first."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise BoundsError(
            f"the size of the memoization cache is a number of bytes, not {size!r}",
            at=here(),
        )
    with _CACHE.lock:
        _CACHE.limit = size or DEFAULT_SIZE
        _CACHE.trim()


def memoization_cache_evict(eviction_key: int) -> None:
    """Drops the results of Funcs that were memoized with this eviction key."""
    with _CACHE.lock:
        for entry in list(_CACHE.entries.values()):
            if entry.eviction == int(eviction_key):
                _CACHE.drop(entry)


def memoization_cache_cleanup() -> None:
    """Drops everything."""
    with _CACHE.lock:
        for entry in list(_CACHE.entries.values()):
            _CACHE.drop(entry)


def memoization_cache_statistics() -> MemoStatistics:
    """Hits, misses and evictions so far, and what is held now."""
    with _CACHE.lock:
        told = _CACHE.told
        return MemoStatistics(
            told.hits, told.misses, told.evictions, len(_CACHE.entries), told.bytes
        )


__all__ = [
    "MemoStatistics",
    "memoization_cache_cleanup",
    "memoization_cache_evict",
    "memoization_cache_set_size",
    "memoization_cache_statistics",
    "symbols",
]
