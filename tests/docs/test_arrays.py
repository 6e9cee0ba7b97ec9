"""The programs on the page about whole arrays run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "arrays.md"


def test_the_programs_of_the_page(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 7
    # Each as a file of its own, so that errors quote its lines.
    scope: dict[str, object] = {}
    for number, program in enumerate(programs):
        file = tmp_path / f"program{number}.py"
        file.write_text(program)
        exec(compile(program, str(file), "exec"), scope)  # noqa: S102
    printed = "".join(capsys.readouterr())
    assert "produce sharpen" in printed
    assert "return image if image.mean() < 99 else image // 2" in printed
