"""Profiles: where the time of a pipeline goes, what is produced how often, and storage.

Time is sampled (`profile_ir`): a thread looks every `PERIOD` at what each thread of the
call computes. Counts of productions and of bytes are exact. Storage of constant size on
the stack is not counted as it comes and goes; its size is known from the code.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from parhelion.codegen.target import host_target
from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, here
from parhelion.ir.names import plain_name, shown_names
from parhelion.ir.pipeline import FIRST_FUNC, OVERHEAD, WAITING
from parhelion.runtime import profile_ir
from parhelion.runtime.after_fork import DATA, RUNTIME, freed_by_forks
from parhelion.runtime.device_log import Entry as Noted
from parhelion.runtime.device_log import noted
from parhelion.runtime.helpers import provided
from parhelion.runtime.profile_device import (
    CopyProfile,
    KernelProfile,
    copies_of,
    kernels_of,
)
from parhelion.shown import view
from parhelion.tracebacks import shortened

#: Nanoseconds from one look at the threads to the next.
PERIOD = 1_000_000

#: What profiled code calls.
NAMES = provided(__name__)
_RUN, _START, _STOP = "ph_profile_run", "ph_profile_start", "ph_profile_stop"
_HOLD, _LET = "ph_profile_hold", "ph_profile_let"
_FUNCTIONS = (*NAMES, _RUN, _START, _STOP, _HOLD, _LET)
_RunFunction = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)
_StartFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_WatcherFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

#: With fewer looks than the first of these a table says that they tell little; with the
#: second, shares are known to about a tenth.
_FEW, _ENOUGH = 25, 100

#: What code generation tells of the Funcs of a program: the name and the bytes on the
#: stack of each, by its number from `FIRST_FUNC` on.
Told = Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class FuncProfile:
    """One Func in a Profile. All numbers are of one run, on average.

    name: the Func's name, without the number that makes it unique, if no other Func of
        the pipeline has that name.
    func: the name as `Func.name` returns it.
    seconds: the part of the run's time in which its threads computed this Func. Where
        they computed several, each has its part.
    share: `seconds` as a part of the run, 0 to 1.
    threads: how many threads computed it, on average, while any did; 0 if none was
        seen.
    calls: how many times it was produced: once each time its compute level is reached.
    allocations: how many times storage on the heap was made for it.
    bytes: how many bytes these had in all.
    peak: how many bytes of them there were at most at one time.
    stack: the bytes of its storage on the stack, for each thread that has it.
    computed: of a Func that is computed on demand, how many values were; 0 of others.
    hits: how many reads of such a Func found a value that was there. With several
        threads, a read that waits for another one's tile counts as none.
    fraction: `computed` as a part of the values that its storage has room for.

    >>> f = hl.Func("f")
    >>> f[x, y] = hl.sin(x * y)
    >>> f.profile([64, 64])["f"].calls
    1.0
    """

    name: str
    seconds: float
    share: float
    threads: float
    calls: float
    allocations: float
    bytes: float
    peak: int
    stack: int
    func: str
    computed: float = 0.0
    hits: float = 0.0
    fraction: float = 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the runs of a pipeline spent time and memory; ``str`` of it is a table.

    pipeline: its name.
    runs: how many runs there were.
    seconds: how long one run took, on average.
    looks: how many times the threads were looked at, in all runs. Shares of the time
        are known to about ``1 / sqrt(looks)``, and not at all if it is 0.
    threads: how many threads worked, on average.
    funcs: a FuncProfile for each Func that has loops of its own, in the order of
        computation.
    overhead: the seconds in code that belongs to no Func.
    waiting: the seconds in which no thread was at work.
    peak: how many bytes of the heap were in use at most at one time.
    kernels: a KernelProfile for each kernel of a GPU that was launched, in their order.
    to_device, to_host: a CopyProfile of the copies each way.

    >>> f = hl.Func("f")
    >>> f[x, y] = hl.sin(x * y)
    >>> profile = f.profile([64, 64], repeat=2)
    >>> profile.runs, [one.name for one in profile.funcs]
    (2, ['f'])
    """

    pipeline: str
    runs: int
    seconds: float
    looks: int
    threads: float
    funcs: tuple[FuncProfile, ...]
    overhead: float
    waiting: float
    peak: int
    kernels: tuple[KernelProfile, ...] = ()
    to_device: CopyProfile = CopyProfile()
    to_host: CopyProfile = CopyProfile()

    def __getitem__(self, name: str) -> FuncProfile:
        """Returns the FuncProfile of that name, with or without the number that makes
        it unique.

        Raises HalideError, with the names that there are, if the profile has none.
        """
        for f in self.funcs:
            if name in (f.name, f.func):
                return f
        raise HalideError(
            f"the profile of {self.pipeline!r} has no Func {name!r}",
            at=here(),
            legal=[f.name for f in self.funcs],
            hint="a Func that is inlined has no row: its work is its consumer's",
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of the Funcs, and all of it as text."""
        return str(view("profile")(self))

    def __str__(self) -> str:
        return table(self)


@dataclass(frozen=True, slots=True)
class Run:
    """The record of one run. totals: `TOTAL_WORDS` words for each number of a Func.
    device: what it did on devices."""

    pipeline: str
    told: Told
    wall: int
    looks: int
    peak: int
    totals: tuple[int, ...]
    device: tuple[Noted, ...] = ()

    def total(self, number: int, word: int) -> int:
        return self.totals[number * profile_ir.TOTAL_WORDS + word]


def profile_of(pipeline: str, runs: Sequence[Run]) -> Profile:
    """The profile of some runs of the same pipeline."""
    names = list(dict.fromkeys([name for run in runs for name, _ in run.told]))
    shown = shown_names(names)
    rows: dict[str, FuncProfile] = {}
    count = max(len(runs), 1)
    seconds = sum([run.wall for run in runs]) / 1e9 / count
    looks = sum([run.looks for run in runs])
    whole = sum([_sum(run, profile_ir.SHARE) for run in runs])
    for name in names:
        mine = [
            (run, FIRST_FUNC + i)
            for run in runs
            for i, (theirs, _) in enumerate(run.told)
            if theirs == name
        ]

        def add(word: int, mine: Sequence[tuple[Run, int]] = mine) -> int:
            return sum([run.total(number, word) for run, number in mine])

        share = add(profile_ir.SHARE)
        seen = share / profile_ir.UNIT
        rows[name] = FuncProfile(
            shown[name],
            seconds * share / whole if whole else 0.0,
            share / whole if whole else 0.0,
            add(profile_ir.THREADS) / seen if seen else 0.0,
            add(profile_ir.CALLS) / count,
            add(profile_ir.ALLOCATIONS) / count,
            add(profile_ir.BYTES) / count,
            max([run.total(number, profile_ir.PEAK) for run, number in mine]),
            max([run.told[number - FIRST_FUNC][1] for run, number in mine]),
            name,
            add(profile_ir.COMPUTED) / count,
            add(profile_ir.HITS) / count,
            add(profile_ir.COMPUTED) / max(add(profile_ir.STORED), 1),
        )

    def spent(number: int) -> float:
        share = sum([run.total(number, profile_ir.SHARE) for run in runs])
        return seconds * share / whole if whole else 0.0

    threads = sum([_sum(run, profile_ir.THREADS) for run in runs])
    on_device = [e for run in runs for e in run.device]
    return Profile(
        shown.get(pipeline) or plain_name(pipeline),
        len(runs),
        seconds,
        looks,
        threads / looks if looks else 0.0,
        tuple(rows.values()),
        spent(OVERHEAD),
        spent(WAITING),
        max([run.peak for run in runs], default=0),
        kernels_of(on_device, count),
        *copies_of(on_device, count),
    )


def _sum(run: Run, word: int) -> int:
    return sum(run.totals[word :: profile_ir.TOTAL_WORDS])


# The table.


def table(p: Profile) -> str:
    """A profile to be read."""
    several = f"{p.runs} runs, each " if p.runs != 1 else ""
    head = (
        f"{p.pipeline}: {several}{_time(p.seconds)}, {p.threads:.2f} threads at work,"
        f" {p.looks} samples, heap at most {size_text(p.peak)}"
    )
    titles = ["", "time", "share", "threads", "calls", "allocated", "peak", "stack"]
    lazily = any([f.computed or f.hits for f in p.funcs])
    titles += ["on demand", "hits"] if lazily else []
    lines: list[tuple[str, ...]] = []
    for f in sorted(p.funcs, key=lambda f: -f.seconds):
        lines.append(
            (
                f.name,
                _time(f.seconds),
                f"{100 * f.share:.1f} %",
                f"{f.threads:.2f}" if f.threads else "",
                _count(f.calls),
                size_text(f.bytes) if f.allocations else "",
                size_text(f.peak) if f.allocations else "",
                size_text(f.stack) if f.stack else "",
                *(_on_demand(f) if lazily else ()),
            )
        )
    for name, seconds in (("(overhead)", p.overhead), ("(waiting)", p.waiting)):
        if seconds:
            share = f"{100 * seconds / p.seconds:.1f} %"
            lines.append((name, _time(seconds), share, *[""] * (len(titles) - 3)))
    of_kernels = _kernels(p)
    return "\n".join([head, *aligned([titles, *lines]), *of_kernels, *_doubts(p)])


def _kernels(p: Profile) -> list[str]:
    """What a table says of kernels and copies."""
    titles = ["kernels", "time", "launches", "blocks", "threads", "registers"]
    titles += ["shared", "occupancy", "read", "written", "of bandwidth"]
    rows = [
        (
            *(k.name, _time(k.seconds), _count(k.launches), str(k.blocks)),
            *(str(k.threads), str(k.registers or "")),
            size_text(k.shared) if k.shared else "",
            "" if k.occupancy is None else f"{100 * k.occupancy:.0f} %",
            *(size_text(k.read), size_text(k.written)),
            "" if k.achieved is None else f"{100 * k.achieved:.1f} %",
        )
        for k in p.kernels
    ]
    told = aligned([titles, *rows]) if rows else []
    for where, c in (("the device", p.to_device), ("the host", p.to_host)):
        if c.copies:
            told.append(
                f"  copies to {where}: {_count(c.copies)}, {size_text(c.bytes)},"
                f" {_time(c.seconds)}"
            )
    return told


def _on_demand(f: FuncProfile) -> tuple[str, str]:
    """How many values were computed on demand, and how many reads found theirs."""
    if not (f.computed or f.hits):
        return "", ""
    return f"{_count(f.computed)} ({100 * f.fraction:.1f} %)", _count(f.hits)


def _doubts(p: Profile) -> list[str]:
    """What a table says of its own shares where few looks tell them."""
    if not p.runs or p.looks >= _FEW:
        return []
    known = f"known to some {100 / p.looks**0.5:.0f} %" if p.looks > 3 else "not known"
    runs = math.ceil(_ENOUGH * PERIOD / max(p.seconds * 1e9, 1))
    return [
        f"  too few samples to tell: shares are {known};"
        f" profile(…, repeat={runs}) takes about {_ENOUGH}"
    ]


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, indented: a column of names, and others of numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  "
        + "  ".join(
            [
                text.ljust(width) if i == 0 else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ]
        ).rstrip()
        for line in lines
    ]


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"


def _count(n: float) -> str:
    return f"{n:.0f}" if n == int(n) else f"{n:.1f}"


def size_text(n: float) -> str:
    """A number of bytes to be read."""
    for unit in ("B", "KB", "MB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} GB"


# Running.

_LOCK = threading.Lock()
freed_by_forks(_LOCK, RUNTIME)
_addresses: dict[str, int] = {}


class _Watchers:
    """The watchers of this process, with a lock that is held while none of them
    looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._live: set[_Watcher] = set()

    def add(self, watcher: _Watcher) -> None:
        with self._lock:
            self._live.add(watcher)

    def remove(self, watcher: _Watcher) -> None:
        with self._lock:
            self._live.discard(watcher)

    def acquire(self) -> bool:
        self._lock.acquire()
        for watcher in self._live:
            watcher.hold(watcher.address)
        return True

    def release(self) -> None:
        for watcher in self._live:
            watcher.let(watcher.address)
        if self._process != os.getpid():
            # A child has none of the threads; what it watches anew is its own.
            self._process = os.getpid()
            self._live.clear()
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


_WATCHERS = _Watchers()
freed_by_forks(_WATCHERS, DATA)


class _Watcher:
    """A thread that watches calls, one at a time, until it is closed. Raises
    HalideError if the system has none.

    In a child of the process the thread is missing: calls go on there, unwatched.
    hold, let: keep it from looking, and let it look again.
    """

    def __init__(self, pipeline: str) -> None:
        self._process = os.getpid()
        self._block = ctypes.create_string_buffer(profile_ir.WATCHER_BYTES + 64)
        self.address = ctypes.addressof(self._block)
        self.address += -self.address % 64
        period = ctypes.c_int64.from_address(self.address + profile_ir.PERIOD)
        period.value = PERIOD
        found = _build()
        self.hold = _WatcherFunction(found[_HOLD])
        self.let = _WatcherFunction(found[_LET])
        if not _StartFunction(found[_START])(self.address):
            raise HalideError(
                f"{pipeline!r} cannot be profiled: the system gives no thread"
                " that would watch it",
                at=here(),
            )
        _WATCHERS.add(self)

    def close(self) -> None:
        if self._process != os.getpid():
            return
        _WATCHERS.remove(self)
        _WatcherFunction(_build()[_STOP])(self.address)


class _Collection:
    """Records of runs, and the watcher of all of them, from the first on. busy: held by
    the run that it watches. process: whose watcher it is; a child of that has none, and
    of the threads that may be busy only the one that forked."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.runs: list[Run] = []
        self.watcher: _Watcher | None = None
        self.busy = threading.Lock()

    def begin(self) -> bool:
        """Whether its watcher is there for another run, which ends with `end`."""
        return self.process == os.getpid() and self.busy.acquire(blocking=False)

    def end(self) -> None:
        self.busy.release()

    def close(self) -> None:
        if self.process != os.getpid():
            return
        with self.busy:
            if self.watcher is not None:
                self.watcher.close()
                self.watcher = None


#: Where the records of this thread's runs go; None: they are printed.
_WANTED: ContextVar[_Collection | None] = ContextVar("profiles wanted", default=None)


@contextmanager
def _watched(wanted: _Collection | None, pipeline: str) -> Iterator[_Watcher]:
    """The watcher for one run: that of the collection, or one of its own where there is
    none, or another thread's run has it, or it was left behind in a parent process."""
    if wanted is not None and wanted.begin():
        try:
            if wanted.watcher is None:
                wanted.watcher = _Watcher(pipeline)
            yield wanted.watcher
        finally:
            wanted.end()
        return
    watcher = _Watcher(pipeline)
    try:
        yield watcher
    finally:
        watcher.close()


def _build() -> dict[str, int]:
    """The functions of `profile_ir`, loaded at first use."""
    with _LOCK:
        if not _addresses:
            from parhelion.runtime import jit, threads
            from parhelion.runtime.versions import digest_of

            text = profile_ir.profile_ir()
            name = digest_of(text, host_target())
            watched = threads.symbols()["ph_watched"]
            library, found = jit.load_kept(
                name,
                _FUNCTIONS,
                lambda: jit.object_code(text),
                {"ph_watched": watched},
            )
            jit.keep(library)
            _addresses.update(found)
    return _addresses


def symbols() -> dict[str, int]:
    """What profiled code calls."""
    found = _build()
    return {name: found[name] for name in NAMES}


class Entry:
    """A compiled function that is profiled each time it is called.

    What is found goes to those who `collect` in this thread; else it is printed.
    """

    def __init__(self, address: int, pipeline: str, told: Told) -> None:
        self._address = address
        self._pipeline = pipeline
        self._told = tuple(told)
        self._run = _RunFunction(_build()[_RUN])
        count = FIRST_FUNC + len(self._told)
        self._totals = struct.Struct(f"={count * profile_ir.TOTAL_WORDS}q")

    def __call__(self, context: int, argv: int) -> int:
        size = profile_ir.TOTALS + self._totals.size
        block = ctypes.create_string_buffer(size + 64)
        shift = -ctypes.addressof(block) % 64
        wanted = _WANTED.get()
        # What foreign stages run by themselves is theirs.
        token = _WANTED.set(None)
        try:
            record = ctypes.addressof(block) + shift
            with (
                _watched(wanted, self._pipeline) as watcher,
                noted(context) as on_device,
            ):
                code = int(
                    self._run(watcher.address, record, self._address, context, argv)
                )
        finally:
            _WANTED.reset(token)

        def word(offset: int) -> int:
            return int(struct.unpack_from("=q", block, shift + offset)[0])

        if code:
            return code
        run = Run(
            self._pipeline,
            self._told,
            word(profile_ir.WALL),
            word(profile_ir.LOOKS),
            word(profile_ir.HEAP_PEAK),
            self._totals.unpack_from(block, shift + profile_ir.TOTALS),
            tuple(on_device),
        )
        if wanted is None:
            print(table(profile_of(self._pipeline, [run])))
        else:
            wanted.runs.append(run)
        return 0


@contextmanager
def collect() -> Iterator[list[Run]]:
    """Has the records of what this thread runs meanwhile go to the list that it gives,
    and not be printed. One thread watches all of it."""
    wanted = _Collection()
    token = _WANTED.set(wanted)
    try:
        yield wanted.runs
    finally:
        _WANTED.reset(token)
        wanted.close()


# It is what a method returns, and so found by no name of the package's.
shortened(Profile)

__all__ = ["Entry", "FuncProfile", "Profile", "Run", "collect", "profile_of", "symbols"]
