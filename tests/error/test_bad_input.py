"""One bad program, one exact message: what is only known when a pipeline is run."""

# ruff: noqa: E501  the messages stand as they are printed

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import parhelion as hl

x, y, c = hl.vars("x y c")
xo, xi = hl.vars("xo xi")

Program = Callable[[], object]
CASES: list[tuple[Program, type[hl.HalideError], str]] = []


def bad(kind: type[hl.HalideError], message: str) -> Callable[[Program], Program]:
    """Registers a program that must fail with just this message; in it ``-->`` stands
    for the line with the place, and names made unique lose their number."""

    def register(program: Program) -> Program:
        CASES.append((program, kind, message))
        return program

    return register


def normal(message: str) -> str:
    message = re.sub(r"\$\d+", "", message)
    return re.sub(r"\n   \|   *\^+", "", re.sub(r"  --> .*:\d+", "-->", message))


def ramp(*shape: int) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.uint8).reshape(shape)


@bad(
    hl.DefinitionError,
    """Func 'f' is not defined, so it cannot be computed
-->
   |  hl.Func("f").realize([4])
hint: define it: f[x, y] = …""",
)
def undefined_func() -> None:
    hl.Func("f").realize([4])


@bad(
    hl.BoundsError,
    """profile runs the pipeline 1 time or more, not 0
-->
   |  f.profile([4], repeat=0)""",
)
def no_runs_to_profile() -> None:
    f = hl.Func("f")
    f[x] = x
    f.profile([4], repeat=0)


@bad(
    hl.HalideError,
    """code that is compiled ahead of time cannot be profiled yet
-->
   |  f.compile_to_module([], "f", hl.Target("host-profile"))
hint: take the feature `profile` out of the target, and profile the pipeline in this process: Pipeline.profile""",
)
def profiled_ahead_of_time() -> None:
    f = hl.Func("f")
    f[x] = x
    f.compile_to_module([], "f", hl.Target("host-profile"))


@bad(
    hl.TypeMismatchError,
    """Func 'f' has 2 dimensions; realize is given 1 extents
-->
   |  f.realize([4])
hint: give one for each of its Vars: realize([extent of x, extent of y])""",
)
def wrong_number_of_extents() -> None:
    f = hl.Func("f")
    f[x, y] = x
    f.realize([4])


@bad(
    hl.BoundsError,
    """input image 'p' is too small in dimension 0: the pipeline reads 1 to 4, but the image covers 0 to 3
-->
   |  p = hl.ImageParam(hl.UInt(8), 2, "p")
hint: give a larger image, or read it through hl.BoundaryConditions.repeat_edge""",
)
def image_too_small() -> None:
    p = hl.ImageParam(hl.UInt(8), 2, "p")
    f = hl.Func("f")
    f[x, y] = p[x + 1, y]
    p.set(ramp(3, 4))
    f.realize([4, 3])


@bad(
    hl.BoundsError,
    """the values of a Tuple are computed over one region, but output buffer 'f.0' covers 0 to 4 in dimension 0, and 'f.1' covers 0 to 7
-->
   |  f.realize([ramp(5), ramp(8)])
hint: give buffers of one size""",
)
def buffers_of_a_tuple_of_two_sizes() -> None:
    f = hl.Func("f")
    f[x] = (hl.u8(x), hl.u8(2 * x))
    f.realize([ramp(5), ramp(8)])


@bad(
    hl.BoundsError,
    """the values of a Tuple are computed over one region, but output buffer 'f.0' covers 0 to 4 in dimension 0, and 'f.1' covers 2 to 6
-->
   |  f.realize([hl.Buffer(ramp(5)), second])
hint: give buffers of one size""",
)
def buffers_of_a_tuple_at_two_places() -> None:
    f = hl.Func("f")
    f[x] = (hl.u8(x), hl.u8(2 * x))
    second = hl.Buffer(ramp(5))
    second.set_min([2])
    f.realize([hl.Buffer(ramp(5)), second])


def photograph() -> np.ndarray:
    """Rows, columns, channels."""
    return np.zeros((48, 64, 3), np.uint8)


def shifted(image: hl.ImageParam) -> hl.Func:
    f = hl.Func("f")
    f[x, y, c] = image[x, y, c] + image[x + 1, y, c]
    return f


@bad(
    hl.BoundsError,
    """input image 'p' is too small in dimension 0: the pipeline reads 0 to 63, but the image covers 0 to 2
-->
   |  p = hl.ImageParam(hl.UInt(8), 3, "p")
hint: x has 3 pixels in 'p', of shape (48, 64, 3): if the axes are rows, columns and channels, give hl.Buffer(array, axes="yxc"); else give a larger image, or read it through hl.BoundaryConditions.repeat_edge""",
)
def channels_taken_for_columns() -> None:
    p = hl.ImageParam(hl.UInt(8), 3, "p")
    p.set(photograph())
    shifted(p).realize([63, 48, 3])


@bad(
    hl.BoundsError,
    """input image 'p' is too small in dimension 0: the pipeline reads 0 to 48, but the image covers 0 to 2
-->
   |  p = hl.ImageParam(hl.UInt(8), 3, "p")
hint: x has 3 pixels in 'p', of shape (48, 64, 3): if the axes are rows, columns and channels, give hl.Buffer(array, axes="yxc"); and sizes are [width, height, …], not in the order of an array's shape: [64, 48, 3] for [48, 64, 3]; else give a larger image, or read it through hl.BoundaryConditions.repeat_edge""",
)
def channels_for_columns_and_sizes_of_a_shape() -> None:
    p = hl.ImageParam(hl.UInt(8), 3, "p")
    p.set(photograph())
    shifted(p).realize([48, 64, 3])


@bad(
    hl.BoundsError,
    """input image 'p' is too small in dimension 1: the pipeline reads 0 to 62, but the image covers 0 to 47
-->
   |  p = hl.ImageParam(hl.UInt(8), 3, "p")
hint: x has 3 pixels in 'f', of shape (48, 63, 3): if the axes are rows, columns and channels, give hl.Buffer(array, axes="yxc"); else give a larger image, or read it through hl.BoundaryConditions.repeat_edge""",
)
def an_output_with_channels_for_columns() -> None:
    p = hl.ImageParam(hl.UInt(8), 3, "p")
    p.set(hl.Buffer(photograph(), axes="yxc"))
    shifted(p).realize(np.zeros((48, 63, 3), np.uint8))


@bad(
    hl.BoundsError,
    """input image 'p' is too small in dimension 1: the pipeline reads 0 to 63, but the image covers 0 to 47
-->
   |  p = hl.ImageParam(hl.UInt(8), 2, "p")
hint: sizes are [width, height, …], not in the order of an array's shape: [64, 48] for [48, 64]; else give a larger image, or read it through hl.BoundaryConditions.repeat_edge""",
)
def sizes_of_a_shape() -> None:
    p = hl.ImageParam(hl.UInt(8), 2, "p")
    p.set(photograph()[:, :, 0].copy())
    f = hl.Func("f")
    f[x, y] = p[x, y] + p[x + 1, y]
    f.realize([48, 64])


@bad(
    hl.InvalidBufferError,
    """the stride of p.dim(0) must be 3, but it is 1
-->
   |  f.realize([64, 48, 3])
hint: x has 3 pixels in 'p', of shape (48, 64, 3): if the axes are rows, columns and channels, give hl.Buffer(array, axes="yxc")""",
)
def an_interleaved_image_without_axes() -> None:
    p = hl.ImageParam(hl.UInt(8), 3, "p")
    p.dim(0).set_stride(3)
    p.dim(2).set_stride(1)
    p.set(photograph())
    f = hl.Func("f")
    f[x, y, c] = p[x, y, c]
    f.realize([64, 48, 3])


@bad(
    hl.BoundsError,
    """Func 'f' is bound in dimension c to 0..2, but 0..47 is needed
-->
   |  f[x, y, c] = p[x, y, c]
hint: x has 3 pixels in 'image', of shape (48, 64, 3) and 3 pixels in 'f', of shape (48, 64, 3): if the axes are rows, columns and channels, give hl.Buffer(array, axes="yxc")""",
)
def a_call_with_channels_for_columns() -> None:
    p = hl.ImageParam(hl.UInt(8), 3, "image")
    f = hl.Func("f")
    f[x, y, c] = p[x, y, c]
    f.bound(c, 0, 3)
    f.compile_to_callable([p])(photograph(), photograph())


@bad(
    hl.TypeMismatchError,
    """ImageParam 'p' has 2 dimensions; the image given has 1
-->
   |  p.set(ramp(4))""",
)
def image_of_other_dimensions() -> None:
    p = hl.ImageParam(hl.UInt(8), 2, "p")
    p.set(ramp(4))


@bad(
    hl.TypeMismatchError,
    """ImageParam 'p' is of type uint8; the image given is int16
-->
   |  p.set(np.zeros(4, np.int16))
hint: array.astype(np.uint8) converts""",
)
def image_of_another_type() -> None:
    p = hl.ImageParam(hl.UInt(8), 1, "p")
    p.set(np.zeros(4, np.int16))


@bad(
    hl.InvalidBufferError,
    """the buffer for the output of Func 'f' overlaps itself: with the strides (1, 5) and the extents (10, 10) several pixels share one place
-->
   |  f.realize(as_strided(np.zeros(100, np.int32), (10, 10), (20, 4)))
hint: compute into an array of its own, and copy what is wanted of it""",
)
def an_output_that_overlaps_itself() -> None:
    f = hl.Func("f")
    f[x, y] = x + 100 * y
    f.realize(as_strided(np.zeros(100, np.int32), (10, 10), (20, 4)))


@bad(
    hl.UnsetParamError,
    """ImageParam 'p' has no image
-->
   |  p = hl.ImageParam(hl.UInt(8), 1, "p")
hint: give it one before realize: set(array)""",
)
def image_not_set() -> None:
    p = hl.ImageParam(hl.UInt(8), 1, "p")
    f = hl.Func("f")
    f[x] = p[x]
    f.realize([4])


@bad(
    hl.UnsetParamError,
    """Param 'q' has no value
-->
   |  q = hl.Param(hl.UInt(8), "q")
hint: give it one before realize: set(value)""",
)
def param_not_set() -> None:
    q = hl.Param(hl.UInt(8), "q")
    f = hl.Func("f")
    f[x] = q
    f.realize([4])


@bad(
    hl.LiteralError,
    """300 does not fit the type uint8 of Param 'q'
-->
   |  hl.Param(hl.UInt(8), "q").set(300)
hint: uint8 holds 0 to 255""",
)
def param_out_of_its_type() -> None:
    hl.Param(hl.UInt(8), "q").set(300)


@bad(
    hl.InvalidBufferError,
    """the stride of p.dim(0) must be 3, but it is 1
-->
   |  f.realize([4])""",
)
def broken_promise_of_a_stride() -> None:
    p = hl.ImageParam(hl.UInt(8), 1, "p")
    p.dim(0).set_stride(3)
    f = hl.Func("f")
    f[x] = p[x]
    p.set(ramp(4))
    f.realize([4])


@bad(
    hl.BoundsError,
    """'f' reads or writes 't' at unbounded coordinates: dimension 1 (y) has no bound below
-->
   |  f[x] = t[x, p[x]]
hint: wrap the index in hl.clamp(index, low, high)""",
)
def unbounded_access_of_a_func() -> None:
    p = hl.ImageParam(hl.Int(32), 1, "p")
    t, f = hl.Func("t"), hl.Func("f")
    t[x, y] = x + y
    t.compute_root()
    f[x] = t[x, p[x]]
    f.compile_jit()


@bad(
    hl.BoundsError,
    """'f' reads or writes 't' at unbounded coordinates: dimension 0 has no bound below
-->
   |  f[x] = t[p[x]]
hint: wrap the index in hl.clamp(index, low, high)""",
)
def unbounded_access() -> None:
    p = hl.ImageParam(hl.Int(32), 1, "p")
    t = hl.ImageParam(hl.Int(32), 1, "t")
    f = hl.Func("f")
    f[x] = t[p[x]]
    f.compile_jit()


@bad(
    hl.BoundsError,
    """the extent of dimension 0 of the output of Func 'f' is -4, which is negative
-->
   |  f.realize([-4])""",
)
def negative_extent() -> None:
    f = hl.Func("f")
    f[x] = x
    f.realize([-4])


@bad(
    hl.BoundsError,
    """the extent of dimension 0 of the output of Func 'f' is 2147483648, more than 2147483647
-->
   |  f.realize([1 << 31])""",
)
def overflowing_extent() -> None:
    f = hl.Func("f")
    f[x] = x
    f.realize([1 << 31])


@bad(
    hl.BoundsError,
    """a buffer that covers 2147483639 to 2147483646 in dimension 0 is out of range: coordinates lie within 2146435072 of 0
-->
   |  f.realize(out)""",
)
def coordinates_at_the_end_of_the_world() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(x)
    out = hl.Buffer(np.zeros(8, np.uint8))
    out.set_min([2**31 - 9])
    f.realize(out)


@bad(
    hl.OutOfMemoryError,
    """out of memory: Func 'g' needs 9360064800016 bytes of storage
-->
   |  g[x, y] = hl.f64(x)""",
)
def out_of_memory() -> None:
    f, g = hl.funcs("f g")
    g[x, y] = hl.f64(x)
    f[x, y] = g[x * 100000, y * 100000] + g[x * 100000 + 1, y]
    g.compute_root()
    f.realize([4, 40])


@bad(
    hl.InvalidBufferError,
    """the buffer for the output of Func 'f' shares a read-only array
-->
   |  f.realize(hl.Buffer(a))""",
)
def read_only_output() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(x)
    a = ramp(4)
    a.flags.writeable = False
    f.realize(hl.Buffer(a))


@bad(
    hl.TypeMismatchError,
    """the buffer for the output of Func 'f' is of type int32; its values are uint8
-->
   |  f.realize(hl.Buffer(np.zeros(5, np.int32)))
hint: make it of that type: np.empty(shape, np.uint8)""",
)
def output_of_another_type() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(x)
    f.realize(hl.Buffer(np.zeros(5, np.int32)))


# Coordinates that overflow: nothing may be read or written by a wrapped index.


def _image_behind(index: Callable[[hl.Param], Any], value: int) -> None:
    p = hl.ImageParam(hl.UInt(8), 1, "p")
    q = hl.Param(hl.Int(32), "q")
    f = hl.Func("f")
    f[x] = p[index(q)]
    p.set(ramp(10))
    q.set(value)
    f.realize([8])


@bad(
    hl.BoundsError,
    """the region of 'p' that is needed overflows 32-bit coordinates: p.0.min is made of 7516192768
-->
   |  p = hl.ImageParam(hl.UInt(8), 1, "p")
hint: coordinates are of 32 bits; compute larger numbers in 64, hl.i64(x) * 100000, and narrow what is clamped""",
)
def product_that_overflows() -> None:
    _image_behind(lambda q: x * q, 1 << 30)


@bad(
    hl.BoundsError,
    """the region of 'p' that is needed overflows 32-bit coordinates: p.0.max would be 7516192768
-->
   |  p = hl.ImageParam(hl.UInt(8), 1, "p")""",
)
def constant_product_that_overflows() -> None:
    _image_behind(lambda q: x * (1 << 30), 0)


@bad(
    hl.BoundsError,
    """the region of 'p' that is needed overflows 32-bit coordinates: p.0.max would be 2147483654
-->
   |  p = hl.ImageParam(hl.UInt(8), 1, "p")""",
)
def sum_that_overflows() -> None:
    _image_behind(lambda q: x + q, (1 << 31) - 1)


@bad(
    hl.BoundsError,
    """the region of 'g' that is needed overflows 32-bit coordinates: g.x.min is made of 7516192768
-->
   |  g[x] = hl.u8(x)
hint: coordinates are of 32 bits; compute larger numbers in 64, hl.i64(x) * 100000, and narrow what is clamped""",
)
def storage_that_overflows() -> None:
    f, g = hl.funcs("f g")
    q = hl.Param(hl.Int(32), "q")
    g[x] = hl.u8(x)
    f[x] = g[x * q]
    g.compute_root()
    q.set(1 << 30)
    f.realize([8])


@bad(
    hl.BoundsError,
    """the region of 'p' that is needed overflows 32-bit coordinates: p.0.max would be 4294967293
-->
   |  p = hl.ImageParam(hl.UInt(8), 1, "p")""",
)
def domain_that_overflows() -> None:
    p = hl.ImageParam(hl.UInt(8), 1, "p")
    q = hl.Param(hl.Int(32), "q")
    r = hl.RDom([(q, q)], "r")
    f = hl.Func("f")
    f[x] = 0
    f[x] += p[r]
    p.set(ramp(10))
    q.set((1 << 31) - 1)
    f.realize([8])


@bad(
    hl.ScheduleError,
    """f.split: the factor 2147483647 is more than 1048576
-->
   |  f.split(x, xo, xi, 2**31 - 1)""",
)
def factor_beyond_all_measure() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(x)
    f.split(x, xo, xi, 2**31 - 1)


@bad(
    hl.ScheduleError,
    """f: the loop over xi is vectorized to 1048576 lanes, more than 4096
-->
   |  f.split(x, xo, xi, 1 << 20).vectorize(xi)
hint: a vector of a few times the machine's width is as fast as any""",
)
def more_lanes_than_llvm_takes() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(x)
    f.split(x, xo, xi, 1 << 20).vectorize(xi)
    f.compile_jit()


@bad(
    hl.ScheduleError,
    """f: the loop over xi is unrolled to 1048576 copies, more than 16384
-->
   |  f.split(x, xo, xi, 1 << 20).unroll(xi)
hint: split it and unroll the inner loop""",
)
def more_copies_than_fit() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(x)
    f.split(x, xo, xi, 1 << 20).unroll(xi)
    f.compile_jit()


@pytest.mark.parametrize(
    ("program", "kind", "message"), CASES, ids=[p.__name__ for p, _, _ in CASES]
)
def test_message(program: Program, kind: type[hl.HalideError], message: str) -> None:
    with pytest.raises(kind) as caught:
        program()
    assert type(caught.value) is kind
    assert normal(str(caught.value)) == message


def test_an_extent_of_zero_is_legal() -> None:
    f, g = hl.funcs("f g")
    yi = hl.Var("yi")
    g[x, y] = x
    f[x, y] = g[x, y] + g[x + 1, y]
    f.tile(x, y, xi, yi, 8, 8).vectorize(xi, 4).parallel(y)
    g.compute_at(f, x).vectorize(x, 4)
    for extents in ([0, 5], [5, 0], [0, 0]):
        assert np.asarray(f.realize(extents)).shape == tuple(reversed(extents))
