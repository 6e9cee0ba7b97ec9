"""The C text of applications: compiled, with threads, against the interpreter."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from apps import blur, hist, local_laplacian
from apps.common import App, Array, Module
from parhelion.interp import Rounding
from tests.aot.builds import halide_headers
from tests.apps.support import interpreted
from tests.codegen.c_code import built, compiled, needs_cc

pytestmark = needs_cc

WIDTH, HEIGHT = 301, 75


@cache
def blurred() -> tuple[Array, Array]:
    """An image, and what the interpreter makes of it."""
    rng = np.random.default_rng(3)
    image = rng.integers(0, 1 << 14, (HEIGHT + 2, WIDTH + 2), np.uint16)
    return image, interpreted(blur.algorithm, {"input": image}, [WIDTH, HEIGHT])


@pytest.mark.parametrize("schedule", ["root", "tiled", "sliding", "rows"])
def test_blur(schedule: str, tmp_path: Path) -> None:
    app = blur.algorithm(hl)
    blur.SCHEDULES[schedule](hl, app)
    image, exact = blurred()
    text = hl.Pipeline(app.output).c_text([app.inputs["input"]])
    assert "#pragma omp parallel for" in text
    assert "#pragma omp simd" in text
    call = compiled(app.output, [app.inputs["input"]], tmp_path)
    out = hl.Buffer(hl.UInt(16), [WIDTH, HEIGHT])
    assert call(hl.Buffer(image), out) == 0
    np.testing.assert_array_equal(np.asarray(out), exact)


@cache
def enhanced() -> tuple[Array, Array]:
    """A photograph, and what the interpreter makes of it."""
    rng = np.random.default_rng(4)
    image = rng.integers(0, 1 << 16, (3, HEIGHT, WIDTH), np.uint16)
    return image, interpreted(
        lambda module: local_laplacian.algorithm(module, 3),
        {"input": image},
        [WIDTH, HEIGHT, 3],
        {"levels": 6, "alpha": 0.5, "beta": 0.75},
    )


@pytest.mark.parametrize("schedule", ["root", "strips"])
def test_local_laplacian(schedule: str, tmp_path: Path) -> None:
    app = local_laplacian.algorithm(hl, 3)
    if schedule == "root":
        local_laplacian.schedule_root(hl, app)
    else:
        _strips(hl, app)
    image, exact = enhanced()
    params = [app.params[n] for n in ("levels", "alpha", "beta")]
    call = compiled(app.output, [app.inputs["input"], *params], tmp_path)
    out = hl.Buffer(hl.UInt(16), [WIDTH, HEIGHT, 3])
    half, more = ctypes.c_float(0.5), ctypes.c_float(0.75)
    assert call(hl.Buffer(image), 6, half, more, out) == 0
    off = np.abs(np.asarray(out).astype(np.int64) - exact)
    # An index into a table is a truncated float: one unit in the last place moves it.
    assert np.count_nonzero(off > 1) <= 0.02 * off.size
    assert off.max() <= 600


def _strips(module: Module, app: App) -> None:
    """Windows of the output's pyramid that slide within parallel strips."""
    x, y, c, yo = (module.Var(n) for n in ("x", "y", "c", "yo"))
    funcs, out = app.funcs, app.output
    out.reorder(c, x, y).split(y, yo, y, 16).parallel(yo).vectorize(x, 16)
    for name in ("remap", "gray", "in_pyramid_1", "in_pyramid_2"):
        funcs[name].compute_root()
    for name in ("g_pyramid_1", "g_pyramid_2"):
        funcs[name].compute_root().parallel(module.Var("k")).parallel(y)
    funcs["out_pyramid_1"].store_at(out, yo).compute_at(out, y).vectorize(x, 16)
    funcs["out_pyramid_0"].compute_at(out, y).vectorize(x, 16)


def test_histogram_equalisation(tmp_path: Path) -> None:
    """The histogram's rows in parallel, by atomic updates."""
    app = hist.algorithm(hl)
    hist.schedule_rows(hl, app)
    counts = app.funcs["hist"]
    counts.update(0).atomic().parallel(counts.rvars(0)[0])
    text = hl.Pipeline(app.output).c_text([app.inputs["input"]])
    assert text.count("#pragma omp atomic\n") == 1
    rng = np.random.default_rng(5)
    image = rng.integers(0, 200, (3, HEIGHT, WIDTH), np.uint8)
    # The C compiler is told of no processor with fused operations.
    exact = interpreted(
        hist.algorithm,
        {"input": image},
        [WIDTH, HEIGHT, 3],
        rounding=Rounding.APART,
    )
    call = compiled(app.output, [app.inputs["input"]], tmp_path)
    out = hl.Buffer(hl.UInt(8), [WIDTH, HEIGHT, 3])
    assert call(hl.Buffer(image), out) == 0
    np.testing.assert_array_equal(np.asarray(out), exact)


MAIN = """
#include "blur.h"
#include <stdio.h>
int main(void) {
  static uint16_t from[22 * 12], to[20 * 10];
  struct halide_dimension_t in_dim[2] = {{0, 22, 1, 0}, {0, 12, 22, 0}};
  struct halide_dimension_t out_dim[2] = {{0, 20, 1, 0}, {0, 10, 20, 0}};
  struct halide_buffer_t in = {0}, out = {0};
  for (int i = 0; i < 22 * 12; i++) from[i] = 9 * i;
  in.host = (uint8_t *)from, out.host = (uint8_t *)to;
  in.type.code = out.type.code = 1;
  in.type.bits = out.type.bits = 16;
  in.type.lanes = out.type.lanes = 1;
  in.dimensions = out.dimensions = 2;
  in.dim = in_dim, out.dim = out_dim;
  const int code = blur(&in, &out);
  printf("%d %d %d\\n", code, to[0], to[20 * 10 - 1]);
  return 0;
}
"""


@pytest.mark.parametrize("headers", ["ours", "halide"])
def test_with_the_header(headers: str, tmp_path: Path) -> None:
    app = blur.algorithm(hl)
    blur.schedule_root(hl, app)
    given = [app.inputs["input"]]
    app.output.compile_to_header(tmp_path / "blur.h", given, "blur")
    app.output.compile_to_c(tmp_path / "blur.c", given, "blur")
    before, flags = "", [f"-I{tmp_path}"]
    if headers == "halide":
        before = '#include "HalideRuntime.h"\n'
        flags += ["-isystem", str(halide_headers())]
    source = tmp_path / "main.c"
    source.write_text(f'{before}#include "blur.c"\n{MAIN}')
    program = built(source, tmp_path / "main", includes=flags)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert done.stdout == f"0 {9 * (22 + 1)} {9 * (10 * 22 + 20)}\n"
