"""``parhelion build``, and the other commands on Generators, as a user types them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")

from click.testing import CliRunner

from parhelion.cli.main import commands
from parhelion.cli.problem import Problem
from parhelion.errors import HalideError
from tests.generator.support import python
from tests.generator.test_extension import linked, loaded

OWN = """
import parhelion as hl
x, y = hl.vars("x y")

@hl.generator(name="scale_by")
class ScaleBy(hl.Generator):
    factor = hl.GeneratorParam(2)
    picture = hl.InputBuffer(hl.UInt(8), 2)
    lift = hl.InputScalar(hl.UInt(8))
    made = hl.OutputBuffer(hl.UInt(8), 2)

    def generate(self):
        self.made[x, y] = self.picture[x, y] * self.factor + self.lift

@hl.generator(name="negative")
class Negative(hl.Generator):
    picture = hl.InputBuffer(hl.UInt(8), 2)
    made = hl.OutputBuffer(hl.UInt(8), 2)

    def generate(self):
        self.made[x, y] = 255 - self.picture[x, y]

ramp, steep = hl.funcs("ramp steep")
ramp[x, y] = x + 2 * y
steep[x, y] = ramp[x, y] * 3 + ramp[x + 1, y]
"""


def said(*words: object) -> str:
    done = CliRunner().invoke(commands, [str(w) for w in words])
    if done.exception is not None:
        raise done.exception
    return str(done.output)


def refused(*words: object) -> str:
    with pytest.raises((Problem, HalideError)) as caught:
        said(*words)
    return str(caught.value)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


PIXELS = np.arange(12, dtype=np.uint8).reshape(3, 4)


@linked
def test_build_a_file_of_generators(own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "built"
    told = said("build", own, "-o", folder).splitlines()
    module = folder / "own.abi3.so"
    assert [line.split(":")[0] for line in told] == [
        str(module),
        str(folder / "own.pyi"),
    ]
    made = loaded(module)
    found = np.zeros_like(PIXELS)
    made.scale_by(PIXELS, 7, found)
    np.testing.assert_array_equal(found, PIXELS * 2 + 7)
    made.negative(picture=PIXELS, made=found)
    np.testing.assert_array_equal(found, 255 - PIXELS)


@linked
def test_build_one_with_parameters(own: Path, tmp_path: Path) -> None:
    for i, name in enumerate(("scale_by", "ScaleBy")):
        folder = tmp_path / str(i)
        said("build", f"{own}:{name}", "factor=3", "-o", folder, "--module", "own3")
        found = np.zeros_like(PIXELS)
        loaded(folder / "own3.abi3.so").scale_by(PIXELS, 1, found)
        np.testing.assert_array_equal(found, PIXELS * 3 + 1)


@linked
def test_build_a_func(own: Path, tmp_path: Path) -> None:
    said("build", f"{own}:ramp", "-o", tmp_path)
    found = np.zeros((3, 4), np.int32)
    loaded(tmp_path / "ramp.abi3.so").ramp(found)
    np.testing.assert_array_equal(found, np.add.outer(2 * np.arange(3), np.arange(4)))


@linked
def test_build_schedules_what_nothing_else_does(own: Path, tmp_path: Path) -> None:
    assert refused("build", f"{own}:steep", "-o", tmp_path).startswith(
        "nothing says how steep is to be computed"
    )
    said("build", f"{own}:steep", "-o", tmp_path, "--size", "640x480")
    found = np.zeros((480, 640), np.int32)
    loaded(tmp_path / "steep.abi3.so").steep(found)
    ramp = np.add.outer(2 * np.arange(480), np.arange(641))
    np.testing.assert_array_equal(found, 3 * ramp[:, :-1] + ramp[:, 1:])


def test_run_and_compile_a_generator(own: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", PIXELS)
    words = ("run", f"{own}:scale_by", tmp_path / "in.npy", tmp_path / "out.npy")
    said(*words, "--param", "lift=5")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), PIXELS * 2 + 5)
    said("compile", f"{own}:negative", "-o", tmp_path / "negative", "-e", "header")
    assert (
        "int negative(struct halide_buffer_t *_picture_buffer"
        in (tmp_path / "negative.h").read_text()
    )


def test_messages(own: Path, tmp_path: Path) -> None:
    assert "Usage" in said("build", "--help")
    assert refused("build", "none.py") == "there is no file 'none.py'"
    assert refused("build", own, "factor=3") == (
        f"factor=3: of which Generator? Say {own}:NAME\n  there is: scale_by, negative"
    )
    assert refused("build", f"{own}:scale_by", "factor") == "factor: write PARAM=VALUE"
    assert refused("build", f"{own}:ramp", "factor=3") == (
        "factor=3: there is no Generator that takes parameters"
    )
    assert refused("build", own, "--schedule", "fast") == (
        "Generators schedule their pipelines: --schedule has no meaning"
    )
    assert refused("run", f"{own}:negative", "a", "b.png", "--schedule", "fast") == (
        "the Generator 'negative' schedules its pipeline by itself"
    )
    assert refused("build", f"{own}:none") == (
        f"{own} has no 'none'\n"
        "  there is: ScaleBy, Negative, ramp, steep, scale_by, negative"
    )
    assert refused("build", f"{own}:scale_by", "factor=big").startswith(
        "the GeneratorParam 'factor' is of type int; it cannot be 'big'"
    )


def test_as_a_program(tmp_path: Path) -> None:
    done = python("-m", "parhelion", "build", "none.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "parhelion: there is no file 'none.py'\n"


def test_generators_without_a_schedule(tmp_path: Path) -> None:
    """The advice is one that can be followed: --schedule is for others."""
    file = tmp_path / "stages.py"
    file.write_text("""
import parhelion as hl
x, y = hl.vars("x y")

@hl.generator(name="stages")
class Stages(hl.Generator):
    picture = hl.InputBuffer(hl.UInt(8), 2)
    made = hl.OutputBuffer(hl.UInt(8), 2)

    def generate(self):
        between = hl.Func("between")
        between[x, y] = self.picture[x, y] + 1
        self.made[x, y] = between[x, y] + between[x + 1, y]
""")
    for command in ("compile", "build"):
        assert refused(command, file, "-o", tmp_path / "made") == (
            "nothing says how stages is to be computed: it has 2 Funcs and no "
            "schedule\n  hint: give --size WIDTHxHEIGHT for an automatic one, or "
            "schedule it in its Generator"
        )
    prefix = tmp_path / "made" / "stages"
    said("compile", file, "-o", prefix, "--size", "640x480", "-e", "stmt")
    assert "parallel" in prefix.with_suffix(".stmt").read_text()
