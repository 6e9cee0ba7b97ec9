"""Masked arrays: their masks are not left out in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
import parhelion.imageio
from parhelion import forma

x = hl.Var("x")
VALUES = np.arange(6, dtype=np.float32)
MASKED: Any = np.ma.masked_array(VALUES, mask=VALUES % 4 == 1)
DOUBLE = """stencil f(vector#1 float X) { return 2 * X; }
parameter M;
vector#1 float x[M];
return f(x);
"""


def realized_into(image: Any) -> None:
    f = hl.Func("f")
    f[x] = hl.f32(x)
    f.realize(image)


TAKERS: dict[str, Callable[[Any], object]] = {
    "Buffer": hl.Buffer,
    "ImageParam": lambda image: hl.ImageParam(hl.Float(32), 1).set(image),
    "output": realized_into,
    "copy_from": lambda image: hl.Buffer(hl.Float(32), [6]).copy_from(image),
    "iir": lambda image: hl.iir(image, [1], [1, -0.5]),
    "forma": lambda image: forma.compile(DOUBLE)(image),
    "imwrite": lambda image: parhelion.imageio.imwrite("never.png", image),
}


@pytest.mark.parametrize("name", TAKERS)
def test_masks_are_refused(name: str) -> None:
    with pytest.raises(hl.HalideError, match="the array hides some") as caught:
        TAKERS[name](MASKED)
    assert "array.filled(value) is an array with a value" in str(caught.value)
    assert not Path("never.png").exists()


def test_a_mask_that_hides_nothing() -> None:
    for mask in (np.ma.nomask, np.zeros(6, bool)):
        image: Any = np.ma.masked_array(VALUES, mask=mask)
        f = hl.Func("f")
        f[x] = hl.Buffer(image)[x] + 1
        assert np.array_equal(np.asarray(f.realize([6])), VALUES + 1)


def test_masks_beside_a_buffer_are_kept() -> None:
    found = hl.Buffer(VALUES) + MASKED
    assert isinstance(found, np.ma.MaskedArray)
    assert found.tolist() == [0, None, 4, 6, 8, None]
