"""Pages that are programs: they print what stands on them, and draw their pictures."""

from __future__ import annotations

import io
import re
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest

from tests.docs.guide import DOCS, run

LESSONS = sorted(DOCS.glob("lessons/[0-9]*.md"))
#: Pages about other packages, each with the module that it needs.
HOW_TO = {"opencv": "cv2", "video": "cv2", "pytorch": "torch"}
PAGES = [
    DOCS / "README.md",
    DOCS / "language.md",
    *LESSONS,
    *[DOCS / f"{name}.md" for name in HOW_TO],
]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.stem))
def test_a_page(page: Path) -> None:
    if page.stem in HOW_TO:
        pytest.importorskip(HOW_TO[page.stem])
    made = run(page)
    assert made.blocks
    assert made.text == page.read_text(), f"python -m tests.docs.guide {page}"
    named = re.findall(r"images/(lesson_[\w.-]+)\)", made.text)
    assert sorted(set(named)) == sorted(made.pictures)
    for name, content in made.pictures.items():
        kept = np.asarray(iio.imread(DOCS / "images" / name), np.float64)
        drawn = np.asarray(iio.imread(io.BytesIO(content)), np.float64)
        assert kept.shape == drawn.shape
        # Encoders differ a little from version to version.
        assert np.abs(kept - drawn).mean() < 4


def test_the_language_stands_by_itself() -> None:
    assert "halide" not in (DOCS / "language.md").read_text().lower()


def test_there_are_ten_lessons() -> None:
    numbers = [p.name[:2] for p in LESSONS]
    assert numbers == [f"{k:02}" for k in range(1, 11)]
