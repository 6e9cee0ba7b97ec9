"""Videos and moving GIFs for pipelines: read and written frame by frame.

imageio's plugin for PyAV reads and writes videos, that for Pillow GIFs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import parhelion as hl
from parhelion.cli.pictures import levels, size_of
from parhelion.cli.problem import Problem
from parhelion.dataclass import dataclass

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: Ends of names of videos, and of what may be a single picture or moves.
_VIDEOS = (".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v")
_GIF = ".gif"
#: Frames a second where nothing says how many.
_USUAL_FPS = 25.0
_CODECS = {".webm": "libvpx-vp9"}


def is_video(path: Path) -> bool:
    """Whether a file's name is that of a video, or of a GIF."""
    return path.suffix.lower() in (*_VIDEOS, _GIF)


def moves(path: Path) -> bool:
    """Whether a file's name is that of a video, and of nothing else."""
    return path.suffix.lower() in _VIDEOS


def _opened(path: Path, mode: str) -> Any:
    plugin = "pillow" if path.suffix.lower() == _GIF else "pyav"
    try:
        import imageio.v3 as iio

        if plugin == "pyav":
            import av  # noqa: F401  # imageio tells of its own parts if it is not there
    except ImportError as error:
        raise Problem(
            f"{path}: videos need the packages imageio and av",
            hint='pip install "parhelion[video]"',
        ) from error
    try:
        return iio.imopen(path, mode, plugin=plugin)  # type: ignore[call-overload]
    except Exception as error:  # whatever the packages raise for a damaged file
        what = str(error).strip() or type(error).__name__
        raise Problem(
            f"{path} cannot be opened as a video: {what.splitlines()[0]}"
        ) from error


@dataclass
class Frames:
    """The frames of a video, planar (C, H, W) and of 8 bits; and how many are shown a
    second."""

    path: Path
    fps: float = _USUAL_FPS

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise Problem(f"there is no file {str(self.path)!r}")
        with _opened(self.path, "r") as file:
            told = self._told(file)
        if "fps" in told:
            self.fps = float(told["fps"])
        elif told.get("duration"):
            self.fps = 1e3 / float(told["duration"])

    def _told(self, file: Any) -> dict[str, Any]:
        found: dict[str, Any] = file.metadata()
        return found

    def __iter__(self) -> Iterator[Array]:
        gif = self.path.suffix.lower() == _GIF
        how = {"mode": "RGB"} if gif else {"format": "rgb24"}
        count = 0
        with _opened(self.path, "r") as file:
            try:
                for frame in file.iter(**how):
                    count += 1
                    yield np.moveaxis(np.asarray(frame), 2, 0)
            except (OSError, ValueError) as error:
                raise Problem(
                    f"{self.path} cannot be read beyond frame {count}: {error}"
                ) from error
        if not count:
            raise Problem(f"{self.path} has no frame")


@dataclass
class Writer:
    """A video that takes planar frames, (H, W) or (C, H, W), of any type."""

    path: Path
    fps: float
    _file: Any = None
    _shape: tuple[int, ...] = ()
    #: GIFs are written when all their frames are known.
    _kept: list[Array] = field(default_factory=list)

    def add(self, pixels: Array) -> None:
        """Adds a frame. Raises Problem for what is no picture of the size of those
        before."""
        frame = self._interleaved(levels(pixels, hl.UInt(8)))
        if self._shape not in ((), frame.shape):
            raise Problem(
                f"{self.path}: frames of one size make a video; one is"
                f" {size_of(pixels)}, and those before it are of another"
            )
        self._shape = frame.shape
        if self.path.suffix.lower() == _GIF:
            self._kept.append(frame)
            return
        if self._file is None:
            self._file = _opened(self.path, "w")
            codec = _CODECS.get(self.path.suffix.lower(), "libx264")
            # Half as many colours as pixels only go with even sides.
            odd = any(n % 2 for n in frame.shape[:2])
            kind = "yuv444p" if odd else "yuv420p"
            self._file.init_video_stream(codec, fps=self.fps, pixel_format=kind)
        self._file.write_frame(frame)

    def _interleaved(self, pixels: Array) -> Array:
        if pixels.ndim == 2:
            pixels = np.stack([pixels] * 3)
        if pixels.ndim != 3 or len(pixels) not in (1, 3, 4):
            raise Problem(
                f"a video cannot hold an output of {size_of(pixels)}",
                hint="it has frames of one, three or four planes",
            )
        if len(pixels) == 1:
            pixels = np.repeat(pixels, 3, axis=0)
        return np.ascontiguousarray(np.moveaxis(pixels[:3], 0, 2))

    def close(self) -> None:
        """Ends the file."""
        if self._kept:
            with _opened(self.path, "w") as file:
                file.write(np.stack(self._kept), duration=1e3 / self.fps, loop=0)
        if self._file is not None:
            self._file.close()


@contextmanager
def writing(path: Path, fps: float) -> Iterator[Writer]:
    """A video that is complete when the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Writer(path, fps)
    try:
        yield made
    finally:
        made.close()


__all__ = ["Frames", "Writer", "is_video", "moves", "writing"]
