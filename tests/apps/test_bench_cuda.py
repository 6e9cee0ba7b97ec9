"""What the benchmarks' CUDA C++ computes, on threads of the processor."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.signal

from apps import blur, unsharp
from apps.bilateral_grid import CELL
from benchmarks.gpu import nvcc
from parhelion.recfilter import gaussian_weights
from tests.support.cuda_threads import library

SOURCE = np.random.default_rng(5)


def at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def of(name: str, folder: Path) -> Any:
    return library(nvcc.FOLDER / f"{name}.cu", folder)


def test_blur(tmp_path: Path) -> None:
    image = SOURCE.integers(0, 65536, (45, 73)).astype(np.uint16)
    out = np.zeros((43, 71), np.uint16)
    assert of("blur", tmp_path).blur_3x3(at(out), at(image), 71, 43) == 0
    assert np.array_equal(out, blur.with_numpy(image))


def test_unsharp(tmp_path: Path) -> None:
    image = SOURCE.uniform(0.01, 1, (3, 21, 45)).astype(np.float32)
    taps = np.array([unsharp.gauss(k) for k in range(4)], np.float32)
    out = np.zeros_like(image)
    made = of("unsharp", tmp_path)
    assert made.unsharp_mask(at(out), at(image), 45, 21, at(taps)) == 0
    np.testing.assert_allclose(out, unsharp.with_numpy(image), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_recursive(order: int, tmp_path: Path) -> None:
    """Along both axes, forwards and backwards, from zeros."""
    image = SOURCE.uniform(0, 1, (45, 70)).astype(np.float32)
    weights = [float(w) for w in gaussian_weights(3.0, order)]
    given = np.array([weights[0], *[-w for w in weights[1:]]], np.float32)
    wanted: Any = image.astype(np.float64)
    for axis in (1, 0):
        for _ in range(2):
            feedback = [1.0, *[-w for w in weights[1:]]]
            wanted = scipy.signal.lfilter(weights[:1], feedback, wanted, axis)
            wanted = np.flip(wanted, axis)
    data = image.copy()
    made = of("recursive", tmp_path)
    assert made.filter_float(at(data), 70, 45, at(given), order, 15) == 0
    np.testing.assert_allclose(data, wanted, rtol=1e-3, atol=1e-4)
    assert made.filter_float(at(data), 70, 45, at(given), 4, 15) != 0


def test_summed_area(tmp_path: Path) -> None:
    image = SOURCE.integers(0, 256, (45, 70)).astype(np.uint8)
    out, made = np.zeros((45, 70), np.int32), of("recursive", tmp_path)
    assert made.widened(at(out), at(image), ctypes.c_longlong(image.size)) == 0
    assert np.array_equal(out, image)
    assert made.summed_area(at(out), 70, 45) == 0
    assert np.array_equal(out, image.cumsum(0, dtype=np.int32).cumsum(1))


def test_bilateral_grid(tmp_path: Path) -> None:
    image = SOURCE.uniform(-0.1, 1.1, (21, 37)).astype(np.float32)
    columns, rows, planes = 37 // CELL + 2, 21 // CELL + 2, 11
    made, scale = of("bilateral", tmp_path), ctypes.c_float(10)
    ys, xs = np.mgrid[: rows * CELL, : columns * CELL] - CELL // 2
    values = image[np.clip(ys, 0, 20), np.clip(xs, 0, 36)].clip(0, 1)
    depth = (values * np.float32(10) + np.float32(0.5)).astype(int)
    wanted = np.zeros((2, planes, rows, columns))
    cells = (depth, (ys + CELL // 2) // CELL, (xs + CELL // 2) // CELL)
    np.add.at(wanted[0], cells, values)
    np.add.at(wanted[1], cells, 1)
    for function in (made.grid_by_cells, made.grid_by_atomics):
        grid = np.full(wanted.shape, 7, np.float32)
        args = (at(grid), at(image), 37, 21, columns, rows, planes, scale)
        assert function(*args) == 0
        np.testing.assert_allclose(grid, wanted, rtol=1e-5)


def test_limits(tmp_path: Path) -> None:
    made = of("limits", tmp_path)
    source, copied = np.arange(4096, dtype=np.float32), np.zeros(4096, np.float32)
    size = ctypes.c_longlong(source.nbytes)
    assert made.copy_bytes(at(copied), at(source), size) == 0
    assert np.array_equal(copied, source)
    out = np.zeros(256, np.float32)
    assert made.fma_peak(at(out), 1, 2) == 0
    start = np.arange(256)[:, None] + np.arange(16)
    wanted = ((start * 0.999 + 0.001) * 0.999 + 0.001).sum(1)
    np.testing.assert_allclose(out, wanted, rtol=1e-5)
    assert made.launch_nothing(3) == 0
