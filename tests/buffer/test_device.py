"""Buffers with a copy on a device, which here is simulated."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime import devices

Array = np.ndarray[Any, np.dtype[Any]]
W, H = 12, 9
#: Which stages are kernels.
HOW = ("kernel", "host", "first", "last")
x, y, tx, ty = hl.vars("x y tx ty")


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    devices.reset_counts()


class Adding:
    """Pipelines that add a number to an image: by a kernel, on the host, or with some
    stages of both."""

    def __init__(self) -> None:
        self.image = hl.ImageParam(hl.Int(32), 2, name="image")
        self.more = hl.Param(hl.Int(32), name="more")
        self._made: dict[str, hl.Func] = {}

    def func(self, how: str) -> hl.Func:
        made = self._made.get(how)
        if made is None:
            made = self._made[how] = hl.Func(how)
            low = [self.image.dim(d).min() for d in range(2)]
            last: hl.Func = made
            if how in ("last", "first"):
                last = hl.Func(f"{how}_stage")
                last[x, y] = self.image[x + low[0], y + low[1]]
                made[x, y] = last[x, y] + self.more
                last.compute_root()
            else:
                made[x, y] = self.image[x + low[0], y + low[1]] + self.more
            if how in ("kernel", "last"):
                made.gpu_tile(x, y, tx, ty, 4, 4)
            elif how == "first":
                last.gpu_tile(x, y, tx, ty, 4, 4)
        return made

    def __call__(
        self,
        image: hl.Buffer,
        more: int,
        out: hl.Buffer | None,
        how: str = "kernel",
    ) -> hl.Buffer:
        """Adds, into a Buffer that begins at 0, or a new one of the same size."""
        self.image.set(image)
        self.more.set(more)
        f = self.func(how)
        if out is not None:
            f.realize(out)
            return out
        made = f.realize([image.width(), image.height()])
        assert isinstance(made, hl.Buffer)
        return made


@pytest.fixture(scope="module")
def adding() -> Adding:
    return Adding()


def numbers() -> Array:
    return np.arange(W * H, dtype=np.int32).reshape(H, W)


def copies() -> tuple[int, int]:
    """How often pixels were copied to the device and back, since this was asked."""
    found = devices.counts()
    devices.reset_counts()
    return found.to_device, found.to_host


def test_a_result_stays_on_the_device_until_it_is_read(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    assert r.has_device_allocation() and r.device_dirty() and not r.host_dirty()
    assert copies() == (1, 0)
    assert r[2, 1] == W + 3 and copies() == (0, 1)
    assert not r.device_dirty() and r.has_device_allocation()
    assert np.array_equal(np.asarray(r), numbers() + 1) and copies() == (0, 0)


def test_results_that_are_images_of_the_next_pipeline_are_not_copied(
    adding: Adding,
) -> None:
    r = hl.Buffer(numbers())
    for _ in range(10):
        r = adding(r, 1, None)
    assert np.array_equal(np.asarray(r), numbers() + 10)
    assert copies() == (1, 1)


def test_an_array_is_copied_for_each_run_and_left_alone(adding: Adding) -> None:
    a, out = numbers(), np.zeros((H, W), np.int32)
    b, c = hl.Buffer(a), hl.Buffer(out)
    for k in range(3):
        a += 1
        adding(b, 1, c)
        assert np.array_equal(out, a + 1)
        assert copies() == (1, 1) and not b.has_device_allocation(), k
        assert not c.has_device_allocation()


def test_what_was_copied_by_hand_stays(adding: Adding) -> None:
    a = numbers()
    b = hl.Buffer(a)
    assert b.copy_to_device() == 0 and copies() == (1, 0)
    assert b.has_device_allocation() and not b.host_dirty() and not b.device_dirty()
    for _ in range(3):
        adding(b, 1, None)
    assert copies() == (0, 0)
    b[0, 0] = 77  # known
    assert b.host_dirty()
    assert adding(b, 1, None)[0, 0] == 78 and copies() == (1, 1)
    b.fill(5)
    assert adding(b, 1, None).all_equal(6) and copies() == (1, 1)
    a[...] = 8  # not known
    assert adding(b, 1, None).all_equal(6) and copies() == (0, 1)
    b.set_host_dirty()
    assert adding(b, 1, None).all_equal(9) and copies() == (1, 1)
    # Given away again: it is expected to change at any time.
    array = np.asarray(b)
    for k in range(3):
        array[...] = k
        assert adding(b, 1, None).all_equal(k + 1) and copies() == (1, 1)
    b.copy_to_device()
    copies()
    adding(b, 1, None)
    assert copies() == (0, 0)


def test_memory_on_the_device_without_a_copy(adding: Adding) -> None:
    b = hl.Buffer(numbers())
    assert b.device_malloc() == 0 and copies() == (0, 0)
    assert b.has_device_allocation() and b.host_dirty()
    assert np.array_equal(np.asarray(adding(b, 2, None)), numbers() + 2)
    assert copies() == (1, 1)


def test_an_output_that_is_on_the_device_stays_there(adding: Adding) -> None:
    out = hl.Buffer(np.zeros((H, W), np.int32))
    out.copy_to_device()
    copies()
    adding(hl.Buffer(numbers()), 3, out)
    assert out.device_dirty() and copies() == (1, 0)
    assert out.copy_to_host() == 0 and copies() == (0, 1)
    assert np.array_equal(np.asarray(out), numbers() + 3)


def test_freeing_keeps_the_pixels(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    assert r.device_sync() == 0 and r.device_free() == 0
    assert not r.has_device_allocation() and not r.device_dirty()
    assert np.array_equal(np.asarray(r), numbers() + 1) and copies() == (1, 1)
    r.device_free()
    r = adding(hl.Buffer(numbers()), 1, None)
    r.set_device_dirty(False)  # of no interest
    r.device_free()
    assert copies() == (1, 0)


def test_a_copy_goes_with_the_last_view(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    assert r._device is not None
    there, view = weakref.ref(r._device), r.cropped(0, 2, 3)
    del r
    gc.collect()
    assert there() is not None and view[2, 0] == 3
    del view
    gc.collect()
    assert there() is None


def test_views_share_the_copy(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    views = [
        *(r.cropped(0, 2, 5), r.sliced(1, 3), r.transposed(0, 1), hl.Buffer(r)),
        *(r.embedded(2), r.translated(0, 5), r.reverse_axes()),
    ]
    for v in views:
        assert v.has_device_allocation() and v.device_dirty()
    assert views[0][3, 1] == W + 4 and copies() == (1, 1)
    for v in views:
        assert not v.device_dirty()
    views[1][0] = 99
    assert r[0, 3] == 99 and all(v.host_dirty() for v in views)
    views[0].copy_to_device()
    assert not r.host_dirty() and copies() == (1, 0)
    r.device_free()
    assert not any(v.has_device_allocation() for v in views)


def test_a_view_that_was_made_before_the_copy_shares_it() -> None:
    b = hl.Buffer(numbers())
    crop = b.cropped(0, 2, 5)
    crop.copy_to_device()
    assert b.has_device_allocation() and devices.counts().bytes_to_device == 4 * W * H


def test_a_crop_in_place_of_what_is_on_the_device(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    r.crop([(3, 4), (2, 5)])
    s = adding(r, 1, None)
    assert copies() == (1, 0)
    assert np.array_equal(np.asarray(s), numbers()[2:7, 3:7] + 2)


def test_a_run_into_a_crop_leaves_the_rest(adding: Adding) -> None:
    for how in HOW:
        out = adding(hl.Buffer(numbers()), 100, None)
        crop = out.cropped([(4, 4), (1, 3)])
        crop.set_min(0, 0)
        image = hl.Buffer(np.zeros((3, 4), np.int32))
        adding(image, -1, crop, how)
        expected = numbers() + 100
        expected[1:4, 4:8] = -1
        assert np.array_equal(np.asarray(out), expected)


def test_pipelines_on_the_host_see_what_is_newer_on_the_device(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    s = adding(r, 1, None, how="host")
    assert copies() == (1, 1)
    assert np.array_equal(np.asarray(s), numbers() + 2)
    adding(hl.Buffer(numbers()), 7, r, how="host")
    assert r.host_dirty()
    copies()
    assert np.array_equal(np.asarray(adding(r, 1, None)), numbers() + 8)
    assert copies() == (1, 1)


def test_a_run_on_its_own_image(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    adding(r, 1, r)
    assert np.array_equal(np.asarray(r), numbers() + 2)


def test_a_run_that_fails_loses_nothing(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    out = hl.Buffer(np.zeros((H + 1, W), np.int32))
    out.copy_to_device()
    with pytest.raises(hl.BoundsError, match="too small"):
        adding(r, 1, out)
    assert r.device_dirty() and np.array_equal(np.asarray(r), numbers() + 1)
    assert (np.asarray(out) == 0).all()


def test_copies_and_pickles_have_the_newest_pixels(adding: Adding) -> None:
    for make in (hl.Buffer.copy, copy.copy, copy.deepcopy, lambda b: _pickled(b)):
        r = adding(hl.Buffer(numbers()), 1, None)
        made = make(r)
        assert not made.has_device_allocation()
        assert np.array_equal(np.asarray(made), numbers() + 1)


def _pickled(b: hl.Buffer) -> hl.Buffer:
    made = pickle.loads(pickle.dumps(b))
    assert isinstance(made, hl.Buffer)
    return made


def test_what_is_on_no_device() -> None:
    b = hl.Buffer(numbers())
    assert not b.has_device_allocation() and not b.host_dirty()
    b.set_host_dirty()
    b.set_device_dirty(False)
    assert b.copy_to_host() == b.device_sync() == b.device_free() == 0
    with pytest.raises(hl.InvalidBufferError, match="no copy on a device"):
        b.set_device_dirty()
    assert not hasattr(b, "__cuda_array_interface__")
    assert b.__dlpack_device__() == (1, 0)


def test_read_only_arrays(adding: Adding) -> None:
    a = numbers()
    a.flags.writeable = False
    b = hl.Buffer(a)
    b.copy_to_device()
    assert np.array_equal(np.asarray(adding(b, 1, None)), numbers() + 1)
    with pytest.raises(hl.InvalidBufferError, match="read-only"):
        b.set_device_dirty()


def test_both_sides_newer(adding: Adding) -> None:
    r = adding(hl.Buffer(numbers()), 1, None)
    r.set_host_dirty()
    with pytest.raises(hl.PipelineRuntimeError, match="both marked as the newer"):
        r.copy_to_host()
    with pytest.raises(hl.PipelineRuntimeError, match="both marked as the newer"):
        adding(r, 1, None)
    r.set_host_dirty(False)
    assert np.array_equal(np.asarray(r), numbers() + 1)


def test_where_copies_go() -> None:
    b = hl.Buffer(numbers())
    cuda = hl.get_host_target().with_feature(hl.TargetFeature.CUDA)
    b.copy_to_device(hl.DeviceAPI.Default_GPU, cuda)
    b.copy_to_device(hl.get_host_target())
    for wrong in (hl.DeviceAPI.Host, cuda.with_feature(hl.TargetFeature.Metal)):
        if wrong is hl.DeviceAPI.Host:
            with pytest.raises(hl.InvalidBufferError, match="no kernels for"):
                b.copy_to_device(wrong)
    metal = hl.get_host_target().with_feature(hl.TargetFeature.Metal)
    with pytest.raises(hl.InvalidBufferError, match="no kernels for .*metal"):
        b.device_malloc(metal)
    with pytest.raises(hl.TypeMismatchError, match="a DeviceAPI and a Target"):
        b.copy_to_device("cuda")  # type: ignore[arg-type]


def test_without_a_gpu_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARHELION_GPU")
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    b = hl.Buffer(numbers(), name="photo")
    with pytest.raises(hl.PipelineRuntimeError) as caught:
        b.copy_to_device()
    assert "Buffer 'photo': the driver of NVIDIA's GPUs" in str(caught.value)
    assert "PARHELION_GPU=simulate" in str(caught.value)
    assert not b.has_device_allocation() and b[1, 1] == W + 1


def test_threads_that_share_an_image(adding: Adding) -> None:
    b = hl.Buffer(numbers())
    b.copy_to_device()
    b.set_host_dirty()
    f = hl.Func("f")
    f[x, y] = b[x, y] * 2
    f.gpu_tile(x, y, tx, ty, 4, 4)
    f.compile_jit()
    wrong: list[object] = []

    def run() -> None:
        for _ in range(20):
            r = f.realize([W, H])
            if not np.array_equal(np.asarray(r), numbers() * 2):
                wrong.append(r)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class Model:
    """A Buffer, a crop of it and arrays of both, beside what they have to hold."""

    def __init__(self, adding: Adding, rng: random.Random) -> None:
        self.adding, self.rng = adding, rng
        self.truth = numbers()
        fresh = rng.random() < 0.5
        self.buffer = adding(hl.Buffer(numbers()), 0, None, how=rng.choice(HOW))
        if not fresh:
            self.buffer = hl.Buffer(numbers())
        self.views = [(self.buffer, self.truth)]
        for _ in range(2):
            x0, y0 = rng.randrange(W - 3), rng.randrange(H - 3)
            w, h = rng.randint(1, W - x0), rng.randint(1, H - y0)
            view = self.buffer.cropped([(x0, w), (y0, h)])
            view.set_min(0, 0)
            self.views.append((view, self.truth[y0 : y0 + h, x0 : x0 + w]))

    def step(self) -> str:
        """Does something to one of the views; what it was."""
        rng = self.rng
        view, truth = rng.choice(self.views)
        more, how = rng.randrange(100), rng.choice(HOW)
        kind = rng.randrange(10)
        if kind < 2:
            image = hl.Buffer(rng.choice((np.zeros_like(truth), truth.copy())))
            expected = np.asarray(image) + more
            self.adding(image, more, view, how)
            truth[...] = expected
        elif kind == 2:
            self.adding(view, more, view, how)
            truth += more
        elif kind == 3:
            made = self.adding(view, more, None, how)
            assert np.array_equal(np.asarray(made), truth + more)
        elif kind == 4:
            i, j = rng.randrange(view.width()), rng.randrange(view.height())
            view[i, j] = truth[j, i] = more
        elif kind == 5:
            np.asarray(view)[...] += more  # and that is all that is done to it
            truth += more
        elif kind == 6:
            view.copy_to_device()
        elif kind == 7:
            view.copy_to_host()
        elif kind == 8:
            i, j = rng.randrange(view.width()), rng.randrange(view.height())
            assert view[i, j] == truth[j, i]
        else:
            view.device_free()
        return f"{kind} {how} {view}"


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_done_the_newest_pixels_are_seen(adding: Adding, seed: int) -> None:
    model = Model(adding, random.Random(seed))
    done = [model.step() for _ in range(25)]
    assert np.array_equal(np.asarray(model.buffer), model.truth), done
