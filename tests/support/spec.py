"""`spec_of`: what lowering takes, from the Funcs that a test holds."""

from __future__ import annotations

import parhelion as hl
from parhelion.schedule.spec import PipelineSpec


def spec_of(*outputs: hl.Func) -> PipelineSpec:
    """The pipeline that computes the outputs, as it is now."""
    return PipelineSpec.of([f._function for f in outputs])


__all__ = ["spec_of"]
