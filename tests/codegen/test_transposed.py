"""Vectors across lines, which are loaded along the lines and turned in registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from tests.support.pages import at_page_end, at_page_start

TYPES = ["u1", "i1", "u2", "i2", "f2", "i4", "u4", "f4", "i8", "f8"]


def image(dtype: str, shape: tuple[int, int]) -> np.ndarray:
    values = np.random.default_rng(7).integers(0, 127, shape)
    return values.astype(dtype)


def turned(
    source: object, lanes: int, lines: int, tail: hl.TailStrategy, flip: bool = False
) -> hl.Func:
    """A Func of an image with its axes swapped, in blocks of lanes and lines."""
    x, y, xi, yi = hl.vars("x y xi yi")
    f = hl.Func("turned")
    f[x, y] = source[y, 63 - x if flip else x]  # type: ignore[index]
    f.split(x, x, xi, lanes, tail).split(y, y, yi, lines, tail)
    f.reorder(xi, yi, x, y).vectorize(xi).unroll(yi)
    return f


@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
@pytest.mark.parametrize("dtype", TYPES)
def test_blocks_of_all_types(dtype: str, lanes: int) -> None:
    source = image(dtype, (64, 96))
    f = turned(hl.Buffer(source), lanes, lanes, hl.TailStrategy.ShiftInwards)
    assert (np.asarray(f.realize([64, 96])) == source.T).all()


@pytest.mark.parametrize("lines", [2, 3, 4, 5, 7, 11, 12, 13, 24])
@pytest.mark.parametrize("tail", ["ShiftInwards", "GuardWithIf"])
def test_lines_that_make_no_whole_block(lines: int, tail: str) -> None:
    source = image("f4", (64, 97))
    f = turned(hl.Buffer(source), 16, lines, hl.TailStrategy[tail])
    assert (np.asarray(f.realize([64, 97])) == source.T).all()


def test_lines_from_the_last_to_the_first() -> None:
    source = image("i4", (64, 96))
    f = turned(hl.Buffer(source), 8, 8, hl.TailStrategy.ShiftInwards, flip=True)
    assert (np.asarray(f.realize([64, 96])) == source[::-1].T).all()


@pytest.mark.parametrize("place", [at_page_start, at_page_end])
@pytest.mark.parametrize("lines", [4, 7, 8])
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_nothing_beside_the_image_is_read(
    dtype: str, lines: int, place: Callable[[np.ndarray], np.ndarray]
) -> None:
    source = place(image(dtype, (64, 97)))
    f = turned(hl.Buffer(source), 8, lines, hl.TailStrategy.ShiftInwards)
    assert (np.asarray(f.realize([64, 97])) == source.T).all()


@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_values_that_are_stored_between_loads(dtype: str) -> None:
    """Each line is read after the one before it was changed in place."""
    source = hl.Buffer(image(dtype, (64, 64)))
    x, y = hl.vars("x y")
    r, ro, ri = hl.RDom([(1, 63)], "r"), hl.RVar("ro"), hl.RVar("ri")

    def summed(scheduled: bool) -> np.ndarray:
        f = hl.Func("summed")
        f[x, y] = source[x, y]
        f[r, y] = f[r, y] + f[r - 1, y]
        if scheduled:
            f.update(0).split(r, ro, ri, 8).reorder(ri, y, ro)
            f.update(0).vectorize(y, 8).unroll(ri)
        return np.asarray(f.realize([64, 64]))

    assert (summed(True) == summed(False)).all()


def test_storage_with_lines_of_a_known_length() -> None:
    """What is scanned in vectors across lines comes back along them."""
    source = hl.Buffer(image("f4", (64, 64)))
    x, y, xi, yi = hl.vars("x y xi yi")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = source[x, y] + 1.0
    g[x, y] = f[x, y] * 2.0
    g.tile(x, y, xi, yi, 8, 8).vectorize(xi).unroll(yi)
    f.compute_at(g, x).reorder_storage(y, x).reorder(x, y)
    f.vectorize(y, 8).unroll(x, 8)
    out = np.asarray(g.realize([64, 64]))
    assert (out == (np.asarray(source) + 1) * 2).all()


@pytest.mark.parametrize("features", ["sse41", "avx2-fma", "avx512_skylake"])
def test_lanes_are_not_loaded_one_by_one(tmp_path: Path, features: str) -> None:
    source = hl.ImageParam(hl.Float(32), 2, "source")
    f = turned(source, 8, 8, hl.TailStrategy.RoundUp)
    at, target = tmp_path / "turned.s", hl.Target(f"x86-64-linux-{features}")
    f.compile_to_assembly(str(at), [source], "turned", target)
    text = at.read_text()
    assert re.search(r"v?unpck[lh]ps", text)
    assert not re.search(r"v?insertps|v?pinsrd|gather", text)
