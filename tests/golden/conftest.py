"""What the golden tests lower is verified after each pass."""

import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_VERIFY", "1")
