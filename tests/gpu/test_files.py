"""What files of pipelines with kernels show of these."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import parhelion as hl

x, y, tx, ty = hl.vars("x y tx ty")


def blurred() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.f32(x) * 0.5 + hl.f32(y)
    g[x, y] = f[x, y] + f[x + 1, y]
    g.gpu_tile(x, y, tx, ty, 32, 4)
    f.compute_at(g, x).gpu_threads(x, y)
    return g


@pytest.mark.parametrize(
    ("kind", "mark"), [("assembly", "# "), ("llvm_assembly", "; ")]
)
def test_the_ptx_is_shown(
    kind: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "sm_90")
    path = tmp_path / "g"
    getattr(blurred(), f"compile_to_{kind}")(path)
    lines = path.read_text().split("\n")
    shown = [one.removeprefix(mark) for one in lines if one.startswith(mark)]
    assert ".target sm_90" in shown and ".visible .entry g_0(" in shown
    assert "\tbar.sync \t0;" in shown
    # The host's code comes after it.
    assert any("g.body_argv" in one for one in lines if not one.startswith(mark))


@pytest.mark.skipif(shutil.which("as") is None, reason="no assembler")
def test_the_assembly_can_be_assembled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "sm_80")
    source = tmp_path / "g.s"
    blurred().compile_to_assembly(source)
    done = subprocess.run(
        ["as", str(source), "-o", str(tmp_path / "g.o")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_simulation_has_no_ptx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    path = tmp_path / "g.s"
    blurred().compile_to_assembly(path)
    text = path.read_text()
    assert ".visible" not in text and "ph_device_simulated" in text


def test_objects_hold_their_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "sm_80")
    blurred().compile_to_file(tmp_path / "g")
    code = (tmp_path / "g.o").read_bytes()
    assert b".visible .entry g_0(" in code and b".target sm_80" in code


def test_there_is_no_c_of_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "sm_80")
    with pytest.raises(hl.HalideError, match="C is not made of 'g'"):
        blurred().compile_to_c(tmp_path / "g.c", [], "g")
