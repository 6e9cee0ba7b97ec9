"""Streams of frames beside plain loops, and beside OpenCV in a loop.

``python -m benchmarks.streams [--frames N] [--size W H]`` prints, for each pipeline and
way to run it, milliseconds of the processor and of the clock for a frame, and frames a
second. The source makes frames from a few that are there, by a copy. The pipelines are
a Gaussian of each frame, and the median of it over three frames: a plain loop gives the
function three frames each time, which computes each Gaussian three times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import parhelion as hl

Frames = Iterator[Any]
_KERNEL = (1, 4, 6, 4, 1)
_KEPT = 8


def source(count: int, size: tuple[int, int]) -> Frames:
    """Frames of three channels."""
    width, height = size
    shape = (_KEPT, height, width, 3)
    made = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    for n in range(count):
        yield made[n % _KEPT].copy()


def gaussian(name: str, rank: int) -> tuple[hl.Func, hl.ImageParam, list[hl.Func]]:
    """A Gaussian of 5 × 5 of the frames of an image, and its Funcs."""
    image = hl.ImageParam(hl.UInt(8), rank, name)
    x, y, c, t = hl.vars("x y c t")
    rest = (c, t)[: rank - 2]
    edge = hl.BoundaryConditions.repeat_edge(image)
    rows, blurred = hl.Func("rows"), hl.Func("blurred")
    down = [hl.u16(edge[(x, y + k - 2, *rest)]) * w for k, w in enumerate(_KERNEL)]
    rows[(x, y, *rest)] = sum(down[1:], down[0])
    along = [hl.u32(rows[(x + k - 2, y, *rest)]) * w for k, w in enumerate(_KERNEL)]
    blurred[(x, y, *rest)] = hl.u8((sum(along[1:], along[0]) + 128) >> 8)
    blurred.compute_root().reorder(c, x, y).bound(c, 0, 3).unroll(c)
    blurred.vectorize(x, 16).parallel(y, 16)
    rows.compute_at(blurred, y).reorder(c, x, y).unroll(c).vectorize(x, 16)
    return blurred, image, [rows]


def median() -> tuple[hl.Func, hl.ImageParam]:
    """The median over three frames of a Gaussian of each."""
    x, y, c, t = hl.vars("x y c t")
    blurred, image, _ = gaussian("video", 4)
    edge = hl.BoundaryConditions.repeat_edge(
        blurred, [(None, None)] * 3 + [(0, image.dim(3).extent())]
    )
    a, b, d = (edge[x, y, c, t + k] for k in (-1, 0, 1))
    out = hl.Func("median")
    out[x, y, c, t] = hl.max(hl.min(a, b), hl.min(hl.max(a, b), d))
    out.reorder(c, x, y).bound(c, 0, 3).unroll(c).vectorize(x, 16).parallel(y, 16)
    return out, image


def single_loop(frames: Frames) -> Frames:
    """The Gaussian, by a plain loop."""
    blurred, image, _ = gaussian("frame", 3)
    for frame in frames:
        image.set(hl.Buffer(frame, axes="yxc"))
        made = blurred.realize(frame.shape, axes="yxc")
        assert isinstance(made, hl.Buffer)
        yield made.array("yxc")


def single_stream(queue: int) -> Callable[[Frames], Frames]:
    """The Gaussian, by a stream."""

    def run(frames: Frames) -> Frames:
        return hl.stream(gaussian("frame", 3)[0], frames, queue=queue)

    return run


def single_opencv(frames: Frames) -> Frames:
    """The Gaussian, by OpenCV."""
    import cv2

    for frame in frames:
        yield cv2.GaussianBlur(frame, (5, 5), 0, borderType=cv2.BORDER_REPLICATE)


def median_loop(frames: Frames) -> Frames:
    """The median, by a plain loop that gives three frames to the pipeline."""
    out, image = median()
    last: list[Any] = []
    for frame in frames:
        last = [*last[-2:], frame]
        if len(last) == 3:
            image.set(hl.Buffer(np.stack(last), axes="tyxc"))
            height, width, _ = frame.shape
            target = np.empty((1, height, width, 3), np.uint8)
            out.realize(hl.Buffer(target, axes="tyxc").translated([0, 0, 0, 1]))
            yield target[0]


def median_stream(queue: int) -> Callable[[Frames], Frames]:
    """The median, by a stream."""

    def run(frames: Frames) -> Frames:
        return hl.stream(median()[0], frames, time="t", queue=queue)

    return run


def median_opencv(frames: Frames) -> Frames:
    """The median, by OpenCV, with the Gaussians of the last frames kept by hand."""
    import cv2

    last: list[Any] = []
    for frame in frames:
        made = cv2.GaussianBlur(frame, (5, 5), 0, borderType=cv2.BORDER_REPLICATE)
        last = [*last[-2:], made]
        if len(last) == 3:
            a, b, d = last
            yield cv2.max(cv2.min(a, b), cv2.min(cv2.max(a, b), d))


CASES: dict[str, dict[str, Callable[[Frames], Frames]]] = {
    "gaussian": {
        "plain loop": single_loop,
        "stream, queue 0": single_stream(0),
        "stream, queue 3": single_stream(3),
        "OpenCV": single_opencv,
    },
    "median of 3": {
        "plain loop": median_loop,
        "stream, queue 0": median_stream(0),
        "stream, queue 3": median_stream(3),
        "OpenCV": median_opencv,
    },
}


def measure(
    run: Callable[[Frames], Frames], count: int, size: tuple[int, int]
) -> tuple[float, float]:
    """Seconds of the processor and of the clock for a frame, without the first ones.
    More come than are looked at, so that as many are in flight at the end as at the
    beginning."""
    warm, began = 6, (0.0, 0.0)
    for seen, _ in enumerate(run(source(count + warm + 12, size)), 1):
        if seen == warm:
            began = (time.process_time(), time.perf_counter())
        if seen == warm + count:
            break
    spent = (time.process_time() - began[0], time.perf_counter() - began[1])
    return spent[0] / count, spent[1] / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--size", type=int, nargs=2, default=(1920, 1080))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    width, height = given.size
    print(f"{width} x {height} x 3, {given.frames} frames, the least of {given.rounds}")
    for case, ways in CASES.items():
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(given.rounds):
            for way, run in ways.items():
                found[way].append(measure(run, given.frames, (width, height)))
        loop = min([wall for _, wall in found["plain loop"]])
        for way, times in found.items():
            cpu, wall = min([c for c, _ in times]), min([w for _, w in times])
            print(
                f"{case:12} {way:16} {1e3 * cpu:7.2f} ms processor {1e3 * wall:7.2f} ms"
                f" {1 / wall:7.1f} frames/s {loop / wall:5.2f} x the loop"
            )


if __name__ == "__main__":
    main()
