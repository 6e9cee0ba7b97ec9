"""Checks that depend on the block or thread: made in kernels, told as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.nvptx.assemble import assemble, find_ptxas
from parhelion.ir.device import device_of
from parhelion.runtime.kernels import ptx_of
from tests.gpu.harness import ARCHS
from tests.gpu.in_kernels import CASES, Build, check, of_a_block, of_one_thread
from tests.gpu.test_launches import emitted
from tests.support.verified import verified

__all__ = ["verified"]


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


@pytest.mark.parametrize("build", CASES, ids=lambda b: b.__name__)
def test_kernels_check_as_the_cpu_does(build: Build) -> None:
    check(build)


def test_an_error_names_func_dimension_and_numbers() -> None:
    """One block alone needs so much."""
    g = of_a_block(5, True)
    with pytest.raises(hl.BoundsError, match="bound in dimension y to 5, but 6 coord"):
        g.realize([8, 16])
    # Blocks that need less run, and the next call is none the worse.
    assert np.asarray(g.realize([8, 4])).shape == (4, 8)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("build", CASES, ids=lambda b: b.__name__)
def test_ptx(build: Build, arch: str) -> None:
    if find_ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    device = device_of(arch)
    made = emitted(build(16, True), device)
    ptx = ptx_of(made, device)
    assert ".cas.b32" in ptx
    assert assemble(ptx, arch)
    assert "storage_bound_too_small" in [f.code for f in made.failures]


def test_all_threads_of_a_block_make_a_check_of_the_block() -> None:
    """Else those that do not would go on into storage that is too small."""
    from parhelion.ir.stmt import Assert, ForKind, Stmt
    from tests.gpu.test_checks import kernels, lowered

    def in_threads(s: Stmt, inside: bool) -> list[bool]:
        if isinstance(s, Assert):
            return [inside]
        deeper = inside or getattr(s, "kind", None) is ForKind.GPU_THREAD
        return [
            found
            for c in s.children()
            if isinstance(c, Stmt)
            for found in in_threads(c, deeper)
        ]

    for build in (of_a_block, of_one_thread):
        (kernel,) = kernels(lowered(build(9, True)))
        found = in_threads(kernel, False)
        assert found and not any(found)
