"""Schedules for GPUs: legal for the paper's applications, right on the simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

import parhelion as hl
from benchmarks.auto.estimates import set_estimates
from benchmarks.case import Image
from benchmarks.cases import ORDER, case
from parhelion.autoschedule.gpu.cards import card
from parhelion.autoschedule.kernels.facts import Kernel, kernels_for
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.interp import interpret
from parhelion.lang.machines import gpu_of
from tests.support.legal_kernels import assert_legal

TARGET = hl.get_host_target().with_feature(hl.TargetFeature.CUDA)
SCHEDULERS = ("Mullapudi2016", "Parhelion")
#: Applications of which the default scheduler's search takes long; it is run for them
#: by `benchmarks.auto.kernels`, with the same checks.
LARGE = ("camera", "interpolate", "local_laplacian", "lens_blur", "vgg")
#: How much smaller than in the benchmarks the others are run.
SMALL = {
    "blur": 1 / 64,
    "unsharp": 1 / 32,
    "harris": 1 / 32,
    "nl_means": 1 / 4,
    "max_filter": 1 / 32,
    "bilateral_grid": 1 / 32,
    "hist": 1 / 32,
    "conv_layer": 1 / 16,
    "matmul": 1 / 32,
}

x, y, c = hl.vars("x y c")


def scheduled(
    outputs: hl.Func, scheduler: str = "Parhelion", **told: int
) -> AutoSchedulerResults:
    params = hl.AutoschedulerParams(scheduler, told)
    return hl.Pipeline([outputs]).apply_autoscheduler(TARGET, params)


def kernels(f: hl.Func) -> list[Kernel]:
    return kernels_for([f._function], TARGET)


def expected(f: hl.Func, sizes: list[int]) -> np.ndarray:
    """What the definitions mean, with axes as arrays have them."""
    found, *_ = interpret(f._function, [(0, n) for n in sizes])
    return np.asarray(found).transpose()


def simulated(
    f: hl.Func, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> np.ndarray:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    return np.array(f.realize(sizes, TARGET))


def shared_in_a_block(scheduler: str) -> str:
    """The loops of a blur whose first half is computed once a block."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    f, g = hl.funcs("f g")
    value = image[x, y]
    for _ in range(4):
        value = hl.sqrt(value + 1.0)
    f[x, y] = value
    around = [f[x + i, y + j] for i in range(5) for j in range(5)]
    g[x, y] = sum(around[1:], around[0])
    g.set_estimates([(0, 4096), (0, 4096)])
    scheduled(g, scheduler)
    (one,) = kernels(g)
    assert one.shared > 0
    return hl.Pipeline([g]).loop_nest()


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_neighbours_share_is_in_shared_memory(scheduler: str) -> None:
    nest = shared_in_a_block(scheduler)
    assert nest.index("gpu_block") < nest.index("produce f")


@pytest.mark.parametrize("name", [name for name in ORDER if name not in LARGE])
def test_schedules_of_applications_are_legal(name: str) -> None:
    """Of the default scheduler. Those of the other, for all applications, are looked at
    in tests/gpu/test_applications.py, where their kernels are assembled as well."""
    one = case(name)
    app = one.algorithm(hl)
    set_estimates(one, app, one.inputs())
    found = scheduled(app.output)
    assert_legal(name, kernels(app.output), found)


@cache
def on_the_cpu(name: str) -> tuple[Mapping[str, Image], Image]:
    """Small inputs of an application, and what code for the CPU computes of them."""
    small = case(name).at
    assert small is not None
    one = small(SMALL[name])
    images = one.inputs()
    (output,) = one.outputs
    plain = one.algorithm(hl)
    set_estimates(one, plain, images)
    params = hl.AutoschedulerParams("Mullapudi2016", {"machine": "xeon"})
    hl.Pipeline([plain.output]).apply_autoscheduler(hl.get_host_target(), params)
    one.bind(hl, plain, images)
    wanted = output.new()
    plain.output.realize(wanted.buffer(hl))
    return images, wanted


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("name", SMALL)
def test_the_simulator_computes_what_the_cpu_does(
    name: str, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of images for which the schedule is made, and of those of another size."""
    small = case(name).at
    assert small is not None
    images, wanted = on_the_cpu(name)
    for told in (SMALL[name], 4 * SMALL[name]):
        one, other = small(SMALL[name]), small(told)
        (output,) = one.outputs
        app = one.algorithm(hl)
        set_estimates(other, app, other.inputs())
        scheduled(app.output, scheduler)
        one.bind(hl, app, images)
        got = output.new()
        with monkeypatch.context() as patched:
            patched.setenv("PARHELION_GPU", "simulate")
            app.output.realize(got.buffer(hl), TARGET)
        difference = one.difference([got.array], [wanted.array])
        assert one.same(difference), (told, difference)


def histogram() -> tuple[hl.Func, hl.Func]:
    f, total = hl.funcs("f total")
    r = hl.RDom([(0, 96), (0, 64)])
    f[x, y] = (x * 7 + y * 13) % 16
    total[x] = 0
    total[hl.clamp(f[r.x, r.y], 0, 15)] += 1
    return f, total


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_updates_of_the_same_place_are_atomic(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, total = histogram()
    wanted = expected(total, [16])
    total.set_estimates([(0, 16)])
    found = scheduled(total, scheduler)
    assert "atomic()" in found.to_python()
    assert np.array_equal(simulated(total, [16], monkeypatch), wanted)


def running(points: int) -> hl.Func:
    """A sum along rows: each row goes by itself, its points do not."""
    f = hl.Func("f")
    r = hl.RDom([(1, points - 1)], "r")
    f[x, y] = x + y
    f[r, y] += f[r - 1, y]
    f.set_estimates([(0, points), (0, 64)])
    return f


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_each_thread_scans_a_line(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = running(40)
    wanted = expected(f, [40, 64])
    found = scheduled(f, scheduler)
    assert len(kernels(f)) == 2 and not any("CPU" in n for n in found.notes)
    assert np.array_equal(simulated(f, [40, 64], monkeypatch), wanted)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_scan_of_one_line_stays_on_the_cpu(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, g = hl.funcs("f g")
    r = hl.RDom([(1, 63)], "r")
    f[x] = x
    f[r] = f[r - 1] * 3 + r
    g[x, y] = f[x] + y
    wanted = expected(g, [64, 32])
    g.set_estimates([(0, 64), (0, 32)])
    found = scheduled(g, scheduler)
    told = [n for n in found.notes if "CPU" in n]
    assert any("no two of its iterations are independent" in n for n in told)
    assert "no two of its iterations are independent" in str(found.explain())
    assert len(kernels(g)) == 1
    assert np.array_equal(simulated(g, [64, 32], monkeypatch), wanted)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("sizes", [[1, 1, 1], [5, 3, 2], [33, 9, 3], [70, 40, 4]])
def test_colours_and_small_images(
    sizes: list[int], scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, g = hl.funcs("f g")
    f[x, y, c] = hl.sqrt(hl.f32(x * 3 + y * 5 + c))
    g[x, y, c] = f[x, y, c] + f[x + 1, y + 2, c] + f[x, y, 0]
    wanted = expected(g, sizes)
    g.set_estimates([(0, 640), (0, 480), (0, 3)])
    scheduled(g, scheduler)
    got = simulated(g, sizes, monkeypatch)
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_more_dimensions_than_a_kernel_has(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    five = hl.vars("a b c d e")
    f = hl.Func("f")
    f[tuple(five)] = sum([v * k for k, v in enumerate(five, 2)], hl.i32(1))
    sizes = [9, 6, 7, 5, 8]
    wanted = expected(f, sizes)
    f.set_estimates([(0, n) for n in sizes])
    found = scheduled(f, scheduler)
    assert ".fuse(" in found.to_python()
    got = simulated(f, sizes, monkeypatch)
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_printed_schedule_is_the_same(scheduler: str) -> None:
    def build() -> hl.Func:
        f, g = hl.funcs("f g")
        f[x, y] = hl.sqrt(hl.f32(x * y))
        g[x, y] = f[x, y] + f[x + 1, y + 1] * f[x - 1, y]
        g.set_estimates([(0, 800), (0, 600)])
        return g

    first, second = build(), build()
    found = scheduled(first, scheduler)
    space: dict[str, object] = {}
    text = found.to_python()
    exec(
        text[: text.index("\n\n\nschedule(")] if "\n\n\nschedule(" in text else text,
        space,
    )
    schedule = space["schedule"]
    assert callable(schedule)
    schedule(hl.Pipeline([second]))
    assert hl.Pipeline([second]).loop_nest() == hl.Pipeline([first]).loop_nest()


def test_other_ways_can_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    image = hl.ImageParam(hl.Float(32), 2, "image")
    f, g = hl.funcs("f g")
    f[x, y] = hl.sqrt(image[x, y]) * 2.0
    g[x, y] = sum([f[x + k, y] for k in range(1, 5)], f[x, y])
    given = np.random.default_rng(1).random((32, 52), np.float32)
    image.set(hl.Buffer(given))
    wanted = expected(g, [48, 32])
    found = hl.autoschedule(g, [48, 32], target=TARGET)
    count = 0
    for decision in found.explain():
        if decision.runner_up is not None and decision.runner_up.make is not None:
            found.alternative(decision).apply()
            got = simulated(g, [48, 32], monkeypatch)
            np.testing.assert_allclose(got, wanted, rtol=1e-5)
            count += 1
    assert count >= 2
    found.undo()
    assert "gpu" not in hl.Pipeline([g]).loop_nest()


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_the_user_has_scheduled_stays(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, g = hl.funcs("f g")
    xi, yi = hl.vars("xi yi")
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_root().gpu_tile(x, y, xi, yi, 16, 4)
    wanted = expected(g, [50, 20])
    g.set_estimates([(0, 50), (0, 20)])
    scheduled(g, scheduler)
    nest = hl.Pipeline([g]).loop_nest()
    assert "x.xi in [0, 15]" in nest and len(kernels(g)) == 2
    assert np.array_equal(simulated(g, [50, 20], monkeypatch), wanted)


def test_blocks_share_what_the_targets_gpu_has() -> None:
    """More than 48 KiB where the target says that its GPUs have more; the search keeps
    within it, too."""
    f, g = hl.funcs("f g")
    xi, yi = hl.vars("xi yi")
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x + 1, y + 1]
    g.tile(x, y, xi, yi, 127, 127).gpu_blocks(x, y).gpu_threads(xi)
    f.compute_at(g, x).gpu_threads(x)
    ampere = TARGET.with_feature(hl.TargetFeature.CUDACapability80)
    (one,) = kernels_for([g._function], ampere)
    assert 64 << 10 <= one.shared <= gpu_of(ampere).shared == 163 << 10
    with pytest.raises(hl.ScheduleError, match=r"takes \d+ bytes .* most is 49152"):
        kernels_for([g._function], TARGET)
    for target, most in ((TARGET, 48), (ampere, 163)):
        assert card("a100").within(gpu_of(target)).device.shared == most << 10


def test_without_cuda_nothing_is_a_kernel() -> None:
    for scheduler in SCHEDULERS:
        f = running(64)
        params = hl.AutoschedulerParams(scheduler)
        hl.Pipeline([f]).apply_autoscheduler(hl.get_host_target(), params)
        assert "gpu" not in hl.Pipeline([f]).loop_nest()


@pytest.mark.parametrize(
    ("scheduler", "told", "message"),
    [
        ("Parhelion", {"gpu": "voodoo"}, "gpu of Parhelion for GPUs is one of 'h100'"),
        ("Parhelion", {"parallelism": 8}, "Parhelion for GPUs has no parameter"),
        ("Mullapudi2016", {"machine": "xeon"}, "for GPUs has no parameter 'machine'"),
        ("Mullapudi2016", {"cache_size": 1 << 20}, "CACHE_SIZE .* is at most 49152"),
        (
            "Mullapudi2016",
            {"target_threads_per_block": 512, "max_threads_per_block": 256},
            "is 512, which is more than the 256 threads",
        ),
        ("Baseline", {}, "Baseline makes schedules for CPUs alone"),
        ("PolyMage", {}, "PolyMage makes schedules for CPUs alone"),
    ],
)
def test_wrong_parameters(
    scheduler: str, told: dict[str, str | float], message: str
) -> None:
    f = running(64)
    with pytest.raises(hl.ScheduleError, match=message):
        params = hl.AutoschedulerParams(scheduler, told)
        hl.Pipeline([f]).apply_autoscheduler(TARGET, params)
    assert "gpu" not in hl.Pipeline([f]).loop_nest()


def test_the_papers_parameters() -> None:
    """Blocks have as many threads as asked for."""
    for target, most in ((64, 64), (128, 256), (1024, 2048)):
        f = hl.Func("f")
        f[x, y] = x + y
        f.set_estimates([(0, 2048), (0, 2048)])
        scheduled(
            f,
            "Mullapudi2016",
            TARGET_THREADS_PER_BLOCK=target,
            MAX_THREADS_PER_BLOCK=most,
        )
        (one,) = kernels(f)
        assert target <= math.prod(one.threads) <= min(most, 1024)
