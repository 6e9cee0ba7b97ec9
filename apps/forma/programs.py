"""All programs by their names."""

from __future__ import annotations

from apps.forma.camera import CAMERA_PIPE
from apps.forma.edges import CANNY
from apps.forma.exposures import EXPOSURE_FUSION, EXPOSURE_PYRAMID
from apps.forma.program import Program
from apps.forma.pyramids import PYRAMID, PYRAMID_MIRROR
from apps.forma.rician import RICIAN_2D, RICIAN_3D
from apps.forma.stencils import BLUR, EMBOSS, EXTRAPOLATION, SAMPLING

#: In the order of the paper's chapter 4.
PROGRAMS: dict[str, Program] = {
    one.name: one
    for one in (
        EMBOSS,
        BLUR,
        SAMPLING,
        EXTRAPOLATION,
        CANNY,
        PYRAMID,
        PYRAMID_MIRROR,
        EXPOSURE_FUSION,
        EXPOSURE_PYRAMID,
        CAMERA_PIPE,
        RICIAN_2D,
        RICIAN_3D,
    )
}

__all__ = ["PROGRAMS"]
