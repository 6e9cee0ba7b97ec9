"""Back ends: which serves a machine, and how one is added."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen import backends
from parhelion.codegen.arm import ARM32, ARM64
from parhelion.codegen.backend import Attempt, Backend, Key, LLVMBackend
from parhelion.codegen.backends import BACKENDS, GENERIC, backend_of, llvm_backend
from parhelion.codegen.c import ARCH, C
from parhelion.codegen.c.text import ATOM, TIMES, UNARY, Text, Value, c_type
from parhelion.codegen.llvm import emit
from parhelion.codegen.memories import MEMORIES, Heap
from parhelion.codegen.nvptx import NVPTX
from parhelion.codegen.nvptx.module import Kernels
from parhelion.codegen.storage import Memory
from parhelion.codegen.symbols import SYMBOLS
from parhelion.codegen.target import host_target
from parhelion.codegen.types import value_type
from parhelion.codegen.writer import Function
from parhelion.codegen.x86 import X86
from parhelion.ir import expr as E
from parhelion.ir import intrinsics
from parhelion.ir import stmt as S
from parhelion.ir.target import gpu_target, plainest
from parhelion.lang.expr import wrap
from parhelion.lower.passes import lower
from parhelion.runtime import helpers
from tests.support.recipes import Toy, touched
from tests.support.spec import spec_of

x = hl.Var("x")


@pytest.mark.parametrize(
    ("arch", "wanted"),
    [
        ("x86_64", X86),
        ("aarch64", ARM64),
        ("arm64", ARM64),
        ("armv7a", ARM32),
        ("nvptx64", NVPTX),
        ("c11", C),
        ("riscv64", GENERIC),
        ("wasm32", GENERIC),
    ],
)
def test_a_machine_has_the_back_end_of_its_family(
    arch: str, wanted: Backend[Any, Any, Any]
) -> None:
    assert backend_of(arch) is wanted


def test_back_ends_are_described_without_their_emitters() -> None:
    """Processes whose code comes from the cache load none of them."""
    code = (
        "import sys\n"
        "from parhelion.codegen.backends import backend_of\n"
        "assert backend_of('x86_64').rare_call == 'preserve_mostcc'\n"
        "assert 'parhelion.codegen.writer' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# The recipe of docs/architecture.md, on a toy.

#: What the toy's code says of itself.
MARK = "; the toy adds"


def toy_sum(f: Function, e: E.Add) -> str | None:
    """A sum of vectors of int32 as the toy's machine would have it."""
    if e.type.count == 1 or not e.type.is_int() or e.type.width != 32:
        return None
    t, a, b = value_type(e.type), f.value(e.a), f.value(e.b)
    negative = f.op(f"sub {t} zeroinitializer, {b} {MARK}")
    return f.op(f"sub {t} {a}, {negative}")


def added(monkeypatch: pytest.MonkeyPatch, made: Backend[Any, Any, Any]) -> None:
    recipe = Toy(monkeypatch)
    recipe.add("codegen/")
    recipe.put(backends, "BACKENDS", [made, *BACKENDS])
    assert recipe.files == touched("A back end")


class ToyMemory(Heap):
    """All storage is on the heap, whatever is asked for, and 128 bytes longer."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        return True

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        more = 128 // s.buffer.type.bytes()
        padded = S.Allocate(s.buffer, s.extents, s.condition, s.kind, s.padding + more)
        super().allocate(f, padded, None)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLVMBackend]:
    """A back end for the machine at hand, in the place of its own."""
    module = ModuleType("toy_machine")
    attempts: dict[Key, tuple[Attempt, ...]] = {E.Add: (toy_sum,)}
    module.EMITTERS, module.MEMORIES = attempts, (ToyMemory(),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_machine", module)
    own = llvm_backend(host_target().arch)
    made = replace(
        own,
        name="the toy",
        families=(host_target().arch,),
        emitters="toy_machine",
        storage="toy_machine",
    )
    added(monkeypatch, made)
    yield made


def doubled() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.i32(x) * 3
    g[x] = f[x] + f[x + 1]
    f.compute_at(g, x).store_in(hl.MemoryType.Stack)
    g.split(x, x, hl.Var("xi"), 8).vectorize(hl.Var("xi"))
    return g


def test_a_toy_of_a_back_end(toy: LLVMBackend) -> None:
    g = doubled()
    text = emit(lower(spec_of(g), name="g"), host_target())
    assert MARK in text and "ph_malloc" in text
    assert np.asarray(g.realize([64])).tolist() == [6 * i + 3 for i in range(64)]
    # Nobody else's code is the toy's.
    other = plainest("riscv64-unknown-linux-gnu")
    assert MARK not in emit(lower(spec_of(doubled()), name="g"), other)


# Another kind of code: a dialect of C.


def plain_sum(f: Text, e: E.Add) -> Value | None:
    """Sums of int32 by a function of the run time's."""
    if e.type.width != 32 or not e.type.is_int():
        return None
    return f"{f.runtime('toy_sum')}({f.text(e.a)}, {f.text(e.b)})", ATOM


def toy_tripled(f: Text, e: E.Intrinsic) -> Value:
    return f"3 * {f.text(e.args[0], UNARY)}", TIMES


class Static(Memory[Text]):
    """All storage has its place for good, which is checked to be of a known size."""

    def takes(self, f: Text, s: S.Allocate, size: int | None) -> bool:
        return size is not None

    def allocate(self, f: Text, s: S.Allocate, size: int | None) -> None:
        assert size is not None
        name = f.name(s.buffer, s.buffer.name)
        count = size // s.buffer.type.bytes()
        f.out(f"static {c_type(s.buffer.type)} {name}[{count}];")
        f.arrays.add(s.buffer)


def noted_store(f: Text, s: S.Store) -> None:
    f.out("// the toy stores")
    C.all_statements()[S.Store](f, s)


@pytest.fixture
def dialect(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType("toy_c")
    told: Any = module
    emitters = C.all_emitters()
    told.EMITTERS = {
        **emitters,
        E.Add: (plain_sum, *emitters[E.Add]),
        "tripled": (toy_tripled,),
    }
    told.MEMORIES = (Static(),)
    told.STATEMENTS = {**C.all_statements(), S.Store: noted_store}
    sum_text = """\
static inline int32_t toy_sum(int32_t a, int32_t b) {
  return a + b;
}"""
    told.SYMBOLS = {**C.all_symbols(), "toy_sum": sum_text}
    monkeypatch.setitem(sys.modules, "toy_c", module)
    made: Backend[Text, Value, str] = Backend("toy C", (ARCH,), *["toy_c"] * 4)
    added(monkeypatch, made)
    info = intrinsics.IntrinsicInfo(1, True, "three times", alike=True)
    monkeypatch.setitem(intrinsics.INTRINSICS, "tripled", info)
    yield


def in_c(folder: Path) -> str:
    f, g = hl.Func("f"), hl.Func("g")
    node = hl.i32(x)._node
    f[x] = wrap(E.Intrinsic(node.type, "tripled", (node,)))
    g[x] = f[x] + f[x + 1]
    f.compute_at(g, x)
    path = folder / "g.c"
    g.compile_to_c(path, [], "g")
    return path.read_text()


def test_a_toy_of_a_dialect_of_c(dialect: None, tmp_path: Path) -> None:
    """Its own emitters, intrinsics, statements, memories and functions of the run time
    are those of the registry."""
    text = in_c(tmp_path)
    assert "static int32_t f[2];" in text and "// the toy stores" in text
    assert "static inline int32_t toy_sum" in text and "3 * " in text
    made = subprocess.run(
        ["cc", "-fwrapv", "-Wall", "-c", "g.c", "-o", "g.o"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


def test_c_has_no_more_than_its_tables(
    dialect: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module: Any = sys.modules["toy_c"]
    module.MEMORIES = ()
    with pytest.raises(hl.InternalError, match="toy C has no memory of the kind"):
        in_c(tmp_path)
    module.MEMORIES = (Static(),)
    module.SYMBOLS = C.all_symbols()
    with pytest.raises(hl.InternalError, match="toy C cannot call toy_sum"):
        in_c(tmp_path)
    module.STATEMENTS = {}
    with pytest.raises(hl.InternalError, match="code for toy C has no "):
        in_c(tmp_path)
    # C itself knows none of the toy's.
    monkeypatch.setattr(backends, "BACKENDS", BACKENDS)
    with pytest.raises(hl.HalideError, match="C output has no form of tripled"):
        in_c(tmp_path)


# The run time.


def test_the_run_time_has_what_code_may_call() -> None:
    assert [name for name in SYMBOLS if not helpers.is_known(name)] == []
    # Kernels call none of it.
    assert NVPTX.all_symbols() == {}
    kernels = Kernels(gpu_target("sm_80"), strict_float=False)
    with pytest.raises(hl.InternalError, match="NVIDIA's GPUs cannot call ph_malloc"):
        kernels.runtime("ph_malloc")


def test_no_code_is_made_by_machines_of_what_is_none() -> None:
    with pytest.raises(hl.InternalError, match="is no machine's code"):
        llvm_backend(ARCH)


def test_without_the_toy_code_is_as_before() -> None:
    text = emit(lower(spec_of(doubled()), name="g"), host_target())
    assert MARK not in text and "ph_malloc" not in text


def test_storage_that_no_memory_takes_is_an_internal_error(
    toy: LLVMBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["toy_machine"]
    monkeypatch.setattr(module, "MEMORIES", MEMORIES[:1])
    with pytest.raises(hl.InternalError, match="the toy has no memory of the kind"):
        emit(lower(spec_of(doubled()), name="g"), host_target())
