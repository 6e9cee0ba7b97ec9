"""rfactor: an associative update becomes one that folds parts and one that merges them.

The intermediate Func has one more dimension for each loop that is kept: it runs the
user's own update over the other loops, from a neutral value, for each value of those
kept. The update itself becomes a fold of the intermediate over the loops kept. Loops
that splits and fuses have made of an RDom become dimensions of new RDoms here, with
what guarded them as a predicate.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here
from parhelion.ir.build import (
    FALSE,
    TRUE,
    add,
    cast,
    const_int,
    div,
    int32,
    int64,
    is_const,
    is_true,
    land,
    le,
    likely,
    lor,
    maximum,
    mod,
    mul,
    select,
    sub,
)
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, Var
from parhelion.ir.function import (
    Definition,
    DimName,
    Function,
    ReductionDomain,
    dim_name,
    var_label,
)
from parhelion.ir.names import unique_name, wished
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import ForKind
from parhelion.schedule import deps, rules
from parhelion.schedule.args import is_rvar
from parhelion.schedule.associativity import AssociativeFold, fold_of, not_associative
from parhelion.schedule.branches import path_of
from parhelion.schedule.directives import (
    Dim,
    DimType,
    FuncSchedule,
    Fuse,
    Rename,
    Spent,
    Split,
    StageSchedule,
)
from parhelion.schedule.stage import initial_stage_schedule
from parhelion.simplify.simplifier import simplify
from parhelion.types import BOOL, INT32, INT64

#: How many steps a loop may have.
_MOST_STEPS = (1 << 31) - 1

#: Loops over reduction variables, each with a Var.
Kept = Sequence[tuple[Var, Var]]


@dataclass(eq=False, slots=True)
class _Axis:
    """A reduction variable at one point of the transforms: its range, and what it is
    in terms of the loops that are left. guarded: whether only a condition keeps its
    value in its range. scale: the factors of the splits that it is made by."""

    var: Var
    lo: Expr
    extent: Expr
    value: Expr | None = None
    guarded: bool = False
    scale: Expr = int64(1)

    @property
    def hi(self) -> Expr:
        return sub(add(self.lo, self.extent), int32(1))


def rfactor(function: Function, stage: int, kept: Kept) -> Function:
    """Factors an update, and returns the intermediate.

    kept: pairs of a loop over reduction variables and the Var that stands for it in
    the intermediate.
    """
    with CHANGES:
        return _rfactor(function, stage, kept)


def _rfactor(function: Function, stage: int, kept: Kept) -> Function:
    d = _checked(function, stage, kept)
    fold = fold_of(function, d.args, d.values)
    if fold is None or any(deps.self_calls(function, d.guard)):
        label = rules.stage_label(function, stage)
        raise not_associative(function, d, f"{label}.rfactor")
    _check_order(function, stage, d, [r for r, _ in kept], fold)
    for p in d.schedule.prefetches:
        rules.warn(
            f"{rules.stage_label(function, stage)}.rfactor: the prefetch of"
            f" {p.source.name} is lost; give it to the intermediate",
            here(),
        )
    loops, values, guard, spent = _unfold(function, stage, d)
    chosen = dict(kept)
    inner = [a for a in loops if a.var not in chosen]
    outer = [a for a in loops if a.var in chosen]
    made, part = _intermediate(function, d, fold, kept, inner, values, guard)
    merge = _merge(function, d, fold, made, kept, outer)
    merge.schedule.spent = (*d.schedule.spent, *spent)
    updates = function.updates
    function.updates = (*updates[: stage - 1], merge, *updates[stage:])
    made.updates = (part,)
    made.frozen = True
    return made


# Checks.


def _checked(function: Function, stage: int, kept: Kept) -> Definition:
    label = rules.stage_label(function, stage)
    d = rules.definition_of(function, stage)
    if stage == 0:
        raise ScheduleError(
            f"{label}.rfactor: only an update can be factored",
            at=here(),
            hint=f"{function.name}.update(0).rfactor(…)",
        )
    if path_of(stage) or d.schedule.specializations:
        raise ScheduleError(
            f"{label}.rfactor: a specialised definition cannot be factored",
            at=here(),
            hint="call rfactor first, then specialize",
        )
    loops = {x.var: x for x in d.schedule.dims}
    legal = [var_label(v) for v, x in loops.items() if x.type is not DimType.PURE_VAR]
    taken = {v.name for v in loops} | {v.name for v in function.args}
    for k, (r, v) in enumerate(kept):
        i = rules.find_dim(function, stage, r, "rfactor")
        if d.schedule.dims[i].type is DimType.PURE_VAR:
            raise ScheduleError(
                f"{label}.rfactor: {var_label(r)} is no loop over an RDom",
                at=here(),
                legal=legal,
            )
        if is_rvar(v):
            raise ScheduleError(
                f"{label}.rfactor: {var_label(v)} is an RVar; a Var must stand for"
                f" {var_label(r)} in the intermediate",
                at=here(),
                hint=f"make it with hl.Var({v.name!r})",
            )
        if any(r is other for other, _ in kept[:k]):
            raise ScheduleError(
                f"{label}.rfactor: {var_label(r)} is given twice", at=here()
            )
        if v.name in taken or any(v is other for _, other in kept[:k]):
            raise ScheduleError(
                f"{label}.rfactor: the name {v.name} is in use already",
                at=here(),
                detail=rules.loops_line(d.schedule),
                hint=f"take a new Var to stand for {var_label(r)}",
            )
    return d


def _check_order(
    function: Function,
    stage: int,
    d: Definition,
    kept: Sequence[Var],
    fold: AssociativeFold,
) -> None:
    """Where parts must be merged in order, the loops kept are outside the others."""
    if fold.commutative or d.schedule.allow_race_conditions:
        return
    within: Var | None = None
    for x in reversed(d.schedule.dims):  # outermost first
        if x.type is not DimType.IMPURE_RVAR:
            continue
        if x.var not in kept:
            within = within or x.var
        elif within is not None:
            raise ScheduleError(
                f"{rules.stage_label(function, stage)}.rfactor: {var_label(x.var)}"
                f" cannot be kept, as it is inside {var_label(within)}, which is not",
                at=here(),
                detail="where values are equal, the order decides which of them stays;"
                " parts are merged in order only if the loops kept are outside the"
                " others",
                hint="keep the outer loops, or allow_race_conditions() takes the"
                " responsibility",
            )


# The loops.


def _unfold(
    function: Function, stage: int, d: Definition
) -> tuple[list[_Axis], dict[Var, Expr], Expr, list[Spent]]:
    """The loops over the RDom as axes, innermost first; what each variable of the
    RDom is in terms of their Vars; the condition that keeps it in bounds; and the
    numbers that all this is made of."""
    rdom = d.rdom
    current: dict[Var, _Axis] = {}
    roots: list[_Axis] = []
    if rdom is not None:
        for v, lo, extent in zip(rdom.vars, rdom.mins, rdom.extents, strict=True):
            current[v] = _Axis(v, lo, extent)
        roots = list(current.values())
    steps: list[tuple[Split | Fuse | Rename, tuple[_Axis, ...]]] = []
    spent: list[Spent] = []
    for t in d.schedule.transforms:
        if isinstance(t, Rename):
            if t.old in current:
                old = current.pop(t.old)
                current[t.new] = _Axis(t.new, old.lo, old.extent)
                steps.append((t, (old, current[t.new])))
        elif isinstance(t, Split):
            if t.old in current:
                old = current.pop(t.old)
                count = div(add(old.extent, sub(t.factor, int32(1))), t.factor)
                current[t.outer] = _Axis(t.outer, int32(0), simplify(count))
                current[t.inner] = _Axis(t.inner, int32(0), t.factor)
                steps.append((t, (old, current[t.outer], current[t.inner])))
                spent += _of_split(t, old)
                for v in (t.outer, t.inner):
                    current[v].scale = mul(old.scale, cast(INT64, t.factor))
        elif t.inner in current or t.outer in current:
            if not (t.inner in current and t.outer in current):
                raise ScheduleError(
                    f"{rules.stage_label(function, stage)}.rfactor: the loop"
                    f" {t.fused.name} is made of an RVar and a Var",
                    at=here(),
                    detail=f"{var_label(t.inner)} and {var_label(t.outer)} were fused"
                    f" at {t.site}",
                    hint="call rfactor first, then fuse",
                )
            one, two = current.pop(t.inner), current.pop(t.outer)
            total = mul(_at_least_none(one.extent), _at_least_none(two.extent))
            current[t.fused] = _Axis(t.fused, int32(0), simplify(total))
            steps.append((t, (one, two, current[t.fused])))
            spent.append(_of_fuse(t, one, two))
    loops = [current[x.var] for x in d.schedule.dims if x.var in current]
    for axis in loops:
        axis.value = axis.var
    guard: Expr = TRUE
    for t, axes in reversed(steps):
        guard = land(guard, _undo(t, axes))
    return loops, {a.var: _bounded(a) for a in roots}, guard, spent


def _of_split(t: Split, old: _Axis) -> list[Spent]:
    """The factor of a split, and what it comes to with those around it."""
    p, r, most = t.factor, t.old, rules.MOST_FACTOR
    factor = Spent(t.directive, "factor", p, r, p, 1, most, t.site)
    if is_const(old.scale, 1):
        return [factor]
    scale = mul(old.scale, cast(INT64, p))
    what = "product of the factors down to"
    return [factor, Spent(t.directive, what, p, r, scale, 1, _MOST_STEPS, t.site)]


def _of_fuse(t: Fuse, one: _Axis, two: _Axis) -> Spent:
    """The length of a fused loop."""
    wide = [maximum(cast(INT64, a.extent), int64(0)) for a in (one, two)]
    return Spent("fuse", "length", None, t.fused, mul(*wide), 0, _MOST_STEPS, t.site)


def _bounded(axis: _Axis) -> Expr:
    """The value of a variable where the guard holds; regions follow from its range,
    which is tighter than that of the loops it is made of."""
    assert axis.value is not None
    if not axis.guarded:
        return axis.value
    return Intrinsic(INT32, "known_clamped", (axis.value, axis.lo, simplify(axis.hi)))


def _at_least_none(extent: Expr) -> Expr:
    count = const_int(extent)
    return extent if count is not None and count >= 0 else maximum(extent, int32(0))


def _undo(t: Split | Fuse | Rename, axes: tuple[_Axis, ...]) -> Expr:
    """Gives the axes before a transform their values; returns what keeps them in
    bounds."""
    if isinstance(t, Rename):
        axes[0].value, axes[0].guarded = axes[1].value, axes[1].guarded
        return TRUE
    one, two, three = axes
    if isinstance(t, Fuse):
        assert three.value is not None
        size = _at_least_none(one.extent)
        one.value = add(mod(three.value, size), one.lo)
        two.value = add(div(three.value, size), two.lo)
        one.guarded = two.guarded = three.guarded
        return TRUE
    assert two.value is not None and three.value is not None
    one.value = add(add(mul(two.value, t.factor), three.value), one.lo)
    one.guarded = two.guarded or three.guarded
    if is_const(simplify(mod(one.extent, t.factor)), 0):
        return TRUE
    one.guarded = True
    return likely(le(one.value, simplify(one.hi)))


class _Moved(Rewriter):
    """An expression of the update, about the intermediate and its loops."""

    def __init__(
        self,
        values: dict[Var, Expr],
        old: Function,
        new: Function,
        more: tuple[Var, ...],
    ) -> None:
        super().__init__()
        self.values, self.old, self.new, self.more = values, old, new, more

    def on_var(self, n: Var) -> Expr:
        return self.values.get(n, n)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        if n.func is self.old:
            return FuncCall(n.type, self.new, (*args, *self.more), n.index)
        return FuncCall(n.type, n.func, args, n.index)


# The two definitions.


def _intermediate(
    function: Function,
    d: Definition,
    fold: AssociativeFold,
    kept: Kept,
    inner: Sequence[_Axis],
    values: dict[Var, Expr],
    guard: Expr,
) -> tuple[Function, Definition]:
    """The Func of the parts, with its pure definition, and its update."""
    name = wished(function.name)
    made = Function(unique_name(f"{name}_intm"), FuncSchedule(), here())
    more = tuple([v for _, v in kept])
    flag = fold.taken is not None
    made.args = (*function.args, *more)
    made.types = (*function.types, BOOL) if flag else function.types
    made.schedule.storage_order = tuple(range(len(made.args)))
    start = (*fold.start, FALSE) if flag else fold.start
    made.pure = Definition(
        made.args,
        start,
        None,
        initial_stage_schedule(made.args, made.args, None, function=made, values=start),
        here(),
    )
    domain, renames = _domain(inner)
    env: dict[Var, Expr] = {**renames, **dict(kept)}
    within = _Moved(env, function, made, more)
    moved = _Moved({v: within.go(e) for v, e in values.items()}, function, made, more)
    args = (*[moved.go(a) for a in d.args], *more)
    new = tuple([moved.go(v) for v in d.values])
    if fold.taken is not None:
        begun = FuncCall(BOOL, made, args, len(function.types))
        first = [moved.go(v) for v in fold.taken]
        new = tuple([select(begun, a, b) for a, b in zip(new, first, strict=True)])
        new = (*new, lor(begun, moved.go(fold.counts)))
    predicate = TRUE if d.rdom is None else moved.go(d.predicate)
    predicate = land(within.go(guard), predicate)
    if domain is None and not is_true(predicate):
        domain = ReductionDomain(
            (DimName(f"{name}_once"),), (int32(0),), (int32(1),), TRUE, here()
        )
    if domain is not None:
        domain.predicate, domain.frozen = predicate, True
    part = Definition(
        args, new, domain, _schedule(made, args, new, domain, d, env, False), here()
    )
    return made, part


def _merge(
    function: Function,
    d: Definition,
    fold: AssociativeFold,
    made: Function,
    kept: Kept,
    outer: Sequence[_Axis],
) -> Definition:
    """The update that folds the parts into the Func."""
    domain, env = _domain(outer)
    own = function.args
    at = (*own, *[env[r] for r, _ in kept])
    x = tuple([FuncCall(t, function, own, k) for k, t in enumerate(function.types)])
    y = tuple([FuncCall(t, made, at, k) for k, t in enumerate(function.types)])
    values = fold.merge(x, y)
    if fold.taken is not None:
        begun = FuncCall(BOOL, made, at, len(function.types))
        values = tuple([select(begun, v, a) for v, a in zip(values, x, strict=True)])
    if domain is not None:
        domain.frozen = True
    schedule = _schedule(function, own, values, domain, d, env, True)
    merged = Definition(own, values, domain, schedule, d.site)
    merged.original, merged.directive = d.original or d, "rfactor"
    return merged


def _domain(axes: Sequence[_Axis]) -> tuple[ReductionDomain | None, dict[Var, Expr]]:
    """An RDom over the axes, innermost first, and its variable for each of them."""
    if not axes:
        return None, {}
    domain = ReductionDomain(
        tuple([dim_name(a.var) for a in axes]),
        tuple([a.lo for a in axes]),
        tuple([a.extent for a in axes]),
        TRUE,
        here(),
    )
    return domain, {a.var: v for a, v in zip(axes, domain.vars, strict=True)}


def _schedule(
    function: Function,
    args: tuple[Expr, ...],
    values: tuple[Expr, ...],
    domain: ReductionDomain | None,
    d: Definition,
    env: dict[Var, Expr],
    merging: bool,
) -> StageSchedule:
    """The loops of one of the two definitions: those of the update as it was, as far
    as they are its own. Loops over its RDom keep the names that the user knows."""
    made = initial_stage_schedule(
        args, function.args, domain, function=function, values=values
    )
    initial, old = made.dims, d.schedule
    types = {x.var: x.type for x in initial}
    pure = _pure_transforms(d)
    transforms, dims = list(pure), list[Dim]()
    made.sites, made.generated, made.cuda = old.sites, old.generated, old.cuda
    made.touched = merging or old.touched
    if not merging:
        made.allow_race_conditions = old.allow_race_conditions
        made.atomic, made.atomic_site = old.atomic, old.atomic_site
    named: set[Var] = set()
    for x in d.schedule.dims:
        now = env.get(x.var)
        if x.type is DimType.PURE_VAR:
            dims.append(x)
        elif isinstance(now, Var) and isinstance(now.origin, ReductionDomain):
            transforms.append(Rename(now, x.var, here()))
            # Merging starts without what was said of the update's own loops.
            kind = ForKind.SERIAL if merging else x.kind
            dims.append(Dim(x.var, kind, types[now]))
            named.add(now)
        elif isinstance(now, Var):
            dims.append(Dim(now, x.kind, DimType.PURE_VAR))
            named.add(now)
    looped = {t.old for t in pure if isinstance(t, Split | Rename)}
    looped |= {v for t in pure if isinstance(t, Fuse) for v in (t.inner, t.outer)}
    have = {x.var for x in dims} | looped | named
    made.transforms = tuple(transforms)
    made.dims = (*dims, *[x for x in initial if x.var not in have])
    return made


def _pure_transforms(d: Definition) -> list[Split | Fuse | Rename]:
    """The transforms of loops that are not over the RDom."""
    inside = set() if d.rdom is None else set(d.rdom.vars)
    found: list[Split | Fuse | Rename] = []
    for t in d.schedule.transforms:
        old = (t.inner, t.outer) if isinstance(t, Fuse) else (t.old,)
        if not inside.isdisjoint(old):
            inside -= set(old)
            inside |= (
                {t.outer, t.inner}
                if isinstance(t, Split)
                else {t.fused if isinstance(t, Fuse) else t.new}
            )
        else:
            found.append(t)
    return found


__all__ = ["rfactor"]
