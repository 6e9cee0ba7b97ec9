"""The Python in the documentation's pages runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "floats.md",
    "from-halide.md",
    "serialisation.md",
    "schedule/README.md",
    "schedule/loops.md",
    "schedule/storage.md",
    "schedule/threads.md",
    "schedule/rewriting.md",
    "schedule/fusing.md",
    "schedule/external.md",
)


def blocks() -> list[object]:
    """Every block of Python: the page, its line there, and the text."""
    found: list[object] = []
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
            line = text[: match.start(1)].count("\n")
            found.append(
                pytest.param(page, line, match.group(1), id=f"{page}:{line + 1}")
            )
    return found


@pytest.mark.parametrize(("page", "line", "code"), blocks())
def test_block(page: str, line: int, code: str) -> None:
    # The lines of the page, so that errors quote it.
    program = compile("\n" * line + code, str(DOCS / page), "exec")
    exec(program, {"__name__": "__main__"})
