"""What object files offer besides: contexts, several targets, images of their own."""

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
from parhelion.aot.archive import Member, archive
from parhelion.ir.failures import FAILURES, HALIDE_CODES
from tests.aot.builds import HOST
from tests.support.structs import struct_for

x, y = hl.vars("x y")
Kind = hl.OutputFileType


def library(folder: Path, *objects: Path) -> ctypes.CDLL:
    """Object files as a shared library in this process."""
    compiler = HOST.tool("gcc")
    made = folder / "made.so"
    subprocess.run(
        [compiler, "-shared", "-o", made, *objects, "-lpthread", "-lm"], check=True
    )
    return ctypes.CDLL(str(made))


def compiled(f: hl.Func, arguments: list[Any], folder: Path, target: str) -> Any:
    """The function of a Func's object file."""
    path = folder / f"{f.name()}.o"
    f.compile_to_object(path, arguments, f.name(), hl.Target(target))
    return getattr(library(folder, path), f.name())


def test_scalars_of_every_type(tmp_path: Path) -> None:
    types = [hl.Int(b) for b in (8, 16, 32, 64)] + [hl.UInt(b) for b in (8, 16, 32, 64)]
    types += [hl.Float(32), hl.Float(64), hl.Bool()]
    params = [hl.Param(t, f"p{i}") for i, t in enumerate(types)]
    f = hl.Func("scalars")
    f[x] = hl.f64(0)
    for i, p in enumerate(params):
        f[i] = hl.f64(p)
    function = compiled(f, params, tmp_path, "host")
    values = [-5, -300, -70000, -(1 << 40), 250, 65000, 1 << 31, 1 << 50, 1.5, -2.25, 1]
    kinds: list[Callable[[Any], object]] = [
        *(ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64),
        *(ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64),
        *(ctypes.c_float, ctypes.c_double, ctypes.c_bool),
    ]
    out = np.zeros(len(values))
    given = [kind(v) for kind, v in zip(kinds, values, strict=True)]
    assert function(*given, ctypes.byref(struct_for(out))) == 0
    assert out.tolist() == [float(v) for v in values]


def test_images_are_part_of_the_object(tmp_path: Path) -> None:
    table = np.random.default_rng(1).integers(0, 255, (5, 7), np.uint8)
    held = hl.Buffer(table)
    f = hl.Func("held")
    f[x, y] = hl.i32(held[hl.clamp(x, 0, 6), hl.clamp(y, 0, 4)]) + 1
    function = compiled(f, [], tmp_path, "host")
    out = np.zeros((5, 7), np.int32)
    assert function(ctypes.byref(struct_for(out))) == 0
    np.testing.assert_array_equal(out, table.astype(np.int32) + 1)


def test_the_callers_context_comes_back(tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("with_context")
    f[x] = image[x] * 2
    path = tmp_path / "f.o"
    files: dict[hl.OutputFileType, Any] = {
        Kind.object: path,
        Kind.c_header: tmp_path / "f.h",
    }
    f.compile_to(files, [image], "with_context", hl.Target("host-user_context"))
    assert (
        "int with_context(void const *__user_context, "
        "struct halide_buffer_t *_image_buffer, "
        "struct halide_buffer_t *_with_context_buffer);"
    ) in (tmp_path / "f.h").read_text()
    made = library(tmp_path, path)
    told: list[tuple[int, str]] = []
    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(
        lambda user, text: told.append((user, text.decode()))
    )
    made.halide_set_error_handler.restype = ctypes.c_void_p
    made.halide_set_error_handler(handler)
    short, out = np.zeros(3, np.int32), np.zeros(4, np.int32)
    given = (ctypes.byref(struct_for(short)), ctypes.byref(struct_for(out)))
    assert made.with_context(ctypes.c_void_p(1234), *given) == -4
    ((user, text),) = told
    assert user == 1234
    assert text == (
        "input image 'image' is too small in dimension 0: the pipeline reads 0 to 3, "
        "but the image covers 0 to 2"
    )


def test_messages_with_numbers_of_every_kind(tmp_path: Path) -> None:
    low = hl.Param(hl.Float(32), "low")
    low.set_min_value(0.5)
    f = hl.Func("checked")
    f[x] = hl.require(low < 2.0, low, "low is", low, "and x is", x)
    function = compiled(f, [low], tmp_path, "host")
    out = np.zeros(4, np.float32)
    told: list[str] = []
    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(
        lambda _, text: told.append(text.decode())
    )
    made = ctypes.CDLL(str(tmp_path / "made.so"))
    made.halide_set_error_handler.restype = ctypes.c_void_p
    made.halide_set_error_handler(handler)
    assert function(ctypes.c_float(0.25), ctypes.byref(struct_for(out))) == -9
    assert function(ctypes.c_float(2.5), ctypes.byref(struct_for(out))) == -27
    assert told[0] == "Param 'low' is 0.25, below its minimum 0.5"
    assert told[1].startswith("requirement failed: ")
    assert "2.5" in told[1]
    assert function(ctypes.c_float(1.5), ctypes.byref(struct_for(out))) == 0
    assert out.tolist() == [1.5] * 4


def test_without_checks(tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("unchecked")
    f[x] = image[hl.clamp(x, 0, 2)]
    function = compiled(f, [image], tmp_path, "host-no_asserts")
    given, out = np.arange(3, dtype=np.int32), np.zeros(4, np.int32)
    assert function(ctypes.byref(struct_for(given)), ctypes.byref(struct_for(out))) == 0
    assert out.tolist() == [0, 1, 2, 2]


def test_the_run_time_can_be_apart(tmp_path: Path) -> None:
    f = hl.Func("apart")
    f[x, y] = x + y
    f.parallel(y)
    f.compile_to_object(tmp_path / "f.o", [], "apart", hl.Target("host-no_runtime"))
    hl.compile_standalone_runtime(tmp_path / "r.o", hl.get_host_target())
    made = library(tmp_path, tmp_path / "f.o", tmp_path / "r.o")
    out = np.zeros((6, 5), np.int32)
    assert made.apart(ctypes.byref(struct_for(out))) == 0
    np.testing.assert_array_equal(out, np.add.outer(np.arange(6), np.arange(5)))
    with pytest.raises(hl.HalideError, match="the run time has no file of the type"):
        hl.compile_standalone_runtime(
            {Kind.c_header: tmp_path / "r.h"}, hl.get_host_target()
        )


def test_the_computer_chooses_among_targets(tmp_path: Path) -> None:
    """Each compilation tells which it is by its metadata."""
    host = hl.get_host_target()
    if host.arch is not hl.TargetArch.X86:
        pytest.skip("the choice is made by x86's CPUID here")
    image = hl.ImageParam(hl.Float(32), 1, "image")
    f = hl.Func("chosen")
    f[x] = hl.sqrt(image[x]) * 2.0
    f.vectorize(x, 16, hl.TailStrategy.GuardWithIf)
    names = ["x86-64-linux-avx512_skylake", "x86-64-linux-avx2", "x86-64-linux"]
    f.compile_to_multitarget_static_library(
        tmp_path / "chosen", [image], [hl.Target(n) for n in names]
    )
    assert "int chosen(" in (tmp_path / "chosen.h").read_text()
    ar = shutil.which("ar")
    if ar:
        listed = subprocess.run(
            [ar, "t", tmp_path / "chosen.a"], capture_output=True, text=True, check=True
        )
        assert len(listed.stdout.split()) == 4
    source = tmp_path / "main.c"
    source.write_text(
        """
#include "HalideRuntime.h"
#include "chosen.h"
#include <stdio.h>
int main(void) {
    float in[33], out[33];
    for (int i = 0; i < 33; i++) in[i] = (float)i;
    struct halide_dimension_t dim = {0, 33, 1, 0};
    struct halide_buffer_t a = {0}, b = {0};
    a.host = (uint8_t *)in;
    b.host = (uint8_t *)out;
    a.type.code = b.type.code = 2;
    a.type.bits = b.type.bits = 32;
    a.type.lanes = b.type.lanes = 1;
    a.dimensions = b.dimensions = 1;
    a.dim = b.dim = &dim;
    int code = chosen(&a, &b);
    printf("%d %g %s\\n", code, out[25], chosen_metadata()->target);
    return 0;
}
"""
    )
    from tests.aot.builds import halide_headers

    done = HOST.run(
        source,
        [tmp_path / "chosen.a"],
        tmp_path,
        [],
        ["-isystem", str(halide_headers())],
    )
    levels = [
        (hl.TargetFeature.AVX512_Skylake, names[0]),
        (hl.TargetFeature.AVX2, names[1]),
    ]
    best = next((n for feature, n in levels if host.has_feature(feature)), names[2])
    assert done.stdout.split() == ["0", "10", str(hl.Target(best))]


def test_what_several_targets_must_share(tmp_path: Path) -> None:
    f = hl.Func("shared")
    f[x] = x
    two = [hl.Target("x86-64-linux-avx2"), hl.Target("arm-64-linux")]
    with pytest.raises(hl.HalideError, match="no computers that one program runs on"):
        f.compile_to_multitarget_static_library(tmp_path / "f", [], two)
    with pytest.raises(hl.HalideError, match="code for no target at all"):
        f.compile_to_multitarget_static_library(tmp_path / "f", [], [])
    with pytest.raises(hl.HalideError, match="2 targets need as many suffixes, not 1"):
        f.compile_to_multitarget_object_files(
            tmp_path / "f", [], [two[0], hl.Target("x86-64-linux")], ["a"]
        )


@pytest.mark.parametrize(
    "target",
    [
        *("x86-64-linux", "x86-64-linux-sse41", "x86-64-linux-avx"),
        *("x86-64-linux-avx2-fma-f16c", "x86-64-linux-avx512_skylake"),
        *("x86-64-linux-avx512_cannonlake", "x86-64-linux-avx512_sapphirerapids"),
        *("x86-32-linux", "arm-64-linux", "arm-64-linux-arm_dot_prod-arm_fp16"),
        *("arm-32-linux", "riscv-64-linux"),
    ],
)
def test_every_target_has_code(target: str, tmp_path: Path) -> None:
    """Bytes, halves, wide integers and parallel loops."""
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    half = hl.ImageParam(hl.Float(16), 2, "half")
    f, g = hl.Func("wide"), hl.Func("every")
    f[x, y] = hl.u16(image[x, y]) * 3 + hl.u16(image[x + 1, y])
    g[x, y] = hl.f32(half[x, y]) * hl.f32(hl.saturating_cast(hl.UInt(8), f[x, y] / 4))
    f.compute_at(g, y).vectorize(x, 16)
    g.parallel(y).vectorize(x, 8)
    g.compile_to_file(tmp_path / "g", [image, half], "every", hl.Target(target))
    assert (tmp_path / "g.o").read_bytes()[:4] == b"\x7fELF"
    assert (
        f"Made by Parhelion for {hl.Target(target)}." in (tmp_path / "g.h").read_text()
    )


@pytest.mark.parametrize(
    ("target", "magic"),
    [
        ("wasm-32-wasmrt", b"\0asm"),
        ("wasm-32-noos-wasm_simd128", b"\0asm"),
        ("x86-64-windows-avx2", b"\x64\x86"),
        ("x86-32-windows", b"\x4c\x01"),
        ("x86-64-osx", b"\xcf\xfa\xed\xfe"),
        ("arm-64-ios", b"\xcf\xfa\xed\xfe"),
        ("arm-32-ios-armv7s", b"\xce\xfa\xed\xfe"),
        ("arm-32-android", b"\x7fELF\x01"),
        ("arm-64-android", b"\x7fELF\x02"),
        ("arm-64-noos", b"\x7fELF\x02"),
    ],
)
def test_other_systems_have_their_own_files(
    target: str, magic: bytes, tmp_path: Path
) -> None:
    f, g = hl.Func("f"), hl.Func("other")
    f[x, y] = hl.sqrt(hl.f32(x * y))
    g[x, y] = f[x, y] + f[x + 1, y]
    g.parallel(y).vectorize(x, 4)
    f.compute_root()
    path = tmp_path / "g.o"
    g.compile_to_object(path, [], "other", hl.Target(target))
    assert path.read_bytes().startswith(magic)
    f.async_()
    if "android" in target:
        g.compile_to_object(path, [], "other", hl.Target(target))
        return
    with pytest.raises(hl.HalideError, match="an async Func needs a thread"):
        g.compile_to_object(path, [], "other", hl.Target(target))


def test_the_names_of_files_are_those_of_the_system(tmp_path: Path) -> None:
    f = hl.Func("named")
    f[x] = x
    windows = hl.Target("x86-64-windows")
    f.compile_to_file(tmp_path / "a", [], windows)
    f.compile_to_static_library(tmp_path / "b", [], windows)
    f.compile_to_static_library(tmp_path / "c", [])
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("a.h", "a.obj", "b.h", "b.lib", "c.a", "c.h")
    ]
    assert "int named(" in (tmp_path / "a.h").read_text()


def test_the_run_time_of_one_thread(tmp_path: Path) -> None:
    """That of systems without POSIX, run on this one."""
    from parhelion.aot import objects, runtime_ir
    from parhelion.codegen.target import host_target

    f, g = hl.Func("f"), hl.Func("serially")
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x + 1, y]
    g.parallel(y)
    f.compute_root().parallel(y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime_ir, "has_threads", lambda _: False)
        patch.setattr(objects, "has_threads", lambda _: False)
        g.compile_to_object(tmp_path / "g.o", [], "serially")
        assert "pthread" not in runtime_ir.aot_runtime(host_target())
    made = library(tmp_path, tmp_path / "g.o")
    out = np.zeros((200, 300), np.int32)
    assert made.serially(ctypes.byref(struct_for(out))) == 0
    rows, columns = np.arange(200)[:, None], np.arange(300)[None, :]
    np.testing.assert_array_equal(out, columns * rows + (columns + 1) * rows)
    assert made.halide_get_num_threads() == 1


def test_what_needs_python_is_refused(tmp_path: Path) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    f.compute_root().memoize()
    with pytest.raises(
        hl.HalideError, match="a memoized Func cannot be compiled ahead"
    ):
        g.compile_to_object(tmp_path / "g.o", [], "g")
    h = hl.Func("h")
    h[x] = x
    with pytest.raises(hl.HalideError, match="'2nd' is no name for a C function"):
        h.compile_to_object(tmp_path / "h.o", [], "2nd")
    with pytest.raises(hl.HalideError, match="would be in a C\\+\\+ namespace"):
        h.compile_to_object(tmp_path / "h.o", [], "a::b")


def test_every_failure_has_a_code_of_halides() -> None:
    assert HALIDE_CODES.keys() == FAILURES.keys()
    assert all(code < 0 for code in HALIDE_CODES.values())


def test_archives_are_read_by_others(tmp_path: Path) -> None:
    ar = shutil.which("ar")
    if ar is None:
        pytest.skip("ar is missing (Debian: binutils)")
    members = [
        Member("a.o", b"12345", ["one", "two"]),
        Member("a_rather_long_name_of_a_member.o", b"1234", ["three"]),
        Member("another_rather_long_name.o", b"", []),
    ]
    path = tmp_path / "lib.a"
    path.write_bytes(archive(members))
    assert path.read_bytes() == archive(members)
    listed = subprocess.run([ar, "t", path], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == [m.name for m in members]
    for m in members:
        found = subprocess.run([ar, "p", path, m.name], capture_output=True, check=True)
        assert found.stdout == m.data


def test_a_loop_that_the_program_runs_may_fail(tmp_path: Path) -> None:
    """Its code is the call's result, and nobody is told of another failure."""
    limit = hl.Param(hl.Int(32), "limit", 0)
    f = hl.Func("looped")
    f[x, y] = hl.require(y < limit, x + y, "y is", y)
    f.parallel(y)
    f.compile_to_object(tmp_path / "f.o", [limit], "looped")
    made = library(tmp_path, tmp_path / "f.o")
    told: list[bytes] = []
    error = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
    loop = ctypes.CFUNCTYPE(
        ctypes.c_int,
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
        ctypes.c_void_p,
    )
    on_error, failing = error(lambda _, m: told.append(m)), loop(lambda *_: -99)
    made.halide_set_error_handler(on_error)
    made.halide_set_custom_do_par_for(failing)
    out = np.zeros((4, 4), np.int32)
    assert made.looped(9, ctypes.byref(struct_for(out))) == -99
    assert told == []
    made.halide_set_custom_do_par_for(None)
    assert made.looped(2, ctypes.byref(struct_for(out))) == HALIDE_CODES["require"]
    assert len(told) == 1


@pytest.mark.parametrize(
    ("t", "value", "expected"),
    [
        (hl.Float(16), 0.5, 0x3800),
        (hl.Float(16), float("inf"), 0x7C00),
        (hl.BFloat(16), -1.5, 0xBFC0),
        (hl.Float(32), 0.5, 0x3F000000),
        (hl.Float(64), -0.25, 0xBFD0000000000000),
        (hl.Int(8), -1, 2**64 - 1),
        (hl.UInt(64), 2**64 - 1, 2**64 - 1),
        (hl.Bool(), True, 1),
    ],
    ids=str,
)
def test_metadata_have_the_bits_of_a_value(
    t: hl.Type, value: float, expected: int, tmp_path: Path
) -> None:
    p = hl.Param(t, "p", value)
    f = hl.Func("told")
    f[x] = hl.cast(hl.Float(64), p)
    f.compile_to_object(tmp_path / "f.o", [p], "told")
    made = library(tmp_path, tmp_path / "f.o")
    made.told_metadata.restype = ctypes.POINTER(ctypes.c_void_p)
    # The second word is the table of arguments, each with its default after the name,
    # kind and type.
    arguments = made.told_metadata()[1]
    default = ctypes.cast(arguments, ctypes.POINTER(ctypes.c_void_p))[3]
    assert default is not None
    assert int.from_bytes(ctypes.string_at(default, 8), "little") == expected


def test_memory_that_is_not_aligned_is_told_of_once(tmp_path: Path) -> None:
    g, f = hl.funcs("stored misaligned")
    g[x] = x * 3
    f[x] = g[x] + g[x + 1]
    g.compute_root().store_in(hl.MemoryType.Heap)
    f.compile_to_object(tmp_path / "f.o", [], "misaligned")
    made = library(tmp_path, tmp_path / "f.o")
    storage = np.zeros(4096, np.uint8)
    given = (storage.ctypes.data + 63) // 64 * 64 + 16
    told: list[bytes] = []
    freed: list[int] = []
    address, size = ctypes.c_void_p, ctypes.c_size_t
    error = ctypes.CFUNCTYPE(None, address, ctypes.c_char_p)(
        lambda _, message: told.append(message)
    )
    allocate = ctypes.CFUNCTYPE(address, address, size)(lambda *_: given)
    free = ctypes.CFUNCTYPE(None, address, address)(lambda _, p: freed.append(p))
    made.halide_set_error_handler(error)
    made.halide_set_custom_malloc(allocate)
    made.halide_set_custom_free(free)
    out = np.zeros(50, np.int32)
    code = made.misaligned(ctypes.byref(struct_for(out)))
    assert code == HALIDE_CODES["out_of_memory"]
    assert told == [b"the allocator's memory is not aligned to 64 bytes"]
    assert freed == [given]
