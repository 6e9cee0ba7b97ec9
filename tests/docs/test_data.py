"""The programs on the page about data run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "data.md"


def test_the_programs_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) >= 3
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for number, program in enumerate(programs):
        # Each as a file of its own, so that errors quote its lines.
        file = tmp_path / f"program{number}.py"
        file.write_text(program)
        exec(compile(program, str(file), "exec"), scope)  # noqa: S102
