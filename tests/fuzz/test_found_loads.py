"""Loads that were found to be wrong, or refused by LLVM, under a legal schedule."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl

x, c = hl.Var("x"), hl.Var("c")


@pytest.mark.parametrize("step", (2, 3, 4))
@pytest.mark.parametrize("alpha_first", (True, False))
def test_the_alpha_of_all_channels(step: int, alpha_first: bool) -> None:
    """Alpha is loaded outside the loop over channels. The addresses that the channels
    load from were written there too, to see whether they share its dense loads, before
    the loop's variable had a value."""
    pixels = np.arange(4 * 128, dtype=np.float32).reshape(4, 128)
    image, f = hl.Buffer(pixels), hl.Func("f")
    alpha, own = image[step * x, 3], image[step * x, c]
    f[x, c] = alpha * own if alpha_first else own * alpha
    f.reorder(c, x).vectorize(x, 8)
    wanted = pixels[3, : 32 * step : step] * pixels[:, : 32 * step : step]
    assert np.array_equal(np.asarray(f.realize([32, 4])), wanted)
