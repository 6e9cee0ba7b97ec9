"""Files of pipelines on the command line: which one is meant, and what is wrong."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl

pytest.importorskip("click")

from parhelion.cli.main import main
from tests.cli.support import done, refused

FUNC = """
import parhelion as hl
x, y = hl.vars("x y")
picture = hl.ImageParam(hl.UInt(8), 2, "picture")
lift = hl.Param(hl.UInt(8), "lift")
half, result = hl.funcs("half result")
half[x, y] = picture[x, y] / 2
result[x, y] = half[x, y] + lift
same = result
"""

GENERATOR = """
import parhelion as hl
x, y = hl.vars("x y")

@hl.alias(faint_NAME={"times": 1})
@hl.generator(name="bright_NAME")
class Bright(hl.Generator):
    times = hl.GeneratorParam(2)
    image = hl.InputBuffer(hl.UInt(8), 2)
    lift = hl.InputScalar(hl.UInt(8))
    brighter = hl.OutputBuffer(None, 2)

    def generate(self):
        kind = self.brighter.type()
        raised = hl.u16(self.image[x, y]) * self.times + self.lift
        self.brighter[x, y] = hl.saturating_cast(kind, raised)
"""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(7).integers(0, 256, (9, 12), np.uint8)
    np.save(tmp_path / "in.npy", pixels)
    return tmp_path / "in.npy"


def ended(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """The code with which the program ends."""
    monkeypatch.setattr(sys, "argv", ["parhelion", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_the_func_that_no_other_reads(tmp_path: Path, image: Path) -> None:
    file, out = tmp_path / "func.py", tmp_path / "out.npy"
    file.write_text(FUNC)
    done("run", file, image, out, "-p", "lift=3")
    np.testing.assert_array_equal(np.load(out), np.load(image) // 2 + 3)
    file.write_text(f"{FUNC}whole = hl.Pipeline([result])\n")
    done("run", file, image, out, "-p", "lift=4")
    np.testing.assert_array_equal(np.load(out), np.load(image) // 2 + 4)
    file.write_text(f"{FUNC}other = hl.Func('other')\nother[x, y] = half[x, y]\n")
    assert refused("run", file, image, out) == (
        f"{file} has several pipelines: say {file}:NAME\n"
        "  there is: half, result, same, other"
    )


def test_a_param_without_a_value(tmp_path: Path, image: Path) -> None:
    file = tmp_path / "func.py"
    file.write_text(FUNC)
    assert refused("run", file, image, tmp_path / "out.npy") == (
        "the Param 'lift' has no value\n  hint: say -p lift=VALUE"
    )


def test_show_tells_of_a_param_without_a_value(tmp_path: Path) -> None:
    file, page = tmp_path / "func.py", tmp_path / "page.html"
    file.write_text(FUNC)
    assert done("show", file, "-o", page).stderr == (
        "parhelion: note: the Param 'lift' has no value, without which the order of "
        "evaluation is not known\n  hint: say -p lift=VALUE\n"
    )
    assert "core.py" not in page.read_text(encoding="utf-8")
    assert not done("show", file, "-o", page, "-p", "lift=3").stderr


def test_generators_take_their_params(tmp_path: Path, image: Path) -> None:
    file, out = tmp_path / "made.py", tmp_path / "out.npy"
    file.write_text(GENERATOR.replace("NAME", "run"))
    pixels = np.load(image).astype(np.uint16)
    words = ("run", f"{file}:bright_run", image, out, "-p", "lift=30")
    done(*words, "-p", "brighter.type=uint16")
    np.testing.assert_array_equal(np.load(out), pixels * 2 + 30)
    done(*words, "-p", "type=uint8", "-p", "times=1")
    found = np.load(out)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.minimum(pixels + 30, 255))
    # Under its alias.
    done("run", f"{file}:faint_run", *words[2:], "-p", "type=uint16")
    np.testing.assert_array_equal(np.load(out), pixels + 30)
    assert "there is: Bright, bright_run, faint_run" in refused(
        "run", f"{file}:dim_run", image, out
    )
    prefix = tmp_path / "made" / "bright"
    header = ("compile", f"{file}:Bright", "-o", prefix, "-e", "header")
    done(*header, "-p", "type=uint16")
    assert "bright_run" in prefix.with_suffix(".h").read_text()
    assert refused(*header, "-p", "type=uint16", "-p", "size=2") == (
        "--param size=2: bright_run has no such GeneratorParam"
    )
    code = done(
        *("schedule", f"{file}:Bright", "--size", "640x480", "-p", "type=uint8"),
    ).stdout
    assert "def schedule(pipeline)" in code


def test_the_automatic_scheduler_is_named_apart(tmp_path: Path, image: Path) -> None:
    file, out = tmp_path / "func.py", tmp_path / "out.npy"
    file.write_text(FUNC)
    for words in (("--auto", file, image), (file, image, "--scheduler", "Baseline")):
        done("run", *words, out, "-p", "lift=3")
        np.testing.assert_array_equal(np.load(out), np.load(image) // 2 + 3)
    told = refused("run", file, image, out, "-p", "lift=3", "--scheduler", "nope")
    assert told.startswith("there is no autoscheduler 'nope'\nlegal here:")


def test_messages_have_no_place_in_the_command_itself(
    tmp_path: Path, image: Path
) -> None:
    file = tmp_path / "func.py"
    file.write_text(FUNC)
    assert "-->" not in refused("run", file, image, tmp_path / "o.npy", "-p", "lift=-1")
    assert "-->" not in refused(
        "run", file, image, tmp_path / "o.npy", "-p", "lift=999"
    )
    # What is wrong in the file is shown there.
    file.write_text(f"{FUNC}result.vectorize(hl.Var('q'))\n")
    assert f"--> {file}:10" in refused("run", file, image, tmp_path / "o.npy")


def test_what_the_users_file_raises(tmp_path: Path, image: Path) -> None:
    file, out = tmp_path / "wrong.py", tmp_path / "out.npy"
    file.write_text("import parhelion as hl\n\ndef f():\n    return nope\n\nf()\n")
    assert refused("run", file, image, out) == (
        f"{file} fails\nTraceback (most recent call last):\n"
        f'  File "{file}", line 6, in <module>\n    f()\n'
        f'  File "{file}", line 4, in f\n    return nope\n           ^^^^\n'
        "NameError: name 'nope' is not defined"
    )
    file.write_text("def f(:\n")
    lines = refused("run", file, image, out).splitlines()
    assert lines[1] == f'  File "{file}", line 1' and len(lines) == 5
    assert lines[-1].startswith("SyntaxError: ")
    file.write_text("import no_such_module\n")
    assert refused("run", file, image, out).splitlines()[2:] == [
        f'  File "{file}", line 1, in <module>',
        "    import no_such_module",
        "ModuleNotFoundError: No module named 'no_such_module'",
    ]
    file.write_text("def algorithm(hl):\n    return 1 / 0\n")
    assert "importlib" not in (told := refused("run", file, image, out))
    assert f'  File "{file}", line 2, in algorithm' in told


def test_a_file_named_as_a_module_of_pythons(tmp_path: Path, image: Path) -> None:
    file, out = tmp_path / "types.py", tmp_path / "out.npy"
    file.write_text(FUNC)
    before = sys.modules["types"]
    done("run", f"{file}:half", image, out)
    assert sys.modules["types"] is before


def test_an_output_never_replaces_an_input(tmp_path: Path, image: Path) -> None:
    file = tmp_path / "func.py"
    file.write_text(FUNC)
    for word in (image, f"picture={image}"):
        assert refused("run", f"{file}:half", word, image) == (
            f"{image} is an input; the output would take its place"
        )
    assert refused("run", f"{file}:half", image) == (
        "half needs an image for 'picture'\n"
        "  hint: files are given in the order of the inputs, or"
        f" as NAME=FILE; the last one, {image}, is the output"
    )


def test_where_files_are_written(
    tmp_path: Path,
    image: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "my-filter.py"
    file.write_text(FUNC.replace("result", "output"))
    code = tmp_path / "new" / "found.py"
    done("schedule", file, "--size", "64x64", "-o", code)
    assert "def schedule" in code.read_text()
    folder = tmp_path / "lib"
    words = (
        "compile",
        file,
        "--size",
        "64x64",
        "-e",
        "header",
        "-o",
        f"{folder}/",
    )
    assert refused(*words) == (
        "'my-filter' cannot be the name of a function in C\n"
        "  hint: say --name my_filter"
    )
    done(*words, "--name", "my_filter")
    done(*words[:-1], folder, "--name", "my_filter")
    assert [one.name for one in folder.iterdir()] == ["my-filter.h"]
    assert refused("build", file, "--size", "64x64", "-o", folder) == (
        "'my-filter' cannot be the name of a function in C\n"
        "  hint: say --module my_filter"
    )
    inside = file / "code.py"
    assert ended(monkeypatch, "schedule", file, "--size", "64x64", "-o", inside) == 1
    assert capsys.readouterr().err == f"parhelion: {file}: File exists\n"


def test_numbers_out_of_range(
    tmp_path: Path, image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "func.py"
    file.write_text(FUNC)
    words = ("bench", f"{file}:half", image)
    assert ended(monkeypatch, *words, "--seconds", 0) == 2
    assert ended(monkeypatch, *words, "--threads", -3) == 2
    before = hl.get_num_threads()
    done(*words, "--seconds", 0.01, "--threads", 0)
    assert hl.get_num_threads() == before


def test_show_finds_a_size_that_can_be_watched(tmp_path: Path) -> None:
    file, page = tmp_path / "wide.py", tmp_path / "wide.html"
    file.write_text(
        "import parhelion as hl\n"
        "x, y = hl.vars('x y')\n"
        "r = hl.RDom([(0, 20), (0, 20)])\n"
        "f, g = hl.funcs('f g')\n"
        "f[x, y] = x + y\n"
        "g[x, y] = 0\n"
        "g[x, y] += f[x + r.x, y + r.y]\n"
        "f.compute_root()\n"
    )
    done("show", f"{file}:g", "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "order of evaluation, 4 × 4<" in text and "too many to watch" not in text
    done("show", f"{file}:g", "-o", page, "--size", "16x16")
    text = page.read_text(encoding="utf-8")
    assert "order of evaluation, 16 × 16<" in text and "too many to watch" in text


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_module_of_a_file_whose_name_is_none(tmp_path: Path) -> None:
    file = tmp_path / "my-filter.py"
    file.write_text(FUNC.replace("result", "output"))
    words = ("--size", "64x64", "--module", "my_filter_built")
    done("build", file, "-o", tmp_path, *words)
    stub = (tmp_path / "my_filter_built.pyi").read_text()
    assert "def my_filter_built(" in stub


def test_outputs_of_other_dimensions_are_shown(tmp_path: Path) -> None:
    file, page = tmp_path / "apart.py", tmp_path / "apart.html"
    file.write_text(
        "import parhelion as hl\n"
        "x, y = hl.vars('x y')\n"
        "row, square = hl.funcs('row square')\n"
        "row[x] = x\n"
        "square[x, y] = x + y\n"
        "both = hl.Pipeline([row, square])\n"
    )
    done("show", f"{file}:both", "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "order of evaluation, 16 × 16<" in text and "ph-error'" not in text
    assert "is given 2 extents" not in text
