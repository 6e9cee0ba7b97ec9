"""Buffers that stay on a device, and streams, in programs without Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import parhelion as hl
from tests.aot.builds import HOST, halide_headers
from tests.support.fake_driver import library


def build(folder: Path, target: str = "host") -> Path:
    """An object file of a kernel, and its header."""
    x, y, tx, ty = hl.vars("x y tx ty")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    f = hl.Func("twice")
    f[x, y] = image[x, y] * 2 + 1
    f.gpu_tile(x, y, tx, ty, 8, 8)
    f.compile_to_file(folder / "twice", [image], "twice", hl.Target(target))
    return folder / "twice.o"


BUFFERS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "twice.h"

enum { W = 20, H = 15 };
static struct halide_buffer_t make(int32_t *pixels, struct halide_dimension_t *dim) {
    struct halide_buffer_t b = {0};
    dim[0].extent = W; dim[0].stride = 1;
    dim[1].extent = H; dim[1].stride = W;
    b.host = (uint8_t *)pixels;
    b.type.bits = 32;
    b.type.lanes = 1;
    b.dimensions = 2;
    b.dim = dim;
    return b;
}
static int32_t one[W * H], two[W * H];
"""

SIMULATED = (
    BUFFERS
    + """
static int32_t three[W * H];
static void told(void *user, const char *text) { (void)user; printf("%s\\n", text); }

int main(void) {
    struct halide_dimension_t dims[3][2] = {{{0, 0, 0, 0}}};
    struct halide_buffer_t a = make(one, dims[0]), b = make(two, dims[1]),
                           c = make(three, dims[2]);
    const struct halide_device_interface_t *device =
        parhelion_simulated_device_interface();
    for (int i = 0; i < W * H; i++) one[i] = i;
    // By itself a pipeline copies what it needs, and frees it.
    int code = twice(&a, &b);
    printf("%d %d %d\\n", code, two[7], a.device == 0 && b.device == 0);
    // What is on the device stays there.
    memset(two, 0, sizeof two);
    code = halide_copy_to_device(NULL, &a, device);
    code |= halide_device_malloc(NULL, &b, device);
    code |= halide_device_malloc(NULL, &c, device);
    one[7] = 1000; // not seen: nobody says so
    code |= twice(&a, &b) | twice(&b, &c);
    printf("%d %d %d %d\\n", code, two[7], three[7], (int)(c.flags & 3));
    code = halide_copy_to_host(NULL, &c) | halide_device_sync(NULL, &c);
    printf("%d %d %d %d\\n", code, two[7], three[7], (int)(c.flags & 3));
    a.flags |= 1; // now the pixels in memory are newer
    code = twice(&a, &b) | halide_copy_to_host(NULL, &b);
    printf("%d %d\\n", code, two[7]);
    code = halide_device_free(NULL, &a) | halide_device_free(NULL, &b) |
           halide_device_free(NULL, &c);
    printf("%d %d\\n", code, a.device == 0 && b.device == 0 && c.device == 0);
    halide_set_error_handler(told);
    setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    printf("%d\\n", halide_copy_to_device(NULL, &a, halide_cuda_device_interface()));
    return 0;
}
"""
)


def test_buffers_stay_on_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    program = tmp_path / "program.c"
    program.write_text(SIMULATED)
    made = HOST.run(program, [build(tmp_path)], tmp_path, [])
    assert made.returncode == 0, made.stderr
    *lines, error, code = made.stdout.splitlines()
    assert lines == ["0 15 1", "0 0 0 2", "0 0 31 0", "0 2001", "0 1"]
    assert "the driver of NVIDIA's GPUs, libcuda.so.1, is not installed" in error
    assert code == "-15"


STREAMS = (
    BUFFERS
    + """
#include <dlfcn.h>

// The program's own: what the calls' user_context says.
int halide_cuda_get_stream(void *user, struct CUctx_st *context,
                           struct CUstream_st **stream) {
    if (context == NULL) abort();
    *stream = (struct CUstream_st *)user;
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    setenv("PARHELION_CUDA_DRIVER", argv[1], 1);
    struct halide_dimension_t dims[2][2] = {{{0, 0, 0, 0}}};
    struct halide_buffer_t a = make(one, dims[0]), b = make(two, dims[1]);
    int code = halide_copy_to_device((void *)0x10, &a, halide_cuda_device_interface());
    uintptr_t at = halide_cuda_get_device_ptr(NULL, &a);
    // Another struct of the same pixels, which are the first one's.
    struct halide_dimension_t more[2];
    struct halide_buffer_t c = make(NULL, more);
    code |= halide_cuda_wrap_device_ptr(NULL, &c, at);
    printf("%d ", halide_cuda_wrap_device_ptr(NULL, &c, at));
    code |= halide_device_malloc(NULL, &b, NULL);
    code |= twice((void *)0x20, &c, &b);
    code |= halide_copy_to_host((void *)0x30, &b);
    code |= halide_cuda_detach_device_ptr(NULL, &c);
    code |= halide_device_free(NULL, &a) | halide_device_free(NULL, &b);
    printf("%d %d\\n", code, c.device == 0 && a.device == 0);
    void *driver = dlopen(argv[1], RTLD_NOW);
    printf("%s", ((const char *(*)(void))dlsym(driver, "fake_told"))());
    return 0;
}
"""
)


def test_the_program_chooses_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "sm_80")
    driver = tmp_path / "libfake.so"
    driver.write_bytes(library())
    program = tmp_path / "program.c"
    program.write_text(STREAMS)
    objects = [build(tmp_path, "host-user_context")]
    made = HOST.run(program, objects, tmp_path, [driver], ["-ldl"])
    assert made.returncode == 0, made.stderr
    first, *calls = made.stdout.splitlines()
    assert first == "-32 0 1", made.stderr
    launches = [c for c in calls if c.startswith("cuLaunchKernel")]
    assert len(launches) == 1 and launches[0].endswith("on 0x20")
    copies = [c for c in calls if c.startswith(("cuMemcpyHtoD", "cuMemcpyDtoH"))]
    assert [c.split()[0] for c in copies] == ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"]
    assert [c.split()[-1] for c in copies] == ["0x10", "0x30"]


HALIDE = """
#include "HalideBuffer.h"
#include "twice.h"
#include <cstdio>

int main() {
    Halide::Runtime::Buffer<int32_t> in(20, 15), out(20, 15);
    in.for_each_element([&](int x, int y) { in(x, y) = x + 20 * y; });
    out.fill(0);
    const halide_device_interface_t *device = parhelion_simulated_device_interface();
    int code = in.copy_to_device(device) | out.device_malloc(device);
    code |= twice(in, out);
    std::printf("%d %d %d", code, (int)out.device_dirty(), out.data()[27]);
    code = out.copy_to_host();
    std::printf(" %d %d %d", code, (int)out.device_dirty(), out(7, 1));
    code = out.device_sync() | in.device_free();
    std::printf(" %d %d\\n", code, (int)in.has_device_allocation());
    return 0;
}
"""


def test_halides_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halide's own class calls what the interface has."""
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    program = tmp_path / "program.cpp"
    program.write_text(HALIDE)
    flags = [f"-isystem{halide_headers()}"]
    made = HOST.run(program, [build(tmp_path)], tmp_path, [], flags)
    assert made.returncode == 0, made.stderr
    assert made.stdout == "0 1 0 0 0 55 0 0\n"
