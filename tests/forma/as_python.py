"""Writes a program of Forma as its Pythonic twin, for comparing the two."""

from __future__ import annotations

import ast
import keyword

from parhelion.forma import tree as T

_BINARY: dict[str, ast.operator] = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.Div(),
    "%": ast.Mod(),
}
_COMPARE: dict[str, ast.cmpop] = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
}
_UNARY: dict[str, ast.unaryop] = {"-": ast.USub(), "+": ast.UAdd(), "!": ast.Not()}
#: Under these names Python has its own functions, which mean the same.
_PLAIN = ("int", "float", "abs", "min", "max", "pow", "round")
_WORDS = (
    *("int8", "int16", "double", "sqrt", "exp", "log", "floor", "ceil", "trunc"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
)


def as_python(program: T.Program, name: str = "twin") -> str:
    """The text of a Python function `name`, in a file that imports `forma`."""
    body = [_struct(one) for one in program.structs]
    for one in program.parameters:
        args = [] if one.type == "int" else [_type(one.type)]
        body.append(_assigned(one.name, _called("parameter", args)))
    for given in program.inputs:
        vector = _vector(given.dimensions, given.type)
        sizes = [_expression(one) for one in given.sizes]
        body.append(_assigned(given.name, ast.Call(vector, sizes, [])))
    body += [_function(one) for one in program.functions]
    body += _body(program.body)
    return ast.unparse(ast.fix_missing_locations(_def(name, [], body, "program")))


def _name(name: str) -> ast.Name:
    return ast.Name(name + "_" * keyword.iskeyword(name))


def _word(name: str) -> ast.expr:
    return ast.Attribute(ast.Name("forma"), name)


def _called(word: str, args: list[ast.expr]) -> ast.expr:
    return ast.Call(_word(word), args, [])


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([_name(name)], value)


def _type(name: str) -> ast.expr:
    if name in ("int8", "int16", "double"):
        return _word(name)
    return _name(name)


def _vector(dimensions: int, type: str) -> ast.expr:
    return ast.Subscript(_word(f"Vector{dimensions}"), _type(type))


def _def(
    name: str, args: list[ast.arg], body: list[ast.stmt], decorator: str
) -> ast.stmt:
    return ast.FunctionDef(
        name + "_" * keyword.iskeyword(name),
        ast.arguments([], args, None, [], [], None, []),
        body,
        [_word(decorator)],
        ast.Name("object"),
    )


def _struct(struct: T.Struct) -> ast.stmt:
    fields: list[ast.stmt] = [
        ast.AnnAssign(_name(one.name), _type(one.type), None, 1)
        for one in struct.fields
    ]
    return ast.ClassDef(struct.name, [], [], fields, [_word("struct")])


def _function(function: T.Function) -> ast.stmt:
    args = [
        ast.arg(
            one.name + "_" * keyword.iskeyword(one.name),
            _type(one.type)
            if one.dimensions is None
            else _vector(one.dimensions, one.type),
        )
        for one in function.formals
    ]
    return _def(function.name, args, _body(function.body), function.kind)


def _body(body: tuple[T.Statement, ...]) -> list[ast.stmt]:
    families = dict.fromkeys(_qualified(body))
    return [
        *[_assigned(one, ast.Dict([], [])) for one in families],
        *[_statement(one) for one in body],
    ]


def _qualified(body: tuple[T.Statement, ...]) -> list[str]:
    found = []
    for one in body:
        if isinstance(one, T.Assign):
            found += [t.name for t in one.targets if t.index is not None]
        elif isinstance(one, T.For):
            found += _qualified(one.body)
    return found


def _statement(s: T.Statement) -> ast.stmt:
    if isinstance(s, T.Return):
        return ast.Return(_several([_expression(one) for one in s.values]))
    if isinstance(s, T.For):
        return _loop(s)
    assert isinstance(s, T.Assign)
    value = _expression(s.value)
    if s.targets[0].placement is not None:
        value = ast.Call(_place(s.targets[0].placement), [value], [])
    targets = [_expression(T.Name(one.span, one.name, one.index)) for one in s.targets]
    return ast.Assign([_several(targets)], value)


def _several(values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.Tuple(values)


def _loop(s: T.For) -> ast.stmt:
    down = isinstance(s.step, T.Unary)
    args = [_expression(s.first), _end(s.last, -1 if down else 1)]
    if s.step is not None:
        args.append(_expression(s.step))
    body = [_statement(one) for one in s.body]
    return ast.For(_name(s.variable), ast.Call(ast.Name("range"), args, []), body, [])


def _end(last: T.Expr, by: int) -> ast.expr:
    if isinstance(last, T.Number) and last.value < 2**31 - 1:
        return ast.parse(repr(last.value + by), mode="eval").body
    return ast.BinOp(
        _expression(last), ast.Add() if by > 0 else ast.Sub(), ast.Constant(1)
    )


def _expression(e: T.Expr) -> ast.expr:
    match e:
        case T.Number(value=value, type="double"):
            return _called("double", [ast.Constant(repr(value))])
        case T.Number(value=value):
            return ast.Constant(value)
        case T.Name(name=name, index=None):
            return _name(name)
        case T.Name(name=name, index=index):
            assert index is not None
            return ast.Subscript(_name(name), _expression(index))
        case T.Unary(op=op, of=of):
            return ast.UnaryOp(_UNARY[op], _expression(of))
        case T.Binary(op=op, a=a, b=b):
            x, y = _expression(a), _expression(b)
            if op in _BINARY:
                return ast.BinOp(x, _BINARY[op], y)
            if op in _COMPARE:
                return ast.Compare(x, [_COMPARE[op]], [y])
            return ast.BoolOp(ast.And() if op == "&&" else ast.Or(), [x, y])
        case T.Conditional(condition=condition, yes=yes, no=no):
            return ast.IfExp(_expression(condition), _expression(yes), _expression(no))
        case T.Member(of=of, name=name):
            field = name + "_" * keyword.iskeyword(name)
            return ast.Attribute(_expression(of), field)
        case T.At(of=of, steps=steps):
            return ast.Subscript(_expression(of), _steps(steps))
        case T.Crop(of=of, ranges=ranges):
            slices: list[ast.expr] = [
                ast.Slice(_expression(one.first), _end(one.last, 1)) for one in ranges
            ]
            return ast.Subscript(_expression(of), _several(slices))
        case T.Call(function=function, args=args):
            if function in _WORDS:
                called = _word(function)
            else:
                called = ast.Name(function) if function in _PLAIN else _name(function)
            return ast.Call(called, [_argument(one) for one in args], [])
        case T.Compose(parts=parts):
            keys: list[ast.expr | None] = [_place(one.placement) for one in parts]
            return ast.Dict(keys, [_expression(one.value) for one in parts])
        case _:
            raise AssertionError(e)


def _argument(argument: T.Argument) -> ast.expr:
    value = _expression(argument.value)
    boundary = argument.boundary
    if boundary is None:
        return value
    more = [] if boundary.value is None else [_expression(boundary.value)]
    return _called(boundary.kind, [value, *more])


def _steps(steps: tuple[T.Step, ...]) -> ast.expr:
    made: list[ast.expr] = [
        _expression(one.offset)
        if one.scale is None
        else ast.Tuple([_expression(one.offset), _expression(one.scale)])
        for one in steps
    ]
    if len(made) > 1 or not isinstance(made[0], ast.Tuple):
        return _several(made)
    return ast.Tuple(made)


def _place(placement: T.Placement) -> ast.expr:
    if isinstance(placement, T.Scatter):
        return ast.Subscript(_word("at"), _steps(placement.steps))
    amounts: list[ast.expr] = [ast.Slice(_expression(one)) for one in placement.amounts]
    return ast.Subscript(_word("at"), _several(amounts))


__all__ = ["as_python"]
