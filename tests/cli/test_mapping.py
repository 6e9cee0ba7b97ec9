"""``parhelion map``: images larger than memory on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

click = pytest.importorskip("click")
pytest.importorskip("dask.array")
zarr: Any = pytest.importorskip("zarr")

from click.testing import CliRunner  # noqa: E402

from parhelion.cli.main import commands  # noqa: E402
from parhelion.cli.problem import Problem  # noqa: E402
from parhelion.errors import HalideError  # noqa: E402

PROGRAM = """
import parhelion as hl
x, y = hl.vars("x y")
picture = hl.ImageParam(hl.UInt(8), 2, "picture")
gain = hl.Param(hl.Int(32), "gain", 1)
edge = hl.BoundaryConditions.repeat_edge(picture)
out, counts, share = hl.funcs("out counts share")
out[x, y] = hl.u8(hl.i32(edge[x + 1, y]) * gain)
r = hl.RDom([(0, picture.width()), (0, picture.height())])
counts[x] = 0
counts[hl.i32(picture[r.x, r.y])] += 1
counts.compute_root()
share[x, y] = counts[hl.i32(picture[x, y])]
"""
PIXELS = np.random.default_rng(4).integers(0, 100, (90, 120), np.uint8)
RIGHT = np.pad(PIXELS, ((0, 0), (0, 1)), "edge")[:, 1:]


def said(*words: object) -> str:
    done = CliRunner().invoke(commands, ["map", *[str(w) for w in words]])
    if done.exception is not None:
        raise done.exception
    return str(done.output)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    made = zarr.create_array(
        store=str(tmp_path / "in.zarr"), shape=(90, 120), chunks=(32, 32), dtype="u1"
    )
    made[:] = PIXELS
    return tmp_path


def test_a_store_becomes_another_one_and_nothing_twice(place: Path) -> None:
    words = [f"{place / 'program.py'}:out", place / "in.zarr", place / "out.zarr"]
    told = said(*words, "-p", "gain=2", "--workers", 2)
    assert "out.zarr: 120x90 uint8, " in told and ", 0 were there" in told
    assert (np.asarray(zarr.open_array(str(place / "out.zarr"))) == RIGHT * 2).all()
    assert (
        said(*words, "-p", "gain=2", "--workers", 2).split(", ")[1].startswith("0 of")
    )
    with pytest.raises(HalideError, match="another pipeline, its numbers"):
        said(*words, "-p", "gain=1", "--workers", 2)
    said(*words, "-p", "gain=1", "--workers", 2, "--overwrite")
    assert (np.asarray(zarr.open_array(str(place / "out.zarr"))) == RIGHT).all()


def test_reductions_and_other_files_and_sizes(place: Path) -> None:
    np.save(place / "in.npy", PIXELS)
    program = place / "program.py"
    told = said(
        *(f"{program}:share", f"picture={place / 'in.npy'}", place / "share.zarr"),
        *("--whole", "--memory", "300kB", "--workers", 2),
    )
    assert "share.zarr: 120x90 int32" in told
    counts = np.bincount(PIXELS.ravel(), minlength=256)
    found = np.asarray(zarr.open_array(str(place / "share.zarr")))
    assert (found == counts[PIXELS]).all()
    part = [f"{program}:out", place / "in.zarr", place / "part.zarr"]
    assert "part.zarr: 40x30 uint8" in said(*part, "--size", "40x30")
    assert "a halo of" in said(*part, "--plan")
    assert "estimated" in said(*part, "--plan")


def test_what_is_refused(place: Path) -> None:
    program, image = f"{place / 'program.py'}:out", place / "in.zarr"
    with pytest.raises(Problem, match="say an input and an output"):
        said(program, place / "out.zarr")
    with pytest.raises(Problem, match="out.png is a Zarr store"):
        said(program, image, place / "out.png")
    with pytest.raises(Problem, match="the output has 2 dimensions"):
        said(program, image, place / "out.zarr", "--size", "40")
    with pytest.raises(HalideError, match="more than memory="):
        said(program, image, place / "out.zarr", "--memory", "10B")
    with pytest.raises(HalideError, match="memory is a number of bytes.*'plenty'"):
        said(program, image, place / "out.zarr", "--memory", "plenty")
