"""What Halide is told of a computer."""

from __future__ import annotations

import parhelion
from benchmarks import halide_host


def test_what_the_computer_lacks_is_left_out() -> None:
    host = str(parhelion.get_host_target())
    assert halide_host.corrected(host) is None
    assert halide_host.target_of(parhelion) == parhelion.get_host_target()
    tuned = f"{host}-tune_znver4"
    assert halide_host.corrected(tuned) is None
    # No x86 processor has what only the first one of its kind had.
    assert halide_host.corrected(f"{tuned}-avx512_knl") == tuned
