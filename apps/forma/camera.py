"""The camera raw pipeline in NumPy, and its input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps import camera_pipe
from apps.common import Array
from apps.forma import scenes
from apps.forma.program import Program

#: The program's parameters, which are those of `apps.camera_pipe`.
VALUES = {
    "kelvin": camera_pipe.SETTINGS["color_temp"],
    "contrast": camera_pipe.SETTINGS["contrast"],
    "sharpening": camera_pipe.SETTINGS["sharpen_strength"],
    "black": float(camera_pipe.SETTINGS["black_level"]),
    "white": float(camera_pipe.SETTINGS["white_level"]),
}


def camera(raw: Array, **values: float) -> tuple[Array, ...]:
    """(H, W, 3) int8, which are bytes, from a mosaic of int16. The tone curve is a
    table of the values that are above."""
    if values != VALUES:
        raise ValueError(f"the tone curve is that of {VALUES}")
    planes = camera_pipe.with_numpy(raw.view(np.uint16))
    return (np.moveaxis(planes, 0, -1).view(np.int8),)


def inputs(size: Sequence[int]) -> dict[str, Array]:
    return {"raw": scenes.mosaic(size)}


# The table's power of one half and the program's square root may round apart.
CAMERA_PIPE = Program("camera_pipe", inputs, camera, VALUES, bound=1)

__all__ = ["CAMERA_PIPE", "VALUES", "camera"]
