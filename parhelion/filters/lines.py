"""The schedule of a filter that is computed by itself: row by row.

Each stage computes, for a row of the result, those of its rows that are not there yet,
into a ring of few rows that stays in the cache. Rows of the result are divided into
strips, which threads share; a strip begins its rings anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad, Select
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import nodes
from parhelion.lang.func import Func, Stage
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import of_rvar
from parhelion.lang.target_api import get_host_target
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import callees, realization_order
from parhelion.types import UInt

#: Rows of the result that one thread computes at a time.
STRIP = 64


def by_lines(pipeline: Pipeline) -> None:
    """Schedules a pipeline of one output (H, W) whose stages are read around each
    point."""
    (out,) = pipeline.outputs()
    x, y = out.args()
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, STRIP, TailStrategy.GuardWithIf)
    out.parallel(strip).never_partition(strip, row)
    order = realization_order([out._function])
    images = [f for f in order if f.dimensions == 2]
    tables = {g for f in images for g in callees(f) if g.dimensions == 1}
    for f in order:
        if f in tables:
            Func._of(f).compute_root()
    whole = [f for f in images if f is not out._function and _is_indexed(f, images)]
    homes = {out._function: (out, strip, row)}
    # From the last to the first: users of a stage have a place before it has one.
    for f in reversed(images):
        stage = Func._of(f)
        if f is out._function:
            pass
        elif f in whole or len(_homes_of(f, images, homes)) != 1:
            stage.compute_root()
            homes[f] = _in_strips(stage)
        else:
            (home,) = _homes_of(f, images, homes)
            stage.store_at(home[0], home[1]).compute_at(home[0], home[2])
            homes[f] = home
        vectorize(stage, f)


#: A stage that is computed as a whole, its loop over strips, and that over rows.
_Home: TypeAlias = tuple[Func, Var, Var]


def _homes_of(
    f: Function, images: Iterable[Function], homes: dict[Function, _Home]
) -> list[_Home]:
    """In which loops stages are computed that read one."""
    found: list[_Home] = []
    for user in images:
        if user is not f and f in callees(user) and homes[user] not in found:
            found.append(homes[user])
    return found


def _in_strips(stage: Func) -> _Home:
    """Divides a stage that is computed as a whole into strips of its rows."""
    strip, row = Var("strip"), Var("row")
    y = stage.args()[1]
    if stage._function.updates:
        return stage, y, y
    stage.split(y, strip, row, STRIP, TailStrategy.GuardWithIf).parallel(strip)
    return stage, strip, row


def _is_indexed(f: Function, images: Iterable[Function]) -> bool:
    """Whether rows of a stage are read that a table names: any of them, at any time."""
    for user in images:
        for one in user.stages():
            for n in nodes(*one.values):
                if isinstance(n, FuncCall) and n.func is f and n.func is not user:
                    inner = nodes(n.args[1])
                    if any([isinstance(m, FuncCall) for m in inner]):
                        return True
    return False


def vectorize(stage: Func, f: Function) -> None:
    """Vectorizes the definitions of a stage along rows, but those of a few elements."""
    for i, definition in enumerate(f.stages()):
        if i == 0 and f.updates and _is_nothing(definition):
            continue
        one: Func | Stage = stage if i == 0 else stage.update(i - 1)
        lanes = lanes_of(definition)
        (first, *_) = definition.args
        if first is f.args[0]:
            one.vectorize(stage.args()[0], lanes)
        elif i == 1:
            assert definition.rdom is not None
            one.vectorize(
                of_rvar(definition.rdom.vars[0]), lanes, TailStrategy.Predicate
            )
        else:
            one.unscheduled()


def _is_nothing(definition: Definition) -> bool:
    return all([getattr(v, "op", None) == "undef" for v in definition.values])


def lanes_of(definition: Definition) -> int:
    """How many elements of the widest type in a definition one register holds."""
    bits = get_host_target().natural_vector_size(UInt(8)) * 8
    widest = max([_width(v) for v in definition.values])
    return max(bits // widest, 1)


def _width(value: Node) -> int:
    """The bits of the widest number that a value is computed in; coordinates do not
    count."""
    widest, stack, seen = 8, [value], {value}
    while stack:
        n = stack.pop()
        widest = max(widest, n.type.width)
        if not isinstance(n, FuncCall | ImageLoad):
            children = n.children()
            if isinstance(n, Select) and not _reads(n.cond):
                children = (n.a, n.b)
            for child in children:
                if isinstance(child, Node) and child not in seen:
                    seen.add(child)
                    stack.append(child)
    return widest


def _reads(value: Node) -> bool:
    return any([isinstance(n, FuncCall | ImageLoad) for n in nodes(value)])


__all__ = ["STRIP", "by_lines", "lanes_of", "vectorize"]
