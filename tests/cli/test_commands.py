"""The command line: each command as a user types it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from apps import blur, hist
from apps.common import read_image

click = pytest.importorskip("click")
iio = pytest.importorskip("imageio.v3")

from click.testing import CliRunner  # noqa: E402

from parhelion.cli.main import commands  # noqa: E402
from parhelion.cli.problem import Problem  # noqa: E402
from parhelion.errors import HalideError  # noqa: E402

ROOT = Path(__file__).parent.parent.parent
PHOTO = ROOT / "apps" / "data" / "astronaut.png"
BLUR, HIST = str(ROOT / "apps" / "blur.py"), str(ROOT / "apps" / "hist.py")

OWN = """
import parhelion as hl
x, y, c = hl.vars("x y c")
picture = hl.ImageParam(hl.Float(32), 3, "picture")
gain = hl.Param(hl.Float(32), "gain", 1.0)
bright, dark = hl.Func("bright"), hl.Func("dark")
bright[x, y, c] = hl.min(picture[x, y, c] * gain, 1.0)
dark[x, y, c] = picture[x, y, c] / 2.0
"""


def said(*words: object) -> str:
    """What a command prints, if it ends well."""
    done = CliRunner().invoke(commands, [str(w) for w in words])
    if done.exception is not None:
        raise done.exception
    assert done.exit_code == 0
    return str(done.output)


def refused(*words: object) -> str:
    """What a command that fails says."""
    with pytest.raises((Problem, HalideError)) as caught:
        said(*words)
    return str(caught.value)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def test_help_tells_of_every_command() -> None:
    told = said("--help")
    for name in ("run", "bench", "compile", "schedule", "show", "doctor", "cache"):
        assert name in told
        assert "Usage" in said(name, "--help")


def test_show_writes_a_page(own: Path, tmp_path: Path) -> None:
    page = tmp_path / "made" / "bright.html"
    words = ("show", f"{own}:bright", "-o", page, "--param", "gain=2")
    assert said(*words) == f"{page}: {page.stat().st_size} bytes\n"
    text = page.read_text(encoding="utf-8")
    for part in ('data-name="picture"', 'data-name="bright"', "produce bright"):
        assert part in text
    assert "order of evaluation, 16 × 16 × 1" in text
    assert "bright(x, y, c) = min(picture(x, y, c)*gain, 1.0f)" in text
    # Too large to be watched: the page says so.
    said(*words, "--size", "300x300x3")
    assert "more than 50000 loads and stores" in page.read_text(encoding="utf-8")
    assert "the output has 3 dimensions" in refused(*words, "--size", "8")
    assert "cannot be written" in refused("show", f"{own}:bright", "-o", tmp_path)


def test_run_an_application(tmp_path: Path) -> None:
    grey = read_image(PHOTO)[1]
    iio.imwrite(tmp_path / "grey.png", grey)
    out = tmp_path / "made" / "out.png"
    told = said("run", BLUR, tmp_path / "grey.png", out, "--schedule", "tiled")
    assert told.startswith(f"{out}: 510 x 510, ready in ")
    found = np.asarray(iio.imread(out))
    assert found.dtype == np.uint16
    # 255 is 65535 in 16 bits, where sums of three may wrap.
    np.testing.assert_array_equal(found, blur.with_numpy(grey.astype(np.uint16) * 257))


def test_run_with_a_pipeline_of_ones_own(own: Path, tmp_path: Path) -> None:
    for suffix, exact in (("png", False), ("tiff", True), ("npy", True)):
        out = tmp_path / f"out.{suffix}"
        said("run", f"{own}:bright", PHOTO, out, "--param", "gain=0.5")
        found = np.load(out) if suffix == "npy" else np.asarray(iio.imread(out))
        if suffix == "npy":
            found = np.moveaxis(found, 0, 2)
        wanted = np.asarray(iio.imread(PHOTO)) / np.float32(255) * np.float32(0.5)
        if exact:
            np.testing.assert_allclose(found, wanted, atol=1e-6)
        else:
            assert found.dtype == np.uint8
            assert np.abs(found - wanted * 255).max() <= 0.5 + 1e-3


def test_wide_colours_become_bytes_in_png(tmp_path: Path) -> None:
    file = tmp_path / "wide.py"
    text = OWN.replace("hl.Float(32), 3", "hl.UInt(16), 3").replace("/ 2.0", "/ 2")
    file.write_text(text)
    out = tmp_path / "out.png"
    said("run", f"{file}:dark", PHOTO, out)
    found, whole = np.asarray(iio.imread(out)), np.asarray(iio.imread(PHOTO))
    assert found.dtype == np.uint8
    assert np.abs(found - whole / 2.0).max() <= 1


def test_run_gives_the_size_that_is_asked_for(own: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    said("run", f"{own}:dark", PHOTO, out, "--size", "100x50x3")
    assert np.load(out).shape == (3, 50, 100)


def test_run_schedules_by_itself(tmp_path: Path) -> None:
    plain, auto = tmp_path / "plain.npy", tmp_path / "auto.npy"
    said("run", HIST, PHOTO, plain, "--schedule", "rows")
    said("run", HIST, PHOTO, auto)
    np.testing.assert_array_equal(np.load(plain), np.load(auto))
    assert (
        np.abs(np.load(plain).astype(int) - hist.process(read_image(PHOTO))).max() <= 2
    )


def test_run_computes_what_the_image_is_large_enough_for(tmp_path: Path) -> None:
    """A filter that reads to all sides, and one that makes a smaller picture."""
    file = tmp_path / "parts.py"
    file.write_text(
        """
import parhelion as hl
x, y = hl.vars("x y")
picture = hl.ImageParam(hl.UInt(8), 2, "picture")
around, half = hl.funcs("around half")
around[x, y] = hl.max(picture[x - 3, y], picture[x + 1, y + 2])
half[x, y] = picture[2 * x, 2 * y] / 2 + picture[2 * x + 1, 2 * y + 1] / 2
"""
    )
    grey = np.random.default_rng(3).integers(0, 256, (41, 64), np.uint8)
    np.save(tmp_path / "grey.npy", grey)
    out = tmp_path / "out.npy"
    said("run", f"{file}:around", tmp_path / "grey.npy", out)
    np.testing.assert_array_equal(
        np.load(out), np.maximum(grey[:-2, :-4], grey[2:, 4:])
    )
    said("run", f"{file}:half", tmp_path / "grey.npy", out)
    np.testing.assert_array_equal(
        np.load(out), grey[:40:2, ::2] // 2 + grey[1:40:2, 1::2] // 2
    )


def test_run_many_stages_without_a_schedule(tmp_path: Path) -> None:
    """Whose code, all inlined, would fill the memory."""
    program = ROOT / "apps" / "local_laplacian.py"
    out = tmp_path / "out.png"
    told = said("run", program, PHOTO, out, "-p", "alpha=0.2")
    assert "512 x 512 x 3, ready in " in told
    assert iio.imread(out).shape == (512, 512, 3)


def test_what_is_no_number_is_dark(tmp_path: Path) -> None:
    file = tmp_path / "ratio.py"
    file.write_text(OWN.replace("picture[x, y, c] / 2.0", "picture[x, y, c] / 0.0"))
    np.save(tmp_path / "zero.npy", np.zeros((3, 4, 5), np.float32))
    said("run", f"{file}:dark", tmp_path / "zero.npy", tmp_path / "out.png")
    assert not np.asarray(iio.imread(tmp_path / "out.png")).any()


def test_compile(own: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "made" / "bright"
    told = said(
        *("compile", f"{own}:bright", "-o", prefix, "--emit", "object,header,c,stmt"),
        *("--target", "arm-64-linux"),
    )
    assert [line.split(":")[0] for line in told.splitlines()] == [
        f"{prefix}.{end}" for end in ("o", "h", "c", "stmt")
    ]
    assert "int bright(struct" in prefix.with_suffix(".c").read_text()
    assert (prefix.with_suffix(".o")).read_bytes()[:4] == b"\x7fELF"
    assert "int bright(" in prefix.with_suffix(".h").read_text()


def test_compile_schedules_what_has_no_schedule(tmp_path: Path) -> None:
    prefix = tmp_path / "blur"
    assert refused("compile", BLUR, "-o", prefix) == (
        "nothing says how blur is to be computed: it has 2 Funcs and no schedule\n"
        "  hint: give --schedule NAME, a schedule of its file, or --size WIDTHxHEIGHT "
        "for an automatic one"
    )
    said("compile", BLUR, "-o", prefix, "--size", "640x480", "-e", "stmt")
    assert "parallel" in prefix.with_suffix(".stmt").read_text()


def test_schedule(own: Path, tmp_path: Path) -> None:
    told = said("schedule", f"{own}:bright", PHOTO, "--explain")
    assert "def schedule(pipeline):" in told
    out = tmp_path / "found.py"
    words = ("--size", "640x480x3", "--scheduler", "Mullapudi2016", "--threads", 4)
    told = said("schedule", f"{own}:bright", *words, "-o", out)
    assert told == f"wrote {out}\n"
    compile(out.read_text(), str(out), "exec")


def test_bench(own: Path) -> None:
    told = said("bench", f"{own}:bright", PHOTO, "--seconds", 0.1)
    last = told.splitlines()[-1]
    found = re.match(
        r"bright: ([\d.]+) ms at least.* ([\d.]+) megapixels a second", last
    )
    assert found is not None
    # The channels of a pixel are one pixel; the time is rounded to microseconds.
    least, rate = map(float, found.groups())
    height, width, _ = iio.imread(PHOTO).shape
    assert rate == pytest.approx(
        width * height / least / 1e3, rel=0.5e-3 / least + 0.01
    )


def test_doctor() -> None:
    told = said("doctor")
    assert told.splitlines()[-1].split() == ["a", "pipeline", "runs"]
    assert "cache" in told and "GPU" in told


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: Path) -> None:
    assert said("cache", "info") == "the cache is off (PARHELION_CACHE)\n"
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "kept"))
    said("run", f"{own}:dark", PHOTO, tmp_path / "out.npy")
    told = said("cache", "info").splitlines()
    assert told[0] == f"folder  {tmp_path / 'kept'}"
    assert told[1].split()[0] == "files" and int(told[1].split()[1]) >= 1
    assert said("cache", "clear").startswith("deleted ")
    assert said("cache", "info").splitlines()[1].split() == ["files", "0"]


# imageio asks all its plugins about what is no image, old ones too.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_messages(own: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    assert refused("run", "none.py", PHOTO, out) == "there is no file 'none.py'"
    assert refused("run", f"{own}:none", PHOTO, out).startswith(
        f"{own} has no 'none'\n  there is: "
    )
    assert refused("run", own, PHOTO, out) == (
        f"{own} has several pipelines: say {own}:NAME\n  there is: bright, dark"
    )
    assert refused("run", f"{own}:dark", out) == (
        "dark needs an image for 'picture'\n"
        "  hint: files are given in the order of the inputs, or as NAME=FILE; the last "
        f"one, {out}, is the output"
    )
    assert refused("run", f"{own}:dark", "none.png", out) == (
        "there is no file 'none.png'"
    )
    assert refused("run", tmp_path, PHOTO, out) == (
        f"'{tmp_path}' is a folder; a file of Python is wanted"
    )
    assert refused("run", f"{own}:dark", tmp_path, out) == (
        f"the folder '{tmp_path}' has no picture"
    )
    assert refused("run", f"{own}:dark", PHOTO, tmp_path / "o.xyz").startswith(
        f"{tmp_path / 'o.xyz'}: the name of an image file says what kind it is\n"
        "  there is: .png"
    )
    four = ROOT / "apps" / "interpolate.py"
    assert refused("run", four, PHOTO, out, "--schedule", "root") == (
        "the image for 'input' is too small for an output of its size: 0 to 3 of its "
        "dimension 2 are needed, which has 0 to 2\n"
        "  hint: --size says what is to be computed, if it is not as large as the image"
    )
    bad = tmp_path / "bad.png"
    bad.write_text("no image")
    assert refused("run", f"{own}:dark", bad, out) == (
        f"{bad} is no image file that can be read"
    )
    assert refused("run", f"{own}:bright", PHOTO, out, "-p", "lift=2") == (
        "bright has no Param 'lift'\n  there is: gain"
    )
    assert refused("run", f"{own}:bright", PHOTO, out, "-p", "gain=big") == (
        "'big' is no value for 'gain' of type float32"
    )
    assert refused("run", BLUR, PHOTO, out, "--schedule", "none").startswith(
        f"{BLUR} has no schedule 'none'\n  there is: inline, root, tiled"
    )
    assert refused("compile", f"{own}:dark", "--emit", "shader").startswith(
        "--emit shader: no such kind of file\n  there is: object, library"
    )
    assert "unknown part 'vax'" in refused(
        "compile", f"{own}:dark", "-o", tmp_path / "d", "--target", "vax-64-linux"
    )
    assert refused("schedule", f"{own}:dark") == (
        "for what size is the schedule to be?\n"
        "  hint: give the input images, or --size WIDTHxHEIGHT"
    )


def test_as_a_program(tmp_path: Path) -> None:
    """Messages go to the standard error, without a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "parhelion", "run", "none.py", "a.png", "b.png"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "parhelion: there is no file 'none.py'\n"
