"""C output: what it says, and, where there is a C compiler, what it computes."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.failures import HALIDE_CODES
from tests.codegen.c_code import CC, built, compiled, needs_cc
from tests.support.structs import BufferStruct, Dimension

x, y, c = hl.vars("x y c")


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
    assert "int grad_c(struct halide_buffer_t *_grad_buffer) {" in text
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index("#pragma omp parallel for")
    assert lines[at + 1].startswith("for (int32_t grad_s0_y = ")
    at = lines.index("#pragma omp simd")
    head = "for (int32_t grad_s0_x = 0; grad_s0_x < grad_s0_x_end; grad_s0_x++) {"
    assert lines[at + 1] == head
    assert "return 0;\n}" in text


def test_arguments_are_those_that_are_given() -> None:
    image = hl.ImageParam(hl.UInt(8), 1, "c_image")
    gain = hl.Param(hl.Int(16), "c_gain", 3)
    f = hl.Func("c_args")
    f[x] = image[x] * gain
    pipeline = hl.Pipeline(f)
    head = "int c_args(int16_t _c_gain, struct halide_buffer_t *_c_image_buffer, "
    assert head in pipeline.c_text([gain, image])
    with pytest.raises(hl.DefinitionError, match="needs 'c_gain'"):
        pipeline.c_text([image])


@needs_cc
def test_images_that_the_algorithm_mentions(tmp_path: Path) -> None:
    table = hl.Buffer(np.array([[3, -7, 1 << 30], [5, 4, -(1 << 31)]], np.int32))
    scale = hl.Buffer(np.array([0.1, np.inf, -2.5], np.float32), "scale")
    f = hl.Func("c_pixels")
    f[x, y] = hl.f32(table[x, y]) * scale[x]
    assert "scale[] = {" in hl.Pipeline(f).c_text()
    same(f, [3, 2], tmp_path)


@needs_cc
def test_images_of_other_layouts_become_dense(tmp_path: Path) -> None:
    pixels = np.arange(60, dtype=np.int16).reshape(4, 5, 3)
    photo = hl.Buffer(pixels, axes="yxc")
    f = hl.Func("c_interleaved")
    f[x, y, c] = photo[x, y, c] * 2
    same(f, [5, 4, 3], tmp_path)


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
    assert code == HALIDE_CODES["output_too_small"]


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
def test_half_floats(tmp_path: Path) -> None:
    """Every operation is rounded, and so are constants."""
    t = hl.Float(16)
    a, b = hl.cast(t, x * 13 - 70) / hl.cast(t, 3), hl.cast(t, y + 1)
    third, table = hl.cast(t, 0.3), hl.Buffer(np.array([0.1, -7.7], np.float16))
    values = [
        a * third + b,
        a / b - third,
        hl.max(a * a, b) + table[y % 2],
        hl.select(a < b * third, a - b, third),
    ]
    f = hl.Func("c_halves")
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
    assert np.allclose(out, np.asarray(f.realize([20, len(values)])), rtol=1e-12)


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
            "int main(void) { int32_t d[2]; struct halide_dimension_t e = {0, 2, 1, 0};"
            "struct halide_buffer_t b = {0}; b.host = (uint8_t *)d; b.dim = &e;"
            "b.type.bits = 32; b.type.lanes = 1;"
            "b.dimensions = 1; return c_said(&b); }\n"
        )
    built(source, program)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert done.stdout == expected
    assert "1 100% of 0.000000 false\n" in expected


@needs_cc
def test_a_failed_requirement(tmp_path: Path) -> None:
    f = hl.Func("c_required")
    f[x] = hl.require(x < 3, x, "too far")
    call = compiled(f, [], tmp_path)
    assert call(hl.Buffer(hl.Int(32), [3])) == 0
    assert call(hl.Buffer(hl.Int(32), [4])) == HALIDE_CODES["require"]


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
def test_async_funcs_in_a_parallel_loop(tmp_path: Path) -> None:
    """Each iteration has its own window and its own ring of copies."""
    f, g, h = hl.funcs("c_async_in c_between_in c_user_in")
    f[x, y] = x * 3 + y * y
    g[x, y] = f[x, y - 1] + f[x + 1, y + 1]
    h[x, y] = g[x, y - 1] * g[x, y + 1]
    yo = hl.Var("yo")
    h.split(y, yo, y, 5, hl.TailStrategy.GuardWithIf).parallel(yo)
    f.store_at(h, yo).compute_at(h, y).async_()
    g.hoist_storage(h, yo).store_at(h, y).compute_at(h, y).async_().ring_buffer(2)
    text = hl.Pipeline(h).c_text()
    assert text.count("#pragma omp parallel for") == 1
    same(h, [33, 41], tmp_path)


@needs_cc
def test_folded_storage_of_parallel_iterations(tmp_path: Path) -> None:
    f, g = hl.funcs("c_folded c_folds")
    f[x, y] = x * x - y
    g[x, y] = f[x, y - 1] + f[x, y] * 2 + f[x, y + 1]
    yo = hl.Var("yo")
    g.split(y, yo, y, 8).parallel(yo).vectorize(x, 4)
    f.store_at(g, yo).compute_at(g, y).fold_storage(y, 4).vectorize(x, 8)
    text = hl.Pipeline(g).c_text()
    assert text.count("#pragma omp parallel for") == 1
    assert text.count("#pragma omp simd") >= 2
    same(g, [50, 67], tmp_path)


@needs_cc
def test_nested_parallel_loops(tmp_path: Path) -> None:
    """The outermost one is for the threads, whichever Func it is of."""
    f, g = hl.funcs("c_inner c_outer")
    f[x, y] = x + y
    g[x, y, c] = f[x, y] * c + f[x + 1, y]
    g.parallel(c).parallel(y)
    f.compute_at(g, c).parallel(y)
    text = hl.Pipeline(g).c_text()
    assert text.count("#pragma omp parallel for") == 1
    assert text.count("// parallel") == 2
    same(g, [20, 15, 9], tmp_path)


@needs_cc
def test_atomic_updates(tmp_path: Path) -> None:
    r = hl.RDom([(0, 40), (0, 300)], "r")
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
    assert text.count("#pragma omp critical(update_c_atomic)") == 1
    assert text.count("#pragma omp atomic\n") == 1
    assert text.count("#pragma omp parallel for") == 2
    assert "#pragma omp simd" not in text
    same(g, [16], tmp_path)


@needs_cc
@pytest.mark.parametrize("kind", ["u8", "i16", "u64", "f32", "f64"])
def test_atomic_updates_in_place(kind: str, tmp_path: Path) -> None:
    """One instruction each where C has one for it, of narrow integers too."""
    t = {"u8": hl.UInt(8), "i16": hl.Int(16), "u64": hl.UInt(64)}.get(kind)
    t = t or hl.Float(int(kind[1:]))
    r = hl.RDom([(0, 64), (0, 200)], "r")
    f = hl.Func(f"c_place_{kind}")
    f[x] = hl.cast(t, x)
    at = (r.x * 3 + r.y) % 7
    f[at] = hl.cast(t, (r.x + r.y) % 8) + f[at]
    f[at] = f[at] - hl.cast(t, r.x % 4)
    for k in range(2):
        f.update(k).atomic().parallel(r.y)
    wanted = 2
    if not t.is_float():
        f[at] = f[at] ^ hl.cast(t, r.x * r.y)
        f.update(2).atomic().parallel(r.y)
        wanted = 3
    text = hl.Pipeline(f).c_text()
    assert text.count("#pragma omp atomic\n") == wanted
    assert "#pragma omp critical" not in text
    same(f, [7], tmp_path)


@needs_cc
def test_an_atomic_update_that_may_fail_is_for_one_thread(tmp_path: Path) -> None:
    r = hl.RDom([(0, 40)], "r")
    limit = hl.Param(hl.Int(32), "limit", 100)
    f = hl.Func("c_atomic_fails")
    f[x] = 0
    f[r % 4] += hl.require(r < limit, r, "never")
    f.update().atomic(override_associativity_test=True).parallel(r)
    text = hl.Pipeline(f).c_text([limit])
    assert "// parallel, but not here: an atomic update of c_atomic_fails may" in text
    assert "#pragma omp parallel" not in text and "#pragma omp critical" not in text
    call = compiled(f, [limit], tmp_path)
    out = hl.Buffer(hl.Int(32), [4])
    assert call(100, out) == 0
    assert np.asarray(out).tolist() == [180, 190, 200, 210]
    assert call(30, out) == HALIDE_CODES["require"]


@needs_cc
def test_vectors_that_are_not_independent(tmp_path: Path) -> None:
    """A sum into one place, and a look-up of a place, are no lanes side by side."""
    r = hl.RDom([(0, 64)], "r")
    f, g = hl.funcs("c_sum c_scatter")
    f[x] = x
    f[3] += r * r
    f.update().atomic().vectorize(r, 8)
    g[x] = f[x % 4]
    g[(r * 5) % 16] = r
    g.update().allow_race_conditions().vectorize(r, 4)
    f.compute_root()
    text = hl.Pipeline(g).c_text()
    assert text.count("// vectorized") >= 1
    assert "#pragma omp simd" not in text
    same(g, [16], tmp_path)


def test_vectors_that_write_every_second_place_are_independent() -> None:
    f = hl.Func("c_strided")
    r = hl.RDom([(0, 32)], "r")
    f[x] = x
    f[r * 2 + 1] = f[r * 2 + 1] * 3 + r
    f.update().vectorize(r, 8)
    f.bound(x, 0, 66)
    assert hl.Pipeline(f).c_text().count("#pragma omp simd") == 1


FAILS = r"""
#include <stdio.h>
int main(void) {
  static int32_t pixels[64 * 64];
  struct halide_dimension_t dim[2] = {{0, 64, 1, 0}, {0, 64, 64, 0}};
  struct halide_buffer_t b = {0};
  b.host = (uint8_t *)pixels;
  b.type.bits = 32;
  b.type.lanes = 1;
  b.dimensions = 2;
  b.dim = dim;
  for (int limit = 100; limit >= 0; limit -= 50) printf("%d ", c_fails(limit, &b));
  printf("%d\n", pixels[64 * 2 + 1]);
  return 0;
}
"""


@needs_cc
@pytest.mark.parametrize("openmp", [True, False])
def test_failures_in_parallel_loops(openmp: bool, tmp_path: Path) -> None:
    """The code comes back, and storage of the iteration and around it is freed: the
    address sanitizer sees what leaks."""
    limit = hl.Param(hl.Int(32), "limit", 100)
    whole, f, g = hl.funcs("c_whole c_inside c_fails")
    whole[x, y] = x + y
    f[x, y] = hl.require(x + y < limit + 50, whole[x, y] * 2, "too far")
    g[x, y] = f[x, y] + f[x + 1, y] + whole[y, x]
    whole.compute_root().store_in(hl.MemoryType.Heap)
    f.compute_at(g, y).store_in(hl.MemoryType.Heap)
    g.parallel(y)
    source = tmp_path / "f.c"
    hl.Pipeline(g).compile_to_c(source, [limit], "c_fails")
    with source.open("a") as end:
        end.write(FAILS)
    flags = ["-fsanitize=address", "-g"]
    assert CC is not None
    empty = tmp_path / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    there = subprocess.run([CC, *flags, "-o", str(tmp_path / "e"), str(empty)])
    if there.returncode:
        flags = []
    if not openmp:
        flags.append("-fno-openmp")
    program = built(source, tmp_path / "fails", *flags)
    env = {"OMP_NUM_THREADS": "4", "ASAN_OPTIONS": "detect_leaks=1"}
    done = subprocess.run([str(program)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    code = HALIDE_CODES["require"]
    assert done.stdout == f"0 {code} {code} {3 * 2 + 4 * 2 + 3}\n"


@needs_cc
def test_bounds_queries_and_bad_buffers(tmp_path: Path) -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "c_asked")
    f = hl.Func("c_asks")
    f[x, y] = image[x - 1, y] + image[x + 2, y + 5]
    call = compiled(f, [image], tmp_path)
    dims = (Dimension * 2)()
    asked = BufferStruct(dim=dims)
    out = hl.Buffer(hl.UInt(8), [10, 20])
    assert call(ctypes.byref(asked), out) == 0
    sides = [(d.min, d.extent, d.stride) for d in dims]
    assert sides == [(-1, 13, 1), (0, 25, 13)]
    assert (asked.code, asked.bits, asked.lanes, asked.dimensions) == (1, 8, 1, 2)
    assert call(None, out) == -12
    given = hl.Buffer(hl.UInt(8), [13, 25])
    given.set_min([-1, 0])
    assert call(given, out) == 0
    assert call(given, hl.Buffer(hl.Int(8), [10, 20])) == -3
    assert call(given, hl.Buffer(hl.UInt(8), [10, 20, 1])) == -43
    given.set_min([0, 0])
    assert call(given, out) == HALIDE_CODES["input_too_small"]


@needs_cc
def test_names_that_c_knows(tmp_path: Path) -> None:
    """Funcs may be called as functions of C, or of the file itself, are."""
    storage, fail, sqrt = hl.funcs("storage fail sqrt")
    least, linux = hl.Func("min_i32"), hl.Func("linux")
    storage[x] = x - 5
    fail[x] = hl.min(storage[x], 3)
    sqrt[x] = hl.sqrt(hl.f32(fail[x] + 9))
    least[x] = hl.i32(sqrt[x] * 10)
    linux[x] = hl.min(least[x], 35) + x
    for g in (storage, fail, sqrt, least):
        g.compute_root()
    linux.parallel(x)
    same(linux, [20], tmp_path)


@needs_cc
def test_a_module_writes_it(tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Float(32), 1, "c_in")
    f = hl.Func("c_module")
    f[x] = image[x] * 2
    f.vectorize(x, 8, hl.TailStrategy.GuardWithIf)
    module = f.compile_to_module([image], "c_module")
    kinds = hl.OutputFileType
    files = {kinds.c_source: tmp_path / "f.c", kinds.c_header: tmp_path / "f.h"}
    module.compile(files)
    source = tmp_path / "main.c"
    source.write_text(
        """
#include "f.h"
#include "f.c"
#include "f.h"
int main(void) {
  float from[4] = {1, 2, 3, 4}, to[4] = {0};
  struct halide_dimension_t dim = {0, 4, 1, 0};
  struct halide_buffer_t in = {0}, out = {0};
  in.type.code = out.type.code = 2;
  in.type.bits = out.type.bits = 32;
  in.type.lanes = out.type.lanes = 1;
  in.dimensions = out.dimensions = 1;
  in.dim = out.dim = &dim;
  in.host = (uint8_t *)from;
  out.host = (uint8_t *)to;
  void *args[] = {&in, &out};
  if (c_module_argv(args)) return 1;
  return to[0] == 2 && to[3] == 8 ? 0 : 2;
}
"""
    )
    program = built(source, tmp_path / "main")
    assert subprocess.run([str(program)], check=False).returncode == 0
    f.parallel(x)
    with pytest.raises(hl.HalideError, match="changed after compile_to_module"):
        module.compile(files)


@needs_cc
@pytest.mark.parametrize("t", [hl.Int(8), hl.Int(32), hl.Int(64)], ids=str)
def test_shifts_by_the_least_amount(t: hl.Type, tmp_path: Path) -> None:
    """Which has no negation."""
    least, bits = -(1 << t.bits() - 1), t.bits()
    amounts = [least, least + 1, -bits - 1, -bits, 1 - bits, -1, 0, 1, bits - 1, bits]
    kind = {8: np.int8, 32: np.int32, 64: np.int64}[bits]
    by = hl.Buffer(np.array([*amounts, -(least + 1)], kind))
    a, b = hl.cast(t, hl.select(y % 2 == 0, -77, 77)), by[x]
    f = hl.Func("c_least")
    f[x, y] = hl.select(y < 2, a << b, a >> b)
    same(f, [len(amounts) + 1, 4], tmp_path)


@needs_cc
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_contract_nothing(compiler: str, tmp_path: Path) -> None:
    """Whatever they would do by themselves on a computer that can."""
    program = shutil.which(compiler)
    if program is None:
        pytest.skip(f"{compiler} is missing")
    if hl.get_host_target().arch is not hl.TargetArch.X86:
        pytest.skip("the options are those of x86")
    random = np.random.default_rng(3)
    a, b, c = (hl.Buffer(random.random(99, np.float32)) for _ in range(3))
    f = hl.Func("c_apart")
    f[x] = hl.strict_float(a[x] * b[x] - c[x])
    source, listing = tmp_path / "apart.c", tmp_path / "apart.s"
    f.compile_to_c(source, [], "apart")
    options = ["-std=gnu11", "-O2", "-mfma", "-fwrapv", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([program, *options, "-S", "-o", listing, source], check=True)
    text = listing.read_text()
    assert "mulss" in text or "mulps" in text
    assert not re.search(r"\bvfn?m(add|sub)", text)


@needs_cc
def test_functions_are_the_polynomials_of_machine_code(tmp_path: Path) -> None:
    """Rounded operation by operation, they agree whether or not a product and a sum
    are one instruction."""
    f, v = hl.Func("c_curves"), hl.f32(x - 40) * 0.37 + hl.f32(y)
    curves = [hl.exp(v), hl.log(v * v + 1.0), hl.pow(hl.abs(v), v * 0.1), hl.sin(v)]
    f[x, y, c] = hl.mux(c, [hl.strict_float(curve) for curve in curves])
    f.vectorize(x, 8)
    text = hl.Pipeline(f).c_text([])
    for name in ("exp", "log", "pow", "sin"):
        assert re.search(rf"static inline float strict_{name}(_f32)+\(", text)
        assert not re.search(rf"\b{name}f\(", text)
    same(f, [96, 5, 4], tmp_path)


@needs_cc
def test_lanes_with_unrolled_loops_and_rows_of_folded_storage(tmp_path: Path) -> None:
    """In a loop of lanes there is no other loop, nor what is the same for all lanes."""
    f, g, rows = *hl.funcs("c_rows c_colours"), hl.Param(hl.Int(32), "rows", 3)
    f[x, y] = x * 7 + y * y
    g[x, y, c] = f[x, y - 1] + f[x, y + 1] * (c + 1) + y / rows
    g.bound(c, 0, 3).reorder(c, x, y).unroll(c).vectorize(x, 8)
    f.store_root().compute_at(g, y).fold_storage(y, 5).vectorize(x, 8)
    text = hl.Pipeline(g).c_text([rows])
    assert "// unrolled" not in text
    last = text.rindex("#pragma omp simd")
    assert "div_i32(" not in text[last:] and "mod_i32(" not in text[last:]
    call = compiled(g, [rows], tmp_path)
    expected, out = g.realize([40, 9, 3]), hl.Buffer(hl.Int(32), [40, 9, 3])
    assert isinstance(expected, hl.Buffer)
    assert call(3, out) == 0
    assert np.array_equal(np.asarray(out), np.asarray(expected))
