"""The tutorial's lesson on GPUs (its twelfth): one algorithm under a schedule for the
CPU and under one for a GPU, which is simulated here."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime import devices

x, y, c, i = hl.vars("x y c i")
PHOTO = np.random.default_rng(12).integers(0, 256, (3, 45, 70)).astype(np.uint8)


class Sharpened:
    """Sharpening, and a curve of tones by a table."""

    def __init__(self) -> None:
        self.lut, self.padded, self.padded16 = hl.funcs("lut padded padded16")
        self.sharpen, self.curved = hl.funcs("sharpen curved")
        photo = hl.Buffer(PHOTO)
        self.lut[i] = hl.u8(hl.clamp(hl.pow(i / 255.0, 1.2) * 255.0, 0, 255))
        self.padded[x, y, c] = photo[
            hl.clamp(x, 0, photo.width() - 1), hl.clamp(y, 0, photo.height() - 1), c
        ]
        self.padded16[x, y, c] = hl.u16(self.padded[x, y, c])
        p = self.padded16
        around = p[x - 1, y, c] + p[x, y - 1, c] + p[x + 1, y, c] + p[x, y + 1, c]
        self.sharpen[x, y, c] = p[x, y, c] * 2 - around / 4
        self.curved[x, y, c] = self.lut[hl.i32(hl.u8(self.sharpen[x, y, c]))]

    def for_cpu(self) -> hl.Func:
        yo, yi = hl.vars("yo yi")
        self.lut.compute_root()
        self.curved.reorder(c, x, y).bound(c, 0, 3).unroll(c)
        self.curved.split(y, yo, yi, 16).parallel(yo)
        self.sharpen.compute_at(self.curved, yi).vectorize(x, 8)
        self.padded.store_at(self.curved, yo).compute_at(self.curved, yi)
        self.padded.vectorize(x, 16)
        return self.curved

    def for_gpu(self) -> hl.Func:
        xo, yo, xi, yi, block, thread = hl.vars("xo yo xi yi block thread")
        self.lut.compute_root()
        # As the lesson spells it out, then in one word.
        self.lut.split(i, block, thread, 16).gpu_blocks(block).gpu_threads(thread)
        self.curved.reorder(c, x, y).bound(c, 0, 3).unroll(c)
        self.curved.gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
        self.padded.compute_at(self.curved, xo).gpu_threads(x, y)
        return self.curved


def with_numpy() -> np.ndarray:
    wide = np.pad(PHOTO, ((0, 0), (1, 1), (1, 1)), mode="edge").astype(np.uint16)
    around = wide[:, 1:-1, :-2] + wide[:, :-2, 1:-1] + wide[:, 1:-1, 2:]
    around += wide[:, 2:, 1:-1]
    sharp = (wide[:, 1:-1, 1:-1] * 2 - around // 4).astype(np.uint8)
    steps = np.arange(256, dtype=np.float32) / np.float32(255)
    curve = np.clip(np.power(steps, np.float32(1.2)) * np.float32(255), 0, 255)
    return np.asarray(curve.astype(np.uint8)[sharp])


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def find_gpu_target() -> hl.Target:
    """What the lesson looks for: this computer with a GPU that it has."""
    for feature in (hl.TargetFeature.CUDA,):
        found = hl.get_host_target().with_feature(feature)
        if hl.host_supports_target_device(found):
            return found
    return hl.get_host_target()


def test_cpu_and_gpu_give_the_same() -> None:
    target = find_gpu_target()
    assert target.has_gpu_feature()
    size = [PHOTO.shape[2], PHOTO.shape[1], 3]
    by_cpu = np.asarray(Sharpened().for_cpu().realize(size))
    curved = Sharpened().for_gpu()
    curved.compile_jit(target)
    devices.reset_counts()
    by_gpu = curved.realize(size)
    assert isinstance(by_gpu, hl.Buffer)
    # The table and the picture.
    assert devices.counts().launches == 2
    # The lesson waits for the result by a copy to main memory.
    assert by_gpu.device_dirty()
    by_gpu.copy_to_host()
    assert not by_gpu.device_dirty()
    assert np.array_equal(np.asarray(by_gpu), by_cpu)
    apart = np.abs(by_cpu.astype(int) - with_numpy())
    # NumPy's own power may round a level of the table otherwise.
    assert apart.max() <= 1 and np.count_nonzero(apart) <= apart.size // 100


def test_the_lesson_s_two_ways_to_write_tiles_are_one() -> None:
    """`gpu_tile` is splits, an order, and the loops' kinds (2012 paper, section 4.2:
    `gpuTile` and `gpu`)."""
    bx, by, tx, ty = hl.vars("bx by tx ty")

    def nest(how: str) -> str:
        f = hl.Func("f")
        f[x, y] = x + y
        if how == "gpu_tile":
            f.gpu_tile(x, y, bx, by, tx, ty, 8, 4)
        else:
            f.split(x, bx, tx, 8).split(y, by, ty, 4).reorder(tx, ty, bx, by)
            f.gpu(bx, by, tx, ty)
        assert np.array_equal(
            np.asarray(f.realize([20, 9])), np.add.outer(np.arange(9), np.arange(20))
        )
        return hl.Pipeline([f]).loop_nest()

    assert nest("gpu_tile") == nest("gpu")
    assert "gpu_block" in nest("gpu")
