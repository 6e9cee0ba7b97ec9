"""How a filter walks along lines: the updates of a Func, and their loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.lang.effects import likely
from parhelion.lang.func import Func, Stage
from parhelion.lang.functions import clamp, select
from parhelion.lang.functions import max as max_
from parhelion.lang.rdom import RDom, RVar
from parhelion.lang.var import Var
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.values import coefficient
from parhelion.types import Type

#: A value by the number of a point; before the first one, the nearest is number 0.
Value = Callable[[Any], Any]

#: Points along which a scan goes at a time; and how many terms they have together at
#: most, as their code is written out: with more of them, a filter of order 512 takes 43
#: seconds to compile, not 9, and none of orders 16 to 100 is much faster.
AT_A_TIME, _MOST_TERMS = 8, 128
#: As many, where vectors are across tiles of a line, which has no others beside it. On
#: two million points of float32, one thread, 16 take 0.86 of the time of 8 for filters
#: of orders 1 to 4, and 0.93 to 0.98 for those of orders 5 to 8.
_ACROSS_TILES, _MOST_ACROSS_TILES = 16, 160


@dataclass(frozen=True)
class Line:
    """The points of a line, counted from the first that a filter meets.

    at: the coordinates of a point. name: of the dimension, of which loops get theirs.
    """

    at: Callable[[Any], tuple[Any, ...]]
    points: int
    name: str


@dataclass(frozen=True)
class Walk:
    """An update of a Func that goes along its lines.

    update: its number. points: how many it goes over. terms: of the sum that each is.
    """

    update: int
    domain: RDom
    points: int
    terms: int = 1


def walk(
    f: Func, line: Line, one: Filter, t: Type, value: Value, before: Value
) -> list[Walk]:
    """Gives a Func the updates by which a filter walks along lines.

    The first one writes the values before the first point. value: what is filtered, at
    points before the first one too if there are several feedforward coefficients.
    before: the values before the first point.
    """
    first, at = f.num_update_definitions(), line.at
    b = RDom([(0, one.order)], f"b{line.name}")
    f[at(-1 - b)] = before(b)
    r = RDom([(0, line.points)], f"r{line.name}")
    f[at(r)] = _total(line, one, r, t, value, lambda j: f[at(r - j)])
    last = Walk(first + 1, r, line.points, one.order + one.reach + 1)
    return [Walk(first, b, one.order), last]


def walk_within(
    f: Func, line: Line, one: Filter, t: Type, value: Value, before: Value
) -> Walk:
    """Gives a Func the update by which a filter walks along lines, and has it store
    nothing else. See `walk`."""
    r = RDom([(0, line.points)], f"r{line.name}")

    def earlier(j: int) -> Any:
        there = f[line.at(max_(r - j, 0))]
        return select(likely(r >= j), there, before(clamp(j - 1 - r, 0, j - 1)))

    f[line.at(r)] = _total(line, one, r, t, value, earlier)
    update = f.num_update_definitions() - 1
    return Walk(update, r, line.points, one.order + one.reach + 1)


def _total(
    line: Line,
    one: Filter,
    r: RDom,
    t: Type,
    value: Value,
    earlier: Callable[[int], Any],
) -> Any:
    """What a filter makes of values, at point `r`. earlier: what it has made so many
    points before."""
    total: Any = None
    # The nearest point comes last: it is known last.
    for m, b in reversed(list(enumerate(one.feedforward))):
        if b == 0 and one.reach:
            continue
        read = value(r - m) if m else value(r)
        term = read if b == 1 else coefficient(b, line.at(r), t) * read
        total = term if total is None else total + term
    for j, a in reversed(list(enumerate(one.feedback, 1))):
        if a != 0:
            total = total + coefficient(a, line.at(r), t) * earlier(j)
    return total


def schedule_walk(
    f: Func,
    one: Walk,
    v: Var,
    rest: Sequence[Var],
    lanes: int,
    across_tiles: bool = False,
) -> tuple[Stage, RVar | RDom]:
    """Schedules an update along lines, with vectors across `v`, and returns it and its
    outer loop along lines. across_tiles: whether `v` numbers tiles of the same line.

    It goes over several points at a time: values stay in registers from one to the
    next, and what is read of lines that lie far apart is turned there.
    """
    stage, r = f.update(one.update), one.domain
    size = AT_A_TIME
    while size > 1 and size * one.terms > _MOST_TERMS:
        size //= 2
    wide = across_tiles and one.points >= _ACROSS_TILES
    if wide and _ACROSS_TILES * one.terms <= _MOST_ACROSS_TILES:
        size = _ACROSS_TILES
    if one.points < AT_A_TIME or size == 1:
        stage.reorder(v, r, *rest).vectorize(v, lanes)
        return stage, r
    outer, inner = [_part(f, r, suffix) for suffix in "oi"]
    stage.split(r, outer, inner, size)
    stage.reorder(inner, v, outer, *rest).vectorize(v, lanes).unroll(inner)
    return stage, outer


def _part(f: Func, r: RDom, suffix: str) -> RVar:
    """A loop of a part of a domain, which is called like no dimension of the Func."""
    taken = {v.name() for v in f.args()}
    name = r.x.name().removesuffix(".x") + suffix
    while name in taken:
        name += suffix
    return RVar(name)


__all__ = ["AT_A_TIME", "Line", "Value", "Walk", "schedule_walk", "walk", "walk_within"]
