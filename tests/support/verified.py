"""A fixture for tests whose programs are verified after each pass."""

import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has lowering verify programs. Not for tests of programs that are put together by
    hand, and are no whole pipelines."""
    monkeypatch.setenv("PARHELION_VERIFY", "1")
