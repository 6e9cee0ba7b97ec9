"""``parhelion bench --against``, and what ``show`` shows of what ``run`` does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.support import done, refused

iio: Any = pytest.importorskip("imageio.v3")

OWN = """
import parhelion as hl
import numpy as np
x, y, c = hl.vars("x y c")
picture = hl.ImageParam(hl.UInt(8), 3, "picture")
clamped = hl.BoundaryConditions.mirror_interior(picture)
rows, mean = hl.Func("rows"), hl.Func("mean")
rows[x, y, c] = sum([hl.u16(clamped[x + k, y, c]) for k in (-1, 0, 1)])
mean[x, y, c] = hl.u8(
    (sum([rows[x, y + k, c] for k in (-1, 0, 1)]) + hl.u16(4)) / 9
)
AGAINST = {
    "numpy": lambda picture: picture + np.uint8(1),
    "wrong": lambda photo: photo,
    "broken": lambda picture: picture.nothing,
}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(1).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    iio.imwrite(tmp_path / "photo.png", pixels)
    return tmp_path / "photo.png"


def bench(own: Path, photo: Path, against: str) -> str:
    words = ("bench", f"{own}:mean", photo, "--seconds", 0.05, "--against", against)
    return done(*words).stdout.splitlines()[-1]


def test_an_expression_of_opencvs(own: Path, photo: Path) -> None:
    pytest.importorskip("cv2")
    said = bench(own, photo, "cv2.blur(picture, (3, 3))")
    assert re.match(
        r"cv2.blur\(picture, \(3, 3\)\): [\d.]+ ms at least, .*"
        r"mean is [\d.]+ times as (fast|slow); the results are equal",
        said,
    )


def test_the_files_table(own: Path, photo: Path) -> None:
    assert "numpy: " in bench(own, photo, "numpy")
    assert "the results differ by" in bench(own, photo, "numpy")


def test_rivals_that_are_not_there(own: Path, photo: Path) -> None:
    words = ("bench", f"{own}:mean", photo, "--against")
    said = refused(*words, "cv2")
    assert "has no rival 'cv2'" in said and "cv2.GaussianBlur(picture, " in said
    assert "numpy, wrong, broken" in said
    assert "takes 'photo', which the pipeline has not" in refused(*words, "wrong")
    assert "no attribute 'nothing'" in refused(*words, "broken")
    assert "no attribute 'nothing'" in refused(*words, "np.nothing(picture)")


def test_show_has_the_schedule_that_run_takes(
    own: Path, photo: Path, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    done("show", f"{own}:mean", photo, "-o", out)
    page = out.read_text()
    assert "found by Parhelion, for 64 × 48 × 3 pixels, as `run` does" in page
    assert "def schedule(" in page
    # All stages, those too that are inlined.
    assert "<b>rows</b>" in page and "<b>mean</b>" in page
    done("show", f"{own}:mean", "-o", out)
    assert "for 1536 × 1024 × 3 pixels" in out.read_text()


def test_a_schedule_of_the_file_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN + "\nmean.parallel(y)\n")
    out = tmp_path / "page.html"
    done("show", f"{file}:mean", "-o", out)
    page = out.read_text()
    assert "as the file has it" in page and "def schedule(" not in page
    done("show", f"{file}:mean", "-o", out, "--auto")
    assert "found by Parhelion" in out.read_text()


@pytest.mark.parametrize("with_image", [False, True])
def test_the_third_extent_is_guessed(
    own: Path, photo: Path, tmp_path: Path, with_image: bool
) -> None:
    if with_image:
        done("run", f"{own}:mean", photo, tmp_path / "out.png", "--size", "20x10")
        assert iio.imread(tmp_path / "out.png").shape == (10, 20, 3)
        return
    told = done("schedule", f"{own}:mean", "--size", "640x480")
    same = done("schedule", f"{own}:mean", "--size", "640x480x3")
    assert told.stdout == same.stdout and not same.stderr
    assert "is taken to be 3 colours" in told.stderr
    assert "has 3 dimensions" in refused("schedule", f"{own}:mean", "--size", "640")
