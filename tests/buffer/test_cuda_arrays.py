"""Pixels on a GPU that several libraries use, without copies. The GPU is not one."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime import devices, dlpack
from tests.support.fake_driver import Driver

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.delenv("HL_GPU_DEVICE", raising=False)
    monkeypatch.setenv("PARHELION_GPU", "sm_90")
    made = Driver(tmp_path, monkeypatch)
    runtime = devices._Runtime(made.library, dict(made.symbols))
    monkeypatch.setattr(devices, "_runtime", runtime)
    yield made
    gc.collect()  # what is on the device goes before the device


class Foreign:
    """An array of another library's: pixels of a Buffer here, under its interface."""

    def __init__(self, buffer: hl.Buffer, **other: Any) -> None:
        self._buffer, self._other = buffer, other

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self._buffer.__cuda_array_interface__, **self._other}


def seen(told: dict[str, Any]) -> Array:
    """What an interface describes, in memory that here is the process's."""
    shape, strides, (at, _) = told["shape"], told["strides"], told["data"]
    dtype = np.dtype(told["typestr"])
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low = sum(min(r, 0) for r in reach)
    size = sum(abs(r) for r in reach) + dtype.itemsize
    raw = (ctypes.c_uint8 * size).from_address(at + low)
    flat = np.ctypeslib.as_array(raw)
    return np.ndarray(shape, dtype, flat, -low, strides)


def numbers() -> Array:
    return np.arange(35, dtype=np.float32).reshape(5, 7)


def test_others_see_the_newest_pixels(driver: Driver) -> None:
    b = hl.Buffer(numbers())
    assert not hasattr(b, "__cuda_array_interface__")
    b.copy_to_device()
    told = b.__cuda_array_interface__
    assert (told["version"], told["stream"], told["typestr"]) == (3, 1, "<f4")
    assert told["shape"] == (5, 7) and told["data"][1] is False
    assert np.array_equal(seen(told), numbers())
    b[2, 1] = 100.0
    assert seen(b.__cuda_array_interface__)[1, 2] == 100
    assert len([line for line in driver.told() if "HtoD" in line]) == 2


def test_what_others_write_is_seen_here(driver: Driver) -> None:
    b = hl.Buffer(numbers())
    b.copy_to_device()
    there = seen(b.__cuda_array_interface__)
    there[...] = 3
    assert b.device_dirty() and b[0, 0] == 3
    there[0, 0] = 4  # at any time
    assert b[0, 0] == 4 and (np.asarray(b)[1:] == 3).all()
    # The arrays that were given away last are the ones that may change.
    here = np.asarray(b)
    here[...] = 5
    assert b.host_dirty() and (seen(b.__cuda_array_interface__) == 5).all()


def test_views_and_strides(driver: Driver) -> None:
    b = hl.Buffer(numbers())
    crop, turned = b.cropped([(1, 3), (2, 2)]), b.transposed(0, 1)
    b.copy_to_device()
    assert np.array_equal(seen(crop.__cuda_array_interface__), numbers()[2:4, 1:4])
    assert np.array_equal(seen(turned.__cuda_array_interface__), numbers().T)
    upside = hl.Buffer(numbers()[::-1])
    upside.copy_to_device()
    assert np.array_equal(seen(upside.__cuda_array_interface__), numbers()[::-1])


def test_read_only_pixels_stay_so(driver: Driver) -> None:
    a = numbers()
    a.flags.writeable = False
    b = hl.Buffer(a)
    b.copy_to_device()
    assert b.__cuda_array_interface__["data"][1] is True
    assert not b.device_dirty() and b[1, 0] == 1


@pytest.mark.parametrize("strides", [True, False])
def test_arrays_of_others_are_used_where_they_are(
    driver: Driver, strides: bool
) -> None:
    owner = hl.Buffer(numbers())
    owner.copy_to_device()
    foreign = Foreign(owner) if strides else Foreign(owner, strides=None)
    in_use, kept = driver.in_use, weakref.ref(owner)
    driver.told()
    b = hl.Buffer(foreign)
    assert b.has_device_allocation() and b.device_dirty()
    assert (b.width(), b.height(), b.type()) == (7, 5, hl.Float(32))
    assert np.array_equal(np.asarray(b), numbers())
    assert len([line for line in driver.told() if "Memcpy" in line]) == 1
    assert b.__cuda_array_interface__["data"] == owner.__cuda_array_interface__["data"]
    assert driver.in_use == in_use
    del owner, foreign
    gc.collect()
    assert kept() is not None  # its memory is in use
    b.device_free()  # which does not free what is not ours
    gc.collect()
    assert kept() is None and np.array_equal(np.asarray(b), numbers())


def test_work_of_others_on_another_stream_is_waited_for(driver: Driver) -> None:
    owner = hl.Buffer(numbers())
    owner.copy_to_device()
    for stream, waits in ((None, False), (1, False), (2, True), (0xABC, True)):
        driver.told()
        hl.Buffer(Foreign(owner, stream=stream))
        waited = f"cuStreamSynchronize {stream or 0:#x}" in driver.told()
        assert waited == waits


def test_arrays_that_are_no_images(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = hl.Buffer(numbers())
    owner.copy_to_device()
    with pytest.raises(hl.InvalidBufferError, match="mask"):
        hl.Buffer(Foreign(owner, mask=np.zeros(3)))
    with pytest.raises(hl.TypeMismatchError, match="complex"):
        hl.Buffer(Foreign(owner, typestr="<c8", shape=(2,), strides=None))
    with pytest.raises(hl.InvalidBufferError, match="foreign order"):
        hl.Buffer(Foreign(owner, typestr=">f4"))
    told = owner.__cuda_array_interface__
    monkeypatch.setattr(devices, "_runtime", None)
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1")

    class Left:
        __cuda_array_interface__ = told

    with pytest.raises(hl.PipelineRuntimeError, match="libcuda.so.1, is not installed"):
        hl.Buffer(Left())


def test_arrays_that_are_elsewhere(driver: Driver) -> None:
    owner = hl.Buffer(numbers())
    owner.copy_to_device()
    driver.fake.fake_owner(1)
    with pytest.raises(hl.InvalidBufferError, match="GPU 1, but kernels run on GPU 0"):
        hl.Buffer(Foreign(owner))
    driver.fake.fake_owner(0)
    at = numbers().__array_interface__["data"][0]  # of memory, and not of the GPU
    with pytest.raises(hl.InvalidBufferError, match=f"{at:#x} is no address there"):
        hl.Buffer(Foreign(owner, data=(at, False)))
    told = owner.__cuda_array_interface__
    owner.device_free()
    driver.of_memory("release_memory")

    class Freed:
        __cuda_array_interface__ = told

    with pytest.raises(hl.InvalidBufferError, match="may have been freed"):
        hl.Buffer(Freed())


class _Managed(ctypes.Structure):
    """DLManagedTensor, written down by hand."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


def _taken(capsule: object) -> _Managed:
    """The tensor of a capsule, as who takes it does."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    at = api.PyCapsule_GetPointer(capsule, b"dltensor")
    api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = b"used_dltensor"
    api.PyCapsule_SetName(capsule, name)
    made = _Managed.from_address(at)
    made._name = name
    return made


@pytest.mark.parametrize(
    ("dtype", "code", "bits"),
    [("f4", 2, 32), ("i2", 0, 16), ("u1", 1, 8), ("?", 6, 8), ("f8", 2, 64)],
)
def test_dlpack_gives_what_is_on_the_gpu(
    driver: Driver, dtype: str, code: int, bits: int
) -> None:
    b = hl.Buffer(numbers().astype(dtype))
    b.copy_to_device()
    crop = b.cropped(0, 1, 4)
    assert crop.__dlpack_device__() == (2, 0)
    tensor = _taken(crop.__dlpack__())
    assert (tensor.device_type, tensor.device_id, tensor.ndim) == (2, 0, 2)
    assert (tensor.code, tensor.bits, tensor.lanes) == (code, bits, 1)
    assert tensor.shape[:2] == [5, 4] and tensor.strides[:2] == [7, 1]
    assert tensor.data == b.__cuda_array_interface__["data"][0] + bits // 8
    assert tensor.byte_offset == 0
    there = weakref.ref(b._device)
    del b, crop
    gc.collect()
    assert there() is not None  # as long as it is in use
    tensor.deleter(ctypes.addressof(tensor))
    gc.collect()
    assert there() is None and not dlpack._in_use


def test_a_capsule_that_nobody_takes(driver: Driver) -> None:
    b = hl.Buffer(numbers())
    b.copy_to_device()
    capsule = b.__dlpack__(stream=1)
    assert len(dlpack._in_use) == 1
    del capsule
    assert not dlpack._in_use


def test_dlpack_waits_for_streams_that_do_not(driver: Driver) -> None:
    b = hl.Buffer(numbers())
    b.copy_to_device()
    for stream, waits in ((None, 0), (1, 0), (-1, 0), (2, 1), (0x77, 1)):
        driver.told()
        b.__dlpack__(stream=stream)
        assert driver.told().count("cuStreamSynchronize (nil)") == waits


def test_dlpack_elsewhere(driver: Driver) -> None:
    b = hl.Buffer(numbers())
    b.copy_to_device()
    with pytest.raises(BufferError, match="on the device"):
        b.__dlpack__(dl_device=(2, 1))
    with pytest.raises(BufferError):
        b.__dlpack__(copy=True)
    host = np.from_dlpack(b, device="cpu")
    assert np.array_equal(host, numbers())
    b.device_free()
    assert b.__dlpack_device__() == (1, 0)
    assert np.array_equal(np.from_dlpack(b), numbers())


def test_the_other_gpu(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HL_GPU_DEVICE", "1")
    b = hl.Buffer(numbers())
    b.copy_to_device()
    assert b.__dlpack_device__() == (2, 1)
    assert "cuDevicePrimaryCtxRetain 11" in driver.told()


def test_memory_is_kept_and_given_back(driver: Driver) -> None:
    b = hl.Buffer(np.zeros((1 << 10, 1 << 10), np.float32))
    b.copy_to_device()
    assert driver.in_use == 4 << 20
    del b
    gc.collect()
    assert driver.in_use == driver.of_memory("kept_memory") == 4 << 20
    assert devices.release_memory() == 4 << 20 and driver.in_use == 0


def test_a_full_gpu(driver: Driver) -> None:
    driver.fake.fake_memory(1 << 20)
    small = hl.Buffer(numbers(), name="small")
    small.copy_to_device()
    large = hl.Buffer(np.ones((600, 600), np.float32), name="large")
    with pytest.raises(hl.PipelineRuntimeError, match="out of memory") as caught:
        large.copy_to_device()
    assert "Buffer 'large'" in str(caught.value)
    assert not large.has_device_allocation() and large[5, 5] == 1
    small.device_free()
    del small
    gc.collect()


def test_use_after_the_driver_has_lost_the_device(driver: Driver) -> None:
    b = hl.Buffer(numbers())
    b.copy_to_device()
    b.set_device_dirty()
    driver.fails("cuMemcpyDtoHAsync", 700)
    with pytest.raises(hl.PipelineRuntimeError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        np.asarray(b)
    driver.fails("cuStreamSynchronize", 719)
    with pytest.raises(hl.PipelineRuntimeError, match="CUDA_ERROR_LAUNCH_FAILED"):
        b.device_sync()
