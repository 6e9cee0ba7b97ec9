"""From Python's expressions to Forma's."""

from __future__ import annotations

import ast
import builtins
import keyword
import math
import re
from types import BuiltinFunctionType

import numpy as np

from parhelion.errors import FormaError
from parhelion.forma import tree as T
from parhelion.forma.spans import Span
from parhelion.forma.terms import MATH
from parhelion.forma.twin.defined import Definition, Nested, Unnamed, parameter
from parhelion.forma.twin.refusals import OPERATORS, described
from parhelion.forma.twin.source import MISSING, File, Names
from parhelion.forma.twin.words import BoundaryWord, MathWord, Places, TypeWord, Vector
from parhelion.forma.words import INSTEAD, LARGEST_FLOAT, LARGEST_INT, RESERVED

_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "&&",
    ast.Or: "||",
}
_UNARY: dict[type[ast.AST], str] = {ast.USub: "-", ast.UAdd: "+", ast.Not: "!"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Python's own, whose names and meaning Forma shares.
_TYPES: dict[type, str] = {int: "int", float: "float"}
_MATH: dict[BuiltinFunctionType, str] = {
    function: name
    for module in (builtins, math)
    for name, function in vars(module).items()
    if name in MATH
}
_FUNCTIONS = "write a function under @forma.stencil or @forma.vector"


class Expressions:
    """Reads the expressions of one function.

    names: what they mean in Python. variables: those that are Forma's, and of these
    the qualified ones, `families`. in_stencil: whether brackets read points. uses: what
    was found outside of the function that belongs to the program.
    """

    def __init__(self, file: File, names: Names, in_stencil: bool) -> None:
        self.file = file
        self.names = names
        self.in_stencil = in_stencil
        self.variables: set[str] = set()
        self.families: set[str] = set()
        self.uses: dict[int, Definition] = {}

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Span:
        return self.file.span(node)

    def refused(self, node: ast.expr | ast.stmt) -> FormaError:
        """The error that Forma has no such construct."""
        what, instead = described(node)
        return self.span(node).error(f"Forma has no {what}", hint=instead)

    def identifier(self, name: str, span: Span) -> str:
        """The name in Forma: ``lambda_`` is called lambda, which Python has for itself.
        Raises FormaError for words of Forma's."""
        if name.endswith("_") and keyword.iskeyword(name.rstrip("_")):
            name = name[:-1]
        if name in RESERVED:
            raise span.error(
                f"'{name}' is a word of the language, and no name",
                hint=INSTEAD.get(name, "choose another name"),
            )
        if not _NAME.fullmatch(name):
            raise span.error(
                f"'{name}' is no name in Forma",
                hint="names are made of the letters a to z and A to Z, digits and _",
            )
        return name

    def found(self, node: ast.expr) -> object:
        """What a name that is not a variable means in Python, MISSING if nothing; it is
        used by the function."""
        found = self.names.find(node)
        if isinstance(found, Unnamed):
            name = node.attr if isinstance(node, ast.Attribute) else _id(node)
            span = self.span(node)
            found = found.named(self.identifier(name, span), span)
        if isinstance(found, Definition):
            self.uses[found.order] = found
        return found

    def type_of(self, node: ast.expr) -> str:
        """The name of a type: int8, int16, int, float, double, or a struct."""
        found = self.found(node)
        if isinstance(found, Definition | Nested) and found.kind == "struct":
            return found.name
        return self.scalar_of(node)

    def scalar_of(self, node: ast.expr) -> str:
        """The name of a type of numbers."""
        found = self.names.find(node)
        if isinstance(found, TypeWord):
            return found.name
        if isinstance(found, type) and found in _TYPES:
            return _TYPES[found]
        is_struct = isinstance(found, Definition | Nested) and found.kind == "struct"
        raise self.span(node).error(
            "this is no type of numbers" if is_struct else "this is no type of Forma's",
            legal=("forma.int8", "forma.int16", "int", "float", "forma.double"),
            hint="or for domains a class under @forma.struct, without quotes",
        )

    # Expressions

    def expression(self, node: ast.expr) -> T.Expr:
        """The expression in Forma. Raises FormaError for what has no counterpart."""
        match node:
            case ast.Constant():
                return self.constant(node.value, self.span(node))
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp():
                op = self._operator(node.op, _UNARY, node)
                return T.Unary(self.span(node), op, self.expression(node.operand))
            case ast.BinOp():
                op = self._operator(node.op, _BINARY, node)
                a, b = self.expression(node.left), self.expression(node.right)
                return T.Binary(self.span(node), op, a, b)
            case ast.BoolOp():
                return self._logic(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return T.Conditional(
                    self.span(node),
                    self.expression(node.test),
                    self.expression(node.body),
                    self.expression(node.orelse),
                )
            case ast.Attribute():
                return self._member(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self._call(node)
            case ast.Dict():
                return self._compose(node)
            case _:
                raise self.refused(node)

    def constant(self, value: object, span: Span) -> T.Expr:
        """A number of Python's or NumPy's."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool):
            raise span.error(
                f"Forma has no {value}", hint=f"write {int(value)}, or a comparison"
            )
        if isinstance(value, int | float) and value < 0:
            positive = self.constant(-value, span)  # taken from outside
            return T.Unary(span, "-", positive)
        if isinstance(value, int):
            if value > LARGEST_INT:
                raise span.error(
                    "this integer is larger than any int",
                    hint=f"write at most {LARGEST_INT}, or a double: "
                    'forma.double("1e10")',
                )
            return T.Number(span, int(value), "int")
        if isinstance(value, float):
            if math.isnan(value):
                raise span.error("this is not a number, which Forma cannot write")
            if not value <= LARGEST_FLOAT:
                raise span.error(
                    "this number is larger than any float",
                    hint='write a double: forma.double("1e40")',
                )
            return T.Number(span, float(value), "float")
        kind = type(value).__name__
        raise span.error(
            f"a number is needed here, and this is of Python's type {kind}",
            hint="numbers alone are taken over from Python",
        )

    def _operator(
        self, op: ast.AST, known: dict[type[ast.AST], str], node: ast.expr
    ) -> str:
        found = known.get(type(op))
        if found is None:
            what, instead = OPERATORS[type(op)]
            raise self.span(node).error(f"Forma has no operator {what}", hint=instead)
        return found

    def _logic(self, node: ast.BoolOp) -> T.Expr:
        first, *others = node.values
        result = self.expression(first)
        for one in others:
            b = self.expression(one)
            result = T.Binary(result.span.to(b.span), _BINARY[type(node.op)], result, b)
        return result

    def _comparison(self, node: ast.Compare) -> T.Expr:
        if len(node.ops) > 1:
            raise self.span(node).error(
                "Forma compares two values at a time",
                hint="write a < b and b < c",
            )
        op = self._operator(node.ops[0], _BINARY, node)
        a, b = self.expression(node.left), self.expression(node.comparators[0])
        return T.Binary(self.span(node), op, a, b)

    def _name(self, node: ast.Name) -> T.Expr:
        span = self.span(node)
        if node.id in self.families:
            raise span.error(
                f"'{node.id}' is qualified, and stands for several domains",
                hint=f"say which: {node.id}[0]",
            )
        found = MISSING
        if node.id not in self.variables:
            found = self.found(node)
        if found is MISSING or _is_parameter(found):
            return T.Name(span, self.identifier(node.id, span))
        return self._outside(found, node.id, span)

    def _outside(self, found: object, name: str, span: Span) -> T.Expr:
        """The value of what is found outside of the function: a number."""
        if isinstance(found, Places) or self._called(found) is not None:
            raise span.error(
                f"'{name}' has no value by itself", hint=f"apply it: {name}(x)"
            )
        return self.constant(found, span)

    def _member(self, node: ast.Attribute) -> T.Expr:
        span = self.span(node)
        if not self._is_variable(node.value):
            found = self.found(node)
            if found is not MISSING:
                name = self.identifier(node.attr, span)
                if _is_parameter(found):
                    return T.Name(span, name)
                return self._outside(found, name, span)
        of = self.expression(node.value)
        return T.Member(span, of, self.identifier(node.attr, span))

    def _is_variable(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.variables

    # Brackets

    def _subscript(self, node: ast.Subscript) -> T.Expr:
        entries = self._entries(node)
        ranges = [one for one in entries if isinstance(one, ast.Slice)]
        if self.in_stencil:
            steps = tuple([self._step(one) for one in entries])
            return T.At(self.span(node), self.expression(node.value), steps)
        if ranges:
            if len(ranges) < len(entries):
                one = next(one for one in entries if one not in ranges)
                raise self.span(one).error(
                    "a crop has a range for each dimension",
                    hint="write a range of one: 3:4",
                )
            crop = tuple([self._range(one) for one in ranges])
            return T.Crop(self.span(node), self.expression(node.value), crop)
        if isinstance(node.value, ast.Name) and node.value.id in self.families:
            return self.qualified(node)
        raise self.span(node).error(
            "brackets crop a domain, or say which of a qualified variable; points are "
            "read in stencils",
            hint="crop by ranges, x[3:26, 5:30]; a qualified variable begins by g = {}",
        )

    def qualified(self, node: ast.Subscript) -> T.Name:
        """``g[i]``, of a qualified variable."""
        assert isinstance(node.value, ast.Name)
        span = self.span(node)
        index = self.expression(node.slice)
        return T.Name(span, self.identifier(node.value.id, span), index)

    def _entries(self, node: ast.Subscript) -> list[ast.expr]:
        """What stands in brackets, one for each dimension."""
        inside = node.slice
        if not isinstance(inside, ast.Tuple):
            return [inside]
        written = self.span(inside).text()
        if inside.elts and _is_enclosed(written):
            raise self.span(inside).error(
                f"Python reads [{written}] as [{written[1:-1]}]",
                hint=f"write [{written},] for an offset with its scale, and "
                f"[{written[1:-1]}] for two offsets",
            )
        return inside.elts

    def _step(self, node: ast.expr) -> T.Step:
        """An offset, or an offset and a scale."""
        if isinstance(node, ast.Slice):
            raise self.span(node).error(
                "a stencil reads points, not ranges",
                hint="an offset is a number, X[-1, 0], or one with a scale, "
                "X[(-1, 2), 0]",
            )
        if not isinstance(node, ast.Tuple):
            return T.Step(self.span(node), self.expression(node))
        if len(node.elts) != 2:
            raise self.span(node).error(
                f"an offset with its scale are two numbers, not {len(node.elts)}",
                hint="(a, b) stands for the point a + i * b",
            )
        offset, scale = [self.expression(one) for one in node.elts]
        return T.Step(self.span(node), offset, scale)

    def _range(self, node: ast.Slice) -> T.Range:
        """The range of a crop, whose last point is the one before Python's end."""
        span = self._unstepped(node)
        if node.upper is None:
            raise span.error(
                "a crop says where it ends",
                hint="write the size: x[3:M, 0:N]",
            )
        last = self.before(node.upper)
        for one in (node.lower, node.upper):
            if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub):
                raise self.span(one).error(
                    "a crop counts from the first point alone",
                    hint="count from the size: x[1:M - 1, 0:N]",
                )
        return T.Range(span, self._first(node), last)

    def _first(self, node: ast.Slice) -> T.Expr:
        if node.lower is None:
            return T.Number(self.span(node), 0, "int")
        return self.expression(node.lower)

    def _unstepped(self, node: ast.Slice) -> Span:
        if node.step is not None:
            raise self.span(node.step).error(
                "a range has no step",
                hint="a stencil reads every second point: X[(0, 2), 0]",
            )
        return self.span(node)

    def before(self, node: ast.expr, step: int = 1) -> T.Expr:
        """The last number before Python's end of a range: `e` for ``e + 1``, 4 for
        ``5``, and ``e - 1`` for others. step: -1 for ranges that go down."""
        span, e = self.span(node), self.expression(node)
        value = literal(e)
        if value is not None:
            return self.constant(value - step, span)
        if isinstance(e, T.Binary) and e.op in "+-":
            value = literal(e.b)
            if value is not None:
                value = (value if e.op == "+" else -value) - step
                return self._moved(span, e.a, value)
        return self._moved(span, e, -step)

    def _moved(self, span: Span, e: T.Expr, by: int) -> T.Expr:
        if by == 0:
            return e
        amount = T.Number(span, abs(by), "int")
        return T.Binary(span, "+" if by > 0 else "-", e, amount)

    # Calls

    def _call(self, node: ast.Call) -> T.Expr:
        found = self.found(node.func)
        name = self._called(found)
        if name is None:
            raise self._uncalled(node, found)
        self._plain_arguments(node)
        if name == "double" and len(node.args) == 1:
            given = node.args[0]
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                return self._double(given.value, self.span(node))
        args = tuple([self._argument(one) for one in node.args])
        return T.Call(self.span(node), name, args)

    def _uncalled(self, node: ast.Call, found: object) -> FormaError:
        """The error that this is no call in an expression of Forma's."""
        span, called = self.span(node), self.span(node.func).text()
        if isinstance(found, BoundaryWord):
            return span.error(
                "a boundary condition stands around an argument",
                hint=f"apply a stencil to it: f({called}(x))",
            )
        of = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        if self.names.find(of) is parameter or _is_vector(self.names.find(of)):
            return span.error(
                "parameters and inputs are declared by statements of a program",
                hint="write M, N = parameter(), or photo = Vector2[float](M, N)",
            )
        if of is not node.func:
            return span.error(
                "where the points of a domain go is said where it is assigned",
                hint="assign it first: wide = at[(0, 2), 0](x)",
            )
        if found is MISSING:
            return span.error(
                f"there is no function '{called}' here",
                hint="define it before, by @forma.stencil or @forma.vector",
            )
        base = getattr(found, "__name__", "")
        hint = f"write forma.{base}" if base in MATH else _FUNCTIONS
        return span.error(f"'{called}' is no function of Forma's", hint=hint)

    def _called(self, found: object) -> str | None:
        """The name in Forma of what can be called there."""
        if isinstance(found, TypeWord | MathWord | Nested):
            return found.name
        if isinstance(found, Definition) and found.kind != "parameter":
            return found.name
        if isinstance(found, type):
            return _TYPES.get(found)
        return _MATH.get(found) if isinstance(found, BuiltinFunctionType) else None

    def _plain_arguments(self, node: ast.Call) -> None:
        for keyword_ in node.keywords:
            raise self.span(keyword_).error(
                "arguments are given by their position",
                hint="write the value alone",
            )

    def _double(self, text: str, span: Span) -> T.Expr:
        """``double("0.1")``: a literal, which is not rounded to a float first."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise span.error(
                f"'{text}' is no double", hint='write a number: forma.double("0.1")'
            )
        number = T.Number(span, math.fabs(value), "double")
        return T.Unary(span, "-", number) if value < 0 else number

    def _argument(self, node: ast.expr) -> T.Argument:
        """One argument, with its boundary condition around it."""
        found = self.names.find(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(found, BoundaryWord):
            return T.Argument(self.span(node), self.expression(node))
        self._plain_arguments(node)
        takes = 2 if found.name == "constant" else 1
        if len(node.args) != takes:
            is_written = "constant(x, 0)" if takes == 2 else f"{found.name}(x)"
            raise self.span(node).error(
                f"'{found.name}' takes a domain{' and a number' if takes == 2 else ''}",
                hint=f"write {is_written}",
            )
        value = self.expression(node.args[1]) if takes == 2 else None
        boundary = T.Boundary(self.span(node.func), found.name, value)
        return T.Argument(self.span(node), self.expression(node.args[0]), boundary)

    # Places

    def _compose(self, node: ast.Dict) -> T.Expr:
        if not node.keys:
            raise self.span(node).error(
                "a compose has parts",
                hint="write {at[0:]: x, at[8:]: y}; a qualified variable begins by "
                "g = {}, in a statement of its own",
            )
        parts = []
        for key, value in zip(node.keys, node.values, strict=True):
            place = None if key is None else self.placement(key)
            if key is None or place is None:
                raise self.span(key or value).error(
                    "a part of a compose says where it is put",
                    hint="write {at[(0, 2), 0]: x, at[(1, 2), 0]: y}",
                )
            e = self.expression(value)
            parts.append(T.Part(place.span.to(e.span), place, e))
        return T.Compose(self.span(node), tuple(parts))

    def placement(self, node: ast.expr) -> T.Placement | None:
        """``at[…]``: where points go. None for anything else."""
        if not isinstance(node, ast.Subscript):
            return None
        if not isinstance(self.names.find(node.value), Places):
            return None
        span, entries = self.span(node), self._entries(node)
        ranges = [one for one in entries if isinstance(one, ast.Slice)]
        if not ranges:
            return T.Scatter(span, tuple([self._step(one) for one in entries]))
        if len(ranges) < len(entries):
            raise span.error(
                "a place has offsets alone, or paddings alone",
                hint="write at[(0, 2), 0], or at[3:, 5:]",
            )
        amounts = []
        for one in ranges:
            place = self._unstepped(one)
            if one.upper is not None:
                raise place.error(
                    "a padding has no end",
                    hint="write at[3:, 5:]: the size is that of the domain",
                )
            amounts.append(self._first(one))
        return T.Padding(span, tuple(amounts))


def _id(node: ast.expr) -> str:
    assert isinstance(node, ast.Name)
    return node.id


def _is_enclosed(text: str) -> bool:
    """Whether the parentheses of a tuple, if there are any, are around all of it."""
    depth = 0
    for k, one in enumerate(text):
        depth += (one in "([{") - (one in ")]}")
        if depth == 0:
            return k == len(text) - 1
    return False


def _is_parameter(found: object) -> bool:
    return isinstance(found, Definition) and found.kind == "parameter"


def _is_vector(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Vector)


def literal(e: T.Expr) -> int | None:
    """The number that is written, with its sign."""
    if isinstance(e, T.Unary) and e.op == "-":
        value = literal(e.of)
        return None if value is None else -value
    if isinstance(e, T.Number) and isinstance(e.value, int):
        return e.value
    return None


__all__ = ["Expressions", "literal"]
