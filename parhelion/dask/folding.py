"""Reductions over whole images, as functions of parts of their domains.

What folds associatively (`schedule.associativity`) is computed by three pipelines: the
fold of a box of its domain, from the neutral value on; the fold of two such results;
and the user's own pipeline, in which a result stands in place of the fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from parhelion.dask.asked import Asked
from parhelion.dataclass import dataclass
from parhelion.errors import here
from parhelion.ir.build import FALSE, TRUE, int32, lor, select, sub
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.names import unique_name, wished
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.pickling import Symbol, Written
from parhelion.schedule.associativity import AssociativeFold, fold_of
from parhelion.schedule.directives import ROOT, FuncSchedule, Place, Rename
from parhelion.schedule.order import realization_order
from parhelion.schedule.stage import initial_stage_schedule
from parhelion.types import BOOL, INT32, Type

Values = tuple[Expr, ...]


def copied(found: Asked, outputs: Sequence[Function]) -> Asked:
    """A copy of some of the Funcs and what they need, with images and Params of its
    own; the arrays and numbers are the same."""
    listed: list[Symbol] = [*found.images, *found.scalars, *found.constants]
    written = Written.of(outputs, found.requirements, listed, True)
    funcs, requirements, symbols = written.read()
    images = [s for s in symbols if isinstance(s, BufferSym)]
    params = [s for s in symbols if isinstance(s, ParamSym)]
    count = len(found.images)
    made = tuple([f._function for f in funcs])
    for f in realization_order(made):
        f.label = wished(f.label)
    for f, known in zip(made, outputs, strict=True):
        f.name, f.label = known.name, known.label
    return replace(
        found,
        outputs=made,
        requirements=requirements,
        images=tuple(images[:count]),
        scalars=dict(zip(params, found.scalars.values(), strict=True)),
        constants=dict(zip(images[count:], found.constants.values(), strict=True)),
    )


@dataclass(frozen=True, slots=True)
class DomainBox:
    """The Params of a box of a reduction's domain: the least coordinate and the extent
    of each axis, the innermost first."""

    mins: tuple[ParamSym, ...]
    extents: tuple[ParamSym, ...]

    @property
    def params(self) -> list[ParamSym]:
        return [*self.mins, *self.extents]


def kept_types(function: Function, fold: AssociativeFold) -> tuple[Type, ...]:
    """What is kept of a part: the values, and whether there is one, where an operation
    has no neutral value."""
    return function.types if fold.taken is None else (*function.types, BOOL)


def fold_box(function: Function, stage: int) -> DomainBox:
    """Has a Func compute the fold of a box of an update's domain, and nothing else.
    stage: which of its updates, which is known to fold.

    The loops keep their schedule, whatever was split of them.
    """
    d = function.updates[stage]
    rdom, fold = d.rdom, fold_of(function, d.args, d.values)
    assert rdom is not None and function.pure is not None and fold is not None
    axes = range(len(rdom.vars))
    box = DomainBox(
        tuple(
            [ParamSym(unique_name(f"{function.name}_from_{k}"), INT32) for k in axes]
        ),
        tuple(
            [
                ParamSym(unique_name(f"{function.name}_of_{k}"), INT32, None, int32(0))
                for k in axes
            ]
        ),
    )
    domain = ReductionDomain(
        rdom.names,
        tuple([p.var for p in box.mins]),
        tuple([p.var for p in box.extents]),
        TRUE,
        rdom.site,
    )
    to = _Instead(dict(zip(rdom.vars, domain.vars, strict=True)))
    domain.predicate, domain.frozen = to.go(d.predicate), True
    args = tuple([to.go(e) for e in d.args])
    values = tuple([to.go(v) for v in d.values])
    start = fold.start
    if fold.taken is not None:
        begun = FuncCall(BOOL, function, args, len(function.types))
        first = [to.go(v) for v in fold.taken]
        values = tuple(
            [select(begun, a, b) for a, b in zip(values, first, strict=True)]
        )
        values = (*values, lor(begun, to.go(fold.counts)))
        start = (*start, FALSE)
    function.types = kept_types(function, fold)
    function.hold(())
    as_output(function)
    own = function.args
    function.pure = Definition(own, start, None, function.pure.schedule, d.site)
    names = zip(domain.vars, rdom.vars, strict=True)
    schedule = replace(
        d.schedule,
        transforms=(*[Rename(a, b, here()) for a, b in names], *d.schedule.transforms),
        specializations=(),
        prefetches=(),
        fused_with=None,
        touched=True,
    )
    function.updates = (Definition(args, values, domain, schedule, d.site),)
    return box


def fold_result(
    function: Function, stage: int, fold: AssociativeFold
) -> tuple[list[BufferSym], list[ParamSym]]:
    """Has a Func of the pipeline merge the result of a whole domain, which images give,
    where an update folded it.

    Returns the images, one for each value that is kept, and Params of the coordinates
    of their first elements.
    """
    d = function.updates[stage]
    own: Values = function.args
    rank = range(len(own))
    first = [ParamSym(unique_name(f"{function.name}_first_{k}"), INT32) for k in rank]
    images = _images(kept_types(function, fold), len(own), f"{function.name}_folded")
    at = tuple([sub(v, p.var) for v, p in zip(own, first, strict=True)])
    x = tuple([FuncCall(t, function, own, k) for k, t in enumerate(function.types)])
    y = tuple([ImageLoad(i.type, i, at) for i in images])
    values = fold.merge(x, y[: len(x)])
    if fold.taken is not None:
        values = tuple([select(y[-1], v, a) for v, a in zip(values, x, strict=True)])
    schedule = initial_stage_schedule(
        own, function.args, None, function=function, values=values
    )
    schedule.touched = d.schedule.touched
    merged = Definition(own, values, None, schedule, d.site)
    function.updates = (
        *function.updates[:stage],
        merged,
        *function.updates[stage + 1 :],
    )
    return images, first


def free(found: Asked, function: Function) -> None:
    """Has what is computed in the loops of a Func be computed before them: the loops
    may be gone."""
    for f in realization_order(found.outputs):
        levels = f.schedule
        inside = [levels.compute, levels.store, levels.hoist]
        if any([p and p.place is Place.LOOP and p.func is function for p in inside]):
            f.schedule = replace(levels, compute=ROOT, store=None, hoist=None)


def as_output(function: Function) -> None:
    """Has a Func be computed by itself, wherever its own pipeline computes it."""
    levels = function.schedule
    function.schedule = FuncSchedule(
        storage_order=levels.storage_order, bounds=levels.bounds
    )


def fold_two(
    function: Function, fold: AssociativeFold
) -> tuple[Function, list[BufferSym]]:
    """A Func that merges two results, and its images: the values of the one that comes
    first in the order of the domain, then those of the other."""
    types = kept_types(function, fold)
    made = Function(unique_name(f"{function.label}_merged"), FuncSchedule(), here())
    made.args, made.types = function.args, types
    made.schedule.storage_order = tuple(range(len(made.args)))
    own: Values = made.args
    one = _images(types, len(own), "one")
    other = _images(types, len(own), "other")
    x = tuple([ImageLoad(i.type, i, own) for i in one])
    y = tuple([ImageLoad(i.type, i, own) for i in other])
    count = len(function.types)
    values = fold.merge(x[:count], y[:count])
    if fold.taken is not None:
        merged = [select(x[-1], v, b) for v, b in zip(values, y, strict=False)]
        values = tuple([select(y[-1], v, a) for v, a in zip(merged, x, strict=False)])
        values = (*values, lor(x[-1], y[-1]))
    schedule = initial_stage_schedule(
        own, made.args, None, function=made, values=values
    )
    made.pure = Definition(own, values, None, schedule, here())
    return made, [*one, *other]


def _images(types: Sequence[Type], rank: int, name: str) -> list[BufferSym]:
    """Images of the values that are kept."""
    return [
        BufferSym(unique_name(f"{name}_{k}"), t, rank, "input", site=here())
        for k, t in enumerate(types)
    ]


class _Instead(Rewriter):
    """Puts Vars in the place of others."""

    def __init__(self, to: Mapping[Var, Expr]) -> None:
        super().__init__()
        self.to = to

    def on_var(self, n: Var) -> Expr:
        return self.to.get(n, n)


__all__ = [
    "DomainBox",
    "as_output",
    "copied",
    "fold_box",
    "fold_result",
    "fold_two",
    "free",
    "kept_types",
]
