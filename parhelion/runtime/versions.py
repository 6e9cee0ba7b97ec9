"""The versions that keys of the persistent cache contain."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from parhelion.ir.digest import digest
from parhelion.schedule.keys import key_of
from parhelion.version import VERSION


@functools.cache
def compiler() -> tuple[str, ...]:
    """Returns the versions of this compiler and of LLVM, and a digest of the times when
    the files of the passes were last changed."""
    import llvmlite

    return (VERSION, llvmlite.__version__, of_folders(("", *_PASSES)))


def of_folders(parts: tuple[str, ...]) -> str:
    """Returns a digest of the times when the files of some folders of the package were
    last changed."""
    stamps: list[str] = []
    for part in parts:
        for entry in sorted(os.scandir(ROOT / part), key=lambda e: e.name):
            if entry.name.endswith(_SOURCES):
                told = entry.stat()
                stamps.append(f"{part}/{entry.name} {told.st_size} {told.st_mtime_ns}")
    return digest("\n".join(stamps).encode()).hex()


#: The folder of the package, and the folders of what decides about code.
ROOT = Path(__file__).parent.parent
_PASSES = (
    *("ir", "analysis", "simplify", "schedule", "lower"),
    *("codegen", "codegen/c", "codegen/x86", "codegen/nvptx", "runtime"),
)
#: What the names of files end in that decide about anything.
_SOURCES = (".py", ".lark")


def digest_of(text: str, target: object) -> str:
    """Returns the name in the cache for the code of a module's text on a target."""
    return key_of((compiler(), text, target)).digest


__all__ = ["ROOT", "compiler", "digest_of", "of_folders"]
