"""Blocks in the interior of an image run without the clamps of its edges."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.device import SIMULATED
from parhelion.ir.expr import Load, Max, Min
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import If, Stmt
from parhelion.lower import passes
from parhelion.lower.kernel_loops import block_loops
from parhelion.lower.options import LowerOptions
from parhelion.schedule.spec import PipelineSpec
from tests.gpu.test_checks import kernels

x, y, tx, ty = hl.vars("x y tx ty")


def blurred() -> hl.Func:
    pixels = np.random.default_rng(2).integers(0, 99, (40, 70)).astype(np.int32)
    source = hl.BoundaryConditions.repeat_edge(hl.Buffer(pixels))
    blur_x, blur_y = hl.Func("blur_x"), hl.Func("blur_y")
    blur_x[x, y] = source[x - 1, y] + source[x, y] + source[x + 1, y]
    blur_y[x, y] = blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, x).gpu_threads(x, y)
    return blur_y


def clamped(s: Stmt) -> int:
    """How many loads of images have a clamp in their place."""
    loads = [n for n in nodes(s) if isinstance(n, Load) and n.buffer.role == "input"]
    assert loads
    return sum([any(isinstance(e, Min | Max) for e in nodes(n.index)) for n in loads])


def test_the_interior_has_no_clamps() -> None:
    spec = PipelineSpec.of([blurred()._function], ())
    made = passes.lower(spec, name="f", options=LowerOptions(device=SIMULATED))
    (kernel,) = kernels(made.body)
    choices = [n for n in nodes(block_loops(kernel)[1]) if isinstance(n, If)]
    asked = [n for n in choices if n.otherwise is not None and _has_loads(n)]
    assert asked
    interior, edges = asked[0].then, asked[0].otherwise
    assert edges is not None
    assert clamped(interior) == 0 and clamped(edges) == 3


def _has_loads(s: Stmt) -> bool:
    return any(isinstance(n, Load) and n.buffer.role == "input" for n in nodes(s))


@pytest.mark.parametrize("size", [(70, 40), (16, 8), (96, 56)], ids=str)
def test_the_results_are_the_same(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    f = blurred()
    (wanted,) = interpret(f._function, [(0, n) for n in size])
    assert np.array_equal(np.asarray(f.realize(list(size))).T, wanted)
