"""C output: what it says, and, where there is a C compiler, what it computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.failures import CODES
from parhelion.runtime.layout import Layout

CC = shutil.which("cc") or shutil.which("gcc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")

x, y, c = hl.vars("x y c")


def compiled(f: hl.Func, arguments: list[Any], where: Path) -> Callable[..., int]:
    """The function `f_c` of the C text, called with Buffers and numbers."""
    source, library = where / "f.c", where / "f.so"
    f.compile_to_c(source, arguments, "f_c")
    assert CC is not None
    options = ["-std=gnu99", "-Wall", "-Werror", "-Wno-unused", "-fwrapv", "-O0"]
    options += ["-ffp-contract=off", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([CC, *options, str(source), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).f_c

    def call(*given: Any) -> int:
        kept = [struct_of(g) if isinstance(g, hl.Buffer) else g for g in given]
        return int(function(*kept))

    return call


class Dimension(ctypes.Structure):
    _fields_ = (
        ("min", ctypes.c_int32),
        ("extent", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


class Struct(ctypes.Structure):
    _fields_ = (
        ("device", ctypes.c_uint64),
        ("device_interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("type", ctypes.c_uint32),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(Dimension)),
        ("padding", ctypes.c_void_p),
    )


def struct_of(buffer: hl.Buffer) -> Any:
    """A halide_buffer_t for `buffer`, written by hand."""
    layout: Layout = buffer._layout()
    parts = zip(layout.mins, layout.extents, layout.strides, strict=True)
    dims = [Dimension(m, e, s, 0) for m, e, s in parts]
    array = (Dimension * max(len(dims), 1))(*dims)
    made = Struct(host=layout.host, dimensions=len(dims), dim=array)
    return ctypes.byref(made)


def same(f: hl.Func, sizes: list[int], where: Path) -> None:
    """Both ways of computing `f` give the same bits."""
    call = compiled(f, [], where)
    expected = f.realize(sizes)
    assert isinstance(expected, hl.Buffer)
    out = hl.Buffer(expected.type(), sizes)
    assert call(out) == 0
    assert np.array_equal(np.asarray(out), np.asarray(expected), equal_nan=False)


def test_the_text() -> None:
    f = hl.Func("grad")
    f[x, y] = x + 2 * y
    xi = hl.Var("xi")
    f.split(x, x, xi, 8).vectorize(xi).parallel(y)
    text = hl.Pipeline(f).c_text([], "grad_c")
    assert "int grad_c(struct halide_buffer_t *grad_buffer) {" in text
    assert "{  // parallel" in text and "{  // vectorized" in text
    assert "return 0;\n}" in text


def test_arguments_are_those_that_are_given() -> None:
    image = hl.ImageParam(hl.UInt(8), 1, "c_image")
    gain = hl.Param(hl.Int(16), "c_gain", 3)
    f = hl.Func("c_args")
    f[x] = image[x] * gain
    pipeline = hl.Pipeline(f)
    head = "int c_args(int16_t c_gain, struct halide_buffer_t *c_image_buffer, struct"
    assert head in pipeline.c_text([gain, image])
    with pytest.raises(hl.DefinitionError, match="needs 'c_gain'"):
        pipeline.c_text([image])
    g = hl.Func("c_pixels")
    g[x] = hl.Buffer(np.arange(4, dtype=np.uint8))[x]
    with pytest.raises(hl.DefinitionError, match="not among") as caught:
        hl.Pipeline(g).c_text()
    assert "ImageParam" in str(caught.value)


@needs_cc
def test_a_scheduled_blur(tmp_path: Path) -> None:
    image = hl.ImageParam(hl.UInt(8), 3, "c_input")
    gain = hl.Param(hl.Float(32), "c_gain", 1.5)
    inside = hl.BoundaryConditions.repeat_edge(image)
    bx, by = hl.funcs("c_blur_x c_blur_y")
    bx[x, y, c] = (hl.u16(inside[x - 1, y, c]) + inside[x, y, c]) / 3
    by[x, y, c] = hl.u8_sat(hl.f32(bx[x, y - 1, c] + bx[x, y + 1, c]) * gain)
    xi, yi = hl.vars("xi yi")
    by.tile(x, y, xi, yi, 16, 8).vectorize(xi, 8).parallel(y)
    bx.compute_at(by, x).vectorize(x, 8).unroll(y, 2)
    pixels = np.random.default_rng(3).integers(0, 256, (3, 20, 40), np.uint8)
    image.set(pixels)
    expected = by.realize([40, 20, 3])
    call = compiled(by, [image, gain], tmp_path)
    out = hl.Buffer(hl.UInt(8), [40, 20, 3])
    assert call(hl.Buffer(pixels), ctypes.c_float(1.5), out) == 0
    assert np.array_equal(out, np.asarray(expected))
    small = hl.Buffer(hl.UInt(8), [40, 4, 3])
    code = call(hl.Buffer(pixels), ctypes.c_float(1.5), small)
    assert code == CODES["output_too_small"]


@needs_cc
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("signed", [False, True])
def test_integers(bits: int, signed: bool, tmp_path: Path) -> None:
    t = hl.Int(bits) if signed else hl.UInt(bits)
    a, b = hl.cast(t, x * 7919 - 400 * y), hl.cast(t, y - 9)
    wide = [
        a + b,
        a - b,
        a * b,
        a / b,
        a % b,
        a / hl.cast(t, 8),
        a % hl.cast(t, 8),
        a / hl.cast(t, 7),
        hl.min(a, b) ^ hl.max(a, b),
        a & ~b | b,
        a << hl.cast(t, 3),
        a >> b,
        a << b,
        hl.cast(t, hl.absd(a, b)),
        hl.cast(t, hl.abs(a)) if signed else a,
        hl.halving_add(a, b),
        hl.rounding_shift_right(a, hl.cast(t, 2)),
        hl.saturating_add(a, b),
        hl.saturating_sub(a, b),
        hl.cast(t, hl.popcount(a)),
        hl.cast(t, hl.count_leading_zeros(a)),
        hl.cast(t, hl.count_trailing_zeros(a)),
        hl.select((a < b) & (a != 3) | ~(b <= a), a, b),
        hl.div_round_to_zero(a, b),
        hl.mod_round_to_zero(a, b),
    ]
    f = hl.Func(f"c_ints_{'i' if signed else 'u'}{bits}")
    f[x, y, c] = hl.mux(c, wide)
    same(f, [19, 21, len(wide)], tmp_path)


@needs_cc
@pytest.mark.parametrize("bits", [32, 64])
def test_floats(bits: int, tmp_path: Path) -> None:
    t = hl.Float(bits)
    a, b = hl.cast(t, x - 7) / 3, hl.cast(t, y) / 4 - 2
    whole = hl.Int(32)
    values = [
        a + b * 0.1,
        a - b,
        a / (b + 0.625),
        a % (b + 5),
        hl.min(a, b),
        hl.max(a, b),
        hl.floor(a),
        hl.ceil(a),
        hl.round(a),
        hl.trunc(a),
        hl.sqrt(hl.abs(a)),
        hl.cast(t, hl.cast(whole, a * 100)),
        hl.select(hl.is_nan(hl.sqrt(a)), b, hl.cast(t, 1e20)),
        hl.cast(t, hl.reinterpret(hl.UInt(bits), a) >> hl.cast(hl.UInt(bits), 9)),
    ]
    f = hl.Func(f"c_floats_{bits}")
    f[x, y, c] = hl.strict_float(hl.mux(c, values))
    same(f, [15, 17, len(values)], tmp_path)


@needs_cc
def test_library_functions(tmp_path: Path) -> None:
    a = hl.f64(x + 1) / 16
    values = [hl.exp(a), hl.log(a), hl.sin(a), hl.pow(a, 1.5), hl.atan2(a, 2 - a)]
    f = hl.Func("c_library")
    f[x, c] = hl.mux(c, values)
    call = compiled(f, [], tmp_path)
    out = hl.Buffer(hl.Float(64), [20, len(values)])
    assert call(out) == 0
    assert np.allclose(out, f.realize([20, len(values)]), rtol=1e-12)


@needs_cc
def test_reductions_tuples_and_random_numbers(tmp_path: Path) -> None:
    r = hl.RDom([(0, 50)])
    f, g = hl.funcs("c_histogram c_scan")
    f[x] = 0
    f[hl.i32(hl.random_uint() % 16) * 0 + (r * r) % 16] += r
    g[x] = (f[x], hl.f32(x))
    g[hl.RDom([(1, 15)]).x] = (0, 0.0)
    s = hl.RDom([(1, 15)])
    g[s] = (g[s - 1][0] + f[s], g[s - 1][1] + 1)
    f.compute_root()
    h = hl.Func("c_total")
    h[x] = g[x][0] + hl.i32(g[x][1]) + hl.i32(hl.random_uint() & 7)
    g.compute_root()
    same(h, [16], tmp_path)


@needs_cc
def test_what_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("c_said")
    f[x] = hl.print(x + 1, "100% of", hl.f32(x) / 2, x > 0)
    f.trace_stores()
    f.realize([2])
    expected = capfd.readouterr().out
    source, program = tmp_path / "main.c", tmp_path / "main"
    f.compile_to_c(source, [], "c_said")
    with source.open("a") as end:
        end.write(
            "int main() { int32_t d[2]; struct halide_dimension_t e = {0, 2, 1, 0};"
            "struct halide_buffer_t b = {0}; b.host = (uint8_t *)d; b.dim = &e;"
            "return c_said(&b); }\n"
        )
    assert CC is not None
    subprocess.run([CC, "-fwrapv", "-o", str(program), str(source), "-lm"], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert done.stdout == expected
    assert "1 100% of 0.000000 false\n" in expected


@needs_cc
def test_a_failed_requirement(tmp_path: Path) -> None:
    f = hl.Func("c_required")
    f[x] = hl.require(x < 3, x, "too far")
    call = compiled(f, [], tmp_path)
    assert call(hl.Buffer(hl.Int(32), [3])) == 0
    assert call(hl.Buffer(hl.Int(32), [4])) == CODES["require"]


@needs_cc
@pytest.mark.parametrize("shift", [0, 3])
def test_async_funcs_are_computed_before_they_are_used(
    shift: int, tmp_path: Path
) -> None:
    f, g, h = hl.funcs("c_async c_between c_user")
    f[x, y] = x * 3 + y * y
    g[x, y] = f[x, y] + f[x + 1, y + shift]
    h[x, y] = g[x, y - 1] * g[x, y + 1]
    f.hoist_storage_root().store_at(h, y).compute_at(h, y).async_().ring_buffer(3)
    g.store_root().compute_at(h, y).fold_storage(y, 8).async_()
    same(h, [9, 14], tmp_path)


@needs_cc
def test_atomic_updates_by_one_thread(tmp_path: Path) -> None:
    r = hl.RDom([(0, 40), (0, 30)], "r")
    f = hl.Func("c_atomic")
    f[x] = hl.Tuple(0, hl.u8(1))
    at = (r.x * 7 + r.y) % 16
    f[at] = hl.Tuple(f[at][0] + r.x, hl.max(f[at][1], hl.u8(r.x * r.y)))
    f.update().atomic().parallel(r.y).vectorize(r.x, 8)
    g = hl.Func("c_bins")
    g[x] = f[x][0] * 256 + f[x][1]
    g[(r.x + r.y * 5) % 16] += 1
    g.update().atomic().parallel(r.y).vectorize(r.x, 4)
    f.compute_root()
    text = hl.Pipeline(g).c_text()
    assert text.count("// atomic") == 2 and "// parallel" in text
    same(g, [16], tmp_path)
