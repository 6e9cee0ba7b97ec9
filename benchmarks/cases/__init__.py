"""The benchmarks: every module of this folder has its own in a tuple ``CASES``."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.case import Case

#: The order of the tables: that of the 2016 paper's Table 1. Others follow by name.
ORDER = (
    "blur",
    "unsharp",
    "harris",
    "camera",
    "nl_means",
    "max_filter",
    "interpolate",
    "local_laplacian",
    "lens_blur",
    "bilateral_grid",
    "hist",
    "conv_layer",
    "vgg",
    "matmul",
)


def _place(case: Case) -> tuple[int, str]:
    found = [i for i, name in enumerate(ORDER) if case.name.startswith(name)]
    return (found[0] if found else len(ORDER), case.name)


def all_cases() -> list[Case]:
    """Every benchmark, in the order of the tables."""
    found: list[Case] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").CASES
    return sorted(found, key=_place)


def case(name: str) -> Case:
    """The case of that name."""
    return next(c for c in all_cases() if c.name == name)
