"""A lowered pipeline as C: one function of buffers and scalars, to be read.

The text is C99 with GNU extensions for half floats, needs nothing but the C library,
and computes what the machine code computes: compile it with ``-fwrapv`` (integers
wrap). Loops that the schedule makes parallel, vectorised or unrolled are plain loops
here, with a comment. So all of it is one thread: atomic updates are plain stores, and
what `async_` gives a thread of its own is computed before it is used. Functions such
as `exp` are those of the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parhelion.codegen.c_expr import Expressions, c_type
from parhelion.codegen.c_support import HEADER, refuse_foreign
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import stmt as S
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Var
from parhelion.ir.failures import CODES
from parhelion.ir.pipeline import Lowered
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym


def emit_c(lowered: Lowered, symbols: Sequence[BufferSym | ParamSym], name: str) -> str:
    """The text of a C file with the function `name` of `symbols`, in that order.

    `lowered` has no vectors. Raises HalideError for what C cannot say.
    """
    writer = _Writer()
    run_deep(lambda: writer.function(lowered, symbols, name))
    helpers = "\n".join(writer.helpers.values())
    return "\n".join([HEADER, *([helpers] if helpers else []), *writer.lines, ""])


class _Writer(Expressions):
    def __init__(self) -> None:
        super().__init__()
        #: Heap storage to be freed on the way out.
        self.live: list[BufferSym] = []

    # The function.

    def function(
        self, lowered: Lowered, symbols: Sequence[BufferSym | ParamSym], name: str
    ) -> None:
        used = {n for n in nodes(lowered.body) if isinstance(n, Var)}
        parameters = []
        self.taken.add(name)
        for s in symbols:
            if isinstance(s, ParamSym):
                parameters.append(f"{c_type(s.type)} {self.name(s.var, s.name)}")
            else:
                struct = self.name(("struct", s), f"{s.name}_buffer")
                parameters.append(f"struct halide_buffer_t *{struct}")
        self.out(f"int {name}({', '.join(parameters) or 'void'}) {{")
        self.indent += 1
        for s in symbols:
            if isinstance(s, BufferSym):
                self.buffer(s, used)
        self.stmt(lowered.body)
        self.out("return 0;")
        self.indent -= 1
        self.out("}")

    def buffer(self, b: BufferSym, used: set[Var]) -> None:
        struct = self.names["struct", b]
        const = "const " if b.role == "input" else ""
        t = c_type(b.type)
        host = self.name(b, b.name)
        self.out(f"{const}{t} *{host} = ({const}{t} *){struct}->host;")
        for d, dim in enumerate(b.dims):
            for what in ("min", "extent", "stride"):
                var = getattr(dim, what)
                if var in used:
                    name = self.name(var, f"{b.name}_{what}_{d}")
                    self.out(f"const int32_t {name} = {struct}->dim[{d}].{what};")

    # Statements.

    def stmt(self, s: Stmt) -> None:
        handler = _STATEMENTS.get(type(s))
        if handler is None:
            raise InternalError(f"C code generation met a {type(s).__name__} node")
        handler(self, s)

    def scope(self, s: Stmt) -> None:
        """The inside of a pair of braces."""
        self.indent += 1
        self.stmt(s)
        self.indent -= 1

    def block(self, s: S.Block) -> None:
        live = len(self.live)
        for item in s.items:
            self.stmt(item)
        for b in reversed(self.live[live:]):
            self.out(f"free({self.names[b]});")
        del self.live[live:]

    def let(self, s: S.LetStmt) -> None:
        self.define(s.var, self.root(s.value))

    def loop(self, s: S.For) -> None:
        low, end = self.root(s.min), self.root(build.add(s.min, s.extent))
        t = c_type(s.var.type)
        name = self.name(s.var, s.var.name)
        if build.const_int(build.add(s.min, s.extent)) is None:
            stop = self.name((s, "end"), f"{name}_end")
            self.out(f"const {t} {stop} = {end};")
            end = stop
        note = "" if s.kind is ForKind.SERIAL else f"  // {s.kind.value}"
        self.out(f"for ({t} {name} = {low}; {name} < {end}; {name}++) {{{note}")
        self.scope(s.body)
        self.out("}")

    def branch(self, s: S.If) -> None:
        self.out(f"if ({self.root(s.cond)}) {{")
        self.scope(s.then)
        if s.otherwise is not None:
            self.out("} else {")
            self.scope(s.otherwise)
        self.out("}")

    def store(self, s: S.Store) -> None:
        self.begin(s.index, s.value)
        index, value = self.text(s.index), self.text(s.value)
        self.out(f"{self.names[s.buffer]}[{index}] = {value};")

    def prefetch(self, s: S.Prefetch) -> None:
        """One hint stands for all: the text is to be read."""
        self.begin(s.index)
        place = f"{self.names[s.buffer]}[{self.text(s.index)}]"
        self.out(f"__builtin_prefetch(&{place}, {int(s.writes)});")

    def evaluate(self, s: S.Evaluate) -> None:
        self.root(s.value)

    def check(self, s: S.Assert) -> None:
        if not build.is_true(s.cond):
            self.fail_unless(self.root(s.cond), s.code)

    def fail_unless(self, cond: str, code: str) -> None:
        frees = "".join(f"free({self.names[b]}); " for b in reversed(self.live))
        leave = f"return {CODES[code]};"
        leave = f"{{ {frees}{leave} }}" if frees else leave
        self.out(f"if (!({cond})) {leave}  // {code}")

    def produce(self, s: S.Produce) -> None:
        what = "compute" if s.producing else "use"
        self.out(f"// {what} {s.func.name}")
        self.stmt(s.body)

    def atomic(self, s: S.Atomic) -> None:
        self.out("// atomic")
        self.stmt(s.body)

    def allocate(self, s: S.Allocate) -> None:
        b, t = s.buffer, c_type(s.buffer.type)
        sizes = []
        for e in s.extents:
            self.begin(e)
            if build.const_int(e) != 1:
                sizes.append(f"(size_t){self.text(e, _UNARY)}")
        size = " * ".join(sizes) or "1"
        if s.padding:
            size = f"({size} + {s.padding})"
        wanted = self.root(s.condition)
        always = build.is_true(s.condition)
        name = self.name(b, b.name)
        made = f"malloc({size} * sizeof({t}))"
        self.out(f"{t} *{name} = {made if always else f'{wanted} ? {made} : NULL'};")
        unused = "" if always else f"!({wanted}) || "
        self.fail_unless(f"{unused}{name}", "out_of_memory")
        self.live.append(b)

    def free(self, s: S.Free) -> None:
        name = self.names[s.buffer]
        self.out(f"free({name});")
        self.live.remove(s.buffer)


_STATEMENTS: dict[type[Stmt], Callable[[_Writer, Any], None]] = {
    S.Block: _Writer.block,
    S.LetStmt: _Writer.let,
    S.For: _Writer.loop,
    S.If: _Writer.branch,
    S.Store: _Writer.store,
    S.RunExtern: refuse_foreign,
    S.Evaluate: _Writer.evaluate,
    S.Prefetch: _Writer.prefetch,
    S.Assert: _Writer.check,
    S.Produce: _Writer.produce,
    S.Atomic: _Writer.atomic,
    S.Allocate: _Writer.allocate,
    S.Free: _Writer.free,
}

__all__ = ["emit_c"]
