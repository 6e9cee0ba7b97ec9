"""The programs in the README run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parent.parent.parent / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_there_is_a_program() -> None:
    assert len(PROGRAMS) == 1


def test_the_first_pipeline_runs(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, object] = {}
    exec(compile(PROGRAMS[0], str(README), "exec"), scope)  # noqa: S102
    printed = capsys.readouterr()
    assert "(3, 480, 640)" in printed.out
    assert "produce blur_y" in printed.out + printed.err

    photo = np.asarray(scope["photo"]).astype(np.uint16)
    wide = np.pad(photo, ((0, 0), (1, 1), (1, 1)), mode="edge")
    rows = (wide[:, :, :-2] + wide[:, :, 1:-1] + wide[:, :, 2:]) // 3
    both = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) // 3
    assert np.array_equal(np.asarray(scope["out"]), both.astype(np.uint8))
