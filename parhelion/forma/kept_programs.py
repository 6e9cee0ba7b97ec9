"""Programs whose code is in the cache: what calls of them have to know, kept beside it.

A text that was compiled before is not read again, nor are its stages made, fused and
scheduled: what it takes and returns (`interface.py`) and what its code takes
(`lang/ready.py`) stand in a record, under the digest of the text and of all that
decides what becomes of it.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from contextlib import suppress

from parhelion.codegen.target import host_target
from parhelion.dataclass import dataclass
from parhelion.forma import interface
from parhelion.forma.compilation import is_automatic
from parhelion.forma.interface import Interface
from parhelion.forma.kept import is_kept
from parhelion.forma.spans import Source
from parhelion.ir.digest import digest
from parhelion.lang.callable import Callable
from parhelion.lang.ready import ReadyCode, ready_record
from parhelion.lang.target_api import Target
from parhelion.runtime import cache, versions
from parhelion.runtime.expr_records import NotRecordable
from parhelion.runtime.records import NO_RECORD

#: The folders of what decides about schedules and arguments, besides those of passes.
_FOLDERS = ("forma", "lang")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be compiled: a text, by a scheduler, for a target."""

    source: Source
    scheduler: str | None
    target: Target

    def name(self) -> str | None:
        """What the record is called; None where nothing is kept."""
        if is_automatic(self.scheduler) or "PARHELION_DUMP" in os.environ:
            return None  # made by measuring, or to be looked at
        if not is_kept():
            return None
        asked = f"{self.scheduler!r} {self.target}"
        text = f"a program of Forma\n{_version()}\n{asked}\n{self.source.text}"
        told = digest(text.encode(errors="surrogatepass")).hex()
        return versions.digest_of(told, host_target())


@functools.cache
def _version() -> str:
    return f"{sys.hexversion} {versions.of_folders(_FOLDERS)}"


def find(asked: Asked) -> tuple[Interface, ReadyCode] | None:
    """What calls of a program need that was compiled before; None if it was not."""
    name = asked.name()
    raw = None if name is None else cache.load(name)
    if name is None or raw is None:
        return None
    try:
        told = json.loads(raw)
        made = interface.read(told["interface"], asked.source)
        return made, ReadyCode(told["code"])
    except NO_RECORD:
        cache.discard(name)
        return None


def keep(asked: Asked, made: Interface, code: Callable) -> None:
    """Keeps what calls of a program need for other processes, if anything is kept."""
    name = asked.name()
    if name is None:
        return
    with suppress(NotRecordable):
        told = {"interface": interface.written(made), "code": ready_record(code)}
        cache.store(name, json.dumps(told).encode())


__all__ = ["Asked", "find", "keep"]
