"""What kernels count in 32 bits is checked to be within reach of these."""

from __future__ import annotations

import pytest

from parhelion.ir.build import TRUE
from parhelion.ir.device import FURTHEST, INDEX_LIMIT, SIMULATED, Device
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Var
from parhelion.ir.promises import Assumptions
from parhelion.ir.stmt import Allocate, Assert, MemoryKind
from parhelion.ir.symbols import BufferSym
from parhelion.lower.allocate import size_checks
from parhelion.lower.checks import layout_checks
from parhelion.lower.options import LowerOptions
from parhelion.types import INT32, UInt


def passes(extents: list[int], strides: list[int], options: LowerOptions) -> bool:
    """Whether a buffer of that layout passes all checks."""
    buffer = BufferSym("b", UInt(8), len(extents), "input")
    buffer.dims[0].fixed_stride = None
    env: dict[Var, int] = {}
    for dim, extent, stride in zip(buffer.dims, extents, strides, strict=True):
        env[dim.min], env[dim.extent], env[dim.stride] = 0, extent, stride
    checks = layout_checks(buffer, Assumptions.now([buffer]), options)
    return all([evaluate(c.cond, env) for c in checks if isinstance(c, Assert)])


GPU = LowerOptions(device=SIMULATED)
WIDE = LowerOptions(device=SIMULATED, index64=True)


@pytest.mark.parametrize(
    ("extents", "strides", "fits"),
    [
        ([1000, 1000], [1, 1000], True),
        ([1000, 2000000], [1, 1000], True),
        ([1000, 2147000], [1, 1000], False),
        # Each dimension by itself is within 31 bits.
        ([1500, 1500], [1000000, 1000001], False),
        ([1500, 1500], [1000000, -1000001], False),
    ],
)
def test_buffers_of_callers(extents: list[int], strides: list[int], fits: bool) -> None:
    assert passes(extents, strides, LowerOptions())
    assert passes(extents, strides, GPU) is fits
    assert passes(extents, strides, WIDE)


@pytest.mark.parametrize("device", [None, Device("sm_80")])
def test_storage(device: Device | None) -> None:
    n = Var("n", INT32)
    buffer = BufferSym("f", UInt(8), 1, "internal")
    a = Allocate(buffer, (n,), TRUE, MemoryKind.HEAP, 0)
    (check,) = size_checks(a, LowerOptions(device=device))
    assert isinstance(check, Assert)
    assert evaluate(check.cond, {n: INDEX_LIMIT})
    assert evaluate(check.cond, {n: INDEX_LIMIT + 1}) is (device is None)


def test_constants_apart_leave_the_sum_in_reach() -> None:
    assert INDEX_LIMIT + FURTHEST <= (1 << 31) - 1
