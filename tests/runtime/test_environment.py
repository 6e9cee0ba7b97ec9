"""Numbers in the environment: what is none is warned of, at the user's line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

SOURCE = """
import parhelion as hl
x = hl.Var("x")
f = hl.Func("f")
f[x] = x
f.parallel(x)
f.realize([64])  # the loop
from parhelion.runtime import threads
print(threads.get_num_threads(), threads.set_num_threads(0), threads.get_num_threads())
from parhelion.autoschedule.machine import machine
print(machine.host().threads)
f.parallel(x).realize([128])
"""

PROCESSORS = min(len(os.sched_getaffinity(0)), 1024)


def run(tmp_path: Path, **environment: str) -> tuple[list[int], list[str]]:
    """The numbers that the program prints, and the warnings, each with its line."""
    file = tmp_path / "program.py"
    file.write_text(SOURCE)
    done = subprocess.run(
        [sys.executable, "-W", "always", file],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    told = [line for line in done.stderr.splitlines() if "Warning" in line]
    start = f"{file}:7: UserWarning: "
    assert all([line.startswith(start) for line in told]), told
    return [int(w) for w in done.stdout.split()], [w.removeprefix(start) for w in told]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("abc", "is no whole number of threads"),
        ("3abc", "is no whole number of threads"),
        ("-3", "is no whole number of threads"),
        ("1.5", "is no whole number of threads"),
        ("²", "is no whole number of threads"),
        ("1025", "is more than 1024 threads"),
        ("9" * 30, "is more than 1024 threads"),
    ],
)
def test_no_number_of_threads(given: str, wrong: str, tmp_path: Path) -> None:
    found, told = run(tmp_path, HL_NUM_THREADS=given)
    assert found == [PROCESSORS] * 4
    instead = f"parallel loops run on {PROCESSORS}, one for each processor"
    assert told == [f"HL_NUM_THREADS='{given}' {wrong}; {instead}"]


@pytest.mark.parametrize(
    ("given", "count"), [("", PROCESSORS), ("0", PROCESSORS), ("3", 3), (" 5 ", 5)]
)
def test_a_number_of_threads(given: str, count: int, tmp_path: Path) -> None:
    assert run(tmp_path, HL_NUM_THREADS=given) == ([count] * 4, [])


def test_a_program_that_is_in_no_file() -> None:
    told = subprocess.run(
        [sys.executable, "-W", "always", "-c", SOURCE],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HL_NUM_THREADS": "abc"},
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert told.startswith("<string>:7: UserWarning: HL_NUM_THREADS='abc' is no whole")


def test_no_number_of_megabytes(tmp_path: Path) -> None:
    _, (told,) = run(tmp_path, PARHELION_KEPT_MB="much", HL_NUM_THREADS="2")
    assert told.startswith("PARHELION_KEPT_MB='much' is no whole number of megabytes;")
