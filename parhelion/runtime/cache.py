"""The persistent cache: files of compiled code in the user's cache folder.

A file's name is the digest of all that its contents depend on; its contents begin with
a digest of them and of the name, and a file that does not match it is deleted and never
used. It is written under another name and then renamed, so that no other process sees
half of it. Whatever goes wrong with the disk (full, read-only, gone) costs a
compilation and nothing else. A folder that another user owns or may write to is not
used, which a warning says.

How much there is is known by a file beside them (`_Tally`), so that storing takes the
same time however many there are; the folder is looked through only when the bound may
be passed.

``PARHELION_CACHE`` turns it off (``0`` or ``off``) or puts it elsewhere (a path);
``PARHELION_CACHE_MB`` bounds its size (512): beyond that, what was used least recently
goes.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from parhelion.dataclass import dataclass
from parhelion.ir.digest import SIZE, digest
from parhelion.runtime.environment import number, warn
from parhelion.runtime.folders import cache_folder, distrust, read_own

#: What every file begins with, and changes when the format does.
_MAGIC = b"parhelion cache 3\n"
_SUFFIX = ".bin"
#: What the names of files begin with that are being written.
_NEW = ".new-"
#: The bound on the sum of all files, in MiB, unless the environment has another.
_DEFAULT_MB = 512
#: When the bound is passed, this much of it is left.
_LEFT = 0.8


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
    given, wrong = number("PARHELION_CACHE_MB", "megabytes")
    if wrong:
        warn("PARHELION_CACHE_MB", wrong, f"the bound of the cache is {_DEFAULT_MB}")
    return (_DEFAULT_MB if given is None else given) << 20


def load(name: str) -> bytes | None:
    """The contents that were stored under a name; None if there are none that are
    whole."""
    path = _path(name)
    if path is None:
        return None
    raw = read_own(path)
    if raw is None:
        return None
    start = len(_MAGIC) + SIZE
    told, contents = raw[len(_MAGIC) : start], raw[start:]
    if not raw.startswith(_MAGIC) or _digest(name, contents) != told:
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
    whole = _MAGIC + _digest(name, contents) + contents
    most = limit()
    if len(whole) > most:
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _path(name) is None:
            return  # it was made by another meanwhile
        _write(path, whole)
        known = _Tally(path.parent).add(len(whole))
    except OSError:
        return
    if known is None or known > most:
        _evict(path.parent, most)


def _digest(name: str, contents: bytes) -> bytes:
    """Returns the digest of contents together with their name.

    So a file that was renamed to another's name is found to be damaged.
    """
    return digest(name.encode() + b"\n" + contents)


def discard(name: str) -> None:
    """Deletes what was stored under a name."""
    path = _path(name)
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink()


def clear() -> int:
    """Deletes all files, and returns how many there were."""
    where = folder()
    if where is None:
        return 0
    count = 0
    for path, _, _ in _files(where):
        with contextlib.suppress(OSError):
            path.unlink()
            count += 1
    with contextlib.suppress(OSError):
        _Tally(where).path.unlink()
    return count


def usage() -> Usage:
    """Returns how much is kept, and where."""
    where = folder()
    sizes = [] if where is None else [size for _, size, _ in _files(where)]
    return Usage(where, len(sizes), sum(sizes), limit())


def _path(name: str) -> Path | None:
    """Where a name's file is; None if the cache is off, or its folder not to be
    trusted, which a warning says."""
    where = folder()
    if where is None:
        return None
    wrong = distrust(where)
    if wrong:
        warn(
            "PARHELION_CACHE",
            f"the folder {str(where)!r}, where compiled code would be kept, {wrong}",
            "nothing is read from it or stored there. PARHELION_CACHE names another "
            "folder, or is off",
        )
        return None
    return where / f"{name}{_SUFFIX}"


def _write(path: Path, whole: bytes) -> None:
    import tempfile  # only here: most programs only read

    handle, made = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(whole)
        try:
            os.replace(made, path)
        except IsADirectoryError:
            path.rmdir()  # where it is empty
            os.replace(made, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise


class _Tally:
    """How much a cache's folder holds, told by the length of one file.

    It begins with the number of pages of 512 bytes that there were when the folder was
    last looked through; then there is a byte for each page that was stored since. So to
    add is to append, which processes do at once without a lock, and to know is to ask
    for the length. It may be wrong: files that were deleted or replaced are counted,
    and what was appended while the folder was looked through is not. It only decides
    when the folder is looked through again.
    """

    _PAGE = 512
    _HEAD = 16

    def __init__(self, where: Path) -> None:
        self.path = where / "tally"

    def add(self, size: int) -> int | None:
        """Adds a file of so many bytes; returns the bytes that there are now, None if
        that is not known. Raises OSError."""
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(self.path, flags)
        except OSError:
            return None
        try:
            os.write(handle, b"." * -(-size // self._PAGE))
            told = os.fstat(handle)
            head = os.pread(handle, self._HEAD, 0)
        finally:
            os.close(handle)
        if not stat.S_ISREG(told.st_mode) or not head[:-1].isdigit():
            return None
        return (int(head) + told.st_size - self._HEAD) * self._PAGE

    def set(self, size: int) -> None:
        """Begins anew with so many bytes. Raises OSError."""
        _write(self.path, b"%0*d\n" % (self._HEAD - 1, -(-size // self._PAGE)))


def _files(where: Path) -> Iterator[tuple[Path, int, float]]:
    """Each file, with its size and when it was last used."""
    try:
        entries = list(os.scandir(where))
    except OSError:
        return
    for entry in entries:
        # Also what a process left that died while it wrote.
        if entry.name.endswith(_SUFFIX) or entry.name.startswith(_NEW):
            with contextlib.suppress(OSError):
                told = entry.stat(follow_symlinks=False)
                yield Path(entry.path), told.st_size, told.st_mtime


def _evict(where: Path, most: int) -> None:
    """Deletes what was used least recently, if all files are more than the bound."""
    found = sorted(_files(where), key=lambda one: one[2])
    total = sum([size for _, size, _ in found])
    if total > most:
        for path, size, _ in found:
            if total <= most * _LEFT:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
    with contextlib.suppress(OSError):
        _Tally(where).set(total)


__all__ = ["Usage", "clear", "discard", "folder", "limit", "load", "store", "usage"]
