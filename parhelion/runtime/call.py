"""Calling compiled code: Python values in, C arguments out, failures as exceptions.

A call uses a `_Frame`, one block of memory with the context, the argument vector, the
scalars and the buffer structs, all pointers between them set once. Frames are
reused; what a frame's buffer struct already says is not written again. So a call
costs a few microseconds, and several threads may call at once.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence

from parhelion.codegen.structs import HOST_DIRTY
from parhelion.errors import HalideError, Site, here
from parhelion.ir.deadline import DEADLINE, Deadline
from parhelion.ir.expr import float_bits
from parhelion.ir.failures import INTERRUPTED
from parhelion.ir.pipeline import ArgKind, Argument
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.runtime.context import (
    BUFFER,
    BUFFER_BYTES,
    CONTEXT_BYTES,
    DEVICE,
    DIMENSION_BYTES,
    ERROR_HEAD,
    HOST_OFFSET,
    MAX_FAILURE_ARGS,
    STREAM,
    Context,
    FailureSite,
    RenamedFailure,
    failure,
    renaming,
)
from parhelion.runtime.device_copy import DeviceCopy
from parhelion.runtime.foreign import RAISED
from parhelion.runtime.layout import Layout
from parhelion.runtime.loading import Compiled
from parhelion.runtime.threads import LIMIT, raise_interrupt, was_interrupted
from parhelion.types import Type

_ARGS: int = Context.args.offset
_MOST_THREADS: int = Context.most_threads.offset
_STREAM: int = Context.stream.offset
_DEVICE: int = Context.device.offset
_NUMBER = struct.Struct("=i")
_POINTER = struct.Struct("=Q")
#: What helps where a pipeline runs for too long.
_SLOW = (
    "a schedule makes it faster: hl.autoschedule finds one, and profile tells where the"
    " time goes; or allow more seconds"
)
_NO_ERROR = bytes(ERROR_HEAD.size)


def _scalar_format(type: Type) -> str:
    """How `struct` writes a scalar of a type (bfloat16 goes as its bits)."""
    if type.is_bool():
        return "=B"
    if type.is_bfloat():
        return "=H"
    letters = {8: "b", 16: "h", 32: "i", 64: "q"}
    if type.is_float():
        return "=" + {16: "e", 32: "f", 64: "d"}[type.width]
    letter = letters[type.width]
    return "=" + (letter if type.is_int() else letter.upper())


class _Frame:
    """Memory for the arguments of one call at a time.

    slots: for each argument, where its value goes: a scalar's place, or a buffer
    struct's. told: the layout that each buffer struct describes already. most_threads:
    as the context has it.
    """

    __slots__ = ("argv", "base", "block", "memory", "most_threads", "slots", "told")

    def __init__(self, args: Sequence[Argument]) -> None:
        argv = CONTEXT_BYTES
        slots: list[int] = []
        top = argv + 8 * len(args)
        for a in args:
            slots.append(top)
            top += 8
            if isinstance(a.symbol, BufferSym):
                dims = len(a.symbol.dims)
                top += BUFFER_BYTES - 8 + DIMENSION_BYTES * dims
        self.block = ctypes.create_string_buffer(top)
        self.base = ctypes.addressof(self.block)
        self.argv = self.base + argv
        self.memory = memoryview(self.block).cast("B")
        self.slots = tuple(slots)
        self.most_threads = 0
        self.told: list[object] = [None] * len(args)
        for i, (a, slot) in enumerate(zip(args, slots, strict=True)):
            struct.pack_into("=Q", self.memory, argv + 8 * i, self.base + slot)
            if isinstance(a.symbol, BufferSym):
                t, n = a.symbol.type, len(a.symbol.dims)
                dim = self.base + slot + BUFFER_BYTES
                fields = (0, 0, 0, 0, int(t.kind), t.width, 1, n, dim, 0)
                BUFFER.pack_into(self.memory, slot, *fields)

    def describe(self, i: int, layout: Layout) -> None:
        """Writes a layout into the buffer struct of argument `i`."""
        slot = self.slots[i]
        host, dims = slot + HOST_OFFSET, slot + BUFFER_BYTES
        self.memory[host : host + 8] = layout.host_bytes
        self.memory[dims : dims + len(layout.packed)] = layout.packed
        self.told[i] = layout


class Call:
    """A compiled function with what is needed to call it.

    `run` takes the values for the arguments; `places` says where in them each
    argument of the function stands (by default, in its own order). Layouts have been
    checked: their types and dimensions are those of the arguments' symbols, and
    whoever calls keeps the arrays alive. A scalar that its type cannot hold raises
    struct.error or OverflowError before anything runs. sites: the user's lines of
    what failures name (see `context.failure`).
    """

    def __init__(
        self,
        compiled: Compiled,
        args: Sequence[Argument],
        failures: Sequence[FailureSite],
        sites: Mapping[str, Site | None],
        places: Sequence[int] | None = None,
    ) -> None:
        self.compiled = compiled  # keeps the code loaded
        self._entry = compiled.entry
        self._on_devices = "ph_device_sync" in compiled.helpers
        self._args = tuple(args)
        self._failures = failures
        self.sites = sites
        places = range(len(args)) if places is None else places
        frame = _Frame(self._args)
        self._scalars = tuple(
            (_packer(a.symbol.type), slot, place)
            for a, slot, place in zip(args, frame.slots, places, strict=True)
            if isinstance(a.symbol, ParamSym)
        )
        self._buffers = tuple(
            (i, place)
            for i, (a, place) in enumerate(zip(args, places, strict=True))
            if isinstance(a.symbol, BufferSym)
        )
        # list.pop and list.append are atomic: this is a pool for all threads.
        self._frames = [frame]

    def rearranged(self, places: Sequence[int]) -> Call:
        """The same code for values in another order."""
        return Call(
            self.compiled,
            self._args,
            self._failures,
            self.sites,
            places,
        )

    def renamed(self, names: Mapping[str, str]) -> Call:
        """The same code with other names in its failures: new ones by those it has."""
        rename = renaming(names)
        return Call(
            self.compiled,
            self._args,
            [RenamedFailure(one, rename) for one in self._failures],
            {rename(name): site for name, site in self.sites.items()},
        )

    def run(self, values: Sequence[object]) -> None:
        """Runs the code. Raises the HalideError for a failure that it reports."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._args)
        for pack, slot, place in self._scalars:
            pack(frame.memory, slot, values[place])
        most = LIMIT.get()
        if frame.most_threads != most:
            _NUMBER.pack_into(frame.memory, _MOST_THREADS, most)
            frame.most_threads = most
        if self._on_devices:
            _POINTER.pack_into(frame.memory, _STREAM, STREAM.get())
            _NUMBER.pack_into(frame.memory, _DEVICE, DEVICE.get())
        told, lent = frame.told, False
        for i, place in self._buffers:
            layout: Layout = values[place]  # type: ignore[assignment]
            if told[i] is layout:
                continue
            frame.describe(i, layout)
            if layout.copy is not None:
                told[i] = None  # it would keep the image
                if self._on_devices or layout.copy.allocated:
                    lent = True
        deadline = DEADLINE.get()
        if lent:
            code = self._run_lent(frame, values, deadline)
        elif deadline is not None:
            code = self._run_within(frame, deadline)
        else:
            code = self._entry(frame.base, frame.argv)
        if code:
            # What foreign code of the user's raised says more than that it failed.
            error = RAISED.pop(frame.base, None)
            if error is None and code != INTERRUPTED:
                error = self._error(frame)
            frame.memory[: ERROR_HEAD.size] = _NO_ERROR
            self._frames.append(frame)
            if error is None or code == INTERRUPTED:
                raise_interrupt()
            raise error
        self._frames.append(frame)

    def _run_within(self, frame: _Frame, deadline: Deadline) -> int:
        """Runs the code, but no longer than that."""
        from parhelion.runtime.limited import run_within

        doing = f"{self.compiled.name} was computed"
        deadline.check(doing)
        code, stopped = run_within(
            deadline, self._entry, frame.base, frame.argv, frame.memory
        )
        if code == INTERRUPTED and stopped and not was_interrupted():
            frame.memory[: ERROR_HEAD.size] = _NO_ERROR
            self._frames.append(frame)
            raise deadline.error(doing, _SLOW)
        return code

    def _run_lent(
        self, frame: _Frame, values: Sequence[object], deadline: Deadline | None
    ) -> int:
        """Runs the code with images that may be on a device."""
        lent: list[tuple[int, Layout, DeviceCopy]] = []
        for i, place in self._buffers:
            layout: Layout = values[place]  # type: ignore[assignment]
            if layout.copy is not None:
                lent.append((i, layout, layout.copy))
        memory, slots = frame.memory, frame.slots
        try:
            for i, layout, copy in lent:
                if self._on_devices:
                    copy.lend(memory, slots[i], layout)
                else:
                    copy.read_on_host()
            if deadline is not None:
                return self._run_within(frame, deadline)
            return self._entry(frame.base, frame.argv)
        finally:
            for i, layout, copy in lent:
                if self._on_devices:
                    copy.take_back(memory, slots[i], layout)
                elif self._args[i].kind is not ArgKind.INPUT:
                    copy.mark(HOST_DIRTY, True)

    def _error(self, frame: _Frame) -> HalideError:
        code, site, count, _ = ERROR_HEAD.unpack_from(frame.memory, 0)
        count = min(count, MAX_FAILURE_ARGS)
        words = struct.unpack_from(f"={count}q", frame.memory, _ARGS)
        return failure(code, site, words, self._failures, self.sites, here())


def _packer(type: Type) -> Callable[[memoryview, int, object], None]:
    pack_into = struct.Struct(_scalar_format(type)).pack_into
    if type.is_bfloat():

        def pack_bits(memory: memoryview, at: int, value: object) -> None:
            pack_into(memory, at, float_bits(float(value), type))  # type: ignore[arg-type]

        return pack_bits
    return pack_into
