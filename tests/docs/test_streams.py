"""The programs on the page about streams run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "streams.md"


def test_the_programs_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 5
    scope: dict[str, object] = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), scope)  # noqa: S102
    printed = capsys.readouterr().out
    assert "12 frames in, 12 out, none dropped" in printed
    assert "blur: 15 frames computed" in printed
