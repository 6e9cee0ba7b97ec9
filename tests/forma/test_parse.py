"""The parser of Forma: trees, and what it says of what it cannot read."""

from __future__ import annotations

import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from parhelion import forma
from parhelion.errors import FormaError, HalideError, Site
from parhelion.forma import tree as T
from parhelion.forma.parse import LONGEST, parse, parse_file
from parhelion.forma.spans import Source, Span

NOWHERE = Span(Source(""), 0, 0)


def refused(text: str) -> str:
    with pytest.raises(FormaError) as caught:
        parse(text, "a.forma")
    return str(caught.value)


def test_a_tree() -> None:
    program = parse(
        """
        // All there is of declarations.
        struct RGB { int8 r, g; int8 b; }
        parameter M, N; parameter float t;
        stencil f(vector#2 RGB X, float t) { return X@[(-1, 2), 0].r * t; }
        vector#2 RGB image[M, N - 1];
        g<0> = f(image:mirror, t);  /* one statement */
        return g<0>;
        """
    )
    at = NOWHERE

    def number(value: int) -> T.Number:
        return T.Number(at, value, "int")

    assert program == T.Program(
        at,
        (
            T.Struct(
                at, "RGB", tuple([T.FieldDecl(at, "int8", name) for name in "rgb"])
            ),
        ),
        (
            T.Parameter(at, "M"),
            T.Parameter(at, "N"),
            T.Parameter(at, "t", "float"),
        ),
        (
            T.Input(
                *(at, "RGB", 2, "image"),
                (T.Name(at, "M"), T.Binary(at, "-", T.Name(at, "N"), number(1))),
            ),
        ),
        (
            T.Function(
                *(at, "stencil", "f"),
                (T.Formal(at, "RGB", 2, "X"), T.Formal(at, "float", None, "t")),
                (
                    T.Return(
                        at,
                        (
                            T.Binary(
                                *(at, "*"),
                                T.Member(
                                    at,
                                    T.At(
                                        at,
                                        T.Name(at, "X"),
                                        (
                                            T.Step(
                                                at,
                                                T.Unary(at, "-", number(1)),
                                                number(2),
                                            ),
                                            T.Step(at, number(0)),
                                        ),
                                    ),
                                    "r",
                                ),
                                T.Name(at, "t"),
                            ),
                        ),
                    ),
                ),
                at,
            ),
        ),
        (
            T.Assign(
                at,
                (T.Target(at, "g", number(0)),),
                T.Call(
                    *(at, "f"),
                    (
                        T.Argument(at, T.Name(at, "image"), T.Boundary(at, "mirror")),
                        T.Argument(at, T.Name(at, "t")),
                    ),
                ),
            ),
            T.Return(at, (T.Name(at, "g", number(0)),)),
        ),
    )


def value(text: str) -> T.Expr:
    (statement,) = parse(f"y = {text};").body
    assert isinstance(statement, T.Assign)
    return statement.value


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b % c", "(a / b) % c"),
        ("-a * b", "(-a) * b"),
        ("-a.r", "-(a.r)"),
        ("a < b == c > d", "(a < b) == (c > d)"),
        ("a || b && c == d", "a || (b && (c == d))"),
        ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
        ("a || b ? c : d", "(a || b) ? c : d"),
        ("a@[1][0..1].r", "((a@[1])[0..1]).r"),
        ("f(a ? b : c:mirror)", "f((a ? b : c):mirror)"),
    ],
)
def test_what_binds_tighter(text: str, same: str) -> None:
    assert value(text) == value(same)
    assert value(text) != value("a")


def test_qualified_variables_are_no_comparisons() -> None:
    i = T.Name(NOWHERE, "i")
    one = T.Number(NOWHERE, 1, "int")
    before = T.Binary(NOWHERE, "-", i, one)
    assert value("g<i-1>") == value("g < i - 1 >") == T.Name(NOWHERE, "g", before)
    assert value("g < i") == T.Binary(NOWHERE, "<", T.Name(NOWHERE, "g"), i)
    assert isinstance(value("(g < i) == (1 > g)"), T.Binary)
    assert isinstance(value("g < 1.5 ? g : i > 1"), T.Conditional)
    (statement,) = parse("g<i>=g<i-1>;").body
    assert isinstance(statement, T.Assign)
    assert statement.targets == (T.Target(NOWHERE, "g", i),)


@pytest.mark.parametrize(
    ("text", "number", "type"),
    [
        ("7", 7, "int"),
        ("7.", 7.0, "float"),
        (".5", 0.5, "float"),
        ("1e3", 1000.0, "float"),
        ("1.5d", 1.5, "double"),
        ("2d", 2.0, "double"),
        ("2.5e-3f", 0.0025, "float"),
    ],
)
def test_numbers(text: str, number: float, type: str) -> None:
    assert value(text) == T.Number(NOWHERE, number, type)


def test_ranges_are_no_numbers() -> None:
    crop = value("x[3..25,5..29]")
    assert isinstance(crop, T.Crop)
    assert [r.last for r in crop.ranges] == [value("25"), value("29")]


def test_spans() -> None:
    text = "y = f(\n  x@[1, 0]  );"
    (statement,) = parse(text).body
    assert isinstance(statement, T.Assign)
    call = statement.value
    assert isinstance(call, T.Call)
    assert call.span.text() == "f(\n  x@[1, 0]  )"
    assert (call.span.line, call.span.column) == (1, 5)
    assert (call.span.end_line, call.span.end_column) == (2, 14)
    assert call.args[0].span.text() == "x@[1, 0]"
    assert (call.args[0].span.line, call.args[0].span.column) == (2, 3)
    assert str(call.args[0].span.site()) == "<forma>:2:3"


REFUSED = {
    "to vector#2 RGB input[M,N];": """\
'to' cannot stand before an input
  --> a.forma:1:1
   |  to vector#2 RGB input[M,N];
   |  ^^
hint: leave it out: in the paper's Listing 3 it is a misprint""",
    "y = f(x)\nz = 3;": """\
expected ';' before 'z'
  --> a.forma:1:9
   |  y = f(x)
   |         ^
hint: each statement and declaration ends with ;""",
    "y = f(x\nreturn y;": """\
expected ')', ',' or ':', not 'return'
  --> a.forma:2:1
   |  return y;
   |  ^^^^^^""",
    "y = (a+);": """\
expected an expression, not ')'
  --> a.forma:1:8
   |  y = (a+);
   |         ^""",
    "y = if (a) b;": """\
'if' is a word of the language, and no name
  --> a.forma:1:5
   |  y = if (a) b;
   |      ^^
hint: write condition ? one : other""",
    "while (a) b;": """\
'while' cannot stand here
  --> a.forma:1:1
   |  while (a) b;
   |  ^^^^^
hint: Forma has loops over numbers alone: for i = 1..3 … endfor""",
    "stencil f(vector#2 int X) { return X;": """\
expected a statement or '}', not the end of the program
  --> a.forma:1:37
   |  stencil f(vector#2 int X) { return X;
   |                                      ^
hint: something that was opened is not closed""",
    "stencil f(vector#2 int X) { parameter M; }": """\
'parameter' cannot stand here
  --> a.forma:1:29
   |  stencil f(vector#2 int X) { parameter M; }
   |                              ^^^^^^^^^
hint: parameters are declared outside of functions and loops""",
    "y = 3 $ 4;": """\
the character '$' has no meaning here
  --> a.forma:1:7
   |  y = 3 $ 4;
   |        ^
hint: remove it, or look at what stands before it""",
    "y = a /* b;": """\
the comment does not end
  --> a.forma:1:7
   |  y = a /* b;
   |        ^^
hint: end it by */""",
    "y = x[3, 4];": """\
expected '..', not ','
  --> a.forma:1:8
   |  y = x[3, 4];
   |         ^
hint: a crop is written [first..last, …], a padding on the left [n.., …]""",
    "int8 = 4;": """\
'int8' is a word of the language, and no name
  --> a.forma:1:1
   |  int8 = 4;
   |  ^^^^
hint: choose another name""",
    "y = 99999999999;": """\
the integer 99999999999 is larger than any int
  --> a.forma:1:5
   |  y = 99999999999;
   |      ^^^^^^^^^^^
hint: write at most 2147483647, or a double: 1e10d""",
    "y = 1e39;": """\
the number 1e39 is larger than any float
  --> a.forma:1:5
   |  y = 1e39;
   |      ^^^^
hint: a double has the suffix d: 1e40d""",
    "y = 1e999d;": """\
the number 1e999d is larger than any double
  --> a.forma:1:5
   |  y = 1e999d;
   |      ^^^^^^
hint: write at most 1.79e308d""",
    "vector#9 int x[M];": """\
a domain has from 1 to 8 dimensions, not 9
  --> a.forma:1:8
   |  vector#9 int x[M];
   |         ^
hint: write vector#2 for an image""",
    "foo bar": """\
expected ',' or '=', not 'bar'
  --> a.forma:1:5
   |  foo bar
   |      ^^^""",
    "@": """\
expected a statement, not '@'
  --> a.forma:1:1
   |  @
   |  ^""",
    "return 1, 0];": """\
expected ';' before ']'
  --> a.forma:1:12
   |  return 1, 0];
   |             ^
hint: each statement and declaration ends with ;""",
    "x[0..] = 1": """\
expected ';' before the end of the program
  --> a.forma:1:11
   |  x[0..] = 1
   |           ^
hint: each statement and declaration ends with ;""",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_forma(text: str) -> None:
    assert refused(text) == REFUSED[text]


def test_a_long_line_is_quoted_in_part() -> None:
    lines = refused("a = 1; " * 1000 + "x y").splitlines()
    assert lines[1] == "  --> a.forma:1:7003"
    assert len(lines[2]) < 200 and lines[2].endswith("x y")
    assert lines[2][lines[3].index("^")] == "y"


def test_tabs_and_odd_characters_keep_the_mark_in_its_place() -> None:
    line, marks = refused("\t\ty =\t3 \x00;").splitlines()[2:4]
    assert line[marks.index("^") - 2] == "3"


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "blur.forma"
    path.write_bytes(b"\xef\xbb\xbfy = 3;\r\nz = ;")
    with pytest.raises(FormaError) as caught:
        parse_file(path)
    assert f"--> {path}:2:5" in str(caught.value)
    path.write_bytes(b"y = 3;\nz = \xff;")
    with pytest.raises(FormaError) as caught:
        parse_file(path)
    assert str(caught.value) == (
        f"the byte 0xff is not UTF-8\n  --> {path}:2:5\nhint: save the program as UTF-8"
    )


def test_without_lark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lark", None)
    monkeypatch.delitem(sys.modules, "parhelion.forma.lalr", raising=False)
    monkeypatch.delitem(sys.modules, "parhelion.forma.build_tree", raising=False)
    with pytest.raises(HalideError, match="needs the package lark") as caught:
        parse("y = 3;")
    assert 'pip install "parhelion[forma]"' in str(caught.value)


def test_programs_that_are_huge() -> None:
    """An answer or a clear error, in seconds."""
    began = time.monotonic()
    assert refused("y = 1;\n" * 1_500_000) == (
        "the program has 10500000 characters, and at most 1000000 are read\n"
        "  --> a.forma:1:1\n"
        "   |  y = 1;\n"
        "   |  ^\n"
        "hint: write stages that repeat as a loop, or as a vector function"
    )
    assert time.monotonic() - began < 2
    text = f"y = {'(' * 1000}x{')' * 1000};"
    assert len(text) < LONGEST
    assert value("(" * 1000 + "x" + ")" * 1000) == value("x")
    assert "expected an expression" in refused("y = " + "(" * 100_000)
    assert len(parse("y = f(y:mirror);\n" * 10_000).body) == 10_000
    parse("y = " + "-" * 50_000 + "x;")
    parse("y = " + "x + " * 50_000 + "x;")


def test_names_in_all_states() -> None:
    """Words of the language are no names, though the lexer knows what may come next."""
    for word in ("struct", "endfor", "return", "vector", "int", "while"):
        for text in (f"y = {word};", f"parameter {word};", f"y = x.{word};"):
            assert refused(text)


def test_sites_tell_columns() -> None:
    """Those of other languages do not, and all are copied whole."""
    span = Span(Source("a = 3;\nb = 4;", "a.forma"), 11, 12)
    site = span.site()
    assert str(site) == "a.forma:2:5" and site.marked() == ("b = 4;", "    ^")
    assert str(pickle.loads(pickle.dumps(site))) == str(site)
    assert str(Site("a.py", 2)) == "a.py:2"


def test_threads_parse_side_by_side() -> None:
    texts = [f"x{k} = {'f(' * k}y{')' * k};" for k in range(60)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(parse, texts))
    assert found == [parse(text) for text in texts]
    assert all(
        one.span.source.text == text for one, text in zip(found, texts, strict=True)
    )


def test_a_mark_of_the_byte_order_is_skipped(tmp_path: Path) -> None:
    """Editors of Windows write one; a text that Python has read may begin with it."""
    text = "parameter M; vector#1 int x[M]; return x;"
    (tmp_path / "marked.forma").write_text(text, encoding="utf-8-sig")
    trees = [parse(text), parse("\ufeff" + text)]
    trees.append(parse_file(tmp_path / "marked.forma"))
    assert len({repr(tree) for tree in trees}) == 1


def test_the_least_int_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_TRACEBACK", "")
    text = "parameter M; vector#1 int x[M]; stencil f(vector#1 int X) { return X%s; }"
    with pytest.raises(FormaError, match="the least int is -2147483647 - 1") as caught:
        forma.compile(text % " + -2147483648")
    assert caught.traceback[-1].path == Path(__file__)
    parse(text % " + (-2147483647 - 1)" + " return f(x);")
    with pytest.raises(FormaError, match="or a double: 1e10d$"):
        parse(text % " + 2147483649")
