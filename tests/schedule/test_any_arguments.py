"""Whatever a directive is given, it takes it or raises ScheduleError."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.schedule.legality import resolve
from parhelion.schedule.rules import ScheduleWarning
from tests.support.spec import spec_of


def arguments() -> list[Any]:
    r = hl.RDom([(0, 4), (0, 3)], "r")
    f = hl.Func("g")
    x, y = hl.Var("x"), hl.Var("y")
    f[x, y] = x
    return [
        *[hl.Var(n) for n in ("x", "y", "u", "v")],
        *[hl.RVar(n) for n in ("x", "ro", "ri")],
        *[r, r.x, r.y, hl.RDom([(0, 4)], "q"), hl.Var.outermost()],
        *[f, hl.Func("undefined"), f[x, y], x + 1, hl.Expr(4), hl.Expr(2.5)],
        *[0, 1, 4, -3, 2**40, 2.5, True, None, "x", b"x", np.int16(8), np.float32(2)],
        *[[x, y], (x, y), [], [4, 4], [[x]], {}, {x: 1}, np.arange(3), object()],
        *[hl.Param(hl.Int(32), "p"), hl.Param(hl.Float(32), "q")],
        *[hl.ImageParam(hl.UInt(8), 2, "image"), hl.Range(0, 4)],
        *[hl.TailStrategy.RoundUp, hl.TailStrategy.Predicate, hl.MemoryType.Heap],
        *[hl.LoopLevel.root(), hl.LoopLevel.inlined(), hl.LoopLevel(f, y)],
    ]


#: Each directive with the least and most arguments it takes.
DIRECTIVES = {
    "split": (4, 5),
    "fuse": (3, 3),
    "rename": (2, 2),
    "reorder": (0, 4),
    "tile": (0, 9),
    "serial": (1, 1),
    "parallel": (1, 3),
    "vectorize": (1, 3),
    "unroll": (1, 3),
    "compute_at": (0, 3),
    "store_at": (0, 3),
    "store_in": (1, 1),
    "reorder_storage": (0, 3),
    "bound": (3, 3),
    "bound_extent": (2, 2),
    "align_bounds": (2, 3),
    "align_extent": (2, 2),
    "set_estimate": (3, 3),
    "set_estimates": (1, 1),
    "set_coverage": (1, 2),
    "specialize": (1, 1),
    "specialize_fail": (1, 1),
    "in_": (0, 1),
    "clone_in": (1, 1),
    "rfactor": (1, 3),
    "tile_scan": (2, 3),
}


@pytest.mark.parametrize("directive", DIRECTIVES)
def test_any_arguments(directive: str) -> None:
    rng = random.Random(directive)
    low, high = DIRECTIVES[directive]
    x, y = hl.Var("x"), hl.Var("y")
    given = arguments()
    rdom = given[7]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScheduleWarning)
        for _ in range(120):
            f = hl.Func("f")
            f[x, y] = x + y
            f[rdom.x, y] += rdom.y
            owners = [f, f, f.update(0)]
            on = rng.choice([o for o in owners if hasattr(o, directive)])
            args = [rng.choice(given) for _ in range(rng.randint(low, high))]
            try:
                getattr(on, directive)(*args)
                resolve(spec_of(f))
            except hl.ScheduleError as error:
                assert error.what
