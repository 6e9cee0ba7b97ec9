"""Reads the documents that `serial` writes, and trusts nothing in them.

Each entry is checked by itself when it is made, and so are definitions and schedules in
the end: what a damaged document says is refused here, with a SerialisationError, and
makes no more memory than its own length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from parhelion.errors import HalideError, InternalError
from parhelion.ir.build import TRUE
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, Extern, FloatImm, FuncCall, Intrinsic, Var
from parhelion.ir.externs import FUNCTIONS
from parhelion.ir.function import Definition, DimName, Function, ReductionDomain
from parhelion.ir.intrinsics import OF_PASSES
from parhelion.ir.names import user_rvar, user_var
from parhelion.ir.pipeline import Requirement
from parhelion.ir.promises import Assumptions, Promise, Symbol
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, DimSym, ParamSym
from parhelion.ir.verify import verify_expressions
from parhelion.schedule.directives import (
    OUTERMOST,
    FuncSchedule,
    Fuse,
    Split,
    StageSchedule,
)
from parhelion.schedule.serial_fields import (
    NODES,
    broken,
    fields,
    plain,
    read,
    real,
    type_of,
)
from parhelion.schedule.spec import PipelineSpec
from parhelion.types import INT32, Type

#: The most entries of the table, dimensions of anything, and values of a Func.
MOST_ENTRIES, MOST_DIMENSIONS, MOST_VALUES = 1 << 22, 32, 1 << 10

_NAME = re.compile(r"[A-Za-z0-9_$.]{1,1000}")
_KEYS = (
    *("table", "functions", "outputs", "requirements", "promises", "estimates"),
    "values",
)


class Document:
    """A pipeline that was read, and what came with it.

    spec: the pipeline, whose Funcs are nobody's else. values: JSON for what images and
    Params stand for, which is for the caller to judge. symbols: the images and Params
    that are the caller's to give, by their names.
    """

    __slots__ = ("spec", "symbols", "values")

    def __init__(
        self,
        spec: PipelineSpec,
        symbols: Mapping[str, Symbol],
        values: Mapping[Symbol, Any],
    ) -> None:
        self.spec, self.symbols, self.values = spec, symbols, values


#: Names a Func, an image or a Param that is made: by its name in the file.
Rename = Callable[[str], str]


def same(name: str) -> str:
    """Keeps the names of the file."""
    return name


def read_document(
    text: bytes, given: Mapping[str, Symbol], rename: Rename = same
) -> Document:
    """The pipeline of a document.

    given: the images and Params that take the place of those of these names. Raises
    SerialisationError for what is no document, and HalideError for one that uses what
    this process does not have.
    """
    try:
        whole = json.loads(text.decode("ascii"), parse_constant=broken)
    except RecursionError:
        broken("lists are nested too deep")
    except ValueError as error:  # not ASCII, no JSON, or too many digits
        broken(str(error)[:200])
    if not isinstance(whole, dict) or tuple(whole) != _KEYS:
        broken("its parts are others")
    reader = _Reader(given, rename)
    return run_deep(lambda: reader.document(whole))


class _Reader:
    def __init__(self, given: Mapping[str, Symbol], rename: Rename) -> None:
        self._given, self._rename = given, rename
        self.table: list[Any] = []
        self.symbols: dict[str, Symbol] = {}
        #: The buffers of Funcs' values.
        self._held: dict[Function, dict[int, BufferSym]] = {}

    # The table.

    def find(self, number: object, cls: type[Any] | tuple[type[Any], ...]) -> Any:
        """The entry of a number, which must be of a class."""
        if type(number) is not int or not 0 <= number < len(self.table):
            broken(f"there is no entry {number!r:.40} before its first use")
        found = self.table[number]
        if not isinstance(found, cls):
            broken(f"entry {number} is a {type(found).__name__}")
        return found

    def exprs(self, numbers: object, most: int = 1 << 20) -> tuple[Expr, ...]:
        return tuple([self.find(n, Expr) for n in _list(numbers, most=most)])

    def maybe(self, number: object) -> Expr | None:
        found: Expr | None = None if number is None else self.find(number, Expr)
        return found

    def _entry(self, json: Any) -> Any:
        kind, *rest = _list(json, least=1)
        if isinstance(kind, str):
            if kind in NODES:
                return self._node(NODES[kind], rest)
            make = _ENTRIES.get(kind)
            if make is not None:
                return make(self, rest)
        return broken(f"an entry of the kind {kind!r:.40}")

    def _node(self, cls: type[Expr], json: list[Any]) -> Expr:
        declared = fields(cls)
        if len(json) != len(declared):
            broken(f"{cls.__name__} of {len(json)} fields, not {len(declared)}")
        items = zip(json, declared, strict=True)
        values = [read(one, hint, self.find) for one, (_, hint) in items]
        made = cls(*values)
        if isinstance(made, FloatImm) and (
            not made.type.is_float() or made.bits >> made.type.width
        ):
            broken(f"{made.bits} are no bits of {made.type}")
        if isinstance(made, Extern):
            _check_extern(made)
        if isinstance(made, Intrinsic) and made.op in OF_PASSES:
            broken(f"{made.op} in an algorithm")
        if made.type.count != 1:
            broken(f"a vector of type {made.type}")
        return made

    def _function(self, json: list[Any]) -> Function:
        name, label, args, types, frozen = _list(json, 5)
        known = self._rename(_name(name))
        made = Function(known, FuncSchedule(), None)
        made.label = known if label == name else _name(label)
        numbers = _list(args, most=MOST_DIMENSIONS)
        made.args = tuple([self.find(n, Var) for n in numbers])
        if len(set(made.args)) != len(made.args):
            broken(f"the arguments of {name} are not distinct")
        if any([a.type is not INT32 for a in made.args]):
            broken(f"the arguments of {name} are no coordinates")
        made.types = tuple([type_of(t) for t in _list(types, most=MOST_VALUES)])
        made.frozen = plain(frozen, bool)
        made.copy_of = made
        return made

    def _domain(self, json: list[Any]) -> ReductionDomain:
        names, mins, extents = _list(json, 3)
        pairs = [_list(pair, 2) for pair in _list(names, most=MOST_DIMENSIONS)]
        named = tuple([DimName(plain(a, str), plain(b, str)) for a, b in pairs])
        sides = [self.exprs(s, MOST_DIMENSIONS) for s in (mins, extents)]
        if not named or any([len(s) != len(named) for s in sides]):
            broken("a reduction domain whose sides do not fit together")
        if any([e.type is not INT32 for s in sides for e in s]):
            broken("a reduction domain whose bounds are no int32")
        return ReductionDomain(named, sides[0], sides[1], TRUE, None)

    def _image(self, json: list[Any]) -> BufferSym:
        name, t, dimensions, embedded, alignment = _list(json, 5)
        n, of, bytes = plain(dimensions, int), type_of(t), _alignment(alignment)
        if not 0 <= n <= MOST_DIMENSIONS:
            broken(f"an image of {n} dimensions")
        inside = plain(embedded, bool)

        def make(known: str, of: Type) -> BufferSym:
            made = BufferSym(known, of, n, "input", embedded=inside)
            made.host_alignment = bytes
            return made

        if inside:
            return make(self._rename(plain(name, str)), of)
        found: BufferSym = self._symbol(name, BufferSym, of, n, make)
        return found

    def _result(self, json: list[Any]) -> BufferSym:
        """The buffer that a value of a Func is computed into, where it is an output."""
        number, index, alignment = _list(json, 3)
        f: Function = self.find(number, Function)
        t = _at(f.types, index)
        held = self._held.setdefault(f, {})
        if index in held:
            broken(f"value {index} of {f.name} has two buffers")
        name = f"{f.name}.{index}" if len(f.types) > 1 else f.name
        made = BufferSym(name, t, len(f.args), "output", func=f, value_index=index)
        made.host_alignment = _alignment(alignment)
        held[index] = made
        return made

    def _param(self, json: list[Any]) -> ParamSym:
        name, t = _list(json, 2)
        found: ParamSym = self._symbol(name, ParamSym, type_of(t), 0, ParamSym)
        return found

    def _symbol(
        self,
        name: object,
        cls: type[Any],
        t: Type,
        dimensions: int,
        make: Callable[[str, Type], Any],
    ) -> Any:
        """An image or a Param of the caller's, or a new one."""
        known = _name(name)
        if known in self.symbols:
            broken(f"two images or Params of the name {known}")
        found = self._given.get(known)
        if found is None:
            found = make(self._rename(known), t)
        _check_given(known, found, cls, t, dimensions)
        self.symbols[known] = found
        return found

    def _var(self, json: list[Any]) -> Var:
        return user_var(plain(_list(json, 1)[0], str))

    def _rvar(self, json: list[Any]) -> Var:
        return user_rvar(plain(_list(json, 1)[0], str))

    def _var_of_param(self, json: list[Any]) -> Var:
        found: Var = self.find(_list(json, 1)[0], ParamSym).var
        return found

    def _var_of_domain(self, json: list[Any]) -> Var:
        number, position = _list(json, 2)
        found: Var = _at(self.find(number, ReductionDomain).vars, position)
        return found

    def _var_of_image(self, json: list[Any]) -> Var:
        number, side, d = _list(json, 3)
        if side not in ("min", "extent", "stride"):
            broken(f"the side {side!r:.40} of an image")
        found: Var = getattr(_at(self.find(number, BufferSym).dims, d), side)
        return found

    def _local(self, json: list[Any]) -> Var:
        name, t, lo, hi = _list(json, 4)
        ends = self.maybe(lo), self.maybe(hi)
        return Var(plain(name, str), type_of(t), lo=ends[0], hi=ends[1])

    # The pipeline.

    def document(self, whole: Mapping[str, Any]) -> Document:
        try:
            return self._document(whole)
        except InternalError as error:  # of `verify`, and of the nodes themselves
            return broken(error.what)

    def _document(self, whole: Mapping[str, Any]) -> Document:
        for entry in _list(whole["table"], most=MOST_ENTRIES):
            self.table.append(self._entry(entry))
        order = [self._defined(one) for one in _list(whole["functions"])]
        if not order or len(set(order)) != len(order):
            broken("its Funcs are not distinct")
        outputs = [self._output(one, order) for one in _list(whole["outputs"])]
        if not outputs or len(set(outputs)) != len(outputs):
            broken("its outputs are not distinct")
        _check_calls(order, self.table)
        asked = tuple([self._requirement(r) for r in _list(whole["requirements"])])
        assumed = self._assumptions(_list(whole["promises"]))
        for pair in _list(whole["estimates"]):
            self._estimate(*_list(pair, 2))
        copies = {f: f for f in order}
        spec = PipelineSpec(tuple(outputs), copies, asked, assumed)
        values = [_list(pair, 2) for pair in _list(whole["values"])]
        symbols = (BufferSym, ParamSym)
        told = {self.find(number, symbols): value for number, value in values}
        return Document(spec, self.symbols, told)

    def _defined(self, json: Any) -> Function:
        """A Func with its definitions and its schedule."""
        number, schedule, stages = _list(json, 3)
        f: Function = self.find(number, Function)
        if f.pure is not None:
            broken(f"{f.name} is defined twice")
        f.schedule = read(schedule, FuncSchedule, self.find)
        _check_schedule(f)
        made = [self._stage(f, one) for one in _list(stages, least=1)]
        f.pure, f.updates = made[0], tuple(made[1:])
        if f.pure.args != f.args:
            broken(f"the first definition of {f.name} is not pure")
        return f

    def _stage(self, f: Function, json: Any) -> Definition:
        args, values, domain, schedule, rewritten, moved, known_as = _list(json, 7)
        rdom = predicate = None
        if domain is not None:
            one, other = _list(domain, 2)
            rdom = self.find(one, ReductionDomain)
            predicate = self.find(other, Expr)
        read_schedule = read(schedule, StageSchedule, self.find)
        made = Definition(
            self.exprs(args), self.exprs(values), rdom, read_schedule, None
        )
        if len(made.args) != len(f.args):
            broken(f"a definition of {f.name} at {len(made.args)} coordinates")
        if any([a.type is not INT32 for a in made.args]):
            broken(f"a definition of {f.name} at what is no coordinate")
        if tuple([v.type for v in made.values]) != f.types:
            broken(f"a definition of {f.name} has values of other types")
        roots = [*made.args, *made.values]
        if predicate is not None:
            if not predicate.type.is_bool():
                broken("a predicate that is no Bool")
            made.read_predicate(predicate)
            roots.append(predicate)
        points = [*f.args, *(rdom.vars if rdom is not None else ())]
        verify_expressions(roots, points)
        if rewritten is not None:
            made.original, made.directive = made, plain(rewritten, str)
        made.moved_by, made.known_as = plain(moved, str), plain(known_as, str)
        _check_loops(f, made, read_schedule, made.args)
        return made

    def _output(self, json: Any, order: list[Function]) -> Function:
        number, buffers = _list(json, 2)
        f: Function = self.find(number, Function)
        if f not in order:
            broken(f"the output {f.name} is not defined")
        held = tuple([self.find(n, BufferSym) for n in _list(buffers)])
        if held != tuple([self._held.get(f, {}).get(k) for k in range(len(f.types))]):
            broken(f"the buffers of {f.name} are others")
        f.hold(held)
        return f

    def _requirement(self, json: Any) -> Requirement:
        condition, shown = _list(json, 2)
        asked = Requirement(self.find(condition, Expr), self.exprs(shown))
        if not asked.condition.type.is_bool():
            broken("a requirement that is no Bool")
        verify_expressions([asked.condition, *asked.shown], (), strings=True)
        return asked

    def _assumptions(self, json: list[Any]) -> Assumptions:
        dims: dict[DimSym, Promise] = {}
        params: dict[ParamSym, tuple[Expr | None, Expr | None]] = {}
        for pair in json:
            number, numbers = _list(pair, 2)
            symbol: Symbol = self.find(number, (BufferSym, ParamSym))
            sides = [self.maybe(n) for n in _list(numbers)]
            of = symbol.type if isinstance(symbol, ParamSym) else INT32
            if any([e is not None and e.type is not of for e in sides]):
                broken(f"a promise of {symbol.name} of another type")
            verify_expressions([e for e in sides if e is not None], ())
            if isinstance(symbol, ParamSym):
                if len(sides) != 2:
                    broken(f"the range of {symbol.name} has {len(sides)} ends")
                params[symbol] = (sides[0], sides[1])
                if self._is_ours(symbol):
                    symbol.lo, symbol.hi = sides
            else:
                if len(sides) != 3 * len(symbol.dims):
                    broken(f"{symbol.name} has {len(sides)} promises")
                for k, d in enumerate(symbol.dims):
                    dims[d] = Promise(*sides[3 * k : 3 * k + 3])
                    if self._is_ours(symbol):
                        d.fixed_min, d.fixed_extent, d.fixed_stride = sides[
                            3 * k : 3 * k + 3
                        ]
        known = [s for s in self.table if isinstance(s, BufferSym | ParamSym)]
        for s in known:
            if (
                (s not in params)
                if isinstance(s, ParamSym)
                else (any([d not in dims for d in s.dims]))
            ):
                broken(f"nothing is said of {s.name}")
        return Assumptions(dims, params)

    def _is_ours(self, symbol: Symbol) -> bool:
        """Whether a symbol was made here, and is not the caller's."""
        return all([symbol is not s for s in self._given.values()])

    def _estimate(self, number: object, json: Any) -> None:
        symbol: Symbol = self.find(number, (BufferSym, ParamSym))
        ours = self._is_ours(symbol)
        if isinstance(symbol, ParamSym):
            value = value_of(json, symbol.type)
            symbol.estimate = value if ours else symbol.estimate
            return
        sides = [self.maybe(n) for n in _list(json)]
        if len(sides) != 2 * len(symbol.dims):
            broken(f"{symbol.name} has {len(sides)} estimates")
        if any([e is not None and e.type is not INT32 for e in sides]):
            broken(f"an estimate of {symbol.name} that is no int32")
        for k, d in enumerate(symbol.dims):
            if ours:
                d.estimate_min, d.estimate_extent = sides[2 * k : 2 * k + 2]


_ENTRIES: Mapping[str, Callable[[_Reader, list[Any]], Any]] = {
    "Func": _Reader._function,
    "RDom": _Reader._domain,
    "Image": _Reader._image,
    "Output": _Reader._result,
    "Param": _Reader._param,
    "Var": _Reader._var,
    "RVar": _Reader._rvar,
    "VarOfParam": _Reader._var_of_param,
    "VarOfRDom": _Reader._var_of_domain,
    "VarOfImage": _Reader._var_of_image,
    "LocalVar": _Reader._local,
}


def value_of(json: Any, of: Type) -> bool | int | float:
    """A number that a Param of a type may be."""
    if of.is_float():
        return real(json)
    if of.is_bool() and type(json) is bool:
        return json
    number: int = plain(json, int)
    if not of.is_int_or_uint() or not of.can_represent(number):
        broken(f"{number} is no {of}")
    return number


def _list(
    json: Any, length: int | None = None, *, least: int = 0, most: int = 1 << 20
) -> list[Any]:
    if not isinstance(json, list) or not least <= len(json) <= most:
        broken(f"{json!r:.40} in place of a list")
    if length is not None and len(json) != length:
        broken(f"a list of {len(json)} in place of {length}")
    return json


def _name(json: object) -> str:
    if not isinstance(json, str) or _NAME.fullmatch(json) is None:
        broken(f"the name {json!r:.40}")
    return json


def _alignment(json: object) -> int:
    bytes: int = plain(json, int)
    if not 0 <= bytes <= 1 << 30 or bytes & (bytes - 1):
        broken(f"an alignment of {bytes} bytes")
    return bytes


def _at(items: tuple[Any, ...], position: object) -> Any:
    if type(position) is not int or not 0 <= position < len(items):
        broken(f"there is no dimension {position!r:.40}")
    return items[position]


def _check_given(
    name: str, symbol: Symbol, cls: type[Any], t: Type, dimensions: int
) -> None:
    """What the caller gives must be what the pipeline was written for."""
    what = "an ImageParam" if cls is BufferSym else "a Param"
    is_as = isinstance(symbol, cls) and symbol.type is t
    if not is_as or (isinstance(symbol, BufferSym) and len(symbol.dims) != dimensions):
        wanted = f"{what} of type {t}"
        if cls is BufferSym:
            wanted += f" and {dimensions} dimensions"
        given = f"a Param of type {symbol.type}"
        if isinstance(symbol, BufferSym):
            given = f"an ImageParam of type {symbol.type}"
            given += f" and {len(symbol.dims)} dimensions"
        raise HalideError(f"the pipeline's {name!r} is {wanted}, not {given}")


def _check_extern(e: Extern) -> None:
    """Only C functions that this program has named itself are called: a file may name
    any."""
    known = FUNCTIONS.get(e.name)
    given = tuple([a.type for a in e.args])
    if known is None or known.result is not e.type or known.params != given:
        types = ", ".join(map(str, given))
        raise HalideError(
            f"the serialised pipeline calls the C function {e.name!r} as"
            f" {e.type}({types}), which this program does not know",
            hint="name it first: hl.extern_function(…)",
        )


def _check_calls(order: list[Function], table: list[Any]) -> None:
    """Each Func is defined, and calls what comes before it: there are no circles."""
    place = {f: k for k, f in enumerate(order)}
    for f, k in place.items():
        for number, d in enumerate(f.stages()):
            for n in nodes(*d.args, *d.values, *d.guard):
                if isinstance(n, FuncCall):
                    at = place.get(n.func, len(order))
                    if at > k or (at == k and number == 0):
                        broken(f"{f.name} calls {n.func.name}, which comes later")
    for r in table:
        if isinstance(r, ReductionDomain):
            verify_expressions([*r.mins, *r.extents], ())


def _check_schedule(f: Function) -> None:
    """What a schedule says of dimensions by their positions."""
    s, n = f.schedule, len(f.args)
    if s.storage_order and sorted(s.storage_order) != list(range(n)):
        broken(f"the storage order of {f.name}")
    if any([not 0 <= d < n for d in s.storage]):
        broken(f"the storage of a dimension of {f.name}")
    if len(s.tile) > n or any([t is not None and t < 1 for t in s.tile]):
        broken(f"the parts of {f.name}")
    sides = [e for b in (*s.bounds, *s.estimates) for e in (b.min, b.extent)]
    numbers = [
        *sides,
        s.ring,
        *[e for d in s.storage.values() for e in (d.fold, d.bound)],
    ]
    if any([e is not None and not e.type.is_int_or_uint() for e in numbers]):
        broken(f"a number of the schedule of {f.name}")
    verify_expressions([e for e in numbers if e is not None], ())
    if any([b.var not in f.args for b in (*s.bounds, *s.estimates)]):
        broken(f"a bound of {f.name}")


def _check_loops(
    f: Function, d: Definition, s: StageSchedule, args: tuple[Expr, ...], depth: int = 0
) -> None:
    """The loops of a stage are those that its directives make of its variables."""
    if depth > 32:
        broken("branches of branches of branches")
    loops = [a for a in f.args if a in args]
    loops += [] if d.rdom is None else d.rdom.vars
    there = {*loops, OUTERMOST}
    for t in s.transforms:
        old = (t.inner, t.outer) if isinstance(t, Fuse) else (t.old,)
        if isinstance(t, Fuse):
            new: tuple[Var, ...] = (t.fused,)
        else:
            new = (t.outer, t.inner) if isinstance(t, Split) else (t.new,)
        if not there.issuperset(old) or len({*old}) != len(old):
            broken(f"a directive of {f.name} on a loop that it has not")
        there -= {*old}
        if not there.isdisjoint(new) or len({*new}) != len(new):
            broken(f"a directive of {f.name} makes a loop twice")
        there |= {*new}
        if isinstance(t, Split):
            if not t.factor.type.is_int_or_uint():
                broken(f"the factor of a split of {f.name}")
            verify_expressions([t.factor], ())
    dims = [dim.var for dim in s.dims]
    if len(set(dims)) != len(dims) or {*dims} | {OUTERMOST} != there:
        broken(f"the loops of {f.name} are not those of its directives")
    for one in s.specializations:
        if not one.condition.type.is_bool():
            broken(f"a branch of {f.name} whose condition is no Bool")
        verify_expressions([one.condition], ())
        if one.schedule is not None:
            _check_loops(f, d, one.schedule, args, depth + 1)
    for p in s.prefetches:
        verify_expressions([p.offset], ())


__all__ = ["Document", "read_document", "value_of"]
