"""What `compute_lazy` computes: each part that is read, once, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from tests.support.spec import spec_of

x, y = hl.Var("x"), hl.Var("y")
W, H = 61, 43
_RANDOM = np.random.default_rng(5)
PIXELS = _RANDOM.random((90, 120)).astype(np.float32)
COLUMNS, ROWS = _RANDOM.integers(0, (120, 90), (H, W, 2)).astype(np.int32).T


def clamp(e: Any, low: int, high: int) -> Any:
    """``hl.clamp``, also of numbers."""
    return min(max(e, low), high) if type(e) is int else hl.clamp(e, low, high)


#: Reads as functions of a point, of Exprs or ints alike; each kind once as a whole.
Reads = Callable[[Any, Any], list[tuple[Any, Any]]]
READS: dict[str, Reads] = {
    "one": lambda x, y: [(x, y)],
    "rows": lambda x, y: [(x + i, y) for i in (-1, 0, 1)],
    "a square": lambda x, y: [(x + i, y + j) for i in (0, 1, 2) for j in (-1, 0, 1)],
    "a cross": lambda x, y: [(x, y), (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)],
    "far apart": lambda x, y: [(x, y), (x + 40, y), (x, y + 70)],
    "clamped": lambda x, y: [
        (clamp(x + i, 3, 50), clamp(y + j, 5, 40)) for i in (-3, 2) for j in (0, 4)
    ],
    "every second": lambda x, y: [(2 * x, y), (2 * x + 1, 3 * y)],
    "each twice": lambda x, y: [(x // 2, y // 3), (x // 2 + 1, y // 3)],
    "turned": lambda x, y: [(y, x), (60 - x, 50 - y)],
    "a diagonal": lambda x, y: [(x + y, y)],
    "one column": lambda x, y: [(7, y), (x, 9)],
}
SIZES: list[tuple[int | None, ...] | None] = [None, (1, 1), (4, 4), (16, 3), (None, 2)]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = hl.set_num_threads(1)
    yield
    hl.set_num_threads(before)


def lowered(f: hl.Func) -> str:
    return text(lower(spec_of(f), name="g").body)


def parts(points: Any, tile: tuple[int | None, ...] | None, region: Any = None) -> int:
    """How many values are in the parts that some points are in. region: points whose
    bounds are those of all parts, if others are needed."""
    at = np.unique(np.asarray(points).reshape(-1, 2), axis=0)
    known = at if region is None else np.asarray(region)
    least, most = known.min(axis=0), known.max(axis=0)
    given: tuple[int | None, ...] = (1, 1) if tile is None else (*tile, None)
    total: Any = np.ones(1, int)
    steps = []
    for d in (0, 1):
        extent = most[d] - least[d] + 1
        size = given[d] or extent
        steps.append((at[:, d] - least[d]) // size)
        total = total * np.minimum(size, extent - steps[-1] * size)
    _, first = np.unique(np.stack(steps), axis=1, return_index=True)
    return int(total[first].sum())


@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("vectors", [1, 8])
def test_what_boxes_of_reads_compute(kind: str, vectors: int) -> None:
    """The points of a box are asked for together, and are those that are read."""
    reads = READS[kind]
    for tile in SIZES:
        f, g = hl.funcs("f g")
        f[x, y] = x * 3 - y
        g[x, y] = sum([f[at] for at in reads(x, y)], hl.i32(0))
        f.compute_lazy(tile)
        if vectors > 1:
            g.vectorize(x, vectors, hl.TailStrategy.GuardWithIf)
        want = interpret(g._function, [(0, W), (0, H)])[0].T
        np.testing.assert_array_equal(np.asarray(g.realize([W, H])), want)
        touched = [at for i in range(W) for j in range(H) for at in reads(i, j)]
        seen = g.profile([W, H])["f"]
        assert seen.computed == parts(touched, tile), (kind, tile)
        missed = seen.computed if tile is None else seen.calls
        assert seen.hits == len(touched) - missed, (kind, tile)


@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("vectors", [1, 8])
def test_what_conditions_have_computed(kind: str, vectors: int) -> None:
    """Of reads under a condition those are asked for that touch all parts; only where
    it holds, in patches of lanes and in single ones."""
    reads = READS[kind]
    mask = PIXELS[:H, :W] > 0.5
    mask[5:20, 3:30] = True
    mask[25:, 20:] = False
    for tile in SIZES:
        f, g = hl.funcs("f g")
        f[x, y] = x * 3 - y
        wanted = hl.Buffer(mask.view(np.uint8))[x, y] != 0
        g[x, y] = hl.select(wanted, sum([f[at] for at in reads(x, y)], hl.i32(0)), 0)
        f.compute_lazy(tile)
        if vectors > 1:
            g.vectorize(x, vectors, hl.TailStrategy.GuardWithIf)
        want = interpret(g._function, [(0, W), (0, H)])[0].T
        np.testing.assert_array_equal(np.asarray(g.realize([W, H])), want)
        everywhere = [at for i in range(W) for j in range(H) for at in reads(i, j)]
        touched = [
            at for i in range(W) for j in range(H) if mask[j, i] for at in reads(i, j)
        ]
        seen = g.profile([W, H])["f"]
        assert seen.computed == parts(touched, tile, everywhere), (kind, tile)
        missed = seen.computed if tile is None else seen.calls
        assert seen.hits == len(touched) - missed, (kind, tile)


def far(tile: tuple[int, ...] | None) -> tuple[hl.Func, hl.Func]:
    f, g = hl.funcs("f g")
    f[x, y] = x * 7 + y * 3
    u, v = (
        hl.Buffer(np.ascontiguousarray(COLUMNS.T)),
        hl.Buffer(np.ascontiguousarray(ROWS.T)),
    )
    at = hl.clamp(u[x, y], 0, 119), hl.clamp(v[x, y], 0, 89)
    g[x, y] = hl.select(at[0] % 3 == 0, f[at] * 2, -1)
    f.compute_lazy(tile)
    return f, g


@pytest.mark.parametrize("tile", [None, (8, 4), (5,)])
@pytest.mark.parametrize("vectors", [1, 8])
def test_what_data_decides(tile: tuple[int, ...] | None, vectors: int) -> None:
    """Only the points that a selection takes are computed."""
    _, g = far(tile)
    if vectors > 1:
        g.vectorize(x, vectors, hl.TailStrategy.GuardWithIf)
    points = [
        (int(u), int(v))
        for u, v in zip(COLUMNS.T.ravel(), ROWS.T.ravel(), strict=True)
        if u % 3 == 0
    ]
    # The region is the whole of what the clamps allow, whatever is read of it.
    sizes = (1, 1) if tile is None else (*tile, 90)
    found = {(u // sizes[0], v // sizes[1]) for u, v in points}
    values = sum(
        [
            min(sizes[0], 120 - i * sizes[0]) * min(sizes[1], 90 - j * sizes[1])
            for i, j in found
        ]
    )
    seen = g.profile([W, H])["f"]
    assert seen.computed == values
    assert seen.calls == len(found)
    assert seen.hits == len(points) - len(found)
    assert seen.fraction == pytest.approx(values / (120 * 90))


def test_other_funcs_have_no_counts() -> None:
    f, g = hl.funcs("f g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    f.compute_root()
    profile = g.profile([20])
    assert [one.computed for one in profile.funcs] == [0, 0]
    assert "on demand" not in str(profile)
    f.compute_lazy()
    table = str(g.profile([20]))
    assert "on demand" in table and "21 (100.0 %)" in table


@pytest.mark.parametrize("threads", [2, 3, 5, 8, 16])
@pytest.mark.parametrize("tile", [None, (8, 4)])
def test_many_threads_at_one_func(threads: int, tile: tuple[int, ...] | None) -> None:
    """Each of 1,000 runs is exact; tiles are computed once, points once a thread at
    most."""
    hl.set_num_threads(threads)
    f, g = far(tile)
    if tile is not None:
        f.parallel(y)
    g.vectorize(x, 4).parallel(y)
    want = interpret(g._function, [(0, W), (0, H)])[0].T
    run = g.compile_to_callable([])
    got = np.zeros(want.shape, want.dtype)
    for _ in range(1000):
        got[:] = 0
        run(got)
        np.testing.assert_array_equal(got, want)
    hl.set_num_threads(1)
    alone = g.profile([W, H])["f"].computed
    hl.set_num_threads(threads)
    for _ in range(5):
        seen = g.profile([W, H])["f"]
        if tile is None:
            assert alone <= seen.computed <= alone * threads
        else:
            assert seen.computed == alone


@pytest.mark.parametrize("threads", [2, 5, 16])
def test_threads_share_the_tiles_of_boxes(threads: int) -> None:
    """Boxes of neighbouring lines overlap: their tiles are computed once, by whichever
    thread comes first."""
    hl.set_num_threads(threads)
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * 7 + y * y
    g[x, y] = sum([f[x + i, y + j] for i in (0, 1, 2) for j in (0, 1, 2)], hl.i32(0))
    f.compute_lazy((8, 4))
    g.vectorize(x, 4).parallel(y)
    want = interpret(g._function, [(0, W), (0, H)])[0].T
    run = g.compile_to_callable([])
    got = np.zeros(want.shape, want.dtype)
    for _ in range(1000):
        got[:] = 0
        run(got)
        np.testing.assert_array_equal(got, want)
    for _ in range(5):
        assert g.profile([W, H])["f"].computed == (W + 2) * (H + 2)


def test_tiles_that_others_have_begun_are_waited_for_last() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_lazy((8, 4))
    program = lowered(g)
    assert program.index("unless begun for 0") < program.index("] for 0")
    # Of one tile nothing else could be done meanwhile; nor is a value ever waited for.
    f.compute_lazy((None, None))
    assert "unless begun" not in lowered(g)
    f.compute_lazy()
    assert "unless begun" not in lowered(g)


def test_reports_say_where_it_would_gain() -> None:
    """Of what is only read where data decides."""
    f, g = far(None)
    h, k = hl.funcs("h k")
    h[x, y] = hl.sqrt(hl.f32(x * y))
    k[x, y] = h[x, y] + h[x + 1, y] + g[x, y]
    for one in (f, g, h):
        one.compute_root()
    report = k.report([W - 1, H])
    assert [one.by_data for one in report.funcs] == [True, False, False, False]
    assert "f.compute_lazy(tile=…)" in str(report)
    f.compute_lazy((8, 8))
    report = k.report([W - 1, H])
    assert not report["f"].by_data and report["f"].produced == 15 * 12


def test_schedulers_say_where_it_would_gain() -> None:
    f, g = hl.funcs("f g")
    image = hl.Buffer(PIXELS)
    f[x, y] = sum([hl.sqrt(image[x + i, y]) for i in range(9)], hl.f32(0))
    u = hl.Buffer(np.ascontiguousarray(COLUMNS.T))
    g[x, y] = f[hl.clamp(u[x, y], 0, 50), y] + f[hl.clamp(u[x, y] + 3, 0, 50), y]
    result = hl.autoschedule(g, sizes=[W, H])
    said = "f is only read where data decides" in str(result.explain())
    assert said == (f._function.schedule.compute.place.value != "inlined")
