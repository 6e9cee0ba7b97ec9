"""The thread pool of compiled code, from Python's side.

The pool itself is machine code (`pool_ir`), built once in a process when the first
pipeline that needs it is loaded.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NoReturn

from parhelion.codegen.target import host_target
from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here
from parhelion.runtime.after_fork import RUNTIME, freed_by_forks
from parhelion.runtime.context import Context
from parhelion.runtime.environment import number, warn
from parhelion.runtime.helpers import provided
from parhelion.runtime.python_ir import API

_LOCK = threading.Lock()
freed_by_forks(_LOCK, RUNTIME)

#: The environment's number of threads, and the memory that it has kept, in MiB.
_THREADS, _KEPT = "HL_NUM_THREADS", "PARHELION_KEPT_MB"
#: The most threads that the pool has.
MOST_THREADS = 1024

#: What compiled pipelines may call.
NAMES = provided(__name__)
_CONTROLS = (
    "ph_set_num_threads",
    "ph_get_num_threads",
    "ph_live_workers",
    "ph_release_memory",
    "ph_trim_memory",
    "ph_kept_memory",
    "ph_used_memory",
    "ph_get_kept_memory",
    "ph_set_kept_memory",
    "ph_pin_memory",
    "ph_watch_begin",
    "ph_watch_raised",
    "ph_watch_stop",
)

_restore = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 3)(
    ("PyErr_Restore", ctypes.pythonapi)
)


@dataclass(frozen=True, slots=True)
class _Runtime:
    library: Any
    addresses: dict[str, int]
    pipeline_symbols: dict[str, int]


#: What others do before memory is given back, so that there is more of it.
BEFORE_RELEASE: list[Callable[[], None]] = []
#: Others that keep memory from run to run: they give it back, and say how much.
ALSO_RELEASE: list[Callable[[], int]] = []

_runtime: _Runtime | None = None
#: Set before the pool exists; 0 leaves the choice to HL_NUM_THREADS.
_wanted = 0


def _build() -> _Runtime:
    global _runtime
    with _LOCK:
        if _runtime is not None:
            return _runtime
        from parhelion.runtime import jit
        from parhelion.runtime.versions import digest_of

        names = NAMES + _CONTROLS
        # The text is made of files that the digest knows, and not where code is kept.
        name = digest_of("the run time of this process", host_target())
        library, addresses = jit.load_kept(name, names, _object_code)
        # Pool threads stand in this code until the process ends.
        jit.keep(library)
        made = _Runtime(library, addresses, {name: addresses[name] for name in NAMES})
        _watch(made)
        os.register_at_fork(after_in_child=partial(_watch, made))
        wanted = _wanted or _instead()
        if wanted:
            _control(made, "ph_set_num_threads")(wanted)
        _runtime = made
    _check_environment()
    return made


def _object_code() -> bytes:
    from parhelion.runtime import jit
    from parhelion.runtime.pool_ir import runtime_ir

    architecture = host_target().arch
    text = runtime_ir(architecture, Context.print_fn.offset, Context.user.offset)
    # Level 0 takes 7 ms where level 2 takes 45, and all that runs here often is an
    # atomic instruction for each chunk of iterations.
    return jit.object_code(text, level=0)


def _instead() -> int:
    """Returns how many threads there are if HL_NUM_THREADS is no number; else 0.

    It is the number of processors; with 0, the pool reads the variable itself.
    """
    if not asked_threads()[1]:
        return 0
    return min(len(os.sched_getaffinity(0)), MOST_THREADS)


def _check_environment() -> None:
    """Warns of an environment that does not say how many threads there are, or how much
    memory is kept."""
    wrong = asked_threads()[1]
    if wrong:
        count = _instead()
        warn(_THREADS, wrong, f"parallel loops run on {count}, one for each processor")
    wrong = number(_KEPT, "megabytes")[1]
    if wrong:
        warn(_KEPT, wrong, f"at most {get_kept_memory() >> 20} are kept")


def asked_threads() -> tuple[int | None, str]:
    """Returns the number of threads that the environment's HL_NUM_THREADS asks for,
    None if it leaves that open; and what is wrong with it, "" if nothing is."""
    return number(_THREADS, "threads", MOST_THREADS)


def _watch(runtime: _Runtime) -> None:
    """Gives the run time the functions of Python that it calls: see `watch_ir`."""
    asked = [getattr(ctypes.pythonapi, name) for name in API]
    told = [ctypes.cast(f, ctypes.c_void_p).value for f in asked]
    functions = (ctypes.c_void_p * (len(told) + 1))(*told, python_function(_write))
    begin = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
    main = threading.main_thread().ident
    begin(runtime.addresses["ph_watch_begin"])(ctypes.addressof(functions), main)


def watched(address: int) -> Callable[[int, int], int]:
    """Returns a compiled function that Ctrl-C ends, if the main thread calls it."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)
    return partial(kind(_build().pipeline_symbols["ph_watched"]), address)


def stop_run(context: int) -> None:
    """Has a run leave as soon as it looks. context: the address of the run's own."""
    stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_build().addresses["ph_watch_stop"])
    stop(context)


def _raised() -> Any:
    where = ctypes.CFUNCTYPE(ctypes.c_void_p)(_build().addresses["ph_watch_raised"])
    return (ctypes.c_void_p * 3).from_address(where())


def was_interrupted() -> bool:
    """Whether a signal's handler has raised what `raise_interrupt` would raise."""
    return _raised()[0] is not None


def raise_interrupt() -> NoReturn:
    """Raises the exception of a signal's handler that ran during compiled code."""
    raised = _raised()
    error = raised[:]
    raised[:] = [None] * 3
    if error[0] is not None:
        _restore(*error)  # ctypes raises what a function of Python's has set
    raise KeyboardInterrupt


#: Python functions that compiled code has the addresses of.
_CALLED: set[Callable[[int], None]] = set()


def python_function(function: Callable[[int], None]) -> int:
    """The address of a Python function that compiled code calls (see `python_ir`). It
    lives as long as the process."""
    _CALLED.add(function)
    return id(function)


def _control(runtime: _Runtime, name: str) -> Any:
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)
    return kind(runtime.addresses[name])


def symbols() -> dict[str, int]:
    """Addresses of what compiled pipelines call; builds the pool at first use."""
    return _build().pipeline_symbols


def set_num_threads(n: int) -> int:
    """Sets how many threads run a parallel loop, the calling one included.

    Returns the number that was set before. 0 goes back to the default: what
    HL_NUM_THREADS says in the environment, or else as many as there are processors for
    this process. Raises ScheduleError unless `n` is 0 to 1024.

    >>> before = hl.set_num_threads(2)
    >>> hl.set_num_threads(0)
    2
    """
    global _wanted
    if not isinstance(n, int) or not 0 <= n <= MOST_THREADS:
        raise ScheduleError(
            f"the number of threads is 0 to {MOST_THREADS}, not {n}", at=here()
        )
    before = int(_control(_build(), "ph_set_num_threads")(n or _instead()))
    _wanted = n
    return before


def get_num_threads() -> int:
    """Returns how many threads run a parallel loop, the calling one included.

    >>> hl.get_num_threads() >= 1
    True
    """
    return int(_control(_build(), "ph_get_num_threads")(0))


#: How many threads may run the parallel loops of a call; 0 for all.
LIMIT: ContextVar[int] = ContextVar("parhelion.limit_threads", default=0)


def limit_threads(n: int) -> AbstractContextManager[None]:
    """Limits the threads of the pipelines that are run inside a ``with`` block.

    Each call runs on `n` threads at most, the calling one included. The limit holds for
    this Python thread or asyncio task alone; other calls use the whole pool meanwhile
    (`set_num_threads`). Inside another limit, the lower one holds. Threads of async
    Funcs are not counted. Raises ScheduleError unless `n` is 1 to 1024.

    >>> f = hl.Func()
    >>> f[x, y] = x + y
    >>> with hl.limit_threads(1):
    ...     sums = f.realize([3, 2])
    """
    if type(n) is not int or not 1 <= n <= MOST_THREADS:
        raise ScheduleError(
            f"the limit of threads is 1 to {MOST_THREADS}, not {n!r}", at=here()
        )
    return _limited(n)


@contextmanager
def _limited(n: int) -> Iterator[None]:
    before = LIMIT.get()
    token = LIMIT.set(min(n, before) if before else n)
    try:
        yield
    finally:
        LIMIT.reset(token)


def live_workers() -> int:
    """Returns how many worker threads exist now; they start when first needed."""
    return int(_control(_build(), "ph_live_workers")(0))


def release_memory() -> int:
    """Gives the memory back that is kept for intermediate results of the next run, on
    GPUs, too.

    Returns how many bytes that were.

    >>> hl.release_memory() >= 0
    True
    """
    for prepare in BEFORE_RELEASE:
        prepare()
    others = sum([release() for release in ALSO_RELEASE])
    return others + _of_memory("ph_release_memory")


def set_kept_memory(bytes: int | None) -> int:
    """Sets how many bytes for intermediate results are kept from one run to the next.

    Returns the limit that was set before, in bytes. None goes back to the default: what
    PARHELION_KEPT_MB says in the environment, or else a quarter of the memory of the
    machine, or of the control group that the process is in. Memory that was not used
    for ten seconds is given back in any case. Raises ScheduleError for what is no
    number of bytes.

    >>> before = hl.set_kept_memory(64 << 20)
    >>> hl.set_kept_memory(None)
    67108864
    """
    if bytes is not None and (type(bytes) is not int or not 0 <= bytes < 1 << 62):
        raise ScheduleError(
            f"the memory to be kept is a number of bytes, not {bytes!r}", at=here()
        )
    return _of_memory("ph_set_kept_memory", -1 if bytes is None else bytes)


def get_kept_memory() -> int:
    """Returns how many bytes for intermediate results may be kept between runs."""
    return _of_memory("ph_get_kept_memory")


def kept_memory() -> int:
    """Returns how many bytes for intermediate results are kept now."""
    return _of_memory("ph_kept_memory")


def used_memory() -> int:
    """Returns how many bytes of intermediate results are in use now."""
    return _of_memory("ph_used_memory")


def _of_memory(name: str, *args: int) -> int:
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64 for _ in args])
    return int(kind(_build().addresses[name])(*args))


def memory_function(name: str, *kinds: Any) -> Callable[..., None]:
    """A function of the run time's that takes addresses: ``ph_free``, or
    ``ph_pin_memory``."""
    made: Callable[..., None] = ctypes.CFUNCTYPE(None, *kinds)(_build().addresses[name])
    return made


def _write(text: int) -> None:
    """Writes to sys.stdout as it is when the code prints (so redirection works)."""
    sys.stdout.write(ctypes.string_at(text).decode("utf-8", "replace"))
