"""A few random cases with code from the cache; ``python -m tests.fuzz.loaded_leg
--cases 100`` runs more."""

from __future__ import annotations

import subprocess
import sys


def test_random_pipelines_with_code_from_the_cache() -> None:
    words = ["-m", "tests.fuzz.loaded_leg", "--cases", "5", "--seed", "800"]
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 clean" in done.stdout
