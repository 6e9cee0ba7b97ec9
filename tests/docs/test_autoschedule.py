"""The programs on the page about automatic schedules run, one after the other.

Whichever scheduler is behind the name: what the page shows is how it is asked, and what
can be done with its answer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import parhelion as hl
from parhelion.lang import autoscheduling

PAGE = Path(__file__).parent.parent.parent / "docs" / "autoschedule.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_programs_of_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(autoscheduling, "_SCHEDULERS", {})
    hl.register_autoscheduler("Parhelion", "tests.autoschedule.toy:TOY")
    assert len(PROGRAMS) == 7
    scope: dict[str, object] = {}
    for program in PROGRAMS:
        exec(compile(program, str(PAGE), "exec"), scope)  # noqa: S102
    printed = capsys.readouterr().out
    assert "def schedule(pipeline):" in printed and "runner-up" in printed


def test_the_program_for_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = [p for p in PROGRAMS if "CUDA" in p]
    x, y = hl.vars("x y")
    exec(compile(program, str(PAGE), "exec"), {"hl": hl, "x": x, "y": y})  # noqa: S102
    assert ".gpu_blocks(x, y)" in capsys.readouterr().out
