"""Versions of kernels whose vectors lie at multiples of 16 bytes: what is found, and
what the host is to check."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import parhelion as hl
from parhelion.ir.device import Device
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.gpu.harness import assembled, kernels_of
from tests.gpu.test_pipelines import kernels
from tests.support.spec import spec_of

x, y, tx, ty, v = hl.vars("x y tx ty v")

FLOAT = hl.Float(32)

Read = Callable[[hl.ImageParam], hl.Expr]


def versions(
    read: Read, kind: hl.Type = FLOAT, lanes: int = 4, unrolled: bool = False
) -> tuple[list[str], list[Expr], list[str]]:
    """The PTX of both versions of a kernel that computes vectors of what `read` makes
    of an image, the conditions of the second, and the buffers that it wants aligned.
    unrolled: whether the vectors are scalars side by side."""
    image, f = hl.ImageParam(kind, 2, "image"), hl.Func("f")
    f[x, y] = hl.cast(kind, read(image))
    f.split(x, x, v, lanes).reorder(v, x, y).gpu_tile(x, y, tx, ty, 8, 4)
    f.unroll(v) if unrolled else f.vectorize(v)
    made = lower(spec_of(f), name="f", options=LowerOptions(device=Device("sm_80")))
    loops = kernels(made.body)
    ptx, told = assembled(*loops)
    (kernel,) = kernels_of(*loops)[1]
    assert [k.frame + k.spill_loads for k in told] == [0] * len(told)
    names = [b.name for b in kernel.aligned]
    return ptx.split(".entry")[1:], list(kernel.conditions), names


def loads(ptx: str, lanes: int) -> int:
    return ptx.count(f"ld.global.nc.v{lanes}")


def test_loads_and_stores_of_four() -> None:
    (plain, wide), conditions, aligned = versions(lambda image: image[x, y] * 2)
    assert loads(plain, 4) == loads(plain, 2) == plain.count("st.global.v") == 0
    assert loads(wide, 4) >= 1 and wide.count("st.global.v4") >= 1
    assert "ld.global.nc.b32" not in wide and "st.global.b32" not in wide
    assert sorted(aligned) == ["f", "image"]
    # Strides and mins of both.
    assert len(conditions) >= 4


@pytest.mark.parametrize(
    "kind, lanes, word",
    [
        (hl.UInt(8), 16, "v4.b32"),
        (hl.Int(16), 8, "v4.b32"),
        (hl.Float(64), 2, "v2.b64"),
    ],
    ids=str,
)
def test_types(kind: hl.Type, lanes: int, word: str) -> None:
    (plain, wide), _, _ = versions(lambda image: image[x, y], kind, lanes)
    assert f"ld.global.nc.{word}" in wide and f"st.global.{word}" in wide
    assert f"ld.global.nc.{word}" not in plain and f"st.global.{word}" not in plain


@pytest.mark.parametrize(
    "kind, lanes, word",
    [
        (hl.Float(32), 4, "v4.b32"),
        (hl.Int(32), 8, "v4.b32"),
        (hl.Float(64), 2, "v2.b64"),
    ],
    ids=str,
)
def test_scalars_side_by_side(kind: hl.Type, lanes: int, word: str) -> None:
    """What an unrolled loop leaves: one load and one store of 16 bytes."""
    (plain, wide), conditions, aligned = versions(
        lambda image: image[x, y] + 1, kind, lanes, unrolled=True
    )
    assert f"global.nc.{word}" not in plain and f"st.global.{word}" not in plain
    assert wide.count(f"ld.global.nc.{word}") == wide.count(f"st.global.{word}") >= 1
    one = word.split(".")[1]
    assert f"ld.global.nc.{one}" not in wide and f"st.global.{one}" not in wide
    assert sorted(aligned) == ["f", "image"] and len(conditions) >= 4


def test_scalars_of_a_stencil() -> None:
    """Six neighbours are loaded by two accesses: four of them are at a multiple."""
    (_, wide), _, _ = versions(
        lambda image: image[x - 1, y] + image[x, y] + image[x + 1, y], unrolled=True
    )
    copies = wide.count("st.global.v4")
    assert copies >= 1 and loads(wide, 4) == copies
    assert loads(wide, 2) == copies and "ld.global.nc.b32" not in wide


def test_neighbours_at_other_residues() -> None:
    """Most places decide which are multiples; those two further are of 8 bytes."""
    (_, wide), _, _ = versions(
        lambda image: image[x, y] + image[x, y + 1] + image[x + 1, y] + image[x + 2, y]
    )
    copies = wide.count("st.global.v4")
    assert (loads(wide, 4), loads(wide, 2)) == (2 * copies, 2 * copies)
    assert wide.count("ld.global.nc.b32") == 4 * copies


def test_nothing_to_gain() -> None:
    """Places that the thread finds in data, or as far apart as anything may be."""
    image, f = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("f")
    f[x, y] = image[x, y]
    f.gpu_tile(x, y, tx, ty, 8, 4)
    made = lower(spec_of(f), name="f", options=LowerOptions(device=Device("sm_80")))
    (kernel,) = kernels_of(*kernels(made.body))[1]
    assert not kernel.wide and not kernel.conditions and not kernel.aligned


def test_what_the_host_checks() -> None:
    """All conditions hold if all numbers are multiples of four, and each number is
    needed: with another one a condition fails."""
    _, conditions, _ = versions(lambda image: image[x, y] * 2)
    used: set[Var] = set().union(*[free_vars(c) for c in conditions])
    free = sorted(used, key=lambda u: u.name)
    rng = random.Random(0)
    for _ in range(20):
        env = {u: 4 * rng.randrange(1, 100) for u in free}
        for u in free:
            if u.name.endswith(".max"):
                env[u] -= 1  # the last one, inclusively
        assert all([evaluate(c, env) for c in conditions])
        for u in free:
            other = env | {u: env[u] + rng.randrange(1, 4)}
            assert not all([evaluate(c, other) for c in conditions]), u.name
