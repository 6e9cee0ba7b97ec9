"""What cannot be in a kernel is refused, with the name of the Func."""

from __future__ import annotations

import pytest

from parhelion.errors import HalideError, InternalError, ScheduleError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import gpu_target
from parhelion.schedule.directives import FuncSchedule
from parhelion.types import INT32, Float, Handle, Type
from tests.gpu.harness import kernels_of

F32, F64 = Float(32), Float(64)
bx, tx, n = Var("bx", INT32), Var("tx", INT32), Var("n", INT32)
out = BufferSym("bright", F32, 1, "output")
zero, four = build.int32(0), build.int32(4)


def kernel(body: Stmt, threads: Expr = four) -> S.For:
    nest = S.For(tx, zero, threads, ForKind.GPU_THREAD, body)
    return S.For(bx, zero, four, ForKind.GPU_BLOCK, nest)


def store(value: Expr, t: Type = F32) -> S.Store:
    buffer = out if t is F32 else BufferSym("bright", t, 1, "output")
    return S.Store(buffer, value, tx, None)


def func(name: str) -> Function:
    made = Function(name, FuncSchedule(), None)
    made.types = (F32,)
    return made


X = E.Cast(F32, tx)
D = E.Cast(F64, tx)
TEXT = E.StringImm(Handle(), "text")
STORAGE = BufferSym("kept", F32, 1, "internal")

CASES: dict[str, tuple[Stmt, str]] = {
    "print": (store(E.Intrinsic(F32, "print", (X,))), "'print'"),
    "require": (
        store(E.Intrinsic(F32, "require", (build.TRUE, X, TEXT))),
        "'require'",
    ),
    "extern": (store(E.Extern(F32, "expm1f", (X,))), "C function expm1f"),
    "pow of float64": (
        store(E.Intrinsic(F64, "pow", (D, D)), F64),
        "uses pow of float64",
    ),
    "sin of float64": (
        store(E.Add(E.Intrinsic(F64, "sin", (D,)), D), F64),
        "uses sin of float64",
    ),
    "parallel": (
        S.For(n, zero, four, ForKind.PARALLEL, store(X)),
        "has a parallel loop",
    ),
    "prefetch": (
        S.Block((S.Prefetch(out, tx, four, False), store(X))),
        "prefetches",
    ),
    "heap": (
        S.Block(
            (
                S.Allocate(STORAGE, (four,), build.TRUE, MemoryKind.HEAP, 0),
                S.Store(STORAGE, X, zero, None),
                store(E.Load(F32, STORAGE, zero, None)),
            )
        ),
        "memory of the kind 'heap'",
    ),
    "no constant size": (
        S.Block(
            (
                S.Allocate(STORAGE, (n,), build.TRUE, MemoryKind.STACK, 0),
                S.Store(STORAGE, X, zero, None),
                store(E.Load(F32, STORAGE, zero, None)),
            )
        ),
        "no constant size",
    ),
    "too much": (
        S.Block(
            (
                S.Allocate(
                    STORAGE, (build.int32(1 << 20),), build.TRUE, MemoryKind.STACK, 0
                ),
                S.Store(STORAGE, X, zero, None),
                store(E.Load(F32, STORAGE, zero, None)),
            )
        ),
        "takes more than",
    ),
    "lock": (S.Atomic(func("hist"), True, True, store(X)), "needs a lock"),
    "threads": (kernel(store(X), build.int32(2048)).body, "2048 threads along x"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str) -> None:
    body, expected = CASES[name]
    loop = kernel(body)
    if name == "threads":
        loop = S.For(bx, zero, four, ForKind.GPU_BLOCK, body)
    with pytest.raises(ScheduleError) as caught:
        kernels_of(loop)
    message = str(caught.value)
    assert expected in message
    assert any(word in message for word in ("bright", "kept", "hist"))


def test_the_func_is_that_which_is_produced() -> None:
    inner = S.Produce(
        func("blur"),
        True,
        S.Evaluate(E.Intrinsic(F32, "print", (X,))),
    )
    with pytest.raises(ScheduleError, match="^blur, which"):
        kernels_of(kernel(S.Block((inner, store(X)))))


def test_what_passes_were_to_see_to_is_an_error_of_our_own() -> None:
    failing = S.Assert(E.LT(tx, n), "require", ())
    with pytest.raises(InternalError, match="Assert"):
        kernels_of(kernel(S.Block((failing, store(X)))))
    streamed = store(E.Intrinsic(F32, "streamed", (X,)))
    with pytest.raises(InternalError, match="past the caches"):
        kernels_of(kernel(streamed))


def test_gpus_that_there_is_no_code_for() -> None:
    with pytest.raises(HalideError, match="no code for the GPU 'sm_61'"):
        gpu_target("sm_61")
    with pytest.raises(HalideError, match="'fermi'"):
        gpu_target("fermi")
    # One that is newer than what is known runs code for the newest known one.
    assert gpu_target("sm_95").cpu == "sm_90"
    assert gpu_target("sm_86").features == ("ptx71",)
    # What only that one has is not made use of.
    assert gpu_target("sm_90a") == gpu_target("sm_90")
