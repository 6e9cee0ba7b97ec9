"""What a `Target` says of the computer at hand."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.ir.target import make_target
from parhelion.lang import target_api

_SKYLAKE = "sse4.1 avx avx2 f16c fma avx512f avx512cd avx512bw avx512dq avx512vl"
_BYTES = "avx512ifma avx512vbmi avx512vnni avx512bf16"
_BITS = "avx512vbmi2 avx512bitalg avx512vpopcntdq"
_PLAIN = "x86-64-linux-avx-avx2-avx512-avx512_cannonlake"


@pytest.mark.parametrize(
    ("cpu", "features", "expected"),
    [
        ("znver4", "", f"{_PLAIN}-avx512_skylake-avx512_zen4-f16c-fma-sse41"),
        (
            "znver5",
            "avx512vp2intersect avxvnni",
            f"{_PLAIN}-avx512_skylake-avx512_zen4-avx512_zen5-avxvnni-f16c-fma-sse41",
        ),
        (
            "sapphirerapids",
            "avxvnni",
            f"{_PLAIN}-avx512_sapphirerapids-avx512_skylake-avxvnni-f16c-fma-sse41",
        ),
        # A virtual machine may hide some of it.
        ("emeraldrapids", "", f"{_PLAIN}-avx512_skylake-f16c-fma-sse41"),
    ],
)
def test_features_of_a_maker_are_its_processors_only(
    cpu: str, features: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Zen 4 was called a Sapphire Rapids, whose instructions Halide then used on it:
    an illegal instruction."""
    every = f"{_SKYLAKE} {_BYTES} {_BITS} {features}".split()
    host = make_target("x86_64-unknown-linux-gnu", cpu, every)
    monkeypatch.setattr(target_api, "host_target", lambda: host)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    assert str(hl.get_host_target()) == expected
