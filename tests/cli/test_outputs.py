"""Pipelines of several outputs on the command line, and schedules in their files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")

from tests.cli.support import done, refused

TWO = """
import parhelion as hl
x, y = hl.vars("x y")
picture = hl.ImageParam(hl.UInt(8), 2, "picture")
inside = hl.BoundaryConditions.repeat_edge(picture)
a, b, sums, maxima = hl.funcs("a b sums maxima")
a[x, y] = hl.u16(inside[x - 1, y]) + inside[x + 1, y]
b[x, y] = hl.max(inside[x, y - 1], inside[x, y + 1])
sums[x, y] = a[x, y - 1] + a[x, y + 1]
maxima[x, y] = hl.max(b[x - 1, y], b[x + 1, y])
both = hl.Pipeline([sums, maxima])
"""

#: Two outputs that share nothing, of other numbers of dimensions.
APART = """
import parhelion as hl
x, y = hl.vars("x y")
row, square = hl.funcs("row square")
row[x] = x * 2
square[x, y] = hl.u8(x + y)
both = hl.Pipeline([row, square])
"""

#: Outputs of which an image file holds the first only.
FLAT = """
import parhelion as hl
x, y, c, k = hl.vars("x y c k")
square, total, deep = hl.funcs("square total deep")
square[x, y] = hl.u8(x + y)
total[()] = hl.u8(7)
deep[x, y, c, k] = hl.u8(x + y + c + k)
both = hl.Pipeline([square, total])
deeper = hl.Pipeline([square, deep])
"""

LONG = """
import parhelion as hl
x, y = hl.vars("x y")
picture = hl.ImageParam(hl.UInt(8), 2, "picture")
inside = hl.BoundaryConditions.repeat_edge(picture)
across, result = hl.funcs("across result")
across[x, y] = hl.u16(inside[x - 1, y]) + inside[x + 1, y]
result[x, y] = across[x, y - 1] + across[x, y + 1]
"""


@pytest.fixture
def grey(tmp_path: Path) -> np.ndarray:
    made = np.random.default_rng(5).integers(0, 256, (40, 70), np.uint8)
    np.save(tmp_path / "grey.npy", made)
    return made


def _neighbours(grey: np.ndarray) -> list[np.ndarray]:
    edges = np.pad(grey, 1, mode="edge")
    return [edges[dy : dy + 40, dx : dx + 70] for dy in (0, 2) for dx in (0, 2)]


def test_each_output_has_a_file(tmp_path: Path, grey: np.ndarray) -> None:
    file = tmp_path / "two.py"
    file.write_text(TWO)
    place, image = f"{file}:both", tmp_path / "grey.npy"
    told = done("run", place, image, tmp_path / "out.npy").stdout
    assert [line.split(",")[0] for line in told.splitlines()] == [
        f"{tmp_path / 'out_sums.npy'}: 70 x 40",
        f"{tmp_path / 'out_maxima.npy'}: 70 x 40",
    ]
    around = _neighbours(grey)
    sums = sum(one.astype(np.uint16) for one in around)
    np.testing.assert_array_equal(np.load(tmp_path / "out_sums.npy"), sums)
    np.testing.assert_array_equal(
        np.load(tmp_path / "out_maxima.npy"), np.max(around, axis=0)
    )
    told = done("bench", place, image, "--seconds", 0.05).stdout
    assert told.splitlines()[-1].startswith("both: ")


def test_a_schedule_is_for_all_outputs(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(TWO)
    code = done("schedule", f"{file}:both", "--size", "640x480").stdout
    assert "# sums" in code and "# maxima" in code
    prefix = tmp_path / "both"
    done("compile", f"{file}:both", "-o", prefix, "-e", "stmt", "--size", "640x480")
    text = prefix.with_suffix(".stmt").read_text()
    assert text.count("parallel") >= 2


def test_outputs_without_stages_between_need_no_schedule(tmp_path: Path) -> None:
    file = tmp_path / "apart.py"
    file.write_text(APART)
    done("compile", f"{file}:both", "-o", tmp_path / "both", "-e", "stmt")
    done("run", f"{file}:both", tmp_path / "out.npy", "--size", "9x5")
    np.testing.assert_array_equal(np.load(tmp_path / "out_row.npy"), 2 * np.arange(9))
    square = np.arange(9) + np.arange(5)[:, None]
    np.testing.assert_array_equal(np.load(tmp_path / "out_square.npy"), square)


def test_the_printed_schedule_belongs_into_the_file(
    tmp_path: Path, grey: np.ndarray
) -> None:
    file = tmp_path / "long.py"
    file.write_text(LONG)
    place, image = f"{file}:result", tmp_path / "grey.npy"
    # Large enough for threads: of the image itself one is done before others wake.
    code = done("schedule", place, "--size", "640x480").stdout
    file.write_text(f"{LONG}\n{code}")
    stmt = tmp_path / "result.stmt"
    done("compile", place, "-o", tmp_path / "result", "-e", "stmt")
    assert "parallel" in stmt.read_text()
    done("run", place, image, tmp_path / "out.npy")
    sums = sum(one.astype(np.uint16) for one in _neighbours(grey))
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), sums)
    # What is scheduled already stays as it is.
    file.write_text(f"{LONG}\n{code}\nacross.compute_root()\n")
    done("compile", place, "-o", tmp_path / "result", "-e", "stmt")
    assert "parallel" not in stmt.read_text()


def test_schedules_take_the_pipeline_or_the_module_and_what_was_made(
    tmp_path: Path,
) -> None:
    file = tmp_path / "long.py"
    stmt = tmp_path / "result.stmt"
    for head, call in (
        ("schedule(hl, made)", "made.parallel(y)"),
        ("schedule(pipeline)", "pipeline.outputs()[0].parallel(y)"),
        ("schedule(pipeline, by=y)", "pipeline.outputs()[0].parallel(by)"),
    ):
        file.write_text(f"{LONG}\ndef {head}:\n    {call}\n")
        done("compile", f"{file}:result", "-o", tmp_path / "result", "-e", "stmt")
        assert "parallel" in stmt.read_text()
    file.write_text(f"{LONG}\nSCHEDULES = {{'rows': lambda p: result.parallel(y)}}\n")
    words = ("-o", tmp_path / "result", "-e", "stmt")
    done("compile", f"{file}:result", *words, "--schedule", "rows")
    assert "parallel" in stmt.read_text()
    file.write_text(f"{LONG}\ndef schedule(a, b, c):\n    pass\n")
    assert refused("compile", f"{file}:result", *words) == (
        f"{file}:schedule takes 3 arguments; a schedule takes the Pipeline, as "
        "`parhelion schedule` prints it, or two: the module, and what the pipeline's "
        "maker gives"
    )


def test_what_image_files_cannot_hold_is_told_before_any_is_written(
    tmp_path: Path,
) -> None:
    file, out = tmp_path / "flat.py", tmp_path / "made" / "out.png"
    file.write_text(FLAT)
    hint = "\n  hint: write it to a .npy file"
    assert refused("run", f"{file}:both", out, "--size", "9x5") == (
        f"an image file cannot hold the output 'total': it is a number{hint}"
    )
    assert refused("run", f"{file}:total", out) == (
        f"an image file cannot hold the output 'total': it is a number{hint}"
    )
    assert refused("run", f"{file}:deeper", out, "--size", "9x5x3x2") == (
        f"an image file cannot hold the output 'deep': it is 9 x 5 x 3 x 2{hint}"
    )
    assert not out.parent.exists()
    done("run", f"{file}:both", out.with_suffix(".npy"), "--size", "9x5")
    assert np.load(out.with_name("out_total.npy")) == 7
