"""Where on the disk the library keeps things of its own: the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``parhelion`` in the user's cache folder: in ``$XDG_CACHE_HOME``, if that is an
    absolute path (the XDG Base Directory Specification wants any other ignored), else
    in ``~/.cache``. It need not exist. Raises RuntimeError for a user without home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return folder / "parhelion"


__all__ = ["cache_folder"]
