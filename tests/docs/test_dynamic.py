"""The programs on the page about computing on demand run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "dynamic.md"


def test_the_programs_of_the_page() -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 7
    scope: dict[str, object] = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), scope)  # noqa: S102
