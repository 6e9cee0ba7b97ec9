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

from parhelion.errors import HalideError, Site, here
from parhelion.ir.expr import float_bits
from parhelion.ir.pipeline import ArgKind, Argument
from parhelion.runtime.context import (
    BUFFER,
    BUFFER_BYTES,
    CONTEXT_BYTES,
    DIMENSION_BYTES,
    ERROR_HEAD,
    HOST_OFFSET,
    MAX_FAILURE_ARGS,
    Context,
    FailureSite,
    failure,
)
from parhelion.runtime.jit import Compiled
from parhelion.runtime.layout import Layout
from parhelion.types import Type

Value = Layout | int | float | bool

_PRINT_FN: int = Context.print_fn.offset
_ARGS: int = Context.args.offset
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
    struct's. told: the layout that each buffer struct describes already.
    """

    __slots__ = ("argv", "base", "block", "memory", "slots", "told")

    def __init__(self, args: Sequence[Argument], print_address: int) -> None:
        argv = CONTEXT_BYTES
        slots: list[int] = []
        top = argv + 8 * len(args)
        for a in args:
            slots.append(top)
            top += 8
            if a.kind is not ArgKind.SCALAR:
                dims = len(a.symbol.dims)  # type: ignore[union-attr]
                top += BUFFER_BYTES - 8 + DIMENSION_BYTES * dims
        self.block = ctypes.create_string_buffer(top)
        self.base = ctypes.addressof(self.block)
        self.argv = self.base + argv
        self.memory = memoryview(self.block).cast("B")
        self.slots = tuple(slots)
        self.told: list[Layout | None] = [None] * len(args)
        struct.pack_into("=Q", self.memory, _PRINT_FN, print_address)
        for i, (a, slot) in enumerate(zip(args, slots, strict=True)):
            struct.pack_into("=Q", self.memory, argv + 8 * i, self.base + slot)
            if a.kind is ArgKind.SCALAR:
                continue
            t, n = a.symbol.type, len(a.symbol.dims)  # type: ignore[union-attr]
            dim = self.base + slot + BUFFER_BYTES
            fields = (0, 0, 0, 0, int(t.kind), t.width, 1, n, dim, 0)
            BUFFER.pack_into(self.memory, slot, *fields)


class Call:
    """A compiled function with what is needed to call it.

    `run` takes a value for each argument, in order. They have been checked: the
    layouts' types and dimensions are those of the arguments' symbols, and whoever
    calls keeps the arrays alive.
    """

    def __init__(
        self,
        compiled: Compiled,
        args: Sequence[Argument],
        failures: Sequence[FailureSite],
        sites: Mapping[str, Site | None],
        print_address: int,
    ) -> None:
        self.compiled = compiled  # keeps the code loaded
        self._entry = compiled.entry
        self._args = tuple(args)
        self._failures = failures
        self._sites = sites
        self._print = print_address
        self._packers = tuple(
            _packer(a.symbol.type) if a.kind is ArgKind.SCALAR else None
            for a in self._args
        )
        # list.pop and list.append are atomic: this is a pool for all threads.
        self._frames: list[_Frame] = []

    def run(self, values: Sequence[Value]) -> None:
        """Runs the code. Raises the HalideError for a failure that it reports."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._args, self._print)
        memory, told = frame.memory, frame.told
        for i, (slot, pack, value) in enumerate(
            zip(frame.slots, self._packers, values, strict=True)
        ):
            if pack is not None:
                pack(memory, slot, value)
            elif told[i] is not value:
                layout: Layout = value  # type: ignore[assignment]
                host = slot + HOST_OFFSET
                memory[host : host + 8] = layout.host_bytes
                dims = slot + BUFFER_BYTES
                memory[dims : dims + len(layout.packed)] = layout.packed
                told[i] = layout
        code = self._entry(frame.base, frame.argv)
        if code:
            error = self._error(frame)
            memory[: ERROR_HEAD.size] = _NO_ERROR
            self._frames.append(frame)
            raise error
        self._frames.append(frame)

    def _error(self, frame: _Frame) -> HalideError:
        code, site, count, _ = ERROR_HEAD.unpack_from(frame.memory, 0)
        count = min(count, MAX_FAILURE_ARGS)
        words = struct.unpack_from(f"={count}q", frame.memory, _ARGS)
        return failure(code, site, words, self._failures, self._sites, here())


def _packer(type: Type) -> Callable[[memoryview, int, object], None]:
    pack_into = struct.Struct(_scalar_format(type)).pack_into
    if type.is_bfloat():

        def pack_bits(memory: memoryview, at: int, value: object) -> None:
            pack_into(memory, at, float_bits(float(value), type))  # type: ignore[arg-type]

        return pack_bits
    return pack_into
