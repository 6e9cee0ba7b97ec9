"""One line of the IR's text: its tokens, and the expressions in it.

The reader's lower half; `ir.reader` puts lines together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import NoReturn, cast

from parhelion.errors import DefinitionError
from parhelion.ir import expr as E
from parhelion.ir.build import FALSE, TRUE, imm
from parhelion.ir.expr import Expr, FloatImm, Var
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.literals import SHORT
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import INFIX, TYPE_NAME, Symbol, default_type, lanes_of
from parhelion.types import INT32, BFloat, Float, Handle, Int, Type, UInt

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<number>0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?f?(?![\w.]))
    | (?P<index>\.\d+)
    | (?P<name>[A-Za-z_$][\w.$\#]*(?:<\w+>)?)
    | (?P<op>\|\||&&|==|!=|<=|[-+*/%<!()\[\]{},;:=])
    )""",
    re.VERBOSE,
)
_OPERATORS: dict[str, tuple[type[Expr], int]] = {
    symbol.strip(): (kind, strength) for kind, (symbol, strength) in INFIX.items()
}
_LITERALS = {name: key for key, name in SHORT.items()}


def type_named(name: str) -> Type | None:
    """The type that str() gives this name, or None."""
    if TYPE_NAME.fullmatch(name) is None:
        return None
    base, _, lanes = name.partition("x")
    count = int(lanes) if lanes else 1
    if base == "bool":
        return UInt(1, count)
    if base == "handle":
        return Handle(count)
    make: dict[str, Callable[[int, int], Type]] = {
        "int": Int,
        "uint": UInt,
        "float": Float,
        "bfloat": BFloat,
    }
    kind = base.rstrip("0123456789")
    bits = base[len(kind) :]
    return make[kind](int(bits), count) if kind in make and bits else None


class Line:
    """One line as tokens, read by precedence."""

    def __init__(self, source: str, symbols: Mapping[str, Symbol]) -> None:
        self.source = source
        self.symbols = symbols
        self.tokens: list[tuple[str, str]] = []
        at = 0
        end = len(source.rstrip())
        while at < end:
            found = _TOKEN.match(source, at)
            if found is None:
                self.tokens.append(("", source[at:].lstrip()[0]))
                self.at = len(self.tokens) - 1
                self.fail()
            kind = found.lastgroup or ""
            self.tokens.append((kind, found.group(kind)))
            at = found.end()
        self.tokens.append(("end", ""))
        self.at = 0

    def fail(self, why: str = "") -> NoReturn:
        found = self.tokens[min(self.at, len(self.tokens) - 1)][1] or "the end"
        raise DefinitionError(
            f"cannot read IR text at {found!r}" + (f": {why}" if why else ""),
            detail=self.source.strip(),
        )

    # Tokens.

    @property
    def token(self) -> str:
        return self.tokens[self.at][1]

    def next(self) -> str:
        token = self.tokens[self.at][1]
        self.at += 1
        return token

    def take(self, token: str) -> bool:
        kind, found = self.tokens[self.at]
        if found != token or kind == "string":
            return False
        self.at += 1
        return True

    def need(self, token: str) -> None:
        if not self.take(token):
            self.fail(f"{token!r} should be here")

    def end(self) -> None:
        if self.tokens[self.at][0] != "end":
            self.fail("the line should end here")

    def name(self) -> str:
        if self.tokens[self.at][0] != "name":
            self.fail("a name should be here")
        return self.next()

    def whole(self) -> int:
        sign = -1 if self.take("-") else 1
        if not self.token.isdigit():
            self.fail("a whole number should be here")
        return sign * int(self.next())

    # Symbols.

    def var(self) -> Var:
        name = self.name()
        found = self.symbols.get(name)
        if not isinstance(found, Var):
            self.at -= 1
            self.fail(f"no Var is given for {name!r}")
        return found

    def buffer(self, name: str) -> BufferSym:
        found = self.symbols.get(name + "[]")
        if not isinstance(found, BufferSym):
            self.at -= 1
            self.fail(f"no buffer is given for '{name}[]'")
        return found

    def func(self, name: str) -> Function:
        found = self.symbols.get(name + "()")
        if not isinstance(found, Function):
            self.at -= 1
            self.fail(f"no Func is given for '{name}()'")
        return found

    # Expressions.

    def expr(self, weakest: int = 0) -> Expr:
        left = self.operand()
        while self.tokens[self.at][0] == "op":
            known = _OPERATORS.get(self.token)
            if known is None or known[1] < weakest:
                break
            kind, strength = known
            self.at += 1
            right = self.expr(strength + 1)
            if left.type is not right.type:
                self.fail(f"{left.type} meets {right.type}")
            left = kind(left, right)  # type: ignore[call-arg]
        return left

    def list(self, close: str) -> tuple[Expr, ...]:
        """Expressions up to `close`, which is taken."""
        out: list[Expr] = []
        if self.take(close):
            return ()
        while True:
            out.append(self.expr())
            if self.take(close):
                return tuple(out)
            self.need(",")

    def box(self) -> tuple[tuple[Expr, Expr], ...]:
        """``[min, extent], …)``"""
        bounds: list[tuple[Expr, Expr]] = []
        while self.take("["):
            least = self.expr()
            self.need(",")
            bounds.append((least, self.expr()))
            self.need("]")
            self.take(",")
        self.need(")")
        return tuple(bounds)

    def operand(self) -> Expr:
        kind, token = self.tokens[self.at]
        if kind == "number" or token == "-":
            return self.number()
        if kind == "string":
            self.at += 1
            return E.StringImm(Handle(), json.loads(token))
        if self.take("!"):
            return E.Not(self.operand())
        if self.take("("):
            return self.inner()
        if kind != "name":
            self.fail("an expression should be here")
        if token in ("true", "false"):
            self.at += 1
            return TRUE if token == "true" else FALSE
        follows = self.tokens[self.at + 1][1]
        if follows == "(":
            return self.call()
        if follows == "[":
            return self.element()
        return self.var()

    def number(self) -> Expr:
        sign = "-" if self.take("-") else ""
        digits = self.next()
        try:
            if digits.endswith("f"):
                return imm(float(sign + digits[:-1]), Float(32))
            return imm(int(sign + digits), INT32)
        except ValueError:
            self.at -= 1
            self.fail("a number should be here")

    def inner(self) -> Expr:
        if self.tokens[self.at] == ("name", "let"):
            self.at += 1
            var = self.var()
            self.need("=")
            value = self.expr()
            self.need("in")
            body = self.expr()
            self.need(")")
            return E.Let(var, value, body)
        out = self.expr()
        self.need(")")
        return out

    def marked(self) -> tuple[str, Type | None]:
        """A name and the type in angle brackets after it."""
        name, _, mark = self.name().partition("<")
        if not mark:
            return name, None
        found = type_named(mark.rstrip(">"))
        if found is None:
            self.at -= 1
            self.fail("this is no type")
        return name, found

    def element(self) -> Expr:
        name, mark = self.marked()
        buffer = self.buffer(name)
        index, predicate = self.index()
        t = mark or buffer.type.with_lanes(index.type.count)
        return E.Load(t, buffer, index, predicate)

    def index(self) -> tuple[Expr, Expr | None]:
        self.need("[")
        index = self.expr()
        predicate = self.expr() if self.take("if") else None
        self.need("]")
        return index, predicate

    def call(self) -> Expr:
        start = self.at
        name, mark = self.marked()
        self.need("(")
        if name in _LITERALS:
            return self.literal(name)
        cast_to = type_named(name)
        if cast_to is not None:
            (a,) = self.exactly(1)
            return E.Cast(cast_to, a)
        if name in _SPECIAL:
            return _SPECIAL[name](self, mark)
        if name.startswith("reduce_"):
            value = self.expr()
            self.need(",")
            lanes = self.whole()
            self.need(")")
            return E.VectorReduce(name.removeprefix("reduce_"), value, lanes)
        if re.fullmatch(r"x\d+", name):
            (a,) = self.exactly(1)
            return E.Broadcast(a, int(name[1:]))
        if name in INTRINSICS:
            args = self.list(")")
            t = mark or default_type(name, args)
            if t is None:
                self.fail(f"{name} needs its type, as in {name}<int32>(…)")
            return E.Intrinsic(t, name, args)
        return self.called(name, mark, start)

    def called(self, name: str, mark: Type | None, start: int) -> Expr:
        found = self.symbols.get(name + "()")
        if found is None:
            self.at = start
            self.fail(f"no Func or image is given for '{name}()'")
        args = self.list(")")
        if isinstance(found, BufferSym):
            t = mark or found.type.with_lanes(lanes_of(args))
            return E.ImageLoad(t, found, args)
        func = cast("Function", found)
        index = 0
        if self.tokens[self.at][0] == "index":
            index = int(self.next()[1:])
        if mark is None:
            if index >= len(func.types):
                self.fail(f"{name} has no value {index}")
            mark = func.types[index].with_lanes(lanes_of(args))
        return E.FuncCall(mark, func, args, index)

    def exactly(self, n: int, close: str = ")") -> tuple[Expr, ...]:
        args = self.list(close)
        if len(args) != n:
            self.fail(f"{n} arguments should be here")
        return args

    def literal(self, name: str) -> Expr:
        code, width = _LITERALS[name]
        t = Type(code, width)
        sign = "-" if self.take("-") else ""
        digits = self.next()
        self.need(")")
        try:
            if t.is_float() and digits.startswith("0x"):
                return FloatImm(t, int(digits, 16))
            return imm(float(sign + digits) if t.is_float() else int(sign + digits), t)
        except ValueError:
            self.fail("a number should be here")

    def reinterpret(self, mark: Type | None) -> Expr:
        (a,) = self.exactly(1)
        if mark is None:
            self.fail("reinterpret needs its type")
        return E.Reinterpret(mark, a)

    def select(self, mark: Type | None) -> Expr:
        cond, a, b = self.exactly(3)
        return E.Select(cond, a, b)

    def minimum(self, mark: Type | None) -> Expr:
        a, b = self.exactly(2)
        return E.Min(a, b)

    def maximum(self, mark: Type | None) -> Expr:
        a, b = self.exactly(2)
        return E.Max(a, b)

    def ramp(self, mark: Type | None) -> Expr:
        base = self.expr()
        self.need(",")
        stride = self.expr()
        self.need(",")
        lanes = self.whole()
        self.need(")")
        return E.Ramp(base, stride, lanes)

    def shuffle(self, mark: Type | None) -> Expr:
        vectors = self.list(";")
        indices = [self.whole()]
        while self.take(","):
            indices.append(self.whole())
        self.need(")")
        return E.Shuffle(vectors, tuple(indices))

    def extern(self, mark: Type | None) -> Expr:
        if mark is None:
            self.fail("extern needs its type")
        head, *args = self.list(")")
        if type(head) is not E.StringImm:
            self.fail("extern needs a name")
        return E.Extern(mark, head.value, tuple(args))


_SPECIAL: dict[str, Callable[[Line, Type | None], Expr]] = {
    "reinterpret": Line.reinterpret,
    "select": Line.select,
    "min": Line.minimum,
    "max": Line.maximum,
    "ramp": Line.ramp,
    "shuffle": Line.shuffle,
    "extern": Line.extern,
}
