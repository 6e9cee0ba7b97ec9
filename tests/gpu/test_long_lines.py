"""One long line on a GPU: tails are completed in groups of tiles, so that no thread
goes through all of them (2015 paper, section 6; Figures 12 and 13 have lines of 100
million points)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import parhelion as hl
from benchmarks.gpu_kernels import loops_over_blocks
from parhelion.ir.build import const_int
from parhelion.ir.device import device_of
from parhelion.lower import passes
from parhelion.lower.kernel_loops import block_loops
from parhelion.lower.kernel_names import computed as computed_by
from parhelion.lower.launch_sizes import threads_of
from parhelion.lower.options import LowerOptions
from parhelion.recfilter import RecFilter, RecFilterDim, chains, tiling
from parhelion.runtime import devices
from tests.fuzz.recursive import Case, Drawn
from tests.gpu.test_recursive import CUDA, ORDERS, along, check
from tests.support.spec import spec_of


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of four tiles, so that lines that are soon computed have several levels of
    them."""
    monkeypatch.setattr(chains, "GROUP", 4)
    monkeypatch.setattr(chains, "LAST", 6)
    monkeypatch.setattr(tiling, "LEAST", 8)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("directions", ["+x", "-x", "+x -x", "-x +x", "+x +x -x"])
@pytest.mark.parametrize("extent", [1003, 7 * 128])
def test_filters_of_a_line(extent: int, directions: str, order: int) -> None:
    """With tiles and groups that do not divide it, and with those that do."""
    filters = along(*directions.split(), order=order)
    check(Case("float64", (extent,), filters, (7,), "zero", order))
    # Tails, three levels of groups and a last one, and the tiles again.
    assert devices.counts().launches >= 9


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("extent", [57, 64, 65, 333])
def test_sums_of_integers_are_exact(extent: int) -> None:
    filters: tuple[Drawn, ...] = (
        (0, True, (1, 1), (1,), False),
        (0, True, (1, 2, -1), (1,), False),
        (0, False, (1, 3, -3, 1), (1,), False),
    )
    check(Case("uint32", (extent,), filters, (8,), "zero", 3))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("border", ["clamp", "repeat", "mirror"])
def test_lines_that_go_on_are_completed_as_before(border: str) -> None:
    filters = along("+x", "-x", order=2)
    check(Case("float64", (400,), filters, (8,), border, 2))


def test_a_line_as_long_as_it_takes() -> None:
    """As many tiles as groups are made of without being told."""
    n = 32 * chains.LEAST + 5
    values = np.random.default_rng(1).integers(0, 1 << 32, n, np.uint32)
    x = RecFilterDim("x", n)
    f = RecFilter("sums")
    f[x] = hl.Buffer(values)[x]
    f.add_filter(+x, [1, 1])
    devices.reset_counts()
    got = np.asarray(f.realize(target=CUDA))
    # Tails; within groups, from group to group, and all; and the tiles again.
    assert devices.counts().launches == 5
    assert np.array_equal(got, np.cumsum(values, dtype=np.uint32))


def test_directives_of_the_users_are_for_the_one_stage_that_they_know() -> None:
    n = 32 * chains.LEAST
    x = RecFilterDim("x", n)
    f = RecFilter("sums")
    f[x] = hl.u32(x)
    f.add_filter(+x, [1, 1])
    f.split(x, 32)
    f.inter_schedule().unroll(f.tail())
    devices.reset_counts()
    got = np.asarray(f.realize(target=CUDA))
    assert np.array_equal(
        got, np.cumsum(np.arange(n, dtype=np.uint32), dtype=np.uint32)
    )


def test_threads_of_a_line_of_a_hundred_million_points() -> None:
    n = 100_000_000
    x = RecFilterDim("x", n)
    f = RecFilter("f")
    f[x] = hl.f32(x)
    f.add_filter(+x, list(ORDERS[2]))
    out = f.as_func(CUDA)
    options = LowerOptions(device=device_of("sm_80"))
    made = passes.lower(
        spec_of(out.bound(out.args()[0], 0, n)), name="f", options=options
    )
    threads: list[int] = []
    for kernel in loops_over_blocks(made):
        blocks, body = block_loops(kernel)
        counts = [loop.extent for loop in blocks]
        counts += threads_of(body, blocks, computed_by(kernel))
        known = [const_int(e) or 0 for e in counts]
        threads.append(math.prod(known))
    tiles = n // 32
    # Where tails are not those of all tiles, a thread has a group of them, at most.
    levels = [tiles // chains.GROUP**k for k in (1, 2, 3)]
    assert len(threads) == 9
    assert threads[0] >= tiles and threads[-1] >= tiles and threads[-2] >= tiles
    assert threads[1] >= levels[0] and threads[2] >= levels[1]
    assert threads[3] >= levels[2] and threads[4] == 1
    # What is left for one thread, one step after the other.
    assert levels[2] + 1 <= chains.LAST
