"""``parhelion run`` and ``parhelion bench``: a pipeline on image files."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import click

import parhelion as hl
from parhelion.cli import options
from parhelion.cli.automatic import find_schedule, is_unscheduled
from parhelion.cli.given import (
    check_params,
    given_images,
    given_params,
    restore_opacity,
)
from parhelion.cli.pictures import (
    Array,
    check_held,
    check_written,
    size_of,
    write,
)
from parhelion.cli.programs import NamedPipeline, load
from parhelion.cli.region import (
    asked_extents,
    by_output,
    covered,
    destination,
    pictures,
)

_auto = click.option(
    "--auto",
    is_flag=True,
    help="Schedule it automatically; what its file has scheduled stays. Pipelines "
    "without any schedule are scheduled anyway.",
)
_scheduler = click.option(
    "--scheduler",
    metavar="NAME",
    help="Schedule it automatically, by Parhelion or Mullapudi2016. [default: "
    "Parhelion]",
)


@click.command()
@options.program
@click.argument("files", nargs=-1, required=True, metavar="[INPUT…] OUTPUT")
@options.params
@options.size
@options.schedule
@_auto
@_scheduler
def run(
    program: str,
    files: tuple[str, ...],
    params: tuple[str, ...],
    size: str | None,
    schedule: str | None,
    auto: bool,
    scheduler: str | None,
) -> None:
    """Run a pipeline on image files.

    Inputs are PNG, JPEG, TIFF or .npy files, in the order of the pipeline's inputs or
    as NAME=FILE; the last file is written. Levels are converted to the inputs' types.
    Several outputs are written to as many files, out_NAME.png of each one's name for
    out.png.

    Photographs are turned upright as their EXIF data say; palettes, CMYK and CIELAB
    become RGB. Of several pages or frames the first is read. Opacity is left out unless
    the pipeline reads a fourth plane. Colours make grey for an input of two dimensions,
    grey makes three planes for one of three. PNG files of 16 bits are read as such if
    they are grey, with 8 bits if they have colours, TIFF files of 16 bits and floats as
    such. PNG files are written with 16 bits for grey outputs of uint16, else, as JPEG,
    with 8; TIFF files keep the type, .npy files also any shape.
    """
    *inputs, output = files
    begin = time.perf_counter()
    check_written(Path(output))
    made, out = prepared(
        program, inputs, params, size, schedule, auto, scheduler, output
    )
    for name, pixels in pictures(made, out).items():
        check_held(Path(output), name, pixels)
    computed = first_run(made, out)
    ready = time.perf_counter() - begin - computed
    for file, pixels in _files(Path(output), pictures(made, out)).items():
        write(file, pixels)
        click.echo(
            f"{file}: {size_of(pixels)}, ready in {ready:.2f} s, computed in "
            f"{1e3 * computed:.1f} ms"
        )


def _files(path: Path, found: Mapping[str, Array]) -> dict[Path, Array]:
    """Which output goes to which file: a single one to that which is named."""
    if len(found) == 1:
        (pixels,) = found.values()
        return {path: pixels}
    return {
        path.with_name(f"{path.stem}_{name}{path.suffix}"): pixels
        for name, pixels in found.items()
    }


def first_run(made: NamedPipeline, out: Sequence[hl.Buffer]) -> float:
    """Computes the output; the seconds that it took, without compiling: where there was
    no code for these images and sizes, it runs once more."""
    runner = made.pipeline._runner
    while True:
        before, start = runner.variants(), time.perf_counter()
        made.pipeline.realize(out)
        seconds = time.perf_counter() - start
        if runner.variants() == before:
            return seconds


def prepared(
    program: str,
    inputs: Sequence[str],
    params: Sequence[str],
    size: str | None,
    schedule: str | None,
    auto: bool,
    scheduler: str | None,
    output: str | None = None,
) -> tuple[NamedPipeline, list[hl.Buffer]]:
    """The program with its inputs and schedule, and Buffers for its outputs."""
    made = load(program, schedule, params)
    given_params(made, params)
    images = given_images(made, inputs, output)
    check_params(made)
    extents = asked_extents(made, images.pixels, size)
    if auto or scheduler is not None or is_unscheduled(made):
        find_schedule(made, extents, scheduler or "Parhelion")
    restore_opacity(made, images, extents)
    mins = [0] * len(extents)
    if size is None:
        mins, extents = covered(made, images.pixels, extents)
    return made, destination(made, mins, extents)


@click.command()
@options.program
@click.argument("files", nargs=-1, metavar="[INPUT…]")
@options.params
@options.size
@options.schedule
@_auto
@_scheduler
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="How long to repeat it.",
)
@options.threads
def bench(
    program: str,
    files: tuple[str, ...],
    params: tuple[str, ...],
    size: str | None,
    schedule: str | None,
    auto: bool,
    scheduler: str | None,
    seconds: float,
    threads: int | None,
) -> None:
    """Measure a pipeline on image files: least and median time of many runs."""
    start = time.perf_counter()
    made, out = prepared(program, files, params, size, schedule, auto, scheduler)
    if threads:
        hl.set_num_threads(threads)
    computed = first_run(made, out)
    ready = time.perf_counter() - start - computed
    times: list[float] = []
    with click.progressbar(length=100, label="measuring", file=sys.stderr) as bar:
        begin = time.perf_counter()
        shown = 0
        while not times or time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            made.pipeline.realize(out)
            times.append(time.perf_counter() - start)
            now = min(100, int(100 * (time.perf_counter() - begin) / seconds))
            bar.update(now - shown)
            shown = now
    # Channels, and whatever else comes behind width and height, are of one pixel.
    pixels = 0
    for one, *_ in by_output(made, out):
        pixels += prod([one.dim(d).extent() for d in range(min(2, one.dimensions()))])
    least, median = min(times), statistics.median(times)
    click.echo(
        f"{made.name}: {1e3 * least:.3f} ms at least, {1e3 * median:.3f} ms in the "
        f"median of {len(times)} runs; {pixels / least / 1e6:.1f} megapixels a second; "
        f"ready in {ready:.2f} s; {hl.get_num_threads()} threads"
    )


__all__ = ["bench", "prepared", "run"]
