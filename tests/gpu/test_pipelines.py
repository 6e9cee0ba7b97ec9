"""The kernels of real pipelines: assembled for two GPUs, and run as they are emitted.

The program around the kernels is run in Python, and each kernel by threads of the CPU;
what comes out is compared with the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir import stmt as S
from parhelion.ir.bindings import SET
from parhelion.ir.device import Device
from parhelion.ir.expr import Var
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.codegen.runner import Runner
from tests.gpu.harness import Array, assembled, kernels_of, simulate
from tests.gpu.test_simulated import CASES, Scheduled
from tests.support.spec import spec_of

#: A device that is not simulated: its kernels have no checks in them.
DEVICE = Device("sm_80")


class Host(Runner):
    """Runs the host's statements in Python, and kernels by `simulate`."""

    def run(self, s: Stmt) -> None:
        if isinstance(s, S.Sync):
            return
        if isinstance(s, S.Produce):
            self.run(s.body)
            return
        if not (isinstance(s, S.For) and s.kind is ForKind.GPU_BLOCK):
            super().run(s)
            return
        module, (kernel,) = kernels_of(s)
        arrays: dict[BufferSym, Array] = {}
        for b in kernel.parameters:
            if isinstance(b, BufferSym):
                arrays[b] = np.array(self.buffers[b], b.type.to_numpy())
        simulate(module, kernel, arrays, self.env)
        for b, array in arrays.items():
            self.buffers[b] = array.tolist()


def kernels(s: Stmt) -> list[S.For]:
    if isinstance(s, S.For) and s.kind is ForKind.GPU_BLOCK:
        return [s]
    return [k for c in s.children() if isinstance(c, Stmt) for k in kernels(c)]


def bind(env: dict[Var, Any], sym: BufferSym, extents: list[int]) -> int:
    """Says where the pixels of a dense buffer are; returns how many there are."""
    stride = 1
    for dim, extent in zip(sym.dims, extents, strict=True):
        env[dim.min], env[dim.extent], env[dim.stride] = 0, extent, stride
        stride *= extent
    return stride


def computed(f: hl.Func, size: list[int]) -> tuple[list[Array], list[S.For]]:
    """What a pipeline computes with its kernels as they are emitted, and these."""
    made = lower(spec_of(f), name="f", options=LowerOptions(device=DEVICE))
    env: dict[Var, Any] = {}
    buffers: dict[BufferSym, list[Any]] = {}
    outs: list[BufferSym] = []
    for arg in made.args:
        sym = arg.symbol
        if isinstance(sym, ParamSym):
            env[sym.var] = SET.of(sym)
        elif sym.role == "output":
            outs.append(sym)
            buffers[sym] = [0] * bind(env, sym, size)
        else:
            pixels = np.asarray(SET.of(sym))
            bind(env, sym, list(pixels.shape[::-1]))
            buffers[sym] = pixels.reshape(-1).tolist()
    Host(buffers, env).run(made.body)
    results = [
        np.array(buffers[o], o.type.to_numpy()).reshape(size[::-1]) for o in outs
    ]
    return results, kernels(made.body)


@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_kernels_as_they_are_emitted(build: Callable[[], Scheduled]) -> None:
    f, size = build()
    results, loops = computed(f, size)
    wanted = interpret(f._function, [(0, n) for n in size])
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(got.T, want)
    ptx, told = assembled(*loops)
    assert "call" not in ptx
    versions = sum([1 + bool(k.wide) for k in kernels_of(*loops)[1]])
    assert len(told) == 2 * versions > 0
