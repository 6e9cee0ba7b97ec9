"""The verifier of kernels: those in normal form pass, each violation is named."""

from __future__ import annotations

from typing import Any

import pytest

import parhelion as hl
from parhelion.errors import InternalError
from parhelion.ir.expr import Var
from parhelion.ir.reader import read_stmt
from parhelion.ir.stmt import ForKind
from parhelion.ir.verify import Form, verify
from parhelion.lower import passes
from tests.gpu.test_kernels import STENCIL, symbols
from tests.support.verified import verified

__all__ = ["verified"]

NAMES = (
    "bx by bz bw x y k n m w h x0 tx ty tz tw c lane"
    " fin[] iin[] fout[] ftile[] fsum[] fown[] icount[]"
)
#: Names of parameters, which need no binding.
GIVEN = ("n", "m", "w", "h", "x0")


def laid_out(source: str) -> str:
    """A text with each brace at the end of its line or on its own, and indented."""
    lines: list[str] = []
    depth = 0
    for line in source.replace("{ ", "{\n").replace(" }", "\n}").splitlines():
        line = line.strip()
        depth -= line.startswith("}")
        lines.append("  " * depth + line)
        depth += line.endswith("{")
    return "\n".join(lines)


def check(source: str, form: Form) -> None:
    known = symbols(NAMES)
    free = [v for v in known.values() if isinstance(v, Var) and v.name in GIVEN]
    verify(read_stmt(laid_out(source), known), form, free=free, after="the test")


def within(body: str, around: str = "gpu_block (bx, 0, w)") -> str:
    return f"{around} {{\n{body}\n}}"


STORE = "gpu_thread (tx, 0, 8) { fout[bx*8 + tx] = 1.0f }"

SOUND = {
    "a stencil": STENCIL,
    "a serial loop of the block": within(
        "for (k, 0, n) { gpu_thread (tx, 0, 8) { fout[bx*8 + tx + k] = 1.0f } }"
    ),
    "a number of threads that the host knows, by a let": within(
        "let c = n*2\ngpu_thread (tx, 0, c) { fout[bx*8 + tx] = 1.0f }"
    ),
    "threads that begin where the block says": within(
        "gpu_thread (tx, bx*8, 8) { fout[tx] = 1.0f }"
    ),
    "registers of the threads": within(
        "allocate fown[float32 * 4] in register\n"
        "gpu_thread (tx, 0, 8) { fown[0] = 1.0f }\n"
        "gpu_thread (tx, 0, 8) { fout[bx*8 + tx] = fown[0] }"
    ),
    "checks": within(
        'assert(bx < n, kernel_race, "w", bx)\ngpu_thread (tx, 0, 8) {\n'
        'assert(tx < n, kernel_race, "w", tx)\nfout[tx] = 1.0f\n}'
    ),
    "a condition of the block": within(f"if (bx < n) {{ {STORE} }}"),
}


@pytest.mark.parametrize("form", [Form.SHAPED, Form.CHECKED, Form.FINAL])
@pytest.mark.parametrize("source", SOUND.values(), ids=SOUND.keys())
def test_kernels_in_normal_form_pass(source: str, form: Form) -> None:
    check(source, form)


VIOLATIONS: dict[str, str] = {
    "a loop over threads outside of a kernel": (
        "gpu_thread (tx, 0, 8) { fout[tx] = 1.0f }"
    ),
    "a Barrier outside of a kernel": "for (k, 0, n) { barrier }",
    "ftile in shared memory outside of a kernel": (
        "for (k, 0, n) {\nallocate ftile[float32 * 8] in shared\nftile[0] = 1.0f\n}"
    ),
    "a loop over blocks that depends on another": within(
        within("gpu_thread (tx, 0, 8) { fout[tx] = 1.0f }", "gpu_block (by, 0, bx)")
    ),
    "4 loops over blocks of one kernel": (
        "gpu_block (bx, 0, w) { gpu_block (by, 0, w) { gpu_block (bz, 0, w) {"
        " gpu_block (bw, 0, w) { gpu_thread (tx, 0, 8) { fout[tx] = 1.0f } } } } }"
    ),
    "a loop over blocks inside of a kernel": within(
        "for (k, 0, n) { gpu_block (by, 0, h) {"
        " gpu_thread (tx, 0, 8) { fout[tx] = 1.0f } } }"
    ),
    "a loop at block level that is parallel": within(
        f"parallel (k, 0, n) {{ {STORE} }}"
    ),
    "a store to fout at block level": within(f"fout[bx] = 1.0f\n{STORE}"),
    "ftile in memory of the kind heap at block level": within(
        f"allocate ftile[float32 * 8] in heap\n{STORE}"
    ),
    "ftile in memory of the kind stack at block level": within(
        f"let c = n\nallocate ftile[float32 * 8] in stack\n{STORE}"
    ),
    "ftile in a kernel, without a constant size": within(
        f"allocate ftile[float32 * n] in shared\n{STORE}"
    ),
    "Free at block level of a kernel": within(
        "allocate ftile[float32 * 8] in shared\n"
        "gpu_thread (tx, 0, 8) { ftile[tx] = 1.0f }\nfree ftile"
    ),
    "a number of threads that depends on the block": within(
        "gpu_thread (tx, 0, bx) { fout[bx*8 + tx] = 1.0f }"
    ),
    "a number of threads that depends": within(
        "let c = iin[0]\ngpu_thread (tx, 0, c) { fout[bx*8 + tx] = 1.0f }"
    ),
    "a loop over threads inside of one over lanes": within(
        "gpu_lane (lane, 0, 32) { gpu_thread (tx, 0, 8) { fout[tx] = 1.0f } }"
    ),
    "a nest of 1 loops over threads in a kernel of 2": within(
        "gpu_thread (ty, 0, 4) { gpu_thread (tx, 0, 8) { fout[ty*8 + tx] = 1.0f } }\n"
        f"{STORE}"
    ),
    "a nest of 4 loops over threads": within(
        "gpu_thread (tw, 0, 2) { gpu_thread (tz, 0, 2) { gpu_thread (ty, 0, 2) {"
        " gpu_thread (tx, 0, 2) { fout[tx] = 1.0f } } } }"
    ),
    "a loop over threads that is not directly inside another": within(
        "gpu_thread (ty, 0, 4) { for (k, 0, n) {"
        " gpu_thread (tx, 0, 8) { fout[ty*8 + tx] = 1.0f } } }"
    ),
    "a loop of a thread that is parallel": within(
        "gpu_thread (tx, 0, 8) { parallel (k, 0, n) { fout[tx] = 1.0f } }"
    ),
    "a Barrier that only some threads may come to": within(
        "gpu_thread (tx, 0, 8) {\nfout[bx*8 + tx] = 1.0f\nbarrier\n}"
    ),
    "ftile in memory of the kind shared in a thread": within(
        "gpu_thread (tx, 0, 8) {\nallocate ftile[float32 * 8] in shared\n"
        "ftile[tx] = 1.0f\n}"
    ),
    "fsum in a kernel, without a constant size": within(
        "gpu_thread (tx, 0, 8) {\nallocate fsum[float32 * n] in stack\n"
        "fsum[0] = 1.0f\n}"
    ),
    "Prefetch in a thread": within(
        "gpu_thread (tx, 0, 8) {\nprefetch fin[tx] for 8\nfout[tx] = 1.0f\n}"
    ),
}


@pytest.mark.parametrize("what", VIOLATIONS.keys())
def test_violations_are_named(what: str) -> None:
    with pytest.raises(InternalError, match="malformed IR after the test") as caught:
        check(VIOLATIONS[what], Form.SHAPED)
    assert what in str(caught.value)


def test_a_store_at_block_level_is_none_of_a_simulations_checks() -> None:
    books = "allocate icount[int32 * 1] in stack\nicount[0] = 0\n"
    check(within(books + STORE), Form.CHECKED)
    with pytest.raises(InternalError, match="in memory of the kind stack"):
        check(within(books + STORE), Form.SHAPED)
    with pytest.raises(InternalError, match="a store to fout at block level"):
        check(within(f"{books}fout[0] = 1.0f\n{STORE}"), Form.CHECKED)


@pytest.mark.usefixtures("verified")
def test_passes_that_break_kernels_are_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")

    def breaks(s: Any, c: Any) -> Any:
        def go(n: Any) -> Any:
            if not hasattr(n, "children") or not hasattr(n, "kind"):
                return n.map(go) if hasattr(n, "map") else n
            if getattr(n, "kind", None) is ForKind.GPU_THREAD:
                return type(n)(n.var, n.min, n.extent, ForKind.SERIAL, n.body)
            return n.map(go)

        return go(s)

    changed = [
        passes.Pass(p.name, breaks, p.what, p.why_here, p.leaves)
        if p.name == "pad_shared"
        else p
        for p in passes.PASSES
    ]
    monkeypatch.setattr(passes, "PASSES", tuple(changed))
    x, tx = hl.vars("x tx")
    f = hl.Func("f")
    f[x] = x
    f.gpu_tile(x, tx, 8)
    with pytest.raises(InternalError, match="after pad_shared: a store to f"):
        f.realize([32])
