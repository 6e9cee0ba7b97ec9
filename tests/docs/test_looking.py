"""The programs on the page about profiles, reports, traces and animations run, one
after the other, and its table is the one that is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "looking.md"


def test_the_programs_of_the_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (table,) = re.findall(r"```\n(blur_y: storage.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 5
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), scope)  # noqa: S102
    printed = capsys.readouterr().out
    # How vectors load at the edges is the machine's affair.
    steady = [line for line in table.splitlines() if "lane by lane" not in line]
    assert all(line in printed for line in steady)
    assert "1056 TraceEvent(kind='store', func='blur_x'" in printed
    assert (tmp_path / "blur.html").exists()
