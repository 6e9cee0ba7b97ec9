"""What the site of the pages is made of; `make docs` itself checks its links."""

from __future__ import annotations

import re
from pathlib import Path

import parhelion as hl
from web import pages
from web.fences import fenced

ROOT = Path(__file__).resolve().parents[2]
NAVIGATION = re.findall(
    r"^ +- (?:Start: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE
)


def test_every_page_is_in_the_navigation_once() -> None:
    written = [p.relative_to(ROOT / "docs") for p in (ROOT / "docs").rglob("*.md")]
    made = ["gallery.md", *pages.reference()]
    assert sorted(NAVIGATION) == sorted([*map(str, written), *made])


def test_every_public_name_is_in_the_reference_once() -> None:
    text = "\n".join(pages.reference().values())
    told = re.findall(r"^::: parhelion\.(\w+)$", text, re.MULTILINE)
    packages = {"filters", "dask", "imageio"}
    assert sorted(told) == sorted({*pages.public_names()} - packages | packages)
    for name in told:
        assert hasattr(hl, name) or name in packages
    assert {"Func", "jit", "select", "TailStrategy", "HalideError"} <= {*told}


def test_every_package_has_a_file_of_its_own() -> None:
    """The reference finds no package without one."""
    for folder in (ROOT / "parhelion").rglob("*/"):
        if any(folder.glob("*.py")):
            assert (folder / "__init__.py").exists(), folder


def test_the_gallery_has_all_pictures_of_the_applications() -> None:
    shown = (ROOT / "docs" / "apps.md").read_text().count("](images/")
    assert pages.gallery().count("](images/") == shown > 10


def test_no_file_of_the_documentation_is_large() -> None:
    for path in (ROOT / "docs").rglob("*"):
        assert not path.is_file() or path.stat().st_size < 1 << 20, path


def test_examples_are_code() -> None:
    lines = ["Words.", "", ">>> 1 + 1", "2", "", "```text", ">>> 2", "```", ">>> 3"]
    assert fenced(lines) == [
        *("Words.", "", "```pycon", ">>> 1 + 1", "2", "```", ""),
        *("```text", ">>> 2", "```", "```pycon", ">>> 3", "```"),
    ]
