"""A pipeline as a document that any later version reads: docs/serialisation.md.

The document is JSON, of lists that are nested a few levels, however deep a tree is. The
same pipeline gives the same document in every process; it has no lines of the
user's source, and nothing in it is run when it is read. `serial_reader` reads it.

Foreign code is at an address of one process, and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from parhelion.errors import SerialisationError, Site
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, Extern, Var
from parhelion.ir.externs import is_of_this_process, known_as
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.names import is_user_rvar, is_user_var
from parhelion.ir.promises import Symbol
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.schedule.serial_fields import NODES, fields, told, type_name
from parhelion.schedule.spec import PipelineSpec

#: The version of the format that is written.
VERSION = 1

#: What is told of the image of a symbol, or of a Param's value, by the caller.
Given = Mapping[Symbol, Any]

_NONE: Given = {}


def document_of(spec: PipelineSpec, given: Given = _NONE) -> bytes:
    """The document of a pipeline.

    given: JSON for what images and Params stand for. Raises SerialisationError if
    foreign code is part of the pipeline.
    """
    return run_deep(lambda: _Writer().document(spec, given))


class _Writer:
    """Writes the table of entries, each after those that it mentions."""

    def __init__(self) -> None:
        self.table: list[list[Any]] = []
        self._numbers: dict[object, int] = {}
        self._copies: Mapping[Function, Function] = {}
        self._written: dict[BufferSym, Function] = {}

    def document(self, spec: PipelineSpec, given: Given) -> bytes:
        n = self.number
        self._copies = spec.copies
        self._written = {b: f for f in spec.outputs for b in f.buffers}
        functions = [self._function(f, n) for f in spec.order]
        outputs = [[n(f), [n(b) for b in f.buffers]] for f in spec.outputs]
        requirements = [
            [n(r.condition), [n(e) for e in r.shown]] for r in spec.requirements
        ]
        promises = self._promises(spec)
        estimates = self._estimates()
        values = [[self._numbers[s], v] for s, v in given.items() if s in self._numbers]
        whole = {
            "table": self.table,
            "functions": functions,
            "outputs": outputs,
            "requirements": requirements,
            "promises": promises,
            "estimates": estimates,
            "values": sorted(values, key=lambda pair: pair[0]),
        }
        text = json.dumps(whole, separators=(",", ":"), ensure_ascii=True)
        return text.encode("ascii")

    def number(self, value: Any) -> int:
        """The place of something in the table, where it is put if it is new."""
        found = self._numbers.get(value)
        if found is not None:
            return found
        if isinstance(value, Expr) and not isinstance(value, Var):
            return self._tree(value)
        return self._put(value, self._entry(value))

    def _put(self, value: object, entry: list[Any]) -> int:
        at = self._numbers[value] = len(self.table)
        self.table.append(entry)
        return at

    def _tree(self, root: Expr) -> int:
        """Numbers a tree, children before parents, without recursion."""
        stack = [(root, False)]
        while stack:
            n, ready = stack.pop()
            if n in self._numbers:
                continue
            if isinstance(n, Var):
                self.number(n)
            elif ready:
                self._put(n, self._node(n))
            else:
                stack.append((n, True))
                stack += [(child, False) for child in reversed(n.children())]
        return self._numbers[root]

    def _node(self, n: Expr) -> list[Any]:
        name = type(n).__name__
        if name not in NODES:
            _refuse(f"an expression of the kind {name}", None)
        if isinstance(n, Extern) and is_of_this_process(n.name):
            _refuse(f"a call of {known_as(n.name)}, which is foreign code", None)
        return [name, *[told(getattr(n, f), self.number) for f, _ in fields(type(n))]]

    def _entry(self, it: Any) -> list[Any]:
        if isinstance(it, Var):
            return self._var(it)
        if isinstance(it, Function):
            if it.extern is not None:
                _refuse(f"{it.name}, which foreign code computes,", it.site)
            args = [self.number(a) for a in it.args]
            types = [type_name(t) for t in it.types]
            return ["Func", it.name, it.label, args, types, it.frozen]
        if isinstance(it, ReductionDomain):
            names = [[n.of, n.letter] for n in it.names]
            sides = [[self.number(e) for e in s] for s in (it.mins, it.extents)]
            return ["RDom", names, *sides]
        if isinstance(it, BufferSym):
            return self._buffer(it)
        if isinstance(it, ParamSym):
            return ["Param", it.name, type_name(it.type)]
        return _refuse(f"a {type(it).__name__}", None)

    def _buffer(self, b: BufferSym) -> list[Any]:
        if b.role == "input":
            about = [len(b.dims), b.embedded, b.host_alignment]
            return ["Image", b.name, type_name(b.type), *about]
        f = self._written.get(b) or self._copies.get(b.func)
        if f is None:
            return _refuse(f"{b.name}, which is no output of the pipeline,", b.site)
        return ["Output", self.number(f), b.value_index, b.host_alignment]

    def _var(self, v: Var) -> list[Any]:
        if is_user_var(v):
            return ["Var", v.name]
        if is_user_rvar(v):
            return ["RVar", v.name]
        origin = v.origin
        if isinstance(origin, ParamSym):
            return ["VarOfParam", self.number(origin)]
        if isinstance(origin, ReductionDomain):
            return ["VarOfRDom", self.number(origin), origin.vars.index(v)]
        if isinstance(origin, tuple):
            owner, side, d = origin
            return ["VarOfImage", self.number(owner), side, d]
        ends = [None if e is None else self.number(e) for e in (v.lo, v.hi)]
        return ["LocalVar", v.name, type_name(v.type), *ends]

    def _function(self, f: Function, n: Any) -> list[Any]:
        """What is known of a Func beside its entry: schedule and stages."""
        return [n(f), told(f.schedule, n), [self._stage(d, n) for d in f.stages()]]

    def _stage(self, d: Definition, n: Any) -> list[Any]:
        return [
            [n(a) for a in d.args],
            [n(v) for v in d.values],
            None if d.rdom is None else [n(d.rdom), n(d.predicate)],
            told(d.schedule, n),
            None if d.original is None else d.directive,
            d.moved_by,
            d.known_as,
        ]

    def _promises(self, spec: PipelineSpec) -> list[Any]:
        """Of each Param and each image its promises, as the pipeline assumes them."""
        n, assumed, made = self.number, spec.assumptions, []
        for p, bounds in assumed.params.items():
            made.append([n(p), [None if e is None else n(e) for e in bounds]])
        owners = {d.min.origin[0]: None for d in assumed.dims}
        for b in owners:
            sides = [None if e is None else n(e) for e in assumed.of(b)]
            made.append([n(b), sides])
        return made

    def _estimates(self) -> list[Any]:
        """What automatic schedulers are told of Params and images."""
        made: list[Any] = []
        for s in list(self._numbers):
            if isinstance(s, ParamSym) and s.estimate is not None:
                made.append([self._numbers[s], told(s.estimate, self.number)])
            elif isinstance(s, BufferSym):
                sides = [e for d in s.dims for e in (d.estimate_min, d.estimate_extent)]
                if any([e is not None for e in sides]):
                    told_sides = [None if e is None else self.number(e) for e in sides]
                    made.append([self._numbers[s], told_sides])
        return made


def _refuse(what: str, at: Site | None) -> NoReturn:
    raise SerialisationError(
        f"{what} is not serialised",
        at=at,
        hint="what is serialised is arithmetic on Funcs, images and Params; an address"
        " of this process says nothing to another",
    )


__all__ = ["VERSION", "Given", "document_of"]
