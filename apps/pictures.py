"""The pictures of docs/apps.md: each application on a photograph.

    python -m apps.pictures

writes them to docs/images/, the input above or beside the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from apps import (
    bilateral_grid,
    camera_pipe,
    interpolate,
    level_set,
    local_laplacian,
    max_filter,
)
from apps.common import Array, photograph, read_image, to_float, to_levels, write_image
from apps.forma import scenes
from apps.forma.program import plain
from apps.forma.programs import PROGRAMS
from apps.lazy import dewarp, edges
from apps.recursive import box, bspline, dog, domain_transform, unsharp
from parhelion import forma

IMAGES = Path(__file__).parent.parent / "docs" / "images"
COINS = Path(__file__).parent / "data" / "coins.png"


def beside(*images: Array) -> Array:
    """(3, H, W) images of one height, side by side."""
    return np.concatenate(images, axis=2)


def portrait() -> Array:
    return photograph()[:, 16:272, 96:352]


def camera() -> Array:
    """A detail of the mosaic, each pixel in its own colour, and developed."""
    image = photograph()
    raw = camera_pipe.mosaic(image)[12:268, 112:368]
    seen = np.zeros((3, *raw.shape), np.uint8)
    levels = np.clip(255 * ((raw - 25.0) / 800) ** 0.5, 0, 255).astype(np.uint8)
    for (dy, dx), c in {(0, 0): 1, (0, 1): 0, (1, 0): 2, (1, 1): 1}.items():
        seen[c, dy::2, dx::2] = levels[dy::2, dx::2]
    return beside(seen, camera_pipe.process(image)[:, 0:256, 96:352])


def local_contrast() -> Array:
    image = photograph()
    window = np.s_[:, 120:440, 20:340]
    return beside(image[window], local_laplacian.process(image)[window])


def smoothed() -> Array:
    return beside(portrait(), bilateral_grid.process(portrait()))


def filled() -> Array:
    """A photograph of which three quarters and some strokes are missing."""
    image = np.maximum(portrait(), 1)
    rng = np.random.default_rng(4)
    torn = image * (rng.random(image.shape[1:]) < 0.25).astype(np.uint8)
    y, x = np.mgrid[: image.shape[1], : image.shape[2]]
    torn[:, np.abs(x + y - 250 + 10 * np.sin(x / 9)) < 3] = 0
    return beside(torn, interpolate.process(torn))


def brightest() -> Array:
    return beside(portrait(), max_filter.process(portrait()))


def contour() -> Array:
    """Ancient coins, and the contours that closed around them."""
    gray = read_image(COINS)[:1, 85:300, :]
    return beside(np.repeat(gray, 3, 0), level_set.process(gray))


def by_colour(image: Array) -> Array:
    """A (3, H, W) image as (H, W, 3), which the applications of recursive filters
    take."""
    return np.ascontiguousarray(np.moveaxis(image, 0, -1))


def by_channel(image: Array) -> Array:
    """An (H, W, 3) image as (3, H, W)."""
    return np.moveaxis(image, -1, 0)


def boxes() -> Array:
    """Three box filters in float32: by one table of order 3, and by running sums."""
    image = by_colour(to_float(portrait()))
    both = (
        box.box_by_tables(image, 4, box.THREE),
        box.box_by_running_sums(image, 4, 3),
    )
    return beside(*[by_channel(to_levels(one)) for one in both])


def enlarged() -> Array:
    """A detail whose pixels are repeated, and interpolated."""
    detail = by_colour(photograph()[:, 88:152, 170:250])
    repeated = detail.repeat(4, axis=0).repeat(4, axis=1)
    between = bspline.resize(detail, *repeated.shape[:2])
    return beside(by_channel(repeated), by_channel(to_levels(between / 255)))


def details() -> Array:
    """The luminance, and its details of some pixels in size around a medium grey."""
    gray = to_float(portrait()).mean(axis=0)
    difference = dog.difference_of_gaussians(gray, 2, 4)
    pair = np.stack([gray, 0.5 + 4 * difference])
    return beside(*[np.repeat(to_levels(one)[None], 3, axis=0) for one in pair])


def sharpened() -> Array:
    sharp = unsharp.unsharp_mask(by_colour(portrait()), 3, 1.0)
    return beside(portrait(), by_channel(sharp))


def within_edges() -> Array:
    image = by_colour(portrait()) / np.float32(255)
    smooth = domain_transform.smooth_within_edges(image, 30, 0.6)
    levels = np.clip(255 * smooth, 0, 255).astype(np.uint8)
    return beside(portrait(), by_channel(levels))


def directions() -> Array:
    """The luminance, and the directions of its edges as colours."""
    gray = portrait().mean(axis=0, dtype=np.float32)
    found = edges.edge_directions(gray, 120)
    shift = np.array([0, 2, 4])[:, None, None] * (np.pi / 3)
    colours = 0.5 + 0.5 * np.cos(2 * found - shift)
    colours = np.where(found == edges.NO_EDGE, 0, colours)
    return beside(np.repeat(to_levels(gray[None] / 255), 3, axis=0), to_levels(colours))


def unwarped() -> Array:
    """A photograph as if through a fisheye lens, and a view of a part of it."""
    image = to_float(photograph())
    maps = dewarp.fisheye_view((512, 512), (256, 256), zoom=60, pan=-12, tilt=40)
    view = [dewarp.dewarp(np.ascontiguousarray(one), *maps, 0.1) for one in image]
    small = image.reshape(3, 256, 2, 256, 2).mean(axis=(2, 4))
    return beside(to_levels(small), to_levels(np.stack(view)))


def fused(text: str, side: int) -> Array:
    """What a program in Forma makes of four exposures of the photograph."""
    image = forma.compile(text)(**scenes.exposures((side, side)))
    assert isinstance(image, np.ndarray)
    return by_channel(to_levels(plain(image)))


def exposures() -> Array:
    """Four exposures, and the image that pyramids make of them."""
    images = scenes.exposures((160, 160)).values()
    given = [by_channel(to_levels(plain(one))) for one in images]
    return beside(*given, fused(PROGRAMS["exposure_pyramid"].text, 160))


def boundaries() -> Array:
    """Exposure fusion by pyramids without boundary conditions, and with mirrors, which
    is Figure 8 of the Forma paper; a corner, magnified."""
    text = PROGRAMS["exposure_pyramid"].text
    both = [fused(one, 320) for one in (text.replace(":mirror", ""), text)]
    return beside(*[one[:, :80, :80].repeat(4, 1).repeat(4, 2) for one in both])


PICTURES: dict[str, Callable[[], Array]] = {
    "camera_pipe": camera,
    "local_laplacian": local_contrast,
    "bilateral_grid": smoothed,
    "interpolate": filled,
    "max_filter": brightest,
    "level_set": contour,
    "recursive_boxes": boxes,
    "recursive_resize": enlarged,
    "recursive_dog": details,
    "recursive_unsharp": sharpened,
    "recursive_edges": within_edges,
    "forma_exposures": exposures,
    "forma_boundaries": boundaries,
    "lazy_dewarp": unwarped,
    "lazy_edges": directions,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PICTURES))
    parser.add_argument("--out", type=Path, default=IMAGES)
    options = parser.parse_args()
    for name in options.names:
        write_image(options.out / f"{name}.jpg", PICTURES[name]())
        print(f"wrote {options.out / name}.jpg")


if __name__ == "__main__":
    main()
