"""The IR as text, made for eyes, and complete: `read` gives the same node back.

Statements look like a small C. Expressions use infix operators with the fewest
parentheses. int32 literals are plain, float32 ones end in ``f``, others carry a short
type: ``u8(3)``, ``f64(0.5)``. ``uint8(x)`` is a cast. ``f(x, y)`` is a pixel of a Func
or an input image, ``f[i]`` an element of a flat buffer, ``f[i if p]`` a predicated
one, ``x8(v)`` a broadcast. A type that does not follow from the operands stands in
angle brackets: ``saturating_cast<uint8>(x)``.

Two symbols of one name are told apart by ``#2``, ``#3``, … in order of appearance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, FloatImm, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.literals import floating, integer, quoted
from parhelion.ir.node import Node, show_by
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.types import Bool, Type, TypeCode

Symbol = Var | BufferSym | Function

KEYWORDS = frozenset(
    ("true", "false", "let", "if", "else", "for", "parallel", "vectorized")
    + ("unrolled", "block", "produce", "consume", "realize", "allocate", "free")
    + ("assert", "evaluate", "prefetch", "prefetch_region", "extern", "run")
    + ("atomic", "fork", "acquire", "release", "lazy", "demand", "on_demand")
    + ("gpu_block", "gpu_thread", "gpu_lane", "barrier", "sync")
)
#: Names that a called Func or image may not have in text.
CALLED = (
    KEYWORDS
    | frozenset(INTRINSICS)
    | frozenset(("min", "max", "select", "ramp", "shuffle", "reinterpret", "extern"))
    | frozenset([f"reduce_{op}" for op in ("add", "mul", "min", "max", "and", "or")])
    | frozenset(("i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"))
    | frozenset(("f16", "f32", "f64", "bf16", "nan", "inf"))
)
TYPE_NAME = re.compile(r"(bool|(int|uint|float|bfloat|handle)\d*)(x\d+)?")

#: Binding strength of the infix operators, as (symbol as printed, strength).
INFIX: dict[type[Expr], tuple[str, int]] = {
    E.Or: (" || ", 1),
    E.And: (" && ", 2),
    E.EQ: (" == ", 3),
    E.NE: (" != ", 3),
    E.LT: (" < ", 3),
    E.LE: (" <= ", 3),
    E.Add: (" + ", 4),
    E.Sub: (" - ", 4),
    E.Mul: ("*", 5),
    E.Div: ("/", 5),
    E.Mod: (" % ", 5),
}
_UNARY = 6

#: Names, as ``r.x`` is, and all other letters.
_PARTS = re.compile(r"([A-Za-z_][\w$.]*)|.", re.DOTALL)


def text(n: Expr | Stmt) -> str:
    """`n` as text; a statement ends with a newline."""
    printer = Printer(Names(n), None)
    if isinstance(n, Expr):
        return printer.expr(n, 0)
    printer.body(n, 0)
    return "\n".join(printer.lines) + "\n"


def brief(n: Node, length: int = 240) -> str:
    """About one line of `n` for messages: deep parts and long texts are cut (…).

    Its cost is bounded, however large the tree is. Names are whole or not there, and
    count alike: code may be kept for programs with others (see `runtime.records`).
    """
    printer = Printer(None, 6)
    if isinstance(n, Expr):
        out = printer.expr(n, 0)
    else:
        printer.stmt(cast("Stmt", n), 0)
        out = " ".join(" ".join(printer.lines).split())
    letters = end = 0
    for part in _PARTS.finditer(out):
        letters += 3 if part[1] else 1
        if letters > length:
            return out[:end] + "…"
        if letters < length:
            end = part.end()
    return out


def symbols_of(n: Node) -> dict[str, Symbol]:
    """What `read` needs for the text of `n`: ``x`` for a Var, ``f()`` for a Func or
    an image read at coordinates, ``f[]`` for a flat buffer."""
    return Names(n).symbols


class Names:
    """Unique names for the symbols of a tree, given in order of appearance."""

    def __init__(self, n: Node) -> None:
        self.symbols: dict[str, Symbol] = {}
        self._known: dict[tuple[Symbol, str], str] = {}
        for inner in nodes(n):
            for symbol, form in _mentions(inner):
                self(symbol, form)

    def __call__(self, symbol: Symbol, form: str) -> str:
        found = self._known.get((symbol, form))
        if found is not None:
            return found
        wish = re.sub(r"[^A-Za-z0-9_.$]", "_", symbol.name) or "_"
        if not re.match(r"[A-Za-z_$]", wish):
            wish = "_" + wish
        name, k = wish, 1
        while name + form in self.symbols or _reserved(name, form):
            k += 1
            name = f"{wish}#{k}"
        self.symbols[name + form] = symbol
        self._known[symbol, form] = name
        return name


def _reserved(name: str, form: str) -> bool:
    if form != "()":
        return name in KEYWORDS
    return (
        name in CALLED
        or re.fullmatch(r"x\d+", name) is not None
        or TYPE_NAME.fullmatch(name) is not None
    )


def _mentions(n: Node) -> Iterator[tuple[Symbol, str]]:
    """The symbols that a node names itself."""
    match n:
        case Var():
            yield n, ""
        case E.Let() | S.LetStmt() | S.For():
            yield n.var, ""
        case E.Load() | S.Store() | S.Allocate() | S.Free() | S.Prefetch() | S.Sync():
            yield n.buffer, "[]"
        case E.ImageLoad():
            yield n.image, "()"
        case S.Acquire():
            yield n.semaphore, "[]"
            yield n.func, "()"
            for buffer in n.buffers:
                yield buffer, "[]"
        case S.Release():
            yield n.semaphore, "[]"
            yield n.func, "()"
        case S.Fork():
            yield n.func, "()"
        case S.PrefetchRegion():
            yield n.source, "()"
        case E.FuncCall() | S.Provide() | S.Realize() | S.Produce() | S.Atomic():
            yield n.func, "()"
        case S.ProvideExtern():
            yield n.func, "()"
        case S.OnDemand():
            yield n.func, "()"
            yield n.thunk, "[]"
        case S.Demand():
            yield n.thunk, "[]"
            yield n.table, "()" if isinstance(n.table, Function) else "[]"
        case S.RunExtern():
            yield n.func, "()"
            for buffer in (*n.inputs, *n.outputs):
                yield buffer, "[]"
        case _:
            return


def default_type(op: str, args: tuple[Expr, ...]) -> Type | None:
    """The usual type of an intrinsic's result, which the text leaves out."""
    if not args:
        return None
    t = args[0].type
    if op in ("is_nan", "is_inf", "is_finite"):
        return Bool(t.count)
    if op in ("require", "print_when"):
        return args[1].type if len(args) > 1 else None
    if op in ("abs", "absd"):
        return t.with_code(TypeCode.UInt) if t.is_int() else t
    if op.startswith("widening_") and t.is_int_or_uint() and 8 <= t.width <= 32:
        if op == "widening_sub":
            t = t.with_code(TypeCode.Int)
        return t.with_bits(t.width * 2)
    if op == "random_int":
        return Type(TypeCode.UInt, 32, t.count)
    if op == "saturating_cast" or op not in INTRINSICS:
        return None
    return t


def lanes_of(args: tuple[Expr, ...]) -> int:
    """How many lanes a call with these coordinates gives."""
    return max([a.type.count for a in args], default=1)


class Printer:
    """Writes expressions as strings and statements as `lines`.

    `names` None prints names as users write them; `depth` bounds the nesting of
    expressions.
    """

    def __init__(self, names: Names | None, depth: int | None) -> None:
        self.names = names
        self.room = 1 << 60 if depth is None else depth
        self.bounded = depth is not None
        self.lines: list[str] = []

    def name(self, symbol: Symbol, form: str = "") -> str:
        if self.names is not None:
            return self.names(symbol, form)
        return var_label(symbol) if isinstance(symbol, Var) else symbol.name

    # Expressions.

    def expr(self, e: Expr, strength: int) -> str:
        """`e`, in parentheses if it binds more weakly than `strength`."""
        if type(e) is E.Imm:
            return integer(e)
        if type(e) is Var:
            return self.name(e)
        if self.room == 0:
            return "…"
        self.room -= 1
        infix = INFIX.get(type(e))
        if infix is not None:
            symbol, own = infix
            # Comparisons do not chain; the others lean left.
            left = self.expr(e.a, own + (own == 3))  # type: ignore[attr-defined]
            right = self.expr(e.b, own + 1)  # type: ignore[attr-defined]
            out = left + symbol + right
            if own < strength:
                out = f"({out})"
        else:
            out = _EXPR[type(e)](self, e)
        self.room += 1
        return out

    def list(self, args: tuple[Expr, ...]) -> str:
        if self.bounded and len(args) > 8:
            return ", ".join([self.expr(a, 0) for a in args[:8]]) + ", …"
        return ", ".join([self.expr(a, 0) for a in args])

    def float_imm(self, e: FloatImm) -> str:
        return floating(e)

    def string_imm(self, e: E.StringImm) -> str:
        return quoted(e.value)

    def cast(self, e: E.Cast) -> str:
        return f"{e.type}({self.expr(e.a, 0)})"

    def reinterpret(self, e: E.Reinterpret) -> str:
        return f"reinterpret<{e.type}>({self.expr(e.a, 0)})"

    def min_max(self, e: E.Min | E.Max) -> str:
        a, b = self.expr(e.a, 0), self.expr(e.b, 0)
        return f"{type(e).__name__.lower()}({a}, {b})"

    def logical_not(self, e: E.Not) -> str:
        return "!" + self.expr(e.a, _UNARY)

    def select(self, e: E.Select) -> str:
        return f"select({self.list((e.cond, e.a, e.b))})"

    def let(self, e: E.Let) -> str:
        value = self.expr(e.value, 0)
        return f"(let {self.name(e.var)} = {value} in {self.expr(e.body, 0)})"

    def load(self, e: E.Load) -> str:
        usual = e.buffer.type.with_lanes(e.index.type.count)
        mark = "" if e.type is usual else f"<{e.type}>"
        return self.name(e.buffer, "[]") + mark + self.element(e.index, e.predicate)

    def element(self, index: Expr, predicate: Expr | None) -> str:
        if predicate is None:
            return f"[{self.expr(index, 0)}]"
        return f"[{self.expr(index, 0)} if {self.expr(predicate, 0)}]"

    def ramp(self, e: E.Ramp) -> str:
        return f"ramp({self.list((e.base, e.stride))}, {e.lanes})"

    def broadcast(self, e: E.Broadcast) -> str:
        return f"x{e.lanes}({self.expr(e.value, 0)})"

    def shuffle(self, e: E.Shuffle) -> str:
        return f"shuffle({self.list(e.vectors)}; {', '.join(map(str, e.indices))})"

    def vector_reduce(self, e: E.VectorReduce) -> str:
        return f"reduce_{e.op}({self.expr(e.value, 0)}, {e.lanes})"

    def func_call(self, e: E.FuncCall) -> str:
        types = e.func.types
        usual = types[e.index] if e.index < len(types) else None
        out = self.called(e.func, usual, e.type, e.args)
        return out if e.index == 0 and len(types) < 2 else f"{out}.{e.index}"

    def image_load(self, e: E.ImageLoad) -> str:
        return self.called(e.image, e.image.type, e.type, e.args)

    def called(
        self,
        symbol: Function | BufferSym,
        usual: Type | None,
        actual: Type,
        args: tuple[Expr, ...],
    ) -> str:
        if usual is not None:
            usual = usual.with_lanes(lanes_of(args))
        mark = "" if actual is usual else f"<{actual}>"
        return f"{self.name(symbol, '()')}{mark}({self.list(args)})"

    def intrinsic(self, e: E.Intrinsic) -> str:
        mark = "" if e.type is default_type(e.op, e.args) else f"<{e.type}>"
        return f"{e.op}{mark}({self.list(e.args)})"

    def extern(self, e: E.Extern) -> str:
        head = f"extern<{e.type}>({quoted(e.name)}"
        return head + ("" if not e.args else ", " + self.list(e.args)) + ")"

    # Statements.

    def body(self, s: Stmt, depth: int) -> None:
        """The lines of a statement that stands alone between braces."""
        if type(s) is S.Block and _is_implicit(s):
            for item in s.items:
                self.stmt(item, depth)
        else:
            self.stmt(s, depth)

    def stmt(self, s: Stmt, depth: int) -> None:
        if self.bounded and len(self.lines) > 12:
            return
        _STMT[type(s)](self, s, depth)

    def put(self, depth: int, line: str) -> None:
        self.lines.append("  " * depth + line)

    def block(self, s: S.Block, depth: int) -> None:
        self.put(depth, "block {")
        for item in s.items:
            self.stmt(item, depth + 1)
        self.put(depth, "}")

    def let_stmt(self, s: S.LetStmt, depth: int) -> None:
        self.put(depth, f"let {self.name(s.var)} = {self.expr(s.value, 0)}")

    def allocate(self, s: S.Allocate, depth: int) -> None:
        size = "".join([f" * {self.expr(e, _UNARY)}" for e in s.extents])
        line = f"allocate {self.name(s.buffer, '[]')}[{s.buffer.type}{size}]"
        if s.kind is not S.MemoryKind.AUTO:
            line += f" in {s.kind.value}"
        if s.padding:
            line += f" padding {s.padding}"
        if not _holds(s.condition):
            line += f" if {self.expr(s.condition, 0)}"
        self.put(depth, line)

    def free(self, s: S.Free, depth: int) -> None:
        self.put(depth, f"free {self.name(s.buffer, '[]')}")

    def loop(self, s: S.For, depth: int) -> None:
        bounds = self.list((s.min, s.extent))
        self.put(depth, f"{s.kind.value} ({self.name(s.var)}, {bounds}) {{")
        self.body(s.body, depth + 1)
        self.put(depth, "}")

    def branch(self, s: S.If, depth: int) -> None:
        self.put(depth, f"if ({self.expr(s.cond, 0)}) {{")
        self.body(s.then, depth + 1)
        while type(s.otherwise) is S.If:
            s = s.otherwise
            self.put(depth, f"}} else if ({self.expr(s.cond, 0)}) {{")
            self.body(s.then, depth + 1)
        if s.otherwise is not None:
            self.put(depth, "} else {")
            self.body(s.otherwise, depth + 1)
        self.put(depth, "}")

    def store(self, s: S.Store, depth: int) -> None:
        where = self.name(s.buffer, "[]") + self.element(s.index, s.predicate)
        self.put(depth, f"{where} = {self.expr(s.value, 0)}")

    def provide(self, s: S.Provide, depth: int) -> None:
        values = self.list(s.values)
        if len(s.values) != 1:
            values = f"{{{values}}}"
        line = f"{self.name(s.func, '()')}({self.list(s.args)}) = {values}"
        if s.predicate is not None:
            line += f" if {self.expr(s.predicate, 0)}"
        self.put(depth, line)

    def provide_extern(self, s: S.ProvideExtern, depth: int) -> None:
        boxes = iter(s.boxes)
        given = [self.expr(e, 0) for e in s.scalars]
        for source in s.sources:
            assert isinstance(source, E.FuncCall | E.ImageLoad)
            box = self.box([next(boxes) for _ in source.args])
            given.append(f"{self.expr(source, 0)} as ({box})")
        name = self.name(s.func, "()")
        line = f"extern {name}({self.list(s.at)}) as ({self.box(s.bounds)})"
        self.put(depth, f"{line} from ({', '.join(given)})")

    def box(self, pairs: Iterable[tuple[Expr, Expr]]) -> str:
        return ", ".join([f"[{self.list(pair)}]" for pair in pairs])

    def run_extern(self, s: S.RunExtern, depth: int) -> None:
        places, shapes = iter(s.places), iter(s.shapes)

        def shown(buffers: tuple[BufferSym, ...]) -> str:
            out = []
            for b in buffers:
                box = [
                    f"[{self.list((next(shapes), next(shapes), next(shapes)))}]"
                    for _ in b.dims
                ]
                at = self.expr(next(places), 0)
                out.append(f"{self.name(b, '[]')}[{at}] as ({', '.join(box)})")
            return ", ".join(out)

        parts = [self.expr(e, 0) for e in s.scalars]
        inputs = shown(s.inputs)
        given = ", ".join([*parts, inputs] if inputs else parts)
        name = self.name(s.func, "()")
        self.put(depth, f"run {name}({given}) into ({shown(s.outputs)})")

    def realize(self, s: S.Realize, depth: int) -> None:
        box = self.box(s.bounds)
        cond = "" if _holds(s.condition) else f" if {self.expr(s.condition, 0)}"
        self.put(depth, f"realize {self.name(s.func, '()')}({box}){cond} {{")
        self.body(s.body, depth + 1)
        self.put(depth, "}")

    def produce(self, s: S.Produce, depth: int) -> None:
        word = "produce" if s.producing else "consume"
        self.put(depth, f"{word} {self.name(s.func, '()')}:")
        self.body(s.body, depth + 1)

    def atomic(self, s: S.Atomic, depth: int) -> None:
        words = (" shared" if s.shared else "") + (" locked" if s.locked else "")
        self.put(depth, f"atomic {self.name(s.func, '()')}{words}:")
        self.body(s.body, depth + 1)

    def fork(self, s: S.Fork, depth: int) -> None:
        self.put(depth, f"fork {self.name(s.func, '()')} {{")
        self.body(s.first, depth + 1)
        self.put(depth, "} and {")
        self.body(s.second, depth + 1)
        self.put(depth, "}")

    def acquire(self, s: S.Acquire, depth: int) -> None:
        of = "".join([f", {self.name(b, '[]')}" for b in s.buffers])
        where = f"{self.name(s.semaphore, '[]')}, {self.name(s.func, '()')}{of}"
        self.put(depth, f"acquire {self.expr(s.count, 0)} of {where}")

    def release(self, s: S.Release, depth: int) -> None:
        where = f"{self.name(s.semaphore, '[]')}, {self.name(s.func, '()')}"
        self.put(depth, f"release {self.expr(s.count, 0)} to {where}")

    def on_demand(self, s: S.OnDemand, depth: int) -> None:
        claims = " claimed" if s.claims else ""
        thunk, func = self.name(s.thunk, "[]"), self.name(s.func, "()")
        self.put(depth, f"lazy {thunk} of {func}{claims} rank {s.rank} {{")
        for lanes, made in zip(s.lanes, s.makes, strict=True):
            self.put(depth + 1, f"lanes {lanes}:")
            self.body(made, depth + 2)
        self.put(depth, "} in {")
        self.body(s.body, depth + 1)
        self.put(depth, "}")

    def demand(self, s: S.Demand, depth: int) -> None:
        given = self.list((s.row, s.col))
        if isinstance(s.table, Function):
            table = f"{self.name(s.table, '()')}({self.list(s.index)})"
        else:
            table = f"{self.name(s.table, '[]')}[{self.list(s.index)}]"
        cond = f" for {s.reads}" if s.waits else f" unless begun for {s.reads}"
        if s.predicate is not None:
            cond += f" if {self.expr(s.predicate, 0)}"
        self.put(depth, f"demand {self.name(s.thunk, '[]')}({given}) of {table}{cond}")

    def barrier(self, s: S.Barrier, depth: int) -> None:
        self.put(depth, "barrier")

    def sync(self, s: S.Sync, depth: int) -> None:
        side = "device" if s.device else "host"
        uses = " reads" * s.reads + " writes" * s.writes
        self.put(depth, f"sync {self.name(s.buffer, '[]')} on {side}{uses}")

    def evaluate(self, s: S.Evaluate, depth: int) -> None:
        self.put(depth, f"evaluate {self.expr(s.value, 0)}")

    def prefetch_region(self, s: S.PrefetchRegion, depth: int) -> None:
        box = ", ".join([f"[{self.list(pair)}]" for pair in s.bounds])
        self.put(depth, f"prefetch_region {self.name(s.source, '()')}({box})")

    def prefetch(self, s: S.Prefetch, depth: int) -> None:
        at = f"{self.name(s.buffer, '[]')}[{self.expr(s.index, 0)}]"
        write = " to write" if s.writes else ""
        self.put(depth, f"prefetch {at} for {self.expr(s.elements, 0)}{write}")

    def assertion(self, s: S.Assert, depth: int) -> None:
        args = "" if not s.args else ", " + self.list(s.args)
        self.put(depth, f"assert({self.expr(s.cond, 0)}, {s.code}{args})")


def _is_implicit(s: S.Block) -> bool:
    """Whether lines between braces stand for this Block rather than for its item."""
    return len(s.items) != 1 or type(s.items[0]) is S.Allocate


def _holds(condition: Expr) -> bool:
    return type(condition) is E.Imm and condition.value == 1


_EXPR: dict[type[Expr], Callable[[Printer, Any], str]] = {
    FloatImm: Printer.float_imm,
    E.StringImm: Printer.string_imm,
    E.Cast: Printer.cast,
    E.Reinterpret: Printer.reinterpret,
    E.Min: Printer.min_max,
    E.Max: Printer.min_max,
    E.Not: Printer.logical_not,
    E.Select: Printer.select,
    E.Let: Printer.let,
    E.Load: Printer.load,
    E.Ramp: Printer.ramp,
    E.Broadcast: Printer.broadcast,
    E.Shuffle: Printer.shuffle,
    E.VectorReduce: Printer.vector_reduce,
    E.FuncCall: Printer.func_call,
    E.ImageLoad: Printer.image_load,
    E.Intrinsic: Printer.intrinsic,
    E.Extern: Printer.extern,
}
_STMT: dict[type[Stmt], Callable[[Printer, Any, int], None]] = {
    S.Block: Printer.block,
    S.LetStmt: Printer.let_stmt,
    S.Allocate: Printer.allocate,
    S.Free: Printer.free,
    S.For: Printer.loop,
    S.If: Printer.branch,
    S.Store: Printer.store,
    S.Provide: Printer.provide,
    S.ProvideExtern: Printer.provide_extern,
    S.RunExtern: Printer.run_extern,
    S.Realize: Printer.realize,
    S.Produce: Printer.produce,
    S.Atomic: Printer.atomic,
    S.Fork: Printer.fork,
    S.Acquire: Printer.acquire,
    S.Release: Printer.release,
    S.OnDemand: Printer.on_demand,
    S.Demand: Printer.demand,
    S.Barrier: Printer.barrier,
    S.Sync: Printer.sync,
    S.Evaluate: Printer.evaluate,
    S.Prefetch: Printer.prefetch,
    S.PrefetchRegion: Printer.prefetch_region,
    S.Assert: Printer.assertion,
}

show_by(brief)

__all__ = ["Symbol", "brief", "symbols_of", "text"]
