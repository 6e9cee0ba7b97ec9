"""The parser's tables are kept from one process to the next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys, time
from lark.parsers import lalr_analysis
from parhelion import forma
made = []
before = lalr_analysis.LALR_Analyzer.compute_lalr1_states
def counted(self):
    made.append(self)
    before(self)
lalr_analysis.LALR_Analyzer.compute_lalr1_states = counted
# Another one each time: of those that have been read before, the tree is kept.
forma.parse(f"parameter M; vector#1 int x[M]; return x; // {time.time_ns()}")
print(bool(made))
"""


def made(folder: Path | str) -> bool:
    """Whether a process that reads a program makes tables, Lark's own or others."""
    setting = {**os.environ, "PARHELION_CACHE": str(folder)}
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, env=setting, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout.strip() == "True"


def test_tables_are_kept(tmp_path: Path) -> None:
    assert [made(tmp_path / "new"), made(tmp_path / "new")] == [True, False]
    assert (tmp_path / "new" / "forma.lark").is_file()


def test_only_where_code_is_kept(tmp_path: Path) -> None:
    assert made("off")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert made(shared) and not list(shared.iterdir())


def test_what_others_may_have_written_is_not_read(tmp_path: Path) -> None:
    assert made(tmp_path)
    (tmp_path / "forma.lark").chmod(0o666)
    assert made(tmp_path)


def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    assert made(tmp_path)
    kept = tmp_path / "forma.lark"
    kept.write_bytes(kept.read_bytes()[:2000])
    assert made(tmp_path)
