"""The GPU schedules of the applications: on the simulator they compute what schedules
for the CPU do, bit for bit, and the GPU's assembler takes their kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

import parhelion as hl
from apps import (
    bilateral_grid,
    camera_pipe,
    hist,
    local_laplacian,
    matmul,
    nl_means,
    vgg,
)
from apps.common import Array
from benchmarks import gpu_kernels
from benchmarks.gpu_kernels import PROGRAMS
from parhelion.codegen.nvptx.assemble import find_ptxas
from parhelion.runtime import devices
from tests.apps.support import noise
from tests.gpu.harness import assembled

NETWORK = vgg.Network(16, 2, ((4, 1), (8, 2)), (10,), 7)

WAYS = [(name, way) for name, (_, ways) in PROGRAMS.items() for way in ways]


@dataclass(frozen=True)
class Small:
    """Images for an application, and the extents of its output. origins: of the first
    pixel, where that is not 0. params: of its Params."""

    images: Mapping[str, Array]
    size: tuple[int, ...]
    origins: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    params: Mapping[str, float] = field(default_factory=dict)


def levels(shape: tuple[int, ...], most: int, dtype: type) -> Array:
    return np.asarray((noise(shape) * most).astype(dtype))


#: Extents that no tile divides, and more than one block in both dimensions.
SMALL: Mapping[str, Callable[[], Small]] = {
    "camera_pipe": lambda: Small(
        {
            "input": levels((70, 112), 1023, np.uint16),
            "matrix_3200": camera_pipe.MATRIX_3200,
            "matrix_7000": camera_pipe.MATRIX_7000,
        },
        (76, 38, 3),
    ),
    "local_laplacian": lambda: Small(
        {"input": levels((3, 37, 70), 65535, np.uint16)}, (70, 37, 3)
    ),
    "bilateral_grid": lambda: Small({"input": noise((75, 131))}, (131, 75)),
    "level_set": lambda: Small(
        {
            "phi": noise((37, 70)) * 4 - 2,
            "edges": noise((37, 70), 6),
            "gradient": noise((2, 37, 70), 7),
        },
        (70, 37),
    ),
    "blur": lambda: Small({"input": levels((39, 72), 65535, np.uint16)}, (70, 37)),
    "unsharp": lambda: Small({"input": noise((3, 37, 70)) + 0.01}, (70, 37, 3)),
    "harris": lambda: Small(
        {"input": noise((3, 41, 74))}, (70, 37), {"input": (-2, -2, 0)}
    ),
    "hist": lambda: Small({"input": levels((3, 37, 150), 255, np.uint8)}, (150, 37, 3)),
    "interpolate": lambda: Small({"input": noise((4, 65, 90))}, (90, 65, 3)),
    "lens_blur": lambda: Small(
        {
            "left_im": levels((3, 48, 70), 255, np.uint8),
            "right_im": np.roll(levels((3, 48, 70), 255, np.uint8), 3, 2),
        },
        (70, 48, 3),
        params={"slices": 8, "focus_depth": 3, "aperture_samples": 6},
    ),
    "max_filter": lambda: Small({"input": noise((3, 37, 45))}, (45, 37, 3)),
    "nl_means": lambda: Small({"input": noise((3, 21, 37))}, (37, 21, 3)),
    "matmul": lambda: Small({"A": noise((130, 50)), "B": noise((50, 150))}, (150, 130)),
    "conv_layer": lambda: Small(
        {
            "input": noise((2, 7, 39, 64)),
            "filter": noise((64, 3, 3, 64), 6),
            "bias": noise((64,), 7),
        },
        (64, 37, 5, 2),
    ),
    "vgg": lambda: Small(
        {"input": noise(NETWORK.shapes()["input"]), **vgg.weights(NETWORK)},
        (NETWORK.classes, NETWORK.batch),
    ),
}


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def on_cpu(name: str) -> gpu_kernels.Schedule:
    """One of an application's schedules without a device."""
    ways: Mapping[str, gpu_kernels.Schedule]
    ways = importlib.import_module(f"apps.{name}").SCHEDULES
    return ways["root"] if "root" in ways else ways["rows"]


def compute(name: str, schedule: gpu_kernels.Schedule) -> Array:
    algorithm = PROGRAMS[name][0]
    if name == "vgg":
        algorithm = lambda hl: vgg.algorithm(hl, NETWORK)  # noqa: E731
    app, small = algorithm(hl), SMALL[name]()
    schedule(hl, app)
    for image, array in small.images.items():
        buffer = hl.Buffer(np.ascontiguousarray(array))
        if image in small.origins:
            buffer.set_min(list(small.origins[image]))
        app.inputs[image].set(buffer)
    for param, value in small.params.items():
        app.params[param].set(value)
    app.output.compile_jit()
    devices.reset_counts()
    return np.array(app.output.realize(list(small.size)))


@pytest.fixture(scope="module")
def wanted() -> dict[str, Array]:
    return {}


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_the_simulator_computes_what_the_cpu_does(
    name: str, way: str, wanted: dict[str, Array]
) -> None:
    if name not in wanted:
        wanted[name] = compute(name, on_cpu(name))
        assert devices.counts().launches == 0
    got = compute(name, PROGRAMS[name][1][way])
    assert devices.counts().launches >= 1
    assert np.array_equal(got, wanted[name], equal_nan=True)
    assert np.ptp(wanted[name].astype(np.float64)) > 0


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_the_assembler_takes_the_kernels(name: str, way: str) -> None:
    if find_ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    algorithm, schedules = PROGRAMS[name]
    app = algorithm(hl)
    schedules[way](hl, app)
    found = gpu_kernels.kernels(app)
    assert found
    for k in found:
        assert [a.arch for a in k.on] == list(gpu_kernels.ARCHS)
        assert k.spills() == [0, 0], k
        assert k.frame() == 0, k


def test_local_laplacian_has_the_papers_kernels_and_launches() -> None:
    """2012 paper, section 6.2: 83 invocations of 25 kernels."""
    app = local_laplacian.algorithm(hl)
    local_laplacian.schedule_gpu_published(hl, app)
    program = gpu_kernels.lowered(app, "sm_80")
    assert len(gpu_kernels.loops_over_blocks(program)) == 25
    compute("local_laplacian", local_laplacian.schedule_gpu_published)
    assert devices.counts().launches == 83


def test_images_between_host_and_device_are_copied_once() -> None:
    """The histogram and its running sum stay on the device."""
    compute("hist", hist.schedule_gpu)
    counts = devices.counts()
    assert (counts.to_device, counts.to_host) == (1, 1)
    assert counts.bytes_to_host == 3 * 37 * 150
    # The input and the table; two coarse levels and the output.
    compute("local_laplacian", local_laplacian.schedule_gpu_coarse_on_host)
    counts = devices.counts()
    assert (counts.to_device, counts.to_host) == (4, 3)


@pytest.mark.parametrize("schedule", [bilateral_grid.schedule_gpu_shared_atomics])
def test_a_volume_that_blocks_have_no_room_for(
    schedule: gpu_kernels.Schedule,
) -> None:
    app = bilateral_grid.algorithm(hl)
    schedule(hl, app)
    app.inputs["input"].set(hl.Buffer(noise((43, 61))))
    app.params["r_sigma"].set(0.01)
    with pytest.raises(hl.BoundsError, match="is bound in dimension z to 20"):
        app.output.realize([61, 43])


def test_a_patch_that_blocks_have_no_room_for() -> None:
    app = nl_means.algorithm(hl)
    nl_means.schedule_gpu(hl, app)
    app.inputs["input"].set(hl.Buffer(noise((3, 21, 37))))
    app.params["patch_size"].set(11)
    with pytest.raises(hl.BoundsError, match="is bound in dimension"):
        app.output.realize([37, 21, 3])


def test_a_matrix_product_of_registers_and_loads_of_four() -> None:
    """Of the staged schedule: for each of its steps, a thread's 64 sums take two
    vectors of A and two of B, and nothing but the results leaves the registers."""
    app = matmul.algorithm(hl)
    matmul.schedule_gpu(hl, app)
    program = gpu_kernels.lowered(app, "sm_80")
    ptx, told = assembled(*gpu_kernels.loops_over_blocks(program))
    assert {(k.frame, k.spill_stores + k.spill_loads) for k in told} == {(0, 0)}
    assert ".local" not in ptx
    sums, vectors = ptx.count("fma.rn.f32"), ptx.count("ld.shared.v4")
    assert sums >= 64 * 4 and sums == 16 * vectors
    assert ptx.count("ld.shared") == vectors
