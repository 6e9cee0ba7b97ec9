"""Where frames come from, and what is left when a program is interrupted."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl


def _written(path: Path) -> Any:
    """A short video, and its frames as imageio reads them."""
    import imageio.v3 as iio

    rows = np.arange(32, dtype=np.uint8)[:, None, None]
    frames = [np.broadcast_to(rows * 3 + n * 8, (32, 48, 3)) for n in range(7)]
    iio.imwrite(path, np.stack(frames), plugin="pyav", codec="libx264", fps=10)
    return iio.imread(path, plugin="pyav")


def test_videos_of_imageio_and_pyav(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    iio = pytest.importorskip("imageio.v3")
    path = tmp_path / "film.mp4"
    wanted = 255 - _written(path)
    inverse = hl.jit(lambda frame: 255 - frame)
    read = hl.stream(inverse, iio.imiter(path, plugin="pyav"))
    assert np.array_equal(np.stack(list(read)), wanted)
    with iio.imopen(path, "r", plugin="pyav") as file:
        assert np.array_equal(np.stack(list(hl.stream(inverse, file.iter()))), wanted)
    with av.open(str(path)) as container:
        assert np.array_equal(np.stack(list(hl.stream(inverse, container))), wanted)
    with av.open(str(path)) as container:
        left = hl.stream(inverse, container)
        assert np.array_equal(next(left), wanted[0])
        left.close()


def test_captures_of_opencv() -> None:
    class Capture:
        """What cv2.VideoCapture has."""

        def __init__(self) -> None:
            self.count = 0

        def grab(self) -> bool:
            raise NotImplementedError

        def read(self) -> tuple[bool, Any]:
            self.count += 1
            if self.count > 3:
                return False, None
            return True, np.full((2, 3), self.count, np.uint8)

    found = list(hl.stream(lambda frame: frame * 2, Capture()))
    assert [int(frame[0, 0]) for frame in found] == [2, 4, 6]


_PROGRAM = """
import faulthandler, itertools, os, signal, sys, threading, time
faulthandler.dump_traceback_later(90, exit=True)
import numpy as np
import parhelion as hl

def frames(seconds):
    for n in itertools.count():
        time.sleep(seconds if n else 0)
        yield np.zeros((4, 4), np.uint8)

f = hl.jit(lambda frame: frame + 1)
interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.6, interrupt).start()
try:
    for frame in hl.stream(f, frames(0.2)):
        pass
except KeyboardInterrupt:
    print([t.name for t in threading.enumerate() if t.name.startswith("hl.")])
left = hl.stream(f, frames(0))
next(left)
print("left open")
"""


def test_an_interrupted_program_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    # What hangs has printed its stacks.
    assert not done.stderr, done.stderr
    assert done.returncode == 0
    assert done.stdout == "[]\nleft open\n"


def test_an_interrupt_while_threads_are_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if thread.name == "hl.stream compute":
            raise KeyboardInterrupt
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    images = [np.zeros((2, 3), np.uint8)] * 3
    with pytest.raises(KeyboardInterrupt):
        next(hl.stream(lambda frame: frame + 1, images))
    assert not [t for t in threading.enumerate() if t.name.startswith("hl.stream")]
