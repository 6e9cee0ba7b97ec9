"""Pages in headless Chromium."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def browse(page: str, profile: Path, *options: str) -> str:
    """What Chromium prints of a page: after its scripts ran, with ``--dump-dom``."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=3000",
            *options,
            page,
        ],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    return done.stdout


def picture(file: Path) -> np.ndarray:
    """The pixels of a screenshot."""
    iio = pytest.importorskip("imageio.v3")
    return np.asarray(iio.imread(file))[..., :3]


__all__ = ["CHROMIUM", "browse", "picture"]
