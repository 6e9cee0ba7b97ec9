"""Back ends: which serves a machine, and how one is added."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen import backends
from parhelion.codegen.arm import ARM32, ARM64
from parhelion.codegen.backend import Attempt, Backend, Key
from parhelion.codegen.backends import BACKENDS, GENERIC, backend_of
from parhelion.codegen.llvm import emit
from parhelion.codegen.memories import MEMORIES, Heap
from parhelion.codegen.target import host_target
from parhelion.codegen.types import value_type
from parhelion.codegen.writer import Function
from parhelion.codegen.x86 import X86
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.target import plainest
from parhelion.lower.passes import lower
from tests.support.spec import spec_of

x = hl.Var("x")


@pytest.mark.parametrize(
    ("arch", "wanted"),
    [
        ("x86_64", X86),
        ("aarch64", ARM64),
        ("arm64", ARM64),
        ("armv7a", ARM32),
        ("riscv64", GENERIC),
        ("wasm32", GENERIC),
    ],
)
def test_a_machine_has_the_back_end_of_its_family(arch: str, wanted: Backend) -> None:
    assert backend_of(arch) is wanted


def test_back_ends_are_described_without_their_emitters() -> None:
    """Processes whose code comes from the cache load none of them."""
    import subprocess

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


class ToyMemory(Heap):
    """All storage is on the heap, whatever is asked for, and 128 bytes longer."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        return True

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        more = 128 // s.buffer.type.bytes()
        padded = S.Allocate(s.buffer, s.extents, s.condition, s.kind, s.padding + more)
        super().allocate(f, padded, None)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """A back end for the machine at hand, in the place of its own."""
    module = ModuleType("toy_machine")
    attempts: dict[Key, tuple[Attempt, ...]] = {E.Add: (toy_sum,)}
    module.ATTEMPTS, module.MEMORIES = attempts, (ToyMemory(),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_machine", module)
    own = backend_of(host_target().arch)
    made = replace(
        own,
        name="the toy",
        families=(host_target().arch,),
        emitters="toy_machine",
        storage="toy_machine",
    )
    monkeypatch.setattr(backends, "BACKENDS", [made, *BACKENDS])
    yield made


def doubled() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.i32(x) * 3
    g[x] = f[x] + f[x + 1]
    f.compute_at(g, x).store_in(hl.MemoryType.Stack)
    g.split(x, x, hl.Var("xi"), 8).vectorize(hl.Var("xi"))
    return g


def test_a_toy_of_a_back_end(toy: Backend) -> None:
    g = doubled()
    text = emit(lower(spec_of(g), name="g"), host_target())
    assert MARK in text and "ph_malloc" in text
    assert np.asarray(g.realize([64])).tolist() == [6 * i + 3 for i in range(64)]
    # Nobody else's code is the toy's.
    other = plainest("riscv64-unknown-linux-gnu")
    assert MARK not in emit(lower(spec_of(doubled()), name="g"), other)


def test_without_the_toy_code_is_as_before() -> None:
    text = emit(lower(spec_of(doubled()), name="g"), host_target())
    assert MARK not in text and "ph_malloc" not in text


def test_storage_that_no_memory_takes_is_an_internal_error(
    toy: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["toy_machine"]
    monkeypatch.setattr(module, "MEMORIES", MEMORIES[:1])
    with pytest.raises(hl.InternalError, match="the toy has no memory of the kind"):
        emit(lower(spec_of(doubled()), name="g"), host_target())
