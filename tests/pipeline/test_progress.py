"""The line about work that takes long: when there is one, and what it says."""

from __future__ import annotations

import io
import threading
import time
from types import SimpleNamespace

import pytest

import parhelion as hl
from parhelion.ir import progress


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def set_stderr(monkeypatch: pytest.MonkeyPatch, stream: object) -> None:
    """pytest puts its own streams back before each test, so that of the module alone
    is another."""
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    made = Terminal()
    set_stderr(monkeypatch, made)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.delenv("PARHELION_PROGRESS", raising=False)
    return made


def wait_for(stream: io.StringIO, text: str) -> None:
    end = time.monotonic() + 60
    while text not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.005)


def test_long_work_has_a_line_which_goes(terminal: Terminal) -> None:
    with progress.task("compiling f"):
        progress.step("LLVM")
        wait_for(terminal, "compiling f")
    said = terminal.getvalue()
    assert said.startswith("\rparhelion: compiling f, 0 s; LLVM, 0 s")
    assert "\n" not in said and said.endswith("\r")
    # What is left on the line is white.
    assert said.split("\r")[-2].strip() == ""
    assert not [t for t in threading.enumerate() if t.name == "parhelion-progress"]


def test_work_inside_of_other_work_is_a_step_of_it(terminal: Terminal) -> None:
    with progress.task("scheduling g"):
        with progress.task("compiling g"):
            wait_for(terminal, "scheduling g, 0 s; compiling g, 0 s")
        progress.step("candidate 2 of 3")
        assert progress.current() is not None
    assert progress.current() is None


def test_short_work_says_nothing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with progress.task("compiling f"):
        progress.step("LLVM")
    assert terminal.getvalue() == ""


def test_compilations_and_searches_say_what_they_do(terminal: Terminal) -> None:
    lines: list[str] = []
    watch = progress.Task.begin

    def begin(self: progress.Task, step: str) -> None:
        watch(self, step)
        lines.append(self.line())

    x = hl.Var("x")
    f, g = hl.Func("f_progress"), hl.Func("g_progress")
    f[x] = x * 3
    g[x] = f[x] + f[x + 7]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress.Task, "begin", begin)
        patch.setenv("PARHELION_CACHE", "0")
        hl.autoschedule(g, [1000])
        g.compile_jit()
    assert any("scheduling g_progress" in line for line in lines)
    assert any(
        "compiling g_progress" in line and "vectorize_loops" in line for line in lines
    )
    assert any("; LLVM" in line for line in lines)


@pytest.mark.parametrize("how", ["environment", "setting", "no terminal", "nothing"])
def test_the_line_can_be_turned_off(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    assert progress.is_shown()
    if how == "environment":
        monkeypatch.setenv("PARHELION_PROGRESS", "0")
    elif how == "setting":
        hl.set_progress(False)
    elif how == "no terminal":
        set_stderr(monkeypatch, io.StringIO())
    else:
        set_stderr(monkeypatch, None)
    try:
        assert not progress.is_shown()
        with progress.task("compiling f"):
            assert progress.current() is None
    finally:
        hl.set_progress(None)
    if how == "environment":
        hl.set_progress(True)
        assert progress.is_shown()
        hl.set_progress(None)


def test_a_notebook_has_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    set_stderr(monkeypatch, kind())
    monkeypatch.delenv("PARHELION_PROGRESS", raising=False)
    assert progress.is_shown()


def test_lines_have_an_end() -> None:
    work = progress.Task("compiling " + "a" * 100)
    assert len(work.line()) == 78 and work.line().endswith("…")


def test_the_setting_is_checked() -> None:
    with pytest.raises(hl.TypeMismatchError, match="True, False or None"):
        hl.set_progress(1)  # type: ignore[arg-type]
