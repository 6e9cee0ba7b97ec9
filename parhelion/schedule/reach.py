"""What a compiled program was made from, so that a change of it is noticed.

A fingerprint is a tuple of everything that lowering reads of the Functions that a
pipeline reaches. Its parts are compared by identity first, so an unchanged pipeline
of ten Funcs is recognised in some 100 µs; where no directive, definition or promise of
the process has changed since (`ir.changes.epoch`), it is not even looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Imm, Load, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.pipeline import Requirement
from parhelion.ir.promises import Symbol, mentioned, promises
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.schedule.branches import branches
from parhelion.schedule.directives import FuncSchedule, Specialization, StageSchedule
from parhelion.schedule.mentions import of_schedules
from parhelion.schedule.numbers import sites_of
from parhelion.schedule.wrappers import body, changes

#: What does not change the program: hints for others, and lines for messages. (That a
#: directive was given at all may bring a warning, which is why `_FREEZE` has Sites.)
_IGNORED = frozenset(("estimates", "coverage", "sites"))
_FUNC_FIELDS = tuple(
    f.name for f in dataclasses.fields(FuncSchedule) if f.name not in _IGNORED
)
_STAGE_FIELDS = tuple(
    f.name for f in dataclasses.fields(StageSchedule) if f.name not in _IGNORED
)

Fingerprint = tuple[object, ...]


def _frozen(value: object) -> object:
    freeze = _FREEZE.get(type(value))
    return value if freeze is None else freeze(value)


def _frozen_branch(one: Specialization) -> object:
    inside = () if one.schedule is None else _stage_parts(one.schedule)
    return (one.condition, one.message, *inside)


#: What holds parts that can change, or that do not count, and how it is kept.
_FREEZE: dict[type, Callable[[Any], object]] = {
    tuple: lambda found: tuple(map(_frozen, found)) if found else found,
    dict: lambda found: tuple([(k, _frozen(v)) for k, v in found.items()]),
    Specialization: _frozen_branch,
    Site: lambda _: True,
}


def _stage_parts(schedule: StageSchedule) -> list[object]:
    return [_frozen(getattr(schedule, name)) for name in _STAGE_FIELDS]


def contents(f: Function) -> list[object]:
    """All that a copy of a Func is made of (see `spec`)."""
    parts: list[object] = [f]
    parts += [_frozen(getattr(f.schedule, name)) for name in _FUNC_FIELDS]
    for d in f.stages():
        parts += [d.args, d.values, d.rdom, d.predicate, d.directive]
        parts += _stage_parts(d.schedule)
    return parts


@dataclass(slots=True)
class _Mentions:
    """What the expressions of one definition refer to."""

    exprs: tuple[object, ...]
    calls: tuple[Function, ...]
    images: tuple[BufferSym, ...]
    params: tuple[ParamSym, ...]


class Reach:
    """The Functions, images and Params that outputs and `requirements` depend on.

    `look` walks them. What a definition mentions is kept until it changes.

    functions, images, params: what definitions, conditions of branches and requirements
    mention. others: what only the rest of schedules, promises and ranges mention; the
    code may check or take them too.
    """

    def __init__(self, outputs: Sequence[Function]) -> None:
        self.outputs = tuple(outputs)
        self.requirements: tuple[Requirement, ...] = ()
        self._mentions: dict[Definition, _Mentions] = {}
        self.functions: tuple[Function, ...] = ()
        self.images: tuple[BufferSym, ...] = ()
        self.params: tuple[ParamSym, ...] = ()
        self.others: tuple[Symbol, ...] = ()

    def look(self) -> Fingerprint:
        """Finds everything again; equal results mean an equal program."""
        with CHANGES:
            return self._look()

    def _look(self) -> Fingerprint:
        functions: dict[Function, None] = {}
        images: dict[BufferSym, None] = {}
        params: dict[ParamSym, None] = {}
        symbols: dict[Symbol, None] = {}
        parts: list[object] = []
        waiting = list(reversed(self.outputs))
        while waiting:
            f = waiting.pop()
            if f in functions:
                continue
            functions[f] = None
            parts.append(f)
            parts += [_frozen(getattr(f.schedule, name)) for name in _FUNC_FIELDS]
            for d in f.stages():
                found = self._mentioned(f, d)
                parts.append(found.exprs)
                parts += _stage_parts(d.schedule)
                images.update(dict.fromkeys(found.images))
                params.update(dict.fromkeys(found.params))
                waiting += [g for g in found.calls if g not in functions]
            of_schedules(f, symbols)
        for r in self.requirements:
            asked = (r.condition, *r.shown)
            parts.append(asked)
            mentioned = _mentions(asked, asked)
            images.update(dict.fromkeys(mentioned.images))
            params.update(dict.fromkeys(mentioned.params))
        symbols.update(dict.fromkeys((*images, *params)))
        for f in self.outputs:
            symbols.update(dict.fromkeys(f.buffers))
        parts += _standing(symbols)
        self.functions, self.images = tuple(functions), tuple(images)
        self.params = tuple(params)
        self.others = tuple(
            [
                s
                for s in symbols
                if s not in images
                and s not in params
                and (isinstance(s, ParamSym) or s.role == "input")
            ]
        )
        return tuple(parts)

    def _mentioned(self, f: Function, d: Definition) -> _Mentions:
        replaced = tuple(changes(f, d).items())
        conditions = tuple([b.condition for b in branches(d.schedule)])
        exprs: tuple[object, ...] = (d.args, d.values, d.rdom, replaced, conditions)
        if d.rdom is not None:
            exprs += (d.predicate, d.rdom.mins, d.rdom.extents)
        known = self._mentions.get(d)
        if known is not None and known.exprs == exprs:
            return known
        it = body(f, d)
        roots: list[Expr] = [*it.args, *it.values, it.predicate, *conditions]
        if d.rdom is not None:
            roots += [*d.rdom.mins, *d.rdom.extents]
        made = self._mentions[d] = _mentions(exprs, roots)
        return made

    def sites(self) -> dict[str, Site | None]:
        """The user's line for each name that a failure may mention."""
        found: dict[str, Site | None] = {p.name: p.site for p in self.params}
        found |= {i.name: i.site for i in self.images}
        found |= {s.name: s.site for s in self.others}
        for f in self.functions:
            found |= sites_of(f)
        found |= {f.name: f.site for f in self.functions}
        return found


def _standing(symbols: dict[Symbol, None]) -> list[object]:
    """What is promised of symbols; they are joined by those that promises mention."""
    parts: list[object] = []
    waiting = list(symbols)
    while waiting:
        symbol = waiting.pop()
        told = promises(symbol)
        parts.append(symbol)
        parts += told
        for promise in told:
            if promise is not None and type(promise) is not Imm:
                found = mentioned(promise)
                waiting += [s for s in found if s not in symbols]
                symbols.update(found)
    return parts


def _mentions(exprs: tuple[object, ...], roots: Iterable[Expr]) -> _Mentions:
    calls: dict[Function, None] = {}
    images: dict[BufferSym, None] = {}
    params: dict[ParamSym, None] = {}
    for n in nodes(*roots):
        if isinstance(n, FuncCall):
            calls[n.func] = None
        elif isinstance(n, ImageLoad):
            images[n.image] = None
        elif isinstance(n, Load):
            images[n.buffer] = None
        elif isinstance(n, Var):
            origin = n.origin
            if isinstance(origin, ParamSym):
                params[origin] = None
            elif isinstance(origin, tuple) and origin[0].role == "input":
                images[origin[0]] = None
    return _Mentions(exprs, tuple(calls), tuple(images), tuple(params))
