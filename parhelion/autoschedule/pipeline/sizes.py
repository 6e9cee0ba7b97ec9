"""The sizes that a schedule is made for, in numbers, and where they are from.

They are of outputs, inputs and Params: what the user gave, promised, estimated or set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here
from parhelion.ir.bindings import SET
from parhelion.ir.build import const_int
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.param import number_of
from parhelion.schedule.reach import Reach

#: Inclusive bounds of each dimension.
Box = tuple[tuple[int, int], ...]

#: An image whose size nobody knows reaches this far to both sides: no coordinate is
#: clamped to it.
FAR = 1 << 30


@dataclass
class Sizes:
    """outputs: the box of each output Func. images: the box of each input, None where
    it is not known (then it is what the outputs need). params: the value of each
    scalar."""

    outputs: Mapping[Function, Box]
    images: Mapping[BufferSym, Box | None] = field(default_factory=dict)
    params: Mapping[ParamSym, int | float | bool] = field(default_factory=dict)

    def on(self, funcs: Mapping[Function, Function]) -> Sizes:
        """The same for other Funcs, given by these."""
        told = {funcs[f]: box for f, box in self.outputs.items()}
        return replace(self, outputs=told)

    @cached_property
    def _buffers(self) -> dict[BufferSym, Box]:
        """The boxes of outputs, by their buffers."""
        return {b: box for f, box in self.outputs.items() for b in f.buffers}

    def lookup(self, v: Var) -> int | float | None:
        """The number that a Var of the algorithm stands for: a Param, or the min or
        extent of an image's dimension; None if there is none."""
        origin = v.origin
        if isinstance(origin, ParamSym):
            found = self.params.get(origin, SET.of(origin))
            return int(found) if isinstance(found, bool) else found
        if isinstance(origin, tuple):
            owner, what, d = origin
            if what == "stride":
                return None
            box = (
                self._buffers.get(owner)
                if owner.role == "output"
                else self.images.get(owner)
            )
            if box is None:
                return -FAR if what == "min" else 2 * FAR + 1
            low, high = box[d]
            return low if what == "min" else high - low + 1
        return None

    def estimate(self, source: Function | BufferSym, d: int) -> tuple[int, int] | None:
        """What the user said of how far a dimension of a Func or image reaches."""
        if isinstance(source, BufferSym):
            box = self.images.get(source)
            return None if box is None else box[d]
        schedule = source.schedule
        for b in (*schedule.bounds, *schedule.estimates):
            if b.var is source.args[d] and b.min is not None and b.extent is not None:
                low, extent = const_int(b.min), const_int(b.extent)
                if low is not None and extent is not None:
                    return low, low + extent - 1
        return None


Number = int | float | bool
#: Of one dimension: its first coordinate, if that is given too, and its extent.
Extent = tuple[int | None, int]


@dataclass(frozen=True)
class Given:
    """What a user says at once, rather than by estimates.

    outputs, images, params: extents, images and values. real: whether images and values
    that are set come before estimates, because the pipeline will run on them.
    """

    outputs: Mapping[Function, Sequence[Extent]] = field(default_factory=dict)
    images: Mapping[BufferSym, Buffer] = field(default_factory=dict)
    params: Mapping[ParamSym, Number] = field(default_factory=dict)
    real: bool = False


def find_sizes(outputs: Sequence[Function], given: Given | None = None) -> Sizes:
    """The sizes to make a schedule for.

    Of an output: those given, or what is promised (`bound`, `output_buffer`), or the
    estimate. Of an image: the one given, or a Buffer that the algorithm mentions, what
    is promised, the estimate, or the image that is set; if there is none of these, it
    is as large as the outputs need. Of a Param: the value given, the estimate, the
    value that is set, or the middle of its range.

    Raises ScheduleError for an output whose extent is not known, and for a Param
    without a value on which sizes depend.
    """
    return _Finder(outputs, given or Given()).find()


class _Finder:
    def __init__(self, outputs: Sequence[Function], given: Given) -> None:
        self.outputs, self.given = tuple(outputs), given
        self.reach = Reach(outputs)
        self.reach.look()
        #: Bounds that are being found, for promises that refer to each other.
        self.open: set[Var] = set()

    def find(self) -> Sizes:
        params: dict[ParamSym, Number] = {}
        for p in self.reach.params:
            value = self.param(p)
            if value is not None:
                params[p] = value
            elif where := self._use(p):
                raise _no_value(p, where)
        return Sizes(
            {f: self.output(f) for f in self.outputs},
            {s: self.image(s) for s in self.reach.images},
            params,
        )

    # Params.

    def param(self, p: ParamSym) -> Number | None:
        if p in self.given.params:
            return self.given.params[p]
        known = (p.estimate, SET.of(p))
        for value in reversed(known) if self.given.real else known:
            if isinstance(value, int | float):
                return value
        low, high = number_of(p.lo), number_of(p.hi)
        if low is None or high is None:
            return None
        middle = (low + high) / 2
        return middle if p.type.is_float() else int(middle // 1)

    def _use(self, p: ParamSym) -> str:
        """What the sizes of regions have to do with a Param; empty if nothing."""
        for f in self.reach.functions:
            for d in f.stages():
                for e, what in _sizing(f, d):
                    if p.var in free_vars(e):
                        return what
        return ""

    # Images.

    def image(self, s: BufferSym) -> Box | None:
        sides = [self.image_side(s, d) for d in range(len(s.dims))]
        known = [side for side in sides if side is not None]
        return tuple(known) if len(known) == len(sides) else None

    def image_side(self, s: BufferSym, d: int) -> tuple[int, int] | None:
        known = SET.of(s)
        given = self.given.images.get(s)
        if given is None and (self.given.real or s.embedded):
            given = known
        dim = s.dims[d]
        if isinstance(given, Buffer):
            return _side(given, d)
        low = self._first(dim.fixed_min, dim.estimate_min)
        extent = self._first(dim.fixed_extent, dim.estimate_extent)
        if isinstance(known, Buffer) and (low is None or extent is None):
            side = _side(known, d)
            low = side[0] if low is None else low
            extent = side[1] - side[0] + 1 if extent is None else extent
        if extent is None or extent < 1:
            return None
        low = low or 0
        return low, low + extent - 1

    # Outputs.

    def output(self, f: Function) -> Box:
        sides = [self.output_side(f, d) for d in range(f.dimensions)]
        missing = [d for d, side in enumerate(sides) if side is None]
        if missing:
            raise _no_extent(f, missing)
        return tuple([side for side in sides if side is not None])

    def output_side(self, f: Function, d: int) -> tuple[int, int] | None:
        promised = [b.dims[d] for b in f.buffers]
        bounds = [b for b in f.schedule.bounds if b.var is f.args[d]]
        fixed_low = self._first(
            *[p.fixed_min for p in promised], *[b.min for b in bounds]
        )
        if f in self.given.outputs:
            low, extent = self.given.outputs[f][d]
            low = (fixed_low or 0) if low is None else low
            return low, low + extent - 1
        said = [b for b in f.schedule.estimates if b.var is f.args[d]]
        extent_ = self._first(
            *[p.fixed_extent for p in promised],
            *[b.extent for b in bounds],
            *[b.extent for b in said],
            *[p.estimate_extent for p in promised],
        )
        if extent_ is None:
            return None
        if extent_ < 1:
            raise ScheduleError(
                f"the extent of {f.args[d].name} of the output {f.name} is {extent_};"
                " a schedule is made for at least 1",
                at=here(),
            )
        start = self._first(
            fixed_low, *[b.min for b in said], *[p.estimate_min for p in promised]
        )
        return start or 0, (start or 0) + extent_ - 1

    # Numbers.

    def _first(self, *said: Expr | int | None) -> int | None:
        """The first of them that is known."""
        for e in said:
            value = self._number(e) if isinstance(e, Expr) else e
            if value is not None:
                return value
        return None

    def _number(self, e: Expr) -> int | None:
        """The value of a promise, which may mention Params and sizes of images."""
        env: dict[Var, Number] = {}
        for v in free_vars(e):
            value = self._var(v)
            if value is None:
                return None
            env[v] = value
        return int(evaluate(e, env))

    def _var(self, v: Var) -> Number | None:
        if isinstance(v.origin, ParamSym):
            return self.param(v.origin)
        if not isinstance(v.origin, tuple) or v in self.open:
            return None
        owner, what, d = v.origin
        if what == "stride":
            return None
        self.open.add(v)
        side = (
            self.output_side(owner.func, d)
            if owner.role == "output"
            else self.image_side(owner, d)
        )
        self.open.discard(v)
        if side is None:
            return None
        return side[0] if what == "min" else side[1] - side[0] + 1


def _side(buffer: Buffer, d: int) -> tuple[int, int]:
    dim = buffer.dim(d)
    return dim.min(), dim.min() + dim.extent() - 1


def _sizing(f: Function, d: Definition) -> Iterator[tuple[Expr, str]]:
    """The expressions of a definition on which sizes depend, and what they are."""
    if d.rdom is not None:
        what = f"the RDom that {f.name} walks over"
        yield from [(e, what) for e in (*d.rdom.mins, *d.rdom.extents)]
    for e in (*d.values, *d.args, *d.guard):
        for n in nodes(e):
            if isinstance(n, FuncCall | ImageLoad):
                name = n.func.name if isinstance(n, FuncCall) else n.image.name
                what = f"the place where {f.name} reads {name}"
                yield from [(a, what) for a in n.args]


def _no_value(p: ParamSym, what: str) -> ScheduleError:
    sample = "0.5" if p.type.is_float() else "8"
    return ScheduleError(
        f"the automatic scheduler does not know a value of the Param {p.name!r}, on"
        f" which {what} depends",
        at=here(),
        detail=f"it was made at {p.site}" if p.site else "",
        hint=f"{p.name}.set_estimate({sample}) says what to expect; set(…) and"
        " set_range(…, …) serve as well",
    )


def _no_extent(f: Function, missing: Sequence[int]) -> ScheduleError:
    names = [f.args[d].name for d in missing]
    listed = names[0]
    if len(names) > 1:
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
    samples = [*_SAMPLE, *["1"] * f.dimensions][: f.dimensions]
    sizes, pairs = ", ".join(samples), ", ".join([f"(0, {s})" for s in samples])
    return ScheduleError(
        f"the automatic scheduler does not know how large the output {f.name} is in"
        f" {listed}",
        at=here(),
        detail=f"it was made at {f.site}" if f.site else "",
        hint=f"{f.name}.set_estimates([{pairs}]) says what to expect;"
        f" hl.autoschedule({f.name}, [{sizes}]) takes sizes instead",
    )


_SAMPLE = ("1536", "2560", "3")


__all__ = ["Box", "Extent", "FAR", "Given", "Sizes", "find_sizes"]
