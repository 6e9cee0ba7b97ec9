"""Tables of an image: counts of its values, what is looked up in a table for each
pixel, and the schedule of filters that are made of these."""

from __future__ import annotations

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.lines import lanes_of
from parhelion.filters.planes import plane_axes
from parhelion.ir import build
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import nodes
from parhelion.lang.func import Func, Stage
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RVar, of_rvar
from parhelion.lang.target_api import get_host_target
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import realization_order
from parhelion.types import INT32, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate, moved
from parhelion.whole.tables import STRIP, TURNS, counted

#: Bytes of the registers that tables are looked up in by permutations.
_PERMUTED = 64


def check_bytes(image: Array, what: str) -> tuple[int, int]:
    """The axes of rows and columns of an image of bytes, counted from the last. Raises
    TypeMismatchError for other types."""
    axes = plane_axes(image, what)
    if image.type is not UInt(8):
        raise TypeMismatchError(
            f"{what} takes an image of uint8, not of {image.type}",
            at=here(),
            hint="hl.clip(image, 0, 255).astype('uint8') makes one of levels up to 255",
        )
    return axes


def counts(index: Array, bins: int, what: str) -> Array:
    """How often each index occurs in each channel: (bins, …)."""
    y, x = plane_axes(index, what)
    whole = index._whole
    return Array._of(counted(whole, bins, (whole.rank - 1 - y, whole.rank - 1 - x)))


def as_table(table: Array) -> Array:
    """The same table, computed once."""
    return Array._of(computed(table._whole, "table"))


def looked_up(table: Array, image: Array, what: str) -> Array:
    """The value for each pixel of an image of bytes in the table of its channel."""
    level = build.cast(INT32, image._whole.value)
    return _picked(table, image, {table.ndim - 1: level}, what)


def spread(numbers: Array, image: Array, what: str) -> Array:
    """The numbers of each channel, for each of its pixels."""
    return _picked(numbers, image, {}, what)


def _picked(table: Array, image: Array, at: dict[int, Node], what: str) -> Array:
    whole = image._whole
    last = table.ndim - 1 - len(at)
    to = dict(at)
    for i, p in enumerate(others(image, what)):
        to[last - i] = coordinate(p)
    value = moved(table._whole.value, to)
    return Array._of(
        Whole(value, whole.shape, whole.names, whole.trace or table._whole.trace)
    )


def others(image: Array, what: str) -> list[int]:
    """The axes of an image but its rows and columns, counted from the last, in the
    order of its shape."""
    axes = plane_axes(image, what)
    return [p for p in reversed(range(image.ndim)) if p not in axes]


def by_tables(pipeline: Pipeline) -> None:
    """Schedules tables one after the other, whose strips threads share, and an image at
    the end by strips of its rows."""
    outputs = {f._function for f in pipeline.outputs()}
    for f in realization_order([o._function for o in pipeline.outputs()]):
        stage = Func._of(f)
        if f not in outputs:
            stage.compute_root()
            last = stage.args()[-1] if f.args else None
            if last is not None and last.name() == "strip":
                stage.parallel(last)
                for k in range(len(f.updates)):
                    _by_turns(stage.update(k).parallel(last), f.updates[k])
        elif f.dimensions > 1 and not f.updates:
            strip, row = Var("strip"), Var("row")
            y = stage.args()[1]
            stage.split(y, strip, row, STRIP, TailStrategy.GuardWithIf)
            stage.parallel(strip)
            if not _looks_up(f) or _permutes():
                stage.vectorize(stage.args()[0], lanes_of(f.stages()[0]))


def _permutes() -> bool:
    """Whether registers are as wide as those that are permuted to look up tables."""
    return get_host_target().natural_vector_size(UInt(8)) >= _PERMUTED


def _by_turns(stage: Stage, definition: Definition) -> None:
    """Writes out as many iterations as there are tables for neighbouring elements."""
    assert definition.rdom is not None
    inner = of_rvar(definition.rdom.vars[0])
    group, turn = RVar("group"), RVar("turn")
    stage.split(inner, group, turn, TURNS, TailStrategy.GuardWithIf).unroll(turn)


def _looks_up(f: Function) -> bool:
    """Whether values are read at places that are values: vectors of these are slow,
    where each lane is loaded by itself."""
    for n in nodes(*f.stages()[0].values):
        if isinstance(n, FuncCall):
            inner = nodes(*n.args)
            if any([isinstance(m, FuncCall | ImageLoad) for m in inner]):
                return True
    return False


__all__ = [
    "as_table",
    "by_tables",
    "check_bytes",
    "counts",
    "looked_up",
    "others",
    "spread",
]
