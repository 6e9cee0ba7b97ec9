"""A C function under construction: names, values that are used twice, failures.

A value that a statement uses more than once gets a name before the statement, and what
a value does besides (printing, failing) happens before it.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TypeAlias

from parhelion.codegen.c.names import is_macro
from parhelion.codegen.c.support import HELPER, KEYWORDS, helper
from parhelion.codegen.tables import Tables
from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, InternalError
from parhelion.ir.expr import Expr, FloatImm, Imm, Load, Var
from parhelion.ir.failures import HALIDE_CODES
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.types import Type, TypeCode

#: The text of a value, and how strongly its outermost operator binds.
Value: TypeAlias = tuple[str, int]
#: How strongly operators bind in C; an atom binds strongest.
ATOM, UNARY, TIMES, PLUS, SHIFT, ORDER, EQUAL, BIT, AND, OR, CHOICE = range(20, 9, -1)
#: What is as short as a name for it.
_PLAIN = (Var, Imm, FloatImm, Load)


def c_type(t: Type) -> str:
    """The C type of a scalar. Raises HalideError for one that C has not."""
    if t.is_bool():
        return "bool"
    if t.is_int_or_uint():
        return f"{'' if t.is_int() else 'u'}int{t.width}_t"
    if t.kind is TypeCode.Float:
        return {16: "_Float16", 32: "float", 64: "double"}[t.width]
    raise HalideError(f"C has no type for {t}")


def short(t: Type) -> str:
    """A type in the name of a support function."""
    letter = "f" if t.is_float() else ("i" if t.is_int() else "u")
    return "bool" if t.is_bool() else f"{letter}{t.width}"


@dataclass(slots=True)
class AtOnce:
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


class Text:
    """A C function under construction: its lines, and the texts of values in them.

    names: of variables, and of what emitters name by keys of their own. taken: names
    that nothing else can have. helpers: the functions that the file needs, by name.
    strict: whether all operations on floats are rounded by themselves.
    live: heap storage to be given back on the way out. arrays: the storage that arrays
    are, and read: what anything reads. at_once: the parallel loop that is written.
    """

    def __init__(self, tables: Tables[Text, Value, str]) -> None:
        self.tables = tables
        self.lines: list[str] = []
        self.indent = 0
        self.helpers: dict[str, str] = {}
        self.names: dict[object, str] = {}
        self.taken: set[str] = {*KEYWORDS, *tables.symbols}
        self.memo: dict[Expr, Value] = {}
        self._shared: set[Expr] = set()
        self.strict = False
        self.live: list[BufferSym] = []
        self.arrays: set[BufferSym] = set()
        self.read: set[BufferSym] = set()
        self.at_once: AtOnce | None = None

    def out(self, line: str) -> None:
        self.lines.append("  " * self.indent + line if line else "")

    def name(self, of: object, wish: str) -> str:
        """A C name for a variable, like the wish and not taken."""
        plain = re.sub(r"\W", "_", wish)
        if not plain or plain[0].isdigit() or plain[0] == "_":
            plain = f"v{plain}"
        found, n = plain, 1
        while found in self.taken or HELPER.fullmatch(found) or is_macro(found):
            n += 1
            found = f"{plain}_{n}"
        self.taken.add(found)
        self.names[of] = found
        return found

    def need(self, kind: str, *types: Type) -> str:
        """The name of a support function, which the file will define."""
        spelled = [short(t) for t in types]
        name = "_".join([kind, *spelled])
        if name not in self.helpers:
            self.helpers[name] = helper(kind, name, types, [c_type(t) for t in types])
        return name

    def define(self, v: Var, text: str) -> None:
        self.out(f"const {c_type(v.type)} {self.name(v, v.name)} = {text};")

    def root(self, e: Expr) -> str:
        """The text of the one expression of a statement."""
        self.begin(e)
        return self.text(e)

    def begin(self, *roots: Expr) -> None:
        self.memo.clear()
        seen: set[Expr] = set()
        shared: set[Expr] = set()
        stack = list(roots)
        while stack:
            e = stack.pop()
            if e in seen:
                if next(iter(e.children()), None) is not None:
                    shared.add(e)
                continue
            seen.add(e)
            stack.extend(c for c in e.children() if isinstance(c, Expr))
        self._shared = shared

    def text(self, e: Expr, least: int = 0) -> str:
        """The text of a value, in parentheses if it binds less than `least`."""
        found = self.memo.get(e)
        if found is None:
            emitted = None
            if e.type.count == 1:
                emitted = self.tables.emit(type(e), self, e)
            if emitted is None:
                raise InternalError(f"C code generation met a {type(e).__name__} node")
            found = emitted
            if e in self._shared and type(e) not in _PLAIN:
                name = self.name((e, len(self.lines)), "t")
                self.out(f"const {c_type(e.type)} {name} = {found[0]};")
                found = (name, ATOM)
            self.memo[e] = found
        return found[0] if found[1] >= least else f"({found[0]})"

    def is_shared(self, e: Expr) -> bool:
        """Whether a statement uses a value more than once, so that it has a name."""
        return e in self._shared

    def atom(self, e: Expr) -> str:
        """The text of a value, in parentheses if it is more than a name or a call."""
        return self.text(e, UNARY)

    def again(self, e: Expr) -> Value:
        """The text of an expansion, whose parts may be used many times."""
        before = self._shared
        counted: dict[Expr, int] = {}
        for n in nodes(e):
            for c in n.children():
                if isinstance(c, Expr):
                    counted[c] = counted.get(c, 0) + 1
        self._shared = before | {
            n for n, k in counted.items() if k > 1 and any(True for _ in n.children())
        }
        made = self.text(e)
        self._shared = before
        return made, self.memo[e][1]

    def narrowed(self, text: str, t: Type, strength: int) -> Value:
        """`text`, which C computes as an int or a float, in the type's own width."""
        half = t.is_float() and t.width == 16
        if half or t.is_int_or_uint() and t.width < 32 and not t.is_bool():
            return f"({c_type(t)})({text})", UNARY
        return text, strength

    # Statements.

    def stmt(self, s: Stmt) -> None:
        self.tables.writer(type(s))(self, s)

    def scope(self, s: Stmt) -> None:
        """The inside of a pair of braces."""
        self.indent += 1
        self.stmt(s)
        self.indent -= 1

    def fail_unless(self, cond: str, code: str) -> None:
        number = HALIDE_CODES[code]
        if self.at_once is None:
            leave = self.left(f"return {number};", 0)
        else:
            self.at_once.fails = True
            tell = f"{self.runtime('fail')}(&{self.at_once.failed}, {number}); "
            goto = f"{tell}goto {self.at_once.end};"
            leave = self.left(goto, self.at_once.outside, brace=True)
        self.out(f"if (!({cond})) {leave}  // {code}")

    def left(self, leave: str, outside: int, brace: bool = False) -> str:
        """Returns `leave` after calls that give back what is live, except the first
        `outside`."""
        live = reversed(self.live[outside:])
        frees = "".join([f"give_back({self.names[b]}); " for b in live])
        return f"{{ {frees}{leave} }}" if frees or brace else leave

    def runtime(self, name: str) -> str:
        """A function of the run time, which the file will define."""
        self.helpers[name] = self.tables.symbol(name)
        return name


__all__ = [
    "AND",
    "ATOM",
    "BIT",
    "CHOICE",
    "EQUAL",
    "OR",
    "ORDER",
    "PLUS",
    "SHIFT",
    "TIMES",
    "UNARY",
    "AtOnce",
    "Text",
    "Value",
    "c_type",
    "short",
]
