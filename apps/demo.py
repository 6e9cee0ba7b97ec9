"""``make demo``: blur and histogram equalisation of a photograph, with times.

Each runs three ways: without a schedule, with one, and as NumPy array operations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import parhelion as hl
from apps import blur, hist
from apps.common import App, Array, photograph, read_image, write_image


def best_of(run: Callable[[], object], repeats: int = 5) -> float:
    """Least seconds of a few runs, the first of which warms up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def compiled(app: App, image: Array, out: Array) -> Callable[[], object]:
    app.inputs["input"].set(image)
    app.output.compile_jit()
    buffer = hl.Buffer(out)
    return lambda: app.output.realize(buffer)


def report(name: str, seconds: dict[str, float]) -> None:
    scheduled = seconds["scheduled"]
    print(name)
    for way, taken in seconds.items():
        print(f"  {way:12} {taken * 1e3:8.2f} ms   {taken / scheduled:6.1f} x")


def demo_blur(image: Array, folder: Path) -> None:
    """The three channels side by side as one wide 16-bit image, blurred."""
    channels, height, width = image.shape
    plane = np.concatenate(list(image), axis=1).astype(np.uint16)
    wide = np.pad(plane, 1, mode="edge")
    results, seconds = {}, {}
    for way, schedule in (
        ("unscheduled", blur.schedule_inline),
        ("scheduled", blur.schedule_tiled),
    ):
        app = blur.algorithm(hl)
        schedule(hl, app)
        results[way] = np.zeros_like(plane)
        seconds[way] = best_of(compiled(app, wide, results[way]))
    seconds["NumPy"] = best_of(lambda: blur.with_numpy(wide))
    assert np.array_equal(results["scheduled"], blur.with_numpy(wide))
    assert np.array_equal(results["scheduled"], results["unscheduled"])
    blurred = np.stack(np.split(results["scheduled"].astype(np.uint8), channels, 1))
    write_image(folder / "blur.png", blurred)
    report(f"3x3 blur, {width}x{height}x{channels}", seconds)


def demo_hist(image: Array, folder: Path) -> None:
    results, seconds = {}, {}
    for way, schedule in (
        ("unscheduled", hist.schedule_inline),
        ("scheduled", hist.schedule_rows),
    ):
        app = hist.algorithm(hl)
        schedule(hl, app)
        results[way] = np.zeros_like(image)
        seconds[way] = best_of(compiled(app, image, results[way]))
    seconds["NumPy"] = best_of(lambda: hist.with_numpy(image))
    write_image(folder / "hist.png", results["scheduled"])
    report(f"histogram equalisation, {image.shape[2]}x{image.shape[1]}x3", seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=Path, help="default: a photograph")
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    image = read_image(options.image) if options.image else photograph()
    write_image(options.out / "input.png", image)
    demo_blur(image, options.out)
    demo_hist(image, options.out)
    print(f"wrote input.png, blur.png and hist.png to {options.out}/")


if __name__ == "__main__":
    main()
