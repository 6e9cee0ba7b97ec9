"""Updates that store where data say: one point after the other, if that takes less."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.calibration import DEFAULT, VARIABLE
from parhelion.interp import interpret
from parhelion.ir.stmt import ForKind

x, y, z, c = hl.vars("x y z c")
CELL, DEPTH = 4, 9


def cells(width: int, height: int) -> tuple[hl.Func, hl.Func]:
    """Sums and numbers of an image's points by cell and value, a little smoother."""
    rng = np.random.default_rng(3)
    size = (height * CELL, width * CELL)
    image = hl.Buffer(rng.integers(0, DEPTH, size).astype(np.int32))
    r = hl.RDom([(0, CELL), (0, CELL)])
    sums, out = hl.Func("sums"), hl.Func("out")
    wide = hl.BoundaryConditions.repeat_edge(image)
    value = wide[x * CELL + r.x, y * CELL + r.y]
    sums[x, y, z, c] = 0
    sums[x, y, hl.clamp(value, 0, DEPTH - 1), c] += hl.mux(c, [value, 1])
    out[x, y, z, c] = sums[x, y, z, c] * 2 + sums[x + 1, y, z, c]
    return out, sums


def kinds(f: hl.Func, k: int) -> set[ForKind]:
    return {d.kind for d in f._function.stages()[k].schedule.dims}


def test_only_what_is_dense_is_in_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, DEFAULT)
    out, sums = cells(90, 70)
    hl.autoschedule(out, sizes=[90, 70, DEPTH, 2])
    assert ForKind.VECTORIZED in kinds(sums, 0)
    assert ForKind.VECTORIZED not in kinds(sums, 1)
    assert ForKind.UNROLLED in kinds(sums, 1)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("width", "height"), [(90, 70), (33, 5), (3, 2)])
def test_results(width: int, height: int, threads: int) -> None:
    out, _ = cells(width, height)
    size = [width, height, DEPTH, 2]
    (wanted,) = interpret(out._function, [(0, n) for n in size])
    hl.autoschedule(out, sizes=size, parallelism=threads)
    got = np.asarray(out.realize(size))
    np.testing.assert_array_equal(got, wanted.T)
