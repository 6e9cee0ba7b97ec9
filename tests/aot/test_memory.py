"""The memory of intermediate results in programs without Python, and its switch."""

from __future__ import annotations

from pathlib import Path

import pytest

import parhelion as hl
from tests.aot.builds import MACHINES, Machine, target

#: Runs thrice, and then tells the pages that three more runs fault: as it is, with
#: nothing kept, and kept again. The output is small beside what is computed for it.
PROGRAM = """
#include "many.h"
#include <stdio.h>
#include <sys/resource.h>

static long faults(struct halide_buffer_t *b, int *code) {
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int k = 0; k < 3; k++) *code |= many(b);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

int main(void) {
    static float pixels[500 * 400];
    struct halide_dimension_t dim[2] = {{0, 500, 1, 0}, {0, 400, 500, 0}};
    struct halide_buffer_t b = {0};
    b.host = (uint8_t *)pixels;
    b.type.code = 2;
    b.type.bits = 32;
    b.type.lanes = 1;
    b.dimensions = 2;
    b.dim = dim;
    int code = 0;
    long first = faults(&b, &code), kept = faults(&b, &code);
    int64_t limit = halide_set_kept_memory(0);
    long none = faults(&b, &code);
    int64_t nothing = halide_release_memory();
    int64_t zero = halide_set_kept_memory(limit);
    faults(&b, &code);
    long again = faults(&b, &code);
    int64_t released = halide_release_memory();
    printf("%d %d %ld %d %d %d %ld %d\\n", code, first > 100, kept, none > 300,
           nothing == 0, zero == 0, again, released > 20 * 500 * 400 * 4);
    return limit <= 0;
}
"""


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_no_page_is_faulted_unless_nothing_is_kept(
    machine: Machine, tmp_path: Path
) -> None:
    machine.tool(f"{machine.gcc}gcc")
    x, y = hl.vars("x y")
    f = hl.Func("f0")
    f[x, y] = hl.f32(x + y)
    stages = [f]
    for k in range(1, 20):
        f = hl.Func(f"f{k}")
        f[x, y] = stages[-1][x - 1, y] + stages[-1][x + 1, y] * 0.5
        stages.append(f)
    many = hl.Func("many")
    many[x, y] = sum((f[x, y] for f in stages[:-1]), stages[-1][x, y])
    for f in stages:
        f.compute_root().vectorize(x, 8)
    many.compile_to_file(tmp_path / "many", [], "many", target(machine))
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    done = machine.run(source, [tmp_path / "many.o"], tmp_path, [])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 1 0 1 1 1 0 1\n"
