"""Names in a program that runs twice in one process, as a notebook's cell does."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.names import by_call

x, y = hl.vars("x y")
IMAGE = np.arange(12, dtype=np.uint8).reshape(3, 4)

Defined: TypeAlias = "tuple[hl.Func, hl.ImageParam, hl.Param]"


def cell() -> Defined:
    """What the cell defines; its names have been used before."""
    image = hl.ImageParam(hl.UInt(8), 2, "again_image")
    gain = hl.Param(hl.Int(32), "again_gain")
    f = hl.Func("again")
    f[x, y] = image[x, y] * gain
    return f, image, gain


@pytest.fixture
def first() -> Defined:
    """What the cell has defined before, which lives on."""
    return cell()


def test_by_call() -> None:
    assert by_call(["a$1", "b"]) == {"a": "a$1", "a$1": "a$1", "b": "b"}
    both = ["a$1", "a$2"]
    assert by_call(both) == {name: name for name in both}
    # A name as it is goes before another one's wish.
    assert by_call(["a", "a$1"]) == {"a": "a", "a$1": "a$1"}


def test_streams(first: Defined) -> None:
    f, image, gain = cell()
    assert gain.name() != "again_gain"
    for named in ("again_image", image.name(), image):
        frames = hl.stream(f, [IMAGE], image=named, again_gain=3)
        np.testing.assert_array_equal(next(frames), IMAGE * 3)
    unique: dict[str, Any] = {gain.name(): 3}
    frames = hl.stream(f, [IMAGE, IMAGE], queue=0, **unique)
    next(frames)
    frames.set(again_gain=5)
    np.testing.assert_array_equal(next(frames), IMAGE * 5)
    with pytest.raises(hl.TypeMismatchError) as caught:
        frames.set(gain=5)
    assert "again_gain" in caught.value.legal
    with pytest.raises(hl.UnsetParamError, match=r"again_gain=…"):
        list(hl.stream(f, [IMAGE]))


def test_dask(first: Defined) -> None:
    hd = pytest.importorskip("parhelion.dask")
    da = pytest.importorskip("dask.array")
    f, image, gain = cell()
    array = da.from_array(IMAGE)
    for by, to in (("again_image", "again_gain"), (image.name(), gain), (image, gain)):
        found = hd.apply(f, {by: array}, params={to: 2}).compute()
        np.testing.assert_array_equal(found, IMAGE * 2)
    with pytest.raises(hl.TypeMismatchError, match="is no Param"):
        hd.apply(f, array, params={first[2]: 2})
    with pytest.raises(hl.TypeMismatchError, match="is no ImageParam"):
        hd.apply(f, {first[1]: array}, params={gain: 2})


def test_callables(first: Defined) -> None:
    f, image, gain = cell()
    call = f.compile_to_callable([image, gain])
    out = np.zeros((3, 4), np.int32)
    call(again_image=IMAGE, again_gain=4, again=out)
    np.testing.assert_array_equal(out, IMAGE.astype(np.int32) * 4)
    call(IMAGE, **{gain.name(): 5, f.name(): out})
    np.testing.assert_array_equal(out, IMAGE.astype(np.int32) * 5)
    with pytest.raises(hl.TypeMismatchError, match="is missing"):
        call(IMAGE, gain=5, again=out)
