"""A function under construction: scopes, the memo of emitted values, hoisting.

Interned nodes make common-subexpression elimination a dictionary: `Function.value`
emits a node once and hands out its name for as long as that definition dominates.
The same walk moves loop-invariant work out of loops. Each open construct is a
`Scope` with its own lines; a node is written into the preheader of the outermost
loop in which all that it mentions is known. No operation that this package emits
traps or is undefined, so arithmetic may always move; a load moves only out of loops
that are certain to execute it and that do not store to its buffer.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

from parhelion.codegen.module import EFFECT, Module
from parhelion.codegen.types import constant
from parhelion.errors import InternalError
from parhelion.ir.expr import Expr, FloatImm, Imm, Intrinsic, Let, Load, StringImm, Var
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym

#: Emits one kind of expression node into a function; returns the value's text.
Handler = Callable[["Function", Any], str]

#: Lines of a function from which on improving it takes LLVM longer than it is worth.
LONG = 4000

#: Filled by the modules `expr`, `vector`, `memory` and `intrinsics`.
EXPRESSIONS: dict[type[Expr], Handler] = {}

#: Writes one kind of statement. Filled by the module `stmt`.
STATEMENTS: dict[type[Stmt], Callable[[Function, Any], None]] = {}


def emits(kind: type[Expr]) -> Callable[[Handler], Handler]:
    """Registers the emitter of an expression class."""

    def register(handler: Handler) -> Handler:
        EXPRESSIONS[kind] = handler
        return handler

    return register


class ScopeKind(enum.Enum):
    FUNCTION = "function"
    #: The block between a loop's guard and its first iteration.
    PREHEADER = "preheader"
    BODY = "body"
    #: Code that may be skipped.
    BRANCH = "branch"


class Scope:
    """A region of code and what is known only inside it.

    stores: for a BODY, the buffers that the loop changes.
    sure: for a PREHEADER, whether the loop runs at least once wherever it is reached.
    hides: for a BODY, whether addresses in it begin with frozen pointers (`opaque`).
    """

    __slots__ = (
        "kind",
        "lines",
        "keys",
        "levelled",
        "bound",
        "stores",
        "sure",
        "hides",
    )

    def __init__(
        self,
        kind: ScopeKind,
        stores: frozenset[BufferSym] = frozenset(),
        sure: bool = False,
    ) -> None:
        self.kind = kind
        self.stores = stores
        self.sure = sure
        self.hides = False
        self.lines: list[str] = []
        self.keys: list[object] = []
        self.levelled: list[Expr] = []
        #: Vars bound here, with the binding that each hides (text, level).
        self.bound: list[tuple[Var, tuple[str | None, int] | None]] = []


class Function:
    """One LLVM function being written.

    memo: the text of the value of a node, or of a key of some emitter's own.
    levels: a node's level is the index of the innermost scope it depends on.
    vars: the text and level of each bound Var; no text if only a wide name is known.
    wide: 64-bit names of int32 loop Vars.
    rebound: Vars that are bound more than once, as in the copies that unrolling
        makes; what is computed from them is dropped at each binding.
    """

    def __init__(
        self, module: Module, header: str, symbol: str, rebound: Iterable[Var] = ()
    ) -> None:
        self.module = module
        self.symbol = symbol
        self.target = module.target
        self.header = header
        self.scopes: list[Scope] = []
        self.top = -1
        self._first_pre: list[int] = []
        self.memo: dict[object, str] = {}
        self.levels: dict[Expr, int] = {}
        self.vars: dict[Var, tuple[str | None, int]] = {}
        self.wide: dict[Var, str] = {}
        self.let_values: dict[Var, Expr] = {}
        #: The same of vectors of indices, which addresses do not see through.
        self.vector_lets: dict[Var, Expr] = {}
        #: How large the values are that lets stand for (see `opaque`).
        self.weights: dict[Var, int] = {}
        self._loads: dict[BufferSym, list[object]] = {}
        self.rebound = set(rebound)
        self._dependents: dict[Var, list[object]] = {}
        #: Whether something was stored past the caches.
        self.streams = False
        #: The values of lets that are masked loads (see `expr.select`).
        self.masked: set[str] = set()
        #: Parts of vectors that were put together: (vector, first lane, lanes).
        self.pieces: dict[tuple[str, int, int], str] = {}
        self.pointers: dict[BufferSym, tuple[str, int]] = {}
        #: The `halide_buffer_t` of what has one.
        self.structs: dict[BufferSym, str] = {}
        #: The cell that says where kernels report failures, "" if none can fail.
        self.report = ""
        #: Heap allocations to free when the function is left.
        self.live: list[tuple[BufferSym, str]] = []
        #: The statements being written one after another, and which is in hand.
        self.run: tuple[tuple[Stmt, ...], int] = ((), 0)
        #: The calls that give back allocations that are not simply freed, by pointer.
        self.releases: dict[str, str] = {}
        #: In code that is profiled, where the thread says what it computes; and of
        #: allocations the Func's number and how many bytes they have.
        self.slot = ""
        #: The cells of what is counted there, by the Func's number and the word.
        self.tallies: dict[tuple[int, int], str] = {}
        self.counted: dict[str, tuple[int, str]] = {}
        self.on_stack: list[tuple[BufferSym, str]] = []
        #: Bytes of the stack frame that allocations take.
        self.frame = 0
        #: For each set of live allocations, the block that frees them and returns,
        #: and the (code, block) pairs that go there (see `effects.leave`).
        self.exits: dict[tuple[str, ...], tuple[str, list[tuple[str, str]]]] = {}
        #: Whether an enclosing loop looks in each iteration whether to stop.
        self.looked = False
        #: The lock that is held, to be let go where the function is left.
        self.lock: str | None = None
        self.entry: list[str] = []
        self.cold: list[str] = []
        self.counter = 0
        self.block = "entry"
        self.push(ScopeKind.FUNCTION)
        self.out = self.scopes[0].lines.append

    # Scopes.
    def push(
        self,
        kind: ScopeKind,
        stores: frozenset[BufferSym] = frozenset(),
        sure: bool = False,
    ) -> Scope:
        """Opens a scope and writes into it from now on."""
        scope = Scope(kind, stores, sure)
        self.scopes.append(scope)
        self.top += 1
        first = self._first_pre
        first.append(-1)
        if kind is ScopeKind.PREHEADER:
            at = self.top
            while at >= 0 and first[at] < 0:
                first[at] = self.top
                at -= 1
        for buffer in stores:
            self.forget_loads(buffer)
        self.out = scope.lines.append
        return scope

    def pop(self) -> list[str]:
        """Closes the innermost scope; returns its lines, not yet put anywhere."""
        scope = self.scopes.pop()
        memo, levels = self.memo, self.levels
        for key in scope.keys:
            memo.pop(key, None)
        for e in scope.levelled:
            levels.pop(e, None)
        for var, hidden in reversed(scope.bound):
            if hidden is None:
                self.vars.pop(var, None)
            else:
                self.vars[var] = hidden
            self.wide.pop(var, None)
        first = self._first_pre
        first.pop()
        at = len(first) - 1
        while at >= 0 and first[at] == self.top:
            first[at] = -1
            at -= 1
        self.top -= 1
        if self.top >= 0:
            self.out = self.scopes[self.top].lines.append
        return scope.lines

    def append(self, lines: list[str]) -> None:
        """Writes finished lines into the innermost scope."""
        self.scopes[self.top].lines.extend(lines)

    # Instructions.
    def name(self) -> str:
        n = self.counter
        self.counter = n + 1
        return f"%v{n}"

    def label(self, wish: str) -> str:
        n = self.counter
        self.counter = n + 1
        return f"{wish}{n}"

    def op(self, text: str) -> str:
        """Writes an instruction; returns the name of its result."""
        n = self.counter
        self.counter = n + 1
        name = f"%v{n}"
        self.out(f"  {name} = {text}")
        return name

    def start(self, label: str) -> None:
        """Begins a basic block in the innermost scope."""
        self.out(f"{label}:")
        self.block = label

    def alloca(self, text: str) -> str:
        """A stack slot that lives as long as the function."""
        name = self.name()
        self.entry.append(f"  {name} = alloca {text}")
        return name

    # Where a value belongs.
    def place(self, level: int) -> int:
        """The index of the scope to write a node of that level into."""
        pre = self._first_pre[level]
        return self.top if pre < 0 else pre

    def at(self, level: int, text: str) -> str:
        """`op`, hoisted to where its operands, of at most `level`, are known."""
        index = self.place(level)
        if index == self.top:
            return self.op(text)
        self.counter += 1
        name = f"%v{self.counter - 1}"
        self.scopes[index].lines.append(f"  {name} = {text}")
        return name

    def remember(self, key: object, text: str, level: int, *on: Expr) -> str:
        """Keeps `text` under a key of the caller's own, while it dominates."""
        self.memo[key] = text
        self.scopes[self.place(level)].keys.append(key)
        for e in on:
            self._register(key, e)
        return text

    def forward(self, load: Load, text: str) -> None:
        """Notes what a load would find, until something is stored to its buffer."""
        level = self.level(load)
        self.memo[load] = text
        self.scopes[max(self.place(level), self.top)].keys.append(load)

    def _register(self, key: object, e: Expr) -> None:
        for buffer in self.module.reads(e):
            self._loads.setdefault(buffer, []).append(key)
        if self.rebound and not self.rebound.isdisjoint(free_vars(e)):
            for var in free_vars(e) & self.rebound:
                self._dependents.setdefault(var, []).append(key)

    # Statements.
    def write(self, s: Stmt) -> None:
        """Writes a statement."""
        self.run = ((s,), 0)
        self.write_next(s)

    def write_next(self, s: Stmt) -> None:
        """Writes the statement that is in hand in `run`."""
        self.forget_effects()
        kind = type(s)
        self.module.tables.writer(kind, STATEMENTS)(self, s)

    # Values.
    def value(self, e: Expr) -> str:
        """The text of an expression's value, emitted if it is not at hand."""
        found = self.memo.get(e)
        if found is not None:
            return found
        kind = type(e)
        if kind is Imm or kind is FloatImm:
            text = constant(e)
            assert text is not None
            self.memo[e] = text
            return text
        handler = EXPRESSIONS.get(kind)
        if handler is None:
            raise InternalError(f"code generation met a {kind.__name__} node")
        index = self.place(self.level(e))
        scope = self.scopes[index]
        before = self.out
        self.out = scope.lines.append
        text = self.module.tables.emit(kind, self, e) or handler(self, e)
        self.out = before
        self.memo[e] = text
        scope.keys.append(e)
        return text

    def level(self, e: Expr) -> int:
        """The index of the innermost scope that the value of `e` depends on."""
        found = self.levels.get(e)
        if found is not None:
            return found
        kind = type(e)
        if kind is Imm or kind is FloatImm or kind is StringImm:
            return 0
        if isinstance(e, Var):
            bound = self.vars.get(e)
            if bound is None:
                raise InternalError(f"code generation met the unbound variable {e!r}")
            level = bound[1]
        elif isinstance(e, Load):
            level = self._load_level(e)
        elif isinstance(e, Let):
            level = self.level(e.value)
            self.rebound.add(e.var)
            self.bind(e.var, None, level)
            level = max(level, self.level(e.body))
        elif isinstance(e, Intrinsic) and not INTRINSICS[e.op].pure:
            level = self.top
        else:
            level = 0
            for child in e.children():
                of_child = self.level(child)
                if of_child > level:
                    level = of_child
        self.levels[e] = level
        self.scopes[level].levelled.append(e)
        self._register(e, e)
        return level

    def _load_level(self, e: Load) -> int:
        least = max(self.level(e.index), self.buffer_level(e.buffer))
        if e.predicate is not None:
            least = max(least, self.level(e.predicate))
        best = at = self.top
        while at > least and self.scopes[at].kind is ScopeKind.BODY:
            if e.buffer in self.scopes[at].stores or at - 1 < least:
                break
            best = at - 1
            if not self.scopes[best].sure:
                break
            at -= 2
        return best

    def in_loop(self, level: int) -> bool:
        """Whether a value of that level may change from one iteration to the next."""
        return any(s.kind is ScopeKind.BODY for s in self.scopes[: level + 1])

    def buffer_level(self, buffer: BufferSym) -> int:
        """The level of a buffer's address."""
        found = self.pointers.get(buffer)
        if found is None:
            raise InternalError(f"code generation met the unallocated {buffer!r}")
        return found[1]

    # Bindings.
    def bind(self, var: Var, text: str | None, level: int) -> None:
        """Lets `var` stand for a value; None: its text comes later, or only `wide`."""
        if var in self.rebound:
            self._drop(self._dependents.pop(var, ()))
            self._drop((var, ("wide", var)))
        self.wide.pop(var, None)
        self.let_values.pop(var, None)
        self.vector_lets.pop(var, None)
        self.scopes[self.top].bound.append((var, self.vars.get(var)))
        self.vars[var] = (text, level)

    def forget_loads(self, buffer: BufferSym) -> None:
        """Drops the values that depend on what `buffer` held until now."""
        found = self._loads.pop(buffer, None)
        if found:
            self._drop(found)

    def forget_effects(self) -> None:
        """Ends a statement: effects of the next one happen anew."""
        if self._loads:
            self.forget_loads(EFFECT)

    def _drop(self, keys: Any) -> None:
        for key in keys:
            self.memo.pop(key, None)
            self.levels.pop(key, None)

    def release(self, pointer: str) -> str:
        """The call that ends an allocation."""
        other = self.releases.get(pointer)
        if other is not None:
            return other
        return f"call void @ph_free(ptr %ctx, ptr {pointer})"

    def finish(self, once: bool = False) -> None:
        """Closes the function and hands its text to the module.

        once: whether it is run once for a whole image. If it is long then, and has no
            loops, LLVM is kept from improving it: of what hundreds of checks say of a
            size, it asks all at each mention.
        """
        body = self._body()
        long = once and body.count("\n") > LONG and ", !llvm.loop " not in body
        kept = "noinline optnone " if long else ""
        self.module.functions.append(f"{self.header} {kept}{body}")

    def shared(self) -> str:
        """Closes an internal function and hands it to the module, which may have it
        already (see `Module.share`). Returns the name that it is called by."""
        return self.module.share(self.symbol, self.header, self._body())

    def _body(self) -> str:
        lines = self.pop()
        return "\n".join(["{", "entry:", *self.entry, *lines, *self.cold, "}\n"])
