"""TIFF files of all kinds, files of several pages, and what is no image at all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
iio = pytest.importorskip("imageio.v3")
tifffile = pytest.importorskip("tifffile")
Image = pytest.importorskip("PIL.Image")
features = pytest.importorskip("PIL.features")

from parhelion.cli import photos  # noqa: E402
from parhelion.cli.photos import photo  # noqa: E402
from parhelion.cli.pictures import read, write  # noqa: E402
from parhelion.cli.problem import Problem  # noqa: E402
from tests.cli.support import done, refused  # noqa: E402

TEXT = """
import parhelion as hl
x, y, c = hl.vars("x y c")
colour = hl.ImageParam(hl.UInt(8), 3, "colour")
copied = hl.Func("copied")
copied[x, y, c] = colour[x, y, c]
"""


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, shape, np.uint8)


def planes(image: object) -> np.ndarray:
    """An image of Pillow's with several channels, planar."""
    return np.moveaxis(np.asarray(image), 2, 0)


def smooth() -> np.ndarray:
    """Colours that no model of colours changes much, (16, 24, 3)."""
    row = np.linspace(60, 180, 24)
    column = np.linspace(0, 30, 16)[:, None]
    return np.stack([row + column, row - column, 200 - row + column], 2).astype("u1")


def test_the_command_reads_a_tiff_of_inks(tmp_path: Path) -> None:
    file, out = tmp_path / "copied.py", tmp_path / "out.png"
    file.write_text(TEXT)
    image = Image.fromarray(smooth())
    image.convert("CMYK").save(tmp_path / "in.tif")
    done("run", f"{file}:copied", tmp_path / "in.tif", out)
    np.testing.assert_array_equal(iio.imread(out), smooth())


def test_kinds_of_pixels(tmp_path: Path) -> None:
    place, image = tmp_path / "in.tif", Image.fromarray(smooth())
    palette = image.quantize(16)
    palette.save(place)
    np.testing.assert_array_equal(photo(place), planes(palette.convert("RGB")))
    for mode in ("L", "1"):
        image.convert(mode).save(place)
        np.testing.assert_array_equal(photo(place), np.asarray(image.convert(mode)))
    for mode in ("RGB", "RGBA", "LA"):
        image.convert(mode).save(place)
        np.testing.assert_array_equal(photo(place), planes(image.convert(mode)))


def test_lightness_becomes_colours(tmp_path: Path) -> None:
    cms = pytest.importorskip("PIL.ImageCms")
    if not features.check("littlecms2"):
        pytest.skip("this Pillow knows no colour profiles")
    image, place = Image.fromarray(smooth()), tmp_path / "in.tif"
    profiles = cms.createProfile("sRGB"), cms.createProfile("LAB")
    cms.profileToProfile(image, *profiles, outputMode="LAB").save(place)
    np.testing.assert_allclose(photo(place), planes(image), atol=4)


def test_white_may_be_zero(tmp_path: Path) -> None:
    for pixels in (noise(5, 6), noise(5, 6).astype(np.uint16) * 257):
        place = tmp_path / "in.tif"
        tifffile.imwrite(place, np.invert(pixels), photometric="miniswhite")
        np.testing.assert_array_equal(photo(place), pixels)


def _upright(image: Any, orientation: int) -> np.ndarray:
    """Planar pixels of an image that is stored as an orientation of EXIF says."""
    way = Image.Transpose
    ways = [
        *(None, way.FLIP_LEFT_RIGHT, way.ROTATE_180, way.FLIP_TOP_BOTTOM),
        *(way.TRANSPOSE, way.ROTATE_270, way.TRANSVERSE, way.ROTATE_90),
    ]
    chosen = ways[orientation - 1]
    pixels = np.asarray(image if chosen is None else image.transpose(chosen))
    return pixels if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0)


def test_tiff_files_are_upright(tmp_path: Path) -> None:
    """Bytes, 16 bits and floats, in files that Pillow reads in several ways."""
    place, pixels = tmp_path / "in.tif", noise(5, 7, 3)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        image = Image.fromarray(pixels)
        upright = _upright(image, orientation)
        for mode in ("RGB", "RGBA", "L"):
            for kind in (None, "tiff_lzw")[: 1 + features.check("libtiff")]:
                image.convert(mode).save(place, exif=exif, compression=kind)
                turned = _upright(image.convert(mode), orientation)
                np.testing.assert_array_equal(photo(place), turned)
        for t in ("uint16", "float32"):
            tag = [(274, "H", 1, orientation, True)]
            kinds = {"photometric": "rgb", "extratags": tag}
            tifffile.imwrite(place, pixels.astype(t), **kinds)
            assert photo(place).dtype == t
            np.testing.assert_array_equal(photo(place), upright)
            tifffile.imwrite(place, pixels[..., 0].astype(t), extratags=tag)
            assert photo(place).dtype == t
            np.testing.assert_array_equal(photo(place), upright[0])


def test_compressed_tiff_files(tmp_path: Path) -> None:
    if not features.check("libtiff"):
        pytest.skip("this Pillow has no libtiff")
    place, wide = tmp_path / "in.tif", noise(9, 8).astype(np.uint16) * 257
    for kind in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
        Image.fromarray(smooth()).save(place, compression=kind)
        np.testing.assert_array_equal(photo(place), planes(smooth()))
        Image.fromarray(wide).save(place, compression=kind)
        assert photo(place).dtype == np.uint16
        np.testing.assert_array_equal(photo(place), wide)
    Image.fromarray(smooth()).save(place, compression="jpeg", quality=100)
    np.testing.assert_allclose(photo(place), planes(smooth()), atol=12)


def test_of_several_pages_the_first_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for count in (2, 3, 5):
        pages = noise(count, 6, 8)
        for t in ("uint8", "uint16", "float32"):
            place = tmp_path / "in.tif"
            tifffile.imwrite(place, pages.astype(t), photometric="minisblack")
            np.testing.assert_array_equal(photo(place), pages[0])
            assert capsys.readouterr().err == (
                f"parhelion: note: {place} has {count} pages or frames, of which the "
                "first is read\n"
            )
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "blue")]
    for end in ("gif", "png"):
        place = tmp_path / f"in.{end}"
        frames[0].save(place, save_all=True, append_images=frames[1:])
        np.testing.assert_array_equal(photo(place)[:3, 2, 3], (255, 0, 0))
        assert "has 2 pages or frames" in capsys.readouterr().err


def test_wide_colours_that_are_not_red_green_and_blue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "in.tif"
    inks = np.asarray(Image.fromarray(smooth()).convert("CMYK")).astype(np.uint16) * 257
    tifffile.imwrite(place, inks, photometric="separated")
    np.testing.assert_array_equal(photo(place), planes(smooth()))
    assert capsys.readouterr().err == (
        f"parhelion: note: {place} has colours of 16 bits, of which the upper 8 are "
        "read\n"
    )
    tifffile.imwrite(place, inks.astype(np.float32), photometric="separated")
    with pytest.raises(Problem) as caught:
        photo(place)
    assert str(caught.value) == (
        f"{place}: colours of this kind of TIFF (SEPARATED, float32) cannot be read\n"
        "  hint: convert it to grey or RGB"
    )


def test_what_is_written_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out.tiff"
    for t in ("uint8", "int8", "uint16", "int32", "float32", "float64"):
        for shape in ((5, 6), (2, 5, 6), (3, 5, 6), (4, 5, 6), (3, 6, 2), (2, 3)):
            pixels = noise(*shape).astype(t)
            write(place, pixels)
            assert photo(place).dtype == pixels.dtype
            np.testing.assert_array_equal(photo(place), pixels)
    assert not capsys.readouterr().err


def test_what_is_no_image(tmp_path: Path) -> None:
    for end in ("png", "jpg", "tif", "gif", "txt"):
        for content in (b"", b"no image"):
            place = tmp_path / f"in.{end}"
            place.write_bytes(content)
            with pytest.raises(Problem) as caught:
                photo(place)
            assert str(caught.value) == f"{place} is no image file that can be read"
    place = tmp_path / "in.tif"
    tifffile.imwrite(place, noise(64, 64, 3), photometric="rgb")
    place.write_bytes(place.read_bytes()[:2000])
    file = tmp_path / "copied.py"
    file.write_text(TEXT)
    told = refused("run", f"{file}:copied", place, tmp_path / "out.png")
    assert told.startswith(f"{place} cannot be read as an image: ")


@pytest.mark.parametrize("kind", ["png", "jpg", "tif", "webp"])
def test_images_beyond_pillows_limit(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is against strangers' files; the user has named this one."""
    place = tmp_path / f"in.{kind}"
    Image.fromarray(smooth()).save(place)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 16)
    assert photo(place).shape == (3, 16, 24)
    assert Image.MAX_IMAGE_PIXELS == 16


@pytest.mark.parametrize("kind", ["png", "tif", "float.tif"])
def test_images_beyond_the_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / f"in.{kind}"
    if kind == "float.tif":
        tifffile.imwrite(place, smooth().astype(np.float32), photometric="rgb")
    else:
        Image.fromarray(smooth()).save(place)
    monkeypatch.setattr(photos, "_memory", lambda: 16 * 24 * 12 - 1)
    with pytest.raises(Problem) as caught:
        read(place)
    assert str(caught.value) == (
        f"{place} is an image of 24 x 16 pixels, for which this computer has not the "
        "memory: at 12 bytes a pixel, there is room for 383 pixels\n"
        "  hint: cut it into parts, or make it smaller"
    )
    monkeypatch.setattr(photos, "_memory", lambda: 16 * 24 * 12)
    assert read(place).shape == (3, 16, 24)


@pytest.fixture
def others_set_aside() -> Iterator[None]:
    """Keeps what other tests have left out of garbage collections: imageio's plugin for
    videos collects at each file that it closes, a second each time at the end of a run.
    """
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("others_set_aside")
def test_damaged_files_are_told_of(tmp_path: Path) -> None:
    """Whatever the packages that read them raise, of which there are many kinds."""
    rng = np.random.default_rng(3)
    seeds: dict[str, bytes] = {}
    for kind in ("png", "jpg", "tif", "bmp", "gif", "webp", "ppm", "pcx", "npy"):
        place = tmp_path / f"in.{kind}"
        if kind == "npy":
            np.save(place, smooth())
        else:
            Image.fromarray(smooth()).save(place)
        seeds[kind] = place.read_bytes()
    tifffile.imwrite(
        tmp_path / "in.float.tif", smooth().astype(np.float32), photometric="rgb"
    )
    seeds["float.tif"] = (tmp_path / "in.float.tif").read_bytes()
    told = 0
    for kind, whole in seeds.items():
        place = tmp_path / f"damaged.{kind}"
        for _ in range(40):
            raw = bytearray(whole)
            for at in rng.integers(0, min(len(raw), 200), 3):
                raw[at] = rng.integers(256)
            place.write_bytes(raw[: rng.integers(1, 2 * len(raw))])
            try:
                read(place)
            except Problem as problem:
                told += str(problem).startswith(str(place))
    assert told > 200
