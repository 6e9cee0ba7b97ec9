"""Profiles of pipelines with kernels: the host's part of them."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.gpu.harness import kernels_of
from tests.gpu.test_pipelines import DEVICE, kernels
from tests.gpu.test_simulated import blurred
from tests.support.spec import spec_of

x, y, tx, ty = hl.vars("x y tx ty")


def scheduled() -> hl.Func:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, x).gpu_threads(x, y)
    return blur_y


def test_kernels_have_no_marks() -> None:
    options = LowerOptions(device=DEVICE, profile=True)
    made = lower(spec_of(scheduled()), name="f", options=options)
    module, (kernel,) = kernels_of(*kernels(made.body))
    assert "profile" not in module.text("test")


def test_a_simulated_pipeline_is_profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    report = hl.Pipeline([scheduled()]).profile([70, 45])
    # Once for each block of 16 x 8, of which there are 5 x 6.
    assert report["blur_x"].calls == 30
    assert report["blur_y"].calls == 1
