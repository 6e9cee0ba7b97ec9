"""Buffers on devices: which copy is newer, copies by hand, and sharing with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parhelion.codegen.structs import DEVICE_DIRTY, HOST_DIRTY
from parhelion.errors import InvalidBufferError, TypeMismatchError, here
from parhelion.lang import arrays
from parhelion.lang.target_api import Target, TargetFeature
from parhelion.runtime.context import STREAM
from parhelion.runtime.device_copy import DeviceCopy
from parhelion.runtime.layout import Array, Layout
from parhelion.schedule.directives import DeviceAPI
from parhelion.types import Type


class DeviceMemory:
    """What a Buffer has on a device, and how others get at it.

    A Buffer and its views share one copy on a device. It comes into being with
    `copy_to_device`, or when a pipeline with kernels makes a new Buffer, and stays
    until nobody has the Buffer any more, or until `device_free`. Pixels are copied
    when they are read on the side where they are older.
    """

    __slots__ = ("_device",)
    _device: DeviceCopy | None
    _mins: list[int]
    _name: str
    _type: Type

    def _grid(self) -> Array:
        raise NotImplementedError

    def _pixels(self) -> Array:
        raise NotImplementedError

    def _layout(self) -> Layout:
        raise NotImplementedError

    def _become(self, array: Array, mins: Sequence[int]) -> None:
        raise NotImplementedError

    def _shared_copy(self) -> DeviceCopy:
        """What this Buffer and its views have on a device, from now on together."""
        if self._device is None:
            self._device = DeviceCopy(self._type, self._grid(), self._name)
            self._become(self._grid(), self._mins)  # layouts tell of it
        return self._device

    def has_device_allocation(self) -> bool:
        """Returns whether there is a copy of the pixels on a device."""
        return self._device is not None and self._device.allocated

    def host_dirty(self) -> bool:
        """Returns whether the pixels in memory are newer than those on the device, or
        may be: an array of them that was given away may have changed."""
        dirty = 0 if self._device is None else self._device.dirty()
        return bool(dirty & HOST_DIRTY)

    def device_dirty(self) -> bool:
        """Returns whether the pixels on the device are newer than those in memory, or
        may be."""
        dirty = 0 if self._device is None else self._device.dirty()
        return bool(dirty & DEVICE_DIRTY)

    def set_host_dirty(self, dirty: bool = True) -> None:
        """Says that the pixels in memory are newer than those on the device, or that
        they are not.

        What is written through the Buffer is known, and arrays that were given away
        are expected to change, unless they were given away before `copy_to_device`.
        """
        if self._device is not None:
            self._device.mark(HOST_DIRTY, dirty)

    def set_device_dirty(self, dirty: bool = True) -> None:
        """Says that the pixels on the device are newer than those in memory, or that
        they are not.

        Raises InvalidBufferError for a Buffer without a copy on a device, and for
        one whose array is read-only.
        """
        if not dirty and self._device is None:
            return
        if dirty and not self.has_device_allocation():
            raise InvalidBufferError(
                f"{self._told()} has no copy on a device that could be newer",
                at=here(),
                hint="copy_to_device() makes one",
            )
        if dirty and not self._grid().flags.writeable:
            raise InvalidBufferError(
                f"{self._told()} shares a read-only array, into which nothing can be "
                "copied from a device",
                at=here(),
            )
        self._shared_copy().mark(DEVICE_DIRTY, dirty)

    def copy_to_device(self, *where: DeviceAPI | Target) -> int:
        """Makes the copy on the device the newest one; returns 0.

        Takes a `DeviceAPI`, a `Target`, both or none, as Halide does. The copy stays
        there for the next runs, and arrays that were given away before are taken not to
        change any more: `set_host_dirty` says if one has. Raises PipelineRuntimeError
        if there is no device, or no memory on it.
        """
        _check_where("copy_to_device", where)
        self._shared_copy().allocate()
        return 0

    def device_malloc(self, *where: DeviceAPI | Target) -> int:
        """Makes memory on the device for the pixels, which are copied when they are
        read there; returns 0. Takes and raises what `copy_to_device` does."""
        _check_where("device_malloc", where)
        self._shared_copy().allocate(copied=False)
        return 0

    def copy_to_host(self) -> int:
        """Makes the pixels in memory the newest ones; returns 0."""
        if self._device is not None:
            self._device.read_on_host()
        return 0

    def device_sync(self) -> int:
        """Waits until the device has done what it was given; returns 0. Raises
        PipelineRuntimeError if a kernel has failed meanwhile."""
        if self._device is not None and self._device.allocated:
            from parhelion.runtime import devices

            devices.finish(self._device.interface, self._told(), STREAM.get())
        return 0

    def device_free(self) -> int:
        """Frees the copy on the device; returns 0. Pixels that are newer there are
        copied to memory before, unless ``set_device_dirty(False)`` says that they are
        not."""
        if self._device is not None:
            self._device.free()
        return 0

    def _told(self) -> str:
        return f"Buffer {self._name!r}" if self._name else "the Buffer"

    # Sharing with other libraries.

    def _given_away(self) -> Array:
        """The newest pixels, for others, who may write to them at any time."""
        array = self._pixels()
        if self._device is not None and array.flags.writeable:
            self._device.give_host()
        return array

    def _on_cuda(self) -> int:
        """The address on a GPU of NVIDIA's of the newest pixels, for others; 0 if there
        is no copy."""
        device = self._device
        if device is None or not device.on_cuda:
            return 0
        device.read_on_device()
        if self._grid().flags.writeable:
            device.give_device()
        return device.address(self._layout())

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._given_away().T.__array_interface__

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The pixels on the GPU (version 3), if there is a copy there."""
        at = self._on_cuda()
        if not at:
            raise AttributeError("__cuda_array_interface__")
        array = self._grid().T
        return {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (at if array.size else 0, not array.flags.writeable),
            "strides": array.strides,
            "stream": STREAM.get() or 1,  # 1: the default stream
            "version": 3,
        }

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol, from Python 3.12 on: 3.11 has no way for a class written
        in Python to offer it, and ``memoryview(np.asarray(buffer))`` is the same view.
        """
        return memoryview(self._given_away().T)  # type: ignore[arg-type]

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of the pixels where they are: on the GPU if there is a copy there
        and `dl_device` does not ask for another place."""
        from parhelion.runtime import dlpack

        place = self.__dlpack_device__()
        asked = place if dl_device is None else dl_device
        if asked[0] == dlpack.CPU:
            options: dict[str, Any] = {
                "max_version": max_version,
                "dl_device": dl_device,
                "copy": copy,
            }
            told = {name: v for name, v in options.items() if v is not None}
            return self._given_away().T.__dlpack__(**told)
        if asked != place or copy:
            raise BufferError(
                f"{self._told()} is on the device {place}, from where it is given as "
                "it is"
            )
        at = self._on_cuda()
        mine = STREAM.get() or 1
        if stream != -1 and (stream or 1) != mine:
            self.device_sync()
        return dlpack.capsule(self, at, self._type, self._grid().T, place)

    def __dlpack_device__(self) -> tuple[int, int]:
        from parhelion.runtime import dlpack

        if self._device is not None and self._device.on_cuda:
            return dlpack.CUDA, self._device.number
        return dlpack.CPU, 0


def _check_where(method: str, where: tuple[object, ...]) -> None:
    """Raises TypeMismatchError for what is neither API nor Target, and
    InvalidBufferError for other devices than kernels are made for."""
    for one in where:
        if isinstance(one, Target):
            others = {f for f in TargetFeature if one.has_feature(f)}
            if not one.has_gpu_feature() or TargetFeature.CUDA in others:
                continue
        elif not isinstance(one, DeviceAPI):
            raise TypeMismatchError(
                f"{method} takes a DeviceAPI and a Target, not {one!r:.60}", at=here()
            )
        elif one in (DeviceAPI.Default_GPU, DeviceAPI.CUDA):
            continue
        raise InvalidBufferError(
            f"{method}: there are no kernels for {one}",
            at=here(),
            legal=[
                "DeviceAPI.Default_GPU",
                "DeviceAPI.CUDA",
                "a Target with TargetFeature.CUDA",
            ],
        )


def borrowed(source: object) -> tuple[Array, DeviceCopy] | None:
    """What an array of another library has on a GPU, and memory for the same pixels
    here, into which they are copied when they are read; None for other objects.

    Raises InvalidBufferError for what no Buffer can be, and PipelineRuntimeError if the
    GPU cannot be used.
    """
    if isinstance(source, np.ndarray) or hasattr(source, "__array_interface__"):
        return None
    told = getattr(source, "__cuda_array_interface__", None)
    if told is None:
        return None
    if told.get("mask") is not None:
        raise InvalidBufferError("an array with a mask is no image", at=here())
    at, read_only = told["data"]
    array = arrays.like(told["shape"], np.dtype(told["typestr"]), told.get("strides"))
    array.flags.writeable = not read_only
    type, array = arrays.pixel_type(array)
    from parhelion.runtime import devices

    devices.start("an array on the GPU")
    if array.size:
        _check_place(int(at))
    stream = told.get("stream")
    if stream is not None and stream != (STREAM.get() or 1):
        # What its owner does to it has to be done before our stream goes on.
        devices.finish(devices.cuda(), "an array on the GPU", stream)
    copy = DeviceCopy(type, array)
    copy.adopt(int(at), devices.cuda(), source)
    return array, copy


def _check_place(address: int) -> None:
    """Raises InvalidBufferError for memory that is not of the GPU that kernels run
    on."""
    # Whoever has no arrays of others on a GPU loads none of this.
    from parhelion.runtime import devices
    from parhelion.runtime.cuda_driver import gpu_of
    from parhelion.runtime.cuda_ir import DEVICE_VARIABLE

    number, ours = gpu_of(address), devices.ordinal()
    if number is None:
        raise InvalidBufferError(
            f"an array is said to be on a GPU, but {address:#x} is no address there",
            at=here(),
            hint="it may have been freed; an array in memory is hl.Buffer(array)",
        )
    if number != ours:
        raise InvalidBufferError(
            f"an array is on GPU {number}, but kernels run on GPU {ours}",
            at=here(),
            hint=f"copy it to GPU {ours}, work on GPU {number} inside of"
            f" `with hl.cuda_device({number})`, or start with"
            f" {DEVICE_VARIABLE}={number}",
        )


__all__ = ["DeviceMemory", "borrowed"]
