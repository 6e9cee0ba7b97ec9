"""The program of docs/ahead-of-time.md runs as it stands, and its words are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parhelion.runtime import cache

PAGE = Path(__file__).parent.parent.parent / "docs" / "ahead-of-time.md"


def test_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, str(PAGE), "exec"), {})  # noqa: S102
    written = sorted(p.name for p in tmp_path.iterdir())
    assert written == ["bright.a", "bright.h", "bright_arm.h", "bright_arm.o"]


def test_the_cache_is_as_large_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARHELION_CACHE_MB", raising=False)
    assert f"more\nthan {cache.limit() >> 20} MB" in PAGE.read_text()
