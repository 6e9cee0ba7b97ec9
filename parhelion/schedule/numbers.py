"""The numbers that directives take as expressions, and what they may be.

A constant is checked when the directive is given. What depends on Params and on the
sizes of images has a value only when the pipeline runs: `numbers_of` lists it, and the
compiled code checks it before any pixel is computed (`lower.prologue`).
"""

from __future__ import annotations

from collections.abc import Iterator

from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir.build import (
    FALSE,
    TRUE,
    add,
    const_int,
    is_false,
    is_true,
    land,
    lnot,
    lor,
)
from parhelion.ir.expr import Cast, Expr
from parhelion.ir.function import Function, var_label
from parhelion.ir.text import brief
from parhelion.schedule.branches import StageIndex, schedules
from parhelion.schedule.directives import Spent, Split, StageSchedule
from parhelion.schedule.rules import MOST_COORDINATE, MOST_FACTOR, stage_label
from parhelion.types import INT32


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a directive that is not a constant.

    key: its name among those of the whole pipeline, by which its line is found.
    directive: the stage and the directive, ``f.update(0).split``. what: which of its
        numbers, ``factor p of x``. least, most: what it may be.
    condition: whether a run comes to use it.
    """

    key: str
    directive: str
    what: str
    value: Expr
    least: int
    most: int
    condition: Expr
    site: Site | None


def numbers_of(f: Function) -> list[Number]:
    """The numbers of the directives on `f` and on its stages that only runs know."""
    found: list[Number] = []

    def note(
        directive: str,
        what: str,
        of: str,
        value: Expr | None,
        least: int,
        most: int,
        site: Site | None,
        condition: Expr = TRUE,
    ) -> None:
        if value is None or const_int(value) is not None:
            return
        told = f"{what} {brief(_as_given(value), 60)}{of}"
        key = f"{f.name}#{len(found)}"
        found.append(Number(key, directive, told, value, least, most, condition, site))

    s = f.schedule
    for b in s.bounds:
        name = "bound_extent" if b.min is None else "bound"
        directive, of = f"{f.label}.{name}", f" of {b.var.name}"
        low = -MOST_COORDINATE
        note(directive, "min", of, b.min, low, MOST_COORDINATE, b.site)
        note(directive, "extent", of, b.extent, 0, MOST_COORDINATE, b.site)
        if b.min is not None and b.extent is not None:
            end = add(b.min, b.extent)
            note(directive, "end", of, end, low, MOST_COORDINATE, b.site)
    for d, wish in s.storage.items():
        of = f" of {f.args[d].name}"
        for name, what, value, site in (
            ("fold_storage", "extent", wish.fold, wish.fold_site),
            ("bound_storage", "bound", wish.bound, wish.bound_site),
        ):
            note(f"{f.label}.{name}", what, of, value, 1, MOST_COORDINATE, site)
    copies = "number of copies"
    note(f"{f.label}.ring_buffer", copies, "", s.ring, 1, MOST_FACTOR, s.ring_site)
    for k, definition in enumerate(f.stages()):
        for label, schedule, condition in used_when(f, k, definition.schedule):
            for t in schedule.transforms:
                if isinstance(t, Split):
                    directive, of = f"{label}.{t.directive}", f" of {var_label(t.old)}"
                    what = "task size" if t.directive == "parallel" else "factor"
                    note(
                        directive, what, of, t.factor, 1, MOST_FACTOR, t.site, condition
                    )
            for n in schedule.spent:
                known = const_int(n.value)
                if known is None or not n.least <= known <= n.most:
                    key, directive = f"{f.name}#{len(found)}", f"{label}.{n.directive}"
                    limits = (n.least, n.most, condition, n.site)
                    found.append(Number(key, directive, _told(n), n.value, *limits))
            for p in schedule.prefetches:
                directive, of = f"{label}.prefetch", f" along {var_label(p.start)}"
                low, high = -MOST_FACTOR, MOST_FACTOR
                note(directive, "offset", of, p.offset, low, high, p.site, condition)
    return found


def transform_key(f: Function, stage: int, branch: int, place: int) -> str:
    """A name for a split or fuse: what is at `place` among those of a branch."""
    return f"{f.name}#{stage}.{branch}.{place}"


def ring_key(f: Function) -> str:
    """A name for the ring buffer of `f`."""
    return f"{f.name}#ring"


def sites_of(f: Function) -> dict[str, Site | None]:
    """The user's lines of the numbers, splits, fuses and the ring buffer of `f`, by
    their keys."""
    found = {n.key: n.site for n in numbers_of(f)}
    found[ring_key(f)] = f.schedule.ring_site
    return found | {
        transform_key(f, k, branch, place): t.site
        for k, definition in enumerate(f.stages())
        for branch, schedule in enumerate(schedules(definition.schedule))
        for place, t in enumerate(schedule.transforms)
    }


def _told(n: Spent) -> str:
    """What a number is, as a message says it: ``factor p of r.x``."""
    given = "" if n.given is None else f" {brief(n.given, 60)}"
    return f"{n.what}{given} of {var_label(n.of)}"


def _as_given(value: Expr) -> Expr:
    """What the user gave, before it was made an int32."""
    return value.a if isinstance(value, Cast) and value.type is INT32 else value


def used_when(
    f: Function, k: int, schedule: StageSchedule
) -> Iterator[tuple[str, StageSchedule, Expr]]:
    """The schedules of a definition's branches, with what they are called and whether
    a run comes to them: where their condition holds, and none of those before."""
    taken = _Taken()
    for path, one, runs in taken.branches(schedule, (), TRUE):
        yield stage_label(f, StageIndex(k, path) if path else k), one, runs


class _Taken:
    """Walks the branches of a definition in the order in which a run tries them."""

    def __init__(self) -> None:
        #: Where a run does not come any further.
        self.before: Expr = FALSE

    def branches(
        self, schedule: StageSchedule, path: tuple[int, ...], condition: Expr
    ) -> Iterator[tuple[tuple[int, ...], StageSchedule, Expr]]:
        """The branches of one that a run comes to where `condition` holds, then
        itself: their paths, and when a run takes them."""
        for n, one in enumerate(schedule.specializations):
            inner = land(condition, one.condition)
            if is_false(inner):
                continue
            if one.schedule is None:
                self.before = lor(self.before, inner)
            else:
                yield from self.branches(one.schedule, (*path, n), inner)
        runs = FALSE if is_true(self.before) else land(condition, lnot(self.before))
        self.before = lor(self.before, condition)
        if not is_false(runs):
            yield path, schedule, runs


__all__ = [
    "Number",
    "numbers_of",
    "ring_key",
    "sites_of",
    "transform_key",
    "used_when",
]
