"""Schedules in motion: `Pipeline.animate`, each load and store in its order.

As in the figures of the 2012 paper (section 3.1) and of Halide's tutorial, every stage
is a grid of pixels, in which those light up that a step loads or stores.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape

from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, HalideError, TypeMismatchError, here
from parhelion.ir.bindings import SET
from parhelion.ir.deep import run_deep
from parhelion.ir.evaluate import Value
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.names import plain_name
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.given import exact
from parhelion.lang.inferred import laid_out
from parhelion.lang.loop_dump import write
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.runner import Runner
from parhelion.lower.passes import Trace
from parhelion.runtime.layout import Layout
from parhelion.runtime.program import Variant, compiling, fitted, lowered_for
from parhelion.schedule.modes import by_loops
from parhelion.schedule.order import realization_order
from parhelion.views.execute import (
    End,
    Execution,
    Pixels,
    Point,
    Source,
    Step,
    Storage,
    TooManyEvents,
    Touch,
)
from parhelion.views.listing import Line, Listing, names_of, shown
from parhelion.views.page import filled, json_text, template, whole_page

#: Loads and stores that an animation may show.
MOST_EVENTS = 50_000
#: Threads that parallel loops are shown on, unless it is said otherwise.
THREADS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """A stage as a picture: the box of the points that are loaded or stored."""

    source: Source
    name: str
    kind: str
    mins: tuple[int, ...]
    extents: tuple[int, ...]

    def place(self, point: Point) -> int:
        """The number of a point, dimension 0 counting fastest."""
        place, stride = 0, 1
        for c, lo, extent in zip(point, self.mins, self.extents, strict=True):
            place += (c - lo) * stride
            stride *= extent
        return place


@dataclass(frozen=True, slots=True)
class Animation:
    """The order in which a pipeline computes its stages, as a page that moves.

    A notebook shows it by itself; `save` writes a file that any browser shows, without
    a network. grids: inputs first, producers before consumers. lines: the program.
    steps: what happens, step by step.
    """

    name: str
    sizes: tuple[int, ...]
    threads: int
    grids: tuple[Grid, ...]
    lines: tuple[Line, ...]
    storages: tuple[Storage, ...]
    steps: tuple[Step, ...]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        write(path, self.html())

    def html(self) -> str:
        """The page."""
        size = " × ".join(map(str, self.sizes))
        return whole_page(f"{self.name}, {size}", self.fragment())

    def fragment(self) -> str:
        """What stands in the body of the page; its script is that of all fragments."""
        data = json_text(self.data())
        return filled(template("animation.html"), name=escape(self.name), data=data)

    def _repr_html_(self) -> str:
        return (
            '<iframe style="width:100%;height:640px;border:0" sandbox="allow-scripts"'
            f' srcdoc="{escape(self.html(), quote=True)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<parhelion.Animation of {self.name}, {len(self.steps)} steps>"

    def data(self) -> dict[str, object]:
        """What the script reads. A step is a list of ``[storage]``, which ends, and of
        ``[storage, thread, line, points, loads, loops, lost]``."""
        number = {g.source: i for i, g in enumerate(self.grids)}
        return {
            "name": self.name,
            "threads": self.threads,
            "grids": [
                {"name": g.name, "kind": g.kind, "min": g.mins, "extent": g.extents}
                for g in self.grids
            ],
            "lines": [
                [line.depth, line.text, line.parent, line.loop] for line in self.lines
            ],
            "storages": [number.get(s.func, -1) for s in self.storages],
            "steps": [[self._told(one, number) for one in step] for step in self.steps],
        }

    def _told(self, one: Touch | End, number: dict[Source, int]) -> list[object]:
        if isinstance(one, End):
            return [one.storage.number]
        grid = self.grids[number[one.storage.func]]
        loads: dict[int, list[int]] = {}
        for source, point in one.loads:
            i = number[source]
            loads.setdefault(i, [i]).append(self.grids[i].place(point))
        loops = [lo if lo == hi else [lo, hi] for lo, hi in one.loops]
        return [
            one.storage.number,
            one.thread,
            one.line,
            [grid.place(p) for p in one.points],
            list(loads.values()),
            loops,
            [grid.place(p) for p in one.lost],
        ]


def animate(
    pipeline: Pipeline,
    where: object,
    filename: str | os.PathLike[str] | None = None,
    threads: int = THREADS,
) -> Animation:
    """See `Pipeline.animate`."""
    if isinstance(filename, int):
        raise TypeMismatchError(
            f"animate takes a list of extents and the name of a file, not {filename!r}",
            at=here(),
            hint=f"write animate([{where}, {filename}])"
            if isinstance(where, int)
            else "",
        )
    if not isinstance(threads, int) or threads < 1:
        raise TypeMismatchError(
            f"the number of threads of an animation is 1 or more, not {threads!r:.60}",
            at=here(),
        )
    made = _run(pipeline, where, threads)
    if filename is not None:
        made.save(filename)
    return made


def _run(pipeline: Pipeline, where: object, threads: int) -> Animation:
    runner = pipeline._ready()
    for f in realization_order(runner.outputs):
        if not by_loops(f):
            raise HalideError(
                f"foreign code computes {shown(f)!r}: in which order, only that code "
                "knows, so that it cannot be animated",
                at=here(),
            )
    asked = pipeline._boxes(where, "animate")
    if any([extent == 0 for box in asked for _, extent in box]):
        raise BoundsError("no pixels are asked for, so that nothing moves", at=here())
    # Each of them is stored once at least: nothing need be run to know it.
    if sum([math.prod([e for _, e in box]) for box in asked]) > MOST_EVENTS:
        raise TooManyEvents(MOST_EVENTS)
    # Buffers as `realize` and `infer_input_bounds` make them.
    layouts = {
        s: b._layout() for s in runner.reach.images if (b := _given(s)) is not None
    }
    fitting = runner.fitting(asked, runner.variant(layouts, boxes=asked))
    boxes = runner.grown(asked, fitting)
    made = {
        s: runner.new_buffer(s, box)
        for s, box in zip(runner.targets, boxes, strict=True)
    }
    read = runner.infer_inputs(boxes, fitting)
    made |= {s: laid_out(s, sides) for s, sides in read.items()}
    layouts |= {s: b._layout() for s, b in made.items()}
    outputs, run, steps = _executed(runner, runner.variant(layouts), layouts, threads)
    return Animation(
        ", ".join([shown(f) for f in runner.outputs]),
        tuple([extent for _, extent in asked[0]]),
        threads,
        _grids(outputs, steps),
        tuple(run.listing.lines),
        tuple(run.storages),
        steps,
    )


def _executed(
    runner: Runner, variant: Variant, layouts: dict[BufferSym, Layout], threads: int
) -> tuple[Sequence[Function], Execution, tuple[Step, ...]]:
    """The run of a variant or, where it reports a failure that another variant may not
    have, of that one; and the outputs that it computes."""
    env = _environment(runner, variant, layouts)
    images: dict[BufferSym, Pixels] = {s: _pixels(_given(s)) for s in layouts}
    trace = Trace()
    with compiling():
        spec = runner.spec()
        lowered_for(spec, runner.name, variant, vectors=False, trace=trace)
        name, body, _ = trace.steps[0]
        assert name == "loop_nests"
        listing = Listing(body, names_of(spec.order))
        run = Execution(listing, trace.origins, images, MOST_EVENTS, threads)
        try:
            steps = run_deep(lambda: tuple(run.steps(body, spec.outputs, env)))
        except BoundsError as error:
            other = runner.instead(variant, error.failure)
            if other is None:
                raise
            return _executed(runner, other, layouts, threads)
    return spec.outputs, run, steps


def _given(s: BufferSym) -> Buffer | None:
    """The image that the user has set."""
    found = SET.of(s)
    return found if isinstance(found, Buffer) and found.defined() else None


def _pixels(image: Buffer | None) -> Pixels:
    """What an image holds. One that is not set is taken to be 0: what it holds says
    nothing of the order, unless coordinates are data."""
    if image is None:
        return lambda at: 0
    array, mins = image._pixels(), image._layout().mins

    def pixel(at: Point) -> Value:
        place = tuple([c - lo for c, lo in zip(at, mins, strict=True)])
        inside = all([0 <= c < n for c, n in zip(place, array.shape, strict=True)])
        found: Value = array[place].item() if inside else 0
        return found

    return pixel


def _environment(
    runner: Runner, variant: Variant, layouts: dict[BufferSym, Layout]
) -> dict[Var, Value]:
    """The values of all Vars of arguments."""
    env: dict[Var, Value] = {}
    strides = dict(variant.strides)
    for arg in runner.program(variant).lowered.args:
        symbol = arg.symbol
        if isinstance(symbol, ParamSym):
            env[symbol.var] = exact(symbol, runner.scalar(symbol))
            continue
        layout = fitted(
            runner._promises[symbol], layouts[symbol], strides.get(symbol, ())
        )
        places = zip(
            symbol.dims, layout.mins, layout.extents, layout.strides, strict=True
        )
        for dim, lo, extent, stride in places:
            env[dim.min], env[dim.extent], env[dim.stride] = lo, extent, stride
    return env


def _grids(outputs: Sequence[Function], steps: Sequence[Step]) -> tuple[Grid, ...]:
    """The stages that are touched, each as large as what is touched of it."""
    low: dict[Source, list[int]] = {}
    high: dict[Source, list[int]] = {}

    def touch(source: Source, point: Point) -> None:
        lo, hi = (
            low.setdefault(source, list(point)),
            high.setdefault(source, list(point)),
        )
        for d, c in enumerate(point):
            lo[d], hi[d] = min(lo[d], c), max(hi[d], c)

    for step in steps:
        for one in step:
            if isinstance(one, Touch):
                for p in one.points:
                    touch(one.storage.func, p)
                for source, p in one.loads:
                    touch(source, p)
    order: list[Source] = [s for s in low if isinstance(s, BufferSym)]
    order += [f for f in realization_order(outputs) if f in low]
    # Copies that a schedule makes are in no one's definitions.
    order += [s for s in low if s not in order]
    grids = []
    names = names_of(realization_order(outputs))
    for source in order:
        lo, hi = low[source], high[source]
        if isinstance(source, BufferSym):
            kind, name = "input", plain_name(source.name)
        else:
            kind = "output" if source in outputs else "stage"
            name = names.get(source) or shown(source)
        extents = tuple([b - a + 1 for a, b in zip(lo, hi, strict=True)])
        grids.append(Grid(source, name, kind, tuple(lo), extents))
    return tuple(grids)


__all__ = ["MOST_EVENTS", "Animation", "Grid", "animate"]
