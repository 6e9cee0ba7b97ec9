"""Halide's CUDA target as a contender: the same algorithm and schedule, compiled ahead
of time and linked with what has it use the primary context (`halide_context.c`)."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Case, Image, Schedule
from benchmarks.gpu import nvcc
from benchmarks.gpu.contender import HALIDE, Absent, Contender, Images, Ready
from benchmarks.gpu.device import arch
from benchmarks.halide_host import target_of
from parhelion.runtime.context import Dimension, PixelType, RawBuffer

#: `halide_buffer_t.flags`: the host's copy is the newest, or the device's is.
HOST_DIRTY = 1
_CODES = {"i": 0, "u": 1, "f": 2, "b": 1}


def module() -> Module:
    """Halide. Raises Absent where it is not installed or has no CUDA."""
    if importlib.util.find_spec("halide") is None:
        raise Absent("halide is not installed")
    import halide

    if not hasattr(halide.TargetFeature, "CUDA"):
        raise Absent("this wheel of Halide has no CUDA")
    return halide


def target(hl: Module, architecture: str) -> Any:
    """This computer with a GPU of an architecture; Halide knows some up to 8.6."""
    number = min(int(architecture.removeprefix("sm_")), 86)
    known = [30, 32, 35, 50, 61, 70, 75, 80, 86]
    best = max([k for k in known if k <= number])
    return hl.Target(f"{target_of(hl)}-cuda-cuda_capability_{best}")


def compiled(app: App, of: Any, folder: Path, name: str = "job") -> Path:
    """A scheduled application as a library with its run time, for a target. Raises
    Absent where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Absent("a C compiler is not installed")
    source, made = folder / f"{name}.o", folder / f"{name}.so"
    with warnings.catch_warnings():
        # Of constants that it takes for floats of single precision, as is meant.
        warnings.simplefilter("ignore", RuntimeWarning)
        app.output.compile_to_object(str(source), arguments(app), name, of)
    context = str(nvcc.FOLDER / "halide_context.c")
    nvcc.run(
        [compiler, "-shared", "-fPIC", "-O1", context, str(source), "-o", str(made)]
        + ["-ldl", "-lpthread", "-lm"]
    )
    return made


def arguments(app: App) -> list[Any]:
    return [*app.inputs.values(), *app.params.values()]


class Struct:
    """A `halide_buffer_t` of an array, and what has to live as long."""

    def __init__(self, image: Image) -> None:
        self.array = a = image.array
        n = a.ndim
        origin = image.origin or (0,) * n
        self.dims = (Dimension * max(n, 1))()
        for d in range(n):
            axis = n - 1 - d
            step = a.strides[axis] // a.itemsize
            self.dims[d] = Dimension(origin[d], a.shape[axis], step, 0)
        kind = PixelType(_CODES[a.dtype.kind], a.dtype.itemsize * 8, 1)
        at = ctypes.cast(self.dims, ctypes.c_void_p)
        self.raw = RawBuffer(0, None, a.ctypes.data, HOST_DIRTY, kind, n, at, None)

    @property
    def pointer(self) -> Any:
        return ctypes.byref(self.raw)


def contender(case: Case, name: str, schedule: Schedule) -> Contender:
    """A case under one of our schedules for GPUs."""

    def prepare(images: Images) -> Ready:
        hl = module()
        app = scheduled(case, schedule, hl)
        with tempfile.TemporaryDirectory() as folder:
            made = compiled(app, target(hl, arch()), Path(folder))
            library = ctypes.CDLL(str(made))
        return ready(library, case, app, images)

    return Contender(HALIDE, name, prepare)


def scheduled(case: Case, schedule: Schedule, hl: Module) -> App:
    """A case under one of our schedules. Raises Absent where Halide refuses that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        app = case.algorithm(hl)
        try:
            schedule(hl, app)
        except (hl.HalideError, AttributeError, TypeError) as error:
            raise Absent(f"Halide refuses the schedule: {error}") from error
    return app


def ready(library: Any, case: Case, app: App, images: Images) -> Ready:
    """A library of `compiled` with a case's images and values."""
    inputs = [Struct(images[name]) for name in app.inputs]
    (output,) = case.outputs
    result = Struct(output.new())
    values = [
        _number(param, case.values[name] if name in case.values else param.get())
        for name, param in app.params.items()
    ]
    given: Sequence[Any] = [s.pointer for s in inputs] + values + [result.pointer]

    def run() -> None:
        nvcc.checked(library.job(*given))

    def back() -> Array:
        nvcc.checked(library.halide_copy_to_host(None, result.pointer))
        return np.array(result.array)

    return Ready(run, back)


def _number(param: Any, value: Any) -> Any:
    kind = param.type()
    if kind.is_float():
        return (ctypes.c_float if kind.bits() == 32 else ctypes.c_double)(value)
    return getattr(ctypes, f"c_{'u' * kind.is_uint()}int{kind.bits()}")(int(value))


__all__ = [
    "arguments",
    "compiled",
    "contender",
    "module",
    "ready",
    "scheduled",
    "target",
]
