"""Wrappers and clones: ``f.in_(g)`` and ``f.clone_in(g)``.

Both are of the schedule, not of the algorithm: what `f` and `g` are stays the same,
and so does the result. They give the compiler one more Func to place: a wrapper, which
copies values of what it wraps, or a clone, which computes them once more.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parhelion.errors import ScheduleError, here
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.names import unique_name, user_var, wished
from parhelion.lang.handles import func_of
from parhelion.schedule.args import HasFunction, to_function
from parhelion.schedule.branches import copied
from parhelion.schedule.directives import FuncSchedule, Instead
from parhelion.schedule.stage import initial_stage_schedule
from parhelion.schedule.wrappers import Redirect, Source

if TYPE_CHECKING:
    from parhelion.lang.func import Func

Readers = HasFunction | Sequence[HasFunction]


def wrap_in(source: Source, given: object) -> Func:
    """The wrapper of `source` in the Funcs given, or in all of them for None."""
    name = _checked_name(source, "in_")
    if given is None:
        owner = source.schedule if isinstance(source, Function) else source
        with CHANGES:
            if owner.wrapper is None:
                owner.wrapper = _wrapper(source, f"{name}_global_wrapper")
        return func_of(owner.wrapper)
    readers, label = _readers(source, given, "in_", "wrapper")
    with CHANGES:
        known = _known(source, readers, "in_")
        if known is None:
            known = _wrapper(source, f"{name}_{label}")
            _enter(source, readers, known)
    return func_of(known)


def clone_in(source: Function, given: object) -> Func:
    """The copy of `source` that the Funcs given call instead of it."""
    name = _checked_name(source, "clone_in")
    if any([d.directive == "tile_scan" for d in source.stages()]):
        raise ScheduleError(
            f"{source.name}.clone_in: a scan of {source.name} is in tiles, which are"
            " computed in its loops and are not copied",
            at=here(),
            hint="call clone_in first, then tile_scan of each",
        )
    readers, label = _readers(source, given, "clone_in", "clone")
    with CHANGES:
        known = _known(source, readers, "clone_in")
        if known is None:
            known = _clone(source, f"{name}_{label}")
            _enter(source, readers, known)
    return func_of(known)


def _checked_name(source: Source, directive: str) -> str:
    if isinstance(source, Function) and not source.defined:
        raise ScheduleError(
            f"{source.name}.{directive}: {source.name} is not defined", at=here()
        )
    return plain_name(source)


def plain_name(source: Source) -> str:
    """A name to make other names of: without the number that makes it unique, and
    with Halide's mark of an image."""
    name = wished(source.name)
    return name if isinstance(source, Function) else f"{name}_im"


def _readers(
    source: Source, given: object, directive: str, word: str
) -> tuple[list[Function], str]:
    """The Funcs given, one or a list, and what the new Func's name ends in."""
    several = isinstance(given, list | tuple)
    items = list(given) if isinstance(given, list | tuple) else [given]
    found = list(
        dict.fromkeys([to_function(one, f"{source.name}.{directive}") for one in items])
    )
    if not found:
        raise ScheduleError(
            f"{source.name}.{directive}: the list of Funcs is empty",
            at=here(),
            legal=[
                f"{source.name}.{directive}(g)",
                f"{source.name}.{directive}([g, h])",
            ],
        )
    if source in found:
        raise ScheduleError(
            f"{source.name}.{directive}: {source.name} cannot be replaced in its own"
            " definition",
            at=here(),
        )
    if several and len(found) > 1:
        return found, word
    middle = "in" if word == "wrapper" else "clone_in"
    return found, f"{middle}_{plain_name(found[0])}"


def _known(
    source: Source, readers: Sequence[Function], directive: str
) -> Function | None:
    """The wrapper or clone that these Funcs have already, if they have one."""
    earlier = [r.schedule.instead.get(source) for r in readers]
    first = next((e for e in earlier if e is not None), None)
    if first is None:
        return None
    for reader, e in zip(readers, earlier, strict=True):
        if e is None or e.func is not first.func:
            having = next(r for r in readers if source in r.schedule.instead)
            now = source.name if e is None else e.func.name
            raise ScheduleError(
                f"{source.name}.{directive}: {having.name} already reads"
                f" {first.func.name} in place of {source.name}, and {reader.name}"
                f" reads {now}",
                at=here(),
                detail=f"{first.func.name} was made at {first.site}",
                hint="Funcs that are to share a wrapper or clone are given in one list,"
                " the first time",
            )
    was = "in_" if first.func.schedule.wraps is source else "clone_in"
    if was != directive:
        raise ScheduleError(
            f"{source.name}.{directive}: {readers[0].name} already reads"
            f" {first.func.name}, made by {was}, in place of {source.name}",
            at=here(),
            detail=f"{first.func.name} was made at {first.site}",
            hint=f"wrap or clone {first.func.name} in turn",
        )
    return first.func


def _enter(source: Source, readers: Sequence[Function], made: Function) -> None:
    for reader in readers:
        known = reader.schedule.instead
        reader.schedule.instead = {**known, source: Instead(made, here())}


def _wrapper(source: Source, name: str) -> Function:
    """A Func whose value everywhere is that of `source`."""
    made = Function(unique_name(name), FuncSchedule(wraps=source), here())
    values: tuple[Expr, ...]
    if isinstance(source, Function):
        args, types = source.args, source.types
        values = tuple([FuncCall(t, source, args, k) for k, t in enumerate(types)])
        source.frozen = True
    else:
        args = tuple([user_var(f"_{d}") for d in range(len(source.dims))])
        types = (source.type,)
        values = (ImageLoad(source.type, source, args),)
    _define(made, args, values, types)
    return made


def _define(
    made: Function,
    args: tuple[Var, ...],
    values: tuple[Expr, ...],
    types: tuple[object, ...],
) -> None:
    made.args, made.types = args, types  # type: ignore[assignment]
    made.schedule.storage_order = tuple(range(len(args)))
    schedule = initial_stage_schedule(args, args, None, function=made, values=values)
    made.pure = Definition(args, values, None, schedule, here())


def _clone(source: Function, name: str) -> Function:
    """A Func with the definitions and, to begin with, the schedule of `source`."""
    source.frozen = True
    s = source.schedule
    schedule = copy.copy(s)
    schedule.instead, schedule.wrapper = {}, None
    made = Function(unique_name(name), schedule, here())
    made.args, made.types, made.extern = source.args, source.types, source.extern
    into = Redirect({source: made})
    copies = [_copied(d, into) for d in source.stages()]
    made.pure, made.updates = copies[0], tuple(copies[1:])
    if any(source in d.mentions() for d in copies):
        # A predicate belongs to the domain, which is not copied.
        schedule.instead = {source: Instead(made, here())}
    return made


def _copied(d: Definition, into: Redirect) -> Definition:
    return Definition(
        tuple([into.go(a) for a in d.args]),
        tuple([into.go(v) for v in d.values]),
        d.rdom,
        copied(d.schedule),
        d.site,
    )


class Wrapping:
    """`in_` and `clone_in` of Func."""

    __slots__ = ()
    _function: Function

    def in_(self, f: Readers | None = None, *, fs: Readers | None = None) -> Func:
        """Returns a new Func with the same values, which `f` reads in place of this
        one.

        `f` is a Func or a list of Funcs, which then share one wrapper. Without `f`, all
        Funcs that read this one read the wrapper, except those that have a wrapper of
        their own. The same call again returns the same wrapper. It is a Func like any
        other: schedule it, or wrap it in turn.

        Wrappers load a tile into a small array before it is used often, store what is
        inlined elsewhere, or give each consumer its own schedule. The result never
        changes. Raises ScheduleError if this Func is not defined, or if some of the
        Funcs already read another wrapper or a clone.

        >>> f, g = hl.funcs("f g")
        >>> f[x] = x * x
        >>> g[x] = f[x] + f[x + 1]
        >>> tile = f.in_(g).compute_at(g, x)
        >>> np.asarray(g.realize([3])).tolist()
        [1, 5, 13]
        """
        return wrap_in(self._function, fs if f is None else f)

    def clone_in(self, f: Readers | None = None, *, fs: Readers | None = None) -> Func:
        """Returns a copy of this Func, which `f` reads in place of this one.

        `f` is a Func or a list of Funcs. The copy begins with the schedule that this
        Func has now, without its wrappers. A wrapper reads this Func; a clone computes
        its values anew, and is scheduled for `f` alone. The same call again returns the
        same clone. Raises ScheduleError as `in_` does.

        >>> f, g, h = hl.funcs("f g h")
        >>> f[x] = x * x
        >>> g[x] = f[x] + 1
        >>> h[x] = f[x] + g[x]
        >>> clone = f.clone_in(g).compute_root()
        >>> np.asarray(h.realize([3])).tolist()
        [1, 3, 9]
        """
        return clone_in(self._function, fs if f is None else f)
