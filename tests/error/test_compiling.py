"""What `compile_to_…` and `Target` say of what they are given by mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parhelion as hl

x = hl.Var("x")
WHERE: Any = Path("/nonexistent/file")
BASE, AVX = (hl.Target(f"x86-64-linux{end}") for end in ("", "-avx2"))


def written() -> Any:
    f = hl.Func("written")
    f[x] = x
    return f


def doubled() -> Any:
    image = hl.Param(hl.Int(32), "twice")
    f = hl.Func("doubled")
    f[x] = image
    return f, [image, image]


ANY: Any = hl

CASES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: written().compile_to_c(WHERE, [], 5),
        hl.TypeMismatchError,
        "the name of a function is a string, not 5",
    ),
    (
        lambda: written().compile_to_module([], 5),
        hl.TypeMismatchError,
        "the name of a function is a string, not 5",
    ),
    (
        lambda: written().compile_to_c(WHERE, [], BASE, AVX),
        hl.TypeMismatchError,
        "two targets are given, x86-64-linux and x86-64-linux-avx2",
    ),
    (
        lambda: written().compile_to_c(WHERE, [], "n", "host"),
        hl.TypeMismatchError,
        "a target is a Target, not 'host'",
    ),
    (
        lambda: written().compile_to_object(None),
        hl.TypeMismatchError,
        "the name of a file is a string or a path, not None",
    ),
    (
        lambda: written().compile_to_file(None),
        hl.TypeMismatchError,
        "the name of a file is a string or a path, not None",
    ),
    (
        lambda: written().compile_to_c(None),
        hl.TypeMismatchError,
        "the name of a file is a string or a path, not None",
    ),
    (
        lambda: written().compile_to({"object": "a.o"}),
        hl.TypeMismatchError,
        "a file to be written has an OutputFileType, not 'object'",
    ),
    (
        lambda: written().compile_to_lowered_stmt(WHERE, [], "html"),
        hl.TypeMismatchError,
        "the format of a lowered program is a StmtOutputFormat, not 'html'",
    ),
    (
        lambda: (lambda f, given: f.compile_to_header(WHERE, given))(*doubled()),
        hl.DefinitionError,
        "'twice' is an argument twice",
    ),
    (
        lambda: (lambda f, given: f.compile_to_c(WHERE, given))(*doubled()),
        hl.DefinitionError,
        "'twice' is an argument twice",
    ),
    (
        lambda: written().compile_to_multitarget_static_library(WHERE, [], ["host"]),
        hl.TypeMismatchError,
        "a target is a Target, not 'host'",
    ),
    (
        lambda: written().compile_to_multitarget_static_library(
            WHERE, [], [AVX, BASE, AVX]
        ),
        hl.HalideError,
        "the target x86-64-linux-avx2 is there twice",
    ),
    (
        lambda: written().compile_to_multitarget_object_files(
            WHERE, [], [AVX, BASE], ["a_b", "a-b"]
        ),
        hl.HalideError,
        "the suffixes 'a_b' and 'a-b' give two functions one name",
    ),
    (
        lambda: ANY.Target(3),
        hl.TypeMismatchError,
        "a target is written as a string, or begins with a TargetOS, not 3",
    ),
    (
        lambda: ANY.Target(hl.TargetOS.Linux, hl.TargetArch.X86, 64, ["avx2"]),
        hl.TypeMismatchError,
        "a target has TargetFeatures, not 'avx2'",
    ),
    (
        lambda: hl.Target("x86-arm-64-linux"),
        hl.HalideError,
        "the target 'x86-arm-64-linux' has two architectures, 'x86' and 'arm'",
    ),
    (
        lambda: hl.Target("x86-64-32-linux"),
        hl.HalideError,
        "the target 'x86-64-32-linux' has two numbers of bits, '64' and '32'",
    ),
    (
        lambda: hl.Target("host-windows-linux"),
        hl.HalideError,
        "the target 'host-windows-linux' has two operating systems, 'windows' and "
        "'linux'",
    ),
    (
        lambda: hl.Target("arm-64-linux-avx2"),
        hl.HalideError,
        "the feature avx2 is of x86 processors, and the target is arm",
    ),
    (
        lambda: hl.Target(
            hl.TargetOS.Linux, hl.TargetArch.X86, 64, [hl.TargetFeature.SVE]
        ),
        hl.HalideError,
        "the feature sve is of arm processors, and the target is x86",
    ),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_mistakes(number: int) -> None:
    mistaken, kind, message = CASES[number]
    with pytest.raises(kind) as caught:
        mistaken()
    assert str(caught.value).splitlines()[0] == message


def test_the_name_may_be_left_out_before_a_target(tmp_path: Path) -> None:
    written().compile_to_c(tmp_path / "f.c", [], hl.Target("host-user_context"))
    text = (tmp_path / "f.c").read_text()
    assert "int written(void const *__user_context, " in text


def test_c_text_finds_its_arguments() -> None:
    """All that are needed, in the order that other files have."""
    a, b = hl.ImageParam(hl.Int(32), 1, "c_a"), hl.Param(hl.Int(32), "c_b", 1)
    f = hl.Func("found")
    f[x] = b + a[x]
    pipeline = hl.Pipeline(f)
    named = [argument.name for argument in pipeline.infer_arguments()]
    text = pipeline.c_text()
    places = [text.index(f"_{name}") for name in named]
    assert sorted(named) == ["c_a", "c_b"] and places == sorted(places)
    assert pipeline.c_text(pipeline.infer_arguments()) == text


def test_libraries_for_windows(tmp_path: Path) -> None:
    targets = [hl.Target(f"x86-64-windows{end}") for end in ("-avx2", "")]
    written().compile_to_multitarget_static_library(tmp_path / "one", [], targets)
    written().compile_to_multitarget_object_files(
        tmp_path / "two", [], targets, ["avx2", "plain"]
    )
    names = {path.name for path in tmp_path.iterdir()}
    files = {"two-avx2.obj", "two-plain.obj", "two.obj", "two.h"}
    assert names == {"one.lib", "one.h"} | files


def test_what_follows_host_takes_its_place() -> None:
    host = hl.get_host_target()
    assert hl.Target("host-32").bits == 32
    assert hl.Target("host-windows").os == hl.TargetOS.Windows
    assert hl.Target(f"host-{host.arch.value}-{host.bits}-linux").arch == host.arch
