"""The programs on the page about gradients run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "differentiation.md"


def test_the_programs_of_the_page(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 5
    # Each as a file of its own, so that errors quote its lines.
    scope: dict[str, object] = {}
    for number, program in enumerate(programs):
        file = tmp_path / f"program{number}.py"
        file.write_text(program)
        exec(compile(program, str(file), "exec"), scope)  # noqa: S102
