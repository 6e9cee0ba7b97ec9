"""Object files that LLVM has made in this run of the tests, for all of its processes.

Many tests compile a pipeline that another has compiled: an application once to compare
it with NumPy and once with the interpreter, an algorithm without a schedule once for
each schedule that is compared with it. Each time it is lowered, and its text written;
but LLVM, which makes the same code of the same text, is asked once.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

from parhelion.ir.target import Target
from parhelion.runtime import jit

#: Where they are: the process that starts the others makes the folder, and ends it.
_VARIABLE = "PARHELION_TESTS_OBJECTS"

Make = Callable[..., tuple[bytes, frozenset[str]]]

#: What asks LLVM.
MADE: Make = jit.made_object


def begin() -> None:
    """Makes the folder of this run, which processes that are started later know."""
    os.environ[_VARIABLE] = tempfile.mkdtemp(prefix="parhelion-tests-")


def end() -> None:
    """Deletes the folder of this run."""
    shutil.rmtree(os.environ.pop(_VARIABLE), ignore_errors=True)


def share() -> None:
    """Has LLVM asked once for each text in a process that a test has started; one that
    none has started goes on as it is."""
    if _VARIABLE in os.environ:
        jit.made_object = made_once


def programs() -> Path:
    """The folder of the cache of whole programs of this run."""
    return Path(os.environ[_VARIABLE]) / "programs"


def made_once(
    text: str, target: Target, times: jit.CompileTimes, level: int = 2
) -> tuple[bytes, frozenset[str]]:
    """As `jit.made_object`; what was made of the same text before, if it was. The times
    are those that making it took then."""
    asked = hashlib.sha256(repr((target, level)).encode() + text.encode()).hexdigest()
    path = Path(os.environ[_VARIABLE]) / asked
    try:
        with path.open("rb") as file:
            code, called, spent = pickle.load(file)
    except FileNotFoundError:
        code, called = MADE(text, target, times, level)
        handle, new = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            pickle.dump((code, called, astuple(times)), file)
        os.replace(new, path)
    else:
        times.parse, times.optimise, times.emit, _ = spent
    return code, called
