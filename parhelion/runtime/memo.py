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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from parhelion.errors import BoundsError, here
from parhelion.runtime.fork import DATA, freed_by_forks
from parhelion.runtime.threads import end_run

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
class _Taken:
    """Which entry a callback has counted: set in the same step, between which and the
    counting no signal's handler runs (it does at calls and where loops go back)."""

    entry: _Entry | None = None


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
        self, key: bytes, sizes: list[int], eviction: int | None, taken: _Taken
    ) -> None:
        """Takes the entry that there is, or a new one."""
        with self.lock:
            entry = self.entries.get(key)
            if entry is not None:
                self.entries.move_to_end(key)
                self.told.hits += 1
            else:
                self.told.misses += 1
                entry = _made(key, sizes, eviction)
            uses = len(sizes)
            try:
                self.used.update(dict.fromkeys(entry.addresses, entry))
            except BaseException:
                self.forget(entry)
                raise
            entry.uses += uses
            taken.entry = entry

    def store(self, address: int) -> None:
        """The production of an entry is complete. Does nothing the second time."""
        with self.lock:
            entry = self.used[address]
            if entry.key in self.entries:
                return  # another thread was faster
            self.entries[entry.key] = entry
            entry.kept = True
            self.told.bytes += entry.bytes
            self.trim()

    def release(self, address: int, taken: _Taken, uses: int = 1) -> None:
        """Gives an entry back, or so many uses of it: once, for the same `taken`."""
        with self.lock:
            entry = taken.entry
            if entry is None:
                entry = self.used[address]
                taken.entry = entry
                entry.uses -= uses
            self.forget(entry)

    def forget(self, entry: _Entry) -> None:
        """Lets go of an entry that nobody uses."""
        if entry.uses == 0:
            for one in entry.addresses:
                self.used.pop(one, None)

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
    None,
    *[ctypes.c_void_p, ctypes.c_int64],
    *[ctypes.c_void_p, ctypes.c_int64],
    *[ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p],
)
_Use = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _find(
    key: int, words: int, sizes: int, count: int, eviction: int, evicts: int, out: int
) -> None:
    """Tells compiled code what there is: addresses, and in the end whether they were
    found (see `codegen.memo`)."""
    taken = _Taken()
    places = (ctypes.c_int64 * (count + 1)).from_address(out)
    try:
        asked = [int(n) for n in (ctypes.c_int64 * count).from_address(sizes)]
        told = ctypes.string_at(key, 8 * words)
        _CACHE.find(told, asked, eviction if evicts else None, taken)
        entry = taken.entry
        assert entry is not None
        for i, address in enumerate(entry.addresses):
            places[i] = address
        places[count] = _FOUND if entry.kept else _NEW
    except MemoryError:
        places[count] = _NOTHING
    except BaseException as error:
        _end_run(error)
        found = taken.entry
        if found is not None:
            _surely(lambda given: _CACHE.release(found.addresses[0], given, count))


def _store(address: int) -> None:
    _surely(lambda _: _CACHE.store(address))


def _release(address: int) -> None:
    _surely(lambda given: _CACHE.release(address, given))


#: How often a callback that a signal's handler has left begins again.
_ATTEMPTS = 100


def _surely(do: Callable[[_Taken], None]) -> None:
    """Does what must be done, though a handler of a signal raises meanwhile: that
    comes out of the run."""
    given = _Taken()
    for _ in range(_ATTEMPTS):
        try:
            do(given)
            return
        except BaseException as error:
            _end_run(error)
    do(given)


def _end_run(error: BaseException) -> None:
    # Handlers run in the main thread alone; elsewhere it is a fault of ours.
    if threading.get_ident() != threading.main_thread().ident:
        raise error
    end_run(error)


_callbacks = (_Find(_find), _Use(_store), _Use(_release))


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
