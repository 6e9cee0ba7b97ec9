"""Object files that LLVM has made for the tests, for all processes of this run and,
where pytest has a cache, for later runs.

Many tests compile a pipeline that another has compiled: an application once to compare
it with NumPy and once with the interpreter, an algorithm without a schedule once for
each schedule that is compared with it. Each time it is lowered, and its text written;
but LLVM, which makes the same code of the same text, is asked once. From one run to the
next few texts change, so that what LLVM made is kept in pytest's cache, with what it
was made by in its name; `pytest --cache-clear` drops it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple
from functools import cache
from pathlib import Path
from types import ModuleType

import llvmlite

from parhelion.ir import target as targets
from parhelion.ir.target import Target
from parhelion.runtime import faults, helpers, jit

#: Where they are, as the process that starts the others says.
_OBJECTS = "PARHELION_TESTS_OBJECTS"
#: A folder of this run alone, which that process makes, and deletes.
_RUN = "PARHELION_TESTS_RUN"
#: The most bytes that are kept for later runs: what several of them make.
MOST = 1 << 28

Make = Callable[..., tuple[bytes, frozenset[str]]]

#: What asks LLVM.
MADE: Make = jit.made_object


def begin(kept: Path | None = None) -> None:
    """Makes the folder of this run, which processes that are started later know.

    kept: a folder that has object files of earlier runs, and gets those of this one.
    """
    os.environ[_RUN] = tempfile.mkdtemp(prefix="parhelion-tests-")
    os.environ[_OBJECTS] = str(kept or os.environ[_RUN])


def end() -> None:
    """Deletes the folder of this run, and of what is kept that was used longest ago."""
    drop_oldest(Path(os.environ.pop(_OBJECTS)), MOST)
    shutil.rmtree(os.environ.pop(_RUN), ignore_errors=True)


def drop_oldest(folder: Path, most: int) -> None:
    """Deletes files of a folder, those first that were used longest ago, until no more
    than so many bytes are left. Another run may do the same meanwhile."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            told = path.stat()
            if path.is_file():
                found.append((told.st_mtime, told.st_size, path))
    left = sum([size for _, size, _ in found])
    for _, size, path in sorted(found):
        if left <= most:
            return
        path.unlink(missing_ok=True)
        left -= size


def share() -> None:
    """Has LLVM asked once for each text in a process that a test has started; one that
    none has started goes on as it is."""
    if _OBJECTS in os.environ:
        jit.made_object = made_once


def programs() -> Path:
    """The folder of the cache of whole programs of this run: what is lowered must be
    lowered again in the next."""
    return Path(os.environ[_RUN]) / "programs"


def made_once(
    text: str, target: Target, times: jit.CompileTimes, level: int = 2
) -> tuple[bytes, frozenset[str]]:
    """As `jit.made_object`; what was made of the same text before, if it was. The times
    are those that making it took then."""
    asked = hashlib.sha256(maker() + repr((target, level)).encode() + text.encode())
    path = Path(os.environ[_OBJECTS]) / asked.hexdigest()
    try:
        code, called, spent = pickle.loads(zlib.decompress(path.read_bytes()))
        os.utime(path)  # it was used
    except (FileNotFoundError, zlib.error):
        code, called = MADE(text, target, times, level)
        handle, new = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            told = pickle.dumps((code, called, astuple(times)))
            file.write(zlib.compress(told, 1))
        os.replace(new, path)
    else:
        times.parse, times.optimise, times.emit, _ = spent
    return code, called


@cache
def maker() -> bytes:
    """What decides what becomes of a text, besides its target: LLVM, and the modules
    that ask it."""
    version = (llvmlite.__version__, jit.binding().llvm_version_info)
    told = hashlib.sha256(repr(version).encode())
    modules: tuple[ModuleType, ...] = (jit, faults, helpers, targets)
    for module in modules:
        assert module.__file__ is not None
        told.update(Path(module.__file__).read_bytes())
    return told.digest()
