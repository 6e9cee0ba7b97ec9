"""The programs in the README run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parent.parent.parent / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_there_is_a_program() -> None:
    assert len(PROGRAMS) == 2


def test_the_function_of_arrays_runs() -> None:
    scope: dict[str, object] = {}
    exec(compile(PROGRAMS[0], str(README), "exec"), scope)  # noqa: S102
    photo, sharp = np.asarray(scope["photo"]), np.asarray(scope["sharp"])
    wide = np.pad(photo.astype(np.float32), ((1, 1), (1, 1), (0, 0)), mode="edge")
    rows = (wide[:-2] + wide[1:-1] + wide[2:]) / 3
    blur = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 3
    wanted = np.clip(photo + 1.5 * (photo - blur), 0, 255)
    assert sharp.shape == photo.shape and sharp.dtype == np.uint8
    # Truncated; one value in six is a whole number, but for roundings.
    cut = wanted - sharp
    assert cut.min() > -1e-3 and cut.max() < 1 + 1e-3


def test_the_first_pipeline_runs(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, object] = {}
    exec(compile(PROGRAMS[1], str(README), "exec"), scope)  # noqa: S102
    printed = capsys.readouterr()
    assert "(3, 480, 640)" in printed.out
    assert "produce blur_y" in printed.out + printed.err

    photo = np.asarray(scope["photo"]).astype(np.uint16)
    wide = np.pad(photo, ((0, 0), (1, 1), (1, 1)), mode="edge")
    rows = (wide[:, :, :-2] + wide[:, :, 1:-1] + wide[:, :, 2:]) // 3
    both = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) // 3
    assert np.array_equal(np.asarray(scope["out"]), both.astype(np.uint8))
