"""How many tasks the default scheduler makes of a Func's loops."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret

c, x, y, n = hl.vars("c x y n")


def convolution(channels: int, image: hl.Buffer | hl.ImageParam) -> hl.Func:
    """A few images, whose pixels need many operations each."""
    rng = np.random.default_rng(4)
    taps = rng.integers(-3, 4, (channels, 3, 3, 128)).astype(np.float32)
    weights, r = hl.Buffer(taps), hl.RDom([(0, 3), (0, 3), (0, channels)])
    conv, out = hl.Func("conv"), hl.Func("out")
    conv[c, x, y, n] = 0.0
    conv[c, x, y, n] += weights[c, r.x, r.y, r.z] * image[r.z, x + r.x, y + r.y, n]
    out[c, x, y, n] = hl.max(conv[c, x, y, n], 0.0)
    return out


def parallel_loops(out: hl.Func, sizes: list[int], threads: int) -> int:
    text = hl.autoschedule(out, sizes, parallelism=threads).to_python()
    return text.count(".parallel(")


@pytest.mark.parametrize("threads", [2, 3])
def test_few_long_tasks_are_divided(threads: int) -> None:
    """Five images on two threads are three and two: their lines are tasks, too."""
    out = convolution(128, hl.ImageParam(hl.Float(32), 4, "image"))
    assert parallel_loops(out, [128, 100, 80, 5], threads) >= 2


def test_what_is_divided_is_right() -> None:
    rng = np.random.default_rng(5)
    image = hl.Buffer(rng.integers(0, 9, (5, 10, 14, 4)).astype(np.float32))
    out, sizes = convolution(4, image), [128, 12, 8, 5]
    hl.autoschedule(out, [128, 12000, 8000, 5], parallelism=2)
    (wanted,) = interpret(out._function, [(0, extent) for extent in sizes])
    np.testing.assert_array_equal(np.asarray(out.realize(sizes)).T, wanted)


def test_one_thread_needs_no_more_tasks() -> None:
    out = convolution(128, hl.ImageParam(hl.Float(32), 4, "image"))
    assert parallel_loops(out, [128, 100, 80, 5], 1) <= 1


def test_short_tasks_are_not_divided() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] * 2
    assert parallel_loops(g, [64, 16], 2) <= 1
