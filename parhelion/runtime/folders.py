"""Where on the disk the library keeps things of its own, and what it believes of them.

Compiled code that is loaded from a file can do anything that its user can: so only
files are read that belong to the user and that nobody else may write, in a folder of
which the same holds.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

#: The permission of others than the owner to write.
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Never waits for a writer of a FIFO.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def cache_folder() -> Path:
    """``parhelion`` in the user's cache folder: in ``$XDG_CACHE_HOME``, if that is an
    absolute path (the XDG Base Directory Specification wants any other ignored), else
    in ``~/.cache``. It need not exist. Raises RuntimeError for a user without home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return folder / "parhelion"


def distrust(folder: Path) -> str:
    """Returns why the files of a folder are not to be believed, as the rest of a
    sentence about it; "" if they are, or if there is no such folder."""
    try:
        told = folder.stat()
    except NotADirectoryError:
        return "would be inside of a file"
    except OSError:
        return ""
    if not stat.S_ISDIR(told.st_mode):
        return "is no folder, but a file"
    if told.st_uid != os.geteuid():
        return f"belongs to the user {told.st_uid}, and this one is {os.geteuid()}"
    if told.st_mode & _OTHERS_WRITE:
        return f"may be written by others (its mode is {stat.S_IMODE(told.st_mode):o})"
    return ""


def read_own(path: Path) -> bytes | None:
    """Returns what a file of the user's own holds that only the user may write. None
    for everything else that may stand in its place: nothing, a link, a FIFO, a device,
    a folder, a file of another's."""
    try:
        # Asked before it is opened, as to open a device may have effects.
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        handle = os.open(path, _READ | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        told = os.fstat(handle)
        if (
            not stat.S_ISREG(told.st_mode)
            or told.st_uid != os.geteuid()
            or told.st_mode & _OTHERS_WRITE
        ):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def read_regular(path: Path, most: int) -> bytes | None:
    """Returns the first `most` bytes of a file; None for what is no regular file, such
    as a FIFO, which could be waited for. Raises OSError."""
    # Asked before it is opened, as to open a device may have effects.
    if not stat.S_ISREG(os.stat(path).st_mode):
        return None
    with open(os.open(path, _READ), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        return file.read(most)


__all__ = ["cache_folder", "distrust", "read_own", "read_regular"]
