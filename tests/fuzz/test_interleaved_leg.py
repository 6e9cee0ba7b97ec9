"""A few random cases with one thread at a time;
``python -m tests.fuzz.interleaved_leg --cases 100`` runs more."""

from __future__ import annotations

import subprocess
import sys


def test_random_pipelines_whoever_is_first() -> None:
    words = ["-m", "tests.fuzz.interleaved_leg", "--cases", "2", "--seed", "5"]
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 clean" in done.stdout
