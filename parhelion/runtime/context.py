"""The structs that compiled code and Python share, and its failures as exceptions.

The layouts are those of code generation (and, for buffers, of Halide's public
`halide_buffer_t` on 64-bit machines), so they are written down once, here.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Protocol

from parhelion.errors import HalideError, InternalError, Site
from parhelion.ir.device_status import Kind, explain, kind_of
from parhelion.ir.failures import CODES, FAILURES
from parhelion.types import Type

MAX_FAILURE_ARGS = 8

#: They give what drivers have said last of code that they refuse.
DRIVER_LOGS: list[Callable[[], str]] = []


#: The driver's handle of the stream that calls use; 0 for the default one.
STREAM: ContextVar[int] = ContextVar("parhelion.cuda_stream", default=0)
#: The number of the GPU that calls work on, plus one; 0 for the one that HL_GPU_DEVICE
#: names, or the first.
DEVICE: ContextVar[int] = ContextVar("parhelion.cuda_device", default=0)


class Context(ctypes.Structure):
    """What a call of compiled code has of its own: the error record, then hooks.

    code is 0 until the first failure, which sets it to a value of
    `ir.failures.CODES`; site numbers the `Assert` within its module; args hold
    integers sign-extended and floats as the bits of doubles.
    stop is where the run is told to look for signals, or to stop (`watch_ir`).
    print_fn, if set, is called as ``void print_fn(user, text)`` with UTF-8 text.
    most_threads is how many threads may run its parallel loops, the caller's included,
    or 0; helpers, how many of the pool do so now (`pool_ir`).
    profile is the record of a call that is profiled (`profile_ir`); no other code looks
    at it.
    stream is the stream of a device that works for the call; null is its default one.
    log is where a call that is profiled notes what it does on devices
    (`device_log_ir`); null for all others.
    device is the number of the GPU that it works on, plus one; 0 for the usual one.
    """

    _fields_ = [
        ("code", ctypes.c_int32),
        ("site", ctypes.c_int32),
        ("nargs", ctypes.c_int32),
        ("stop", ctypes.c_int32),
        ("args", ctypes.c_int64 * MAX_FAILURE_ARGS),
        ("print_fn", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
        ("most_threads", ctypes.c_int32),
        ("helpers", ctypes.c_int32),
        ("profile", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("log", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("unused", ctypes.c_int32),
    ]


class Dimension(ctypes.Structure):
    """`halide_dimension_t`: in elements, not bytes."""

    _fields_ = [
        ("min", ctypes.c_int32),
        ("extent", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    ]


class PixelType(ctypes.Structure):
    """`halide_type_t`"""

    _fields_ = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class RawBuffer(ctypes.Structure):
    """`halide_buffer_t`. `host` is the address of the element at all the mins."""

    _fields_ = [
        ("device", ctypes.c_uint64),
        ("device_interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("type", PixelType),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.c_void_p),
        ("padding", ctypes.c_void_p),
    ]


CONTEXT_BYTES = ctypes.sizeof(Context)
BUFFER_BYTES = ctypes.sizeof(RawBuffer)
DIMENSION_BYTES = ctypes.sizeof(Dimension)
HOST_OFFSET: int = RawBuffer.host.offset

#: `struct` formats of the same layouts, for writing them quickly.
DIMENSION_FORMAT = "iiiI"
BUFFER = struct.Struct("=QQQQBBHiQQ")
ERROR_HEAD = struct.Struct("=iiii")


class FailureSite(Protocol):
    """What code generation tells of an `Assert`: its code, and for each argument
    the constant text, or the type of the next number in the record."""

    @property
    def code(self) -> str: ...

    @property
    def args(self) -> Sequence[str | Type]: ...


def renaming(names: Mapping[str, str]) -> Callable[[str], str]:
    """A function that tells texts in other names. names: the new ones by the old, which
    are found within texts as well: ``factor p$1 of x``."""
    if not names:
        return str
    longest = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w$])(?:{longest})(?![\w$])")
    return lambda text: pattern.sub(lambda found: names[found[0]], text)


class RenamedFailure:
    """A FailureSite that tells other names, by what `renaming` gives."""

    __slots__ = ("args", "code")

    def __init__(self, told: FailureSite, rename: Callable[[str], str]) -> None:
        self.code = told.code
        self.args = [rename(a) if isinstance(a, str) else a for a in told.args]


def decode_number(bits: int, type: Type) -> int | float | bool:
    """One 64-bit word of an error record as a value of `type`."""
    if type.is_float():
        return float(struct.unpack("=d", struct.pack("=q", bits))[0])
    if type.is_bool():
        return bool(bits & 1)
    return type.wrap(bits) if type.is_int_or_uint() else bits


def failure(
    code: int,
    site: int,
    words: Sequence[int],
    failures: Sequence[FailureSite],
    sites: Mapping[str, Site | None],
    fallback: Site | None,
) -> HalideError:
    """The exception for a failure that compiled code recorded.

    words: the numbers of the record. failures: the module's table, by site.
    sites: the user's line for the name of each Func, image and Param; the failure's
    first argument that is such a name decides, else `fallback` (the call's line).
    """
    if not 0 <= site < len(failures):
        return InternalError(f"internal error: compiled code failed with code {code}")
    told = failures[site]
    if CODES.get(told.code) != code:
        return InternalError(
            f"internal error: failure {code} at site {site}, which is {told.code!r}"
        )
    numbers = iter(words)
    args = [
        one if isinstance(one, str) else decode_number(next(numbers), one)
        for one in told.args
    ]
    return failed(told.code, args, sites, fallback)


def failed(
    code: str,
    args: Sequence[object],
    sites: Mapping[str, Site | None],
    fallback: Site | None,
) -> HalideError:
    """The exception for a failure by its name in `ir.failures.FAILURES`, with the
    values of its arguments; sites, fallback: as for `failure`."""
    kind = FAILURES[code]
    hint, detail = kind.hint, ""
    if code == "require":
        what = kind.template.format("".join(_plain(a) for a in args))
    elif code == "device_failed":
        about, status = str(args[0]), int(str(args[1]))
        told, hint = explain(status)
        what = f"{about}: {told}"
        if kind_of(status) is Kind.CODE_REFUSED:
            detail = "\n".join([log() for log in DRIVER_LOGS])
        args = re.findall("'([^']+)'", about)
    else:
        what = kind.template.format(*args)
    named = next((sites[a] for a in args if isinstance(a, str) and a in sites), None)
    error = kind.error(what, at=named or fallback, hint=hint, detail=detail)
    error.failure = code
    return error


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
