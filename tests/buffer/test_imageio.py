"""Image files: planar in memory, interleaved on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion import imageio

pytest.importorskip("imageio")

RNG = np.random.default_rng(1)
PHOTO = RNG.integers(0, 255, (6, 9, 3), np.uint8)


def test_layouts_are_told_apart() -> None:
    assert imageio.is_interleaved(PHOTO)
    assert imageio.is_interleaved(PHOTO.astype(np.float32))
    assert not imageio.is_interleaved(PHOTO.transpose(2, 0, 1))
    assert not imageio.is_interleaved(PHOTO[:, :, 0])
    assert not imageio.is_interleaved(np.zeros((3, 6, 9), np.uint8))


def test_copies_between_layouts() -> None:
    planar = imageio.copy_to_planar(PHOTO)
    assert planar.shape == (3, 6, 9)
    assert planar.flags.c_contiguous
    assert (planar == PHOTO.transpose(2, 0, 1)).all()
    back = imageio.copy_to_interleaved(planar)
    assert (back == PHOTO).all()
    grey = PHOTO[:, :, 0]
    for copy in (imageio.copy_to_planar(grey), imageio.copy_to_interleaved(grey)):
        assert (copy == grey).all()
        assert not np.shares_memory(copy, grey)


def test_files_round_trip(tmp_path: Path) -> None:
    planar = imageio.copy_to_planar(PHOTO)
    for image in (planar, PHOTO, hl.Buffer(planar)):
        imageio.imwrite(tmp_path / "a.png", image)
        assert (imageio.imread(tmp_path / "a.png") == planar).all()
    imageio.imwrite(tmp_path / "g.png", PHOTO[:, :, 0])
    assert (imageio.imread(tmp_path / "g.png") == PHOTO[:, :, 0]).all()
    b = hl.Buffer(imageio.imread(tmp_path / "a.png"))
    assert (b.width(), b.height(), b.channels()) == (9, 6, 3)
