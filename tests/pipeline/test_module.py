"""compile_to_module: a pipeline as it is now, to be written to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")
Kind = hl.OutputFileType


def scaled() -> tuple[hl.Func, hl.ImageParam, hl.Param]:
    image, factor = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.UInt(8))
    f = hl.Func("scaled")
    f[x, y] = image[x, y] * factor
    f.vectorize(x, 16)
    return f, image, factor


def test_what_a_module_tells() -> None:
    f, image, factor = scaled()
    module = hl.Pipeline(f).compile_to_module([factor, image], "times")
    assert module.name() == "times"
    assert module.target() == hl.get_host_target()
    assert module.buffers() == [] and module.submodules() == []
    assert repr(module) == "<parhelion.Module 'times'>"
    head = str(module).splitlines()[:4]
    assert head[0] == "func times("
    # The arguments in the order given, then the output.
    names = [line.strip().split(":")[0] for line in head[1:]]
    assert names == [factor.name(), image.name(), f.name()]
    assert f.compile_to_module([factor, image]).name() == f.name()


def test_the_files(tmp_path: Path) -> None:
    f, image, factor = scaled()
    module = f.compile_to_module([image, factor], "times")
    files = {
        Kind.stmt: tmp_path / "times.stmt",
        Kind.stmt_html: tmp_path / "times.html",
        Kind.llvm_assembly: tmp_path / "times.ll",
        Kind.assembly: tmp_path / "times.s",
    }
    module.compile(files)
    text = {kind: file.read_text() for kind, file in files.items()}
    assert text[Kind.stmt] == str(module)
    assert "<html" in text[Kind.stmt_html]
    assert "define i32 @times_argv(" in text[Kind.llvm_assembly]
    assert "times_argv:" in text[Kind.assembly]


def test_it_keeps_the_schedule_as_it_was(tmp_path: Path) -> None:
    f, image, factor = scaled()
    module = f.compile_to_module([image, factor], "times")
    before = str(module)
    f.parallel(y)
    hl.Pipeline(f).lowered_text()
    assert str(module) == before
    assert "parallel" in str(f.compile_to_module([image, factor], "times"))
    module.compile({Kind.llvm_assembly: tmp_path / "a.ll"})
    assert "ph_parallel" not in (tmp_path / "a.ll").read_text()


def test_buffers_that_it_reads() -> None:
    pixels = hl.Buffer(np.arange(8, dtype=np.int32))
    f = hl.Func()
    f[x] = pixels[x]
    (held,) = f.compile_to_module([]).buffers()
    assert np.asarray(held).tolist() == list(range(8))


def test_arguments_that_are_missing_or_spare() -> None:
    f, image, factor = scaled()
    with pytest.raises(hl.DefinitionError) as caught:
        f.compile_to_module([image], "times")
    assert caught.value.what == (
        f"'times' needs {factor.name()!r}, which is not among the arguments"
    )
    spare = hl.Param(hl.Int(32), "spare")
    module = f.compile_to_module([spare, image, factor], "times")
    assert str(module).splitlines()[1] == f"  {spare.name()}: int32,"


def test_what_is_not_available_yet() -> None:
    f, image, factor = scaled()
    module = f.compile_to_module([image, factor])
    with pytest.raises(hl.HalideError) as caught:
        module.compile({Kind.stmt: "never", Kind.schedule: "written"})
    assert not Path("never").exists()
    assert caught.value.what == (
        "Module.compile: files of the type schedule are not available yet"
    )
    with pytest.raises(hl.HalideError, match=r"Module\.append is not available yet"):
        module.append(module)
    with pytest.raises(hl.HalideError, match="an empty Module cannot be made"):
        hl.Module("m", hl.get_host_target())
    with pytest.raises(hl.HalideError, match="code for riscv-32-linux cannot be made"):
        f.compile_to_module([image, factor], "m", hl.Target("riscv-32-linux"))
