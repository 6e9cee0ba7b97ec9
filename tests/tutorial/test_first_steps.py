"""First scripts: define, compute, read and write images, look at what was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
import parhelion.imageio


def test_a_ramp_over_two_dimensions() -> None:
    ramp = hl.Func("ramp")
    column, row = hl.Var("column"), hl.Var("row")
    value = 3 * column - row
    assert type(value) is hl.Expr
    ramp[column, row] = value
    picture = ramp.realize([70, 50])
    assert isinstance(picture, hl.Buffer)
    assert picture.type() == hl.Int(32)
    assert (picture.width(), picture.height()) == (70, 50)
    assert all(
        picture[i, j] == 3 * i - j
        for j in range(picture.height())
        for i in range(picture.width())
    )


def test_darkening_a_photograph(tmp_path: Path) -> None:
    before, after = tmp_path / "before.png", tmp_path / "after.png"
    colours = np.random.default_rng(7).integers(0, 256, (12, 20, 3), np.uint8)
    parhelion.imageio.imwrite(before, colours)

    image = hl.Buffer(parhelion.imageio.imread(before))
    assert image.type() == hl.UInt(8)
    assert (image.width(), image.height(), image.channels()) == (20, 12, 3)
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    level = image[x, y, c]
    assert type(level) is hl.Expr
    level = hl.cast(hl.Float(32), level) * 0.5
    level = hl.max(level, 16.0)
    darker = hl.Func("darker")
    darker[x, y, c] = hl.cast(hl.UInt(8), level)
    out = darker.realize([image.width(), image.height(), image.channels()])
    assert isinstance(out, hl.Buffer)
    parhelion.imageio.imwrite(after, np.asanyarray(out))

    expected = np.maximum(colours * np.float32(0.5), 16).astype(np.uint8)
    again = parhelion.imageio.imread(after)
    assert np.array_equal(np.moveaxis(again, 0, 2), expected)


def test_a_region_away_from_the_origin(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = hl.vars("x y")
    product = hl.Func("product")
    product[x, y] = x * y
    product.trace_stores()
    window = hl.Buffer(hl.Int(32), [3, 2])
    window.set_min([40, -7])
    product.realize(window)
    assert [window[i, -7] for i in range(40, 43)] == [-280, -287, -294]
    assert window[42, -6] == -252
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Store product.0(40, -7) = -280"
    assert len(lines) == 2 + 6
    with pytest.raises(hl.BoundsError):
        window[0, 0]


def blurred(image: hl.Buffer | hl.Func) -> hl.Func:
    """A 1-2-1 blur in both directions, in 16 bits."""
    x, y, c = hl.vars("x y c")
    wide, across, down, narrow = hl.funcs("wide across down narrow")
    wide[x, y, c] = hl.cast(hl.UInt(16), image[x, y, c])
    across[x, y, c] = (wide[x - 1, y, c] + 2 * wide[x, y, c] + wide[x + 1, y, c]) / 4
    down[x, y, c] = (
        across[x, y - 1, c] + 2 * across[x, y, c] + across[x, y + 1, c]
    ) / 4
    narrow[x, y, c] = hl.cast(hl.UInt(8), down[x, y, c])
    return narrow


def by_numpy(a: np.ndarray) -> np.ndarray:
    """The same inside the border, of a (C, H, W) array."""
    wide = a.astype(np.uint16)
    across = (wide[..., :-2] + 2 * wide[..., 1:-1] + wide[..., 2:]) // 4
    down = (across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:]) // 4
    return np.asarray(down.astype(np.uint8))


def test_several_stages_inside_the_border() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (3, 16, 18), np.uint8)
    image = hl.Buffer(pixels)
    narrow = blurred(image)
    with pytest.raises(hl.BoundsError, match="too small in dimension"):
        narrow.realize([18, 16, 3])
    inside = hl.Buffer(hl.UInt(8), [image.width() - 2, image.height() - 2, 3])
    inside.set_min([1, 1])
    narrow.realize(inside)
    assert np.array_equal(inside, by_numpy(pixels))


def test_several_stages_up_to_the_border() -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (3, 9, 14), np.uint8)
    image = hl.Buffer(pixels)
    x, y, c = hl.vars("x y c")
    held = hl.Func("held")
    held[x, y, c] = image[
        hl.clamp(x, 0, image.width() - 1), hl.clamp(y, 0, image.height() - 1), c
    ]
    expected = by_numpy(np.pad(pixels, ((0, 0), (1, 1), (1, 1)), mode="edge"))
    assert np.array_equal(np.asarray(blurred(held).realize([14, 9, 3])), expected)
    bounded = hl.BoundaryConditions.repeat_edge(image)
    assert np.array_equal(np.asarray(blurred(bounded).realize([14, 9, 3])), expected)


def test_files_that_show_the_program(tmp_path: Path) -> None:
    x, y = hl.vars("x y")
    f = hl.Func("shown")
    f[x, y] = x + y
    f.vectorize(x, 4)
    text, page, c_file = tmp_path / "f.stmt", tmp_path / "f.html", tmp_path / "f.c"
    f.compile_to_lowered_stmt(text, [])
    f.compile_to_lowered_stmt(page, [], hl.StmtOutputFormat.HTML)
    f.compile_to_c(str(c_file), [], "shown")
    assert "produce shown" in text.read_text()
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")
    assert "int shown(" in c_file.read_text()
