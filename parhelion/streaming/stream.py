"""`stream`: a pipeline over the frames of a video, some of them in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from parhelion.errors import BoundsError, HalideError, TypeMismatchError, here
from parhelion.lang.checked import a_kind
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.pipeline import Pipeline
from parhelion.runtime.layout import Array
from parhelion.streaming.counters import Counters
from parhelion.streaming.flow import Flow, Work
from parhelion.streaming.func_stream import FuncMaker
from parhelion.streaming.jit_stream import JitMaker
from parhelion.streaming.plain import PlainWork
from parhelion.whole.jitted import Jitted


class Stream(Iterator[Any]):
    """The frames that a pipeline makes of a stream of frames: what `stream` returns.

    It is an iterator, and a context manager that is closed at the end of the block; it
    closes itself at its end, at an error, and when nobody holds it any more.

    >>> frames = [np.full((2, 2), n) for n in range(4)]
    >>> with hl.stream(lambda frame: frame * frame, frames) as squares:
    ...     print([int(frame[0, 0]) for frame in squares])
    [0, 1, 4, 9]
    >>> squares.counters.frames_in, squares.counters.frames_out
    (4, 4)
    """

    def __init__(
        self,
        make: Callable[[Array], Work],
        source: object,
        queue: int,
        set_values: Callable[[dict[str, Any]], None],
        several: Callable[[], bool],
    ) -> None:
        self._flow = Flow(make, source, queue)
        self._set, self._several = set_values, several

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            made = self._flow.next()
        except BaseException as error:
            self._flow.close()
            if isinstance(error, HalideError):
                error.locate(here())  # raised in a thread, which has no line
            raise
        return tuple(made) if self._several() else made[0]

    def set(self, **values: Any) -> None:
        """Gives other inputs new values, by name: for the frames that are computed from
        now on, which begin at most `queue` frames after the one that came last.

        Raises TypeMismatchError for what is no input.
        """
        self._set(values)

    @property
    def counters(self) -> Counters:
        """What has been done so far: frames in and out, waits, seconds."""
        return self._flow.counters

    def close(self) -> None:
        """Ends the stream, and waits until nothing of it runs any more."""
        self._flow.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        flow = getattr(self, "_flow", None)
        if flow is not None:
            flow.close()


def stream(
    pipeline: Func | Pipeline | Jitted[Any] | Callable[..., Any],
    frames: object,
    *,
    queue: int = 3,
    time: str | None = None,
    image: ImageParam | str | None = None,
    axes: str | None = None,
    shape: Sequence[int] | None = None,
    window: int = 64,
    **values: Any,
) -> Stream:
    """Runs a pipeline over frames, and returns an iterator over what it makes of them,
    a `Stream`.

    A thread takes frames from the source while another one computes and the caller has
    the last one. The source waits for the caller: never are more than `queue` frames
    taken that were not handed on, apart from those that an output needs of the future.

    pipeline: a function under `jit`, or any function of a frame; or a Func or Pipeline,
        whose ImageParam without an image is given the frames.
    frames: an iterable of arrays, (H, W, C) as imageio and OpenCV give them, or of
        PyAV's frames; a container of PyAV's, or a ``cv2.VideoCapture``.
    queue: how many frames are in flight. With 0 all is done by the calling thread when
        a frame is asked for.
    time: the name of the axis of time, for pipelines that read several frames: a Var of
        the outputs, and a dimension of the image; for a function under `jit`, the
        letter of an axis of its first parameter, or any for the first axis. The frames
        are those of the pipeline on the whole video in one array, borders in time
        included. Funcs whose frames are read several times are computed once for each.
    image: the ImageParam that the frames are given to.
    axes: of a frame, outermost first, where "x", "y" and "c" are the dimensions of the
        image from the innermost on; ``"yxc"`` if not given.
    shape: of an output frame, if not that of the frames.
    window: how many frames may be kept of the video and of each Func.
    values: other inputs by name; `Stream.set` changes them between frames.

    Raises TypeMismatchError and DefinitionError for what cannot be run so; while it
    runs, BoundsError and TypeMismatchError for a frame of another size or type, and for
    frames that there are not; and what the source and the pipeline raise, after the
    frames before it.

    >>> @hl.jit
    ... def difference(video: hl.Array) -> hl.Array:
    ...     return video[1:] - video[:-1]
    >>> frames = [np.full((2, 2), n * n) for n in range(4)]
    >>> [int(frame[0, 0]) for frame in hl.stream(difference, frames, time="t")]
    [1, 3, 5]
    """
    for what, n, least in (("queue", queue, 0), ("window", window, 1)):
        if type(n) is not int or not least <= n <= 4096:
            raise BoundsError(
                f"{what}= is a number of frames from {least} to 4096, not {n!r}",
                at=here(),
            )
    if isinstance(pipeline, Func | Pipeline):
        whole = Pipeline([pipeline]) if isinstance(pipeline, Func) else pipeline
        maker = FuncMaker(whole, queue, time, image, axes, shape, window, values)
        return Stream(maker, frames, queue, maker.values.set, maker.several)
    for name, given in (("image", image), ("axes", axes), ("shape", shape)):
        if given is not None:
            raise TypeMismatchError(
                f"{name}= is for a Func or a Pipeline; a function of arrays has its"
                " axes as they are given",
                at=here(),
            )
    if isinstance(pipeline, Jitted):
        made = JitMaker(pipeline, queue, time, window, values)
        return Stream(made, frames, queue, made.set, made.several)
    if not callable(pipeline) or time is not None:
        what = "a function under hl.jit" if callable(pipeline) else "a pipeline"
        raise TypeMismatchError(
            f"hl.stream takes {what}, a Func or a Pipeline, not {a_kind(pipeline)}",
            at=here(),
        )
    function, own = pipeline, dict(values)
    several = [False]

    def run(frame: Array) -> list[Array]:
        found = function(frame, **own)
        several[0] = isinstance(found, tuple)
        made = list(found) if several[0] else [found]
        # What shows pixels of the frame would change with the ring.
        return [np.array(a) if np.may_share_memory(a, frame) else a for a in made]

    return Stream(
        lambda frame: PlainWork(frame, queue, run),
        frames,
        queue,
        own.update,
        lambda: several[0],
    )


__all__ = ["Stream", "stream"]
