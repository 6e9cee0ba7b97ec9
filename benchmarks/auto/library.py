"""Schedules that are kept between runs: as text, or as a digest that tells of a change.

A file for each width of vectors. What takes minutes to find, by Adams2019 or by running
random schedules, is kept whole, under "searched". Our own schedulers find theirs again
in seconds: "digests" says which they were, and the texts go to `PRINTED`, where they
can be run from.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from parhelion.codegen.target import host_target

FOLDER = Path(__file__).parents[1] / "schedules"
#: Where what our schedulers print is written, which is no part of the project.
PRINTED = Path("out/schedules")


def _width() -> str:
    return f"{host_target().vector_bits}-bit"


def _path() -> Path:
    """The file for computers with vectors as wide as here."""
    return FOLDER / f"{_width()}.json"


def _read() -> dict[str, Any]:
    path = _path()
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _write(kind: str, scheduler: str, key: str, text: str) -> None:
    """Replaces the file as a whole, so that an interruption leaves the old one."""
    every, path = _read(), _path()
    of = every.setdefault(kind, {}).setdefault(scheduler.lower(), {})
    of[key] = text
    every[kind][scheduler.lower()] = dict(sorted(of.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(every, indent=1) + "\n")
    fresh.replace(path)


def _key(case: str, threads: int) -> str:
    return f"{case}_{threads}t"


def _told(kind: str, scheduler: str, case: str, threads: int) -> str | None:
    found: str | None = (
        _read().get(kind, {}).get(scheduler.lower(), {}).get(_key(case, threads))
    )
    return found


def digest(text: str) -> str:
    """The same for the same text, comments included."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def searched(scheduler: str, case: str, threads: int) -> str | None:
    """What a search came to, if there was one."""
    return _told("searched", scheduler, case, threads)


def keep_searched(scheduler: str, case: str, threads: int, text: str) -> None:
    _write("searched", scheduler, _key(case, threads), text)


def printed(scheduler: str, case: str, threads: int) -> Path:
    """The file of what one of our schedulers printed."""
    return PRINTED / _width() / scheduler.lower() / f"{_key(case, threads)}.py"


def keep_printed(scheduler: str, case: str, threads: int, text: str) -> None:
    """Keeps the digest, and writes the text."""
    path = printed(scheduler, case, threads)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    _write("digests", scheduler, _key(case, threads), digest(text))


def is_as_kept(scheduler: str, case: str, threads: int, text: str) -> bool:
    """Whether one of our schedulers still prints what it did."""
    return _told("digests", scheduler, case, threads) == digest(text)


def text(scheduler: str, case: str, threads: int) -> str | None:
    """A schedule to be run: what was searched for, else what was printed here."""
    found = searched(scheduler, case, threads)
    path = printed(scheduler, case, threads)
    return path.read_text() if found is None and path.exists() else found


__all__ = [
    "FOLDER",
    "PRINTED",
    "digest",
    "is_as_kept",
    "keep_printed",
    "keep_searched",
    "printed",
    "searched",
    "text",
]
