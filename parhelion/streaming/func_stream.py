"""Streams of Funcs and Pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir.build import const_int
from parhelion.ir.symbols import BufferSym
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.pipeline import Pipeline
from parhelion.runtime.layout import Array
from parhelion.schedule.gpu import has_kernels
from parhelion.streaming.given import (
    Values,
    letters,
    output_shape,
    places,
    time_of,
    video_of,
)
from parhelion.streaming.pieces import Layout
from parhelion.streaming.plain import FrameCode, PlainWork
from parhelion.streaming.timed import Timed, Video
from parhelion.streaming.video import VideoWork


class FuncMaker:
    """Makes the work of a stream when its first frame has come.

    The arguments are those of `hl.stream`, and so are the errors.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        queue: int,
        time: str | None,
        image: ImageParam | str | None,
        axes: str | None,
        shape: Sequence[int] | None,
        window: int,
        values: Mapping[str, Any],
    ) -> None:
        self.pipeline, self.queue, self.window = pipeline, queue, window
        self.shape = shape
        self.image = video_of(pipeline, image)
        rank = len(self.image.dims)
        self.time = rank
        self.functions = [f._function for f in pipeline.outputs()]
        self.timed: Timed | None = None
        if time is not None:
            self.timed = self._timed(time)
            self.time = self.timed.video.time
        self.dims = [d for d in range(rank) if d != self.time]
        self.axes = letters(len(self.dims), axes)
        reach = pipeline._runner.reach
        others = [s for s in reach.images if not (s.embedded or s is self.image)]
        self.values = Values(values, [*reach.params, *others])

    def several(self) -> bool:
        """Whether each output is a tuple of arrays."""
        return len(self.pipeline._runner.targets) > 1

    def _timed(self, time: str) -> Timed:
        outputs = {f: time_of(f, time) for f in self.functions}
        rank = len(self.image.dims)
        first = self.functions[0]
        at = outputs[first] if first.dimensions == rank else rank - 1
        dim = self.image.dims[at]
        lo = None if dim.fixed_min is None else const_int(dim.fixed_min)
        if dim.fixed_extent is not None or lo not in (None, 0):
            raise DefinitionError(
                f"the number of frames of ImageParam {self.image.name!r} is promised,"
                " and a stream has any number",
                at=self.image.site or here(),
                hint=f"leave dimension {at} without bounds",
            )
        if has_kernels(self.pipeline._runner.reach.functions):
            raise DefinitionError(
                "a pipeline with kernels for a GPU keeps no frames",
                at=first.site or here(),
                hint="give hl.stream a pipeline of one frame, without time=",
            )
        return Timed(outputs, Video(self.image, at), self.image.name)

    def __call__(self, frame: Array) -> VideoWork | PlainWork:
        self._check(frame)
        extents = [f.dimensions - (self.timed is not None) for f in self.functions]
        shaped = [
            output_shape(f, rank, self.axes, frame.shape, self.shape)
            for f, rank in zip(self.functions, extents, strict=True)
        ]
        axes = places(self.axes, self.dims)
        if self.timed is None:
            layouts = [
                Layout(tuple(places(own, range(f.dimensions))), sizes)
                for f, (own, sizes) in zip(self.functions, shaped, strict=True)
                for _ in f.types
            ]
            code = FrameCode(self.pipeline, self.image, axes, layouts, self.values.of)
            return PlainWork(frame, self.queue, code)
        outputs = []
        for f, (own, sizes) in zip(self.functions, shaped, strict=True):
            dims = [d for d in range(f.dimensions) if d != self.timed.outputs[f]]
            outputs.append((sizes, places(own, dims)))
        return VideoWork(
            self.timed,
            frame.shape,
            axes,
            outputs,
            self.values.of,
            self.pipeline._runner.reach.requirements,
            most=self.window,
            queue=self.queue,
        )

    def _check(self, frame: Array) -> None:
        image: BufferSym = self.image
        if frame.ndim != len(self.dims):
            raise TypeMismatchError(
                f"a frame of ImageParam {image.name!r} has {len(self.dims)} axes,"
                f" {self.axes}; those of the stream have the shape {frame.shape}",
                at=here(),
            )
        if frame.dtype != image.type.to_numpy():
            raise TypeMismatchError(
                f"ImageParam {image.name!r} is of type {image.type}; the frames of"
                f" the stream are {frame.dtype}",
                at=here(),
            )


__all__ = ["FuncMaker"]
