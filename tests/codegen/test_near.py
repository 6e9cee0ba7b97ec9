"""Loads at places that a table names, which mostly are near each other."""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from tests.codegen.test_tables import DTYPES, F32, I32, U8, U16, _assembly, _vbmi

_TYPES = (U8, U16, F32)


def _listed(of: hl.Type, lanes: int) -> tuple[hl.Func, hl.ImageParam, hl.ImageParam]:
    """``f[x] = image[places[x]] + image[places[x] + 1]``, all in one row."""
    x, image, places = hl.Var("x"), hl.ImageParam(of, 1), hl.ImageParam(I32, 1)
    f = hl.Func("f")
    at = hl.clamp(places[x], 0, image.dim(0).extent() - 2)
    f[x] = image[at] + image[at + 1]
    f.vectorize(x, lanes)
    return f, image, places


def _lists(n: int) -> dict[str, NDArray[np.int32]]:
    """Lists of places below `n`, of which some are near each other."""
    random = np.random.default_rng(n)
    line = np.arange(640)
    return {
        "slow": line // 3,
        "fast": line * 2 % n,
        "colours": line // 6 * 3 + line % 3,
        "backwards": n - 1 - line % n,
        "the last": np.full(640, n - 1),
        "beyond": line * 5 - 100,
        "two places": np.where(line % 16 < 8, 0, n - 1),
        "as far as registers": line % 16 * (31 / 15),
        "one further": line % 16 * (32 / 15),
        "any": random.integers(0, n, 640),
        "mixed": np.where(line % 160 < 80, line, random.integers(0, n, 640)),
    }


@pytest.mark.parametrize("of", _TYPES)
@pytest.mark.parametrize("lanes", [8, 16, 24, 64])
def test_values(of: hl.Type, lanes: int) -> None:
    f, image, places = _listed(of, lanes)
    for n in (2, 17, 40, 700):
        pixels = np.random.default_rng(0).integers(0, 128, n).astype(DTYPES[of])
        image.set(pixels)
        for name, list_ in _lists(n).items():
            places.set(list_.astype(np.int32))
            at = np.clip(list_.astype(np.int32), 0, n - 2)
            got = np.asarray(f.realize([640]))
            np.testing.assert_array_equal(got, pixels[at] + pixels[at + 1], name)


def _beside(
    of: hl.Type, lanes: int, offsets: Sequence[int]
) -> tuple[hl.Func, hl.ImageParam, hl.ImageParam]:
    """The sum of an image's pixels so far behind the places of a list."""
    x, image, places = hl.Var("x"), hl.ImageParam(of, 1), hl.ImageParam(I32, 1)
    end = image.dim(0).extent() - 1 - max(offsets)
    at = hl.unsafe_promise_clamped(places[x], 0, end)
    f = hl.Func("f")
    f[x] = sum([image[at + k] for k in offsets[1:]], image[at + offsets[0]])
    f.vectorize(x, lanes)
    return f, image, places


@pytest.mark.parametrize("of", _TYPES)
@pytest.mark.parametrize("lanes", [8, 24, 64])
def test_values_beside_each_other(of: hl.Type, lanes: int) -> None:
    for offsets in ((0, 3, 6, 9), (9, 0), (0, 15, 16, 31, 47), (0, 63, 64), (5, 70)):
        f, image, places = _beside(of, lanes, offsets)
        for n in (80, 700):
            random = np.random.default_rng(0)
            pixels = random.integers(0, 50, n).astype(DTYPES[of])
            image.set(pixels)
            for name, list_ in _lists(n).items():
                places.set(list_.astype(np.int32))
                at = np.clip(list_.astype(np.int32), 0, n - 1 - max(offsets))
                wanted = sum([pixels[at + k] for k in offsets])
                got = np.asarray(f.realize([640]))
                np.testing.assert_array_equal(got, wanted, name)


@pytest.mark.parametrize("offsets", [(0, 1), (0, 3, 9), (0, 40)])
def test_nothing_beyond_the_places_is_read(offsets: Sequence[int]) -> None:
    """An image begins and ends where a page does, beside pages that nobody may read:
    what lies between the least place and the greatest is read, and nothing else."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    f, image, places = _beside(U8, 64, offsets)
    f.compile_jit()
    pixels = np.frombuffer(memory, np.uint8)[page : 2 * page]
    pixels[:] = np.arange(page) % 100
    for at in (0, 2 * page):
        assert protect(ctypes.c_void_p(base + at), page, 0) == 0
    image.set(pixels)
    end = page - 1 - max(offsets)
    for first, step in ((0, 1), (end - 63, 1), (0, 3), (end - 189, 3)):
        list_ = (first + step * np.arange(64)).astype(np.int32)
        places.set(list_)
        got = np.asarray(f.realize([64]))
        wanted = sum([pixels[list_ + k] for k in offsets])
        np.testing.assert_array_equal(got, wanted)
    for at in (0, 2 * page):
        assert protect(ctypes.c_void_p(base + at), page, 3) == 0


@pytest.mark.parametrize("of", _TYPES)
def test_instructions(of: hl.Type) -> None:
    """One permutation for each load, and a look at each lane where they are far apart;
    the function that has both stands where it is called."""
    text = _assembly(_listed(of, 512 // of.bits())[0], _vbmi())
    assert len(re.findall(r"vperm[it]2", text)) >= 2
    assert "parhelion.near" not in text


def test_of_what_is_computed() -> None:
    """Places that are computed may be anywhere: they are not asked."""
    x, image, pixels = hl.Var("x"), hl.ImageParam(F32, 1), hl.ImageParam(U8, 1)
    f = hl.Func("f")
    f[x] = image[hl.cast(I32, pixels[x])]
    f.vectorize(x, 16)
    assert not re.findall(r"vperm[it]2", _assembly(f, _vbmi()))


def _rows(count: int) -> tuple[hl.Func, hl.ImageParam, hl.ImageParam]:
    """So many rows, from the same places of an image's, computed together."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(F32, 2)
    places = hl.ImageParam(I32, 1)
    f = hl.Func("f")
    f[x, y] = image[hl.clamp(places[x], 0, image.dim(0).extent() - 1), y]
    f.bound(y, 0, count).reorder(y, x).unroll(y)
    f.bound(x, 0, 320).vectorize(x, 16)
    return f, image, places


def test_places_are_asked_once() -> None:
    """Loads of several rows by the same places share what is asked of these: the least
    of the first four and the greatest of the last four."""
    one, four = [_assembly(_rows(n)[0], _vbmi()) for n in (1, 4)]
    for pattern, times in ((r"vperm[it]2", 4), (r"vpm(in|ax)sd\s[^z\n]*$", 1)):
        found = [len(re.findall(pattern, t, re.MULTILINE)) for t in (one, four)]
        assert found[0] > 0
        assert found[1] == found[0] * times


def test_what_lies_beside_is_loaded_once() -> None:
    one = _assembly(_beside(F32, 16, (0,))[0], _vbmi())
    four = _assembly(_beside(F32, 16, (0, 3, 6, 9))[0], _vbmi())
    loads = r"vmovdqu32\s.*\{z\}"
    assert len(re.findall(loads, one)) == len(re.findall(loads, four)) > 0


def test_values_of_rows() -> None:
    f, image, places = _rows(3)
    random = np.random.default_rng(0)
    pixels = random.random((3, 300)).astype(np.float32)
    # Near each other, and far apart.
    list_ = np.concatenate([np.arange(160) * 3 // 2, random.integers(0, 300, 160)])
    image.set(pixels)
    places.set(list_.astype(np.int32))
    np.testing.assert_array_equal(np.asarray(f.realize([320, 3])), pixels[:, list_])
