"""`iir`, `sosfilt` and `filtfilt` of images of one size, one after the other.

Nothing is compiled again, and results are those of the image that is given.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import kept, recfilter
from parhelion.recfilter.kept import KeptFilters

Array = NDArray[Any]
rng = np.random.default_rng(5)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the RecFilters that are built, from a state without any on."""
    monkeypatch.setattr("parhelion.recfilter.inputs.KEPT", KeptFilters())
    names: list[str] = []
    build = recfilter.RecFilter._build

    def noted(self: recfilter.RecFilter) -> hl.Func:
        names.append(self._name)
        return build(self)

    monkeypatch.setattr(recfilter.RecFilter, "_build", noted)
    return names


def smoothed(image: Array, axis: int) -> Array:
    lines = np.moveaxis(image.astype(float), axis, 0)
    made = np.zeros_like(lines)
    for i in range(len(lines)):
        made[i] = 0.5 * lines[i] + (0.5 * made[i - 1] if i else 0)
    return np.moveaxis(made, 0, axis)


def test_the_pixels_are_those_that_are_given(built: list[str]) -> None:
    for _ in range(4):
        image = rng.normal(size=(13, 21))
        found = hl.iir(image, [0.5], [1, -0.5], axis=0)
        np.testing.assert_allclose(found, smoothed(image, 0), atol=1e-15)
    assert built == ["iir"]


def test_results_are_apart(built: list[str]) -> None:
    first = hl.iir(np.ones(9), [0.5], [1, -0.5])
    before = first.copy()
    hl.iir(np.zeros(9), [0.5], [1, -0.5])
    np.testing.assert_array_equal(first, before)


def test_whatever_differs_is_another_filter(built: list[str]) -> None:
    image = rng.normal(size=(12, 12))
    calls: list[dict[str, Any]] = [
        {},
        {"axis": 0},
        {"reverse": True},
        {"border": "clamp"},
        {"b": [0.25]},
        {"a": [1, -0.25]},
        {"inp": image[:, :11]},
        {"inp": image.astype(np.float32)},
        {"inp": np.arange(144, dtype=np.uint8).reshape(12, 12)},
        {"inp": np.arange(144, dtype=np.int8).reshape(12, 12)},
    ]
    for more in calls:
        hl.iir(**{"inp": image, "b": [0.5], "a": [1, -0.5], **more})
    assert len(built) == len(calls)
    for more in calls:
        hl.iir(**{"inp": image, "b": [0.5], "a": [1, -0.5], **more})
    assert len(built) == len(calls)


def test_functions_do_not_take_each_others_filters(built: list[str]) -> None:
    image = rng.normal(size=50)
    one = hl.iir(image, [0.5], [1, -0.5])
    hl.filtfilt([0.5], [1, -0.5], image, padlen=3)
    hl.filtfilt([0.5], [1, -0.5], image, padlen=4)
    hl.filtfilt([0.5], [1, -0.5], image, "x", "even", 4)
    same = hl.sosfilt([[0.5, 0, 0, 1, -0.5, 0]], image)
    np.testing.assert_allclose(same, one, atol=1e-15)
    assert len(built) == 1 + 3 * 2 + 1


def test_arrays_in_any_order_in_memory(built: list[str]) -> None:
    image = rng.normal(size=(20, 30, 3))
    wanted = smoothed(image, 1)
    for view in (
        image,
        np.asfortranarray(image),
        np.ascontiguousarray(image[::-1])[::-1],
        np.broadcast_to(image, (2, *image.shape))[1],
        image.astype(">f8"),
    ):
        found = hl.iir(view, [0.5], [1, -0.5], axis=1)
        np.testing.assert_allclose(found, wanted, atol=1e-15)
    assert len(built) == 1


def test_buffers_of_all_layouts_and_regions(built: list[str]) -> None:
    """An array and a Buffer share a filter; regions and strides are those of each."""
    image = rng.normal(size=(20, 30))
    planes = hl.Buffer(hl.Float(64), [30, 20, 3], [2, 0, 1])
    np.asarray(planes)[...] = np.stack([image] * 3)
    moved = hl.Buffer(image.copy())
    moved.set_min([-7, 100])
    found = hl.iir(moved, [0.5], [1, -0.5], axis="x")
    assert [found.dim(k).min() for k in range(2)] == [-7, 100]
    assert [moved.dim(k).min() for k in range(2)] == [-7, 100]
    np.testing.assert_allclose(np.asarray(found), smoothed(image, 1), atol=1e-15)
    hl.iir(image, [0.5], [1, -0.5])
    assert len(built) == 1
    each = np.asarray(hl.iir(planes, [0.5], [1, -0.5], axis="x"))
    for plane in each:
        np.testing.assert_allclose(plane, smoothed(image, 1), atol=1e-15)


def test_threads_share_filters(built: list[str]) -> None:
    images = [rng.normal(size=(31, 17)) for _ in range(4)]
    wrong: list[int] = []

    def work(k: int) -> None:
        wanted = smoothed(images[k], 0)
        for _ in range(20):
            found = hl.iir(images[k], [0.5], [1, -0.5], axis=0)
            if not np.allclose(found, wanted, atol=1e-15):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(built) <= 4


def test_those_that_were_run_last_are_kept(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_MOST", 2)
    sizes = [(5, 1), (6, 2), (5, 2), (7, 3), (5, 3), (6, 4)]
    for n, count in sizes:
        hl.iir(np.ones(n), [0.5], [1, -0.5])
        assert len(built) == count


def test_a_filter_that_cannot_be_built_is_not_kept(built: list[str]) -> None:
    image = np.ones((20, 20))
    for _ in range(2):
        with pytest.raises(hl.DefinitionError, match="unit circle"):
            hl.iir(image, [1], [1, -1], border="clamp")
    assert not built
    assert hl.iir(image, [1], [1, -1])[0, -1] == 20
