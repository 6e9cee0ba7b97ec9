"""memoize: results of a Func that are kept from one run to the next.

`MemoizingFunc` has the directive. `dependencies` says what a result depends on besides
its region: the key by which it is found again.
"""

from __future__ import annotations

from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.ir.build import cast
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Load, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.schedule.args import to_int
from parhelion.schedule.directives import Memo, Place
from parhelion.schedule.rules import stage_label, warn
from parhelion.schedule.sites import Nests
from parhelion.schedule.wrappers import body
from parhelion.types import INT64


class EvictionKey:
    """A number by which memoized results can be dropped together
    (`memoization_cache_evict`): an integer, or an Expr over Params."""

    __slots__ = ("_given",)

    def __init__(self, expr: object = None) -> None:
        self._given = expr


class MemoizingFunc:
    """The directive that Func has."""

    __slots__ = ()
    _function: Function

    def memoize(self, eviction_key: EvictionKey | None = None) -> Self:
        """Keeps what is computed in a cache of the process, and looks there first.

        A result is found again for the same region and the same values of all Params
        that the Func depends on, itself or through others. Images have no values that
        a key could hold: a Func that reads an ImageParam is refused unless the read
        stands inside ``hl.memoize_tag(value, version)``. A Buffer that the algorithm
        mentions is taken to be constant.

        eviction_key: what `hl.memoization_cache_evict` drops it by. The size of the
        cache is set by `hl.memoization_cache_set_size`. Raises ScheduleError. From:
        Halide's memoize.
        """
        key: Expr | None = None
        given = None if eviction_key is None else eviction_key
        if given is not None and not isinstance(given, EvictionKey):
            raise ScheduleError(
                f"{self._function.name}.memoize takes an EvictionKey, not {given!r}",
                at=here(),
                hint="hl.EvictionKey(7) makes one",
            )
        if given is not None and given._given is not None:
            what = f"{self._function.name}.memoize"
            key = cast(INT64, to_int(given._given, what, "eviction key"))
        self._function.schedule.memo = Memo(key, here())
        return self


def check_memoized(nests: Nests, f: Function) -> None:
    """Raises ScheduleError where results of `f` cannot be kept."""
    memo = f.schedule.memo
    if memo is None:
        return
    if f in nests.outputs:
        warn(
            f"{f.name} is an output of the pipeline, whose storage is the caller's:"
            f" {f.name}.memoize() has no effect",
            memo.site,
        )
        return
    if f.schedule.compute.place is Place.INLINED:
        raise ScheduleError(
            f"{f.name}.memoize(): {f.name} is inlined and has no storage to keep",
            at=memo.site,
            hint=f"compute it: {f.name}.compute_root(), or compute_at",
        )
    apart = nests.computed[f] != nests.stored[f]
    if apart or f.schedule.hoist is not None:
        raise ScheduleError(
            f"{f.name}.memoize(): the storage of {f.name} is made for more than one"
            " computation of it, and a result is kept as a whole",
            at=memo.site,
            hint="leave out store_at, store_root and hoist_storage",
        )
    for stack in nests.computed[f]:
        for at in stack:
            if at.dim.kind is ForKind.VECTORIZED:
                where = stage_label(at.func, at.stage)
                raise ScheduleError(
                    f"{f.name}.memoize(): {f.name} is computed inside the vectorized"
                    f" loop {var_label(at.dim.var)} of {where}, where it has no storage"
                    " of its own",
                    at=memo.site,
                )
    for e in dependencies(f):
        if isinstance(e, BufferSym):
            raise ScheduleError(
                f"{f.name}.memoize(): {f.name} depends on the pixels of the image"
                f" {e.name}, which no key can hold",
                at=memo.site,
                hint="say what tells one image from another: hl.memoize_tag(value,"
                " version), with a Param for the version",
            )


def dependencies(f: Function) -> list[Expr | BufferSym]:
    """What decides about the values of `f` besides coordinates: Params, sizes of
    images, what tags say, and images whose pixels are read without a tag."""
    found: dict[Expr | BufferSym, None] = {}
    functions = [f]
    seen: set[Expr] = set()
    waiting: list[Expr] = []
    for g in functions:  # grows while it is walked
        for d in g.stages():
            it = body(g, d)
            waiting += [*it.args, *it.values, it.predicate]
            if d.rdom is not None:
                waiting += [*d.rdom.mins, *d.rdom.extents]
            waiting += [s.condition for s in d.schedule.specializations]
        while waiting:
            e = waiting.pop()
            if e in seen:
                continue
            seen.add(e)
            if isinstance(e, Intrinsic) and e.op == "memoize_tag":
                for tag in e.args[1:]:
                    found[tag] = None
                continue
            if isinstance(e, FuncCall):
                if e.func not in functions:
                    functions.append(e.func)
            elif isinstance(e, ImageLoad) and not e.image.embedded:
                found[e.image] = None
            elif isinstance(e, Var) and (
                isinstance(e.origin, ParamSym)
                or (isinstance(e.origin, tuple) and not e.origin[0].embedded)
            ):
                found[e] = None
            waiting += e.children()
    return list(found)


def untaggable(e: Expr) -> str:
    """What keeps an expression from being a tag, as it varies within a run; empty if
    nothing does."""
    for n in nodes(e):
        if isinstance(n, FuncCall | ImageLoad | Load):
            return "a pixel"
        if isinstance(n, Var) and not isinstance(n.origin, ParamSym | tuple):
            return n.name
    return ""


__all__ = [
    "EvictionKey",
    "MemoizingFunc",
    "check_memoized",
    "dependencies",
    "untaggable",
]
