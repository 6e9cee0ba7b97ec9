"""The programs of `apps.forma` compiled, by schedulers and as C, against NumPy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.forma.program import apart, plain
from apps.forma.programs import PROGRAMS
from parhelion import forma
from parhelion.forma.reference import evaluate
from tests.forma.test_c import Compiled
from tests.forma.test_programs import FUSED, SIZES

#: How far compiled code may be from NumPy, where that is more than the reference is: it
#: rounds a product and a sum together.
BOUNDS = {"exposure_fusion": FUSED, "exposure_pyramid": FUSED}
#: Schedulers, and C. For the 592 stages of the one that is left out, the default
#: scheduler takes minutes, and gcc for its 2 MB of C.
WAYS = [
    (name, way)
    for name in PROGRAMS
    for way in ("Forma", "Parhelion", "C")
    if name != "exposure_pyramid" or way == "Forma"
]


def sizes_of(name: str) -> tuple[tuple[int, ...], ...]:
    return SIZES.get(name, ((96, 80), (101, 83)))


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_compiled_agrees_with_numpy(name: str, way: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    if way == "C":
        if shutil.which("gcc") is None:
            pytest.skip("needs gcc")
        library = Compiled(forma.compile(program.path, scheduler=None), tmp_path)
    else:
        run = forma.compile(program.path, scheduler=way)
    for size in sizes_of(name):
        inputs = program.inputs(size)
        if way == "C":
            status, found = library(inputs, program.parameters(size))
            assert status == 0
        else:
            arguments: dict[str, Any] = {**inputs, **program.values}
            got = run(**arguments)
            found = list(got) if isinstance(got, tuple) else [got]
        bound = BOUNDS.get(name, program.bound)
        for one, want in zip(found, program.expected(inputs), strict=True):
            assert apart(plain(one), np.ascontiguousarray(want)) <= bound


@pytest.mark.parametrize("name", ["blur", "pyramid", "exposure_fusion", "rician_2d"])
def test_strict_floats_are_those_of_the_reference(name: str) -> None:
    program = PROGRAMS[name]
    run = forma.compile(program.path, strict_float=True)
    size = sizes_of(name)[0]
    inputs = program.inputs(size)
    arguments: dict[str, Any] = {**inputs, **program.values}
    got = run(**arguments)
    found = got if isinstance(got, tuple) else (got,)
    wanted = evaluate(run.graph, inputs, program.parameters(size))
    # Functions as exp are not of the same library, and weights divide by their values.
    bound = 1e-4 if name == "exposure_fusion" else 1e-6
    for one, want in zip(found, wanted, strict=True):
        assert apart(plain(one), plain(want)) <= bound


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("emboss", 1),
        ("blur", 2),
        # Both sums of neighbours, slopes and lengths, the longest, and what is near.
        ("canny", 5),
        # Figure 4, of four images: each one's luminance, and the rest.
        ("exposure_fusion", 5),
    ],
)
def test_stages_are_merged_to_groups(name: str, groups: int) -> None:
    program = forma.compile(PROGRAMS[name].path)
    assert len(program.fusion.groups) == groups
