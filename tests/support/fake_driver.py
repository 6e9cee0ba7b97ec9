"""A driver's library for GPUs that are not there: `fake_cuda.c`, compiled."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from parhelion.codegen.kernel_image import DEVICES
from parhelion.runtime import devices, jit
from parhelion.runtime.context import Context
from parhelion.runtime.device_ir import device_runtime
from tests.support.devices import DeviceRuntime

SOURCE = Path(__file__).with_name("fake_cuda.c")


@functools.cache
def library(lacks: bool = False) -> bytes:
    """The driver's file. lacks: whether it lacks a function that is needed."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("a C compiler is missing (Debian: gcc)")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "libfake.so"
        options = ["-shared", "-fPIC", "-O1", "-pthread", f"-DLACKS={int(lacks)}"]
        subprocess.run([compiler, *options, SOURCE, "-o", made], check=True)
        return made.read_bytes()


@functools.cache
def _object() -> bytes:
    return jit.object_code(device_runtime(), level=0)


class Driver(DeviceRuntime):
    """A run time of its own, nothing of it shared, over a driver of its own.

    lacks: whether the driver lacks a function that is needed.
    """

    def __init__(
        self, folder: Path, environment: pytest.MonkeyPatch, lacks: bool = False
    ) -> None:
        self.file = folder / f"libfake-{lacks}.so"
        self.file.write_bytes(library(lacks))
        environment.setenv("PARHELION_CUDA_DRIVER", str(self.file))
        names = (*devices.NAMES, *devices._CONTROLS)
        self.library, symbols = jit.load(_object(), names, {})
        super().__init__("ph_device_cuda", symbols)
        self.fake = ctypes.CDLL(str(self.file))
        self.fake.fake_told.restype = ctypes.c_char_p
        self.fake.fake_in_use.restype = ctypes.c_size_t
        self.fake.fake_memory.argtypes = [ctypes.c_size_t]

    def start(self) -> int:
        return int(self.call("ph_cuda_start", ctypes.c_int32, (ctypes.c_void_p, 0)))

    def told(self) -> list[str]:
        """The calls of the driver since this was asked last."""
        lines: list[str] = self.fake.fake_told().decode().splitlines()
        self.fake.fake_reset()
        return lines

    def fails(self, function: str, code: int, times: int = 1) -> None:
        """Has the next calls of a function of the driver's return a code."""
        self.fake.fake_fail(function.encode(), code, times)

    @property
    def in_use(self) -> int:
        """Bytes that the driver has given out."""
        return int(self.fake.fake_in_use())

    def of_memory(self, name: str, *args: int) -> int:
        wide = ctypes.c_int64
        return int(self.call(f"ph_cuda_{name}", wide, *[(wide, a) for a in args]))


class Image:
    """Code as compiled modules have it, and the kernels in it."""

    def __init__(self, text: str) -> None:
        self._text = ctypes.create_string_buffer(text.encode())
        self.slots = (ctypes.c_void_p * DEVICES)()
        at = ctypes.addressof(self._text), len(text), ctypes.addressof(self.slots)
        self._record = (ctypes.c_uint64 * 3)(*at)
        self.address = ctypes.addressof(self._record)

    def kernel(self, name: str, most_shared: int = 0) -> Kernel:
        return Kernel(self, name, most_shared)


class Kernel:
    """The record of a kernel."""

    def __init__(self, image: Image, name: str, most_shared: int) -> None:
        self._name = ctypes.create_string_buffer(name.encode())
        self._image, self.slots = image, (ctypes.c_void_p * DEVICES)()
        at = (ctypes.addressof(self._name), image.address, ctypes.addressof(self.slots))
        self._record = (ctypes.c_uint64 * 4)(*at, most_shared)
        self.address = ctypes.addressof(self._record)


def arguments(*values: Any) -> Any:
    """The array of pointers to a kernel's arguments."""
    made: Any = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    made.kept = values
    return made


def context(stream: int = 0) -> Context:
    """The context of a call that works on a stream."""
    return Context(stream=stream or None)


__all__ = ["Driver", "Image", "Kernel", "arguments", "context", "library"]
