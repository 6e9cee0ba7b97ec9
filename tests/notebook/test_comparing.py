"""Cells that compare: ``%%parhelion``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.views.comparing import Comparison, difference
from tests.support.html_pages import Checked
from tests.support.shells import ipython

IMAGE = np.arange(48, dtype=np.uint8).reshape(6, 8)
CELL = """\
import parhelion as hl
blurred = hl.jit(lambda image: (image[:, 1:] + image[:, :-1]) // 2)
blurred(photo)
(photo[:, 1:] + photo[:, :-1]) // 2
photo[:, 1:] + 1
"""


class Shell:
    """What is needed of IPython's."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {"photo": IMAGE, "np": np}
        self.magic: Callable[[str, str], Comparison]

    def register_magic_function(
        self, func: Any, magic_kind: str, magic_name: str
    ) -> None:
        assert (magic_kind, magic_name) == ("cell", "parhelion")
        self.magic = func


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    hl.load_ipython_extension(made)
    return made


def test_expressions_are_timed_and_compared(shell: Shell) -> None:
    found = shell.magic("0.05", CELL)
    assert [c.text for c in found.candidates] == [
        "blurred(photo)",
        "(photo[:, 1:] + photo[:, :-1]) // 2",
        "photo[:, 1:] + 1",
    ]
    assert all(len(c.seconds) > 1 for c in found.candidates)
    rows = found.rows()
    assert [row[4] for row in rows][:2] == ["", "equal"]
    assert rows[2][4].startswith("up to ")
    assert rows[0][3] == "1 ×"
    page = Checked(found._repr_html_())
    # Three results, and the difference of the one that differs.
    assert len(page.named("img")) == 4
    assert "difference of photo[:, 1:] + 1" in page.said
    for row in rows:
        assert row[1] in page.said and row[1] in repr(found)
    assert repr(found).startswith("expression")
    # Statements set the variables of the notebook.
    assert isinstance(shell.user_ns["blurred"], hl.Jitted)


def test_statements_run_once_and_first(shell: Shell) -> None:
    shell.user_ns["said"] = []
    found = shell.magic(
        "0", "said.append('a')\nsaid.append('b') or 1\nn = len(said)\nn + 1\n"
    )
    # An expression is a candidate, also one that is called for what it does.
    assert [c.text for c in found.candidates][0] == "said.append('a')"
    assert shell.user_ns["n"] == 0
    assert shell.user_ns["said"] == ["a", "b", "a", "b"]
    assert [len(c.seconds) for c in found.candidates] == [1, 1, 1]
    assert [c.value for c in found.candidates] == [None, 1, 1]
    assert [row[4] for row in found.rows()] == ["", "no arrays of numbers"] + [
        "no arrays of numbers"
    ]


def test_a_slow_candidate_does_not_take_the_time_of_the_others(shell: Shell) -> None:
    slow, fast = shell.magic(
        "0.2", "import time\ntime.sleep(0.3)\nlen(photo)\n"
    ).candidates
    assert len(slow.seconds) == 1 and len(fast.seconds) > 100


def test_values_are_those_of_the_first_run(shell: Shell) -> None:
    shell.user_ns["out"] = np.zeros(3)
    found = shell.magic("0", "np.add(out, 1, out=out)\nout + 0\n")
    assert found.candidates[0].value.tolist() == [1, 1, 1]
    buffer = hl.Buffer(np.zeros(3))
    shell.user_ns["buffer"] = buffer
    found = shell.magic("0", "buffer\nbuffer.fill(3)\n")
    assert np.asarray(found.candidates[0].value).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("line", "cell", "what"),
    [
        ("fast", "photo", "takes a number of seconds, at most 3600, not 'fast'"),
        ("-1", "photo", "takes a number of seconds"),
        ("nan", "photo", "takes a number of seconds"),
        ("", "n = 3", "the cell has no expression to time"),
        ("", "", "the cell has no expression to time"),
    ],
)
def test_wrong_cells(shell: Shell, line: str, cell: str, what: str) -> None:
    with pytest.raises(hl.TypeMismatchError, match=what) as caught:
        shell.magic(line, cell)
    assert "hint: write" in str(caught.value)


def test_errors_are_at_the_line_of_the_cell(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    import traceback

    monkeypatch.delenv("PARHELION_TRACEBACK")
    cell = "import parhelion as hl\nx = hl.Var('x')\nf = hl.Func('f')\nf.parallel(x)\n"
    with pytest.raises(hl.HalideError) as caught:
        shell.magic("", cell)
    at = caught.value.at
    assert at is not None and at.text() == "f.parallel(x)" and at.line == 5
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == at.file and last.lineno == 5
    with pytest.raises(SyntaxError) as wrong:
        shell.magic("", "a = 1\nb =\n")
    assert wrong.value.lineno == 3


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (np.array([1, np.nan], np.float32), np.array([1, np.nan], np.float32), "equal"),
        (
            np.array([1, 2], np.uint8),
            np.array([2, 2], np.uint8),
            "up to 1, 0.5 on average, in 50 %",
        ),
        (np.zeros(2), np.zeros(3), "of shape (3,), not (2,)"),
        (np.zeros((4, 5, 3)), np.zeros((3, 4, 5)), "equal"),
        (np.zeros((3, 4, 5)), np.zeros((4, 5, 3)), "equal"),
        (np.array([np.inf, 1], np.float32), np.array([np.inf, 1], np.float32), "equal"),
        ("a", 3, "no arrays of numbers"),
        (3, 4.5, "up to 1.5, 1.5 on average, in 100 %"),
    ],
)
def test_differences(a: object, b: object, words: str) -> None:
    assert difference(a, b)[0] == words


def test_in_ipython(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PARHELION_TRACEBACK")
    real = ipython(tmp_path, monkeypatch)
    real.colors = "nocolor"
    real.user_ns["photo"] = IMAGE
    assert real.run_cell("%load_ext parhelion").success
    result = real.run_cell(f"%%parhelion 0.01\n{CELL}")
    assert isinstance(result.result, Comparison)
    shown = real.display_formatter.format(result.result)[0]
    assert set(shown) == {"text/plain", "text/html"}
    assert "blurred(photo)" in capsys.readouterr().out
    result = real.run_cell("%%parhelion\nblurred(photo.T[0])\n")
    assert isinstance(result.error_in_exec, hl.HalideError)
    said = capsys.readouterr().out
    assert "blurred(photo.T[0])" in said and "whole" not in said.split("Error:")[0]
