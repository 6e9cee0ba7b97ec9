"""Random scans whose windows slide, a seeded tenth of what a long run has."""

from __future__ import annotations

import random
from typing import Any

import pytest

from parhelion.lower.scan_windows import window as original
from tests.fuzz.scan_windows import difference, draw


@pytest.mark.parametrize("part", range(10))
def test_scan_windows(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    slid: list[int] = []

    def window(*given: Any) -> object:
        found = original(*given)
        slid.append(found is not None)
        return found

    monkeypatch.setattr("parhelion.lower.sliding.window", window)
    for number in range(part * 10, part * 10 + 10):
        case = draw(random.Random(number))
        assert not difference(case), f"seed {number}: {case}"
    assert any(slid), "no window of ten cases has slid"
