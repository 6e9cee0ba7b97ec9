"""Images with more elements than a 32-bit index can count."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl


def test_images_beyond_two_to_the_31_elements() -> None:
    try:
        a = np.zeros((70_000, 40_000), np.uint8)  # pages that are not touched are free
    except MemoryError:
        pytest.skip("not enough address space")
    x, y = hl.vars("x y")
    im = hl.ImageParam(hl.UInt(8), 2, "im")
    f = hl.Func("f")
    f[x, y] = hl.u16(im[x, y]) + im[x + 1, y]
    f.vectorize(x, 8, hl.TailStrategy.GuardWithIf)
    a[69_990:, 39_900:] = 7
    a[69_995, 39_950] = 100
    im.set(a)
    out = hl.Buffer(hl.UInt(16), [90, 8])
    out.set_min([39_905, 69_991])
    f.realize(out)
    want = a[69_991:69_999, 39_905:39_996].astype(np.uint16)
    assert (np.asarray(out) == want[:, :-1] + want[:, 1:]).all()
    assert next(iter(f._pipeline()._runner._programs)).index64
    # The same pipeline on a small image has the 32-bit code.
    im.set(a[:4, :32].copy())
    f.realize([16, 4])
    assert [v.index64 for v in f._pipeline()._runner._programs] == [True, False]
