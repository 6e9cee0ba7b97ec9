"""A few random cases traced; ``python -m tests.fuzz.traced_leg --cases 100`` runs
more."""

from __future__ import annotations

import subprocess
import sys


def test_random_pipelines_under_the_profiler_and_traced() -> None:
    words = ["-m", "tests.fuzz.traced_leg", "--cases", "3", "--seed", "700"]
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 clean" in done.stdout
