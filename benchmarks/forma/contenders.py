"""Who computes a program: Forma, NumPy, OpenCV, C++, Halide, and Python's loops."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from apps.common import Array
from apps.forma import loops, rician
from apps.forma.program import Program, apart, plain
from apps.forma.programs import PROGRAMS
from benchmarks.case import zeros
from benchmarks.cpp import build
from benchmarks.forma import generated
from benchmarks.forma.experts import EXPERTS, Expert
from benchmarks.runtime import prepare
from parhelion import forma

#: Forma's results are written to arrays that are there, as are those of C++, of OpenCV
#: and of Halide; NumPy's are new arrays, beside which NEW stands. All of these arrays
#: begin away from the inputs by one rule (`benchmarks.case.zeros`).
FORMA, NEW, AUTOMATIC = "Forma", "Forma, new arrays", "default autoscheduler"
PAPER, GENERATED = "the paper's scheduler", "generated C"
NUMPY, OPENCV, CPP, HALIDE = "NumPy", "OpenCV", "C++", "Halide"
#: The schedulers of `FORMA`, of `PAPER` and of `AUTOMATIC`.
SCHEDULER, MERGED, DEFAULT = "Strips", "Forma", "Parhelion"
#: Inputs, dimension 0 first. The paper's are known for emboss and blur alone.
SIZES: Mapping[str, tuple[int, ...]] = {
    "emboss": (2048, 2048),
    "blur": (2048, 2048),
    "sampling": (2048, 2048),
    "extrapolation": (1024, 1024),
    "canny": (2048, 2048),
    "pyramid": (2048, 2048),
    "pyramid_mirror": (2048, 2048),
    "exposure_fusion": (1024, 1024),
    "exposure_pyramid": (1024, 1024),
    "camera_pipe": (2592, 1944),
    "rician_2d": (512, 512),
    "rician_3d": (64, 64, 64),
}


class WrongResult(Exception):
    """A contender computed something else."""


@dataclass(frozen=True)
class Contender:
    """A computation, and the plain arrays that its last run computed. expert: how they
    are compared, if they are Halide's; origins: where they begin. inputs: arrays that
    Halide's Buffers use and do not keep."""

    run: Callable[[], object]
    results: Callable[[], Sequence[Array]]
    expert: Expert | None = None
    origins: tuple[tuple[int, ...], ...] = ()
    inputs: object = None


class Returned:
    """Keeps what a function returns."""

    def __init__(self, compute: Callable[[], Array | tuple[Array, ...]]) -> None:
        self._compute = compute
        self._last: Array | tuple[Array, ...] = ()

    def run(self) -> None:
        self._last = self._compute()

    def results(self) -> Sequence[Array]:
        last = self._last
        return [plain(a) for a in (last if isinstance(last, tuple) else (last,))]


def size_of(name: str, scale: float = 1.0) -> tuple[int, ...]:
    """A program's size, made smaller to multiples of 32."""
    full = SIZES[name]
    if scale == 1:
        return full
    return tuple([max(32 * round(extent * scale / 32), 32) for extent in full])


def compiled(
    program: Program, inputs: Mapping[str, Array], scheduler: str = SCHEDULER
) -> tuple[Contender, Contender]:
    """Into arrays that are there, and into new ones."""
    run = forma.compile(program.path, scheduler=scheduler)
    arguments: dict[str, Any] = {**inputs, **program.values}
    new = Returned(lambda: run(**arguments))
    new.run()
    read = [*inputs.values()]
    out = [zeros(one.shape, one.dtype, read) for one in new.results()]
    into = Returned(lambda: run(**arguments, out=out))
    return Contender(into.run, into.results), Contender(new.run, new.results)


def in_generated_c(
    program: Program, inputs: Mapping[str, Array], size: Sequence[int], like: Contender
) -> Contender:
    """The C that Forma writes. like: who has arrays as its results are."""
    run = forma.compile(program.path)
    read = [*inputs.values()]
    out = [zeros(one.shape, one.dtype, read) for one in like.results()]
    return Contender(generated.caller(program, run, inputs, size, out), lambda: out)


def with_numpy(program: Program, inputs: Mapping[str, Array]) -> dict[str, Contender]:
    found = Returned(lambda: program.expected(inputs))
    return {NUMPY: Contender(found.run, found.results)}


def with_opencv(inputs: Mapping[str, Array]) -> dict[str, Contender]:
    """Emboss by OpenCV's function for kernels."""
    import cv2

    kernel = np.array([[0, -1, 0], [-1, 1, 1], [0, 1, 0]], np.float32)
    image = inputs["image"]
    out = zeros(image.shape, image.dtype, [image])

    def edged() -> Sequence[Array]:
        """What it computes beyond the image's edges is zero in the program."""
        inside = np.zeros_like(out)
        inside[1:-1, 1:-1] = out[1:-1, 1:-1]
        return [inside]

    def run() -> None:
        cv2.filter2D(image, -1, kernel, out)

    return {OPENCV: Contender(run, edged)}


def in_cpp(program: Program, inputs: Mapping[str, Array]) -> dict[str, Contender]:
    """Denoising as loops in C++, on one thread."""
    library = build("rician")
    f = inputs["f"]
    out = zeros(f.shape, f.dtype, [f])
    depth, height, width = (1, *f.shape)[-3:]
    steps = rician.STEPS_2D if f.ndim == 2 else rician.STEPS_3D
    values = [ctypes.c_float(program.values[name]) for name in ("sigma", "lambda")]

    def run() -> None:
        places = [ctypes.c_void_p(a.ctypes.data) for a in (f, out)]
        library.rician(*places, width, height, depth, *values, steps)

    return {CPP: Contender(run, lambda: [out])}


def with_halide(name: str, size: Sequence[int]) -> dict[str, Contender]:
    """Each schedule by hand, under Halide."""
    expert = EXPERTS[name]
    case = expert.case(size)
    images = case.inputs()
    origins = tuple([out.origin for out in case.outputs])
    found = {}
    for schedule in case.schedules:
        run, arrays = prepare(case, "halide", schedule, images)
        results = partial(_signed, arrays)
        one = Contender(run, results, expert, origins, images)
        found[f"{HALIDE} {schedule}"] = one
    return found


def _signed(arrays: Sequence[Array]) -> list[Array]:
    """Bytes as the int8 that they are in Forma."""
    return [a.view(np.int8) if a.dtype == np.uint8 else a for a in arrays]


def contenders(
    name: str, size: Sequence[int], is_automatic: bool
) -> dict[str, Contender]:
    """All that compute a program."""
    program = PROGRAMS[name]
    inputs = program.inputs(size)
    into, new = compiled(program, inputs)
    found = {FORMA: into, NEW: new, PAPER: compiled(program, inputs, MERGED)[0]}
    found |= with_numpy(program, inputs)
    if name not in generated.TOO_LARGE:
        found[GENERATED] = in_generated_c(program, inputs, size, new)
    if is_automatic:
        found[AUTOMATIC] = compiled(program, inputs, DEFAULT)[0]
    if name == "emboss":
        found |= with_opencv(inputs)
    if name.startswith("rician"):
        found |= in_cpp(program, inputs)
    if name in EXPERTS:
        found |= with_halide(name, size)
    return found


#: How far the images that are fused may be apart, where machine code rounds operations
#: together: a contrast is a difference of what is almost the same, and where all
#: contrasts are close to zero, the 1e-6 that is added to each decides.
BOUNDS = {"exposure_fusion": 1e-2, "exposure_pyramid": 2e-3}


def compare(name: str, found: Mapping[str, Contender]) -> dict[str, float]:
    """Runs each, and returns how far its results are from Forma's. Raises
    WrongResult."""
    found[FORMA].run()
    ours = found[FORMA].results()
    differences = {}
    for who, one in found.items():
        one.run()
        bound = max(PROGRAMS[name].bound, BOUNDS.get(name, 0))
        largest = 0.0
        origins = one.origins or ((),) * len(ours)
        for a, b, origin in zip(ours, one.results(), origins, strict=True):
            if one.expert is not None:
                a, b = one.expert.inside(a, b, origin)
                bound = max(bound, one.expert.bound)
            pair = np.ascontiguousarray(a), np.ascontiguousarray(b)
            largest = max(largest, apart(*pair))
        if largest > bound:
            raise WrongResult(f"{name}: {who} is apart by {largest}")
        differences[who] = largest
    return differences


#: Sizes for the loops in Python, whose times are scaled to the others' size.
SMALL: Mapping[str, tuple[int, ...]] = {
    "emboss": (256, 256),
    "exposure_fusion": (64, 64),
    "rician_2d": (48, 48),
    "rician_3d": (16, 16, 16),
}


def in_python(name: str) -> Callable[[], object]:
    """A program of Table 1 as loops over lists, at its small size."""
    program = PROGRAMS[name]
    inputs = program.inputs(SMALL[name])
    lists = [plain(a).tolist() for a in inputs.values()]
    if name == "emboss":
        return lambda: loops.emboss(lists[0])
    if name == "exposure_fusion":
        return lambda: loops.exposure_fusion(lists)
    values = program.values["sigma"], program.values["lambda"]
    if name == "rician_2d":
        return lambda: loops.rician(lists, *values, rician.STEPS_2D)
    return lambda: loops.rician(lists[0], *values, rician.STEPS_3D)


__all__ = [
    "AUTOMATIC",
    "CPP",
    "FORMA",
    "GENERATED",
    "HALIDE",
    "NEW",
    "NUMPY",
    "OPENCV",
    "PAPER",
    "SIZES",
    "SMALL",
    "Contender",
    "WrongResult",
    "compare",
    "contenders",
    "in_python",
    "size_of",
]
