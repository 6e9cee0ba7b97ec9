"""A lowered pipeline as C11 with OpenMP: a function of buffers and scalars, to be read.

The text needs nothing but the C library (for half floats, gcc 12 or clang 15) and
computes what the machine code computes: compile it with ``-fwrapv`` (integers wrap) and
``-fopenmp``; without that it is one thread. Of nested parallel loops the outermost one
is given to the threads. A loop that the schedule vectorises is marked so if its body is
plain. Unrolled loops are loops with a comment, and what `async_` gives a thread of its
own is computed before it is used. Functions such as `exp` are those of the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parhelion.analysis.interval import constant_interval
from parhelion.codegen.asked import answer, of_params, passes
from parhelion.codegen.c_expr import Expressions, c_type, foreign_name
from parhelion.codegen.c_hoist import hoisted
from parhelion.codegen.c_loops import (
    hindrance,
    holds_by_type,
    is_simd,
    simple_buffers,
    update_of,
)
from parhelion.codegen.c_support import (
    CODES,
    FIXED,
    HEADER,
    HELPER,
    refuse_foreign,
    refuse_lazy,
)
from parhelion.codegen.c_tidy import used_helpers, without_unused, words
from parhelion.codegen.structs import C_STRUCTS
from parhelion.errors import HalideError, InternalError, here
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, Var
from parhelion.ir.failures import HALIDE_CODES
from parhelion.ir.pipeline import Lowered, Region
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.types import UInt

#: Storage of a known size up to this many bytes is an array.
_MOST_IN_ARRAY = 16 * 1024


@dataclass(frozen=True, slots=True)
class Constant:
    """An image that is part of the text: its shape, and its pixels, dimension 0
    first."""

    mins: Sequence[int]
    extents: Sequence[int]
    pixels: Sequence[int | float]


@dataclass(frozen=True, slots=True)
class Head:
    """The interface of a C function.

    name: of the function. signature: its declaration without a semicolon. parameters:
    the names in there; by_symbol: those of the arguments. constants: images that are
    no arguments.
    """

    name: str
    signature: str
    parameters: Sequence[str]
    by_symbol: Mapping[BufferSym | ParamSym, str]
    constants: Mapping[BufferSym, Constant]


def emit_c(lowered: Lowered, head: Head) -> str:
    """The text of a C file with the function that `head` declares.

    `lowered` has no vectors. Raises HalideError for what C cannot say.
    """
    writer = _Writer()
    writer.strict = lowered.strict_float
    run_deep(lambda: writer.function(lowered, head))
    lines = without_unused(writer.lines)
    there = words(lines)
    unused = [f"  (void){p};" for p in head.parameters if p not in there]
    helpers = used_helpers(writer.helpers, there)
    start = [f"{head.signature} {{", *unused]
    return "\n".join([HEADER, C_STRUCTS, *helpers, "", *start, *lines, "}", ""])


@dataclass(slots=True)
class _AtOnce:
    """The parallel loop that is being written; a failure inside cannot return at once.

    failed: the variable for the code of a failure.
    end: the label at the end of an iteration.
    outside: how many of the live allocations are outside of the loop.
    simple: the buffers that atomic updates change by OpenMP's ``atomic``.
    own: the buffers that are allocated in an iteration.
    fails: whether the body has a failure.
    """

    failed: str
    end: str
    outside: int
    simple: frozenset[BufferSym]
    own: set[BufferSym] = field(default_factory=set)
    fails: bool = False


class _Writer(Expressions):
    def __init__(self) -> None:
        super().__init__()
        #: Heap storage to be freed on the way out.
        self.live: list[BufferSym] = []
        #: What are arrays, and what anything reads.
        self.arrays: set[BufferSym] = set()
        self.read: set[BufferSym] = set()
        self.at_once: _AtOnce | None = None

    # The function.

    def function(self, lowered: Lowered, head: Head) -> None:
        foreign = {
            foreign_name(n) for n in nodes(lowered.body) if isinstance(n, E.Extern)
        }
        _check_name(head.name, foreign)
        self.taken.update((head.name, *head.parameters, *foreign))
        regions = {**lowered.required, **lowered.written}
        read = {n.buffer for n in nodes(lowered.body) if isinstance(n, E.Load)}
        self.read = read
        used = {n for n in nodes(lowered.body) if isinstance(n, Var)}
        for region in regions.values():
            for r in region:
                used |= {n for e in (r.min, r.max) for n in nodes(e) if type(n) is Var}
        self.indent = 1
        symbols = [a.symbol for a in lowered.args]
        buffers = [b for b in symbols if isinstance(b, BufferSym)]
        given = [b for b in buffers if b not in head.constants]
        if given:
            missing = " || ".join([f"!{head.by_symbol[b]}" for b in given])
            self.out(f"if ({missing}) return {CODES['no struct']};  // no buffer")
            structs = {b: head.by_symbol[b] for b in given}
            self.check_buffers(structs)
        for s in symbols:
            if isinstance(s, ParamSym):
                self.scalar(s, head.by_symbol[s])
            elif s in head.constants:
                image = head.constants[s]
                if s in read:
                    self.pixels(s, image)
                self.shape(s, image, used)
            else:
                self.buffer(s, head.by_symbol[s], used)
        if given:
            self.answer_queries(structs, regions, lowered)
            none = " || ".join([f"!{struct}->host" for struct in structs.values()])
            self.out(
                f"if ({none}) return {CODES['no pixels']};  // no pixels in memory"
            )
        self.stmt(lowered.body)
        self.out("return 0;")

    def scalar(self, s: ParamSym, given: str) -> None:
        self.names[s.var] = given
        if s.type.is_float() and s.type.width == 16 and not s.type.is_bfloat():
            # It travels as its bits.
            made = self.need("bits", UInt(16), s.type)
            self.define(s.var, f"{made}({given})")

    def pixels(self, b: BufferSym, image: Constant) -> None:
        host, t = self.name(b, b.name), c_type(b.type)
        self.out(f"static const {t} {host}[] = {{")
        texts = [self.text(build.imm(v, b.type)) for v in image.pixels] or ["0"]
        for at in range(0, len(texts), 8):
            self.out(f"  {', '.join(texts[at : at + 8])},")
        self.out("};")

    def shape(self, b: BufferSym, image: Constant, used: set[Var]) -> None:
        stride = 1
        for d, (lo, extent) in enumerate(zip(image.mins, image.extents, strict=True)):
            for what, value in (("min", lo), ("extent", extent), ("stride", stride)):
                self.side(b, d, what, str(value), used)
            stride *= extent

    def buffer(self, b: BufferSym, struct: str, used: set[Var]) -> None:
        const = "const " if b.role == "input" else ""
        t = c_type(b.type)
        host = self.name(b, b.name)
        self.out(f"{const}{t} *{host} = ({const}{t} *){struct}->host;")
        for d in range(len(b.dims)):
            for what in ("min", "extent", "stride"):
                self.side(b, d, what, f"{struct}->dim[{d}].{what}", used)

    def side(self, b: BufferSym, d: int, what: str, value: str, used: set[Var]) -> None:
        """Names the min, extent or stride of a dimension, if anything mentions it."""
        var = getattr(b.dims[d], what)
        if var in used:
            name = self.name(var, f"{b.name}_{what}_{d}")
            self.out(f"const int32_t {name} = {value};")

    def fixed(self, name: str) -> str:
        """A support function that is always the same."""
        self.helpers[name] = FIXED[name]
        return name

    def answer_queries(
        self,
        structs: Mapping[BufferSym, str],
        regions: Mapping[BufferSym, Sequence[Region]],
        lowered: Lowered,
    ) -> None:
        """Writes the answers to buffers without pixels, which ask for the region to
        allocate.

        The checks of the schedule's numbers come first, as the regions mean nothing
        without.
        """
        asks, tell = self.fixed("asks"), self.fixed("tell")
        some = " || ".join([f"{asks}({struct})" for struct in structs.values()])
        self.out(f"if ({some}) {{")
        self.indent += 1
        for one in of_params(lowered.demands):
            self.check(one)
        count, mentioned = passes(list(structs), lowered.assumptions)
        names = {v: self.names[v] for v in mentioned if v in self.names}
        for v in mentioned:
            # As it is told, not as it was when the function was called.
            owner, what, d = v.origin
            self.names[v] = f"{structs[owner]}->dim[{d}].{what}"
        if count > 1:
            turn = self.name("turn", "turn")
            self.out(f"for (int {turn} = 0; {turn} < {count}; {turn}++) {{")
            self.indent += 1
        failing: list[tuple[str, Expr]] = []
        for b, struct in structs.items():
            self.out(f"if ({asks}({struct})) {{")
            self.indent += 1
            self.out(f"{struct}->type.code = {int(b.type.kind)};")
            self.out(f"{struct}->type.bits = {b.type.width};")
            self.out(f"{struct}->type.lanes = 1;")
            self.out(f"{struct}->dimensions = {len(b.dims)};")
            sides = answer(b, regions.get(b), lowered.assumptions)
            # The promised strides first, as others are dense over them.
            for d, side in sorted(enumerate(sides), key=lambda s: s[1].late):
                numbers = [side.min, side.extent]
                dense = "1"
                for below in side.below:
                    dense = f"{self.fixed('beyond')}({struct}, {below}, {dense})"
                if side.own is not None:
                    self.names[side.own] = dense
                numbers += [] if side.stride is None else [side.stride]
                self.begin(*numbers)
                texts = [self.text(n) for n in numbers]
                texts += [dense] if side.stride is None else []
                self.out(f"{tell}({struct}, {d}, {', '.join(texts)});")
                if side.own is not None:
                    self.names[side.own] = f"{struct}->dim[{d}].stride"
                if side.fits is not None:
                    failing.append((struct, side.fits))
            self.indent -= 1
            self.out("}")
        if count > 1:
            self.indent -= 1
            self.out("}")
        for struct, fits in failing:
            self.begin(fits)
            small = f"{asks}({struct}) && !({self.text(fits)})"
            self.out(
                f"if ({small}) return {CODES['promised less']};  // less than is needed"
            )
        for v, text in names.items():
            self.names[v] = text
        self.out("return 0;")
        self.indent -= 1
        self.out("}")

    def check_buffers(self, structs: Mapping[BufferSym, str]) -> None:
        """Writes the checks of all buffers that have pixels, before anything is
        read."""
        self.fixed("asks")
        check, wrong = self.fixed("check_buffer"), self.name("wrong", "wrong")
        start = f"int {wrong} ="
        for b, struct in structs.items():
            kind = f"{int(b.type.kind)}, {b.type.width}, {len(b.dims)}"
            read = "true" if b.role == "input" else "false"
            self.out(f"{start} {check}({struct}, {kind}, {read});")
            start = f"if (!{wrong}) {wrong} ="
        self.out(f"if ({wrong}) return {wrong};")

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
        simd = s.kind is ForKind.VECTORIZED and is_simd(s)
        if simd:
            before, s = hoisted(s)
            for one in before:
                self.let(one)
        end = build.add(s.min, s.extent)
        t, low = c_type(s.var.type), self.root(s.min)
        name = self.name(s.var, s.var.name)
        stop = self.root(end)
        if build.const_int(end) is None:
            limit = self.name((s, "end"), f"{name}_end")
            self.out(f"const {t} {limit} = {stop};")
            stop = limit
        head = f"for ({t} {name} = {low}; {name} < {stop}; {name}++) {{"
        note = "" if s.kind is ForKind.SERIAL else f"  // {s.kind.value}"
        if s.kind is ForKind.PARALLEL and self.at_once is None:
            why = hindrance(s)
            if not why:
                self.parallel_loop(s, head)
                return
            note += f", but not here: {why}"
        elif simd:
            self.out("#pragma omp simd")
            note = ""
        self.out(head + note)
        self.scope(s.body)
        self.out("}")

    def parallel_loop(self, s: S.For, head: str) -> None:
        """A loop for all threads. A failure inside ends its iteration, those that have
        not begun do nothing, and the function returns after the loop."""
        failed = self.name((s, "failed"), "failed")
        end = self.name((s, "label"), f"{self.names[s.var]}_done")
        now = _AtOnce(failed, end, len(self.live), simple_buffers(s))
        lines, self.lines, self.at_once = self.lines, [], now
        self.scope(s.body)
        body, self.lines, self.at_once = self.lines, lines, None
        if now.fails:
            self.out(f"int {failed} = 0;")
        self.out("#pragma omp parallel for")
        self.out(head)
        if now.fails:
            self.out(f"  if ({self.fixed('has_failed')}(&{failed})) continue;")
        self.lines += body
        if now.fails:
            self.out(f"{end}:;")
        self.out("}")
        if now.fails:
            self.out(f"if ({failed}) {self.left(f'return {failed};', 0)}")

    def branch(self, s: S.If) -> None:
        self.out(f"if ({self.root(s.cond)}) {{")
        self.scope(s.then)
        if s.otherwise is not None:
            self.out("} else {")
            self.scope(s.otherwise)
        self.out("}")

    def store(self, s: S.Store) -> None:
        self.begin(s.index, s.value, *([] if s.predicate is None else [s.predicate]))
        index, value = self.text(s.index), self.text(s.value)
        wanted = "" if s.predicate is None else f"if ({self.text(s.predicate)}) "
        self.out(f"{wanted}{self.names[s.buffer]}[{index}] = {value};")

    def prefetch(self, s: S.Prefetch) -> None:
        """One hint stands for all: the text is to be read."""
        self.begin(s.index)
        place = f"{self.names[s.buffer]}[{self.text(s.index)}]"
        self.out(f"__builtin_prefetch(&{place}, {int(s.writes)});")

    def evaluate(self, s: S.Evaluate) -> None:
        self.root(s.value)

    def check(self, s: S.Assert) -> None:
        if not build.is_true(s.cond) and not holds_by_type(s.cond):
            self.fail_unless(self.root(s.cond), s.code)

    def fail_unless(self, cond: str, code: str) -> None:
        number = HALIDE_CODES[code]
        if self.at_once is None:
            leave = self.left(f"return {number};", 0)
        else:
            self.at_once.fails = True
            tell = f"{self.fixed('fail')}(&{self.at_once.failed}, {number}); "
            goto = f"{tell}goto {self.at_once.end};"
            leave = self.left(goto, self.at_once.outside, brace=True)
        self.out(f"if (!({cond})) {leave}  // {code}")

    def left(self, leave: str, outside: int, brace: bool = False) -> str:
        """Returns `leave` after calls that free what is live, except the first
        `outside`."""
        live = reversed(self.live[outside:])
        frees = "".join([f"free({self.names[b]}); " for b in live])
        return f"{{ {frees}{leave} }}" if frees or brace else leave

    def produce(self, s: S.Produce) -> None:
        what = "compute" if s.producing else "use"
        self.out(f"// {what} {s.func.name}")
        self.stmt(s.body)

    def atomic(self, s: S.Atomic) -> None:
        now = self.at_once
        stored = {n.buffer for n in nodes(s.body) if isinstance(n, S.Store)}
        if not s.shared or now is None or stored <= now.own:
            self.out("// atomic")
            self.stmt(s.body)
            return
        update = update_of(s) if stored <= now.simple else None
        if update is None:
            func = "".join([c if c.isalnum() else "_" for c in s.func.name])
            self.out(f"#pragma omp critical(update_{func})")
            self.out("{")
            self.scope(s.body)
            self.out("}")
            return
        for let in update.lets:
            self.let(let)
        self.begin(update.store.index, update.operand)
        index, operand = self.text(update.store.index), self.text(update.operand)
        place = f"{self.names[update.store.buffer]}[{index}]"
        self.out("#pragma omp atomic")
        self.out(f"{place} {update.symbol}= {operand};")

    def allocate(self, s: S.Allocate) -> None:
        b, t = s.buffer, c_type(s.buffer.type)
        if self.at_once is not None:
            self.at_once.own.add(b)
        count = _array_size(s)
        if count is not None:
            name = self.name(b, b.name)
            self.out(f"{t} {name}[{count}];")
            if b not in self.read:
                self.out(f"(void){name};")
            self.arrays.add(b)
            return
        self.arrays.discard(b)
        sizes = []
        for e in s.extents:
            if build.const_int(e) != 1:
                sizes.append(f"(size_t){self.extent(e)}")
        size = " * ".join(sizes) or "1"
        if s.padding:
            size = f"{size} + {s.padding}"
        wanted = self.root(s.condition)
        always = build.is_true(s.condition)
        name = self.name(b, b.name)
        made = f"{self.fixed('storage')}({size}, sizeof({t}))"
        if not always:
            kept = self.name((s, "wanted"), f"{name}_wanted")
            self.out(f"const bool {kept} = {wanted};")
            self.out(f"{t} *{name} = {kept} ? {made} : NULL;")
            self.fail_unless(f"!{kept} || {name}", "out_of_memory")
        else:
            self.out(f"{t} *{name} = {made};")
            self.fail_unless(name, "out_of_memory")
        self.live.append(b)

    def extent(self, e: Expr) -> str:
        """The text of a size, which is never negative."""
        least = constant_interval(e).lo
        if least is None or least < 0:
            e = E.Max(e, build.imm(0, e.type))
        self.begin(e)
        return self.atom(e)

    def free(self, s: S.Free) -> None:
        if s.buffer in self.arrays:
            return
        self.out(f"free({self.names[s.buffer]});")
        self.live.remove(s.buffer)


def _check_name(name: str, foreign: set[str]) -> None:
    """Raises HalideError if the function has the name of one that it calls."""
    own = name in FIXED or HELPER.fullmatch(name) is not None
    if own or name in foreign:
        what = "that C text has of its own" if own else "that it calls"
        raise HalideError(
            f"the function {name!r} has the name of one {what}",
            at=here(),
            hint="give it a name of its own (fn_name); else it is called as the first "
            "output",
        )


def _array_size(s: S.Allocate) -> int | None:
    """How many elements storage has that can be an array: small, and of a known
    size."""
    count = 1
    for e in s.extents:
        known = build.const_int(e)
        if known is None:
            return None
        count *= max(known, 0)
    count += s.padding
    small = count * s.buffer.type.bytes() <= _MOST_IN_ARRAY
    if s.kind is MemoryKind.HEAP or not build.is_true(s.condition):
        return None
    return max(count, 1) if small or s.kind is MemoryKind.STACK else None


_STATEMENTS: dict[type[Stmt], Callable[[_Writer, Any], None]] = {
    S.Block: _Writer.block,
    S.LetStmt: _Writer.let,
    S.For: _Writer.loop,
    S.If: _Writer.branch,
    S.Store: _Writer.store,
    S.RunExtern: refuse_foreign,
    S.OnDemand: refuse_lazy,
    S.Evaluate: _Writer.evaluate,
    S.Prefetch: _Writer.prefetch,
    S.Assert: _Writer.check,
    S.Produce: _Writer.produce,
    S.Atomic: _Writer.atomic,
    S.Allocate: _Writer.allocate,
    S.Free: _Writer.free,
}

__all__ = ["Constant", "Head", "emit_c"]
