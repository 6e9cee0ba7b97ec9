"""Intrinsics in C: operators, functions of <math.h>, polynomials, effects.

What has no entry here is an expansion into basic nodes, as for all back ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from parhelion.codegen.c.refusals import NO_TEXT
from parhelion.codegen.c.text import (
    AND,
    ATOM,
    CHOICE,
    SHIFT,
    TIMES,
    UNARY,
    Text,
    Value,
    c_type,
    short,
)
from parhelion.errors import HalideError
from parhelion.ir import build, fixedpoint
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import FUSED, MARKS, trace_parts
from parhelion.ir.rounding import expanded

#: Writes one intrinsic.
_Emit = Callable[[Text, E.Intrinsic], Value | None]

_BITS = {"bit_and": "&", "bit_or": "|", "bit_xor": "^"}
#: Functions of <math.h>.
_LIBRARY = {
    name: name
    for name in ("sqrt", "floor", "ceil", "trunc", "exp", "log", "pow", "sin", "cos")
    + ("tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh")
    + ("asinh", "acosh", "atanh", "erf")
} | {"round": "rint"}
_CLASSES = {"is_nan": "isnan", "is_inf": "isinf", "is_finite": "isfinite"}


def emit_intrinsic(f: Text, e: E.Intrinsic) -> Value:
    """By its own entry, or by its expansion. Raises HalideError if it has neither."""
    found = f.tables.emit(e.op, f, e)
    if found is not None:
        return found
    made = fixedpoint.lower_intrinsic(e.op, e.args, e.type) or expanded(e)
    if made is None:
        raise HalideError(f"C output has no form of {e.op} for {e.args[0].type}")
    return f.again(made)


def _refused(f: Text, e: E.Intrinsic) -> Value:
    raise HalideError(NO_TEXT[e.op])


def _marked(f: Text, e: E.Intrinsic) -> Value:
    return f.text(e.args[0]), f.memo[e.args[0]][1]


def _strict(f: Text, e: E.Intrinsic) -> Value:
    inner = e.args[0]
    if isinstance(inner, E.Intrinsic) and inner.op in _LIBRARY:
        return _mathematical(f, inner, strict=True)
    made = expanded(e)
    return f.again(inner if made is None else made)


def _undef(f: Text, e: E.Intrinsic) -> Value:
    return "0", ATOM


def _bitwise(f: Text, e: E.Intrinsic) -> Value:
    a, b = e.args
    text = f"{f.text(a, UNARY)} {_BITS[e.op]} {f.text(b, UNARY)}"
    return f.narrowed(text, e.type, AND + 1)


def _complement(f: Text, e: E.Intrinsic) -> Value:
    return f.narrowed(f"~{f.text(e.args[0], UNARY)}", e.type, UNARY)


def _cut(f: Text, e: E.Intrinsic) -> Value | None:
    """A quotient, or a remainder, that is cut towards zero, as those of C are."""
    a, b = e.args
    known = build.const_int(b)
    if known is None or known <= 0:
        return None  # C has none by zero, and none of the lowest number by -1
    symbol = "/" if e.op == "div_round_to_zero" else "%"
    text = f"{f.text(a, TIMES)} {symbol} {f.text(b, ATOM)}"
    return f.narrowed(text, e.type, TIMES)


def _half(f: Text, e: E.Intrinsic) -> Value | None:
    """Half of a sum that an int holds."""
    if e.type.width > 16:
        return None
    a, b = [f.text(one, SHIFT + 1) for one in e.args]
    one = " + 1" if e.op == "rounding_halving_add" else ""
    return f.narrowed(f"({a} + {b}{one}) >> 1", e.type, SHIFT)


def _called(f: Text, e: E.Intrinsic) -> Value:
    """A support function of the operation's name."""
    given = ", ".join([f.text(a) for a in e.args])
    return f"{f.need(e.op, e.type)}({given})", ATOM


def _function(f: Text, e: E.Intrinsic) -> Value:
    return _mathematical(f, e, f.strict)


def _absolute(f: Text, e: E.Intrinsic) -> Value | None:
    return _library(f, "fabs", e) if e.type.is_float() else None


def _class(f: Text, e: E.Intrinsic) -> Value:
    return f"{_CLASSES[e.op]}({f.text(e.args[0])})", ATOM


def _shift(f: Text, e: E.Intrinsic) -> Value:
    a, b = e.args
    known = build.const_int(b)
    left = e.op == "shift_left"
    if known is not None and 0 <= known < e.type.width:
        symbol = "<<" if left else ">>"
        text = f"{f.text(a, TIMES)} {symbol} {known}"
        return f.narrowed(text, e.type, SHIFT)
    name = f.need(e.op, e.type, b.type)
    return f"{name}({f.text(a)}, {f.text(b)})", ATOM


def _mathematical(f: Text, e: E.Intrinsic, strict: bool) -> Value:
    """A math function: the polynomial that machine code has of it, as a function
    that compilers put into their vectors, or that of <math.h>."""
    params = tuple([Var(f"a{i}", a.type) for i, a in enumerate(e.args)])
    of = E.Intrinsic(e.type, e.op, params)
    made = expanded(of, strict=strict)
    if made is None:
        return _library(f, _LIBRARY[e.op], e)
    spelled = [short(p.type) for p in params]
    name = "_".join([*["strict"][:strict], e.op, *spelled])
    if name not in f.helpers:
        f.helpers |= _polynomial(f, name, params, made)
    return f"{name}({', '.join([f.text(a) for a in e.args])})", ATOM


def _library(f: Text, name: str, e: E.Intrinsic) -> Value:
    """A function of <math.h>; half floats are computed as floats."""
    suffix = "" if e.type.width == 64 else "f"
    text = f"{name}{suffix}({', '.join([f.text(a) for a in e.args])})"
    return (f"(_Float16){text}", UNARY) if e.type.width == 16 else (text, ATOM)


def _polynomial(
    f: Text, name: str, params: Sequence[Var], value: Expr
) -> dict[str, str]:
    """The definition of a function, by its name, after those that it calls."""
    inner = Text(f.tables)
    inner.indent = 1
    given = [f"{c_type(p.type)} {inner.name(p, p.name)}" for p in params]
    result = inner.root(value)
    head = f"static inline {c_type(value.type)} {name}({', '.join(given)}) {{"
    text = "\n".join([head, *inner.lines, f"  return {result};", "}"])
    return {**inner.helpers, name: text}


# Effects happen before the statement whose value mentions them.


def _kept(f: Text, e: Expr) -> Value:
    """The value in a variable, so that what is printed is what is used."""
    name = f.name((e, len(f.lines), "kept"), "t")
    f.out(f"const {c_type(e.type)} {name} = {f.text(e)};")
    f.memo[e] = (name, ATOM)
    return name, ATOM


def _print(f: Text, e: E.Intrinsic) -> Value:
    found = _kept(f, e.args[0])
    f.out(_printf(f, " ".join(["%"] * len(e.args)), e.args))
    return found


def _print_when(f: Text, e: E.Intrinsic) -> Value:
    found = _kept(f, e.args[1])
    line = _printf(f, " ".join(["%"] * (len(e.args) - 1)), e.args[1:])
    f.out(f"if ({f.text(e.args[0])}) {line}")
    return found


def _trace(f: Text, e: E.Intrinsic) -> Value:
    value, form, *rest = e.args
    found = _kept(f, value)
    assert isinstance(form, E.StringImm)
    f.out(_printf(f, form.value, (*rest, value)))
    return found


def _require(f: Text, e: E.Intrinsic) -> Value:
    f.fail_unless(f.text(e.args[0]), "require")
    return f.text(e.args[1]), f.memo[e.args[1]][1]


def _printf(f: Text, form: str, args: Sequence[Expr]) -> str:
    """A call that prints `form` with each % replaced by an argument."""
    parts = trace_parts(form)
    out, given = _quoted(parts[0])
    for arg, after in zip(args, parts[1:], strict=False):
        for text, values in (_shown(f, arg), _quoted(after)):
            out += text
            given += values
    quoted = f'"{out}\\n"'
    return f"printf({', '.join([quoted, *given])});"


def _shown(f: Text, e: Expr) -> tuple[str, list[str]]:
    if isinstance(e, E.StringImm):
        return _quoted(e.value)
    text = f.text(e, UNARY)
    if e.type.is_bool():
        return "%s", [f'{f.text(e, CHOICE + 1)} ? "true" : "false"']
    if e.type.is_float():
        return ("%e" if e.type.width == 64 else "%f"), [f"(double){text}"]
    if e.type.is_int():
        return "%lld", [f"(long long){text}"]
    return "%llu", [f"(unsigned long long){text}"]


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


INTRINSICS: Mapping[str, _Emit] = {
    **dict.fromkeys(NO_TEXT, _refused),
    "print": _print,
    "print_when": _print_when,
    "trace": _trace,
    "require": _require,
    **dict.fromkeys(MARKS, _marked),
    "strict_float": _strict,
    "undef": _undef,
    **dict.fromkeys(_BITS, _bitwise),
    "bit_not": _complement,
    **dict.fromkeys(("shift_left", "shift_right"), _shift),
    **dict.fromkeys(("div_round_to_zero", "mod_round_to_zero"), _cut),
    **dict.fromkeys(("halving_add", "rounding_halving_add"), _half),
    **dict.fromkeys((*FUSED, "popcount", "clz", "ctz"), _called),
    **dict.fromkeys(_LIBRARY, _function),
    "abs": _absolute,
    **dict.fromkeys(_CLASSES, _class),
}

__all__ = ["INTRINSICS", "emit_intrinsic"]
