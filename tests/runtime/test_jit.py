"""Loading LLVM text: addresses, texts, unloading, refusals."""

from __future__ import annotations

import ctypes
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from parhelion.errors import InternalError
from parhelion.ir.target import generic_target
from parhelion.runtime import jit, loading

#: What is tested is what asks LLVM.
pytestmark = pytest.mark.usefixtures("llvm_each_time")

ADD = """
declare double @cos(double)
define i32 @add{0}_argv(ptr %ctx, ptr %argv) {{
  %p = load ptr, ptr %argv
  %v = load i32, ptr %p
  %w = add i32 %v, {0}
  %d = call double @cos(double 0.0)
  %one = fptosi double %d to i32
  %sum = mul i32 %w, %one
  ret i32 %sum
}}
"""


def add(k: int) -> loading.Compiled:
    return loading.compile_module(ADD.format(k), f"add{k}")


def call(code: loading.Compiled, value: int) -> int:
    cell = ctypes.c_int32(value)
    argv = (ctypes.c_void_p * 1)(ctypes.addressof(cell))
    return code.entry(0, ctypes.addressof(argv))


def test_code_runs_and_finds_libm() -> None:
    assert call(add(5), 7) == 12


def test_two_modules_may_have_one_name() -> None:
    first, second = add(1), add(1)
    assert first.address != second.address
    assert call(first, 1) == call(second, 1) == 2


def test_texts_on_demand() -> None:
    code = add(3)
    assert "define i32 @add3_argv" in code.llvm()
    assembly = code.assembly()
    assert "add3_argv" in assembly
    assert "ret" in assembly
    assert code.object_code[:4] == b"\x7fELF"
    assert code.times.total() > 0


def test_the_library_is_unloaded_with_the_last_reference() -> None:
    code = add(4)
    library = weakref.ref(code._library)
    assert call(code, 1) == 5
    del code
    gc.collect()
    assert library() is None


def test_many_modules_come_and_go() -> None:
    kept = [add(k) for k in range(5)]
    for k in range(5, 40):
        assert call(add(k), 1) == k + 1
    assert [call(code, 0) for code in kept] == list(range(5))


def test_a_jit_goes_with_the_last_of_its_libraries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jit, "_engine", None)
    monkeypatch.setattr(jit, "_LIBRARIES", 3)
    kept = add(50)
    engine = weakref.ref(kept._library.engine)
    made = [kept._library.engine.llvm]
    for k in range(51, 60):
        code = add(k)
        assert call(code, 1) == k + 1
        made.append(code._library.engine.llvm)
    assert len({id(one) for one in made}) == 4
    del code
    gc.collect()
    # The first is held by one library, the last is for two more.
    assert [one.closed for one in made] == [False] * 3 + [True] * 6 + [False]
    assert call(kept, 1) == 51
    del kept
    gc.collect()
    assert engine() is None
    assert made[0].closed


def test_bad_text_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="LLVM refuses"):
        loading.compile_module("define i32 @x_argv(ptr %c, ptr %a) { ret i64 0 }", "x")
    with pytest.raises(InternalError, match="does not link"):
        loading.compile_module(
            "declare i32 @no_such_function_anywhere()\n"
            "define i32 @x_argv(ptr %c, ptr %a) {\n"
            "  %r = call i32 @no_such_function_anywhere()\n  ret i32 %r\n}",
            "x",
        )


def test_threads_may_compile_at_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(add, range(24)))
    assert [call(code, 100) for code in codes] == list(range(100, 124))


def test_other_targets_make_objects_and_assembly() -> None:
    text = ADD.format(9)
    small, large = (
        jit.assembly_text(
            "define <8 x float> @f(<8 x float> %x) {\n"
            "  %y = fadd <8 x float> %x, %x\n  ret <8 x float> %y\n}",
            generic_target(bits),
        )
        for bits in (128, 256)
    )
    assert "ymm" in large
    assert "ymm" not in small
    assert jit.object_code(text, generic_target(256))[:4] == b"\x7fELF"
