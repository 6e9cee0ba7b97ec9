"""A pipeline that reads frames at several times, run over a stream frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parhelion.errors import BoundsError, DefinitionError, Site, here
from parhelion.ir.function import Function
from parhelion.ir.pipeline import Requirement
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.boxes import Box
from parhelion.lang.buffer import Buffer
from parhelion.streaming.cuts import kept
from parhelion.streaming.pieces import Layout, Piece, Source, piece, region
from parhelion.streaming.rings import Ring, laid, power_of_two
from parhelion.streaming.spans import MANY, Span
from parhelion.streaming.timed import Timed
from parhelion.streaming.windows import Reach, Step, Windows

if TYPE_CHECKING:
    from parhelion.runtime.layout import Array

#: A frame in the middle of a long video.
_MIDDLE = MANY >> 4


class VideoWork:
    """Computes output frames from a ring of the video's frames.

    timed: the pipeline. frame: shape of the video's frames; axes: which dimension of
    the image each axis of a frame is. outputs: of each output Func the shape of its
    frames and the dimensions that their axes are. value_of: the values of other inputs.
    scheduled: called with each piece before it is compiled. most: how many frames may
    be kept of anything. count: how many output frames a video of so many frames has.
    """

    def __init__(
        self,
        timed: Timed,
        frame: Sequence[int],
        axes: Sequence[int],
        outputs: Sequence[tuple[Sequence[int], Sequence[int]]],
        value_of: Callable[[BufferSym | ParamSym], object],
        requirements: Sequence[Requirement] = (),
        scheduled: Callable[[Piece, Mapping[Source, Layout]], None] | None = None,
        most: int = 64,
        queue: int = 0,
        count: Callable[[int], int] = lambda n: n,
    ) -> None:
        self.timed, self.value_of, self.most = timed, value_of, most
        self.requirements, self.scheduled, self._count = requirements, scheduled, count
        self.roots = list(timed.outputs)
        self.kept = kept(timed)
        self._check_outputs()
        self.windows = Windows(timed, self.kept)
        #: The first frame of each kept Func that was computed.
        self.first: dict[Function, int] = {}
        reach = self.windows.reach()
        self.windows.known = reach
        sizes: dict[Function | BufferSym, int] = dict.fromkeys(self.kept, 1)
        sizes[timed.video.image] = 1
        sizes |= {of: one.size for of, one in reach.items()}
        video = reach.get(timed.video.image, Reach(0, 0))
        self.back, self.ahead = video.back, max(video.ahead, 0)
        self.layouts: dict[Source, Layout] = {}
        image = timed.video.image
        known: list[int | None] = list(frame)
        self.layouts[image, 0] = Layout(tuple(axes), tuple(known))
        for f, (shape, places) in zip(self.roots, outputs, strict=True):
            for i in range(len(f.types)):
                self.layouts[f, i] = Layout(tuple(places), tuple(shape))
        for f in self.kept:
            rest = [d for d in range(f.dimensions) if d != timed.times[f]]
            for i in range(len(f.types)):
                one = Layout(tuple(reversed(rest)), (None,) * len(rest))
                self.layouts[f, i] = one
        self._check_most(sizes)
        for (of, _), layout in self.layouts.items():
            if of in sizes:
                extra = queue if of is image else 0
                layout.size = power_of_two(sizes[of] + extra)
        self.rings: dict[Source, Ring] = {}
        #: What of each root is written, which may be more than is read of it.
        self.written: dict[Source, Box] = {}
        mins = [0] * len(image.dims)
        input_layout = self.layouts[image, 0]
        self.rings[image, 0] = Ring(
            image.type, input_layout.size, frame, axes, timed.video.time, mins
        )
        self._build()

    def _check_outputs(self) -> None:
        """Raises DefinitionError for an output that others read at other times."""
        middle = {f: Span(_MIDDLE, _MIDDLE) for f in self.roots}
        asked = self.timed.demand(middle, Span(2 * _MIDDLE, MANY), self.kept)
        for f in self.roots:
            if asked.spans[f][:2] != (_MIDDLE, _MIDDLE):
                raise DefinitionError(
                    f"another Func reads the output {f.label!r} at other times than its"
                    " own, and only one frame of an output is there",
                    at=f.site or here(),
                    hint="make a Func that only reads it the output in its place",
                )

    # Making the code.

    def _build(self) -> None:
        timed = self.timed
        before = {p.roots: p for p in getattr(self, "pieces", [])}
        self.pieces: list[Piece] = []
        wanted: dict[Source, Box] = {}
        for roots in [tuple(self.roots), *[(f,) for f in reversed(self.kept)]]:
            asked = self.requirements if roots == tuple(self.roots) else ()
            made = piece(roots, timed, self.kept, self.layouts, asked)
            if self.scheduled is not None:
                self.scheduled(made, self.layouts)
            if roots in before:
                made.next, made.computed = before[roots].next, before[roots].computed
            targets = [self._target(f, i, wanted) for f in roots for i in _values(f)]
            written, read = region(made, targets, self.value_of)
            sources: list[Source] = [(f, i) for f in roots for i in _values(f)]
            self.written |= dict(zip(sources, written, strict=True))
            for source, box in read.items():
                known = wanted.get(source)
                wanted[source] = box if known is None else _hull(known, box)
            made.compile()
            self.pieces.append(made)
        for f in self.kept:
            for i in _values(f):
                self._make_ring(f, i)

    def _target(self, f: Function, i: int, wanted: Mapping[Source, Box]) -> Buffer:
        """A region of one frame of a root, to ask what it needs."""
        at = self.timed.times[f]
        if f in self.timed.outputs:
            return self._output(f, i, _MIDDLE)[1]
        box = wanted.get((f, i), [(0, 1)] * f.dimensions)
        extents = [1 if d == at else n for d, (_, n) in enumerate(box)]
        mins = [_MIDDLE if d == at else lo for d, (lo, _) in enumerate(box)]
        array = np.empty(tuple(reversed(extents)), f.types[i].to_numpy())
        return Buffer._of(f.types[i], array.transpose(), mins, "")

    def _make_ring(self, f: Function, i: int) -> None:
        layout, box = self.layouts[f, i], self.written[f, i]
        old = self.rings.get((f, i))
        if old is not None and old.size == layout.size:
            return
        if old is not None and f in self.windows.next:
            last = self.windows.next[f] - 1
            first = max(last - old.size + 1, self.first.get(f, last))
            self.rings[f, i] = old.grown(layout.size, first, last)
            return
        shape = [box[d][1] for d in layout.axes]
        mins = [lo for lo, _ in box]
        at = self.timed.times[f]
        self.rings[f, i] = Ring(f.types[i], layout.size, shape, layout.axes, at, mins)

    def _output(self, f: Function, i: int, t: int) -> tuple[Array, Buffer]:
        layout = self.layouts[f, i]
        at = self.timed.times[f]
        kind, extents = f.types[i], tuple([n or 0 for n in layout.extents])
        box = self.written.get((f, i))
        mins = [t if d == at else 0 for d in range(f.dimensions)]
        if box is None:
            array = np.empty(extents, kind.to_numpy())
            pixels = laid(array[None], layout.axes, at)
            return array, Buffer._of(kind, pixels, mins, "")
        array = np.empty([box[d][1] for d in layout.axes], kind.to_numpy())
        pixels = laid(array[None], layout.axes, at)
        starts = [t if d == at else lo for d, (lo, _) in enumerate(box)]
        if array.shape != extents:
            # The schedule, or an update, writes more than was asked for.
            pairs = zip(layout.axes, extents, strict=True)
            array = array[tuple([slice(-box[d][0], n - box[d][0]) for d, n in pairs])]
        return array, Buffer._of(kind, pixels, starts, "")

    # Running.

    def count(self, n: int) -> int:
        """How many output frames a video of `n` frames has."""
        return self._count(n)

    @property
    def ring(self) -> Ring:
        """The ring of the video's frames."""
        return self.rings[self.timed.video.image, 0]

    def needs(self, t: int, arrived: int, ended: bool) -> Step | None:
        """What output frame `t` takes; None if more frames must come first.

        Raises BoundsError for frames that the video does not have, and for more than
        are kept.
        """
        step = self.windows.step(t, arrived, ended)
        image = step.reads.get(self.timed.video.image)
        if not ended:
            waits = step.open or (image is not None and image.hi >= arrived)
            if waits or t >= self.count(arrived):
                self._check_wait(t, arrived, step)
                return None
        if image is not None and not (image.lo >= 0 and image.hi < arrived):
            lacking = image.lo if image.lo < 0 else image.hi
            raise BoundsError(
                f"output frame {t} reads frame {lacking} of"
                f" {self.timed.called}, and the stream has the frames 0 to"
                f" {arrived - 1}",
                at=self._site(),
                hint="a boundary condition in time says what lies beyond:"
                " hl.BoundaryConditions.repeat_edge(image)",
            )
        if image is not None and image.lo < arrived - self.ring.size:
            raise self._too_many(
                t, f"frame {image.lo} of {self.timed.called}, of which"
            )
        self._fit(t, step)
        return step

    def _check_wait(self, t: int, arrived: int, step: Step) -> None:
        """Raises BoundsError where waiting goes on for too long."""
        if arrived - t <= self.most:
            return
        image = step.reads.get(self.timed.video.image)
        what = "frames that are not known before the video ends"
        if image is not None and image.known and not step.open:
            what = f"frame {image.hi}"
        raise BoundsError(
            f"output frame {t} needs {what}; {arrived} frames have come, and at most"
            f" {self.most} are kept",
            at=self._site(),
            hint="a stream computes what depends on few frames before and after; a"
            " border in time that wraps around needs the whole video: realize it at"
            " once, or give window=",
        )

    def _too_many(self, t: int, what: str) -> BoundsError:
        return BoundsError(
            f"output frame {t} reads {what} at most {self.most} are kept",
            at=self._site(),
            hint="window= says how many frames may be kept",
        )

    def _site(self) -> Site | None:
        return self.roots[0].site or here()

    def _check_most(self, sizes: Mapping[Function | BufferSym, int]) -> None:
        for of, n in sizes.items():
            if n > self.most:
                label = of.label if isinstance(of, Function) else self.timed.called
                how_many = f"{n}" if n < MANY >> 8 else "all"
                raise self._too_many(0, f"{how_many} frames of {label}, of which")

    def _fit(self, t: int, step: Step) -> None:
        """Has rings be large enough."""
        larger = False
        for f in self.kept:
            span = step.reads.get(f)
            if span is None:
                continue
            last = max(span.hi, self.windows.next.get(f, span.hi + 1) - 1)
            first = self.first.get(f)
            size = self.layouts[f, 0].size
            lost = self.windows.next.get(f, span.lo) - size
            if first is not None and (span.lo < first or span.lo < lost):
                raise self._too_many(t, f"frame {span.lo} of {f.label}, of which")
            if last - span.lo + 1 > size:
                self._check_most({f: last - span.lo + 1})
                for i in _values(f):
                    self.layouts[f, i].size = power_of_two(last - span.lo + 1)
                larger = True
        if larger:
            self._build()

    def larger_ring(self, arrived: int, low: int) -> None:
        """Makes the ring of the video's frames twice as large; `low` and those after it
        are kept. Nobody may write to it meanwhile."""
        source = (self.timed.video.image, 0)
        self.layouts[source].size *= 2
        self.rings[source] = self.ring.grown(
            self.layouts[source].size, low, arrived - 1
        )
        self._build()

    def run(self, t: int, step: Step, arrived: int, ended: bool) -> list[Array]:
        """Computes output frame `t`, and what of kept Funcs it takes."""
        frames = arrived if ended else MANY
        by_root = {p.roots: p for p in self.pieces}
        for f in self.kept:
            span = step.frames.get(f)
            if span is None:
                continue
            self.first.setdefault(f, span.lo)
            for n in range(span.lo, span.hi + 1):
                targets = [self.rings[f, i].at(n) for i in _values(f)]
                by_root[(f,)].run(self.value_of, self.rings, frames, targets)
        made = [self._output(f, i, t) for f in self.roots for i in _values(f)]
        last = by_root[tuple(self.roots)]
        last.run(self.value_of, self.rings, frames, [b for _, b in made])
        self.windows.done(t, arrived, ended, step)
        return [a for a, _ in made]

    def low(self, step: Step, t: int) -> int:
        """The first frame of the video that output `t` and later ones read."""
        return max(t - self.back, 0)

    def computed(self) -> dict[str, int]:
        """How many frames of each kept Func have been computed."""
        return {
            p.roots[0].label: p.computed
            for p in self.pieces
            if p.roots != tuple(self.roots)
        }


def _values(f: Function) -> range:
    return range(len(f.types))


def _hull(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> Box:
    found = []
    for (a, n), (b, m) in zip(one, other, strict=True):
        lo = min(a, b)
        found.append((lo, max(a + n, b + m) - lo))
    return found


__all__ = ["VideoWork"]
