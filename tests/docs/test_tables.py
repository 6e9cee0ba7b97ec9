"""The tables of the pages: none has rows outside, and names in them exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import parhelion as hl

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def tables(page: Path) -> Iterator[list[tuple[int, str]]]:
    """The runs of lines that begin with a bar, each line with its number, outside of
    blocks of code."""
    found: list[tuple[int, str]] = []
    code = False
    for number, line in enumerate([*page.read_text().splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            code = not code
        if line.startswith("|") and not code:
            found.append((number, line))
        elif found:
            yield found
            found = []


def cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))) - 1


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_rows_stand_in_tables(page: Path) -> None:
    for table in tables(page):
        number, _ = table[0]
        assert len(table) > 1, f"{page}:{number}: a row without a table"
        rule = table[1][1]
        assert re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", rule), f"{page}:{number}: no head"
        for at, line in table:
            assert cells(line) == cells(rule), f"{page}:{at}: other columns"


#: Where a method of the tables may be.
OWNERS = (hl.Func, hl.Stage, hl.Pipeline, hl)


def test_every_directive_of_the_table_exists() -> None:
    page = ROOT / "docs" / "schedule" / "README.md"
    names = [
        name
        for table in tables(page)
        for _, line in table
        for name in re.findall(r"`([a-z_]\w+)\(", line.split("|")[1])
    ]
    assert len(names) > 40
    for name in names:
        assert any([hasattr(owner, name) for owner in OWNERS]), name


def test_todays_names_of_the_2012_paper_exist() -> None:
    (table, *_) = tables(ROOT / "docs" / "from-halide.md")
    names = [
        name
        for _, line in table[2:]
        for name in re.findall(r"`(?:hl\.)?([A-Za-z_]\w+)[`(]", line.split("|")[2])
    ]
    assert {"compute_root", "compile_to_file", "gpu_tile", "ImageParam"} <= set(names)
    for name in names:
        assert any([hasattr(owner, name) for owner in OWNERS]), name


def test_nothing_that_is_there_is_said_to_be_missing() -> None:
    """Names on lines that say that something is not there yet."""
    allowed = {"hexagon", "copy_to_device"}
    for page in PAGES:
        for line in page.read_text().splitlines():
            if re.search(r"not (yet )?(implemented|available)", line):
                for name in re.findall(r"`(?:hl\.)?(\w+)[`(]", line):
                    there = any([hasattr(owner, name) for owner in OWNERS])
                    assert not there or name in allowed, f"{page}: {name}"
