"""The programs as cases of Halide's: definitions with schedules by hand, and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from apps import camera_pipe
from apps.common import Array
from apps.forma import edges
from apps.forma.program import plain
from apps.forma.programs import PROGRAMS
from apps.forma.pyramids import DEPTH
from benchmarks.case import Case, Image, Output, Tolerance
from benchmarks.forma import multiscale, stages

Size = Sequence[int]


@dataclass(frozen=True)
class Expert:
    """How Halide computes a program.

    case: for a size of the program's input. margin: how many points at each edge of an
    output are not compared, as edges are dealt with in other ways. bound: how far the
    others may be apart. is_colour: whether colours are the outermost dimension, which
    are the fields of structs in Forma.
    """

    case: Callable[[Size], Case]
    margin: int
    bound: float
    is_colour: bool = False

    def inside(self, ours: Array, theirs: Array, origin: Size) -> tuple[Array, Array]:
        """What is to be the same of an output of the program, and of one of Halide's,
        which begins at some point of it."""
        if self.is_colour:
            theirs = np.moveaxis(theirs, 0, -1)
        x, y = origin[:2] if origin else (0, 0)
        height, width = theirs.shape[:2]
        ours = ours[y : y + height, x : x + width]
        cut = self.margin
        kept = np.s_[cut : ours.shape[0] - cut, cut : ours.shape[1] - cut]
        return ours[kept], theirs[kept]


def _made(
    name: str,
    algorithm: Callable[..., object],
    schedules: Mapping[str, Callable[..., None]],
    inputs: Callable[[], Mapping[str, Image]],
    outputs: tuple[Output, ...],
    size: Size,
    values: Mapping[str, float],
) -> Case:
    return Case(
        name=name,
        size=" x ".join([str(extent) for extent in size]),
        algorithm=algorithm,  # type: ignore[arg-type]
        schedules=schedules,
        inputs=inputs,
        outputs=outputs,
        tolerance=Tolerance(),
        values=values,
    )


def _image(name: str, size: Size) -> Mapping[str, Image]:
    return {n: Image(plain(a)) for n, a in PROGRAMS[name].inputs(size).items()}


def _stencil(
    name: str,
    algorithm: Callable[..., object],
    schedules: Mapping[str, Callable[..., None]],
    reach: int,
    dtype: type,
    size: Size,
) -> Case:
    """Of one image, without what is closer to its edges than the stencils reach."""
    width, height = size
    inner = Output(dtype, (width - 2 * reach, height - 2 * reach), (reach, reach))
    values = edges.CANNY.values if name == "canny" else {}
    inputs = partial(_image, name, size)
    return _made(name, algorithm, schedules, inputs, (inner,), size, values)


def _pyramid(size: Size) -> Case:
    width, height = size
    outputs = [Output(np.float32, (width >> j, height >> j)) for j in range(DEPTH + 1)]
    schedules = {
        "lines": multiscale.schedule_pyramid,
        "inlined": multiscale.schedule_pyramid_inlined,
    }
    inputs = partial(_image, "pyramid", size)
    made = tuple(outputs)
    return _made("pyramid", multiscale.pyramid, schedules, inputs, made, size, {})


def _exposures(size: Size) -> Mapping[str, Image]:
    """The four images as one, whose colours are planes."""
    images = PROGRAMS["exposure_fusion"].inputs(size).values()
    stacked = np.stack([np.moveaxis(plain(one), -1, 0) for one in images])
    return {"images": Image(np.ascontiguousarray(stacked))}


def _fusion(
    name: str,
    algorithm: Callable[..., object],
    schedules: Mapping[str, Callable[..., None]],
    size: Size,
) -> Case:
    out = Output(np.float32, (*size, 3))
    inputs = partial(_exposures, size)
    return _made(name, algorithm, schedules, inputs, (out,), size, {})


def _mosaic(size: Size) -> Mapping[str, Image]:
    raw = PROGRAMS["camera_pipe"].inputs(size)["raw"]
    return {
        "input": Image(raw.view(np.uint16)),
        "matrix_3200": Image(camera_pipe.MATRIX_3200),
        "matrix_7000": Image(camera_pipe.MATRIX_7000),
    }


def _camera(size: Size) -> Case:
    left, top = camera_pipe.OFFSET
    out = Output(np.uint8, (size[0] - 2 * left, size[1] - 2 * top, 3))
    return _made(
        "camera_pipe",
        camera_pipe.algorithm,
        {"strips": camera_pipe.schedule_strips},
        partial(_mosaic, size),
        (out,),
        size,
        camera_pipe.SETTINGS,
    )


def _emboss(size: Size) -> Case:
    schedules = {"rows": stages.rows, "windows": stages.windows}
    return _stencil("emboss", stages.emboss, schedules, 1, np.float32, size)


def _blur(size: Size) -> Case:
    schedules = {"rows": stages.rows, "tiles": stages.tiles, "windows": stages.windows}
    return _stencil("blur", stages.blur, schedules, 1, np.float32, size)


def _canny(size: Size) -> Case:
    schedules = {"rows": stages.rows, "tiles": stages.tiles}
    return _stencil("canny", stages.canny, schedules, 5, np.int8, size)


def _direct(size: Size) -> Case:
    schedules = {
        "strips": multiscale.schedule_fusion,
        "root": multiscale.schedule_fusion_root,
    }
    return _fusion("exposure_fusion", multiscale.fusion, schedules, size)


def _by_pyramids(size: Size) -> Case:
    schedules = {
        "lines": multiscale.schedule_fusion_by_pyramids,
        "inlined": multiscale.schedule_fusion_inlined,
    }
    algorithm = multiscale.fusion_by_pyramids
    return _fusion("exposure_pyramid", algorithm, schedules, size)


#: By the name of the program. Both pyramids are measured against that without mirrors,
#: as in the paper. The tone curve of the camera pipeline is a table there, in Forma a
#: formula. Fused images: see `contenders.BOUNDS`.
EXPERTS: Mapping[str, Expert] = {
    "emboss": Expert(_emboss, 0, 2e-6),
    "blur": Expert(_blur, 0, 2e-6),
    "canny": Expert(_canny, 0, 0),
    "pyramid": Expert(_pyramid, 3, 2e-6),
    "pyramid_mirror": Expert(_pyramid, 3, 2e-6),
    "exposure_fusion": Expert(_direct, 1, 1e-2, is_colour=True),
    "exposure_pyramid": Expert(_by_pyramids, 64, 2e-3, is_colour=True),
    "camera_pipe": Expert(_camera, 0, 1, is_colour=True),
}

__all__ = ["EXPERTS", "Expert"]
