"""The kernels of the 2016 paper's applications, scheduled for a GPU by themselves: they
fit any device, ptxas takes all of them for two architectures, and they call nothing."""

from __future__ import annotations

import pytest

import parhelion as hl
from benchmarks.auto.estimates import set_estimates
from benchmarks.auto.kernels import target
from benchmarks.cases import ORDER, case
from parhelion.autoschedule.kernels.facts import kernels_in
from parhelion.ir.device import device_of
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.gpu.harness import ARCHS, assembled
from tests.gpu.test_pipelines import kernels
from tests.support.legal_kernels import assert_legal
from tests.support.spec import spec_of


@pytest.mark.parametrize("name", ORDER)
def test_kernels_are_legal_and_assembled(name: str) -> None:
    one = case(name)
    app = one.algorithm(hl)
    set_estimates(one, app, one.inputs())
    pipeline = hl.Pipeline([app.output])
    params = hl.AutoschedulerParams("Mullapudi2016")
    found = pipeline.apply_autoscheduler(target(), params)
    options = LowerOptions(device=device_of("sm_80"))
    body = lower(spec_of(app.output), name=name, options=options).body
    assert_legal(name, kernels_in(body), found)
    loops = kernels(body)
    ptx, told = assembled(*loops)
    assert "call" not in ptx
    assert len(told) == len(ARCHS) * len(loops)
