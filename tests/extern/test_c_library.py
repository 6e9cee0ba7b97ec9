"""Foreign stages in C, by a library that the test builds, and in OpenCV."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from tests.support.checking import check

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>

typedef struct { int32_t min, extent, stride; uint32_t flags; } dim_t;
typedef struct { uint8_t code, bits; uint16_t lanes; } type_t;
typedef struct {
    uint64_t device; const void *device_interface; uint8_t *host; uint64_t flags;
    type_t type; int32_t dimensions; dim_t *dim; void *padding;
} buf_t;

static uint16_t *at(buf_t *b, int x, int y) {
    return (uint16_t *)b->host + (ptrdiff_t)(x - b->dim[0].min) * b->dim[0].stride
        + (ptrdiff_t)(y - b->dim[1].min) * b->dim[1].stride;
}

int calls, queries;

/* out(x, y) = the largest of in over x - radius .. x + radius, scaled */
int widest(int radius, buf_t *in, float scale, buf_t *out) {
    if (!in->host) {
        __atomic_fetch_add(&queries, 1, __ATOMIC_RELAXED);
        in->dim[0].min = out->dim[0].min - radius;
        in->dim[0].extent = out->dim[0].extent + 2 * radius;
        in->dim[1].min = out->dim[1].min;
        in->dim[1].extent = out->dim[1].extent;
        return 0;
    }
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (in->type.code != 1 || in->type.bits != 16 || in->dimensions != 2) return -3;
    dim_t *d = out->dim;
    for (int y = d[1].min; y < d[1].min + d[1].extent; y++)
        for (int x = d[0].min; x < d[0].min + d[0].extent; x++) {
            uint16_t most = 0;
            for (int k = -radius; k <= radius; k++) {
                uint16_t v = *at(in, x + k, y);
                if (v > most) most = v;
            }
            *at(out, x, y) = (uint16_t)(most * scale);
        }
    return 0;
}

/* Two outputs of three dimensions, from nothing. */
int planes(uint8_t bias, buf_t *low, buf_t *high) {
    if (!low->host) return 0;
    dim_t *d = low->dim;
    for (int c = 0; c < d[2].extent; c++)
        for (int y = 0; y < d[1].extent; y++)
            for (int x = 0; x < d[0].extent; x++) {
                int v = (x + d[0].min) + 10 * (y + d[1].min) + 100 * (c + d[2].min);
                ((int32_t *)low->host)[x * d[0].stride + y * d[1].stride
                    + c * d[2].stride] = v + bias;
                dim_t *e = high->dim;
                ((double *)high->host)[x * e[0].stride + y * e[1].stride
                    + c * e[2].stride] = -v;
            }
    return 0;
}

int fails(buf_t *in, buf_t *out) {
    if (!in->host) {
        in->dim[0] = out->dim[0];
        return 0;
    }
    return 17;
}

int16_t collatz(int16_t n, uint8_t most) {
    int16_t steps = 0;
    while (n > 1 && steps < most) { n = n & 1 ? 3 * n + 1 : n / 2; steps++; }
    return steps;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to build the library with")
    folder: Path = tmp_path_factory.mktemp("c")
    (folder / "stages.c").write_text(SOURCE)
    built = folder / "libstages.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(built)]
    subprocess.run([*command, str(folder / "stages.c")], check=True)
    return ctypes.CDLL(str(built))


def test_a_stage_in_c(library: ctypes.CDLL) -> None:
    radius = hl.Param(hl.Int(32), "radius")
    radius.set(2)

    def make() -> tuple[hl.Func, hl.Func, hl.Func]:
        g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
        g[x, y] = hl.u16((x * 37 + y * 91) % 251)
        e.define_extern(library.widest, [radius, g, 1.5], hl.UInt(16), [x, y])
        o[x, y] = hl.i32(e[x, y]) - e[x + 1, y + 1]
        g.compute_root()
        return o, e, g

    check(
        make,
        [10, 6],
        [
            lambda o, e, g: e.compute_root(),
            lambda o, e, g: e.compute_at(o, y),
            lambda o, e, g: (e.compute_at(o, y), g.compute_at(o, y), o.parallel(y)),
            lambda o, e, g: (e.store_root().compute_at(o, y), o.vectorize(x, 4)),
        ],
        mins=[-4, 3],
    )


def test_it_is_asked_before_it_runs(library: ctypes.CDLL) -> None:
    queries = ctypes.c_int.in_dll(library, "queries")
    calls = ctypes.c_int.in_dll(library, "calls")
    image = hl.ImageParam(hl.UInt(16), 2, "image")
    e, o = hl.Func("e"), hl.Func("o")
    e.define_extern(library.widest, [1, image, 1.0], hl.UInt(16), [x, y])
    o[x, y] = e[x, y] + 1
    e.compute_at(o, y)
    assert e.extern_function_name() == "widest"
    image.set(hl.Buffer(np.ones((4, 9), np.uint16)).translated([-1, 0]))
    o.compile_jit()
    queries.value = calls.value = 0
    assert (np.asarray(o.realize([7, 4])) == 2).all()
    assert (queries.value, calls.value) == (5, 4)  # once for the image, then each row
    with pytest.raises(
        hl.BoundsError, match="reads -1 to 8, but the image covers -1 to"
    ):
        o.realize([8, 4])


def test_two_outputs(library: ctypes.CDLL) -> None:
    def make() -> tuple[hl.Func, hl.Func]:
        e, o = hl.Func("e"), hl.Func("o")
        types = [hl.Int(32), hl.Float(64)]
        bias = hl.cast(hl.UInt(8), 200)
        e.define_extern(library.planes, [bias], types, [x, y, c])
        o[x, y, c] = (e[x, y, c][0] * 2, e[x, y, c][1] + e[x + 1, y, c][1])
        return o, e

    check(
        make,
        [5, 4, 3],
        [lambda o, e: e.compute_root(), lambda o, e: e.compute_at(o, c)],
    )


def test_a_code_that_is_not_zero(library: ctypes.CDLL) -> None:
    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(library.fails, [g], hl.Int(32), [x])
    g.compute_root()
    with pytest.raises(hl.PipelineRuntimeError) as error:
        e.realize([4])
    assert error.value.what == (
        f"the foreign code that computes Func {e.name()!r} failed: it returned 17"
    )


def test_a_function_of_the_library(library: ctypes.CDLL) -> None:
    steps = hl.extern_function(library.collatz, hl.Int(16), [hl.Int(16), hl.UInt(8)])

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x, y] = steps(hl.i16(x * 3 + y), 200) - 300
        return f

    check(make, [20, 3], [lambda f: f.vectorize(x, 8).parallel(y)])


def test_opencv() -> None:
    """A median filter by OpenCV between two stages of ours, tile by tile."""
    cv2 = pytest.importorskip("cv2")
    rng = np.random.default_rng(3)
    photo = rng.integers(0, 256, (37, 53), np.uint8)
    tile = 16

    def median(given: hl.Buffer, out: hl.Buffer) -> None:
        whole = cv2.medianBlur(np.ascontiguousarray(given), 3)
        np.asarray(out)[...] = whole[1:-1, 1:-1]

    image = hl.BoundaryConditions.repeat_edge(hl.Buffer(photo, name="photo"))
    bright, smooth, o = hl.Func("bright"), hl.Func("smooth"), hl.Func("o")
    xi, yi = hl.Var("xi"), hl.Var("yi")
    bright[x, y] = image[x, y] / 2 + 50
    smooth.define_extern(
        median,
        [bright],
        hl.UInt(8),
        [x, y],
        bounds=lambda region: [[(low - 1, extent + 2) for low, extent in region]],
    )
    o[x, y] = 255 - smooth[x, y]
    o.tile(x, y, xi, yi, tile, tile, hl.TailStrategy.GuardWithIf).parallel(y)
    smooth.compute_at(o, x)
    bright.compute_at(o, x)
    wanted = 255 - cv2.medianBlur(photo // 2 + 50, 3)
    np.testing.assert_array_equal(np.asarray(o.realize([53, 37])), wanted)
