"""The pictures of the stages of recursive filters."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import parhelion as hl
from apps.recursive import stages
from tests.recfilter.test_by_tags import plane

PAGE = stages.IMAGES.parent / "recursive-filters.md"


def names(svg: str) -> set[str]:
    """The stages that a picture shows."""
    ElementTree.fromstring(svg)
    return set(re.findall(r'data-name="([^"]*)"', svg))


@pytest.mark.parametrize(
    ("name", "shown", "hidden"),
    [
        ("recursive_lines", {"f", "f_0", "f_0_out", "image"}, {"f_0_completedx"}),
        (
            "recursive_one",
            {"f_0_intrax0", "f_0_intrax_tails", "f_0_completedx", "f_0_finalx0", "f"},
            {"f_0_intrax1"},
        ),
        ("recursive_two", {"f_0_intrax1", "f_0_finalx1"}, {"f_0_enteringx"}),
        (
            "recursive_plane",
            {"f_0_enteringx", "f_0_x_y0", "f_0_completedy", "f_0_finaly1"},
            {"f_1_intrax0"},
        ),
        ("recursive_cascade", {"f_0", "f_1", "f_1_0_completedy"}, {"f_0_enteringx"}),
    ],
)
def test_what_is_drawn(
    name: str, shown: set[str], hidden: set[str], tmp_path: Path
) -> None:
    stages.DRAWN[name]().draw(tmp_path / "f.svg")
    found = names((tmp_path / "f.svg").read_text())
    assert shown <= found and not hidden & found, found


def test_the_pictures_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are small, and one command draws them."""
    monkeypatch.setattr(sys, "argv", ["stages", "--out", str(tmp_path)])
    stages.main()
    page = PAGE.read_text()
    for name in stages.DRAWN:
        kept = stages.IMAGES / f"{name}.svg"
        assert f"(images/{name}.svg)" in page
        assert kept.stat().st_size < 50_000
        assert names(kept.read_text()) == names((tmp_path / f"{name}.svg").read_text())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(hl.MissingFolderError, match="there is no folder"):
        plane("u32", 16, 8).draw(tmp_path / "nowhere" / "f.svg")
