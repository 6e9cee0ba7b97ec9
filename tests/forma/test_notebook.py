"""Cells of notebooks that are programs of Forma."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lark")

from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma.notebook import coloured, rendered
from tests.support.shells import ipython

BLUR = """\
stencil blurx(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }
parameter M, N;
vector#2 float photo[M,N];
return blurx(photo:mirror);
"""
WRONG = BLUR.replace("photo:mirror", "foto:mirror")
#: As messages quote the line, whose marks stand below it.
MESSAGE = """\
FormaError: there is no variable 'foto'
  --> %%forma blur:5:14
   |  return blurx(foto:mirror);
   |               ^^^^
legal here:
  - photo
hint: assign it before it is used"""
IMAGE = np.arange(12, dtype=np.float32).reshape(3, 4)


class Shell:
    """What is needed of IPython's."""

    def __init__(self) -> None:
        self.display_pub = self
        self.magic: Callable[[str, str], None]
        self.variables: dict[str, Any] = {}
        self.shown: list[dict[str, str]] = []

    def register_magic_function(
        self, func: Any, magic_kind: str, magic_name: str
    ) -> None:
        assert (magic_kind, magic_name) == ("cell", "forma")
        self.magic = func

    def push(self, variables: dict[str, object]) -> None:
        self.variables |= variables

    def publish(self, data: dict[str, str]) -> None:
        self.shown.append(data)


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    forma.load_ipython_extension(made)
    return made


def without_colours(lines: list[str]) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))


def test_a_cell(shell: Shell) -> None:
    shell.magic(" blur ", BLUR)
    blur = shell.variables["blur"]
    assert np.array_equal(blur(IMAGE), forma.compile(BLUR)(IMAGE))
    (shown,) = shell.shown
    assert shown["text/plain"] == repr(blur) and "blur(" in repr(blur)
    assert shown["text/html"].count("<span") > 20 and "blurx" in shown["text/html"]


def test_errors_are_at_the_line_of_the_cell(shell: Shell) -> None:
    with pytest.raises(FormaError) as caught:
        shell.magic("blur", WRONG)
    lines = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert without_colours(lines) == MESSAGE
    assert "\x1b[" in lines[2] and "\x1b[" not in lines[3]
    assert not shell.variables and not shell.shown


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("", "the program has no name"),
        ("a b", "'a b' is no name for a program"),
        ("for", "'for' is no name for a program"),
    ],
)
def test_a_cell_has_a_name(shell: Shell, line: str, what: str) -> None:
    with pytest.raises(FormaError, match=what) as caught:
        shell.magic(line, BLUR)
    assert "hint: write the name of a variable: %%forma blur" in str(caught.value)
    assert rendered(caught.value)[0] == f"FormaError: {what}"


def test_programs_in_colours() -> None:
    assert "<p>" not in coloured("return x;")
    assert coloured("a < b;", "x<1>").startswith("<p><code>x&lt;1&gt;</code></p>\n<div")


def test_in_ipython(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = ipython(tmp_path, monkeypatch)
    assert real.run_cell("%load_ext parhelion.forma").success
    assert real.run_cell(f"%%forma blur\n{BLUR}").success
    assert "<parhelion.forma.Program blur(" in capsys.readouterr().out
    assert np.array_equal(real.user_ns["blur"](IMAGE), forma.compile(BLUR)(IMAGE))
    result = real.run_cell(f"%%forma blur\n{WRONG}")
    assert isinstance(result.error_in_exec, FormaError)
    assert without_colours([capsys.readouterr().out]).strip() == MESSAGE


def test_twins_in_ipython(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = ipython(tmp_path, monkeypatch)
    head = "from parhelion import forma\nfrom parhelion.forma import Vector2\n"
    stencil = "@forma.stencil\ndef s(X: Vector2[float]):\n    return X"
    assert real.run_cell(f"{head}{stencil} * 2\n").success
    assert real.user_ns["s"].name == "s"
    result = real.run_cell(f"{stencil} ** 2\n")
    assert isinstance(result.error_in_exec, FormaError)
    assert result.error_in_exec.at is not None
    assert result.error_in_exec.at.text() == "return X ** 2"
    capsys.readouterr()
