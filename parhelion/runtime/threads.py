"""The thread pool of compiled code, from Python's side.

The pool itself is machine code (`pool_ir`), built once in a process when the first
pipeline that needs it is loaded.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from dataclasses import dataclass
from typing import Any

from parhelion.codegen.target import host_target
from parhelion.errors import ScheduleError, here
from parhelion.runtime.context import Context
from parhelion.runtime.fork import RUNTIME, freed_by_forks

_LOCK = threading.Lock()
freed_by_forks(_LOCK, RUNTIME)

#: What compiled pipelines may call.
NAMES = (
    *("ph_malloc", "ph_free", "ph_par_for", "ph_print", "ph_lock", "ph_unlock"),
    *("ph_fork", "ph_acquire", "ph_release"),
)
_CONTROLS = (
    "ph_set_num_threads",
    "ph_get_num_threads",
    "ph_live_workers",
    "ph_release_memory",
)

_PrintFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class _Runtime:
    library: Any
    addresses: dict[str, int]
    pipeline_symbols: dict[str, int]


_runtime: _Runtime | None = None
#: Set before the pool exists; 0 leaves the choice to HL_NUM_THREADS.
_wanted = 0


def _build() -> _Runtime:
    global _runtime
    with _LOCK:
        if _runtime is not None:
            return _runtime
        from parhelion.runtime import cache, jit
        from parhelion.runtime.keys import digest_of
        from parhelion.runtime.pool_ir import runtime_ir

        architecture = host_target().arch
        text = runtime_ir(architecture, Context.print_fn.offset, Context.user.offset)
        names = NAMES + _CONTROLS
        name = digest_of(text, host_target())
        code = cache.load(name)
        if code is None:
            # Level 0 takes 7 ms where level 2 takes 45, and all that runs here often
            # is an atomic instruction for each chunk of iterations.
            code = jit.object_code(text, level=0)
            cache.store(name, code)
        library, addresses = jit.load(code, names, {})
        # Pool threads stand in this code until the process ends.
        library.detach()
        made = _Runtime(library, addresses, {name: addresses[name] for name in NAMES})
        if _wanted:
            _control(made, "ph_set_num_threads")(_wanted)
        _runtime = made
        return made


def _control(runtime: _Runtime, name: str) -> Any:
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)
    return kind(runtime.addresses[name])


def symbols() -> dict[str, int]:
    """Addresses of what compiled pipelines call; builds the pool at first use."""
    return _build().pipeline_symbols


def set_num_threads(n: int) -> int:
    """Sets how many threads run a parallel loop, the caller's included.

    0 goes back to the default: the environment's HL_NUM_THREADS, or as many as there
    are processors for this process. Returns the number before the call.
    """
    global _wanted
    if not isinstance(n, int) or not 0 <= n <= 1024:
        raise ScheduleError(f"the number of threads is 0 to 1024, not {n}", at=here())
    before = int(_control(_build(), "ph_set_num_threads")(n))
    _wanted = n
    return before


def get_num_threads() -> int:
    """How many threads run a parallel loop, the caller's included."""
    return int(_control(_build(), "ph_get_num_threads")(0))


def live_workers() -> int:
    """How many worker threads exist now; they start when first needed."""
    return int(_control(_build(), "ph_live_workers")(0))


def release_memory() -> int:
    """Gives back the memory of intermediate results that is kept for the next run;
    returns how many bytes that were."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64)
    return int(kind(_build().addresses["ph_release_memory"])())


def _write(_user: int | None, text: int | None) -> None:
    if text:
        sys.stdout.write(ctypes.string_at(text).decode("utf-8", "replace"))


#: Writes to sys.stdout as it is when the code prints (so redirection works).
print_callback = _PrintFunction(_write)
PRINT_ADDRESS: int = ctypes.cast(print_callback, ctypes.c_void_p).value or 0
