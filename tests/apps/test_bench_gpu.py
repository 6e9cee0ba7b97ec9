"""The benchmarks on GPUs: what nvcc and Halide compile, what the simulator computes,
and what the page says of figures."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps import blur
from apps.forma.programs import PROGRAMS
from benchmarks import halide_host
from benchmarks.cases import case
from benchmarks.gpu import (
    __main__,
    applications,
    filters,
    goals,
    grids,
    halide_cuda,
    jobs,
    nvcc,
    ours,
    page,
    programs,
    simulate,
)
from benchmarks.gpu.contender import AUTOMATIC, CUDA, HALIDE, HAND
from benchmarks.gpu.device import NOT_MEASURED
from benchmarks.gpu.rivals import COPY

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is missing")
needs_halide = pytest.mark.skipif(
    importlib.util.find_spec("halide") is None or shutil.which("cc") is None,
    reason="halide or a C compiler is missing",
)

#: What is called of each file.
FUNCTIONS = {
    "bilateral": ("grid_by_cells", "grid_by_atomics"),
    "blur": ("blur_3x3",),
    "library": ("cub_histogram", "cub_running_sums", "cub_summed_area"),
    "limits": ("copy_bytes", "fma_peak", "launch_nothing"),
    "recursive": ("filter_float", "summed_area", "widened"),
    "unsharp": ("unsharp_mask",),
}


def test_every_file_is_known() -> None:
    assert [path.stem for path in nvcc.sources()] == list(FUNCTIONS)


@needs_nvcc
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nvcc_takes_our_files(name: str, tmp_path: Path) -> None:
    source = nvcc.FOLDER / f"{name}.cu"
    made = nvcc.compiled(source, tmp_path, "sm_80", "-Werror", "all-warnings")
    library = ctypes.CDLL(str(made))
    for function in FUNCTIONS[name]:
        assert hasattr(library, function)
    before = made.stat().st_mtime_ns
    again = nvcc.compiled(source, tmp_path, "sm_80", "-Werror", "all-warnings")
    assert again == made and made.stat().st_mtime_ns == before


@needs_nvcc
@pytest.mark.parametrize("textures", [False, True])
def test_nvcc_takes_programs_whose_copies_can_be_left_out(
    textures: bool, tmp_path: Path
) -> None:
    made = programs.library(PROGRAMS["blur"], textures, tmp_path, "sm_80")
    library = ctypes.CDLL(str(made))
    assert ctypes.c_int.in_dll(library, "forma_bench_copies").value == 1
    assert hasattr(library, "blur")


@needs_halide
def test_halide_is_called_ahead_of_time(tmp_path: Path) -> None:
    """For the CPU, as there may be no GPU: arrays, places and numbers arrive."""
    hl = halide_cuda.module()
    of = case("bilateral_grid")
    assert of.at is not None
    of = of.at(1 / 32)
    images = of.inputs()
    app = halide_cuda.scheduled(of, of.schedules["lines"], hl)
    made = halide_cuda.compiled(app, halide_host.target_of(hl), tmp_path)
    ready = halide_cuda.ready(ctypes.CDLL(str(made)), of, app, images)
    ready.run()
    assert ready.result is not None
    np.testing.assert_allclose(ready.result(), ours.on_host(of, images), atol=2e-6)


@needs_halide
def test_halide_s_cuda_target_takes_our_schedules(tmp_path: Path) -> None:
    hl = halide_cuda.module()
    app = halide_cuda.scheduled(case("blur"), blur.GPU_SCHEDULES["gpu"], hl)
    made = halide_cuda.compiled(app, halide_cuda.target(hl, "sm_90"), tmp_path)
    assert b".target sm_86" in made.read_bytes() and b"job" in made.read_bytes()


@pytest.mark.parametrize(
    ("group", "name", "count"),
    [
        (applications.GROUP, "blur", 4),
        (applications.GROUP, "hist", 3),
        (filters.GROUP, "summed_area", 1),
        (filters.GROUP, "gaussian2", 1),
    ],
)
def test_the_simulator_computes_what_the_cpu_does(
    group: str, name: str, count: int
) -> None:
    found = dict(simulate.run(group, name))
    assert len(found) == count
    assert not any(found.values()), found


def test_every_job_can_be_made() -> None:
    for group, name in jobs.every():
        made = jobs.job(group, name)
        assert made.contenders and made.name == name
        labels = [c.label for c in made.contenders]
        assert len(set(labels)) == len(labels)


def entry(**times: float) -> dict[str, Any]:
    """What was measured of contenders, by who made them."""
    makers = {"hand": HAND, "auto": AUTOMATIC, "halide": HALIDE, "cuda": CUDA}
    found = {
        who: {"by": makers[who], "name": who, "min": t, "median": t, "amount": 0}
        for who, t in times.items()
    }
    found["copy"] = {"by": "ceiling", "name": COPY, "min": 1.0, "amount": 100}
    found["copy"]["median"] = 1.0
    return {"card": "a card", "size": "1", "moved": 90, "contenders": found}


def test_goals_follow_from_the_figures(tmp_path: Path) -> None:
    of_apps = {
        "blur": entry(hand=1.0, halide=2.0, auto=1.0, cuda=1.25),
        "unsharp": entry(hand=2.0, halide=1.0, auto=4.0, cuda=1.0),
    }
    results = {
        "jobs": {applications.GROUP: of_apps},
        "compile": {"blur": {"parhelion": 1.0, "halide": 2.0, "warm": 0.1, "runs": 2}},
    }
    found = {(g.what, g.wanted): g for g in goals.goals(results)}
    told = {what: (g.found, g.reached) for (what, _), g in found.items()}
    same = "ours to Halide's CUDA, the same schedules"
    assert found[same, "geometric mean <= 1"].found == "1.00 (of 2)"
    worst = found[same, "worst <= 1.15"]
    assert (worst.found, worst.reached) == ("2.00 (of 2)", False)
    assert told["blur, of the rate of copying"] == ("0.90", True)
    assert told["unsharp, of the rate of copying"] == ("0.45", False)
    assert told["automatic to the best known"] == ("4.00 (of 2)", False)
    assert told["ours to CUDA C++ and libraries, the rest"] == ("2.00 (of 2)", False)
    assert told["compile cold, to Halide's CUDA (processor)"] == ("0.50 (of 1)", True)
    assert told["compile warm, ms (processor)"] == ("100.00 (of 1)", False)
    assert told["recursive filters to CUDA and CUB"] == (NOT_MEASURED, None)
    path = tmp_path / "page.md"
    page.write(results, path)
    text = path.read_text()
    assert "least of 2, each in a fresh process" in text
    assert "All times on a GPU are of one card: a card." in text
    assert "| blur | 1 | hand | 1000.0000 (1000.0000) | a card |" in text
    assert f"| harris |  |  | {NOT_MEASURED} |  |" in text


def test_a_page_without_figures_says_so(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    page.write({}, path)
    text = path.read_text()
    assert "Speed on a GPU is unmeasured" in text
    names = sum([len(m.names()) for m in jobs.GROUPS.values()])
    assert text.count(NOT_MEASURED) >= names
    assert grids.GROUP.capitalize() in text


def test_a_slice_goes_on_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def one(results: dict[str, Any], name: str, _: int) -> None:
        done.append(name)
        results.setdefault("compile", {})[name] = {}

    monkeypatch.setattr(__main__, "compiled", one)
    monkeypatch.setattr(__main__, "card", lambda: None)
    kept = tmp_path / "gpu.json"
    options = __main__.arguments().parse_args(
        ["--only", "blur", "hist", "--json", str(kept), "--slice", "0"]
    )
    results: dict[str, Any] = {"launches": {"simulated": {}}}
    assert __main__.take(results, options) == 2
    options.slice = 100.0
    assert __main__.take(results, options) == 0
    assert done == ["blur", "hist"]
    assert list(json.loads(kept.read_text())["compile"]) == done
    assert __main__.take(results, options) == 0 and done == ["blur", "hist"]
