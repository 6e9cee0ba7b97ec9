"""``parhelion run`` on folders, patterns of names and videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.support import done, refused

iio: Any = pytest.importorskip("imageio.v3")

OWN = """
import parhelion as hl
x, y, c = hl.vars("x y c")
picture = hl.ImageParam(hl.UInt(8), 3, "picture")
other = hl.ImageParam(hl.UInt(8), 2, "other")
inverse, wide, both = hl.Func("inverse"), hl.Func("wide"), hl.Func("both")
inverse[x, y, c] = hl.u8(255) - picture[x, y, c]
wide[x, y, c] = hl.u8((hl.u16(picture[x, y, c]) + picture[x + 1, y, c]) / 2)
both[x, y, c] = picture[x, y, c] / 2 + other[x, y] / 2
pair = hl.Pipeline([inverse, wide])
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def picture(k: int, height: int = 20, width: int = 30) -> np.ndarray:
    rng = np.random.default_rng(k)
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pictures, one of another size, and a file that is none."""
    made = tmp_path / "in"
    made.mkdir()
    iio.imwrite(made / "a.png", picture(1))
    iio.imwrite(made / "b.png", picture(2))
    iio.imwrite(made / "c.tif", picture(3, 24, 18))
    (made / "notes.txt").write_text("no picture")
    return made


@pytest.mark.parametrize("how", ["folder", "pattern", "by name"])
def test_a_folder_of_pictures(
    own: Path, folder: Path, tmp_path: Path, how: str
) -> None:
    word = {"folder": f"{folder}", "pattern": f"{folder}/*.[pt]*", "by name": ""}[how]
    if how == "pattern":
        (folder / "notes.txt").unlink()
    word = word or f"picture={folder}"
    told = done("run", f"{own}:inverse", word, tmp_path / "out").stdout
    assert "3 pictures" in told
    written = {p.name: iio.imread(p) for p in (tmp_path / "out").iterdir()}
    assert sorted(written) == ["a.png", "b.png", "c.tif"]
    assert np.array_equal(written["a.png"], 255 - picture(1))
    assert np.array_equal(written["c.tif"], 255 - picture(3, 24, 18))


def test_each_picture_has_the_part_that_can_be_computed(
    own: Path, folder: Path, tmp_path: Path
) -> None:
    done("run", f"{own}:wide", folder, tmp_path / "out")
    assert iio.imread(tmp_path / "out" / "b.png").shape == (20, 29, 3)
    assert iio.imread(tmp_path / "out" / "c.tif").shape == (24, 17, 3)
    done("run", f"{own}:wide", folder, tmp_path / "out", "--size", "7x5x3")
    assert iio.imread(tmp_path / "out" / "c.tif").shape == (5, 7, 3)


def test_several_outputs_have_a_file_each(
    own: Path, folder: Path, tmp_path: Path
) -> None:
    done("run", f"{own}:pair", folder, tmp_path / "out", "--size", "16x10")
    names = sorted([p.name for p in (tmp_path / "out").iterdir()])
    assert names[:2] == ["a_inverse.png", "a_wide.png"] and len(names) == 6


def test_other_inputs_stay(own: Path, folder: Path, tmp_path: Path) -> None:
    mask = np.full((24, 30), 100, np.uint8)
    iio.imwrite(tmp_path / "mask.png", mask)
    (folder / "c.tif").unlink()
    out = tmp_path / "out"
    done("run", f"{own}:both", folder, tmp_path / "mask.png", out)
    assert np.array_equal(iio.imread(out / "b.png"), picture(2) // 2 + 50)


def test_what_cannot_be_read_is_told_of_in_the_end(
    own: Path, folder: Path, tmp_path: Path
) -> None:
    (folder / "aa.png").write_bytes(b"damaged")
    said = refused("run", f"{own}:inverse", folder, tmp_path / "out")
    assert "1 of 4 pictures failed" in said and "aa: " in said
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_what_is_refused(own: Path, folder: Path, tmp_path: Path) -> None:
    where = f"{own}:inverse"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no picture" in refused("run", where, empty, tmp_path / "out")
    said = refused("run", where, f"{folder}/*.jpg", tmp_path / "out")
    assert "no file is called" in said
    said = refused("run", where, folder, tmp_path / "out.png")
    assert "is one file, and the input many pictures" in said
    assert "is an input" in refused("run", where, folder, folder)
    said = refused("run", where, folder / "a.png", tmp_path / "out.mp4")
    assert "out.mp4 is a video" in said
    assert "no file" in refused("run", where, tmp_path / "no.mp4", tmp_path / "out")
    said = refused("run", f"{own}:both", folder, folder, tmp_path / "out")
    assert "only one input may be many pictures" in said
    said = refused("run", f"{own}:pair", folder, tmp_path / "out.gif", "--size", "9x9")
    assert "a video takes one output" in said
    (folder / "b.png").unlink()
    said = refused("run", where, folder, tmp_path / "out.gif")
    assert "frames of one size make a video" in said


def grey_frames(count: int, height: int, width: int) -> np.ndarray:
    """Frames of one level each, which video codecs keep nearly."""
    levels = np.linspace(20, 200, count).astype(np.uint8)
    return np.broadcast_to(levels[:, None, None, None], (count, height, width, 3))


def test_moving_gifs(own: Path, tmp_path: Path) -> None:
    frames = grey_frames(5, 16, 24)
    iio.imwrite(tmp_path / "in.gif", frames, duration=40, loop=0)
    out = tmp_path / "out.gif"
    told = done("run", f"{own}:inverse", tmp_path / "in.gif", out).stdout
    assert "5 pictures, the last 24 x 16 x 3" in told
    made = iio.imread(out, mode="RGB")
    assert np.array_equal(made, 255 - frames)
    assert iio.immeta(out)["duration"] == 40
    # As pictures, and back from these.
    done("run", f"{own}:inverse", tmp_path / "in.gif", tmp_path / "frames")
    names = sorted([p.name for p in (tmp_path / "frames").iterdir()])
    assert names[0] == "frame_00000.png" and len(names) == 5
    done("run", f"{own}:inverse", tmp_path / "frames", tmp_path / "again.gif")
    assert np.array_equal(iio.imread(tmp_path / "again.gif", mode="RGB"), frames)
    # One picture of a moving GIF, as before.
    done("run", f"{own}:inverse", tmp_path / "in.gif", tmp_path / "one.png")
    assert np.array_equal(iio.imread(tmp_path / "one.png"), 255 - frames[0])


@pytest.mark.parametrize("size", [(16, 24), (17, 25)])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_videos(own: Path, tmp_path: Path, size: tuple[int, int], suffix: str) -> None:
    pytest.importorskip("av")
    frames = grey_frames(6, *size)
    source = tmp_path / f"in{suffix}"
    with iio.imopen(source, "w", plugin="pyav") as file:
        file.init_video_stream("libx264", fps=12, pixel_format="yuv444p")
        for frame in frames:
            file.write_frame(frame)
    out = tmp_path / f"out{suffix}"
    done("run", f"{own}:inverse", source, out)
    with iio.imopen(out, "r", plugin="pyav") as file:
        made = np.stack(list(file.iter(format="rgb24")))
        assert file.metadata()["fps"] == 12
    assert made.shape == frames.shape
    assert np.abs(made.astype(int) - (255 - frames.astype(int))).max() <= 6


def test_a_damaged_video(own: Path, tmp_path: Path) -> None:
    (tmp_path / "in.gif").write_bytes(b"GIF89a and no more")
    said = refused("run", f"{own}:inverse", tmp_path / "in.gif", tmp_path / "out.gif")
    assert "in.gif cannot be" in said
