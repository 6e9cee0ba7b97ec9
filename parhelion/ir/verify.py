"""Checks a program's structure between passes, and names the node that breaks it.

What is checked: types agree; every Var is used within what binds it, and bound once;
buffers are used within their allocation; Funcs within their `Realize`, and not at all
once flattened; blocks are flat; kernels keep their normal form. It costs about as much
as a pass, and is for tests and for debugging a pass rather than for every compile.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable
from typing import Any, NoReturn

from parhelion.errors import InternalError
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.failures import FAILURES
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import INTRINSICS, MARKS
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import brief, text
from parhelion.ir.verified import Used, Verified
from parhelion.ir.verify_kernels import verify_kernels
from parhelion.types import INT32, Type


class Form(enum.Enum):
    """What a program may still contain."""

    #: Loop nests before async Funcs have their threads: semaphores have no storage.
    UNFORKED = "loop nests without threads"
    NESTS = "loop nests"  # Funcs and images at coordinates.
    FLAT = "flat"  # Buffers only; loops of all kinds.
    SHAPED = "flat, kernels in normal form"
    #: Kernels that are simulated check what they do.
    CHECKED = "flat, kernels with their checks"
    FINAL = "final"  # Nothing left to unroll or vectorise, and no marks.


_NESTS = (Form.UNFORKED, Form.NESTS)
_SHAPED = (Form.SHAPED, Form.CHECKED, Form.FINAL)


def verify(
    s: Stmt,
    stage: Form = Form.NESTS,
    *,
    free: Collection[Var] = (),
    after: str = "",
    verified: Verified | None = None,
) -> None:
    """Raises InternalError where `s` is not a well-formed program of this form.

    Vars of parameters and of the caller's buffers are free by nature; `free` names
    others. `after` is the pass to blame in the message. `verified` remembers
    expressions from one pass of a lowering to the next.
    """
    _Checker(stage, after, verified).program(s, free)


def verify_expressions(
    expressions: Iterable[Expr], free: Collection[Var], *, strings: bool = False
) -> None:
    """Raises InternalError where expressions of definitions are not well-formed.

    Of the Vars that are in no `Let`, only `free` ones may stand in them, and those of
    parameters and buffers. strings: whether they may be strings.
    """
    checker = _Checker(Form.NESTS, "")
    checker.vars.update(free)
    checker.defined = True
    for e in expressions:
        checker.expr(e, strings=strings)


_REDUCTIONS = ("add", "mul", "min", "max", "and", "or")


class _Checker:
    def __init__(
        self, form: Form, after: str, verified: Verified | None = None
    ) -> None:
        self.form = form
        self.after = after
        # What the checks of nodes ask of a form.
        kind = form in _NESTS, form is Form.FINAL
        self.known = (verified or Verified()).of(kind)
        self.vars: set[Var] = set()
        self.buffers: set[BufferSym] = set()
        self.funcs: set[Function] = set()
        self.thunks: set[BufferSym] = set()
        self.around: list[Stmt] = []
        #: Whether Funcs may be called that have no storage here.
        self.defined = False

    def fail(self, what: str, n: Node) -> NoReturn:
        """Reports `n`, the statement that it is in, and the lines around it."""
        after = f" after {self.after}" if self.after else ""
        lines = [f"node: {brief(n)}"]
        if self.around:
            shown = text(self.around[-1]).splitlines()
            lines += ["in:", *[f"   |  {line}" for line in shown[:10]]]
            if len(shown) > 10:
                lines.append("   |  …")
        raise InternalError(
            f"internal error: malformed IR{after}: {what}", detail="\n".join(lines)
        )

    def program(self, s: Stmt, free: Collection[Var]) -> None:
        self.vars.update(free)
        if type(s) is S.Allocate:
            self.fail("an Allocate outside of a Block", s)
        self.stmt(s)
        if self.form in _SHAPED:
            checked = self.form is not Form.SHAPED
            verify_kernels(s, self.fail, checked=checked)

    # Statements.

    def stmt(self, s: Stmt) -> None:
        self.around.append(s)
        _STMT[type(s)](self, s)
        self.around.pop()

    def scoped(self, s: Stmt) -> None:
        """A statement whose own lets and allocations end with it."""
        if type(s) is S.Allocate:
            self.fail("an Allocate outside of a Block", s)
        bound, buffers = set(self.vars), set(self.buffers)
        self.stmt(s)
        self.vars, self.buffers = bound, buffers

    def bind(self, var: Var, n: Node) -> None:
        if var in self.vars:
            self.fail(f"the Var {var.name!r} is bound twice, one inside the other", n)
        self.vars.add(var)

    def block(self, s: S.Block) -> None:
        if len(s.items) == 1 and type(s.items[0]) is not S.Allocate:
            self.fail("a Block of one statement", s)
        bound, buffers = set(self.vars), set(self.buffers)
        for item in s.items:
            if type(item) is S.Block:
                if not any([type(i) is S.Allocate for i in item.items]):
                    self.fail("a Block within a Block, without an Allocate", item)
                self.scoped(item)
            else:
                self.stmt(item)
        self.vars, self.buffers = bound, buffers

    def let_stmt(self, s: S.LetStmt) -> None:
        self.expr(s.value)
        if s.var.type is not s.value.type:
            self.fail(f"a let of {s.var.type} with a value of {s.value.type}", s)
        self.bind(s.var, s)

    def allocate(self, s: S.Allocate) -> None:
        for e in s.extents:
            self.index(e, "an extent")
        self.flag(s.condition)
        if s.buffer in self.buffers:
            self.fail(f"{s.buffer.name} is allocated twice", s)
        if s.buffer.role != "internal":
            self.fail(f"an Allocate of the {s.buffer.role} {s.buffer.name}", s)
        self.buffers.add(s.buffer)

    def free(self, s: S.Free) -> None:
        self.buffer(s.buffer, s)
        self.buffers.discard(s.buffer)

    def loop(self, s: S.For) -> None:
        self.index(s.min, "a loop's min")
        self.index(s.extent, "a loop's extent")
        if not s.var.type is s.min.type is s.extent.type:
            self.fail(
                f"a loop over {s.var.type} from {s.min.type}, {s.extent.type} times", s
            )
        rest = (S.ForKind.VECTORIZED, S.ForKind.UNROLLED)
        if self.form is Form.FINAL and s.kind in rest:
            self.fail(f"a loop that is still to be {s.kind.value}", s)
        self.bind(s.var, s)
        self.scoped(s.body)
        self.vars.discard(s.var)

    def branch(self, s: S.If) -> None:
        self.flag(s.cond)
        self.scoped(s.then)
        if s.otherwise is not None:
            self.scoped(s.otherwise)

    def store(self, s: S.Store) -> None:
        self.buffer(s.buffer, s)
        if s.buffer.role == "input":
            self.fail(f"a store to the input {s.buffer.name}", s)
        self.expr(s.value)
        self.expr(s.index)
        if s.predicate is not None:
            self.expr(s.predicate)
        self.element(s, s.buffer, s.index, s.predicate, s.value.type)

    def provide(self, s: S.Provide) -> None:
        self.funcs_allowed(s.func, s)
        for a in s.args:
            self.index(a, "a coordinate")
        for v in s.values:
            self.expr(v)
        self.dimensions(s.func, len(s.args), s)
        types = tuple([v.type for v in s.values])
        if types != s.func.types:
            self.fail(f"values of {_listed(types)} for {_listed(s.func.types)}", s)
        if s.predicate is not None:
            self.flag(s.predicate)

    def provide_extern(self, s: S.ProvideExtern) -> None:
        self.funcs_allowed(s.func, s)
        self.dimensions(s.func, len(s.bounds), s)
        for pair in (*s.bounds, *s.boxes):
            for e in pair:
                self.index(e, "a bound")
        for e in s.at:
            self.index(e, "a coordinate")
        for e in (*s.scalars, *s.sources):
            self.expr(e)
        count = 0
        for e in s.sources:
            if not isinstance(e, E.FuncCall | E.ImageLoad):
                self.fail("a source that is no place", e)
            count += len(e.args)
        if count != len(s.boxes) or len(s.at) != len(s.bounds):
            self.fail("regions that do not fit their Funcs", s)

    def run_extern(self, s: S.RunExtern) -> None:
        given = (*s.inputs, *s.outputs)
        for b in given:
            self.buffer(b, s)
        for e in s.scalars:
            self.expr(e)
        for e in (*s.places, *s.shapes):
            self.index(e, "a place or bound")
        if len(s.places) != len(given):
            self.fail(f"{len(s.places)} places in {len(given)} buffers", s)
        if len(s.shapes) != 3 * sum([len(b.dims) for b in given]):
            self.fail("shapes that do not fit the buffers", s)

    def realize(self, s: S.Realize) -> None:
        if self.form not in _NESTS:
            self.fail("a Realize in a flat program", s)
        if s.func in self.funcs:
            self.fail(f"{s.func.name} is realized twice, one inside the other", s)
        self.dimensions(s.func, len(s.bounds), s)
        for pair in s.bounds:
            for e in pair:
                self.index(e, "a bound")
        self.flag(s.condition)
        self.funcs.add(s.func)
        self.scoped(s.body)
        self.funcs.discard(s.func)

    def produce(self, s: S.Produce) -> None:
        self.scoped(s.body)

    def atomic(self, s: S.Atomic) -> None:
        self.scoped(s.body)

    def fork(self, s: S.Fork) -> None:
        self.scoped(s.first)
        self.scoped(s.second)

    def semaphore(self, s: S.Acquire | S.Release) -> None:
        self.buffer(s.semaphore, s)
        self.index(s.count, "a count")

    def on_demand(self, s: S.OnDemand) -> None:
        if not s.makes or len(s.makes) != len(s.lanes):
            self.fail(f"{len(s.makes)} productions for {len(s.lanes)} counts", s)
        for made in s.makes:
            outer, inner = made, getattr(made, "body", None)
            for loop in (outer, inner):
                if type(loop) is not S.For or loop.kind is not S.ForKind.ON_DEMAND:
                    self.fail("a part that is not computed by two loops on demand", s)
            self.scoped(made)
        self.thunks.add(s.thunk)
        self.scoped(s.body)
        self.thunks.discard(s.thunk)

    def demand(self, s: S.Demand) -> None:
        if s.thunk not in self.thunks:
            self.fail(f"{s.thunk.name} is asked for outside of its OnDemand", s)
        if isinstance(s.table, Function):
            self.funcs_allowed(s.table, s)
            self.dimensions(s.table, len(s.index), s)
        else:
            self.buffer(s.table, s)
            if len(s.index) != 1:
                self.fail("an entry of a flat table at coordinates", s)
        places = (s.row, s.col, *s.index)
        lanes = max([e.type.count for e in places])
        if lanes > 1 and not s.waits:
            self.fail("lanes that would have to be there, and are not waited for", s)
        for e in places:
            self.expr(e)
            if e.type.count not in (1, lanes):
                self.fail(f"{e.type.count} lanes of a demand of {lanes}", s)
        if s.row.type.element_of() is not INT32 or s.col.type.element_of() is not INT32:
            self.fail(f"a part at {s.row.type}, {s.col.type}", s)
        if s.predicate is not None:
            self.expr(s.predicate)
            if not s.predicate.type.is_bool() or s.predicate.type.count != lanes:
                self.fail(f"a predicate of type {s.predicate.type}", s)

    def barrier(self, s: S.Barrier) -> None:
        pass

    def sync(self, s: S.Sync) -> None:
        self.buffer(s.buffer, s)
        if not (s.reads or s.writes):
            self.fail("a Sync for no use", s)

    def evaluate(self, s: S.Evaluate) -> None:
        self.expr(s.value)

    def prefetch_region(self, s: S.PrefetchRegion) -> None:
        if isinstance(s.source, Function):
            self.funcs_allowed(s.source, s)
            self.dimensions(s.source, len(s.bounds), s)
        elif self.form not in _NESTS:
            self.fail("a PrefetchRegion in a flat program", s)
        for pair in s.bounds:
            for e in pair:
                self.index(e, "a bound")

    def prefetch(self, s: S.Prefetch) -> None:
        self.buffer(s.buffer, s)
        self.index(s.index, "a prefetched index")
        self.index(s.elements, "a prefetched length")

    def assertion(self, s: S.Assert) -> None:
        self.flag(s.cond)
        for a in s.args:
            self.expr(a, strings=True)
        if s.code not in FAILURES:
            self.fail(f"there is no failure {s.code!r}", s)

    # What statements need of expressions.

    def index(self, e: Expr, what: str) -> None:
        self.expr(e)
        if not e.type.is_int() or e.type.width < 32 or e.type.count != 1:
            self.fail(f"{what} of type {e.type}", e)

    def flag(self, e: Expr) -> None:
        self.expr(e)
        if not e.type.is_bool() or e.type.count != 1:
            self.fail(f"a condition of type {e.type}", e)

    def buffer(self, b: BufferSym, n: Node) -> None:
        if not self.is_there(b):
            self.fail(f"{b.name} is used outside of its allocation", n)

    def funcs_allowed(self, f: Function, n: Node) -> None:
        if self.form not in _NESTS:
            self.fail(f"{f.name} as a Func in a flat program", n)
        if not self.is_there(f):
            self.fail(f"{f.name} is used outside of its Realize", n)

    def is_there(self, used: Used) -> bool:
        """Whether a buffer or a Func may be used."""
        if isinstance(used, Function):
            realized = used in self.funcs or self.defined or bool(used.buffers)
            return realized and self.form in _NESTS
        if self.form is Form.UNFORKED:
            return True
        return used.role != "internal" or used in self.buffers

    def dimensions(self, f: Function, given: int, n: Node) -> None:
        if given != f.dimensions:
            self.fail(f"{f.name} has {f.dimensions} dimensions, not {given}", n)

    def element(
        self,
        n: Node,
        b: BufferSym,
        index: Expr,
        predicate: Expr | None,
        t: Type,
    ) -> None:
        """An access of a flat buffer."""
        if not index.type.is_int() or index.type.width < 32:
            self.fail(f"an index of type {index.type}", n)
        if t.element_of() is not b.type:
            self.fail(f"{t} in {b.name}, which holds {b.type}", n)
        if t.count != index.type.count:
            self.fail(f"{t.count} lanes at {index.type.count} places", n)
        if predicate is not None:
            if not predicate.type.is_bool() or predicate.type.count != t.count:
                self.fail(f"a predicate of type {predicate.type} for {t}", n)

    # Expressions.

    def expr(self, e: Expr, *, strings: bool = False) -> None:
        """Checks an expression that a statement holds."""
        for v in free_vars(e):
            if v not in self.vars and not _is_given(v):
                self.fail(f"the Var {v.name!r} is used outside of its scope", e)
        if strings and type(e) is E.StringImm:
            return
        uses = self.known.uses.get(e)
        if uses is None:
            uses = self.known.find(e, self.node)
        for used in uses:
            if not self.is_there(used):
                self.blame(e)

    def node(self, n: Expr) -> None:
        """What depends on a node alone, and on what programs may still contain."""
        handler = _EXPR.get(type(n))
        if handler is not None:
            handler(self, n)
        elif type(n) in E.BINARY:
            self.binary(n)

    def blame(self, e: Expr) -> None:
        """Names the node of an expression that uses what is not there."""
        for n in nodes(e):
            if type(n) is E.Load:
                self.buffer(n.buffer, n)
            elif type(n) is E.FuncCall:
                self.funcs_allowed(n.func, n)

    def binary(self, n: Expr) -> None:
        a, b = n.a.type, n.b.type  # type: ignore[attr-defined]
        if a is not b:
            self.fail(f"{type(n).__name__} of {a} and {b}", n)
        if type(n) in (E.And, E.Or) and not a.is_bool():
            self.fail(f"{type(n).__name__} of {a}", n)
        if a.is_handle():
            self.fail("arithmetic on a handle", n)

    def constant(self, n: E.Imm) -> None:
        if not n.type.is_int_or_uint() or n.type.count != 1:
            self.fail(f"an Imm of type {n.type}", n)
        if not n.type.lowest() <= n.value <= n.type.highest():
            self.fail(f"{n.value} does not fit {n.type}", n)

    def float_constant(self, n: E.FloatImm) -> None:
        if not n.type.is_float() or n.type.count != 1 or n.bits >> n.type.width:
            self.fail(f"a FloatImm of type {n.type}", n)

    def logical_not(self, n: E.Not) -> None:
        if not n.a.type.is_bool():
            self.fail(f"Not of {n.a.type}", n)

    def select(self, n: E.Select) -> None:
        n.CHECK()

    def cast(self, n: E.Cast) -> None:
        if n.type.count != n.a.type.count:
            self.fail(f"a cast of {n.a.type} to {n.type}", n)

    def reinterpret(self, n: E.Reinterpret) -> None:
        old, new = n.a.type, n.type
        if old.width * old.count != new.width * new.count:
            self.fail(f"{old} read as {new}", n)

    def let(self, n: E.Let) -> None:
        if n.var.type is not n.value.type:
            self.fail(f"a let of {n.var.type} with a value of {n.value.type}", n)

    def load(self, n: E.Load) -> None:
        self.element(n, n.buffer, n.index, n.predicate, n.type)

    def func_call(self, n: E.FuncCall) -> None:
        self.dimensions(n.func, len(n.args), n)
        self.coordinates(n, n.args, n.type.count)
        if not 0 <= n.index < len(n.func.types):
            self.fail(f"{n.func.name} has no value {n.index}", n)
        if n.type.element_of() is not n.func.types[n.index]:
            self.fail(f"{n.type} of a Func of {n.func.types[n.index]}", n)

    def image_load(self, n: E.ImageLoad) -> None:
        if self.form not in _NESTS:
            self.fail(f"{n.image.name} at coordinates in a flat program", n)
        if len(n.args) != len(n.image.dims):
            self.fail(
                f"{n.image.name} has {len(n.image.dims)} dimensions, not {len(n.args)}",
                n,
            )
        self.coordinates(n, n.args, n.type.count)
        if n.type.element_of() is not n.image.type:
            self.fail(f"{n.type} of an image of {n.image.type}", n)

    def coordinates(self, n: Expr, args: Iterable[Expr], lanes: int) -> None:
        for a in args:
            if a.type.element_of() is not INT32 or a.type.count not in (1, lanes):
                self.fail(f"a coordinate of type {a.type}", n)

    def ramp(self, n: E.Ramp) -> None:
        if n.lanes < 2 or n.base.type.count != 1 or n.base.type is not n.stride.type:
            self.fail(
                f"a Ramp of {n.lanes} from {n.base.type} in steps of {n.stride.type}",
                n,
            )

    def broadcast(self, n: E.Broadcast) -> None:
        if n.lanes < 2 or n.value.type.count != 1:
            self.fail(f"{n.lanes} copies of {n.value.type}", n)

    def shuffle(self, n: E.Shuffle) -> None:
        elements = {v.type.element_of() for v in n.vectors}
        if len(elements) != 1:
            self.fail(f"a Shuffle of {_listed([v.type for v in n.vectors])}", n)
        total = sum([v.type.count for v in n.vectors])
        if not n.indices or not all([0 <= k < total for k in n.indices]):
            self.fail(f"Shuffle indices outside of {total} lanes", n)

    def vector_reduce(self, n: E.VectorReduce) -> None:
        if n.op not in _REDUCTIONS or n.lanes < 1 or n.value.type.count % n.lanes:
            self.fail(f"{n.op} of {n.value.type} into {n.lanes} lanes", n)

    def intrinsic(self, n: E.Intrinsic) -> None:
        info = INTRINSICS.get(n.op)
        if info is None:
            self.fail(f"there is no intrinsic {n.op!r}", n)
        if info.arity is not None and len(n.args) != info.arity:
            self.fail(f"{n.op} with {len(n.args)} arguments, not {info.arity}", n)
        alike = n.args[:1] if n.op == "likely" else n.args
        if info.alike and any([a.type is not n.type for a in alike]):
            given = _listed([a.type for a in n.args])
            self.fail(f"{n.op} of {given} gives {n.type}", n)
        if self.form is Form.FINAL and n.op in MARKS:
            self.fail(f"a mark ({n.op}) that has served", n)


def _is_given(v: Var) -> bool:
    """Whether a Var stands for something of the caller's: a parameter, or a layout."""
    return v.origin is not None and not hasattr(v.origin, "predicate")


def _listed(types: Iterable[Type]) -> str:
    return ", ".join(map(str, types)) or "nothing"


_STMT: dict[type[Stmt], Callable[[_Checker, Any], None]] = {
    S.Block: _Checker.block,
    S.LetStmt: _Checker.let_stmt,
    S.Allocate: _Checker.allocate,
    S.Free: _Checker.free,
    S.For: _Checker.loop,
    S.If: _Checker.branch,
    S.Store: _Checker.store,
    S.Provide: _Checker.provide,
    S.ProvideExtern: _Checker.provide_extern,
    S.RunExtern: _Checker.run_extern,
    S.Realize: _Checker.realize,
    S.Produce: _Checker.produce,
    S.Atomic: _Checker.atomic,
    S.Fork: _Checker.fork,
    S.Acquire: _Checker.semaphore,
    S.Release: _Checker.semaphore,
    S.OnDemand: _Checker.on_demand,
    S.Demand: _Checker.demand,
    S.Barrier: _Checker.barrier,
    S.Sync: _Checker.sync,
    S.Evaluate: _Checker.evaluate,
    S.Prefetch: _Checker.prefetch,
    S.PrefetchRegion: _Checker.prefetch_region,
    S.Assert: _Checker.assertion,
}
_EXPR: dict[type[Expr], Callable[[_Checker, Any], None]] = {
    E.Imm: _Checker.constant,
    E.FloatImm: _Checker.float_constant,
    E.Not: _Checker.logical_not,
    E.Select: _Checker.select,
    E.Cast: _Checker.cast,
    E.Reinterpret: _Checker.reinterpret,
    E.Let: _Checker.let,
    E.Load: _Checker.load,
    E.FuncCall: _Checker.func_call,
    E.ImageLoad: _Checker.image_load,
    E.Ramp: _Checker.ramp,
    E.Broadcast: _Checker.broadcast,
    E.Shuffle: _Checker.shuffle,
    E.VectorReduce: _Checker.vector_reduce,
    E.Intrinsic: _Checker.intrinsic,
}

__all__ = ["Form", "verify", "verify_expressions"]
