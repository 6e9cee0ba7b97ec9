"""`hd.to_zarr`: what an interrupted run has written is kept, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd

zarr: Any = pytest.importorskip("zarr")

PIXELS = np.random.default_rng(8).integers(0, 256, (40, 60), np.uint8)


class Counted:
    """Rows of chunks that are counted when they are computed, and fail from `most`."""

    def __init__(self, most: int = 99, step: int = 1) -> None:
        self.count, self.most, self.step = 0, most, step

    def __call__(self, block: Any) -> Any:
        self.count += bool(block.size)  # dask asks what comes of nothing
        if self.count > self.most:
            raise OSError("the disk is full")
        return block + np.uint8(self.step)

    def __dask_tokenize__(self) -> object:
        return "counted", self.step

    def array(self) -> Any:
        return da.from_array(PIXELS, (20, 20)).map_blocks(
            self, dtype=np.uint8, name=f"counted-{self.step}"
        )


def store(one: Counted, place: Path, **more: Any) -> hd.Stored:
    import dask

    with dask.config.set(scheduler="synchronous"):
        return hd.to_zarr(one.array(), place, **more)


def test_a_later_run_writes_what_is_missing(tmp_path: Path) -> None:
    place = tmp_path / "out.zarr"
    with pytest.raises(OSError, match="disk is full"):
        store(Counted(most=4), place)
    assert (tmp_path / "out.zarr.unfinished").is_dir()
    again = Counted()
    assert store(again, place) == hd.Stored(6, 2)
    assert again.count == 2
    assert (np.asarray(zarr.open_array(str(place))) == PIXELS + 1).all()
    assert not (tmp_path / "out.zarr.unfinished").exists()
    # And when all is there, nothing.
    assert str(store(Counted(most=0), place)) == "0 of 6 chunks written, 6 were there"


def chunk_files(place: Path) -> list[Path]:
    return sorted([p for p in (place / "c").rglob("*") if p.is_file()])


@pytest.mark.parametrize("harm", ["cut", "gone", "other"])
def test_chunks_that_are_not_whole_are_written_again(tmp_path: Path, harm: str) -> None:
    place = tmp_path / "out.zarr"
    with pytest.raises(OSError, match="disk is full"):
        store(Counted(most=4), place)
    file = chunk_files(place)[1]
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:7])
    elif harm == "gone":
        file.unlink()
    else:
        file.write_bytes(chunk_files(place)[0].read_bytes())
    assert store(Counted(), place) == hd.Stored(6, 3)
    assert (np.asarray(zarr.open_array(str(place))) == PIXELS + 1).all()


def test_chunks_that_nobody_noted_are_written_again(tmp_path: Path) -> None:
    place = tmp_path / "out.zarr"
    with pytest.raises(OSError, match="disk is full"):
        store(Counted(most=4), place)
    notes = sorted((tmp_path / "out.zarr.unfinished").glob("[0-9]*"))
    assert len(notes) == 4
    notes[1].unlink()
    assert store(Counted(), place) == hd.Stored(6, 3)


def test_the_result_of_something_else_is_not_gone_on_with(tmp_path: Path) -> None:
    place, image = tmp_path / "out.zarr", tmp_path / "image.npy"
    np.save(image, PIXELS)
    store(Counted(), place, inputs=[image])
    for one, more in ((Counted(step=2), {"inputs": [image]}), (Counted(), {})):
        with pytest.raises(hl.UnwritableFileError, match="another pipeline") as error:
            store(one, place, **more)
        assert "overwrite=True" in error.value.hint
    os.utime(image, (1, 1))
    with pytest.raises(hl.UnwritableFileError, match="inputs that have changed"):
        store(Counted(), place, inputs=[image])
    assert store(Counted(step=2), place, overwrite=True) == hd.Stored(6, 6)
    assert (np.asarray(zarr.open_array(str(place))) == PIXELS + 2).all()
    foreign = tmp_path / "foreign.zarr"
    zarr.create_array(store=str(foreign), shape=(4,), chunks=(2,), dtype="uint8")
    with pytest.raises(hl.UnwritableFileError, match="something unknown"):
        store(Counted(), foreign)


def test_what_cannot_be_stored(tmp_path: Path) -> None:
    given: Any = PIXELS
    with pytest.raises(hl.BoundsError, match=r"axis 0 are \(1, 3, 36\)") as error:
        hd.to_zarr(da.from_array(PIXELS, ((1, 3, 36), 60)), tmp_path / "out.zarr")
    assert "rechunk({0: 36})" in error.value.hint
    with pytest.raises(hl.TypeMismatchError, match="writes a dask array"):
        hd.to_zarr(given, tmp_path / "out.zarr")


PROGRAM = """
    import sys, time
    import dask, dask.array as da, numpy as np
    import parhelion as hl
    import parhelion.dask as hd

    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    edge, out = hl.BoundaryConditions.repeat_edge(image), hl.Func("out")
    out[x, y] = edge[x, y] + edge[x + 1, y]
    pixels = np.arange(60 * 64, dtype=np.uint8).reshape(60, 64)

    def slow(block):
        time.sleep(float(sys.argv[2]))
        return block

    big = da.from_array(pixels, 16).map_blocks(slow, dtype=np.uint8)
    with dask.config.set(scheduler="synchronous"):
        print(hd.to_zarr(hd.apply(out, big), sys.argv[1]))
"""


def test_a_process_that_is_killed_is_gone_on_with_by_another(tmp_path: Path) -> None:
    file, place = tmp_path / "program.py", tmp_path / "out.zarr"
    file.write_text(textwrap.dedent(PROGRAM))
    first = subprocess.Popen([sys.executable, str(file), str(place), "0.3"])
    notes, end = Path(f"{place}.unfinished"), time.monotonic() + 60
    while time.monotonic() < end and len(list(notes.glob("[0-9]*"))) < 3:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = subprocess.run(
        [sys.executable, str(file), str(place), "0"],
        capture_output=True,
        text=True,
        check=True,
    )
    written = int(done.stdout.split()[0])
    assert 0 < written <= 13
    pixels = np.arange(60 * 64, dtype=np.uint8).reshape(60, 64)
    right = np.pad(pixels, ((0, 0), (0, 1)), "edge")[:, 1:]
    assert (np.asarray(zarr.open_array(str(place))) == pixels + right).all()
