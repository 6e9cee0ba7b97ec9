"""The programs on the page about images beyond memory run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "large-images.md"


def test_the_programs_of_the_page(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = PAGE.read_text()
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(programs) == 10
    # Each as a file of its own, so that errors quote its lines.
    scope: dict[str, object] = {}
    printed = ""
    for number, program in enumerate(programs):
        file = tmp_path / f"program{number}.py"
        file.write_text(program)
        exec(compile(program, str(file), "exec"), scope)  # noqa: S102
        shown = capsys.readouterr().out
        # What comments and the page say is printed.
        for comment in re.findall(r"print\(.*\)  # (.*)", program):
            assert comment in shown
        printed += shown
    (told,) = re.findall(r"```\n(sharpen: .*?)```", text, re.DOTALL)
    assert re.sub(r"\$\d+", "", told) in re.sub(r"\$\d+", "", printed)
