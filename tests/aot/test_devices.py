"""The run time of devices in programs without Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

from parhelion.aot.llvm_module import link, module_object
from parhelion.aot.runtime_ir import aot_devices, aot_runtime
from parhelion.codegen.structs import C_STRUCTS
from parhelion.codegen.target import host_target
from tests.aot.builds import HOST
from tests.support.fake_driver import SOURCE

#: What compiled code calls; each object file has a function of another name.
CODE = """
@ph_device_simulated = external constant i8
@ph_device_cuda = external constant i8
declare i32 @ph_device_sync(ptr, ptr, ptr, i32)
declare i32 @ph_device_leave(ptr, ptr, i32)
declare ptr @ph_device_counters()
define i32 @NAME_simulated(ptr %b, i32 %what) {
  %r = call i32 @ph_device_sync(ptr null, ptr @ph_device_simulated, ptr %b, i32 %what)
  ret i32 %r
}
define i32 @NAME_cuda(ptr %b, i32 %what) {
  %r = call i32 @ph_device_sync(ptr null, ptr @ph_device_cuda, ptr %b, i32 %what)
  ret i32 %r
}
define i32 @NAME_leave(ptr %b) {
  %r = call i32 @ph_device_leave(ptr null, ptr %b, i32 0)
  ret i32 %r
}
define i64 @NAME_copies() {
  %p = call ptr @ph_device_counters()
  %n = load i64, ptr %p
  ret i64 %n
}
"""

PROGRAM = """
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
STRUCTS
#define DECLARED(name) \\
    int name##_simulated(struct halide_buffer_t *, int); \\
    int name##_cuda(struct halide_buffer_t *, int); \\
    int name##_leave(struct halide_buffer_t *); \\
    int64_t name##_copies(void);
DECLARED(one)
DECLARED(two)

int main(int argc, char **argv) {
    (void)argc;
    uint16_t pixels[6][8];
    for (int i = 0; i < 48; i++) pixels[i / 8][i % 8] = i;
    struct halide_dimension_t dim[2] = {{0, 5, 1, 0}, {0, 6, 8, 0}};
    struct halide_buffer_t b = {0};
    b.host = (uint8_t *)pixels;
    b.type.code = 1;
    b.type.bits = 16;
    b.type.lanes = 1;
    b.dimensions = 2;
    b.dim = dim;
    int code = one_simulated(&b, 7);
    uint16_t *there = (uint16_t *)b.device;
    printf("%d %d", code, there[8 * 5 + 4]);
    there[8] = 1000;
    there[7] = 2000; // no pixel of the buffer
    code = two_simulated(&b, 7) | two_leave(&b);
    printf(" %d %d %d %d\\n", code, pixels[1][0], pixels[0][7], b.device == 0);
    printf("%d %d\\n", (int)one_copies(), (int)two_copies());
    setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    printf("%d\\n", one_cuda(&b, 7));
    setenv("PARHELION_CUDA_DRIVER", argv[1], 1);
    code = one_cuda(&b, 3);
    code |= two_cuda(&b, 5);
    memset(pixels[2], 0, 10);
    code |= two_leave(&b);
    printf("%d %d\\n", code, pixels[2][4]);
    return 0;
}
"""


def test_objects_share_one_run_time(tmp_path: Path) -> None:
    compiler = HOST.tool("gcc")
    driver = tmp_path / "libfake.so"
    subprocess.run([compiler, "-shared", "-fPIC", SOURCE, "-o", driver], check=True)
    target, objects = host_target(), []
    for name in ("one", "two"):
        texts = [CODE.replace("NAME", name), aot_runtime(target), aot_devices(target)]
        objects.append(tmp_path / f"{name}.o")
        objects[-1].write_bytes(module_object(link(texts, target, []), target))
    source = tmp_path / "program.c"
    source.write_text(PROGRAM.replace("STRUCTS", C_STRUCTS))
    made = HOST.run(source, objects, tmp_path, [driver])
    assert made.returncode == 0, made.stderr
    # The simulated device; copies that both objects count; no driver; a driver.
    assert made.stdout.splitlines() == ["0 44 0 1000 7 1", "1 1", "1", "0 20"]
