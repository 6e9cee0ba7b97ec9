"""Messages show the user's line, and mark the call or the operands that are meant."""

from __future__ import annotations

import code
import copy
import doctest
import linecache
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

import parhelion as hl
from parhelion.errors import Site, here, located
from tests.support.recipes import touched

x, y, xi = hl.vars("x y xi")


def failed(program: object) -> tuple[str, str]:
    assert callable(program)
    with pytest.raises(hl.HalideError) as caught:
        program()
    lines = str(caught.value).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  --> "))
    line, under = (one.removeprefix("   |  ") for one in lines[at + 1 : at + 3])
    assert set(under.strip()) == {"^"}
    return line, line[len(under) - len(under.lstrip()) : len(under)]


def func() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = x + y
    return f


def test_one_call_of_a_chain_is_marked() -> None:
    f = func()

    def program() -> None:
        f.split(x, x, xi, 8).vectorize(y, 8, hl.TailStrategy.Auto).unroll(hl.Var("q"))

    _, marked = failed(program)
    assert marked == '.unroll(hl.Var("q"))'


def test_a_chain_over_several_lines() -> None:
    f = func()

    def program() -> None:
        (
            f.split(x, x, xi, 8)
            .vectorize(xi, 8)
            .unroll(
                hl.Var("q"),
            )
        )

    line, marked = failed(program)
    assert (line, marked) == (".unroll(", "unroll(")


def test_operands_are_marked() -> None:
    def program() -> None:
        f = hl.Func("f")
        f[x, y] = hl.select(x > 3, hl.u8(3) + 300, hl.u8(4))

    _, marked = failed(program)
    assert marked == "hl.u8(3) + 300"


def test_of_a_definition_all_is_marked() -> None:
    f = func()

    def program() -> None:
        f[x + 1, y] = hl.u8(3)

    line, marked = failed(program)
    assert marked == line == "f[x + 1, y] = hl.u8(3)"


def test_of_a_variable_that_is_not_among_the_arguments_its_use_is_marked() -> None:
    f, g = func(), hl.Func("g")
    z, other = hl.Var("z"), hl.Var("w")

    def program() -> None:
        g[x, y] = f[x, y] + f[x, z] + f[z, y]

    line, marked = failed(program)
    assert marked == "z" and line.startswith("g[x, y]")

    def renamed() -> None:
        g[x, y] = f[x, y] + f[x, other]

    line, marked = failed(renamed)
    assert marked == line

    def elsewhere() -> None:
        g[x, y] = f[x, y] + hl.cast("uint8", hl.Var("z"))  # not in quotation marks

    line, marked = failed(elsewhere)
    assert marked == line


def test_letters_of_several_bytes() -> None:
    f = func()

    def program() -> None:
        größe, _ = "日本", f.unroll(hl.Var("q"))  # noqa: F841

    _, marked = failed(program)
    assert marked == '.unroll(hl.Var("q"))'


def test_what_has_no_text() -> None:
    """A site without a line is only named; columns beyond the line mark all of it."""
    error = hl.ScheduleError("what", at=Site("<nowhere>", 3))
    assert str(error) == "what\n  --> <nowhere>:3"
    error = hl.ScheduleError("what", at=Site("a", 3, (40, 50), "  abc"))
    assert str(error) == "what\n  --> a:3\n   |  abc\n   |  ^^^"
    error = hl.ScheduleError("what", at=Site("a", 3, (3, 50), "  abc"))
    assert str(error) == "what\n  --> a:3\n   |  abc\n   |   ^^"


def test_sites_are_values() -> None:
    def mine() -> Site:
        found = hl.Func("f")._function.site
        assert found is not None
        return found

    site = mine()
    again: Site = pickle.loads(pickle.dumps(site))
    assert again == Site(site.file, site.line, site.span())
    assert again.columns is not None and again.frame is None
    assert again.marked() == site.marked()
    assert copy.copy(site) is site and copy.deepcopy(site) is site


# Code that is in no file.

WRONG = "f.vectorize(x, 0)\n"
CELL = "<ipython-input-1-abc>"


def test_a_cell_of_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a name in <>, and its text is in linecache."""
    entry = (len(WRONG), None, [WRONG], CELL)
    monkeypatch.setitem(linecache.cache, CELL, entry)
    with pytest.raises(hl.ScheduleError) as caught:
        exec(compile(WRONG, CELL, "single"), {"f": func(), "x": x})
    assert str(caught.value).splitlines()[1:4] == [
        f"  --> {CELL}:1",
        "   |  f.vectorize(x, 0)",
        "   |   ^^^^^^^^^^^^^^^^",
    ]


def test_a_line_typed_at_a_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    shell = code.InteractiveInterpreter({"f": func(), "x": x})
    assert not shell.runsource(WRONG, "<prompt 1>")
    assert capsys.readouterr().err.endswith(
        "f.vectorize: the factor must be positive, not 0\n  --> <prompt 1>:1\n"
    )


def test_an_example_of_a_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    example = doctest.DocTestParser().get_doctest(
        f">>> {WRONG}", {"f": func(), "x": x}, "mine", None, None
    )
    doctest.DocTestRunner(verbose=False).run(example)
    shown = capsys.readouterr().out
    assert "--> <doctest mine[0]>:1\n       |  f.vectorize(x, 0)" in shown


@dataclass
class Brightened:
    gain: int

    def __post_init__(self) -> None:
        self.made = hl.Func("made")


def test_methods_that_are_generated_are_no_line() -> None:
    def mine() -> Site | None:
        space: dict[str, object] = {"here": here}
        exec("def __init__(): return here()", space)
        made = space["__init__"]
        assert callable(made)
        found = made()
        assert found is None or isinstance(found, Site)
        return found

    found = mine()
    assert found is not None and Path(found.file) == Path(__file__)
    assert found.text() == "found = made()"
    site = Brightened(3).made._function.site
    assert site is not None and site.text() == 'self.made = hl.Func("made")'


def test_a_program_on_the_command_line_of_python() -> None:
    program = "import parhelion as hl\nx = hl.Var()\nhl.Func('f').vectorize(x, 8)"
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(hl.__file__).parents[1],
    )
    assert "\n  --> <string>:3\n" in told.stderr


# Another front end: sites that are no lines of Python.

PROGRAM = """\
f(x, y) = x + y
g(x, y) = f(x, y) + 300
g: vectorize x 8
g: vectorise x 8
"""


class Toy:
    """A language of sums of bytes and of directives: a front end by the recipe of
    docs/architecture.md."""

    def __init__(self, text: str) -> None:
        self.funcs: dict[str, hl.Func] = {}
        for number, line in enumerate(text.splitlines(), 1):
            mark, run = (" = ", self.define) if "=" in line else (": ", self.schedule)
            head, rest = line.split(mark)
            columns = len(head + mark), len(line)
            with located(Site("toy.txt", number, columns, line)):
                run(head, rest)

    def define(self, head: str, value: str) -> None:
        first, *others = value.split(" + ")
        total = self.byte(first)
        for term in others:
            total += int(term) if term.isdigit() else self.byte(term)
        self.funcs[head[0]] = f = hl.Func(head[0])
        f[x, y] = total

    def byte(self, term: str) -> hl.Expr:
        called = {"x": x, "y": y}.get(term)
        return hl.u8(self.funcs[term[0]][x, y] if called is None else called)

    def schedule(self, name: str, words: str) -> None:
        directive, var, size = words.split()
        if directive != "vectorize":
            raise hl.ScheduleError(f"there is no directive {directive!r}", at=here())
        self.funcs[name].vectorize(hl.Var(var), int(size))


def test_a_front_end_supplies_sites() -> None:
    assert touched("A front end") == {"forma/"}  # a new file, and no other
    with pytest.raises(hl.HalideError) as caught:
        Toy(PROGRAM)
    assert "the literal 300 does not fit uint8" in str(caught.value)
    lines = str(caught.value).splitlines()
    assert lines[1:4] == [
        "  --> toy.txt:2",
        "   |  g(x, y) = f(x, y) + 300",
        "   |            ^^^^^^^^^^^^^",
    ]
    legal = PROGRAM.replace("300", "200")
    with pytest.raises(hl.ScheduleError) as caught:
        Toy(legal)
    lines = str(caught.value).splitlines()
    assert lines[1:4] == [
        "  --> toy.txt:4",
        "   |  g: vectorise x 8",
        "   |     ^^^^^^^^^^^^^",
    ]


def test_what_lowering_finds_is_at_the_line_of_a_front_end() -> None:
    image = hl.ImageParam(hl.Int(32), 2, "image")
    f, g = func().compute_root(), hl.Func("g")
    with located(Site("toy.txt", 7, None, "g(x, y) = f(image(x, y), y)")):
        g[x, y] = f[image[x, y], y]
    with pytest.raises(hl.BoundsError, match="unbounded") as caught:
        g.compile_jit()
    assert "--> toy.txt:7\n   |  g(x, y) = f(image(x, y), y)" in str(caught.value)


def test_what_a_front_end_says_is_of_its_block_and_thread() -> None:
    found: list[Site | None] = []
    site = Site("toy.txt", 1)
    with located(site):
        thread = threading.Thread(target=lambda: found.append(here()))
        thread.start()
        thread.join()
        assert here() is site
        with located(Site("toy.txt", 2)):
            pass
        assert here() is site
    mine = here()
    assert mine is not None and Path(mine.file) == Path(__file__)
    assert found != [site]
