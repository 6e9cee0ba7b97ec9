"""The copy that an image has on a device, from one run to the next.

An image and all views of it share one `DeviceCopy`, of which at first nothing is on a
device. What was changed where is known from the calls that change pixels; arrays that
were given away may change at any time, so that the side whose arrays were given away
last is taken for the newer one whenever the other side is read.

The run time of devices is loaded when one is first used: most images never are on any.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from parhelion.codegen.structs import (
    DEVICE_DIRTY,
    HOST_DIRTY,
    KEEPS,
    ON_DEVICE,
    OWNED,
    READS,
)
from parhelion.runtime.context import BUFFER, RawBuffer
from parhelion.runtime.layout import Array, Layout
from parhelion.types import Type

_DIRTY = HOST_DIRTY | DEVICE_DIRTY
#: Which side's arrays were given away last.
_NONE, _HOST, _DEVICE = range(3)


class DeviceCopy:
    """The copy of an image on a device.

    array: the pixels in memory. name: what messages call the image. fresh: whether the
    array is new, so that nobody else has it: then the run that computes it leaves it
    on the device.
    """

    __slots__ = (
        "__weakref__",
        "_array",
        "_away",
        "_dims",
        "_layout",
        "_lock",
        "_name",
        "_number",
        "_owner",
        "_struct",
        "_type",
        "fresh",
    )

    def __init__(
        self, type: Type, array: Array, name: str = "", fresh: bool = False
    ) -> None:
        self._type, self._array, self._name = type, array, name
        self.fresh = fresh
        self._away = _NONE if fresh else _HOST
        self._layout: Layout | None = None
        self._dims: Any = None
        self._owner: object = None
        self._number = 0
        self._struct: RawBuffer | None = None
        self._lock = threading.RLock()

    # What is where.

    @property
    def allocated(self) -> bool:
        """Whether there is a copy on a device."""
        return self._struct is not None and self._struct.device != 0

    @property
    def interface(self) -> int:
        """The interface of that device; 0 if there is no copy."""
        struct = self._struct
        return 0 if struct is None else struct.device_interface or 0

    @property
    def on_cuda(self) -> bool:
        """Whether that device is a GPU of NVIDIA's."""
        if not self.interface:
            return False
        from parhelion.runtime import devices

        return self.interface == devices.cuda()

    @property
    def number(self) -> int:
        """The number of the GPU that the copy is on, if it is on one."""
        return self._number

    def dirty(self) -> int:
        """HOST_DIRTY if the pixels in memory are or may be newer, DEVICE_DIRTY if those
        on the device are; else 0. Both if users say so, which no use can do with."""
        if self._struct is None or not self._struct.device:
            return 0
        told = int(self._struct.flags) & _DIRTY
        if told == 0 and self._away != _NONE:
            return HOST_DIRTY if self._away == _HOST else DEVICE_DIRTY
        return told

    def mark(self, flag: int, dirty: bool) -> None:
        """Says that one side is newer, or that it is not."""
        struct = self._struct
        if struct is None or not struct.device:
            return
        if dirty:
            struct.flags |= flag
        else:
            struct.flags &= ~flag
            if self._away == (_HOST if flag == HOST_DIRTY else _DEVICE):
                self._away = _NONE

    def address(self, layout: Layout) -> int:
        """Where the pixel at the mins of a view is on the device; 0 if nowhere."""
        struct = self._struct
        if struct is None or not struct.device:
            return 0
        return int(struct.device) + layout.host - self._whole().host

    # Uses of one side.

    def read_on_host(self) -> None:
        """Makes the pixels in memory the newest ones."""
        if self.dirty() & DEVICE_DIRTY:
            self._sync(READS)

    def read_on_device(self) -> None:
        """Makes those on the device the newest ones."""
        if self.dirty() & HOST_DIRTY:
            self._sync(ON_DEVICE | READS)

    def _sync(self, what: int) -> None:
        from parhelion.runtime import devices

        with self._lock:
            struct = self._struct
            if struct is not None:
                struct.flags = (int(struct.flags) & ~_DIRTY) | self.dirty()
                devices.sync(struct, self.interface, what, self._what())

    def give_host(self) -> None:
        """Notes that others have an array of the pixels in memory."""
        self.fresh = False
        self._away = _HOST

    def give_device(self) -> None:
        """Notes that others have an array of the pixels on the device."""
        self.fresh = False
        self._away = _DEVICE

    def allocate(self, copied: bool = True) -> None:
        """Makes a copy on the device of kernels, the newest one; the arrays that others
        have are promised to stay as they are. copied: whether that is done at once;
        else it is when it is read."""
        from parhelion.runtime import devices

        interface = devices.interface()
        with self._lock:
            struct, dirty = self._new_struct(), self.dirty()
            struct.flags = (int(struct.flags) & ~_DIRTY) | dirty
            what = ON_DEVICE | READS if copied else ON_DEVICE
            if not struct.device:
                self._number = devices.ordinal()
            devices.sync(struct, interface, what, self._what())
            if self._away == _HOST:
                self._away = _NONE

    def adopt(self, address: int, interface: int, owner: object) -> None:
        """Takes pixels on a device that belong to somebody else for the newest; their
        owner is kept."""
        struct, self._owner = self._new_struct(), owner
        struct.device, struct.device_interface = address, interface
        struct.flags = DEVICE_DIRTY
        from parhelion.runtime import devices

        self._number = devices.ordinal()
        self._away = _DEVICE

    def free(self) -> None:
        """Ends the copy on the device; pixels that are newer there are fetched."""
        from parhelion.runtime import devices

        with self._lock:
            if self.allocated:
                self.read_on_host()
                devices.free(self._new_struct(), self._dims)
                self._away, self._owner = _HOST, None

    def _what(self) -> str:
        return f"Buffer {self._name!r}" if self._name else "a Buffer"

    def _whole(self) -> Layout:
        if self._layout is None:
            self._layout = Layout(self._type, self._array, [0] * self._array.ndim)
        return self._layout

    def _new_struct(self) -> RawBuffer:
        """The struct of the whole image, made when it is first needed."""
        struct = self._struct
        if struct is None:
            from parhelion.runtime import devices

            struct, self._dims = devices.struct_of(self._whole())
            struct.flags = KEEPS
            self._struct = struct
            weakref.finalize(self, devices.free, struct, self._dims).atexit = False
        return struct

    # Runs.

    def lend(self, memory: memoryview, slot: int, layout: Layout) -> None:
        """Writes into the buffer struct of a run where a view is on the device, and
        which of its copies is the newer one."""
        flags = 0
        whole = self._is_whole(layout)
        if self.allocated:
            if not whole:
                # A run says nothing of the rest of the image.
                self.read_on_device()
            flags = self.dirty() | KEEPS
        elif self.fresh and whole:
            flags = KEEPS
        _set(memory, slot, self.address(layout), self.interface, flags)

    def take_back(self, memory: memoryview, slot: int, layout: Layout) -> None:
        """Reads from the struct what a run has left, and clears it for the next run."""
        device, interface, _, flags, *_ = BUFFER.unpack_from(memory, slot)
        _set(memory, slot, 0, 0, 0)
        if not flags & KEEPS or not device:
            return
        with self._lock:
            struct = self._new_struct()
            if not struct.device:
                struct.device = device + self._whole().host - layout.host
                struct.device_interface = interface
                from parhelion.runtime import devices

                self._number = devices.ordinal()
                struct.flags = flags & (_DIRTY | OWNED) | KEEPS
            elif self._is_whole(layout):
                struct.flags = (int(struct.flags) & ~_DIRTY) | flags & _DIRTY
            elif flags & DEVICE_DIRTY:
                struct.flags |= DEVICE_DIRTY
            elif flags & HOST_DIRTY and self.dirty() & DEVICE_DIRTY:
                # The newest pixels of the view are here, those of the rest there.
                from parhelion.runtime import devices

                part, _dims = devices.struct_of(layout)
                part.device, part.device_interface = device, interface
                part.flags = HOST_DIRTY
                devices.sync(part, interface, ON_DEVICE | READS, self._what())
            elif flags & HOST_DIRTY:
                struct.flags |= HOST_DIRTY

    def _is_whole(self, layout: Layout) -> bool:
        """Whether a view has all pixels: then it has the first and the last one."""
        whole = self._whole()
        return layout.low == whole.low and layout.high == whole.high


def _set(
    memory: memoryview, slot: int, device: int, interface: int, flags: int
) -> None:
    """Sets what a buffer struct says of a device."""
    fields = list(BUFFER.unpack_from(memory, slot))
    fields[0], fields[1], fields[3] = device, interface, flags
    BUFFER.pack_into(memory, slot, *fields)


__all__ = ["DeviceCopy"]
