"""Functions under `hl.jit` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.support import done, refused

iio: Any = pytest.importorskip("imageio.v3")

OWN = '''
from typing import Annotated

import numpy as np
import parhelion as hl


@hl.jit
def lift(image: Annotated[hl.Array, "yxc"], gain: float = 2.0, keep: str = "all"):
    """Brightens; keep: which half."""
    found = hl.clip(image * gain, 0, 255).astype(image.dtype)
    return found if keep == "all" else found[: image.shape[0] // 2]


@hl.jit
def small(image: Annotated[hl.Array, "yx"]):
    return image[::2, ::4]


@hl.jit
def both(image, other, mask=None):
    mixed = image // 2 + other // 2
    return mixed if mask is None else hl.where(mask, mixed, 0), image.max(axis=-1)


@hl.jit(static="power")
def raised(image, power: int):
    found = image
    for _ in range(power):
        found = found // 2
    return found


@hl.jit
def failing(image):
    return image + missing
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def picture(k: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(k).integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    iio.imwrite(tmp_path / "colours.png", picture(1, 20, 30, 3))
    return tmp_path / "colours.png"


@pytest.fixture
def grey(tmp_path: Path) -> Path:
    iio.imwrite(tmp_path / "grey.png", picture(2, 20, 30))
    return tmp_path / "grey.png"


def lifted(image: np.ndarray, gain: float) -> np.ndarray:
    return np.clip(image * np.float32(gain), 0, 255).astype(np.uint8)


def test_a_photograph_goes_in_as_imageio_reads_it(
    own: Path, colours: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.png"
    told = done("run", f"{own}:lift", colours, out).stdout
    assert told.startswith(f"{out}: 30 x 20 x 3, ready in ")
    assert np.array_equal(iio.imread(out), lifted(picture(1, 20, 30, 3), 2))
    done("run", f"{own}:lift", colours, out, "-p", "gain=0.5", "-p", "keep=top")
    assert np.array_equal(iio.imread(out), lifted(picture(1, 20, 30, 3), 0.5)[:10])


def test_the_axes_of_an_argument_say_what_a_picture_becomes(
    own: Path, colours: Path, grey: Path, tmp_path: Path
) -> None:
    """Colours are grey for two axes, and grey has three channels for three."""
    out = tmp_path / "out.png"
    done("run", f"{own}:lift", grey, out)
    wide = np.repeat(picture(2, 20, 30)[..., None], 3, axis=2)
    assert np.array_equal(iio.imread(out), lifted(wide, 2))
    done("run", f"{own}:small", colours, out)
    weighed = picture(1, 20, 30, 3) @ np.array([0.299, 0.587, 0.114])
    assert np.abs(iio.imread(out) - weighed[::2, ::4]).max() < 1
    opaque = np.dstack([picture(1, 20, 30, 3), picture(2, 20, 30)])
    iio.imwrite(tmp_path / "opaque.png", opaque)
    done("run", f"{own}:lift", tmp_path / "opaque.png", out)
    assert np.array_equal(iio.imread(out), lifted(picture(1, 20, 30, 3), 2))


def test_arrays_go_in_and_out_as_they_are(own: Path, tmp_path: Path) -> None:
    a, b = picture(3, 6, 8, 3), picture(4, 6, 8, 3)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.save(tmp_path / "mask.npy", a > 100)
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    told = done("run", f"{own}:both", *files, tmp_path / "out.npy").stdout
    assert "out_both_0.npy: 8 x 6 x 3" in told
    mixed = np.load(tmp_path / "out_both_0.npy")
    assert np.array_equal(mixed, a // 2 + b // 2)
    assert np.array_equal(np.load(tmp_path / "out_both_1.npy"), a.max(axis=-1))
    mask = f"mask={tmp_path / 'mask.npy'}"
    done("run", f"{own}:both", *files, mask, tmp_path / "out.npy")
    mixed = np.load(tmp_path / "out_both_0.npy")
    assert np.array_equal(mixed, np.where(a > 100, a // 2 + b // 2, 0))


def test_numbers_that_are_a_part_of_the_program(
    own: Path, grey: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.png"
    done("run", f"{own}:raised", grey, out, "-p", "power=3")
    assert np.array_equal(iio.imread(out), picture(2, 20, 30) // 8)
    words = refused("run", f"{own}:raised", grey, out)
    assert words == (
        "the argument 'power' of raised has no value\n  hint: say -p power=VALUE"
    )


def test_a_folder_of_pictures(own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for k, shape in enumerate([(20, 30, 3), (20, 30, 3), (10, 12)]):
        iio.imwrite(folder / f"{k}.png", picture(k, *shape))
    told = done("run", f"{own}:lift", folder, tmp_path / "out").stdout
    assert told.startswith(f"{tmp_path / 'out'}: 3 pictures, the last 12 x 10 x 3")
    for k in range(2):
        expected = lifted(picture(k, 20, 30, 3), 2)
        assert np.array_equal(iio.imread(tmp_path / "out" / f"{k}.png"), expected)
    assert iio.imread(tmp_path / "out" / "2.png").shape == (10, 12, 3)


def test_it_is_measured_beside_others(own: Path, colours: Path) -> None:
    own.write_text(OWN + "\nAGAINST = {'same': lambda image: lift(image, 3.0)}\n")
    words = ["bench", f"{own}:lift", colours, "--seconds", "0.01"]
    told = done(*words, "-p", "gain=3", "--against", "same").stdout
    assert "the results are equal" in told
    told = done(*words, "--against", "np.array(image)").stdout
    assert "the results differ by" in told


def test_its_schedule_and_its_page(own: Path, colours: Path, tmp_path: Path) -> None:
    assert "def schedule(pipeline" in done("schedule", f"{own}:lift", colours).stdout
    page = tmp_path / "page.html"
    done("show", f"{own}:lift", colours, "-o", page)
    assert "that of calls with images of this kind" in page.read_text()


def test_what_has_no_meaning_for_it(own: Path, colours: Path, tmp_path: Path) -> None:
    run = ["run", f"{own}:lift", colours, tmp_path / "out.png"]
    for option, value in [("--size", "3x3"), ("--schedule", "mine")]:
        words = refused(*run, option, value)
        assert words.startswith(f"{option} {value}: lift is a function of arrays")
    words = refused("schedule", f"{own}:lift", colours, "--measure", "3")
    assert words.startswith("--measure 3: lift is a function of arrays")
    assert "'lots' is no value for 'gain', which is 2.0" in refused(
        *run, "-p", "gain=lots"
    )
    assert "lift has no argument 'image' for a value" in refused(*run, "-p", "image=3")
    assert "lift needs an image for 'image'" in refused("schedule", f"{own}:lift")
    words = refused("run", f"{own}:failing", colours, tmp_path / "out.png")
    assert "name 'missing' is not defined" in words
    assert "cli/functions.py" not in words
    words = refused("compile", f"{own}:lift")
    assert "lift is a function of arrays, which is compiled for what it is" in words
    assert "lift.generator(np.empty((1080, 1920, 3), np.uint8))" in words
    words = refused("run", own, colours, tmp_path / "out.png")
    assert "own.py has several pipelines" in words
