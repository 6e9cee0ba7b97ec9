"""Reads where data decides: no loop reads more than its points do."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.schedule.directives import Place

x, y = hl.vars("x y")
W, H = 1200, 900
RANDOM = np.random.default_rng(8)
IMAGE = RANDOM.random((H + 8, W + 8)).astype(np.float32)
MAP = RANDOM.integers(0, H - 1, (2, H, W)).astype(np.int32)


@pytest.mark.parametrize("reads", [1, 4])
def test_a_costly_stage_is_computed_once(reads: int) -> None:
    """And not all of it for each tile of its reader, whose time was thought to be lost
    to reading all of it in each row anyway."""
    f, out = hl.funcs("f out")
    image = hl.Buffer(IMAGE)
    taps = [image[x + i, y + j] for i in range(7) for j in range(7)]
    f[x, y] = sum([hl.exp(t + hl.f32(x)) for t in taps], hl.f32(0))
    u = hl.clamp(hl.Buffer(MAP[0])[x, y], 0, W - 2)
    v = hl.clamp(hl.Buffer(MAP[1])[x, y], 0, H - 2)
    around = [f[u, v], f[u + 1, v], f[u, v + 1], f[u + 1, v + 1]][:reads]
    out[x, y] = sum(around, hl.f32(0))
    result = hl.autoschedule(out, [W, H])
    assert f._function.schedule.compute.place in (Place.ROOT, Place.INLINED)
    # Forty-nine exponentials of a million points, and not a hundred times that.
    assert result.predicted_seconds is not None and result.predicted_seconds < 0.5
