"""A user's file with functions under `hl.jit` passes mypy, strictly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
ROOT = Path(__file__).parent.parent.parent

PROGRAM = '''
"""A filter of a user's."""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

import parhelion as hl


@hl.jit
def unsharp(image: Annotated[hl.Array, "yxc"], amount: float = 1.5) -> hl.Array:
    """Sharpens."""
    blur = (image.shift(1, "x") + image.astype("float32") + image.shift(-1, "x")) / 3
    bright = hl.where(blur > 128, blur, 2 * blur)
    most: hl.Array = hl.max(bright, 3) + hl.sum(image, axis="c", keepdims=True)
    found = hl.clip(image + amount * (image - most), 0, 255)
    return found.astype(image.dtype) + image[::-1]


@hl.jit
def both(image: hl.Array, other: hl.Array) -> tuple[hl.Array, ...]:
    return image - other, hl.mean(image)


@hl.jit(static=["n"])
def repeated(image: hl.Array, n: int) -> hl.Array:
    for _ in range(n):
        image = image + 1
    return image


photo = np.zeros((4, 5, 3), np.uint8)
sharp: npt.NDArray[Any] = unsharp(photo)
less: npt.NDArray[Any] = unsharp(photo, amount=0.5, out=sharp)
first, mean = both(photo, photo)
more: npt.NDArray[Any] = repeated(photo, 3)
kind: hl.Type = hl.ImageParam("uint8", 2).type()
value: hl.Expr = hl.max(hl.Var("x"), 3)
'''
WRONG = PROGRAM + "\nnumber: int = unsharp(photo)\nhl.jit(3)\n"


def checked(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "filter.py"
    file.write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(file)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_a_users_file(tmp_path: Path) -> None:
    done = checked(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = checked(WRONG, tmp_path)
    assert 'variable has type "int"' in wrong.stdout
    assert "No overload variant" in wrong.stdout
