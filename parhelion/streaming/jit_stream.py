"""Streams of functions under `hl.jit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir.rewrite import free_vars
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.pipeline import Pipeline
from parhelion.runtime.layout import Array
from parhelion.streaming.pieces import Layout, Piece, Source
from parhelion.streaming.plain import PlainWork
from parhelion.streaming.timed import Timed, Video
from parhelion.streaming.video import VideoWork
from parhelion.whole import schedules
from parhelion.whole.core import loop_order
from parhelion.whole.jitted import Jitted, numbers
from parhelion.whole.program import Program, places
from parhelion.whole.trace import value_of

#: So many frames stand for a video when a function is traced.
_SOME = 8


class JitMaker:
    """Makes the work of a stream when its first frame has come.

    The arguments are those of `hl.stream`, and so are the errors.
    """

    def __init__(
        self,
        jitted: Jitted[Any],
        queue: int,
        time: str | None,
        window: int,
        values: Mapping[str, Any],
    ) -> None:
        self.jitted, self.queue, self.time, self.window = jitted, queue, time, window
        self.values = dict(values)
        declared = [d for d in jitted._declared if d.name not in values]
        if not declared:
            raise TypeMismatchError(
                f"{jitted!r} has no parameter left for the frames", at=here()
            )
        self.first = declared[0]
        #: What the inputs stand for, when the function has been traced.
        self.bound: dict[BufferSym | ParamSym, object] = {}
        self.program: Program | None = None
        self._some: Array | None = None
        self._returned_tuple = False
        axes = self.first.axes
        self.place = 0
        if time is not None and axes is not None:
            if time not in axes:
                raise DefinitionError(
                    f"the parameter {self.first.name!r} has the axes {axes!r}, and"
                    f" none is {time!r}",
                    at=here(),
                    hint="time= is the axis that counts frames",
                )
            self.place = axes.index(time)

    def several(self) -> bool:
        """Whether each output is a tuple of arrays."""
        return self._returned_tuple

    def set(self, given: Mapping[str, Any]) -> None:
        """Gives other arguments new values. Raises TypeMismatchError for what is no
        argument, or makes another program."""
        names = [d.name for d in self.jitted._declared if d.name != self.first.name]
        for name in given:
            if name not in names:
                raise TypeMismatchError(
                    f"{name!r} is no argument of {self.jitted!r} beside its frames",
                    at=here(),
                    legal=names,
                )
        values = {**self.values, **given}
        if self.program is not None:
            self._bind(self.program, values)
        self.values = values

    def __call__(self, frame: Array) -> VideoWork | PlainWork:
        if self.time is None:
            return PlainWork(frame, self.queue, self._frame)
        shape = list(frame.shape)
        shape.insert(self.place, _SOME)
        some: Array = np.empty(shape, frame.dtype)
        self._some = some
        kinds, given, _ = self._sorted(self.values)
        program = Program(self.jitted._function, self.jitted._declared, kinds)
        arrays = [a for a in given if isinstance(a, np.ndarray)]
        self._returned_tuple = program.several
        index = [d.name for d in self.jitted._declared].index(self.first.name)
        image = program.inputs[index]
        assert isinstance(image, ImageParam)
        order = program.orders[index]
        rank = len(order)
        dim_of = {rank - 1 - p: d for d, p in enumerate(order)}
        video = Video(image._sym, dim_of[self.place])
        axes = [dim_of[a] for a in range(rank) if a != self.place]
        sizes = program.sizes(arrays)
        program.shapes(sizes)
        outputs, times = [], {}
        for f, w in zip(program.funcs, program.results, strict=True):
            name = self.jitted._function.__name__
            at = self._time_axis(w.shape, video, name)
            own = loop_order(w.shape)
            dims = {len(own) - 1 - p: d for d, p in enumerate(own)}
            rest = [a for a in range(len(own)) if a != at]
            extents = [value_of(w.shape[a], sizes) for a in rest]
            outputs.append((extents, [dims[a] for a in rest]))
            times[f._function] = dims[at]
        counts = [w.shape[self._time_axis(w.shape, video, "")] for w in program.results]

        def count(n: int) -> int:
            known = {**sizes, video.count: n}
            return min([value_of(c, known) for c in counts])

        if self.jitted._schedule is not None:
            self.jitted._schedule(program.pipeline)
        timed = Timed(times, video, repr(self.first.name))
        self._bind(program, self.values, kinds)
        self.program = program
        largest = [
            np.empty(s, np.uint8) for s in [frame.shape, *[o[0] for o in outputs]]
        ]
        of_class = schedules.size_class(largest, [])
        return VideoWork(
            timed,
            frame.shape,
            axes,
            outputs,
            self._value,
            scheduled=None
            if self.jitted._schedule is not None
            else lambda piece, layouts: _schedule(piece, layouts, of_class, frame),
            most=self.window,
            queue=self.queue,
            count=count,
        )

    def _value(self, symbol: BufferSym | ParamSym) -> object:
        return self.bound[symbol]

    def _frame(self, frame: Array) -> list[Array]:
        made = self.jitted(**{**self.values, self.first.name: frame})
        self._returned_tuple = isinstance(made, tuple)
        return list(made) if isinstance(made, tuple) else [made]

    def _sorted(self, values: Mapping[str, Any]) -> Any:
        named = {**values, self.first.name: self._some}
        return self.jitted._sorted(self.jitted._bound((), named))

    def _bind(
        self, program: Program, values: Mapping[str, Any], kinds: Any = None
    ) -> None:
        """Has the inputs stand for values of the kinds that the program is for."""
        found, given, _ = self._sorted(values)
        if tuple(found) != program.kinds:
            raise TypeMismatchError(
                f"the new arguments of {self.jitted!r} make another program: only"
                " numbers and arrays of the same type and size change in a stream",
                at=here(),
                hint="begin another stream",
            )
        program.shapes(program.sizes([a for a in given if isinstance(a, np.ndarray)]))
        for check in program.trace.fits:
            check.look(numbers(program, given))
        bound: dict[BufferSym | ParamSym, object] = {}
        for one, order, value in zip(
            program.inputs, program.orders, given, strict=True
        ):
            if isinstance(one, ImageParam):
                turned = value.transpose(places(order))
                bound[one._sym] = Buffer(turned, reverse_axes=False)
            elif one is not None:
                bound[one._sym] = value
        self.bound = bound

    def _time_axis(self, shape: tuple[Any, ...], video: Video, name: str) -> int:
        """The axis of a result whose extent follows the number of frames."""
        found = [a for a, n in enumerate(shape) if video.count in free_vars(n)]
        if len(found) == 1:
            return found[0]
        raise DefinitionError(
            f"{name} returns an array with {len(found)} axes of time; in a stream each"
            " result has one",
            at=here(),
            hint="what is folded over all frames is not known before the video ends",
        )


def _schedule(
    piece: Piece, layouts: Mapping[Source, Layout], of_class: int, frame: Array
) -> None:
    """Gives a piece the schedule for frames of a size."""
    schedules.apply_kept(_Estimated(piece, layouts, frame), of_class, [], [])


class _Estimated:
    """A piece as what a schedule is found for."""

    def __init__(
        self, piece: Piece, layouts: Mapping[Source, Layout], frame: Array
    ) -> None:
        self.piece, self.layouts, self.frame = piece, layouts, frame

    @property
    def pipeline(self) -> Pipeline:
        return self.piece.pipeline

    @property
    def funcs(self) -> list[Func]:
        return self.piece.pipeline.outputs()

    def estimate(self, arrays: Any, shapes: Any) -> None:
        """Tells the sizes of one frame, and of the rings."""
        piece = self.piece
        for source, image in piece.rings.items():
            image.set_estimates(self._sizes(self.layouts[source], image.dimensions()))
        for f, root in zip(piece.roots, self.funcs, strict=True):
            layout = self.layouts[f, 0]
            one = Layout(layout.axes, layout.extents, 1)
            root.set_estimates(self._sizes(one, f.dimensions))
        piece.frames.set_estimate(1 << 16)
        for argument in piece.pipeline.infer_arguments():
            symbol = argument._symbol
            if isinstance(symbol, ParamSym) and symbol.estimate is None:
                symbol.estimate = 1

    def _sizes(self, layout: Layout, rank: int) -> list[tuple[int, int]]:
        found = [(0, layout.size)] * rank
        shape = self.frame.shape
        pairs = zip(layout.axes, layout.extents, strict=True)
        for i, (d, n) in enumerate(pairs):
            usual = shape[i] if len(shape) == len(layout.axes) else max(shape)
            found[d] = (0, usual if n is None else n)
        return found


__all__ = ["JitMaker"]
