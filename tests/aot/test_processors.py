"""Programs of several objects run on the least of the processors that they are for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import parhelion as hl
from parhelion.lang.target_names import UNMADE
from tests.aot.builds import HOST, halide_headers

x, y = hl.vars("x y")
EMULATOR = "qemu-x86_64"
LEVELS = ("x86-64-linux-avx512_skylake", "x86-64-linux-avx2", "x86-64-linux")

MAIN = """
#include "HalideRuntime.h"
{includes}
#include <stdio.h>
int main(void) {{
    static int32_t out[64 * 64];
    struct halide_dimension_t dim[2] = {{{{0, 64, 1, 0}}, {{0, 64, 64, 0}}}};
    struct halide_buffer_t b = {{0}};
    b.host = (uint8_t *)out;
    b.type.bits = 32;
    b.type.lanes = 1;
    b.dimensions = 2;
    b.dim = dim;
    printf("%d", {call}(&b));
    printf(" %d\\n", out[64 * 3 + 5]);
    return 0;
}}
"""


def threaded(name: str) -> hl.Func:
    """A Func that allocates and has a parallel loop: it needs all of the run time."""
    g, f = hl.Func(f"{name}_made"), hl.Func(name)
    g[x, y] = x + 10 * y
    f[x, y] = g[x, y] + g[x + 1, y + 1]
    g.compute_root().store_in(hl.MemoryType.Heap).parallel(y)
    f.parallel(y).vectorize(x, 8)
    return f


def on_the_least(folder: Path, files: list[Path], header: str, call: str) -> str:
    """What a program prints on a processor without AVX, with the threads that it takes
    by itself."""
    emulator = shutil.which(EMULATOR)
    if emulator is None:
        pytest.skip(f"{EMULATOR} is missing (Debian: qemu-user)")
    if hl.get_host_target().arch is not hl.TargetArch.X86:
        pytest.skip("the program is linked by the compiler of this x86 computer")
    source, program = folder / "main.c", folder / "main"
    source.write_text(MAIN.format(includes=f'#include "{header}"', call=call))
    options = ["-O1", "-static", f"-I{folder}", "-isystem", str(halide_headers())]
    words: list[str | Path]
    words = [HOST.tool("gcc"), *options, source, *files, "-o", program]
    subprocess.run([*words, "-lpthread", "-lm"], check=True)
    # The run time looks at how many processors there are, if it is not told.
    told = {k: v for k, v in os.environ.items() if k != "HL_NUM_THREADS"}
    done = subprocess.run(
        [emulator, "-cpu", "Nehalem", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=told,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_library_for_several_processors(tmp_path: Path) -> None:
    f = threaded("levels")
    f.compile_to_multitarget_static_library(
        tmp_path / "levels", [], [hl.Target(t) for t in LEVELS]
    )
    out = on_the_least(tmp_path, [tmp_path / "levels.a"], "levels.h", "levels")
    assert out == "0 81\n"


def test_objects_for_different_processors(tmp_path: Path) -> None:
    """The linker keeps the run time of the first object, which is for another
    processor."""
    files = []
    for name, target in (("greater", LEVELS[0]), ("lesser", LEVELS[2])):
        f = threaded(name)
        f.compile_to_file(tmp_path / name, [], name, hl.Target(target))
        files.append(tmp_path / f"{name}.o")
    assert on_the_least(tmp_path, files, "lesser.h", "lesser") == "0 81\n"


@pytest.mark.parametrize(
    "target", ["x86-32-linux", "arm-64-linux", "arm-32-linux", "riscv-64-linux"]
)
def test_the_run_time_is_for_the_plainest_processor(
    target: str, tmp_path: Path
) -> None:
    f = threaded("plain")
    f.compile_to_llvm_assembly(tmp_path / "f.ll", [], "plain", hl.Target(target))
    text = (tmp_path / "f.ll").read_text()
    defined = [s for s in text.splitlines() if s.startswith("define")]
    line = next(s for s in defined if " @halide_malloc(" in s)
    number = line.split("#")[1].split()[0]
    note = next(s for s in text.splitlines() if s.startswith(f"attributes #{number} "))
    assert '"target-cpu"=' in note and '"target-features"' in note


def test_arm_without_neon(tmp_path: Path) -> None:
    """Neither the code nor the run time has vector instructions."""
    f = threaded("scalar")
    target = hl.Target("arm-32-linux-no_neon")
    f.compile_to_assembly(tmp_path / "f.s", [], "scalar", target)
    # But for directives, as of the kind of its registers.
    lines = (tmp_path / "f.s").read_text().splitlines()
    text = "\n".join([line for line in lines if not line.startswith("\t.")])
    assert not re.search(r"\bq\d+\b|\bd(1[6-9]|2\d|3[01])\b", text)
    f.compile_to_assembly(tmp_path / "v.s", [], "scalar", hl.Target("arm-32-linux"))
    assert re.search(r"\bq\d+\b", (tmp_path / "v.s").read_text())
    compiler, emulator = map(shutil.which, ("arm-linux-gnueabihf-gcc", "qemu-arm"))
    if compiler is None or emulator is None:
        pytest.skip("needs arm-linux-gnueabihf-gcc and qemu-arm (Debian: qemu-user)")
    f.compile_to_static_library(tmp_path / "scalar", [], "scalar", target)
    source, program = tmp_path / "main.c", tmp_path / "main"
    source.write_text(MAIN.format(includes='#include "scalar.h"', call="scalar"))
    headers = ["-static", f"-I{tmp_path}", "-isystem", str(halide_headers())]
    words: list[str | Path]
    words = [compiler, *headers, source, tmp_path / "scalar.a", "-o", program]
    subprocess.run([*words, "-lpthread", "-lm"], check=True)
    words = [emulator, "-cpu", "cortex-a15,neon=off", program]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "0 81\n"


@pytest.mark.parametrize(
    "feature",
    [
        f
        for f in hl.TargetFeature
        if f.value.startswith(("avx", "sse", "f")) and f not in UNMADE
    ],
)
def test_libraries_ask_for_what_any_x86_has(
    feature: hl.TargetFeature, tmp_path: Path
) -> None:
    """A library for a Zen 5 was refused: no code asked for a feature of its."""
    plain = hl.Target("x86-64-linux")
    f = hl.Func("f")
    f[x, y] = x + y
    f.compile_to_multitarget_static_library(
        tmp_path / "f", [], [plain.with_feature(feature), plain]
    )
    assert (tmp_path / "f.a").stat().st_size > 0
