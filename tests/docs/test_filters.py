"""The page about filters: its programs run, and its table has all filters."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from tests.docs.test_public_docstrings import filters_of

PAGE = Path(__file__).parent.parent.parent / "docs" / "filters.md"
TEXT = PAGE.read_text()


def test_the_programs_of_the_page(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(programs) == 2
    scope: dict[str, object] = {}
    for number, program in enumerate(programs):
        file = tmp_path / f"program{number}.py"
        file.write_text(program)
        exec(compile(program, str(file), "exec"), scope)  # noqa: S102


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    part = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [one for one in part.splitlines() if one.startswith("|")][2:]
    return [[cell.strip() for cell in one.strip("|").split("|")] for one in lines]


def test_the_table_has_all_filters() -> None:
    found = [n for row in rows("What is there") for n in re.findall(r"`(\w+)`", row[0])]
    assert sorted(found) == filters_of(hl.filters)


def test_the_borders_are_as_drawn() -> None:
    image = np.array([[1, 2, 3, 4]], np.uint8)
    letters = dict(zip("abcd", range(1, 5), strict=True)) | {"v": 9}
    for names, drawn, others in rows("Borders"):
        wanted = [letters[c] for c in drawn.strip("`").replace(" ", "")]
        words = re.findall(r'`"?(\w+)"?`', f"{names} {others.split(';')[0]}")
        for word in words:
            found = [
                int(hl.filters.correlate(image, [weights], word, value=9)[0, k])
                for weights, k in (
                    ([1, 0, 0, 0, 0, 0, 0], 0),
                    ([0, 1, 0, 0, 0, 0, 0], 0),
                    ([0, 0, 1, 0, 0, 0, 0], 0),
                    *[([0, 0, 0, 1, 0, 0, 0], k) for k in range(4)],
                    ([0, 0, 0, 0, 1, 0, 0], 3),
                    ([0, 0, 0, 0, 0, 1, 0], 3),
                    ([0, 0, 0, 0, 0, 0, 1], 3),
                )
            ]
            assert found == wanted, word


@pytest.mark.parametrize("name", filters_of(hl.filters))
def test_docstrings_say_what_is_asked(name: str) -> None:
    doc = getattr(hl.filters, name).__doc__
    assert "Formula:" in doc or "`erode`" in doc
    assert "Raises" in doc or "errors are those" in doc
    assert ">>> " in doc
