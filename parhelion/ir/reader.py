"""Reads the text that `ir.text` writes back into the same (interned) node.

Symbols are unique objects, so text alone cannot make them: `symbols` says what each
name stands for, in the form that `text.symbols_of` gives (``x``, ``f()``, ``f[]``).
Statements are one to a line and nested by indentation of two spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parhelion.errors import DefinitionError
from parhelion.ir import read_foreign
from parhelion.ir import stmt as S
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr
from parhelion.ir.function import Function
from parhelion.ir.line import Line, type_named
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import Symbol

_KINDS = {kind.value: kind for kind in S.ForKind}


def read(source: str, symbols: Mapping[str, Symbol]) -> Expr | Stmt:
    """The node whose `text` this is; `symbols` are its `symbols_of`.

    Text that ends with a newline is a statement. Raises DefinitionError where it
    cannot be read.
    """
    if source.endswith("\n"):
        return read_stmt(source, symbols)
    return read_expr(source, symbols)


def read_expr(source: str, symbols: Mapping[str, Symbol]) -> Expr:
    """The expression that `text` wrote. Raises DefinitionError where it cannot."""
    line = Line(source, symbols)
    out = line.expr()
    line.end()
    return out


def read_stmt(source: str, symbols: Mapping[str, Symbol]) -> Stmt:
    """The statement that `text` wrote. Raises DefinitionError where it cannot."""
    lines = [one.rstrip() for one in source.split("\n")]
    reader = _Reader([one for one in lines if one], symbols)
    out = reader.body(0)
    if reader.at < len(reader.lines):
        raise DefinitionError(
            f"line {reader.at + 1} of this text is indented like nothing before it",
            detail=reader.lines[reader.at],
        )
    return out


class _Reader:
    """Lines to statements. `at` is the next line."""

    def __init__(self, lines: list[str], symbols: Mapping[str, Symbol]) -> None:
        self.lines = lines
        self.symbols = symbols
        self.at = 0

    def body(self, depth: int) -> Stmt:
        """The lines at `depth`, as one statement."""
        items = self.items(depth)
        if len(items) == 1 and type(items[0]) is not S.Allocate:
            return items[0]
        return S.Block(tuple(items))

    def items(self, depth: int) -> list[Stmt]:
        out: list[Stmt] = []
        margin = "  " * depth
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.startswith(margin) or line[len(margin)] in " }":
                break
            out.append(self.stmt(depth))
        return out

    def line(self) -> Line:
        line = Line(self.lines[self.at], self.symbols)
        self.at += 1
        return line

    def nested(self, line: Line, depth: int) -> Stmt:
        """``{``, the lines within, and (not taken) the line with its ``}``."""
        line.need("{")
        line.end()
        return self.body(depth + 1)

    def close(self, depth: int) -> Line:
        if self.at == len(self.lines) or not self.lines[self.at].startswith(
            "  " * depth + "}"
        ):
            raise DefinitionError(
                "cannot read IR text: a brace is not closed",
                detail=self.lines[min(self.at, len(self.lines) - 1)],
            )
        line = self.line()
        line.need("}")
        return line

    def stmt(self, depth: int) -> Stmt:
        line = self.line()
        word = line.token
        handler = _STATEMENTS.get(word)
        if handler is not None:
            line.next()
            return handler(self, line, depth)
        if word in _KINDS:
            line.next()
            return self.loop(line, _KINDS[word], depth)
        if line.tokens[1][1] == "[":
            return self.store(line)
        return self.provide(line)

    def let(self, line: Line, depth: int) -> Stmt:
        var = line.var()
        line.need("=")
        value = line.expr()
        line.end()
        return S.LetStmt(var, value)

    def allocate(self, line: Line, depth: int) -> Stmt:
        buffer = line.buffer(line.name())
        line.need("[")
        if type_named(line.token) is not buffer.type:
            line.fail(f"{buffer.name} holds {buffer.type}")
        line.next()
        extents: list[Expr] = []
        while line.take("*"):
            extents.append(line.operand())
        line.need("]")
        kind = S.MemoryKind(line.next()) if line.take("in") else S.MemoryKind.AUTO
        padding = line.whole() if line.take("padding") else 0
        condition = line.expr() if line.take("if") else TRUE
        line.end()
        return S.Allocate(buffer, tuple(extents), condition, kind, padding)

    def free(self, line: Line, depth: int) -> Stmt:
        buffer = line.buffer(line.name())
        line.end()
        return S.Free(buffer)

    def loop(self, line: Line, kind: S.ForKind, depth: int) -> Stmt:
        line.need("(")
        var = line.var()
        line.need(",")
        least, extent = line.exactly(2)
        body = self.nested(line, depth)
        self.close(depth).end()
        return S.For(var, least, extent, kind, body)

    def branch(self, line: Line, depth: int) -> Stmt:
        line.need("(")
        cond = line.expr()
        line.need(")")
        then = self.nested(line, depth)
        after = self.close(depth)
        otherwise: Stmt | None = None
        if after.take("else"):
            if after.take("if"):
                return S.If(cond, then, self.branch(after, depth))
            otherwise = self.nested(after, depth)
            after = self.close(depth)
        after.end()
        return S.If(cond, then, otherwise)

    def block(self, line: Line, depth: int) -> Stmt:
        line.need("{")
        line.end()
        items = self.items(depth + 1)
        self.close(depth).end()
        return S.Block(tuple(items))

    def store(self, line: Line) -> Stmt:
        buffer = line.buffer(line.name())
        index, predicate = line.index()
        line.need("=")
        value = line.expr()
        line.end()
        return S.Store(buffer, value, index, predicate)

    def provide(self, line: Line) -> Stmt:
        func = line.func(line.name())
        line.need("(")
        args = line.list(")")
        line.need("=")
        values = line.list("}") if line.take("{") else (line.expr(),)
        predicate = line.expr() if line.take("if") else None
        line.end()
        return S.Provide(func, values, args, predicate)

    def realize(self, line: Line, depth: int) -> Stmt:
        func = line.func(line.name())
        line.need("(")
        bounds = line.box()
        condition = line.expr() if line.take("if") else TRUE
        body = self.nested(line, depth)
        self.close(depth).end()
        return S.Realize(func, bounds, condition, body)

    def produce(self, line: Line, depth: int) -> Stmt:
        producing = line.tokens[0][1] == "produce"
        func = line.func(line.name())
        line.need(":")
        line.end()
        return S.Produce(func, producing, self.body(depth + 1))

    def atomic(self, line: Line, depth: int) -> Stmt:
        func = line.func(line.name())
        shared, locked = line.take("shared"), line.take("locked")
        line.need(":")
        line.end()
        return S.Atomic(func, shared, locked, self.body(depth + 1))

    def fork(self, line: Line, depth: int) -> Stmt:
        func = line.func(line.name())
        first = self.nested(line, depth)
        line = self.close(depth)
        line.need("and")
        second = self.nested(line, depth)
        self.close(depth).end()
        return S.Fork(func, first, second)

    def acquire(self, line: Line, depth: int) -> Stmt:
        count = line.expr()
        line.need("of")
        semaphore = line.buffer(line.name())
        line.need(",")
        func = line.func(line.name())
        buffers: list[BufferSym] = []
        while line.take(","):
            buffers.append(line.buffer(line.name()))
        line.end()
        return S.Acquire(semaphore, count, func, tuple(buffers))

    def release(self, line: Line, depth: int) -> Stmt:
        count = line.expr()
        line.need("to")
        semaphore = line.buffer(line.name())
        line.need(",")
        func = line.func(line.name())
        line.end()
        return S.Release(semaphore, count, func)

    def on_demand(self, line: Line, depth: int) -> Stmt:
        thunk = line.buffer(line.name())
        line.need("of")
        func = line.func(line.name())
        claims = line.take("claimed")
        line.need("rank")
        rank = line.whole()
        line.need("{")
        line.end()
        lanes: list[int] = []
        makes: list[Stmt] = []
        margin = "  " * (depth + 1)
        while self.lines[self.at].startswith(f"{margin}lanes "):
            head = self.line()
            head.need("lanes")
            lanes.append(head.whole())
            head.need(":")
            head.end()
            makes.append(self.body(depth + 2))
        after = self.close(depth)
        after.need("in")
        body = self.nested(after, depth)
        self.close(depth).end()
        return S.OnDemand(func, thunk, tuple(makes), tuple(lanes), claims, rank, body)

    def demand(self, line: Line, depth: int) -> Stmt:
        thunk = line.buffer(line.name())
        line.need("(")
        row, col = line.exactly(2)
        line.need("of")
        name = line.name()
        table: Function | BufferSym
        if line.take("["):
            table, index = line.buffer(name), line.list("]")
        else:
            line.need("(")
            table, index = line.func(name), line.list(")")
        waits = not line.take("unless")
        if not waits:
            line.need("begun")
        line.need("for")
        reads = line.whole()
        predicate = line.expr() if line.take("if") else None
        line.end()
        return S.Demand(thunk, row, col, table, index, predicate, reads, waits)

    def barrier(self, line: Line, depth: int) -> Stmt:
        line.end()
        return S.Barrier()

    def sync(self, line: Line, depth: int) -> Stmt:
        buffer = line.buffer(line.name())
        line.need("on")
        device = line.take("device")
        if not device:
            line.need("host")
        reads, writes = line.take("reads"), line.take("writes")
        line.end()
        return S.Sync(buffer, device, reads, writes)

    def evaluate(self, line: Line, depth: int) -> Stmt:
        value = line.expr()
        line.end()
        return S.Evaluate(value)

    def prefetch_region(self, line: Line, depth: int) -> Stmt:
        name = line.name()
        source = line.symbols.get(f"{name}()")
        if not isinstance(source, Function | BufferSym):
            line.fail(f"there is no Func or image {name!r}")
        line.need("(")
        bounds = line.box()
        line.end()
        return S.PrefetchRegion(source, bounds)

    def prefetch(self, line: Line, depth: int) -> Stmt:
        buffer = line.buffer(line.name())
        index, _ = line.index()
        line.need("for")
        elements = line.expr()
        writes = line.take("to") and line.take("write")
        line.end()
        return S.Prefetch(buffer, index, elements, writes)

    def provide_extern(self, line: Line, depth: int) -> Stmt:
        return read_foreign.provide(line)

    def run_extern(self, line: Line, depth: int) -> Stmt:
        return read_foreign.run(line)

    def assertion(self, line: Line, depth: int) -> Stmt:
        line.need("(")
        cond = line.expr()
        line.need(",")
        code = line.name()
        args = line.list(")") if line.take(",") else ()
        if not args:
            line.take(")")
        line.end()
        return S.Assert(cond, code, args)


_STATEMENTS: dict[str, Callable[[_Reader, Line, int], Stmt]] = {
    "let": _Reader.let,
    "allocate": _Reader.allocate,
    "free": _Reader.free,
    "if": _Reader.branch,
    "block": _Reader.block,
    "extern": _Reader.provide_extern,
    "run": _Reader.run_extern,
    "realize": _Reader.realize,
    "produce": _Reader.produce,
    "consume": _Reader.produce,
    "atomic": _Reader.atomic,
    "fork": _Reader.fork,
    "acquire": _Reader.acquire,
    "release": _Reader.release,
    "lazy": _Reader.on_demand,
    "demand": _Reader.demand,
    "barrier": _Reader.barrier,
    "sync": _Reader.sync,
    "evaluate": _Reader.evaluate,
    "prefetch": _Reader.prefetch,
    "prefetch_region": _Reader.prefetch_region,
    "assert": _Reader.assertion,
}

__all__ = ["read_expr", "read_stmt", "type_named"]
