"""The cells of the page about notebooks run in IPython, one after the other, and the
traceback is the one that is printed."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.shells import ipython

PAGE = Path(__file__).parent.parent.parent / "docs" / "notebook.md"


def cells() -> list[str]:
    """The programs of the page, each value that a line shows in a cell of its own."""
    found = []
    for program in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        if program.startswith("%"):
            found.append(program)
            continue
        gathered: list[str] = []
        for statement in ast.parse(program).body:
            gathered.append(ast.unparse(statement))
            if isinstance(statement, ast.Expr):
                found.append("\n".join(gathered))
                gathered = []
        found += ["\n".join(gathered)] if gathered else []
    return found


def test_the_cells_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = ipython(tmp_path, monkeypatch)
    shown: list[str] = []
    for cell in cells():
        text = cell.replace("%%parhelion\n", "%%parhelion 0.1\n")
        result: Any = shell.run_cell(text)
        assert result.success, text
        if result.result is not None:
            shown.append(shell.display_formatter.format(result.result)[0]["text/html"])
    capsys.readouterr()
    assert len(shown) == 9
    for page, part in zip(
        shown,
        (
            *("data:image/png", "from the first", "ph-copy", "runner-up", "share"),
            *("recomputed", "<svg", "<summary>", "<iframe"),
        ),
        strict=True,
    ):
        assert part in page
    # A filter is the same with another schedule.
    assert "<td>equal</td>" in shown[1]
    name = "softened.pipeline(photo[:8, :16]).animate([16, 8, 3])"
    assert f"`{name}`" in PAGE.read_text()
    assert "Animation" in repr(eval(name, shell.user_ns))


def test_the_traceback_of_the_page(tmp_path: Path) -> None:
    (printed,) = re.findall(r"```\n(Traceback.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "blur.py").write_text(
        "import parhelion as hl\nx, z = hl.vars('x z')\nf = hl.Func('f')\nf[x] = x\n"
        "f.parallel(z)\n"
    )
    given = dict(os.environ, PYTHONPATH=str(PAGE.parent.parent))
    del given["PARHELION_TRACEBACK"]
    done = subprocess.run(
        [sys.executable, "blur.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=given,
        check=False,
    )
    place = f'"{tmp_path}{os.sep}blur.py"'
    said = done.stderr.replace(place, '"blur.py"').replace(f"{tmp_path}{os.sep}", "")
    assert said == printed
