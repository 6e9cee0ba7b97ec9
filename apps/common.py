"""What the applications share: how one is described, and running it on a file.

An application builds its algorithm and its schedule in separate functions over a
module ``hl``. That module is `parhelion`, or, in the benchmarks, `halide`: the same
definition runs under both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

#: `parhelion`, or a module with its names.
Module = Any
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class App:
    """One application, its algorithm built and not yet scheduled.

    output: the last Func. inputs: its ImageParams by name. funcs: the Funcs that
    schedules mention, by name. params: its scalar Params by name. rvars: the RVars that
    schedules mention, by name.
    """

    output: Any
    inputs: Mapping[str, Any]
    funcs: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    rvars: Mapping[str, Any] = field(default_factory=dict)

    def run(self, images: Mapping[str, Array], size: Sequence[int]) -> Array:
        """The output over ``size`` (innermost extent first), as an array whose last
        axis is dimension 0."""
        for name, image in images.items():
            self.inputs[name].set(image)
        return np.asarray(self.output.realize(list(size)))


def natural_lanes(hl: Module, of: Any) -> int:
    """How many values of a type fill one vector of the machine that runs this."""
    return int(hl.get_host_target().natural_vector_size(of))


def photograph() -> Array:
    """A photograph of 512 x 512 pixels as (3, H, W) uint8 (public domain: NASA's
    portrait of the astronaut Eileen Collins; see docs/data.md)."""
    return read_image(Path(__file__).parent / "data" / "astronaut.png")


def read_image(path: Path) -> Array:
    """An image file as a (channels, H, W) uint8 array."""
    import imageio.v3 as iio

    image = np.asarray(iio.imread(path))
    if image.ndim == 2:
        image = image[:, :, None]
    return np.ascontiguousarray(np.moveaxis(image[:, :, :3], -1, 0))


def write_image(path: Path, image: Array) -> None:
    """Writes a (channels, H, W) or (H, W) uint8 array as an image file."""
    import imageio.v3 as iio

    path.parent.mkdir(parents=True, exist_ok=True)
    iio.imwrite(path, image if image.ndim == 2 else np.moveaxis(image, 0, -1))


def to_float(image: Array) -> Array:
    """8-bit levels as float32 in [0, 1]."""
    return np.asarray(image.astype(np.float32) / np.float32(255))


def to_levels(image: Array) -> Array:
    """Floats in [0, 1] as 8-bit levels, clipped and rounded."""
    return np.asarray(np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8))


def main(name: str, process: Callable[[Array], Array]) -> None:
    """The command line of an application: one image in, one image out.

    `process` takes and gives (channels, H, W) uint8 arrays.
    """
    parser = argparse.ArgumentParser(description=f"{name} of an image file")
    parser.add_argument("input", type=Path, nargs="?", help="default: a photograph")
    parser.add_argument("output", type=Path, nargs="?", default=Path(f"{name}.png"))
    options = parser.parse_args()
    image = read_image(options.input) if options.input else photograph()
    write_image(options.output, process(image))
    print(f"wrote {options.output}")
