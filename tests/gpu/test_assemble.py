"""What is read of ptxas's report, and where it is looked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parhelion.codegen.nvptx import assemble
from parhelion.codegen.nvptx.assemble import Assembled, find_ptxas, parse, table
from parhelion.errors import HalideError, InternalError
from parhelion.ir.target import gpu_target
from parhelion.runtime import jit

TOLD = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'blur_0' for 'sm_80'
ptxas info    : Function properties for blur_0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 15 registers, used 1 barriers, 376 bytes cmem[0]
ptxas info    : Compile time = 56.873 ms
ptxas info    : Compiling entry function 'sort_0' for 'sm_80'
ptxas info    : Function properties for sort_0
    1024 bytes stack frame, 80 bytes spill stores, 96 bytes spill loads
ptxas info    : Used 255 registers, 2048 bytes smem, 376 bytes cmem[0]
"""


def test_report() -> None:
    one, two = parse(TOLD)
    assert one == Assembled("blur_0", "sm_80", 15, 0, 0, 0, 0, 1)
    assert two == Assembled("sort_0", "sm_80", 255, 1024, 80, 96, 2048, 0)
    assert table((one, two)).split("\n") == [
        "kernel  GPU    registers  frame  spills  shared  barriers",
        "blur_0  sm_80         15      0     0+0       0         1",
        "sort_0  sm_80        255   1024   80+96    2048         0",
    ]


def test_a_text_that_ptxas_refuses() -> None:
    if find_ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    with pytest.raises(InternalError, match="ptxas refuses") as caught:
        assemble.assemble(".version 7.0\n.target sm_80\nnonsense\n", "sm_80")
    assert "syntax" in str(caught.value) or "error" in str(caught.value)


def test_where_ptxas_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(assemble, "_TOOLKIT", str(tmp_path / "none"))
    monkeypatch.setattr(assemble, "WHEELS", ("parhelion-has-no-such-package",))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    assert find_ptxas() is None
    with pytest.raises(HalideError, match="pip install"):
        assemble.assemble("", "sm_80")
    tool = tmp_path / "home" / "bin" / "ptxas"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    os.chmod(tool, 0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert find_ptxas() == str(tool)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100"])
def test_versions_that_llvm_and_ptxas_share(arch: str) -> None:
    """LLVM takes each known GPU with its version of PTX, and so does ptxas."""
    target = gpu_target(arch)
    ptx = jit.assembly_text(
        f'target triple = "{target.triple}"\n'
        "define ptx_kernel void @nothing() {\n  ret void\n}\n",
        target,
    )
    (version,) = target.features
    assert f".version {version[3]}.{version[4]}" in ptx
    if find_ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    (told,) = assemble.assemble(ptx, arch)
    assert told.name == "nothing"
