"""Random programs as what one thread of a kernel does: loops, branches, lets bound
twice, loads and stores that alias, storage of the thread's own."""

from __future__ import annotations

import numpy as np
import pytest

from parhelion.ir import stmt as S
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.types import INT32
from tests.codegen.runner import Runner
from tests.codegen.test_random_statements import SIZE, Programs
from tests.gpu.harness import assembled, kernels_of, simulate


class _Sized(Rewriter):
    """Gives storage the constant size that kernels need."""

    def on_allocate(self, n: S.Allocate) -> Stmt:
        return S.Allocate(n.buffer, (int32(SIZE),), n.condition, n.kind, n.padding)


def one_thread(body: Stmt) -> S.For:
    """A kernel with one block of one thread."""
    bx, tx = Var("bx", INT32), Var("tx", INT32)
    one: Expr = int32(1)
    nest = S.For(tx, int32(0), one, ForKind.GPU_THREAD, body)
    return S.For(bx, int32(0), one, ForKind.GPU_BLOCK, nest)


@pytest.mark.parametrize("seed", range(40))
def test_program(seed: int) -> None:
    draw = Programs(500 + seed)
    body = draw.block([], [*draw.inputs, *draw.outputs], 4)
    loop = one_thread(_Sized().go(body))
    buffers = [*draw.inputs, *draw.outputs]
    rng = np.random.default_rng(seed)
    arrays = {b: rng.integers(-50, 50, SIZE).astype(np.int32) for b in buffers}
    given = [int(rng.integers(-5, 20)), int(rng.integers(0, SIZE))]
    env = dict(zip([p.var for p in draw.params], given, strict=True))
    flat = {b: a.tolist() for b, a in arrays.items()}
    Runner(flat, dict(env)).run(loop)
    if seed % 5 == 0:
        assembled(loop)
    module, (kernel,) = kernels_of(loop)
    simulate(module, kernel, arrays, env)
    for buffer, array in arrays.items():
        assert array.tolist() == flat[buffer], module.text("test")
