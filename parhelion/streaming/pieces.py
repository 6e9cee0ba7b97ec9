"""The parts that a pipeline over a video is cut into, each of which computes one frame.

A piece is the Funcs between what is kept: its outputs are kept Funcs, or those of the
pipeline; where it reads frames that are kept, and those of the video, it reads rings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir.bindings import SET, Bindings
from parhelion.ir.build import int32, mod
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.pipeline import Requirement
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.boxes import Box
from parhelion.lang.buffer import Buffer
from parhelion.lang.callable import Callable as Compiled
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.target_api import options
from parhelion.lang.where import box_of
from parhelion.schedule.directives import ROOT, LoopLevel, Place
from parhelion.schedule.order import realization_order
from parhelion.schedule.spec import duplicates
from parhelion.streaming.rings import Ring
from parhelion.streaming.spans import MANY
from parhelion.streaming.timed import Timed
from parhelion.types import INT32

#: What a piece reads frames of: a value of a Func that is kept, or the video.
Source = tuple["Function | BufferSym", int]


@dataclass(slots=True, eq=False)
class Layout:
    """How the frames of a source lie in memory, and how many are kept.

    axes: which dimension each axis of a frame is, as of `Ring`. extents: of the axes,
    None where they are not known.
    """

    axes: tuple[int, ...]
    extents: tuple[int | None, ...]
    size: int = 1

    def strides(self) -> dict[int, int]:
        """The strides of dimensions, in elements, as far as they are known."""
        found: dict[int, int] = {}
        step: int | None = 1
        for d, n in zip(reversed(self.axes), reversed(self.extents), strict=True):
            if step is None:
                break
            found[d] = step
            step = None if n is None else step * n
        return found


@dataclass(slots=True, eq=False)
class Piece:
    """Some outputs, and what they need beyond what is kept.

    roots: the Funcs that it computes. pipeline: their copies, which read rings.
    rings: the image for each source that it may read. frames: the Param for the number
    of frames. next: the first frame that it has not computed; None before the first.
    """

    roots: tuple[Function, ...]
    pipeline: Pipeline
    rings: Mapping[Source, ImageParam]
    frames: Param
    next: int | None = None
    computed: int = 0
    _code: Compiled | None = None
    _symbols: list[BufferSym | ParamSym] = field(default_factory=list)

    def compile(self) -> None:
        """Makes the code."""
        given = self.pipeline.infer_arguments()
        self._symbols = [a._symbol for a in given]
        self._code = self.pipeline.compile_to_callable(given)

    def run(
        self,
        value_of: Callable[[BufferSym | ParamSym], object],
        rings: Mapping[Source, Ring],
        frames: int,
        outputs: Sequence[Buffer],
    ) -> None:
        """Computes a frame, whose time is that of the outputs."""
        own: dict[BufferSym | ParamSym, object] = {self.frames._sym: frames}
        for source, image in self.rings.items():
            if source in rings:
                own[image._sym] = rings[source].buffer
        values = [own[s] if s in own else value_of(s) for s in self._symbols]
        assert self._code is not None
        self._code(*values, *outputs)
        self.computed += 1


class _Cut(Rewriter):
    """Reads rings where frames are read, and Params where the length of the video is.

    time_of: by each source, its dimension of time.
    """

    def __init__(
        self,
        rings: Mapping[Source, ImageParam],
        time_of: Mapping[Function | BufferSym, int],
        sizes: Mapping[Source, int],
        instead: Mapping[Var, Expr],
    ) -> None:
        super().__init__()
        self.rings, self.time_of, self.sizes = rings, time_of, sizes
        self.instead = instead

    def on_var(self, v: Var) -> Expr:
        return self.instead.get(v, v)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = [self.go(a) for a in n.args]
        source = (n.func, n.index)
        if source not in self.rings:
            return FuncCall(n.type, n.func, tuple(args), n.index)
        return self._ring(source, args)

    def on_imageload(self, n: ImageLoad) -> Expr:
        args = [self.go(a) for a in n.args]
        source = (n.image, 0)
        if source not in self.rings:
            return ImageLoad(n.type, n.image, tuple(args))
        return self._ring(source, args)

    def _ring(self, source: Source, args: list[Expr]) -> Expr:
        at = self.time_of[source[0]]
        args[at] = mod(args[at], int32(self.sizes[source]))
        image = self.rings[source]._sym
        return ImageLoad(image.type, image, tuple(args))


def piece(
    roots: Sequence[Function],
    timed: Timed,
    kept: Sequence[Function],
    layouts: Mapping[Source, Layout],
    requirements: Sequence[Requirement] = (),
) -> Piece:
    """The piece that computes some Funcs. layouts: of all sources, the roots' values
    among them."""
    copies = duplicates(roots)
    frames = Param(INT32, "frames")
    stops = [f for f in kept if f not in roots]
    rings: dict[Source, ImageParam] = {}  # by copies, for the rewriter
    told: dict[Source, ImageParam] = {}
    times: dict[Function | BufferSym, int] = {}
    sizes: dict[Source, int] = {}
    instead: dict[Var, Expr] = {}
    image, at = timed.video.image, timed.video.time
    sources: list[Function | BufferSym] = [*stops, image]
    for of in sources:
        mine = copies.get(of) if isinstance(of, Function) else of
        if mine is None:
            continue
        times[mine] = timed.times[of]
        for i, sym in enumerate(_buffers(of)):
            label = of.label if isinstance(of, Function) else of.name
            ring = ImageParam(sym.type, len(sym.dims), f"{label}_frames")
            rings[mine, i] = told[of, i] = ring
            sizes[mine, i] = layouts[of, i].size
    for d, dim in enumerate(image.dims):
        other = told[image, 0]._sym.dims[d]
        instead |= {dim.min: other.min, dim.extent: other.extent}
    instead |= {image.dims[at].min: int32(0), image.dims[at].extent: frames._sym.var}
    cut = _Cut(rings, times, sizes, instead)
    mine_roots = [copies[f] for f in roots]
    for f in copies.values():
        if f not in times:
            _rewrite(f, cut)
    inside = {*realization_order(mine_roots)}
    for f in inside:
        _keep_levels(f, inside)
    for f, root in zip(roots, mine_roots, strict=True):
        root.hold(())
        root.schedule.compute = LoopLevel(Place.INLINED)
        root.schedule.store = root.schedule.hoist = None
        for i, (old, new) in enumerate(zip(f.buffers, root.buffers, strict=True)):
            _promise(old, new, timed.times[f], layouts[f, i], cut)
    for (of, i), ring in told.items():
        old = _buffers(of)[i]
        _promise(old, ring._sym, timed.times[of], layouts[of, i], cut)
    made = Pipeline([Func._of(root) for root in mine_roots])
    for one in requirements:
        shown = tuple([cut.go(e) for e in one.shown])
        made._runner.require(Requirement(cut.go(one.condition), shown))
    return Piece(tuple(roots), made, told, frames)


def _buffers(of: Function | BufferSym) -> tuple[BufferSym, ...]:
    return of.buffers if isinstance(of, Function) else (of,)


def _promise(
    old: BufferSym, new: BufferSym, time: int, layout: Layout, cut: _Cut
) -> None:
    """What is promised of one image holds for the other, but of time; and the layout
    is known."""
    strides = layout.strides()
    for d, (a, b) in enumerate(zip(old.dims, new.dims, strict=True)):
        b.fixed_stride = None if d not in strides else int32(strides[d])
        if d == time:
            continue
        b.fixed_min = None if a.fixed_min is None else cut.go(a.fixed_min)
        b.fixed_extent = None if a.fixed_extent is None else cut.go(a.fixed_extent)
        b.estimate_min, b.estimate_extent = a.estimate_min, a.estimate_extent


def _rewrite(f: Function, cut: _Cut) -> None:
    stages = []
    for d in f.stages():
        made = Definition(
            tuple([cut.go(a) for a in d.args]),
            tuple([cut.go(v) for v in d.values]),
            d.rdom,
            d.schedule,
            d.site,
        )
        if d.rdom is not None:
            made.read_predicate(cut.go(d.predicate))
        made.original, made.directive = None, d.directive
        made.moved_by, made.known_as = d.moved_by, d.known_as
        chosen = d.schedule.specializations
        made.schedule.specializations = tuple(
            [dataclasses.replace(s, condition=cut.go(s.condition)) for s in chosen]
        )
        stages.append(made)
    f.pure, f.updates = stages[0], tuple(stages[1:])


def _keep_levels(f: Function, inside: set[Function]) -> None:
    """Forgets directives that mention Funcs of other pieces."""
    s = f.schedule
    for name in ("compute", "store", "hoist"):
        level = getattr(s, name)
        if level is not None and level.func is not None and level.func not in inside:
            setattr(s, name, ROOT)
    for d in f.stages():
        for one in [d.schedule, *[b.schedule for b in d.schedule.specializations]]:
            if one is None:
                continue
            if one.fused_with is not None and one.fused_with.func not in inside:
                one.fused_with = None
            one.prefetches = tuple([p for p in one.prefetches if p.source in inside])


def region(
    piece: Piece,
    outputs: Sequence[Buffer],
    value_of: Callable[[BufferSym | ParamSym], object],
) -> tuple[list[Box], dict[Source, Box]]:
    """The (min, extent) of each dimension of what a piece writes for some outputs, and
    of what it reads of each source."""
    runner = piece.pipeline._ready()
    rings = {image._sym: source for source, image in piece.rings.items()}
    frames = piece.frames._sym
    own: dict[BufferSym | ParamSym, object] = {frames: MANY}
    own |= {s: value_of(s) for s in runner.reach.params if s is not frames}
    images = [s for s in runner.reach.images if s not in rings and not s.embedded]
    own |= {s: value_of(s) for s in images}
    runner.bindings = Bindings(own, SET)
    boxes = [box_of(b) for b in outputs]
    variant = runner.variant({}, options(None), boxes)
    variant = runner.fitting(boxes, variant)
    boxes = runner.grown(boxes, variant)
    found = runner.infer_inputs(boxes, variant)
    read = {rings[s]: [side[:2] for side in found[s]] for s in rings if s in found}
    return boxes, read


__all__ = ["Layout", "Piece", "Source", "piece", "region"]
