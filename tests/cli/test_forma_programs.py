"""``parhelion forma run``, ``dag`` and ``emit``."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from parhelion import imageio
from tests.cli.support import done, refused
from tests.forma.listings import EMBOSS, EXPOSURE, PYRAMID

GREY = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5
COLOURS = np.stack([GREY, 255 - GREY, GREY // 2])

PLUS = """\
parameter int by; parameter M, N;
stencil plus(vector#2 int X, int a) { return X + a; }
vector#2 int x[M, N];
return plus(x, by);
"""
SWAP = """\
struct RGB { int16 r; int16 g; int16 b; }
stencil swap(vector#2 RGB X) { return RGB(X.b, X.g, X.r); }
parameter M, N;
vector#2 RGB x[M, N];
return swap(x);
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "plus": PLUS,
        "swap": SWAP,
        "emboss": EMBOSS,
        "exposure": EXPOSURE,
        "pyramid": PYRAMID,
    }.items():
        (tmp_path / f"{name}.forma").write_text(text)
    imageio.imwrite(tmp_path / "grey.png", GREY)
    imageio.imwrite(tmp_path / "colours.png", COLOURS)
    return tmp_path


def test_levels_of_ints(folder: Path) -> None:
    out = folder / "out.png"
    said = done(
        *("forma", "run", folder / "plus.forma", folder / "grey.png", "-o", out),
        *("-p", "by=30"),
    )
    assert said.stdout.startswith(f"{out}: 8 x 6, ready in ")
    np.testing.assert_array_equal(imageio.imread(out), np.minimum(GREY + 30.0, 255))
    assert "4 % of 'plus' is outside 0 to 255, and was clipped" in said.stderr


def test_colours_are_fields(folder: Path) -> None:
    out = folder / "out.png"
    for scheduler in ("Forma", "Mullapudi2016"):
        program, image = folder / "swap.forma", f"x={folder / 'colours.png'}"
        options = ("-o", out, "--scheduler", scheduler)
        done("forma", "run", program, image, *options)
        np.testing.assert_array_equal(imageio.imread(out), COLOURS[::-1])


def test_arrays_are_taken_as_they_are(folder: Path) -> None:
    x = np.arange(12, dtype=np.int32).reshape(3, 4) * 1000
    np.save(folder / "x.npy", x)
    out = folder / "out.npy"
    done(
        "forma", "run", folder / "plus.forma", folder / "x.npy", "-o", out, "-p", "by=1"
    )
    np.testing.assert_array_equal(np.load(out), x + 1)


def test_several_results(folder: Path) -> None:
    image = np.zeros((64, 64), np.float32)
    np.save(folder / "x.npy", image)
    out = folder / "out.npy"
    done("forma", "run", folder / "pyramid.forma", folder / "x.npy", "-o", out)
    shapes = [np.load(one).shape for one in sorted(folder.glob("out_*.npy"))]
    assert shapes == [(8, 8), (64, 64), (32, 32), (16, 16)]


def test_refusals(folder: Path) -> None:
    run = ("forma", "run", folder / "plus.forma")
    grey, out = folder / "grey.png", ("-o", folder / "out.png")
    assert "plus has 1 input, and 0 files are given" in refused(*run, *out)
    assert "the program needs 'by'" in refused(*run, grey, *out)
    assert "write NAME=VALUE" in refused(*run, grey, *out, "-p", "by")
    assert "no value for 'by'" in refused(*run, grey, *out, "-p", "by=x")
    assert "no parameter 'z'" in refused(*run, grey, *out, "-p", "z=1")
    assert "is an input" in refused(*run, grey, "-o", grey)
    assert "what kind it is" in refused(*run, grey, "-o", folder / "out.exe")
    crop = folder / "crop.forma"
    crop.write_text("parameter M, N; vector#2 int x[M,N]; return x[0..99, 0..0];")
    told = refused("forma", "run", crop, grey, *out)
    assert told.startswith("the crop [0..99] ends outside of 'x'")
    assert f"  --> {crop}:1:47\n" in told


def test_dag(folder: Path) -> None:
    picture = folder / "dag.svg"
    said = done("forma", "dag", folder / "exposure.forma", "-o", picture).stdout
    lines = said.splitlines()
    assert lines[0] == "before fusion: 11 stages, 10 buffers"
    assert lines[1] == "  weights1.grey = make_grey(image1)"
    assert lines[12:16] == [
        "after fusion: 3 stages, 2 buffers",
        "  weights1.grey",
        "  weights2.grey",
        "  combine, with 8 others",
    ]
    root = ET.parse(picture).getroot()
    boxes = [one.get("data-name") for one in root.iter() if one.get("data-name")]
    assert boxes.count("combine") == 2 and boxes.count("weights1.laplacian") == 1
    texts = [one.text for one in root.iter() if one.text]
    assert "x−1…x+1, y−1…y+1" in texts and "3 stages" not in texts


def test_emit(folder: Path) -> None:
    source = folder / "made.c"
    said = done("forma", "emit", folder / "emboss.forma", "-o", source).stdout
    assert [line.split(":")[0] for line in said.splitlines()] == [
        str(source),
        str(folder / "made.h"),
    ]
    assert '#include "made.h"' in source.read_text()
    assert "int made(const float *input" in (folder / "made.h").read_text()


def test_emit_cuda(folder: Path) -> None:
    source = folder / "made.cu"
    done("forma", "emit", folder / "emboss.forma", "-o", source, "--textures")
    text = source.read_text()
    assert "__global__" in text and "tex2D<float>" in text
    assert "int made(const float *input" in (folder / "made.h").read_text()
    wrong = folder / "made.c"
    said = refused("forma", "emit", folder / "emboss.forma", "-o", wrong, "--textures")
    assert "which has no textures" in said and not wrong.exists()
