"""The frames of a source, as NumPy arrays: of arrays, readers and containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.lang.checked import a_kind
from parhelion.runtime.layout import Array


def frames_of(source: object) -> tuple[Iterator[Any], bool]:
    """An iterator over frames, and whether it was made here, so that it is closed with
    the stream.

    A source is an iterable of arrays or of PyAV's frames, an open container of PyAV's,
    whose first video is decoded, or an open ``cv2.VideoCapture``. Raises
    TypeMismatchError for others.
    """
    if isinstance(source, str | bytes) or hasattr(source, "__fspath__"):
        raise TypeMismatchError(
            f"hl.stream takes frames, not the name of a file, {source!r:.60}",
            at=here(),
            hint="imageio.v3.imiter(path) gives the frames of a video",
        )
    if hasattr(source, "decode") and hasattr(source, "streams"):
        return iter(source.decode(video=0)), True
    if hasattr(source, "read") and hasattr(source, "grab"):
        return _captured(source), True
    if isinstance(source, Iterable):
        return iter(source), False
    raise TypeMismatchError(
        f"hl.stream takes an iterable of frames, not {a_kind(source)}", at=here()
    )


def _captured(capture: Any) -> Iterator[Array]:
    while True:
        found, frame = capture.read()
        if not found:
            return
        yield frame


def pixels_of(frame: object) -> Array:
    """A frame as an array. Raises TypeMismatchError for what has no pixels."""
    if isinstance(frame, np.ndarray):
        return frame
    if hasattr(frame, "to_ndarray") and hasattr(frame, "pts"):
        decoded: Array = frame.to_ndarray(format="rgb24")
        return decoded
    if hasattr(frame, "__array__") or hasattr(frame, "__array_interface__"):
        return np.asarray(frame)
    raise TypeMismatchError(
        f"a frame of a stream is an array, not {a_kind(frame)}", at=here()
    )


def check_alike(frame: Array, first: Array, n: int) -> None:
    """Raises BoundsError and TypeMismatchError for frame `n` if it is not of the size
    and type of the first one."""
    if frame.shape != first.shape:
        raise BoundsError(
            f"frame {n} of the stream has the shape {frame.shape}, and those before it"
            f" {first.shape}",
            at=here(),
            hint="the frames of a stream are of one size: begin another stream",
        )
    if frame.dtype != first.dtype:
        raise TypeMismatchError(
            f"frame {n} of the stream is {frame.dtype}, and those before it"
            f" {first.dtype}",
            at=here(),
            hint="the frames of a stream are of one type: convert it",
        )


__all__ = ["check_alike", "frames_of", "pixels_of"]
