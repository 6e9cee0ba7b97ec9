"""Expressions as C: operators where C has them, small functions where it has not.

A value that a statement uses more than once gets a name before the statement, and what
a value does besides (printing, failing) happens before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from parhelion.codegen.c_names import DECLARED, is_macro
from parhelion.codegen.c_support import FIXED, HELPER, KEYWORDS, NO_TEXT, helper
from parhelion.errors import HalideError, InternalError, here
from parhelion.ir import build, fixedpoint
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.externs import FUNCTIONS, known_as
from parhelion.ir.intrinsics import FUSED, MARKS, trace_parts
from parhelion.ir.rewrite import nodes
from parhelion.ir.rounding import expanded
from parhelion.types import Type, TypeCode

#: How strongly operators bind in C; an atom binds strongest.
_ATOM, _UNARY, _TIMES, _PLUS, _SHIFT, _ORDER, _EQUAL, _BIT, _AND, _OR, _CHOICE = range(
    20, 9, -1
)
_OPERATORS: dict[type[Expr], tuple[str, int]] = {
    E.Add: ("+", _PLUS),
    E.Sub: ("-", _PLUS),
    E.Mul: ("*", _TIMES),
    E.EQ: ("==", _EQUAL),
    E.NE: ("!=", _EQUAL),
    E.LT: ("<", _ORDER),
    E.LE: ("<=", _ORDER),
    E.And: ("&&", _AND),
    E.Or: ("||", _OR),
}
#: What is as short as a name for it.
_PLAIN = (Var, E.Imm, E.FloatImm, E.Load)
_BITS = {"bit_and": "&", "bit_or": "|", "bit_xor": "^"}
#: Functions of <math.h>.
_LIBRARY = {
    name: name
    for name in ("sqrt", "floor", "ceil", "trunc", "exp", "log", "pow", "sin", "cos")
    + ("tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh")
    + ("asinh", "acosh", "atanh", "erf")
} | {"round": "rint"}
_CLASSES = {"is_nan": "isnan", "is_inf": "isinf", "is_finite": "isfinite"}
_INT32_MIN, _INT64_MIN = -(2**31), -(2**63)


def c_type(t: Type) -> str:
    """The C type of a scalar. Raises HalideError for one that C has not."""
    if t.is_bool():
        return "bool"
    if t.is_int_or_uint():
        return f"{'' if t.is_int() else 'u'}int{t.width}_t"
    if t.kind is TypeCode.Float:
        return {16: "_Float16", 32: "float", 64: "double"}[t.width]
    raise HalideError(f"C has no type for {t}")


class Expressions:
    """Lines of C under construction, and the texts of values in them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 0
        self.helpers: dict[str, str] = {}
        self.names: dict[object, str] = {}
        self.taken: set[str] = set(KEYWORDS)
        self._memo: dict[Expr, tuple[str, int]] = {}
        self._shared: set[Expr] = set()
        #: Whether all operations on floats are rounded by themselves.
        self.strict = False

    def fail_unless(self, cond: str, code: str) -> None:
        """Writes what leaves with the failure `code` unless `cond` holds."""
        raise NotImplementedError

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
        spelled = [_short(t) for t in types]
        name = "_".join([kind, *spelled])
        if name not in self.helpers:
            self.helpers[name] = helper(kind, name, types, [c_type(t) for t in types])
        return name

    def define(self, v: Var, text: str) -> None:
        self.out(f"const {c_type(v.type)} {self.name(v, v.name)} = {text};")

    # Expressions. A value that a statement uses more than once gets a name before it.

    def root(self, e: Expr) -> str:
        """The text of the one expression of a statement."""
        self.begin(e)
        return self.text(e)

    def begin(self, *roots: Expr) -> None:
        self._memo.clear()
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
        found = self._memo.get(e)
        if found is None:
            handler = _EXPRESSIONS.get(type(e))
            if handler is None or e.type.count > 1:
                raise InternalError(f"C code generation met a {type(e).__name__} node")
            found = handler(self, e)
            if e in self._shared and type(e) not in _PLAIN:
                name = self.name((e, len(self.lines)), "t")
                self.out(f"const {c_type(e.type)} {name} = {found[0]};")
                found = (name, _ATOM)
            self._memo[e] = found
        return found[0] if found[1] >= least else f"({found[0]})"

    def atom(self, e: Expr) -> str:
        """The text of a value, in parentheses if it is more than a name or a call."""
        return self.text(e, _UNARY)

    def again(self, e: Expr) -> tuple[str, int]:
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
        return made, self._memo[e][1]

    def variable(self, e: Var) -> tuple[str, int]:
        return self.names[e], _ATOM

    def integer(self, e: E.Imm) -> tuple[str, int]:
        t, v = e.type, e.value
        if t.is_bool():
            return ("true" if v else "false"), _ATOM
        if v == _INT32_MIN and t.width == 32:
            return "INT32_MIN", _ATOM
        if v == _INT64_MIN:
            return "INT64_MIN", _ATOM
        text = str(v)
        if t.width == 64:
            text = f"{'' if t.is_int() else 'U'}INT64_C({v})"
        elif t.width == 32 and t.is_uint():
            text += "u"
        return text, (_ATOM if v >= 0 else _UNARY)

    def real(self, e: E.FloatImm) -> tuple[str, int]:
        v, suffix = e.value, "f" if e.type.width == 32 else ""
        if v != v:
            return "NAN", _ATOM
        if v in (float("inf"), float("-inf")):
            return ("INFINITY", _ATOM) if v > 0 else ("-INFINITY", _UNARY)
        text = repr(v)
        for digits in range(1, 10):
            short = f"{v:.{digits}g}"
            if e.type.width < 64 and E.float_bits(float(short), e.type) == e.bits:
                text = repr(float(short)) if 1e-4 <= abs(v) < 1e9 else short
                break
        if not any(c in text for c in ".e"):
            text += ".0"
        if e.type.width == 16:
            return f"(_Float16){text}", _UNARY
        return text + suffix, (_UNARY if text.startswith("-") else _ATOM)

    def binary(self, e: Any) -> tuple[str, int]:
        symbol, strength = _OPERATORS[type(e)]
        known = build.const_int(e.b)
        if symbol == "+" and known is not None and e.type.lowest() < known < 0:
            text = (
                f"{self.text(e.a, strength)} - {self.text(build.imm(-known, e.type))}"
            )
            return self.narrowed(text, e.type, strength)
        # The right operand of an operator that is not associative is put in
        # parentheses, and floats keep the order of their operations. So are
        # comparisons of comparisons, and "and" within "or", of which compilers warn.
        left, right = strength, strength + 1
        if strength in (_ORDER, _EQUAL):
            left = right = _SHIFT
        elif symbol == "||":
            left, right = (_OR if type(e.a) is E.Or else _AND + 1), _AND + 1
        a, b = self.text(e.a, left), self.text(e.b, right)
        return self.narrowed(f"{a} {symbol} {b}", e.type, strength)

    def narrowed(self, text: str, t: Type, strength: int) -> tuple[str, int]:
        """`text`, which C computes as an int or a float, in the type's own width."""
        half = t.is_float() and t.width == 16
        if half or t.is_int_or_uint() and t.width < 32 and not t.is_bool():
            return f"({c_type(t)})({text})", _UNARY
        return text, strength

    def division(self, e: E.Div) -> tuple[str, int]:
        if e.type.is_float():
            text = f"{self.text(e.a, _TIMES)} / {self.text(e.b, _TIMES + 1)}"
            return self.narrowed(text, e.type, _TIMES)
        known = build.const_int(e.b)
        if known and known > 0:
            if e.type.is_uint():
                text = f"{self.text(e.a, _TIMES)} / {self.text(e.b, _ATOM)}"
                return self.narrowed(text, e.type, _TIMES)
            if known & (known - 1) == 0:
                bits = known.bit_length() - 1
                text = f"{self.text(e.a, _TIMES)} >> {bits}"
                return self.narrowed(text, e.type, _SHIFT)
        return self.call("div", e)

    def remainder(self, e: E.Mod) -> tuple[str, int]:
        known = None if e.type.is_float() else build.const_int(e.b)
        if known and known > 0 and known & (known - 1) == 0:
            # Compilers warn of a + b & c, though it is (a + b) & c.
            text = f"{self.text(e.a, _UNARY)} & {known - 1}"
            return self.narrowed(text, e.type, _BIT)
        return self.call("mod", e)

    def call(self, kind: str, e: Any) -> tuple[str, int]:
        name = self.need(kind, e.type)
        return f"{name}({self.text(e.a)}, {self.text(e.b)})", _ATOM

    def minimum(self, e: E.Min) -> tuple[str, int]:
        return self.call("min", e)

    def maximum(self, e: E.Max) -> tuple[str, int]:
        return self.call("max", e)

    def negation(self, e: E.Not) -> tuple[str, int]:
        return f"!{self.text(e.a, _UNARY)}", _UNARY

    def choice(self, e: E.Select) -> tuple[str, int]:
        c, a = self.text(e.cond, _CHOICE + 1), self.text(e.a, _CHOICE + 1)
        return f"{c} ? {a} : {self.text(e.b, _CHOICE)}", _CHOICE

    def cast(self, e: E.Cast) -> tuple[str, int]:
        if e.type.is_bool():
            return f"{self.text(e.a, _SHIFT)} != 0", _EQUAL
        return f"({c_type(e.type)}){self.text(e.a, _UNARY)}", _UNARY

    def reinterpret(self, e: E.Reinterpret) -> tuple[str, int]:
        if e.type.is_int_or_uint() and e.a.type.is_int_or_uint():
            return f"({c_type(e.type)}){self.text(e.a, _UNARY)}", _UNARY
        return f"{self.need('bits', e.a.type, e.type)}({self.text(e.a)})", _ATOM

    def named(self, e: E.Let) -> tuple[str, int]:
        self.define(e.var, self.text(e.value))
        return self.text(e.body), self._memo[e.body][1]

    def load(self, e: E.Load) -> tuple[str, int]:
        pixel = f"{self.names[e.buffer]}[{self.text(e.index)}]"
        if e.predicate is None:
            return pixel, _ATOM
        return f"{self.text(e.predicate, _CHOICE + 1)} ? {pixel} : 0", _CHOICE

    def extern(self, e: E.Extern) -> tuple[str, int]:
        known = FUNCTIONS.get(e.name)
        name = foreign_name(e)
        # The headers have their own types for what they declare.
        if known is not None and name not in self.helpers and name not in DECLARED:
            params = ", ".join(map(c_type, known.params))
            self.helpers[name] = f"extern {c_type(known.result)} {name}({params});"
        return f"{name}({', '.join([self.text(a) for a in e.args])})", _ATOM

    def intrinsic(self, e: E.Intrinsic) -> tuple[str, int]:
        op, args = e.op, e.args
        if op in NO_TEXT:
            raise HalideError(NO_TEXT[op])
        if op in _EFFECTS:
            return _EFFECTS[op](self, e)
        if op in MARKS:
            return self.text(args[0]), self._memo[args[0]][1]
        if op == "strict_float":
            inner = args[0]
            if isinstance(inner, E.Intrinsic) and inner.op in _LIBRARY:
                return self.mathematical(inner, strict=True)
            made = expanded(e)
            return self.again(inner if made is None else made)
        if op == "undef":
            return "0", _ATOM
        if op in _BITS:
            text = (
                f"{self.text(args[0], _UNARY)} {_BITS[op]} {self.text(args[1], _UNARY)}"
            )
            return self.narrowed(text, e.type, _AND + 1)
        if op == "bit_not":
            return self.narrowed(f"~{self.text(args[0], _UNARY)}", e.type, _UNARY)
        if op in ("shift_left", "shift_right"):
            return self.shift(e)
        if op in FUSED:
            given = ", ".join([self.text(a) for a in args])
            return f"{self.need(op, e.type)}({given})", _ATOM
        if op in _LIBRARY:
            return self.mathematical(e, self.strict)
        if op == "abs" and e.type.is_float():
            return self.library("fabs", e)
        if op in _CLASSES:
            return f"{_CLASSES[op]}({self.text(args[0])})", _ATOM
        if op in ("popcount", "clz", "ctz"):
            return f"{self.need(op, e.type)}({self.text(args[0])})", _ATOM
        made = fixedpoint.lower_intrinsic(op, args, e.type) or expanded(e)
        if made is None:
            raise HalideError(f"C output has no form of {op} for {args[0].type}")
        return self.again(made)

    def mathematical(self, e: E.Intrinsic, strict: bool) -> tuple[str, int]:
        """A math function: the polynomial that machine code has of it, as a function
        that compilers put into their vectors, or that of <math.h>."""
        params = tuple([Var(f"a{i}", a.type) for i, a in enumerate(e.args)])
        of = E.Intrinsic(e.type, e.op, params)
        made = expanded(of, strict=strict)
        if made is None:
            return self.library(_LIBRARY[e.op], e)
        spelled = [_short(p.type) for p in params]
        name = "_".join([*["strict"][:strict], e.op, *spelled])
        if name not in self.helpers:
            self.helpers |= _polynomial(name, params, made)
        return f"{name}({', '.join([self.text(a) for a in e.args])})", _ATOM

    def library(self, name: str, e: E.Intrinsic) -> tuple[str, int]:
        """A function of <math.h>; half floats are computed as floats."""
        suffix = "" if e.type.width == 64 else "f"
        text = f"{name}{suffix}({', '.join([self.text(a) for a in e.args])})"
        return (f"(_Float16){text}", _UNARY) if e.type.width == 16 else (text, _ATOM)

    def shift(self, e: E.Intrinsic) -> tuple[str, int]:
        a, b = e.args
        known = build.const_int(b)
        left = e.op == "shift_left"
        if known is not None and 0 <= known < e.type.width:
            symbol = "<<" if left else ">>"
            text = f"{self.text(a, _TIMES)} {symbol} {known}"
            return self.narrowed(text, e.type, _SHIFT)
        name = self.need(e.op, e.type, b.type)
        return f"{name}({self.text(a)}, {self.text(b)})", _ATOM

    # Effects happen before the statement whose value mentions them.

    def kept(self, e: Expr) -> tuple[str, int]:
        """The value in a variable, so that what is printed is what is used."""
        name = self.name((e, len(self.lines), "kept"), "t")
        self.out(f"const {c_type(e.type)} {name} = {self.text(e)};")
        self._memo[e] = (name, _ATOM)
        return name, _ATOM

    def print(self, e: E.Intrinsic) -> tuple[str, int]:
        found = self.kept(e.args[0])
        self.out(self.printf(" ".join(["%"] * len(e.args)), e.args))
        return found

    def print_when(self, e: E.Intrinsic) -> tuple[str, int]:
        found = self.kept(e.args[1])
        line = self.printf(" ".join(["%"] * (len(e.args) - 1)), e.args[1:])
        self.out(f"if ({self.text(e.args[0])}) {line}")
        return found

    def trace(self, e: E.Intrinsic) -> tuple[str, int]:
        value, form, *rest = e.args
        found = self.kept(value)
        assert isinstance(form, E.StringImm)
        self.out(self.printf(form.value, (*rest, value)))
        return found

    def require(self, e: E.Intrinsic) -> tuple[str, int]:
        self.fail_unless(self.text(e.args[0]), "require")
        return self.text(e.args[1]), self._memo[e.args[1]][1]

    def printf(self, form: str, args: Sequence[Expr]) -> str:
        """A call that prints `form` with each % replaced by an argument."""
        parts = trace_parts(form)
        out, given = _quoted(parts[0])
        for arg, after in zip(args, parts[1:], strict=False):
            for text, values in (self.shown(arg), _quoted(after)):
                out += text
                given += values
        quoted = f'"{out}\\n"'
        return f"printf({', '.join([quoted, *given])});"

    def shown(self, e: Expr) -> tuple[str, list[str]]:
        if isinstance(e, E.StringImm):
            return _quoted(e.value)
        text = self.text(e, _UNARY)
        if e.type.is_bool():
            return "%s", [f'{self.text(e, _CHOICE + 1)} ? "true" : "false"']
        if e.type.is_float():
            return ("%e" if e.type.width == 64 else "%f"), [f"(double){text}"]
        if e.type.is_int():
            return "%lld", [f"(long long){text}"]
        return "%llu", [f"(unsigned long long){text}"]


def _polynomial(name: str, params: Sequence[Var], value: Expr) -> dict[str, str]:
    """The definition of a function, by its name, after those that it calls."""
    writer = Expressions()
    writer.indent = 1
    given = [f"{c_type(p.type)} {writer.name(p, p.name)}" for p in params]
    result = writer.root(value)
    head = f"static inline {c_type(value.type)} {name}({', '.join(given)}) {{"
    text = "\n".join([head, *writer.lines, f"  return {result};", "}"])
    return {**writer.helpers, name: text}


def foreign_name(e: E.Extern) -> str:
    """What C calls a foreign function. Raises HalideError where it cannot."""
    name = known_as(e.name)
    if name == "function":
        raise HalideError(
            "a C function that was given by its address has no name to call it by",
            at=here(),
            hint="give its name, or a function of a ctypes library",
        )
    if name in FIXED or HELPER.fullmatch(name):
        raise HalideError(
            f"the C function {name!r} has the name of one that C text has of its own",
            at=here(),
        )
    return name


def _short(t: Type) -> str:
    letter = "f" if t.is_float() else ("i" if t.is_int() else "u")
    return "bool" if t.is_bool() else f"{letter}{t.width}"


def _quoted(text: str) -> tuple[str, list[str]]:
    """`text` inside a string that printf takes as its format, and its arguments."""
    plain = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "%": "%%", "\0": "%c"}
    out: list[str] = []
    for before, c in zip(f" {text}", text, strict=False):
        if c == before == "?":
            out.append(r"\?")  # two of them may begin a trigraph
        elif c < " " or c == "\x7f":
            out.append(plain.get(c, f"\\{ord(c):03o}"))
        else:
            out.append(plain.get(c, c))
    return "".join(out), ["0"] * text.count("\0")


_EXPRESSIONS: dict[type[Expr], Callable[[Expressions, Any], tuple[str, int]]] = {
    **dict.fromkeys(_OPERATORS, Expressions.binary),
    Var: Expressions.variable,
    E.Imm: Expressions.integer,
    E.FloatImm: Expressions.real,
    E.Div: Expressions.division,
    E.Mod: Expressions.remainder,
    E.Min: Expressions.minimum,
    E.Max: Expressions.maximum,
    E.Not: Expressions.negation,
    E.Select: Expressions.choice,
    E.Cast: Expressions.cast,
    E.Reinterpret: Expressions.reinterpret,
    E.Let: Expressions.named,
    E.Load: Expressions.load,
    E.Intrinsic: Expressions.intrinsic,
    E.Extern: Expressions.extern,
}
_EFFECTS: dict[str, Callable[[Expressions, E.Intrinsic], tuple[str, int]]] = {
    "print": Expressions.print,
    "print_when": Expressions.print_when,
    "trace": Expressions.trace,
    "require": Expressions.require,
}

__all__ = ["Expressions", "c_type", "foreign_name"]
