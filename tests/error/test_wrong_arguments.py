"""What is no number, word, list or target where one is wanted: a sentence about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")
Call = Callable[[hl.Func, Any], object]


def undefined() -> hl.Func:
    return hl.Func("e")


def square() -> hl.Buffer:
    return hl.Buffer(np.zeros((3, 3)), "b")


CASES: dict[str, tuple[Call, str]] = {
    "parentheses": (
        lambda f, im: f(x, y + 1),  # type: ignore[operator]
        "Func 'f' is not called: its value at a point is taken with brackets",
    ),
    "a Func as foreign code": (
        lambda f, im: undefined().define_extern(f, [im], hl.Int(32), [x, y]),
        "e.define_extern takes a C function's name, a function of a ctypes library",
    ),
    "a Func for each element": (
        lambda f, im: square().for_each_element(f),  # type: ignore[arg-type]
        "what for_each_element calls is a function, not <parhelion.Func 'f",
    ),
    "jit": (
        lambda f, im: f.compile_jit("host"),  # type: ignore[arg-type]
        "a target is a Target, not 'host'",
    ),
    "pipeline": (
        lambda f, im: hl.Pipeline(f).compile_jit("host"),  # type: ignore[arg-type]
        "a target is a Target, not 'host'",
    ),
    "outputs": (
        lambda f, im: hl.Pipeline(3),  # type: ignore[arg-type]
        "the outputs of a Pipeline are Funcs, not 3",
    ),
    "an image as an output": (
        lambda f, im: hl.Pipeline(hl.Buffer(np.zeros((2, 2)))),
        "the outputs of a Pipeline are Funcs, not <parhelion.Buffer of type",
    ),
    "callable": (
        lambda f, im: f.compile_to_callable([im], "host"),  # type: ignore[arg-type]
        "a target is a Target, not 'host'",
    ),
    "assembly": (
        lambda f, im: f.compile_to_assembly("f.s", im),
        "the arguments are a list, not <parhelion.ImageParam 'im'",
    ),
    "get_func": (
        lambda f, im: hl.Pipeline(f).get_func("f"),  # type: ignore[arg-type]
        "the number of a Func is an integer, not 'f'",
    ),
    "dim": (lambda f, im: im.dim("x"), "a dimension is an integer, not 'x'"),
    "dim of a Buffer": (
        lambda f, im: hl.Buffer(np.zeros(3)).dim("x"),  # type: ignore[arg-type]
        "a dimension is an integer, not 'x'",
    ),
    "set_min": (
        lambda f, im: hl.Buffer(np.zeros(3)).set_min(["a"]),
        "a coordinate is an integer, not 'a'",
    ),
    "copy_from": (
        lambda f, im: square().copy_from([1, 2]),  # type: ignore[arg-type]
        "a Buffer cannot be made from a list",
    ),
    "copy_from of another shape": (
        lambda f, im: square().copy_from(np.zeros((2, 3))),
        "cannot copy an array of shape (2, 3) into Buffer 'b', which has",
    ),
    "copy_from of fewer dimensions": (
        lambda f, im: square().copy_from(np.zeros(3)),
        "cannot copy a Buffer of float64 and 1 dimensions into one of float64 and 2",
    ),
    "copy_from of another type": (
        lambda f, im: square().copy_from(np.zeros((3, 3), np.uint8)),
        "cannot copy a Buffer of uint8 and 2 dimensions into one of float64 and 2",
    ),
    "make_with_shape_of": (
        lambda f, im: hl.Buffer.make_with_shape_of(3),  # type: ignore[arg-type]
        "a Buffer cannot be made from an int",
    ),
    "crop": (lambda f, im: square().crop(3), "a crop of Buffer 'b' is given by 3"),
    "crop without its extents": (
        lambda f, im: square().crop([3, 3]),
        "a crop of Buffer 'b' is given by [3, 3]",
    ),
    "crop with three numbers": (
        lambda f, im: square().cropped([(0, 2, 1)]),
        "a crop of Buffer 'b' is given by [(0, 2, 1)]",
    ),
    "crop to a word": (
        lambda f, im: square().cropped("a"),
        "a crop of Buffer 'b' is given by 'a'",
    ),
    "crop to nothing": (
        lambda f, im: square().cropped(),
        "a crop of Buffer 'b' is given by nothing",
    ),
    "crop from a word": (
        lambda f, im: square().crop(0, "a", 2),
        "a min is an integer, not 'a'",
    ),
    "translate": (
        lambda f, im: square().translate(3),
        "the distances of translate are one list, not 3",
    ),
    "transpose": (
        lambda f, im: square().transposed(2, 0, 1),
        "the dimensions of transpose are one list, not 2, 0, 1",
    ),
    "slice": (
        lambda f, im: square().slice(0, "a"),  # type: ignore[arg-type]
        "a coordinate is an integer, not 'a'",
    ),
    "embed": (
        lambda f, im: square().embed(0, "a"),  # type: ignore[arg-type]
        "a coordinate is an integer, not 'a'",
    ),
    "for_each_element": (
        lambda f, im: square().for_each_element(3),  # type: ignore[arg-type]
        "what for_each_element calls is a function, not 3",
    ),
    "the params of foreign code": (
        lambda f, im: undefined().define_extern(lambda: None, [], hl.Int(32), [x]),
        "e.define_extern: the function is called with 0 params and 1 output, but "
        "cannot be: too many positional arguments",
    ),
    "foreign code that takes too much": (
        lambda f, im: undefined().define_extern(
            lambda a, b, out: None, [im], hl.Int(32), [x, y]
        ),
        "e.define_extern: the function is called with 1 param and 1 output, but "
        "cannot be: missing a required argument: 'out'",
    ),
    "a bounds function": (
        lambda f, im: undefined().define_extern(
            lambda a, out: None, [im], hl.Int(32), [x, y], bounds=lambda: [[(0, 3)]]
        ),
        "e.define_extern: the bounds function is called with a region and 0 numbers, "
        "but cannot be: too many positional arguments",
    ),
    "bounds that are a list": (
        lambda f, im: undefined().define_extern(
            lambda a, out: None,
            [im],
            hl.Int(32),
            [x, y],
            bounds=[(0, 3)],  # type: ignore[arg-type]
        ),
        "e.define_extern: the bounds function is called with a region and 0 numbers, "
        "and is [(0, 3)]",
    ),
    "set_estimates": (
        lambda f, im: im.set_estimates([4, 4]),
        "set_estimates of ImageParam 'im' takes (min, extent) pairs, not 4",
    ),
    "bounds": (
        lambda f, im: hl.BoundaryConditions.constant_exterior(im, 0, 5),  # type: ignore[arg-type]
        "the bounds of constant_exterior are a list, not 5",
    ),
    "natural_vector_size": (
        lambda f, im: hl.get_host_target().natural_vector_size("uint9"),
        "a vector has a scalar type such as hl.UInt(8) or 'uint8', not 'uint9'",
    ),
    "has_feature": (
        lambda f, im: hl.get_host_target().has_feature([]),  # type: ignore[arg-type]
        "a feature is a TargetFeature, not []",
    ),
    "RDom": (
        lambda f, im: hl.RDom([(0, 3)])["x"],  # type: ignore[index]
        "a dimension is an integer, not 'x'",
    ),
    "vars": (lambda f, im: hl.vars(None), "a list of names is a string, not None"),  # type: ignore[arg-type]
    "funcs": (lambda f, im: hl.funcs(3), "a list of names is a string, not 3"),  # type: ignore[arg-type]
    "Var": (lambda f, im: hl.Var(3), "the name of a Var is a string, not 3"),  # type: ignore[arg-type]
    "undef": (
        lambda f, im: hl.undef(np.complex64),
        "undef has a scalar type such as hl.UInt(8) or 'uint8', not <class"
        " 'numpy.complex64'>",
    ),
    "a member of an enumeration": (
        lambda f, im: f.__setitem__((x, y), hl.TailStrategy.Auto),
        "a TailStrategy is not an expression",
    ),
    "width": (
        lambda f, im: hl.UInt(8).with_bits("a"),  # type: ignore[arg-type]
        "the width of a type is an integer, not 'a'",
    ),
    "threads": (
        lambda f, im: hl.limit_threads("a"),  # type: ignore[arg-type]
        "the limit of threads is 1 to 1024, not 'a'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_at_the_users_line(name: str) -> None:
    call, message = CASES[name]
    image, f = hl.ImageParam(hl.UInt(8), 2, "im"), hl.Func("f")
    f[x, y] = image[x, y]
    with pytest.raises(hl.HalideError) as caught:
        call(f, image)
    first, place, *_ = str(caught.value).splitlines()
    assert re.sub(r"\$\d+", "", first).startswith(message.split("'im'")[0])
    assert place.startswith(f"  --> {Path(__file__)}:")


def test_lowered_programs_are_for_a_target(tmp_path: Path) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    for write in (f.compile_to_lowered_stmt, f.compile_to_conceptual_stmt):
        with pytest.raises(hl.TypeMismatchError, match="a target is a Target"):
            write(tmp_path / "f", [], hl.StmtOutputFormat.Text, "host")  # type: ignore[arg-type]


FOREIGN = ["arm-64-linux", "x86-64-windows", "x86-32-linux", "wasm-32-wasmrt"]
RUNNERS: dict[str, Callable[[hl.Func, hl.Target], object]] = {
    "realize": lambda f, t: f.realize([4, 4], t),
    "compile_jit": lambda f, t: f.compile_jit(t),
    "callable": lambda f, t: f.compile_to_callable([], t),
    "profile": lambda f, t: f.profile([4, 4], t),
    "trace": lambda f, t: list(f.trace([4, 4], t)),
}


@pytest.mark.parametrize("name", RUNNERS)
@pytest.mark.parametrize("target", FOREIGN)
def test_code_for_another_computer_does_not_run(name: str, target: str) -> None:
    """It ran here, as this computer's code."""
    f = hl.Func("f")
    f[x, y] = x + y
    host = hl.get_host_target()
    own = hl.Target(host.os, host.arch, host.bits)
    with pytest.raises(hl.HalideError) as caught:
        RUNNERS[name](f, hl.Target(target))
    first, place, *_, hint = str(caught.value).splitlines()
    assert first == f"code for {target} does not run on this computer, which is {own}"
    assert place.startswith(f"  --> {Path(__file__)}:")
    assert hint.startswith("hint: compile_to_file and its kin write code for other")


def test_what_a_target_leaves_open_is_this_computers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    for target in (hl.Target(), hl.Target("strict_float"), hl.get_host_target()):
        assert np.asarray(f.realize([4, 4], target))[2, 3] == 5
    monkeypatch.setenv("HL_JIT_TARGET", "riscv-64-linux")
    with pytest.raises(hl.HalideError, match="code for riscv-64-linux does not"):
        f.realize([4, 4])


WRITERS: dict[str, Callable[[hl.Func, Path], object]] = {
    "file": lambda f, path: f.compile_to_file(path),
    "object": lambda f, path: f.compile_to_object(path),
    "lowered": lambda f, path: f.compile_to_lowered_stmt(path),
    "conceptual": lambda f, path: f.compile_to_conceptual_stmt(path),
    "c": lambda f, path: f.compile_to_c(path),
    "library": lambda f, path: f.compile_to_multitarget_static_library(
        path, [], [hl.get_host_target()]
    ),
    "objects": lambda f, path: f.compile_to_multitarget_object_files(
        path, [], [hl.get_host_target()], ["host"]
    ),
    "runtime": lambda f, path: hl.compile_standalone_runtime(
        path, hl.get_host_target()
    ),
    "animation": lambda f, path: f.animate([4, 4], path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_not_there(name: str, tmp_path: Path) -> None:
    f, folder = hl.Func("f"), tmp_path / "nowhere"
    f[x, y] = x + y
    with pytest.raises(hl.MissingFolderError) as caught:
        WRITERS[name](f, folder / "f")
    first, place, *_, hint = str(caught.value).splitlines()
    assert first.startswith(f"'{folder / 'f'}")
    assert first.endswith(f"' cannot be written: there is no folder '{folder}'")
    assert place.startswith(f"  --> {Path(__file__)}:")
    assert hint == "hint: Path(name).parent.mkdir(parents=True) makes it"
    assert isinstance(caught.value, FileNotFoundError)
    assert not folder.exists()


#: A library's name gets an ending, and the objects have names of their own.
ONE_FILE = sorted(WRITERS.keys() - {"library", "objects", "static library"})


@pytest.mark.parametrize("name", ONE_FILE)
def test_a_folder_in_the_place_of_a_file(name: str, tmp_path: Path) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    for ending in ("", ".o", ".h", ".a", ".s", ".ll", ".bc", ".c", ".html"):
        (tmp_path / f"f{ending}").mkdir()
    with pytest.raises(hl.UnwritableFileError) as caught:
        WRITERS[name](f, tmp_path / "f")
    first, place, *_, hint = str(caught.value).splitlines()
    assert first.startswith(f"'{tmp_path / 'f'}")
    assert first.endswith("' cannot be written: it is a folder")
    assert place.startswith(f"  --> {Path(__file__)}:")
    assert hint == "hint: name a file in it"
    assert isinstance(caught.value, OSError)


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    f, file = hl.Func("f"), tmp_path / "file"
    f[x, y] = x + y
    file.write_text("kept")
    with pytest.raises(hl.UnwritableFileError, match="cannot be written: not a"):
        f.compile_to_object(file / "f.o", [], "f")
    with pytest.raises(hl.UnwritableFileError, match="file' is no folder, but a file"):
        hl.build_extension(hl.Pipeline(f).compile_to_module([], "f"), file)
    assert file.read_text() == "kept"
