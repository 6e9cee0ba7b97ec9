"""What this computer takes for what the cost model counts: measured once, and kept.

The default scheduler goes by what the file in the user's cache folder says; where there
is none yet, the first schedule measures (about a third of a second) and keeps it. So
the same pipeline gets the same schedule in every run, on a busy computer too. The
environment variable ``HL_MACHINE`` says otherwise: ``default`` is for the constants as
they were set by hand, anything else is the file to go by.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path

from parhelion.autoschedule.machine import fit as fits
from parhelion.autoschedule.machine.fit import Fit
from parhelion.autoschedule.machine.kernels import Bench
from parhelion.autoschedule.machine.machine import Machine, host
from parhelion.dataclass import dataclass
from parhelion.errors import HalideError

#: The environment variable, and its value for the constants set by hand.
VARIABLE, DEFAULT = "HL_MACHINE", "default"
#: How often each kernel is timed in one pass. Kernels take turns, so that a moment in
#: which something else runs is no kernel's alone.
_TURNS = 8
#: What seems slower than usual is timed again, in so many passes in all; a pause before
#: each, in seconds, in which whoever was in the way may go.
_PASSES, _PAUSE = 4, 0.03

_LOCK = threading.Lock()
_FOUND: dict[tuple[str, str], tuple[Fit | None, str, str]] = {}


@dataclass(frozen=True, slots=True)
class Known:
    """machine: with the costs to go by. source: where they are from, in words.
    trouble: why they are not from where they should be, a sentence; or empty."""

    machine: Machine
    source: str
    trouble: str = ""


def measure(machine: Machine | None = None) -> Fit:
    """Times small loops on this computer, the shortest of some runs each. Takes about a
    third of a second, compiling included. Raises InternalError where LLVM cannot
    compile them."""
    machine = machine or host()
    bench = Bench(machine.vector_bytes, machine.l1, machine.l2)
    shortest = {k.name: float("inf") for k in bench.kernels}
    again = bench.kernels
    for k in range(_PASSES):
        if k and again:
            time.sleep(_PAUSE)
        for _ in range(_TURNS):
            for kernel in again:
                took = max(bench.run(kernel), 1e-9)
                shortest[kernel.name] = min(shortest[kernel.name], took)
        found = Fit.of(shortest, machine.family)
        slow = found.pace > 1
        again = [k for k in bench.kernels if slow or found.factors[k.name] > 1]
    return found


def calibrate(path: Path | str | None = None) -> Fit:
    """Measures this computer anew, and keeps what it finds: in the user's cache folder,
    from where the default scheduler takes it, or at `path`. Raises OSError where that
    cannot be written."""
    machine = host()
    found = measure(machine)
    where = fits.place(machine) if path is None else Path(path)
    fits.write(where, machine, found, over=True)
    with _LOCK:
        _FOUND.clear()
    return found


def known(threads: int | None = None) -> Known:
    """This computer with the costs that the default scheduler goes by.

    Never fails: where they cannot be had, those set by hand are taken, and it says why.
    """
    machine = host(threads)
    told = os.environ.get(VARIABLE, "")
    if told == DEFAULT:
        return Known(machine, f"costs set by hand, as {VARIABLE}={DEFAULT} says")
    with _LOCK:
        at = (told, os.environ.get("XDG_CACHE_HOME", ""))
        found = _FOUND.get(at)
        if found is None:
            found = _FOUND[at] = _given(Path(told)) if told else _kept(machine)
    fit, source, trouble = found
    return Known(machine if fit is None else fit.scaled(machine), source, trouble)


_BY_HAND = "costs set by hand"


def _given(path: Path) -> tuple[Fit | None, str, str]:
    """What the file says that the user named, of whichever computer that is."""
    try:
        return fits.read(path, None), f"costs measured, kept in {path}", ""
    except (OSError, ValueError) as error:
        trouble = (
            f"{VARIABLE} names {path}, which cannot be used ({why(error)}), so that"
            " the costs are those set by hand"
        )
        return None, _BY_HAND, trouble


def _kept(machine: Machine) -> tuple[Fit | None, str, str]:
    """What is kept of this computer; measured now, if nothing is."""
    trouble = ""
    try:
        path = fits.place(machine)
        source = f"costs measured on this computer, kept in {path}"
        try:
            return fits.read(path, machine), source, ""
        except FileNotFoundError:
            pass
        except ValueError as error:
            trouble = (
                f"the measurements of this computer in {path} could not be used"
                f" ({why(error)}); they were made anew"
            )
        # Only what will be the same in the next run is used in this one.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        fits.write(path, machine, measure(machine), over=bool(trouble))
        return fits.read(path, machine), source, trouble
    except (OSError, RuntimeError, ValueError, HalideError) as error:
        return (
            None,
            _BY_HAND,
            f"measurements of this computer cannot be read or kept ({why(error)}), so"
            " that the costs are those set by hand"
            f" ({VARIABLE}={DEFAULT} asks for them)",
        )


def why(error: Exception) -> str:
    """The reason of an error, in words."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if isinstance(error.filename, str) else ""
        return error.strerror + where
    return error.what if isinstance(error, HalideError) else str(error)


__all__ = ["DEFAULT", "VARIABLE", "Known", "calibrate", "known", "measure", "why"]
