"""A pipeline as bytes, which another process turns into the same pipeline.

The bytes are a pickle in which every Func, image and Param is a shell. The nodes of all
trees come first, children before parents, and definitions and schedules last, in lists
of their own. So nothing is nested deeper than a few levels, however deep a tree is.

Pixels of images and values of Params are not part of a pipeline. Foreign code is at an
address of one process, and is refused.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, Site
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr, Extern, Var
from parhelion.ir.externs import is_of_this_process, known_as
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.names import (
    is_user_rvar,
    is_user_var,
    unique_name,
    user_rvar,
    user_var,
)
from parhelion.ir.node import Node
from parhelion.ir.pipeline import Requirement
from parhelion.ir.promises import Assumptions
from parhelion.ir.symbols import BufferSym, DimSym, ParamSym
from parhelion.schedule.directives import FuncSchedule, StageSchedule
from parhelion.types import Type

_NOTHING: Mapping[Var, Var] = {}


@dataclass(frozen=True, slots=True)
class _Stage:
    """What a definition is made of. rewritten: whether a directive has made it, and
    which one, if it regroups what is folded."""

    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    rdom: ReductionDomain | None
    predicate: Expr
    schedule: StageSchedule
    site: Site | None
    rewritten: str | None


@dataclass(frozen=True, slots=True)
class _Contents:
    """All of a pipeline, in the order in which it is written.

    nodes: of all definitions, children first. functions: producers first; of each, its
    schedule and its stages. outputs: positions in `functions`; buffers: theirs.
    """

    nodes: list[Node]
    functions: list[Function]
    schedules: list[FuncSchedule]
    stages: list[list[_Stage]]
    outputs: list[int]
    buffers: list[tuple[BufferSym, ...]]
    requirements: tuple[Requirement, ...]
    assumptions: Assumptions
    more: object


Parts = tuple[
    tuple[Function, ...], tuple[Function, ...], tuple[Requirement, ...], Assumptions
]


def dumps(
    outputs: Sequence[Function],
    order: Sequence[Function],
    requirements: tuple[Requirement, ...],
    assumptions: Assumptions,
    more: object = None,
    instead: Mapping[Var, Var] = _NOTHING,
) -> bytes:
    """The bytes of a pipeline (see `PipelineSpec` for its parts). Raises HalideError if
    foreign code is part of it. more: what else mentions its images and Params. instead:
    Vars that are written in the place of others."""
    for f in order:
        if f.extern is not None:
            raise _foreign(f"foreign code computes {f.name}", f.site)
    stages = [[_stage(d) for d in f.stages()] for f in order]
    roots = [
        e
        for of in stages
        for s in of
        for e in (*s.args, *s.values, s.predicate)
        if not isinstance(e, Var)
    ]
    nodes = list(bottom_up(roots))
    for n in nodes:
        if isinstance(n, Extern) and is_of_this_process(n.name):
            raise _foreign(f"the pipeline calls {known_as(n.name)}", None)
    contents = _Contents(
        nodes,
        list(order),
        [f.schedule for f in order],
        stages,
        [order.index(f) for f in outputs],
        [f.buffers for f in outputs],
        requirements,
        assumptions,
        more,
    )
    file = io.BytesIO()
    _Pickler(file, instead).dump(contents)
    return file.getvalue()


def loads(data: bytes) -> Parts:
    """The outputs, all Funcs, the requirements and the assumptions of a pipeline. Read
    only what a trusted process has written: it is a pickle."""
    return _parts(pickle.loads(data))


def loads_apart(data: bytes) -> tuple[Parts, Any]:
    """The same, and what `dumps` was given besides, for users: with names that nothing
    else has in this process, and Funcs to which directives can be given."""
    before = _NAMES.set({})
    try:
        it: _Contents = pickle.loads(data)
    finally:
        _NAMES.reset(before)
    for f in it.functions:
        f.copy_of = None
    return _parts(it), it.more


def _parts(it: _Contents) -> Parts:
    for f, schedule, stages in zip(it.functions, it.schedules, it.stages, strict=True):
        f.schedule = schedule
        made = [_definition(s) for s in stages]
        f.pure, f.updates = made[0], tuple(made[1:])
    outputs = tuple([it.functions[k] for k in it.outputs])
    for f, buffers in zip(outputs, it.buffers, strict=True):
        f.hold(buffers)
        for b in buffers:
            b.func = f
    return outputs, tuple(it.functions), it.requirements, it.assumptions


def _foreign(what: str, at: Site | None) -> HalideError:
    return HalideError(
        f"{what}, at an address of this process: other processes do not have it",
        at=at,
        hint="make the pipeline in the other process",
    )


def _stage(d: Definition) -> _Stage:
    rewritten = None if d.original is None else d.directive
    return _Stage(d.args, d.values, d.rdom, d.predicate, d.schedule, d.site, rewritten)


def _definition(s: _Stage) -> Definition:
    made = Definition(s.args, s.values, s.rdom, s.schedule, s.site)
    if s.rdom is not None:
        # A domain is read without its predicate, which may mention Funcs.
        s.rdom.predicate, s.rdom.frozen = s.predicate, True
        made.read_predicate(s.predicate)
    if s.rewritten is not None:
        made.original, made.directive = made, s.rewritten
    return made


def bottom_up(roots: Iterable[Node]) -> Iterator[Node]:
    """Every distinct node of trees but for Vars, children before parents."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(n, False) for n in roots]
    stack.reverse()
    while stack:
        n, ready = stack.pop()
        if ready:
            yield n
        elif n not in seen and not isinstance(n, Var):
            seen.add(n)
            stack.append((n, True))
            stack += [(child, False) for child in reversed(n.children())]


# Shells: how each kind of object is written, and made again.

#: While a user's pipeline is made again, what its names have become.
_NAMES: ContextVar[dict[str, str] | None] = ContextVar("names", default=None)


def _renamed(name: str) -> str:
    """A name of the pipeline as it is called here; outputs of several values have it
    with a number behind a dot."""
    names = _NAMES.get()
    if names is None:
        return name
    first, dot, rest = name.partition(".")
    if first not in names:
        names[first] = unique_name(first)
    return f"{names[first]}{dot}{rest}"


_Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def _var(v: Var) -> _Reduced:
    if is_user_var(v):
        return user_var, (v.name,)
    if is_user_rvar(v):
        return user_rvar, (v.name,)
    if isinstance(v.origin, ParamSym):
        return _var_of_param, (v.origin,)
    if isinstance(v.origin, ReductionDomain):
        return _var_of_domain, (v.origin, v.origin.vars.index(v))
    if isinstance(v.origin, tuple):
        return _var_of_dim, v.origin
    return _free_var, (v.name, v.type, v.lo, v.hi)


def _var_of_param(p: ParamSym) -> Var:
    return p.var


def _var_of_domain(r: ReductionDomain, position: int) -> Var:
    return r.vars[position]


def _var_of_dim(b: BufferSym, side: str, d: int) -> Var:
    found: Var = getattr(b.dims[d], side)
    return found


def _free_var(name: str, type: Type, lo: Expr | None, hi: Expr | None) -> Var:
    return Var(name, type, lo=lo, hi=hi)


def _function(f: Function) -> _Reduced:
    return _made_function, (f.name, f.label, f.args, f.types, f.frozen, f.site)


def _made_function(
    name: str,
    label: str,
    args: tuple[Var, ...],
    types: tuple[Type, ...],
    frozen: bool,
    site: Site | None,
) -> Function:
    made = Function(_renamed(name), FuncSchedule(), site)
    label = made.name if label == name else label
    made.label, made.args, made.types, made.frozen = label, args, types, frozen
    made.copy_of = made
    return made


def _domain(r: ReductionDomain) -> _Reduced:
    return ReductionDomain, (r.names, r.mins, r.extents, TRUE, r.site)


def _buffer(b: BufferSym) -> _Reduced:
    given = (b.name, b.type, len(b.dims), b.role, b.embedded, b.value_index, b.site)
    return _made_buffer, given


def _made_buffer(
    name: str,
    type: Type,
    dimensions: int,
    role: str,
    embedded: bool,
    value_index: int,
    site: Site | None,
) -> BufferSym:
    return BufferSym(
        _renamed(name),
        type,
        dimensions,
        role,
        embedded=embedded,
        value_index=value_index,
        site=site,
    )


def _dim(d: DimSym) -> _Reduced:
    owner, _, position = d.min.origin
    return _made_dim, (owner, position)


def _made_dim(owner: BufferSym, position: int) -> DimSym:
    return owner.dims[position]


def _param(p: ParamSym) -> _Reduced:
    return _made_param, (p.name, p.type, p.site, p.var.lo)


def _made_param(
    name: str, type: Type, site: Site | None, least: Expr | None
) -> ParamSym:
    return ParamSym(_renamed(name), type, site, least)


_SHELLS: dict[type, Callable[[Any], _Reduced]] = {
    Var: _var,
    Function: _function,
    ReductionDomain: _domain,
    BufferSym: _buffer,
    DimSym: _dim,
    ParamSym: _param,
}


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, instead: Mapping[Var, Var]) -> None:
        super().__init__(file, protocol=5)
        self._instead = instead

    def reducer_override(self, obj: object) -> Any:
        if type(obj) is Var and obj in self._instead:
            return _var(self._instead[obj])
        shell = _SHELLS.get(type(obj))
        return NotImplemented if shell is None else shell(obj)


__all__ = ["bottom_up", "dumps", "loads", "loads_apart"]
