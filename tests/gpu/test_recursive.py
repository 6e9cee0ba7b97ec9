"""Recursive filters as kernels: on the simulator, whose device has memory of its own,
against filters run point by point in float64 (2015 paper, section 7)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim
from parhelion.runtime import devices
from tests.fuzz.recursive import Case, Drawn, computed, image_of, reference
from tests.recfilter.test_printing import check as printed_again

Array = NDArray[Any]
CUDA = hl.get_host_target().with_feature(hl.TargetFeature.CUDA)
#: Stable filters of orders 1 to 3.
ORDERS = {
    1: (0.4, 0.6),
    2: (0.3, 1.1, -0.4),
    3: (0.2, 1.3, -0.65, 0.15),
}
rng = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def along(*directions: str, order: int, names: str = "xyz") -> tuple[Drawn, ...]:
    c = ORDERS[order]
    return tuple([(names.index(d[1]), d[0] == "+", c, (1,), False) for d in directions])


def check(case: Case) -> None:
    """Compares what kernels make of a random image, and that nothing else does."""
    image = image_of(case)
    wanted, bound = reference(case, image)
    devices.reset_counts()
    got = computed(case, image, CUDA)
    assert devices.counts().launches > 0
    assert devices.counts().to_host == 1
    if image.dtype.kind == "f":
        assert (np.abs(got - wanted) <= bound).all()
    else:
        assert np.array_equal(got, wanted.astype(object) % (1 << 32))


@pytest.mark.parametrize("border", ["zero", "clamp", "repeat", "mirror"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_planes_in_tiles_that_do_not_divide(order: int, border: str) -> None:
    filters = along("+x", "-x", "+y", "-y", order=order)
    check(Case("float32", (75, 50), filters, (16, 13), border, order))


@pytest.mark.parametrize(
    ("extents", "widths", "directions", "order"),
    [
        ((1003,), (32,), ("+x", "-x"), 3),
        ((1003,), (7,), ("-x",), 1),
        ((90, 41), (32, 0), ("+x", "-x"), 2),
        ((90, 41), (0, 8), ("+y", "-y"), 3),
        ((90, 41), (90, 41), ("+x", "+y"), 2),
        ((21, 18, 13), (8, 8, 4), ("+x", "-y", "+z"), 1),
        ((3, 40, 37), (0, 16, 16), ("+y", "-z"), 3),
        ((40, 37, 3), (16, 16, 0), ("+x", "-y"), 1),
    ],
)
def test_signals_planes_and_volumes(
    extents: tuple[int, ...],
    widths: tuple[int, ...],
    directions: tuple[str, ...],
    order: int,
) -> None:
    case = Case(
        "float64", extents, along(*directions, order=order), widths, "zero", order
    )
    check(case)


@pytest.mark.parametrize("widths", [(0, 0), (32, 32), (8, 5), (3, 70)])
def test_tables_of_integers_are_exact(widths: tuple[int, int]) -> None:
    """Those of order 2 too, whose sums wrap."""
    filters: tuple[Drawn, ...] = (
        (0, True, (1, 1), (1,), False),
        (1, True, (1, 2, -1), (1,), False),
    )
    check(Case("uint32", (133, 70), filters, widths, "zero", 3))


def test_feedforward_and_coefficients_that_vary() -> None:
    filters: tuple[Drawn, ...] = (
        (0, True, ORDERS[2], (1, 0, -1), False),
        (1, False, ORDERS[1], (1, 2), True),
        (0, False, ORDERS[1], tuple([1] * 20), False),
    )
    check(Case("float32", (64, 40), filters, (16, 0), "zero", 4))


def plane(widths: tuple[int, ...] = (16, 8), *extents: int) -> tuple[RecFilter, Array]:
    w, h = extents or (75, 50)
    x, y = RecFilterDim("x", w), RecFilterDim("y", h)
    image = rng.integers(0, 99, (h, w)).astype(np.uint32)
    f = RecFilter("f")
    f[x, y] = hl.Buffer(image)[x, y]
    f.add_filter(+x, [1, 1])
    f.add_filter(+y, [1, 1])
    for d, n in zip((x, y), widths, strict=False):
        f.split(d, n)
    return f, image.cumsum(0).cumsum(1).astype(np.uint32)


def launches(f: RecFilter) -> int:
    f.as_func(CUDA).compile_jit()
    devices.reset_counts()
    f.realize(target=CUDA)
    return devices.counts().launches


def test_a_table_takes_five_kernels() -> None:
    """Tiles, tails along x, what they add to tails along y, those, and tiles again."""
    f, wanted = plane()
    assert launches(f) == 5
    assert np.array_equal(np.asarray(f.realize()), wanted)


def test_without_a_split_tiles_are_those_of_a_gpu() -> None:
    f, wanted = plane((), 75, 130)
    assert "in 15 tiles of 32 x 32 points" in f.explain(CUDA)
    assert "in whole lines" in f.explain()
    assert np.array_equal(np.asarray(f.realize(target=CUDA)), wanted)
    f, wanted = plane((75, 130), 75, 130)
    assert "whole lines" in f.explain(CUDA)
    assert np.array_equal(np.asarray(f.realize(target=CUDA)), wanted)


@pytest.mark.parametrize("threads", [1, 3, 1024])
def test_as_many_threads_as_the_user_says(
    threads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    f, wanted = plane((17, 9))
    f.gpu_auto_schedule(threads)
    assert f"kernels of a GPU, in blocks of up to {threads} thread" in f.explain()
    assert np.array_equal(np.asarray(f.realize()), wanted)
    f.print_loop_nest()
    assert "gpu_block" in capsys.readouterr().out


def test_tuples() -> None:
    x, y = RecFilterDim("x", 70), RecFilterDim("y", 66)
    image = rng.integers(0, 99, (66, 70)).astype(np.int32)
    inp = hl.Buffer(image)
    f = RecFilter("f")
    f[x, y] = hl.Tuple(inp[x, y], 3 * inp[x, y])
    f.add_filter(+x, [1, 1])
    f.add_filter(-y, [1, 1])
    f.split(x, 16, y, 16)
    # One more than for one value, where the values part again.
    assert launches(f) == 6
    made = f.realize()
    assert isinstance(made, tuple)
    one, three = made
    wanted = image.cumsum(1)[::-1].cumsum(0)[::-1]
    assert np.array_equal(np.asarray(one), wanted)
    assert np.array_equal(np.asarray(three), 3 * wanted)


def test_tuples_with_coefficients_that_vary() -> None:
    x, y = RecFilterDim("x", 40), RecFilterDim("y", 30)
    image = rng.integers(0, 9, (30, 40)).astype(np.int32)
    inp = hl.Buffer(image)
    f = RecFilter("f")
    f[x, y] = hl.Tuple(inp[x, y], 3 * inp[x, y])
    f.add_filter(+x, [1, x % 2])
    made = f.realize(target=CUDA)
    assert isinstance(made, tuple)
    wanted = image.copy()
    wanted[:, 1::2] += image[:, ::2]
    assert np.array_equal(np.asarray(made[0]), wanted)
    assert np.array_equal(np.asarray(made[1]), 3 * wanted)


def test_a_cascade_and_one_of_it() -> None:
    f, wanted = plane()
    _, last = f.cascade([0], [1])
    assert np.array_equal(np.asarray(last.realize(target=CUDA)), wanted)
    f, wanted = plane()
    both = f.cascade([1], [0])
    f.gpu_auto_schedule(64)
    assert np.array_equal(np.asarray(both[1].realize(target=CUDA)), wanted)


# Directives by tags.


def papers(f: RecFilter) -> None:
    """The paper's heuristics for GPUs, by its own handles."""
    within, between = f.intra_schedule(1), f.inter_schedule()
    within.compute_locally().reorder_storage(f.inner(), f.tail(), f.outer())
    within.reorder(f.scan(), f.tail(), f.inner(), f.outer()).unroll(f.scan())
    within.gpu_threads(f.inner(0), f.inner(1)).gpu_blocks(f.outer(0), f.outer(1))
    between.reorder(f.tail(), f.scan(), f.inner(), f.outer())
    between.gpu_threads(f.inner(0)).gpu_blocks(f.outer(0))
    more = f.intra_schedule(2)
    more.compute_locally().unroll(f.scan())
    part = f.outer(0).split_var()
    more.split(f.outer(0), 2).reorder(f.scan(), f.tail(), part, f.outer())
    more.gpu_threads(part).gpu_blocks(f.outer(0), f.outer(1))


def between_alone(f: RecFilter) -> None:
    f.inter_schedule().gpu_threads(f.inner(0)).gpu_blocks(f.outer(0))


@pytest.mark.parametrize("schedule", [papers, between_alone])
def test_by_hand(schedule: Callable[[RecFilter], None]) -> None:
    """What no directive is for is a kernel, too."""
    f, wanted = plane()
    schedule(f)
    f.as_func().compile_jit()
    devices.reset_counts()
    assert np.array_equal(np.asarray(f.realize()), wanted)
    assert (devices.counts().launches, devices.counts().to_host) == (5, 1)


def test_a_cpu_between_kernels() -> None:
    f, wanted = plane()
    f.inter_schedule().vectorize(f.inner(0), 4)
    assert launches(f) == 3
    assert np.array_equal(np.asarray(f.realize()), wanted)


@pytest.mark.parametrize(
    ("extents", "widths"), [((75, 50), (16, 8)), ((1003,), (32,)), ((40, 9), (0, 0))]
)
def test_a_printed_schedule_has_the_same_kernels(
    extents: tuple[int, ...],
    widths: tuple[int, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    dims = [RecFilterDim("xy"[k], n) for k, n in enumerate(extents)]
    f = RecFilter("f", "mirror" if len(dims) == 2 else "zero")
    f[tuple(dims)] = hl.f32(dims[0])
    for d, width in zip(dims, widths, strict=True):
        f.add_filter(+d, [0.5, 0.5])
        if width:
            f.split(d, width)
    f.as_func(CUDA)
    assert "gpu_" in printed_again(f, capsys)


# In pipelines.


def test_a_part_of_a_pipeline() -> None:
    u, v = hl.vars("u v")
    f, wanted = plane()
    sums, twice = f.as_func(CUDA), hl.Func("twice")
    twice[u, v] = 2 * sums[u, v] + sums[0, v]
    hl.autoschedule(twice, [75, 50], target=CUDA)
    twice.compile_jit()
    devices.reset_counts()
    got = np.asarray(twice.realize([75, 50], CUDA))
    assert np.array_equal(got, 2 * wanted + wanted[:, :1])
    assert (devices.counts().launches, devices.counts().to_host) == (6, 1)


@pytest.mark.parametrize("border", ["zero", "mirror"])
def test_filters_with_coefficients_of_scipy(border: str) -> None:
    image = rng.random((70, 150), np.float32)
    b, a = [0.2, 0.1], [1, -0.8]
    sections = [[0.2, 0.1, 0, 1, -0.8, 0.1], [1, 2, 1, 1, -0.5, 0.2]]
    for on_cpu, on_gpu in (
        (
            hl.iir(image, b, a, 0, border=border),
            hl.iir(image, b, a, 0, border=border, target=CUDA),
        ),
        (
            hl.sosfilt(sections, image, 1, border=border),
            hl.sosfilt(sections, image, 1, border=border, target=CUDA),
        ),
    ):
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=2e-6, atol=1e-6)
    devices.reset_counts()
    hl.iir(image, b, a, 0, border=border, target=CUDA)
    assert devices.counts().launches > 0
    many = np.hanning(40) / 20
    on_gpu = hl.iir(image, many, a, border=border, target=CUDA)
    np.testing.assert_allclose(on_gpu, hl.iir(image, many, a, border=border), 2e-6)


# What cannot be.


def test_a_number_of_threads_that_no_block_has() -> None:
    f, _ = plane()
    for given in (0, 1025, 2.5, True):
        with pytest.raises(hl.ScheduleError, match="a block has 1 to 1024 threads"):
            f.gpu_auto_schedule(given)  # type: ignore[arg-type]


def test_a_filter_is_made_for_one_kind_of_computer() -> None:
    f, _ = plane()
    again = copy.copy(f)
    f.realize()
    f.realize(target=hl.get_host_target())
    with pytest.raises(hl.DefinitionError, match="has been made as loops of a CPU"):
        f.realize(target=CUDA)
    again.realize(target=CUDA)
    again.realize()
    with pytest.raises(hl.DefinitionError, match="has been made as kernels of a GPU"):
        again.realize(target=hl.get_host_target())
    with pytest.raises(hl.DefinitionError, match="is scheduled after as_func"):
        again.gpu_auto_schedule()


def test_directives_that_no_kernel_can_be_made_of() -> None:
    f, _ = plane()
    with pytest.raises(hl.ScheduleError, match="needs the one before") as caught:
        f.inter_schedule().gpu_threads(f.scan())
    assert "f.inner()" in str(caught.value)
    with pytest.raises(hl.ScheduleError, match="takes the tags of loops, and none"):
        f.inter_schedule().gpu_blocks()
    f.intra_schedule().gpu_threads(f.full(0))
    with pytest.raises(hl.ScheduleError, match=r"none has a dimension full\(0\)"):
        f.realize()


def test_loops_over_blocks_that_are_not_the_outermost() -> None:
    f, _ = plane()
    f.intra_schedule(1).gpu_blocks(f.outer(0)).gpu_threads(f.inner(0))
    f.intra_schedule(1).reorder(f.outer(), f.inner())
    with pytest.raises(hl.ScheduleError):
        f.realize()
