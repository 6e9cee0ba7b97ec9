"""C and C++ programs that call compiled pipelines, here and on emulated machines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from apps import blur, local_laplacian
from tests.aot.builds import HERE, HOST, MACHINES, Machine, halide_headers, target
from tests.apps.support import interpreted

#: No less than a tile of the blur, and no multiple of anything.
WIDTH, HEIGHT = 301, 75


def flags(headers: str) -> list[str]:
    """Options for callers that include Halide's headers first."""
    if headers == "ours":
        return []
    # Its C++ header is not ours to warn about.
    return ["-DWITH_HALIDE_HEADERS", "-isystem", str(halide_headers())]


def blurred(folder: Path, machine: Machine) -> np.ndarray:
    """Writes a library of the blur, and an input; returns what it should give."""
    app = blur.algorithm(hl)
    blur.schedule_tiled(hl, app)
    app.output.compile_to_static_library(
        folder / "blur", [app.inputs["input"]], "blur", target(machine)
    )
    rng = np.random.default_rng(3)
    image = rng.integers(0, 1 << 14, (HEIGHT + 2, WIDTH + 2), np.uint16)
    (folder / "in.raw").write_bytes(image.tobytes())
    return interpreted(blur.algorithm, {"input": image}, [WIDTH, HEIGHT])


@pytest.mark.parametrize("headers", ["ours", "halide"])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_blur_from_c(machine: Machine, headers: str, tmp_path: Path) -> None:
    machine.tool(f"{machine.gcc}gcc")
    exact = blurred(tmp_path, machine)
    args = [WIDTH, HEIGHT, tmp_path / "in.raw", tmp_path / "out.raw"]
    library = [tmp_path / "blur.a"]
    done = machine.run(HERE / "blur.c", library, tmp_path, args, flags(headers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        f"needs 0 + {WIDTH + 2}",
        f"needs 0 + {HEIGHT + 2}",
        "same 1",
        "loops 1, left 0",
        "told: input image 'input' is too small in dimension 0: the pipeline reads 0 "
        f"to {WIDTH + 1}, but the image covers 0 to {WIDTH}",
        "small -4",
        "told: the buffer 'input' must be of type uint16 (code 1, 16 bits), but its "
        "type has code 1 and 8 bits",
        "type -3",
        "told: the buffer 'input' must have 2 dimensions, but it has 3",
        "dimensions -43",
        "told: the buffer argument 'input' is NULL",
        "null -12",
        "told 4",
    ]
    found = np.fromfile(tmp_path / "out.raw", np.uint16).reshape(exact.shape)
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("headers", ["ours", "halide"])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_local_laplacian_from_cpp(
    machine: Machine, headers: str, tmp_path: Path
) -> None:
    machine.tool(f"{machine.gcc}g++")
    app = local_laplacian.algorithm(hl, 3)
    local_laplacian.schedule_root(hl, app)
    params = [app.params[n] for n in ("levels", "alpha", "beta")]
    app.output.compile_to_file(
        tmp_path / "local_laplacian",
        [app.inputs["input"], *params],
        "local_laplacian",
        target(machine),
    )
    rng = np.random.default_rng(4)
    image = rng.integers(0, 1 << 16, (3, HEIGHT, WIDTH), np.uint16)
    (tmp_path / "in.raw").write_bytes(image.tobytes())
    args = [WIDTH, HEIGHT, tmp_path / "in.raw", tmp_path / "out.raw", 6, 0.5, 0.75]
    objects = [tmp_path / "local_laplacian.o"]
    source = HERE / "local_laplacian.cpp"
    done = machine.run(source, objects, tmp_path, args, flags(headers))
    assert done.returncode == 0, done.stdout + done.stderr
    if headers == "halide":
        assert done.stdout.splitlines() == [
            f"local_laplacian for {target(machine)}",
            "input 1 3 1 16",
            "levels 0 0 0 32 = 8",
            "alpha 0 0 2 32 = 1",
            "beta 0 0 2 32 = 1",
            "output 2 3 1 16",
        ]
    exact = interpreted(
        lambda module: local_laplacian.algorithm(module, 3),
        {"input": image},
        [WIDTH, HEIGHT, 3],
        {"levels": 6, "alpha": 0.5, "beta": 0.75},
    )
    found = np.fromfile(tmp_path / "out.raw", np.uint16).reshape(exact.shape)
    off = np.abs(found.astype(np.int64) - exact)
    # An index into a table is a truncated float: one unit in the last place moves it.
    assert np.count_nonzero(off > 1) <= 0.02 * off.size
    assert off.max() <= 600


def test_two_libraries_in_one_program(tmp_path: Path) -> None:
    """Both carry the run time; the linker keeps one."""
    HOST.tool("gcc")
    x, y = hl.vars("x y")
    for name, factor in (("twice", 2), ("thrice", 3)):
        f = hl.Func(name)
        f[x, y] = hl.u8(x * factor + y)
        f.parallel(y).vectorize(x, 16, hl.TailStrategy.GuardWithIf)
        f.compile_to_file(tmp_path / name, [], name)
    source = tmp_path / "both.c"
    source.write_text(
        """
#include "twice.h"
#include "thrice.h"
#include <stdio.h>
int main(void) {
    static uint8_t pixels[40 * 30];
    struct halide_dimension_t dim[2] = {{0, 40, 1, 0}, {0, 30, 40, 0}};
    struct halide_buffer_t b = {0};
    b.host = pixels;
    b.type.code = 1;
    b.type.bits = 8;
    b.type.lanes = 1;
    b.dimensions = 2;
    b.dim = dim;
    int code = twice(&b);
    printf("%d %d\\n", code, pixels[40 * 7 + 9]);
    code = thrice(&b);
    printf("%d %d\\n", code, pixels[40 * 7 + 9]);
    return 0;
}
"""
    )
    objects = [tmp_path / "twice.o", tmp_path / "thrice.o"]
    done = HOST.run(source, objects, tmp_path, [])
    assert done.stdout.splitlines() == [f"0 {2 * 9 + 7}", f"0 {3 * 9 + 7}"]
