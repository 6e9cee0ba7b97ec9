"""Rows read through a boundary condition: almost all vectors are plain loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Max, Min, Mod, Select, Var
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import For, Stmt
from parhelion.ir.target import generic_target
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.support.spec import spec_of

_WIDTH, _LANES, _REACH = 200, 8, 2

_BORDERS: dict[str, tuple[Callable[..., hl.Func], str]] = {
    "repeat_edge": (hl.BoundaryConditions.repeat_edge, "edge"),
    "repeat_image": (hl.BoundaryConditions.repeat_image, "wrap"),
    "mirror_image": (hl.BoundaryConditions.mirror_image, "symmetric"),
    "mirror_interior": (hl.BoundaryConditions.mirror_interior, "reflect"),
}


def _read_around(border: Callable[..., hl.Func], image: Any) -> hl.Func:
    """Five neighbours of each pixel of a line, in vectors."""
    x, out = hl.Var("x"), hl.Func("out")
    around = border(image)
    reach = range(1 - _REACH, _REACH + 1)
    out[x] = sum([around[x + k] * (k + 3) for k in reach], around[x - _REACH])
    out.vectorize(x, _LANES)
    return out


@pytest.mark.parametrize("name", _BORDERS)
def test_only_vectors_at_the_edges_ask_where_they_are(name: str) -> None:
    """Repeated and mirrored coordinates are known to lie between minima and maxima,
    which no code computes: loops were cut where these do nothing, which is nowhere, and
    every vector of a row computed remainders."""
    out = _read_around(_BORDERS[name][0], hl.ImageParam(hl.Int(32), 1, "image"))
    loops = [n for n in nodes(_lowered(out)) if isinstance(n, For)]
    steady = [n for n in loops if not _asks(n.body)]
    assert len(loops) == 3 and len(steady) == 1
    assert _count(steady[0]) == _WIDTH // _LANES - 2


def _lowered(out: hl.Func) -> Stmt:
    options = LowerOptions(target=generic_target(512))
    return lower(spec_of(out), name="out", options=options).body


def _asks(s: Stmt) -> bool:
    """Whether an index is more than where a vector begins."""
    return any(
        [isinstance(n, Mod | Select | Min | Max) and n.type.count > 1 for n in nodes(s)]
    )


def _count(loop: For) -> int:
    """How many iterations a loop has, where image and output are as large."""
    return int(_value(loop.extent))


def _value(e: Expr) -> Any:
    """What an expression of lets is, down to the sizes that they are made of."""
    known = {v: _size(v) if v.value is None else _value(v.value) for v in free_vars(e)}
    return evaluate(e, known)


def _size(v: Var) -> int:
    kind = v.name.split(".")[1]
    return {"min": 0, "extent": _WIDTH, "max": _WIDTH - 1}[kind]


@pytest.mark.parametrize("name", _BORDERS)
def test_rows_read_around_an_image(name: str) -> None:
    border, mode = _BORDERS[name]
    pixels = np.random.default_rng(3).integers(0, 99, _WIDTH, np.int32)
    found = np.asarray(_read_around(border, hl.Buffer(pixels)).realize([_WIDTH]))
    around = np.pad(pixels, _REACH, mode=mode)  # type: ignore[call-overload]
    want = around[:_WIDTH].copy()
    for k in range(1, 2 * _REACH + 1):
        want += (k + 1) * around[k : k + _WIDTH]
    assert np.array_equal(found, want)
