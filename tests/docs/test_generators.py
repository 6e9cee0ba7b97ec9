"""The programs on the page about Generators run, one after the other."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.generator.test_extension import linked

PAGE = Path(__file__).parent.parent.parent / "docs" / "generators.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def run(programs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    scope: dict[str, object] = {"__name__": "page"}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), scope)  # noqa: S102


def test_the_programs_without_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(PROGRAMS) == 4
    run(PROGRAMS[:3], monkeypatch)


@linked
def test_all_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    run(PROGRAMS, monkeypatch)
