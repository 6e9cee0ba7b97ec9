"""Whether the kernels of an application are what any GPU takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from parhelion.autoschedule.kernels.facts import Kernel
from parhelion.autoschedule.result import AutoSchedulerResults


def assert_legal(
    name: str, made: Sequence[Kernel], found: AutoSchedulerResults
) -> None:
    """Fails unless the application `name`, which a scheduler has `found` a schedule
    for, has kernels (`made`), each of which fits a device, and nothing of it is
    computed by the CPU but what no thread can share."""
    assert made
    for kernel in made:
        assert math.prod(kernel.threads) <= 1024, kernel
        assert kernel.shared <= 48 << 10, kernel
        assert not kernel.around
    left = [n for n in found.notes if "stays on the CPU" in n]
    assert len(left) == (2 if name == "hist" else 0)
