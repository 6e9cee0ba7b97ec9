"""A few random cases as C; ``python -m tests.fuzz.c_leg --cases 100`` runs more."""

from __future__ import annotations

import subprocess
import sys

from tests.codegen.c_code import needs_cc


@needs_cc
def test_random_pipelines_in_c() -> None:
    command = [sys.executable, "-m", "tests.fuzz.c_leg", "--cases", "6", "--seed", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 clean" in done.stdout
