"""The everyday pipelines: every module of this folder has its own in ``PIPELINES``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from benchmarks.everyday.pipeline import Pipeline


@cache
def all_pipelines() -> tuple[Pipeline, ...]:
    """Every pipeline, by name."""
    found: list[Pipeline] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").PIPELINES
    return tuple(sorted(found, key=lambda p: p.name))


def pipeline(name: str) -> Pipeline:
    """The pipeline of that name. Raises KeyError."""
    found = [p for p in all_pipelines() if p.name == name]
    if not found:
        raise KeyError(name)
    return found[0]
