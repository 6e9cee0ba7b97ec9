"""Python that has no counterpart in Forma: what is said of it, and at which place."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

pytest.importorskip("lark")

from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma.twin.refusals import (
    EXPRESSIONS,
    OPERATORS,
    STATEMENTS,
    described,
)
from tests.forma.python_files import PREFIX, refused, run

#: What is said of words that Python runs.
UNREAD = "has a meaning in functions of Forma alone, which Python does not run"


def marked(message: str) -> str:
    """What a message marks in the line that it quotes."""
    quoted, marks = [
        line[len("   |  ") :] for line in message.splitlines() if line[:4] == "   |"
    ]
    return quoted[marks.index("^") : len(marks)]


def check_refusal(text: str, what: str, part: str) -> None:
    message = refused(text)
    assert message.splitlines()[0] == what
    assert marked(message) == part
    assert "\nhint: " in message
    line = next(k for k, one in enumerate(text.splitlines(), 11) if part in one)
    assert f"  --> a.py:{line}" in message or text.count(part) > 1


def test_a_whole_message() -> None:
    text = "@stencil\ndef s(X: Vector2[float]):\n    y = 3\n    return y + X ** 2\n"
    assert refused(text) == (
        "Forma has no operator **\n"
        "  --> a.py:14:16\n"
        "   |  return y + X ** 2\n"
        "   |             ^^^^^^\n"
        "hint: write forma.pow(a, b), or a * a"
    )


def test_columns_are_counted_in_characters() -> None:
    text = "@stencil\ndef s(X: Vector2[float]):\n    return 'größe', X ** 2\n"
    with pytest.raises(FormaError, match="type str"):
        run(PREFIX + text)
    text = "@stencil\ndef s(X: Vector2[float]):\n    return X.größe + X ** 2\n"
    message = refused(text)
    assert "a.py:13:12\n" in message and marked(message) == "X.größe"


@pytest.mark.parametrize(
    ("body", "what", "part"),
    [
        ("if X:\n        y = 1\n    return y", "Forma has no if statement", "if X:"),
        ("y = X\n    y += 1", "Forma has no assignment that changes a variable",
         "y += 1"),
        ("y: float = X", "Forma has no annotation of a variable", "y: float = X"),
        ("print(X)", "Forma has no statement without an effect", "print(X)"),
        ("import os", "Forma has no import statement", "import os"),
        ("a = b = X", "a value is given to one variable", "b"),
        ("X[0, 1] = 2", "a stencil assigns to plain variables", "X[0, 1]"),
        ("X.r = 2", "this cannot be assigned", "X.r"),
        ("return", "nothing is returned", "return"),
        ("return X // 2", "Forma has no operator //", "X // 2"),
        ("return ~X", "Forma has no operator ~", "~X"),
        ("return X is X", "Forma has no operator is", "X is X"),
        ("return 0 < X < 1", "Forma compares two values at a time", "0 < X < 1"),
        ("return [X, X]", "Forma has no list", "[X, X]"),
        ("return (y := X)", "Forma has no assignment inside of an expression",
         "y := X"),
        ("return f'{X}'", "Forma has no string", "f'{X}'"),
        ("return lambda: X", "Forma has no lambda", "lambda: X"),
        ("return True", "Forma has no True", "True"),
        ("return 'a'", "a number is needed here, and this is of Python's type str",
         "'a'"),
        ("return 1e39", "this number is larger than any float", "1e39"),
        ("return 3000000000", "this integer is larger than any int", "3000000000"),
        ("return forma.double('x')", "'x' is no double", "forma.double('x')"),
        ("return X[1:2, 0]", "a stencil reads points, not ranges", "1:2"),
        ("return X[(1, 2, 3), 0]", "an offset with its scale are two numbers, not 3",
         "(1, 2, 3)"),
        ("return X[(1, 0)]", "Python reads [(1, 0)] as [1, 0]", "(1, 0)"),
        ("return len(X)", "'len' is no function of Forma's", "len(X)"),
        ("return g(X)", "there is no function 'g' here", "g(X)"),
        ("return X.r.f(1)", "there is no function 'X.r.f' here", "X.r.f(1)"),
        ("return abs(x=X)", "arguments are given by their position", "x=X"),
        ("return abs(*X)", "Forma has no * before an argument", "*X"),
        ("return RGB", "'RGB' has no value by itself", "RGB"),
        ("return mirror(X)", "a boundary condition stands around an argument",
         "mirror(X)"),
        ("struct = X", "'struct' is a word of the language, and no name", "struct"),
        ("größe = X", "'größe' is no name in Forma", "größe"),
        ("g = {}", "a qualified variable begins in a program or a vector function",
         "g = {}"),
        ("def t(): return 1",
         "Forma has no function inside of a stencil, a vector function or a loop",
         "def t(): return 1"),
    ],
)  # fmt: skip
def test_in_stencils(body: str, what: str, part: str) -> None:
    check_refusal(f"@stencil\ndef s(X: Vector2[float]):\n    {body}\n", what, part)


@pytest.mark.parametrize(
    ("body", "what", "part"),
    [
        ("for i in X:\n        y = X", "a loop runs over numbers", "X"),
        ("for i in range(0, 6, 2):\n        y = X", "a loop goes up or down by 1", "2"),
        ("for i in range(1, 2, 1, 1):\n        y = X",
         "a range has a first number, an end, and a step", "range(1, 2, 1, 1)"),
        ("for i, j in range(3):\n        y = X", "a loop has one variable", "i, j"),
        ("for i in range(3):\n        y = X\n    else:\n        z = X",
         "a loop has no else", "z = X"),
        ("for i in range(3):\n        g = {}",
         "a qualified variable begins in a program or a vector function", "g = {}"),
        ("while X:\n        y = X", "Forma has no while loop", "while X:"),
        ("g[0] = X", "'g' is not qualified", "g[0]"),
        ("g = {}\n    g = X", "'g' is qualified since g = {}", "g"),
        ("g = {}\n    return g", "'g' is qualified, and stands for several domains",
         "g"),
        ("return X[1]", "brackets crop a domain, or say which of a qualified variable; "
         "points are read in stencils", "X[1]"),
        ("return X[1:, 0:2]", "a crop says where it ends", "1:"),
        ("return X[1:-1, 0:2]", "a crop counts from the first point alone", "-1"),
        ("return X[-2:3, 0:2]", "a crop counts from the first point alone", "-2"),
        ("return X[1:4:2, 0:2]", "a range has no step", "2"),
        ("return X[1:4, 0]", "a crop has a range for each dimension", "0"),
        ("return {}", "a compose has parts", "{}"),
        ("return {X: X}", "a part of a compose says where it is put", "X"),
        ("return {**X}", "a part of a compose says where it is put", "X"),
        ("return {at[0:, 1]: X}", "a place has offsets alone, or paddings alone",
         "at[0:, 1]"),
        ("return {at[0:3, 1:]: X}", "a padding has no end", "0:3"),
        ("return at[0:, 1:](X)", "where the points of a domain go is said where it is "
         "assigned", "at[0:, 1:](X)"),
        ("a, b = at[0:, 1:](X)", "one domain is put at a place", "at[0:, 1:](X)"),
        ("y = Vector2[float](1, 2)",
         "parameters and inputs are declared by statements of a program",
         "Vector2[float](1, 2)"),
        ("M = parameter()",
         "parameters and inputs are declared by statements of a program",
         "parameter()"),
        ("return f(mirror(X, 1))", "'mirror' takes a domain", "mirror(X, 1)"),
        ("return f(constant(X))", "'constant' takes a domain and a number",
         "constant(X)"),
        ("return f(constant(X, v=1))", "arguments are given by their position", "v=1"),
        ("return v(X)", "there is no function 'v' here", "v(X)"),
    ],
)  # fmt: skip
def test_in_vector_functions(body: str, what: str, part: str) -> None:
    check_refusal(f"@vector\ndef v(X: Vector2[float]):\n    {body}\n", what, part)


@pytest.mark.parametrize(
    ("body", "what", "part"),
    [
        ("def h(X: float): return X",
         "'h' is no function and no struct of Forma's", "h"),
        ("@stencil(1)\n    def h(X: float): return X", "a decorator takes a name",
         "stencil(1)"),
        ("for i in range(3):\n        Q = parameter()",
         "parameters and inputs are declared by statements of a program",
         "parameter()"),
        ("a = b = parameter()", "parameters and inputs are declared by plain variables",
         "a = b = parameter()"),
    ],
)  # fmt: skip
def test_in_programs(body: str, what: str, part: str) -> None:
    text = f"@program\ndef p():\n    M, N = parameter()\n    {body}\n"
    check_refusal(text, what, part)


@pytest.mark.parametrize(
    ("head", "what", "part"),
    [
        ("stencil\ndef s(X): return X", "the argument 'X' has no type", "X"),
        ("stencil\ndef s(X: 'Vector2[float]'): return X", "this is no type of Forma's",
         "'Vector2[float]'"),
        ("stencil\ndef s(X: Vector2[str]): return X", "this is no type of Forma's",
         "str"),
        ("stencil\ndef s(X: RGB): return X", "this is no type of numbers", "RGB"),
        ("stencil\ndef s(*X: float): return 1", "arguments are given by their position",
         "X: float"),
        ("stencil\ndef s(*, Y: float): return 1",
         "arguments are given by their position", "Y: float"),
        ("stencil\ndef s(X: float = 3): return 1", "an argument has no default", "3"),
        ("stencil\nasync def s(X: float): return 1",
         "@forma.stencil reads a function that is written by def", "stencil"),
        ("program\ndef p(M): return M", "a program takes no arguments in Python", "M"),
        ("struct\nclass S:\n    x: int = 3", "a struct has fields alone", "x: int = 3"),
        ("struct\nclass S:\n    x: RGB", "this is no type of numbers", "RGB"),
        ("struct\nclass S(object):\n    x: int", "a struct has no bases", "S"),
    ],
)  # fmt: skip
def test_definitions(head: str, what: str, part: str) -> None:
    check_refusal(f"@{head}\n", what, part)


@pytest.mark.parametrize(
    ("text", "what", "part"),
    [
        ("stencil(3)", "@forma.stencil reads a function, and is given an int",
         "stencil(3)"),
        ("struct(3)", "@forma.struct reads a class, and is given an int", "struct(3)"),
        ("vector(lambda X: X)", "@forma.vector reads a function that is written by def",
         "vector(lambda X: X)"),
        ("f(1)", f"the stencil 'f' {UNREAD}", "f(1)"),
        ("at[1]", f"'at' {UNREAD}", "at[1]"),
        ("Vector2(1)", f"'Vector2' {UNREAD}", "Vector2(1)"),
        ("int8(3)", f"'int8' {UNREAD}", "int8(3)"),
        ("RGB(1, 2)", f"the struct 'RGB' {UNREAD}", "RGB(1, 2)"),
        ("parameter(str)",
         "a parameter is a number, and <class 'str'> is no type of numbers",
         "parameter(str)"),
        ("M, N = parameter()",
         "outside of a program, parameters are declared one by one", "M, N"),
        ("class S(RGB): x: int", "a struct has no bases", "class S(RGB): x: int"),
    ],
)  # fmt: skip
def test_what_python_runs(text: str, what: str, part: str) -> None:
    check_refusal(f"{text}\n", what, part)


def test_programs_are_not_called() -> None:
    text = "@program\ndef p():\n    M = parameter()\n    x = Vector1[int](M)\n"
    message = refused(f"{text}    return x\np(3)\n")
    assert message.endswith("hint: compile it before: p_ = forma.compile(p)")


def test_names_that_are_there_twice() -> None:
    again = "f1 = f\n@stencil\ndef f(X: Vector2[float]): return X\n"
    program = "@program\ndef p():\n    M = parameter()\n    x = Vector2[float](M, M)\n"
    message = refused(f"{again}{program}    return f1(f(x))\n")
    assert message.startswith("the program uses a stencil and a stencil 'f'\n")
    assert "\nthey are at a.py:9:1 and a.py:13:1\n" in message
    text = (
        "a = parameter()\nb = a\n@stencil\ndef s(X: Vector1[int]): return X * a * b\n"
    )
    assert refused(text).startswith("the parameter 'b' is called 'a' elsewhere\n")


def test_other_functions_are_named() -> None:
    text = "import numpy as np\n@vector\ndef v(X: Vector2[float]): return np.sqrt(X)\n"
    assert refused(text).endswith("\nhint: write forma.sqrt")


def test_a_file_that_has_changed() -> None:
    scope = run(f"{PREFIX}def s(X: Vector2[float]):\n    return X\n")
    run("\n\n\n")
    with pytest.raises(FormaError, match="the source of 's' is not where Python says"):
        forma.stencil(scope["s"])


# What the checks of all programs find is at the line in Python, too.


@pytest.mark.parametrize(
    ("body", "what", "place"),
    [
        ("return y", "there is no variable 'y'", "15:12"),
        ("x = x\n    return x", "'x' is assigned twice, first in line 14", "15:5"),
        ("g = {}\n    return g[0]", "'g<0>' is used, and 'g' has no value", "16:12"),
        ("y = x", "the program returns nothing", "15:9"),
        ("return x[0 : M + 1, 0:N]",
         "the crop [0..M] ends outside of 'x', which has the size M", "15:14"),
    ],
)  # fmt: skip
def test_checks_of_all_programs(body: str, what: str, place: str) -> None:
    text = "@program\ndef p():\n    M, N = parameter()\n    x = Vector2[float](M, N)\n"
    twin = run(f"{PREFIX}{text}    {body}\n\n\nnext = 3\n")["p"]
    with pytest.raises(FormaError) as caught:
        forma.check(twin)
    assert str(caught.value).startswith(f"{what}\n  --> a.py:{place}\n")


# Nothing of Python's is left without an answer.

#: Those of version 3.11; what came later has an answer of its own, too.
LATER = {"TypeAlias", "TemplateStr", "Interpolation"}


def kinds(base: type[ast.AST]) -> set[str]:
    return {one.__name__ for one in base.__subclasses__()} - LATER


def names(*tables: Mapping[type[ast.AST], object]) -> set[str]:
    return {one.__name__ for table in tables for one in table}


def test_all_of_python_is_known() -> None:
    assert kinds(ast.stmt) == names(STATEMENTS) | {"Assign", "Return", "For"}
    read = {"BoolOp", "BinOp", "UnaryOp", "IfExp", "Dict", "Compare", "Call"}
    read |= {"Constant", "Attribute", "Subscript", "Name"}
    assert kinds(ast.expr) == names(EXPRESSIONS) | read
    operators = kinds(ast.operator) | kinds(ast.unaryop) | kinds(ast.cmpop)
    read = {"Add", "Sub", "Mult", "Div", "Mod", "UAdd", "USub", "Not"}
    read |= {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"}
    assert operators == names(OPERATORS) | read


def test_what_later_versions_of_python_have_is_named() -> None:
    class TypeAlias(ast.stmt):
        pass

    assert described(TypeAlias())[0] == "TypeAlias of Python's"
