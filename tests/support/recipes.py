"""The recipes of docs/architecture.md, and the files that a toy of one touches."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "parhelion"
_RECIPE = re.compile(r"^- \*\*([^*]+)\*\* \((\d+) files?: ([^)]*)\)", re.MULTILINE)


def recipes() -> dict[str, tuple[int, frozenset[str]]]:
    """By its name, how many files each recipe says that it touches, and which: those
    that are changed, and the folders of new ones (with a slash at the end)."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    found: dict[str, tuple[int, frozenset[str]]] = {}
    for name, count, files in _RECIPE.findall(text):
        paths = re.findall(r"`([^`]+)`", files)
        assert len(paths) == len(set(paths)), name
        found[name] = (int(count), frozenset(paths))
    return found


def touched(name: str) -> frozenset[str]:
    """The files that a recipe touches."""
    return recipes()[name][1]


class Toy:
    """Puts a toy into the compiler, and notes in which files it would be written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.files: set[str] = set()

    def put(self, module: ModuleType, name: str, value: object) -> None:
        """Gives a module another value, or one more."""
        self._note(module)
        self._patch.setattr(module, name, value, raising=False)

    def enter(self, module: ModuleType, table: str, key: str, value: object) -> None:
        """Adds an entry to a table of a module's."""
        self._note(module)
        self._patch.setitem(getattr(module, table), key, value)

    def method(self, kind: type, module: ModuleType, name: str, value: object) -> None:
        """Gives a class a method, which stands in a module."""
        self._note(module)
        self._patch.setattr(kind, name, value, raising=False)

    def add(self, folder: str) -> None:
        """Notes a new file."""
        self.files.add(folder)

    def _note(self, module: ModuleType) -> None:
        assert module.__file__ is not None
        self.files.add(Path(module.__file__).relative_to(PACKAGE).as_posix())


__all__ = ["PACKAGE", "Toy", "recipes", "touched"]
