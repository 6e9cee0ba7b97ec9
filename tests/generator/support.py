"""What the tests of Generators share: images, and what the pipelines should give."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.interp import interpret

FILE = Path(__file__).parent / "filters.py"
ROOT = FILE.parent.parent.parent
WIDTH, HEIGHT = 53, 31


def image(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).integers(0, 256, shape, np.uint8)


def generator_of(decorated: type) -> type[hl.Generator]:
    """What ``@hl.generator`` made of a class that names no base: type checkers do not
    see that it inherits from hl.Generator."""
    assert issubclass(decorated, hl.Generator)
    return decorated


def interpreted(
    generator: type[hl.Generator],
    params: Mapping[str, object],
    inputs: Mapping[str, Any],
    *sizes: tuple[int, ...],
) -> list[np.ndarray[Any, Any]]:
    """What a Generator's outputs hold, by the interpreter; sizes: of each output."""
    made = generator.call(**inputs, generator_params=params)
    outputs = made if isinstance(made, tuple) else (made,)
    found = []
    for f, size in zip(outputs, sizes, strict=True):
        values = interpret(f._function, [(0, n) for n in size])
        found += [
            np.ascontiguousarray(v.transpose()).reshape(size[::-1]) for v in values
        ]
    return found


def python(*words: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs Python, with this package on its path."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HL_NUM_THREADS": "2"},
    )
