"""Where an image is too small, the error names the stages that read it."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl

x, y, c = hl.vars("x y c")


def blurred(image: hl.ImageParam, other: hl.ImageParam) -> hl.Func:
    bx, by = hl.Func("bx"), hl.Func("by")
    r = hl.RDom([(0, 2)])
    bx[x, y] = image[x, y]
    bx[x, y] += image[x + 1 + r, y]  # the update reads it
    by[x, y] = bx[x, y] + bx[x, y + 1] + other[x, y]
    bx.compute_root()
    return by


@pytest.mark.parametrize("is_inlined", [False, True])
def test_each_stage_that_reads_the_image_is_named(is_inlined: bool) -> None:
    image, other = (hl.ImageParam(hl.Int(32), 2, n) for n in ("image", "other"))
    by = blurred(image, other)
    image.set(np.zeros((10, 10), np.int32))
    other.set(np.zeros((10, 10), np.int32))
    out = by
    if is_inlined:
        out = hl.Func("out")
        out[x, y] = by[x, y] * 2
    with pytest.raises(hl.BoundsError, match="is too small in dimension 0") as caught:
        out.realize([9, 9])
    told = str(caught.value)
    assert "bx" in told and "the update reads it" in told
    assert "bx[x, y] = image[x, y]" in told and f"--> {__file__}:" in told
    assert "reads 'other" not in told and "bx[x, y + 1]" not in told
    assert "repeat_edge" in caught.value.hint
    by_callable = out.compile_to_callable([image, other])
    with pytest.raises(hl.BoundsError, match="the update reads it"):
        zeros = np.zeros((10, 10), np.int32)
        by_callable(zeros, zeros, np.zeros((9, 9), np.int32))


def test_a_single_stage_needs_no_name() -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("f")
    f[x] = image[x + 1]
    image.set(np.zeros(4, np.int32))
    with pytest.raises(hl.BoundsError, match="is too small") as caught:
        f.realize([4])
    assert caught.value.detail == ""


def test_an_output_that_is_too_small_as_well_is_told_first() -> None:
    """More is read because more is written: a larger image would not help."""
    image, f, xi = hl.Buffer(np.zeros((30, 30), np.uint8)), hl.Func("f"), hl.Var("xi")
    f[x, y] = image[x, y] + 1
    f.split(x, x, xi, 16, hl.TailStrategy.RoundUp)
    with pytest.raises(hl.BoundsError) as caught:
        f.realize(hl.Buffer(hl.UInt(8), [30, 30]))
    assert caught.value.failure == "output_too_small"
    assert "the pipeline writes 0 to 31, but the buffer covers 0 to 29" in str(
        caught.value
    )
