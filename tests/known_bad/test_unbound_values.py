"""Found by the fuzzer, not repaired yet."""

from __future__ import annotations

import pytest

from parhelion.codegen import target
from parhelion.codegen.target import generic_target
from tests.fuzz.auto import run_seed


@pytest.mark.xfail(strict=True, reason="lowered code mentions what nothing binds")
def test_a_tuple_update_in_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The automatic schedule for 256-bit registers, of one pipeline of nine stages."""
    monkeypatch.setenv("HL_MACHINE", "default")
    monkeypatch.setattr(target, "host_target", lambda: generic_target(256))
    assert not run_seed(941000089, "Parhelion", False).failure
