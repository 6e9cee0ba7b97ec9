"""The program made of a pipeline depends on nothing but the pipeline.

A cache of compiled programs on disk needs that, and so does whoever compares two dumps.
Each case is compiled in two processes with other hashes of strings; the second one has
made other Funcs of the same names before, so that all unique names have other numbers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: An application of `apps`, and its schedule.
CASES = [
    ("blur", "schedule_tiled"),
    ("harris", "schedule_lines"),
    ("bilateral_grid", "schedule_lines"),
    ("max_filter", "schedule_root"),
]

PROGRAM = """
import importlib, sys
import parhelion as hl
name, schedule, before = sys.argv[1:]
module = importlib.import_module("apps." + name)
for k in range(int(before)):
    module.algorithm(hl)
    hl.Func()
app = module.algorithm(hl)
getattr(module, schedule)(hl, app)
pipeline = hl.Pipeline(app.output)
print(pipeline.lowered_text())
print("=====")
print(pipeline.llvm_text(optimised=False))
"""


def texts(name: str, schedule: str, seed: int, before: int) -> list[str]:
    """The lowered program and the LLVM text, with unique names as the user wrote them
    (``f$9`` as ``f``), and those that nobody wrote by the order in which they come."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, schedule, str(before)],
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=ROOT,
    )
    plain = re.sub(r"(?<=\w)\$\d+", "", done.stdout)
    known: dict[str, str] = {}
    plain = re.sub(
        r"\b[fpr]\d+\b", lambda m: known.setdefault(m[0], f"fresh{len(known)}"), plain
    )
    return plain.split("=====")


@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_two_processes_make_one_program(name: str, schedule: str) -> None:
    first, second = texts(name, schedule, 1, 0), texts(name, schedule, 2, 7)
    for a, b in zip(first, second, strict=True):
        assert len(a) > 1000
        assert a.splitlines() == b.splitlines()
