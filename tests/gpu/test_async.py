"""Kernels that a thread of an async Func launches: what it stores, the other one reads,
on the device or in main memory, while it stores to other places of the same storage."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.runtime import devices
from tests.gpu.test_through_driver import run

x, y, tx, ty = hl.vars("x y tx ty")

Scheduled = tuple[hl.Func, list[int]]
CASES: list[Callable[[], Scheduled]] = []


def root(f: hl.Func, g: hl.Func) -> None:
    f.compute_root()


def folded(f: hl.Func, g: hl.Func) -> None:
    f.store_root().compute_at(g, y).fold_storage(y, 4)


def ring(f: hl.Func, g: hl.Func) -> None:
    f.compute_at(g, y).hoist_storage_root().ring_buffer(3)


def whole(f: hl.Func, g: hl.Func) -> None:
    f.store_root().compute_at(g, y)


STORED = {place.__name__: place for place in (root, folded, ring, whole)}


def pipeline(
    place: Callable[[hl.Func, hl.Func], None],
    sides: str,
    limit: int | None = None,
) -> hl.Func:
    """An async Func, its update and its consumer, each of them by kernels or the host.

    sides: for each ``g`` or ``h``; ``-`` for no update. limit: what values are required
    to be less than.
    """
    f, g = hl.funcs("f g")
    image = hl.Buffer(np.arange(64 * 40, dtype=np.int32).reshape(40, 64))
    value = image[hl.clamp(x, 0, 63), hl.clamp(y, 0, 39)] * 3 + x
    if limit is not None:
        value = hl.require(value < limit, value, "it is", value)
    f[x, y] = value
    if sides[1] != "-":
        f[x, y] = f[x, y] * 2 + 1
    g[x, y] = f[x, y] + f[x + 1, y + 1] * 5
    place(f, g)
    f.async_()
    if sides[0] == "g":
        f.gpu_tile(x, tx, 8)
    if sides[1] != "-":
        update = f.update()
        update.unscheduled()
        if sides[1] == "g":
            update.gpu_tile(x, tx, 8)
    if sides[2] == "g":
        g.gpu_tile(x, tx, 8)
    return g


def _case(name: str, sides: str) -> None:
    def build() -> Scheduled:
        return pipeline(STORED[name], sides), [50, 30]

    build.__name__ = f"async_{name}_{sides}"
    CASES.append(build)


for _name, _sides in itertools.product(STORED, itertools.product("gh", "-gh", "gh")):
    if "g" in _sides:
        _case(_name, "".join(_sides))


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_what_threads_compute(build: Callable[[], Scheduled], simulator: None) -> None:
    """Often: the threads are never at the same places twice."""
    g, size = build()
    (wanted,) = interpret(g._function, [(0, n) for n in size])
    for _ in range(8):
        np.testing.assert_array_equal(np.asarray(g.realize(size)).T, wanted)


@pytest.mark.parametrize("part", range(4))
def test_through_the_driver(part: int, tmp_path: Path) -> None:
    names = [build.__name__ for build in CASES][part::4]
    assert all(run(names, tmp_path).values())


def test_no_copies_between_kernels(simulator: None) -> None:
    """What both threads have kernels for stays on the device."""
    for place in STORED.values():
        g = pipeline(place, "ggg")
        devices.reset_counts()
        np.asarray(g.realize([50, 30]))
        counts = devices.counts()
        assert (counts.to_device, counts.to_host) == (1, 1)


@pytest.mark.parametrize("place", STORED.values(), ids=list(STORED))
@pytest.mark.parametrize("sides", ["g-g", "g-h", "ggh"])
def test_requirements(
    place: Callable[[hl.Func, hl.Func], None], sides: str, simulator: None
) -> None:
    for limit in (10, 3000):
        g = pipeline(place, sides, limit)
        with pytest.raises(hl.PipelineRuntimeError, match="failed: it is") as caught:
            g.realize([50, 30])
        assert caught.value.failure == "require"
    pipeline(place, sides, 9000).realize([50, 30])


def test_requirements_through_the_driver(tmp_path: Path) -> None:
    assert run(["async-require"], tmp_path)["async-require"] > 8


def test_several_threads(simulator: None) -> None:
    """A thread within the other's consumer, and a Func that both have read."""
    f, g, h = hl.funcs("f g h")
    f[x, y] = x * 3 + y
    g[x, y] = f[x, y] + f[x + 1, y]
    h[x, y] = g[x, y] * 2 + g[x, y + 1] + f[x, y]
    f.compute_root().gpu_tile(x, y, tx, ty, 8, 8)
    f.async_()
    g.store_root().compute_at(h, y).fold_storage(y, 2).async_().gpu_tile(x, tx, 8)
    (wanted,) = interpret(h._function, [(0, 40), (0, 30)])
    for _ in range(20):
        np.testing.assert_array_equal(np.asarray(h.realize([40, 30])).T, wanted)
