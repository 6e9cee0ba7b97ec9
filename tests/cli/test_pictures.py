"""Image files of all kinds on the command line: what is read, and what is written."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")
iio = pytest.importorskip("imageio.v3")
Image = pytest.importorskip("PIL.Image")

from tests.cli.support import done, refused  # noqa: E402

ROOT = Path(__file__).parent.parent.parent

TEXT = """
import parhelion as hl
x, y, c = hl.vars("x y c")
grey = hl.ImageParam(hl.UInt(8), 2, "grey")
colour = hl.ImageParam(hl.UInt(8), 3, "colour")
flat, copied, faded, turned, wide, beyond, below = hl.funcs(
    "flat copied faded turned wide beyond below"
)
flat[x, y] = grey[x, y]
copied[x, y, c] = colour[x, y, c]
faded[x, y, c] = hl.u8(hl.u16(colour[x, y, c]) * colour[x, y, 3] / 255)
turned[x, y] = grey[y, x]
wide[x, y] = hl.i32(grey[x, y])
beyond[x, y] = 2.0 + grey[x, y]
below[x, y] = -1 - hl.i16(grey[x, y])
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "kinds.py"
    made.write_text(TEXT)
    return made


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, shape, np.uint8)


def test_narrow_images(file: Path, tmp_path: Path) -> None:
    """As few columns as channels do not make columns of the planes."""
    for width in (1, 2, 3, 4, 5):
        for kind in ("png", "tiff"):
            pixels = noise(7, width, 3)
            iio.imwrite(tmp_path / "in.png", pixels)
            out = tmp_path / f"out.{kind}"
            done("run", f"{file}:copied", tmp_path / "in.png", out)
            np.testing.assert_array_equal(iio.imread(out), pixels)


def test_opacity_is_read_where_the_pipeline_uses_it(file: Path, tmp_path: Path) -> None:
    pixels, out = noise(9, 12, 4), tmp_path / "out.png"
    iio.imwrite(tmp_path / "in.png", pixels)
    done("run", f"{file}:copied", tmp_path / "in.png", out)
    np.testing.assert_array_equal(iio.imread(out), pixels[..., :3])
    done("run", f"{file}:faded", tmp_path / "in.png", out)
    exact = pixels[..., :3].astype(int) * pixels[..., 3:] // 255
    np.testing.assert_array_equal(iio.imread(out), exact)
    # Arrays have planes, none of which is opacity.
    np.save(tmp_path / "in.npy", np.moveaxis(pixels, 2, 0))
    done("run", f"{file}:copied", tmp_path / "in.npy", out)
    np.testing.assert_array_equal(iio.imread(out), pixels)


def test_an_input_that_must_have_opacity(tmp_path: Path) -> None:
    pixels, out = noise(16, 24, 4), tmp_path / "out.png"
    pixels[..., 3] = 255
    iio.imwrite(tmp_path / "in.png", pixels)
    place = ROOT / "apps" / "interpolate.py"
    done("run", place, tmp_path / "in.png", out, "--schedule", "root")
    # What is opaque stays as it is.
    np.testing.assert_allclose(iio.imread(out), pixels[..., :3], atol=1)


def test_grey_with_opacity(file: Path, tmp_path: Path) -> None:
    pixels, out = noise(9, 12, 2), tmp_path / "out.png"
    Image.fromarray(pixels).save(tmp_path / "in.png")
    done("run", f"{file}:flat", tmp_path / "in.png", out)
    np.testing.assert_array_equal(iio.imread(out), pixels[..., 0])
    done("run", f"{file}:copied", tmp_path / "in.png", out)
    np.testing.assert_array_equal(iio.imread(out), np.stack([pixels[..., 0]] * 3, 2))


def test_photographs_are_upright(file: Path, tmp_path: Path) -> None:
    smooth = np.linspace(0, 255, 16 * 24).astype(np.uint8).reshape(16, 24)
    image = Image.fromarray(np.stack([smooth] * 3, 2))
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "in.jpg", exif=exif, quality=100)
    done("run", f"{file}:copied", tmp_path / "in.jpg", tmp_path / "out.png")
    found = iio.imread(tmp_path / "out.png")
    assert found.shape == (24, 16, 3)
    np.testing.assert_allclose(found[..., 0], np.rot90(smooth, -1), atol=6)


def test_inks_become_colours(file: Path, tmp_path: Path) -> None:
    image = Image.new("RGB", (16, 8), (250, 20, 30))
    image.convert("CMYK").save(tmp_path / "in.jpg", quality=100)
    done("run", f"{file}:copied", tmp_path / "in.jpg", tmp_path / "out.png")
    found = iio.imread(tmp_path / "out.png")
    assert found.shape == (8, 16, 3)
    np.testing.assert_allclose(found[0, 0], (250, 20, 30), atol=6)


def test_colours_of_16_bits_are_told_of(file: Path, tmp_path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + _sum(kind + data)

    rows = b"".join(b"\0" + bytes([1, 2, 3, 4, 5, 6] * 4) for _ in range(3))
    size = struct.pack(">IIBBBBB", 4, 3, 16, 2, 0, 0, 0)
    (tmp_path / "in.png").write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", size)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    words = ("run", f"{file}:copied", tmp_path / "in.png", tmp_path / "out.png")
    assert done(*words).stderr == (
        f"parhelion: note: {tmp_path / 'in.png'} has colours of 16 bits, of which the "
        "upper 8 are read\n"
    )
    np.testing.assert_array_equal(iio.imread(tmp_path / "out.png")[0, 0], (1, 3, 5))


def _sum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def test_pictures_that_lost_their_levels_are_told_of(
    file: Path, tmp_path: Path
) -> None:
    pixels, out = noise(9, 12), tmp_path / "out.png"
    pixels[0, 0] = 255
    iio.imwrite(tmp_path / "in.png", pixels)
    assert done("run", f"{file}:wide", tmp_path / "in.png", out).stderr == (
        f"parhelion: note: {out}: the output is of type int32, so that 0 to 2147483647 "
        "became the levels 0 to 255; its largest value, 255, is level 0\n"
        "  hint: make it uint8 or uint16, or write it to a .npy file, which keeps all "
        "values\n"
    )
    assert done("run", f"{file}:beyond", tmp_path / "in.png", out).stderr == (
        f"parhelion: note: {out}: 100 % of the output is outside 0 to 1, the range of "
        "float32 in an image file, and was clipped\n"
        "  hint: scale it, or write it to a .npy file, which keeps all values\n"
    )
    told = done("run", f"{file}:below", tmp_path / "in.png", out).stderr
    assert "100 % of the output is outside 0 to 32767, the range of int16" in told
    for name, end in (("flat", "png"), ("wide", "tiff"), ("beyond", "npy")):
        place = tmp_path / f"out.{end}"
        assert not done("run", f"{file}:{name}", tmp_path / "in.png", place).stderr


def test_ends_of_names_in_capitals(file: Path, tmp_path: Path) -> None:
    pixels = noise(9, 12)
    np.save(tmp_path / "in.npy", pixels)
    (tmp_path / "in.npy").rename(tmp_path / "IN.NPY")
    done("run", f"{file}:flat", tmp_path / "IN.NPY", tmp_path / "OUT.NPY")
    np.testing.assert_array_equal(np.load(tmp_path / "OUT.NPY"), pixels)


def test_an_empty_file(file: Path, tmp_path: Path) -> None:
    empty = tmp_path / "in.npy"
    empty.write_bytes(b"")
    told = refused("run", f"{file}:flat", empty, tmp_path / "out.png")
    assert told.startswith(f"{empty} cannot be read as an image: ")


def test_images_by_the_names_of_inputs(tmp_path: Path) -> None:
    file, out = tmp_path / "three.py", tmp_path / "out.npy"
    file.write_text("""
import parhelion as hl
x, y = hl.vars("x y")
a, b = [hl.ImageParam(hl.UInt(8), 2, name) for name in "ab"]
flag = hl.Param(hl.Bool(), "flag", True)
out = hl.Func("out")
out[x, y] = hl.select(flag, a[x, y], b[x, y])
""")
    first, second = tmp_path / "first.npy", tmp_path / "second.npy"
    np.save(first, noise(4, 5))
    np.save(second, 255 - noise(4, 5))
    for words in ((first, f"b={second}"), (f"b={second}", first), (first, second)):
        done("run", f"{file}:out", *words, out, "-p", "flag=on")
        np.testing.assert_array_equal(np.load(out), np.load(first))
        done("run", f"{file}:out", *words, out, "-p", "flag=off")
        np.testing.assert_array_equal(np.load(out), np.load(second))
    assert refused("run", f"{file}:out", f"a={first}", f"a={second}", out) == (
        f"a={second}: the image for 'a' is {first} already"
    )


def test_transposed_pictures_need_a_size(file: Path, tmp_path: Path) -> None:
    pixels, out = noise(9, 12), tmp_path / "out.png"
    iio.imwrite(tmp_path / "in.png", pixels)
    words = ("run", f"{file}:turned", tmp_path / "in.png", out)
    assert refused(*words) == (
        "the image for 'grey' is too small for an output of its size: 0 to 11 of its "
        "dimension 1 are needed, which has 0 to 8\n"
        "  hint: --size says what is to be computed, if it is not as large as the image"
    )
    done(*words, "--size", "9x12")
    np.testing.assert_array_equal(iio.imread(out), pixels.T)
    assert refused(*words, "--size", "9x12x3") == (
        "--size 9x12x3: the output has 2 dimensions\n"
        "  hint: write --size WIDTHxHEIGHT, as 640x480"
    )
    assert "as 640x480x3" in refused(
        "run", f"{file}:copied", tmp_path / "in.png", out, "--size", "9"
    )


def test_values_that_are_no_levels(file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.ones((4, 5), np.complex64))
    for name in ("flat", "copied"):
        words = ("run", f"{file}:{name}", tmp_path / "in.npy", tmp_path / "out.npy")
        assert "has values of type complex64, which are no levels" in refused(*words)
