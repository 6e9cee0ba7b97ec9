"""The benchmark of Forma: contenders agree, and the page says what was found."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.forma.programs import PROGRAMS
from benchmarks.forma import contenders as of
from benchmarks.forma import figures, page
from benchmarks.forma.experts import EXPERTS
from benchmarks.forma.goals import goals, over_halide

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def numpys(name: str, size: tuple[int, ...]) -> dict[str, of.Contender]:
    """NumPy, in the place of Forma."""
    program = PROGRAMS[name]
    (one,) = of.with_numpy(program, program.inputs(size)).values()
    return {of.FORMA: one}


#: Halide takes seconds to half a minute for pyramids: one schedule of one of them. What
#: the others compute is compared whenever they are measured.
COMPARED = [n for n in EXPERTS if n not in ("pyramid_mirror", "exposure_pyramid")]


# Halide's module warns of constants that it takes for a float32.
@pytest.mark.filterwarnings("ignore:The floating-point value")
@pytest.mark.parametrize("name", COMPARED)
def test_halide_computes_the_same(name: str) -> None:
    pytest.importorskip("halide")
    size = (288, 216) if name == "camera_pipe" else (320, 192)
    halide = of.with_halide(name, size)
    if name == "pyramid":
        halide = dict(list(halide.items())[:1])
    found = of.compare(name, numpys(name, size) | halide)
    assert len(found) == 1 + len(halide)


@needs_gxx
@pytest.mark.parametrize(
    ("name", "size"), [("rician_2d", (50, 40)), ("rician_3d", (20, 18, 12))]
)
def test_cpp_computes_the_same(name: str, size: tuple[int, ...]) -> None:
    program = PROGRAMS[name]
    cpp = of.in_cpp(program, program.inputs(size))
    found = of.compare(name, numpys(name, size) | cpp)
    assert 0 <= found[of.CPP] < program.bound


@needs_gcc
def test_forma_and_opencv_compute_the_same() -> None:
    pytest.importorskip("cv2")
    pytest.importorskip("halide")
    found = of.contenders("emboss", (96, 64), is_automatic=True)
    assert {of.FORMA, of.NEW, of.PAPER, of.GENERATED, of.AUTOMATIC, of.OPENCV} <= set(
        found
    )
    assert max(of.compare("emboss", found).values()) < 1e-6


def test_what_differs_is_told() -> None:
    found = numpys("emboss", (96, 64))
    right = found[of.FORMA].results

    def wrong() -> list[Any]:
        return [one + np.float32(0.5) for one in right()]

    found["b"] = of.Contender(lambda: None, wrong)
    with pytest.raises(of.WrongResult, match="emboss: b is apart by 0.5"):
        of.compare("emboss", found)


@pytest.mark.parametrize("name", of.SMALL)
def test_loops_in_python_run(name: str) -> None:
    first = of.in_python(name)()
    assert np.isfinite(np.array(first)).all()


def test_sizes_are_scaled() -> None:
    assert of.size_of("emboss") == (2048, 2048)
    assert of.size_of("camera_pipe", 0.1) == (256, 192)
    assert set(of.SIZES) == set(PROGRAMS)


def _times(**seconds: float) -> dict[str, Any]:
    return {
        who: {"min": time, "median": 1.1 * time, "runs": 3}
        for who, time in seconds.items()
    }


def _results() -> dict[str, Any]:
    results = figures.empty()
    for threads, fast in (("1", 1.0), ("2", 0.5)):
        programs: dict[str, Any] = {}
        for name in PROGRAMS:
            times = {of.NEW: 0.002 * fast, of.FORMA: 0.001 * fast, of.NUMPY: 0.01}
            times |= {of.GENERATED: 0.0012 * fast, of.AUTOMATIC: 0.001}
            if name == "emboss":
                times[of.OPENCV] = 0.004
            if name.startswith("rician"):
                times[of.CPP] = 0.001
            if name in EXPERTS:
                slower = 0.5 if name == "blur" else 2.0
                times[f"{of.HALIDE} rows"] = 0.001 * fast * slower
                times[f"{of.HALIDE} tiles"] = 0.1
            programs[name] = {"size": [64, 64], "times": _times(**times)}
        results["times"][threads] = programs
    results["times"]["1"]["emboss"]["python"] = 1.5
    results["times"]["1"]["canny"] = {"failed": "x\nit broke"}
    facts = {"stages": 5, "groups": 2, "schedule": 0.01}
    results["compile"] = {
        "exposure_fusion": facts | {"compile": 1.5, "warm": 0.05},
        "canny": facts | {"compile": 0.5, "warm": 0.04, "schedule": 0.3},
    }
    return results


def test_the_page(tmp_path: Path) -> None:
    results = _results()
    found = {g.what: g for g in goals(results)}
    emboss = found["emboss, 2 threads: times faster than NumPy"]
    assert emboss.found == pytest.approx(10) and emboss.met
    assert found["emboss, 2 threads: times faster than OpenCV"].met
    assert not found["rician_3d, 2 threads: times faster than C++"].met
    worst = found["time over Halide's, 2 thread(s): the most, blur"]
    assert worst.found == pytest.approx(2) and not worst.met
    assert found["time over Halide's, 1 thread(s): geometric mean"].met
    assert found["exposure_fusion: compiled cold, s"].met
    assert not found["merged and scheduled, the most, canny, s"].met
    # What failed has no figure.
    assert "canny" not in over_halide(results, "1")
    text, plot = page.write(results, tmp_path / "page.md")
    shown = text.read_text()
    assert "| emboss | 64 x 64 | 1500 | 10.00 | 1.00 (10.0) |" in shown
    assert "canny, 1 thread(s): it broke" in shown
    assert plot.stat().st_size > 10_000
    assert "MISSED" in page.summary(results)
