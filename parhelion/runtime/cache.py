"""The persistent cache: files of compiled code in the user's cache folder.

A file's name is the digest of all that its contents depend on; its contents begin with
a digest of their own, and a file that does not match it is deleted and never used. It
is written under another name and then renamed, so that no other process sees half of
it. Whatever goes wrong with the disk (full, read-only, gone) costs a compilation and
nothing else.

``PARHELION_CACHE`` turns it off (``0`` or ``off``) or puts it elsewhere (a path);
``PARHELION_CACHE_MB`` bounds its size (512): beyond that, what was used least recently
goes.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parhelion.runtime.digest import SIZE, digest
from parhelion.runtime.folders import cache_folder

#: What every file begins with, and changes when the format does.
_MAGIC = b"parhelion cache 2\n"
_SUFFIX = ".bin"
#: The bound on the sum of all files, in MiB, unless the environment has another.
_DEFAULT_MB = 512
#: When the bound is passed, this much of it is left.
_LEFT = 0.8
#: Bounds that were warned of.
_warned: set[str] = set()


@dataclass(frozen=True, slots=True)
class Usage:
    """folder: of the cache, None where it is off. files, bytes: how much is in it.
    limit: in bytes."""

    folder: Path | None
    files: int
    bytes: int
    limit: int


def folder() -> Path | None:
    """Where the files are; None if the cache is off."""
    given = os.environ.get("PARHELION_CACHE", "")
    if given.lower() in ("0", "off", "no", "false"):
        return None
    if given:
        try:
            return Path(given).expanduser()
        except RuntimeError:  # of a user that there is not
            return Path(given)
    try:
        return cache_folder() / "code"
    except RuntimeError:  # a user without a home
        return None


def limit() -> int:
    """The most bytes that files may take. Warns, once, of a value in the environment
    that is no number."""
    given = os.environ.get("PARHELION_CACHE_MB", "").strip()
    if given.isascii() and given.isdecimal():
        return int(given) << 20
    if given and given not in _warned:
        _warned.add(given)
        warnings.warn(
            f"PARHELION_CACHE_MB={given[:40]!r} is no whole number of megabytes; the "
            f"bound of the cache is {_DEFAULT_MB}",
            stacklevel=2,
        )
    return _DEFAULT_MB << 20


def load(name: str) -> bytes | None:
    """The contents that were stored under a name; None if there are none that are
    whole."""
    path = _path(name)
    if path is None:
        return None
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + SIZE
    told, contents = raw[len(_MAGIC) : start], raw[start:]
    if not raw.startswith(_MAGIC) or digest(contents) != told:
        discard(name)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used just now
    return contents


def store(name: str, contents: bytes) -> None:
    """Keeps contents under a name, if the disk allows."""
    path = _path(name)
    if path is None:
        return
    whole = _MAGIC + digest(contents) + contents
    if len(whole) > limit():
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, whole)
    except OSError:
        return
    _evict()


def discard(name: str) -> None:
    """Deletes what was stored under a name."""
    path = _path(name)
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink()


def clear() -> int:
    """Deletes all files; how many there were."""
    count = 0
    for path, _, _ in _files():
        with contextlib.suppress(OSError):
            path.unlink()
            count += 1
    return count


def usage() -> Usage:
    """How much is kept, and where."""
    sizes = [size for _, size, _ in _files()]
    return Usage(folder(), len(sizes), sum(sizes), limit())


def _path(name: str) -> Path | None:
    where = folder()
    return None if where is None else where / f"{name}{_SUFFIX}"


def _write(path: Path, whole: bytes) -> None:
    import tempfile  # only here: most programs only read

    handle, made = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(whole)
        os.replace(made, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise


def _files() -> Iterator[tuple[Path, int, float]]:
    """Each file, with its size and when it was last used."""
    where = folder()
    if where is None:
        return
    try:
        entries = list(os.scandir(where))
    except OSError:
        return
    for entry in entries:
        # Also what a process left that died while it wrote.
        if entry.name.endswith(_SUFFIX) or entry.name.startswith(".new-"):
            with contextlib.suppress(OSError):
                told = entry.stat()
                yield Path(entry.path), told.st_size, told.st_mtime


def _evict() -> None:
    """Deletes what was used least recently, if all files are more than the bound."""
    found = sorted(_files(), key=lambda one: one[2])
    total = sum([size for _, size, _ in found])
    most = limit()
    if total <= most:
        return
    for path, size, _ in found:
        if total <= most * _LEFT:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size


__all__ = ["Usage", "clear", "discard", "folder", "limit", "load", "store", "usage"]
