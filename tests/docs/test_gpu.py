"""The programs on the page about kernels run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "gpu.md"


def test_the_programs_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")  # as the page sets it
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 9
    scope: dict[str, object] = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), scope)  # noqa: S102
