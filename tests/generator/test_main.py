"""The command line of a file of Generators (`hl.main`)."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.lang.generator_main import USAGE, run
from tests.aot.builds import HOST
from tests.generator.filters import Soften, Statistics
from tests.generator.support import (
    FILE,
    HEIGHT,
    WIDTH,
    generator_of,
    image,
    interpreted,
    python,
)
from tests.support.structs import struct_for


def names(folder: Path) -> list[str]:
    return sorted([p.name for p in folder.iterdir()])


def test_files_of_a_generator(tmp_path: Path) -> None:
    done = python(
        *(FILE, "-g", "soften", "-o", tmp_path / "made", "-f", "soften_twice"),
        *(
            "-n",
            "twice",
            "-v",
            1,
            "-e",
            "object,c_header,stmt,assembly,llvm_assembly,c_source",
        ),
        *("target=x86-64-linux-avx2", "strength=2", "output.type=uint8", "fast=false"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    made = tmp_path / "made"
    ends = ("o", "h", "stmt", "s", "ll", "c")
    assert done.stdout.splitlines() == [str(made / f"twice.{end}") for end in ends]
    assert names(made) == sorted([f"twice.{end}" for end in ends])
    assert (
        "int soften_twice(struct halide_buffer_t *_image_buffer, uint8_t _lift, "
        "struct halide_buffer_t *_output_buffer);" in (made / "twice.h").read_text()
    )
    assert "uint8_t _lift, " in (made / "twice.c").read_text()
    assert "parallel" not in (made / "twice.stmt").read_text()
    assert (made / "twice.o").read_bytes()[:4] == b"\x7fELF"


def shared(folder: Path, *files: Path) -> ctypes.CDLL:
    """Object files and libraries as a library of this process."""
    made = folder / "made.so"
    words = ["-shared", "-o", made, "-Wl,--whole-archive", *files]
    words += ["-Wl,--no-whole-archive", "-lpthread", "-lm"]
    subprocess.run([HOST.tool("gcc"), *map(str, words)], check=True)
    return ctypes.CDLL(str(made))


def test_the_library_computes_what_the_interpreter_does(tmp_path: Path) -> None:
    """For one target, and for two of which it chooses."""
    source = image(HEIGHT, WIDTH)
    (exact,) = interpreted(
        Soften,
        {"output.type": "uint16", "turn": "half"},
        {"image": source, "lift": 7},
        (WIDTH, HEIGHT),
    )
    host = str(hl.get_host_target())
    plain = f"{hl.get_host_target().arch.value}-64-linux"
    for i, targets in enumerate((host, f"{host},{plain}")):
        folder = tmp_path / str(i)
        words = ["-g", "soften", "-o", str(folder), f"target={targets}", "turn=half"]
        run([*words, "output.type=uint16"])
        assert names(folder) == ["soften.a", "soften.h"]
        library = shared(folder, folder / "soften.a")
        found = np.zeros_like(exact)
        given, output = struct_for(source), struct_for(found)
        code = library.soften(
            ctypes.byref(given), ctypes.c_uint8(7), ctypes.byref(output)
        )
        assert code == 0
        np.testing.assert_array_equal(found, exact)


def test_several_outputs_in_one_function(tmp_path: Path) -> None:
    source = image(3, HEIGHT, WIDTH)
    params = {"image.type": "uint8", "weighted": "true"}
    inputs = {"image": source, "weight": 0.75}
    exact = interpreted(generator_of(Statistics), params, inputs, (WIDTH, HEIGHT), ())
    words = [f"{name}={value}" for name, value in params.items()]
    run(["-g", "statistics", "-o", str(tmp_path), *words, "-e", "object,c_header"])
    header = (tmp_path / "statistics.h").read_text()
    assert (
        "int statistics(struct halide_buffer_t *_image_buffer, float _weight, "
        "struct halide_buffer_t *_pixels_0_buffer, struct halide_buffer_t "
        "*_pixels_1_buffer, struct halide_buffer_t *_total_buffer);" in header
    )
    library = shared(tmp_path, tmp_path / "statistics.o")
    found = [np.zeros_like(e) for e in exact]
    buffers = [struct_for(a) for a in (source, *found)]
    given, *outputs = [ctypes.byref(b) for b in buffers]
    assert library.statistics(given, ctypes.c_float(0.75), *outputs) == 0
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_objects_for_several_targets(tmp_path: Path) -> None:
    targets = "arm-64-linux-arm_dot_prod,arm-64-linux"
    words = [f"target={targets}", "-e", "object,c_header", "output.type=uint8"]
    files = run(["-g", "plain", "-o", str(tmp_path), *words])
    ends = ["-arm-64-linux-arm_dot_prod.o", "-arm-64-linux.o", ".o", ".h"]
    assert files == [str(tmp_path / f"plain{end}") for end in ends]
    assert names(tmp_path) == sorted([f"plain{end}" for end in ends])


def test_files_for_windows(tmp_path: Path) -> None:
    words = ["-g", "soft", "-o", str(tmp_path), "target=x86-64-windows"]
    run([*words, "-e", "object,static_library,c_header"])
    assert names(tmp_path) == ["soft.h", "soft.lib", "soft.obj"]


def test_automatic_schedules_are_written(tmp_path: Path) -> None:
    words = ["-g", "outline", "-o", str(tmp_path), "-e", "schedule,c_header"]
    run([*words, "-p", "autoschedule_mullapudi2016", "-s", "Mullapudi2016"])
    found = (tmp_path / "outline.schedule.py").read_text()
    compile(found, "outline.schedule.py", "exec")
    assert "def schedule(" in found and "vectorize" in found


def test_builds_may_ask_for_a_schedule_that_no_scheduler_found(tmp_path: Path) -> None:
    run(["-g", "outline", "-o", str(tmp_path), "-e", "schedule"])
    found = (tmp_path / "outline.schedule.py").read_text()
    assert found.startswith("# No automatic scheduler was asked")
    compile(found, "outline.schedule.py", "exec")


def test_the_run_time_alone(tmp_path: Path) -> None:
    """An object without a run time, linked with one that has nothing else."""
    folder = str(tmp_path)
    run(["-r", "rt", "-o", folder, "-e", "static_library,object", "target=host"])
    assert names(tmp_path) == ["rt.a", "rt.o"]
    words = ["-o", folder, "-e", "object", "target=host-no_runtime"]
    run(["-g", "soften", *words, "output.type=uint8"])
    source = image(HEIGHT, WIDTH)
    params = {"output.type": "uint8"}
    (exact,) = interpreted(
        Soften, params, {"image": source, "lift": 0}, (WIDTH, HEIGHT)
    )
    for rest in ("rt.o", "rt.a"):
        (tmp_path / rest[3:]).mkdir()
        library = shared(tmp_path / rest[3:], tmp_path / "soften.o", tmp_path / rest)
        found = np.zeros_like(exact)
        given, output = struct_for(source), struct_for(found)
        code = library.soften(
            ctypes.byref(given), ctypes.c_uint8(0), ctypes.byref(output)
        )
        assert code == 0
        np.testing.assert_array_equal(found, exact)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("-h", "-help", "--help"):
        assert run([word]) == []
        assert capsys.readouterr().out == USAGE


def test_messages_go_to_the_standard_error(tmp_path: Path) -> None:
    done = python(FILE, "-g", "soften", "-o", tmp_path, "radius=wide")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "filters.py: the GeneratorParam 'radius' is of type int; it cannot be 'wide'\n"
    )
    assert names(tmp_path) == []


def test_one_generator_needs_no_name(tmp_path: Path) -> None:
    file = tmp_path / "alone.py"
    text = """
import parhelion as hl
x = hl.Var("x")
@hl.generator()
class alone:
    out = hl.OutputBuffer(int, 1)
    def generate(self):
        self.out[x] = x
hl.main()
"""
    file.write_text(text)
    done = python(file, "-o", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert names(tmp_path / "out") == ["alone.a", "alone.h"]


def test_time_runs_out(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    text = """
import time
import parhelion as hl
@hl.generator(name="slow")
class Slow:
    out = hl.OutputBuffer(int, 1)
    def generate(self):
        time.sleep(100)
hl.main()
"""
    file.write_text(text)
    done = python(file, "-o", tmp_path / "out", "-t", "0.5")
    assert done.returncode == 1
    assert done.stderr == "stopped after 0.5 seconds (-t)\n"


def test_no_kinds_are_those_by_default(tmp_path: Path) -> None:
    words = ["-g", "soften", "-o", str(tmp_path), "output.type=uint8"]
    files = run([*words, "-e", ""])
    assert [Path(f).name for f in files] == ["soften.h", "soften.a"]


GIVEN = ["-g", "soften", "-o", "out"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-q", "3"], "there is no option -q"),
        (["-g"], "the option -g lacks its value"),
        (["-g", "-o", "out"], "the option -g lacks its value"),
        ([*GIVEN, "-g", "plain"], "the option -g is given twice"),
        (["-g", "soften"], "no folder for the files is given"),
        ([*GIVEN, "fast"], "'fast' is neither an option nor PARAM=VALUE"),
        ([*GIVEN, "fast=1", "fast=0"], "'fast' is given twice"),
        ([*GIVEN, "target=vax"], "the target 'vax' has the unknown part 'vax'"),
        (
            [*GIVEN, "-e", "pytorch_wrapper"],
            "-e pytorch_wrapper: files of that kind are not built by Parhelion",
        ),
        (
            [*GIVEN, "-e", "registration"],
            "-e registration: files of that kind are not built by Parhelion",
        ),
        ([*GIVEN, "-e", "book"], "-e book: there are no files of that kind"),
        ([*GIVEN, "-t", "soon"], "-t soon: write a number of seconds"),
        ([*GIVEN, "-d", "1"], "gradient modules (-d 1) are not available"),
        (["-g", "none", "-o", "out"], "there is no Generator 'none'"),
        (
            [*GIVEN, "-s", "Parhelion", "autoscheduler=Mullapudi2016"],
            "two automatic schedulers are named, 'Parhelion' and 'Mullapudi2016'",
        ),
        ([*GIVEN, "-p", "libnone.so"], "there is no plugin 'libnone.so'"),
        (
            [*GIVEN, "target=x86-64-linux-avx2,x86-64-linux", "-e", "stmt"],
            "-e stmt is for one target; 2 are given",
        ),
        (
            [*GIVEN, "target=arm-64-linux,arm-64-linux"],
            "the target arm-64-linux is given twice",
        ),
        (
            ["-r", "rt", "-o", "out", "-e", "stmt"],
            "the run time (-r) is written as an object file or a static library",
        ),
        (
            [*GIVEN, "-f", "a b", "output.type=int8"],
            "'a b' is no name for a C function",
        ),
    ],
)
def test_messages(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hl.HalideError) as caught:
        run(words)
    assert caught.value.what == message


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("no folder")
    with pytest.raises(hl.HalideError, match="^a file cannot be written: "):
        run(["-g", "soften", "-o", str(tmp_path / "out"), "output.type=int8"])
