"""Powers of two as factors: ``exp`` by ``vscalef``."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.target import Target, generic_target
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from tests.support.spec import spec_of

F32, F64 = hl.Float(32), hl.Float(64)


#: Its own type, that of its bits, and how far from 0 arguments are.
KINDS = {F32: ("float32", "uint32", 110.0), F64: ("float64", "uint64", 760.0)}


def _exp(of: hl.Type, lanes: int, op: str = "exp") -> tuple[hl.Func, hl.ImageParam]:
    x, image, f = hl.Var("x"), hl.ImageParam(of, 1, "image"), hl.Func("f")
    f[x] = getattr(hl, op)(image[x])
    if lanes > 1:
        f.vectorize(x, lanes)
    return f, image


@pytest.mark.parametrize("lanes", [4, 8, 16, 24, 48])
@pytest.mark.parametrize("of, op", [(F32, "exp"), (F64, "exp"), (F32, "fast_exp")])
def test_all_lanes_are_what_one_is(of: hl.Type, op: str, lanes: int) -> None:
    """To the bit: subnormal results, those that overflow, and what is no number."""
    dtype, bits, far = KINDS[of]
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, far]
    some = np.random.default_rng(5).uniform(-far, far, 9600 - len(odd))
    small = np.linspace(-far, 0.75 * -far, 4800)  # where results become subnormal
    values = np.concatenate([odd, some, small]).astype(dtype)
    found = []
    for count in (lanes, 1):
        f, image = _exp(of, count, op)
        image.set(values)
        found.append(np.asarray(f.realize([len(values)])))
    assert np.array_equal(found[0].view(bits), found[1].view(bits))
    assert np.isnan(found[0]).any()
    if op == "exp":
        smallest = np.finfo(dtype).smallest_normal
        assert ((found[0] > 0) & (found[0] < smallest)).any()
        assert np.isinf(found[0]).any()


def _assembly(f: hl.Func, target: Target) -> str:
    return assembly_text(emit(lower(spec_of(f), name="t"), target), target)


@pytest.mark.parametrize("of, lanes", [(F32, 16), (F32, 32), (F64, 8), (F64, 16)])
def test_one_instruction(of: hl.Type, lanes: int) -> None:
    f, _ = _exp(of, lanes)
    text = _assembly(f, generic_target(512))
    assert "vscalefp" in text and "vpslld" not in text and "vpsllq" not in text


def test_of_half_a_register() -> None:
    wide = generic_target(512)
    features = tuple(sorted({*wide.features, "avx512vl"}))
    f, _ = _exp(F32, 8)
    assert "vscalefps" in _assembly(f, dataclasses.replace(wide, features=features))


def test_other_machines_make_the_factors() -> None:
    f, _ = _exp(F32, 8)
    text = _assembly(f, generic_target(256))
    assert "vscalef" not in text and "vpslld" in text
