"""Every public name of Halide 21's module is here, or a reason stands in its place.

    python -m tests.peer.test_names

writes docs/halide-names.md, where Halide's wheel is installed.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import parhelion as hl

PAGE = Path(__file__).resolve().parents[2] / "docs" / "halide-names.md"

_HEAD = """# Halide's names

Every public name of Halide 21's Python module and its classes, with what it is here.
*Same*: it is here under that name. *Better*: it is here, and does more, or says more
clearly what is wrong. Otherwise: why it is not here. `python -m tests.peer.test_names`
writes this page, and a test compares it with the installed modules.

"""

_NO_GENERATOR_INFO = "refused because it serves Halide's build tools; see generators.md"
_AT_BUILD_TIME = (
    "refused because Python asks the Target itself while the pipeline is built:"
    " hl.Target has a method"
)
_ESTIMATES = "refused because estimates are told to Params and ImageParams"
_NO_KERNELS = "refused because kernels are made for CUDA alone"
_OTHER_DEVICE = "refused because a Buffer's memory, here and on a device, is its own"
_ONE_MODULE = "refused because a Module here is one pipeline"

#: Names that are here and are more than the same, by their places.
BETTER: dict[str, str] = {
    "HalideError": "subclasses say what kind of mistake it is, with line and remedy",
    "serialize_pipeline": "in a documented format, whose reader is fuzzed",
    "deserialize_pipeline": "checks all of a file, and never runs any of it",
    "deserialize_parameters": "checks all of a file, and never runs any of it",
    "propagate_adjoints": "sums over the bounds alone; says what has none",
    "Buffer": "takes and is an array: NumPy's functions, DLPack, axes by name",
    "Target": "names the part of a text that cannot be read, and all that can",
    "Func.realize": "names the stage and the coordinates where an image is too small",
    "sum": "of whole arrays too, where it is given one",
    "min": "of whole arrays too, where it is given one",
    "max": "of whole arrays too, where it is given one",
}

#: Why names are not here, by their places.
REFUSED: dict[str, str] = {
    "ArgInfo": _NO_GENERATOR_INFO,
    "ArgInfoDirection": _NO_GENERATOR_INFO,
    "ArgInfoKind": _NO_GENERATOR_INFO,
    "ArgumentEstimates": _ESTIMATES,
    "Argument.argument_estimates": _ESTIMATES,
    "AutoSchedulerResults.autoscheduler_params": (
        "refused because the results say it by their schedule source"
    ),
    "AutoSchedulerResults.target": (
        "refused because the results say it by their schedule source"
    ),
    "Buffer.allocate": _OTHER_DEVICE,
    "Buffer.deallocate": _OTHER_DEVICE,
    "Buffer.device_deallocate": _OTHER_DEVICE,
    "Buffer.device_detach_native": _OTHER_DEVICE,
    "Buffer.make_bounds_query": (
        "not yet: Buffers have pixels; infer_input_bounds takes sizes, too"
    ),
    "DeviceAPI.Hexagon": _NO_KERNELS,
    "DeviceAPI.Metal": _NO_KERNELS,
    "DeviceAPI.None": "refused because None is a word of Python; here it is None_",
    "DeviceAPI.OpenCL": _NO_KERNELS,
    "DeviceAPI.Vulkan": _NO_KERNELS,
    "LinkageType": "refused because all functions of a Module can be called",
    "Module.compile_to_buffer": "refused because compile writes files",
    "Module.get_auto_scheduler_results": "refused because autoschedule returns them",
    "Module.set_auto_scheduler_results": "refused because autoschedule returns them",
    "Module.get_metadata_name_map": "refused because arguments keep their names",
    "Module.remap_metadata_name": "refused because arguments keep their names",
    "Module.resolve_submodules": _ONE_MODULE,
    "link_modules": f"{_ONE_MODULE}; linkers join object files",
    "Parameter": "refused because parameter() returns the Param or ImageParam itself",
    "RDom.domain": "refused because the RVars say all of it: r.x.min(), r.x.extent()",
    "Stage.dump_argument_list": "refused because it prints Halide's own data",
    "TargetFeature.FeatureEnd": "refused because it is no feature but their number",
    "VarOrRVar": "refused because directives take Vars and RVars as they are",
    "halide_": "refused because it is Halide's module of C++",
    "install_dir": "refused because it is where Halide's wheel is",
    "target_arch_is": _AT_BUILD_TIME,
    "target_bits": _AT_BUILD_TIME,
    "target_has_feature": _AT_BUILD_TIME,
    "target_natural_vector_size": _AT_BUILD_TIME,
    "target_os_is": _AT_BUILD_TIME,
    "user_context_value": "refused because code here has no user context",
}


def names(halide: ModuleType) -> Iterator[tuple[str, bool]]:
    """Halide's public names and those of its classes' members, and whether each is
    here. Members of a class that is not here stand for themselves in its row."""
    for name in dir(halide):
        if name.startswith("_") and name.strip("_0123456789") != "":
            continue
        theirs, ours = getattr(halide, name), getattr(hl, name, None)
        yield name, hasattr(hl, name)
        if isinstance(theirs, type) and ours is not None:
            for member in dir(theirs):
                if not member.startswith("_"):
                    yield f"{name}.{member}", _has(ours, member)


def _has(cls: Any, member: str) -> bool:
    if isinstance(cls, enum.EnumMeta):  # what each of its members has, as theirs
        return member in cls.__members__ or hasattr(next(iter(cls)), member)
    return hasattr(cls, member)


def told(name: str, is_here: bool) -> str:
    """What the page says of a name."""
    if not is_here:
        return REFUSED[name]
    return f"better: {BETTER[name]}" if name in BETTER else "same"


def page(halide: ModuleType) -> str:
    rows = [f"| ``{name}`` | {told(name, here)} |" for name, here in names(halide)]
    return _HEAD + "\n".join(["| Halide | here |", "| --- | --- |", *rows]) + "\n"


def test_every_name_is_here_or_has_a_reason() -> None:
    halide = pytest.importorskip("halide")
    found = dict(names(halide))
    missing = {name for name, here in found.items() if not here}
    assert missing == {*REFUSED}
    assert {*BETTER} <= {name for name, here in found.items() if here}


def test_the_page_is_what_the_modules_have() -> None:
    halide = pytest.importorskip("halide")
    assert PAGE.read_text() == page(halide)


def test_a_name_that_is_not_here_is_refused_by_its_name() -> None:
    for name in ("LinkageType", "link_modules"):
        with pytest.raises(AttributeError, match=f"'{name}': .* not available yet"):
            getattr(hl, name)


if __name__ == "__main__":
    PAGE.write_text(page(importlib.import_module("halide")))
