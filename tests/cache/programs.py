"""What the tests of the persistent cache run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

#: Runs an application twice as large a cache as it likes, and tells what it did.
APP = """
import hashlib, sys
import numpy as np
import parhelion as hl
from apps import {name}
app = {name}.algorithm(hl)
{name}.SCHEDULES[{schedule!r}](hl, app)
rng = np.random.default_rng(1)
images = {{}}
for key, param in app.inputs.items():
    image = rng.integers(0, 1000, {shape}, np.uint16)
    images[key] = image
made = app.run(images, {size})
compiled = "parhelion.lower.passes" in sys.modules
print(hashlib.sha256(np.ascontiguousarray(made).tobytes()).hexdigest(), compiled)
"""

BLUR = APP.format(name="blur", schedule="tiled", shape=(102, 302), size=[300, 100])


def child(
    source: str, folder: Path | str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs Python with the cache in a folder."""
    return subprocess.run(
        [sys.executable, "-c", source],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PARHELION_CACHE": str(folder),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def outcome(source: str, folder: Path | str, **environment: str) -> tuple[str, bool]:
    """The digest of what a program computed, and whether it compiled."""
    done = child(source, folder, **environment)
    assert done.returncode == 0, done.stderr
    digest, compiled = done.stdout.split()
    return digest, compiled == "True"
