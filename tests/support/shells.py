"""A shell of IPython for tests of notebooks, of which nothing stays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest


def ipython(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns an `InteractiveShell` that keeps its files in a folder of the test's.

    It tells Python that somebody types (`sys.ps1`) and has a `__main__` of its own.
    Both end with the test: a Generator that exists already is refused in programs only.
    """
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    for prompt in ("ps1", "ps2", "ps3"):
        monkeypatch.setattr(sys, prompt, "", raising=False)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    shell = interactive.InteractiveShell()
    shell.history_manager.enabled = False
    return shell
