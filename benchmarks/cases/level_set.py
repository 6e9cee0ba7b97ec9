"""One iteration of level-set segmentation on 1600 x 1200 floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import level_set
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    """Rings of slope one, and edges and gradients without structure."""
    y, x = np.mgrid[:1200, :1600]
    rings = np.abs(np.hypot(x - 800, y - 600) % 80 - 40) - 20
    return {
        "phi": Image(rings.astype(np.float32)),
        "edges": Image(rng().uniform(0, 1, (1200, 1600)).astype(np.float32)),
        "gradient": Image(rng().uniform(-0.5, 0.5, (2, 1200, 1600)).astype(np.float32)),
    }


def rivals(images: Mapping[str, Image]) -> Rivals:
    given = [images[name].array for name in ("phi", "edges", "gradient")]
    return {"NumPy": lambda: level_set.with_numpy(*given)}


CASES = (
    Case(
        name="level_set",
        size="1600 x 1200",
        algorithm=level_set.iteration,
        schedules={
            "fused": level_set.schedule_fused,
            "root": level_set.schedule_root,
        },
        inputs=inputs,
        outputs=(Output(np.float32, (1600, 1200)),),
        tolerance=Tolerance(1e-3),
        values=level_set.SETTINGS,
        rivals=rivals,
    ),
)
