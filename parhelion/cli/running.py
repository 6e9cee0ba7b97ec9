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
from parhelion.cli import options, rivals
from parhelion.cli.automatic import schedule_as_run
from parhelion.cli.given import (
    Images,
    check_params,
    given_images,
    given_params,
    loaded,
    named_files,
    restore_opacity,
)
from parhelion.cli.many import Batch, find_source, run_many
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


@click.command()
@options.program
@click.argument("files", nargs=-1, required=True, metavar="[INPUT…] OUTPUT")
@options.params
@options.size
@options.schedule
@options.auto
@options.scheduler
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

    An input may be a folder, a pattern of names in quotes ('in/*.jpg') or a video; the
    output is then a folder or a video (.mp4, .mkv, .webm, .gif). Videos need the extra
    parhelion[video].

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
    made = load(program, schedule, params)
    given_params(made, params)
    many = find_source(made, inputs, output)
    if many is not None:
        check_params(made)
        batch = _batch(made, inputs, output, many[0], size, auto, scheduler)
        run_many(batch, *many, Path(output))
        return
    check_written(Path(output))
    out = _ready(made, inputs, size, auto, scheduler, output)
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
    return made, _ready(made, inputs, size, auto, scheduler, output)


def _ready(
    made: NamedPipeline,
    inputs: Sequence[str],
    size: str | None,
    auto: bool,
    scheduler: str | None,
    output: str | None,
) -> list[hl.Buffer]:
    """Gives a program its inputs and a schedule, and returns Buffers for its
    outputs."""
    images = given_images(made, inputs, output)
    check_params(made)
    extents = asked_extents(made, images.pixels, size)
    schedule_as_run(made, extents, auto, scheduler)
    restore_opacity(made, images, extents)
    mins = [0] * len(extents)
    if size is None:
        mins, extents = covered(made, images.pixels, extents)
    return destination(made, mins, extents)


def _batch(
    made: NamedPipeline,
    inputs: Sequence[str],
    output: str,
    name: str,
    size: str | None,
    auto: bool,
    scheduler: str | None,
) -> Batch:
    """A program for many pictures of the input `name`."""

    def prepare(images: Images) -> list[int]:
        extents = asked_extents(made, images.pixels, size)
        schedule_as_run(made, extents, auto, scheduler)
        return extents

    words = named_files(made, inputs, output)
    return Batch(
        made,
        {n: loaded(Path(word)) for n, word in words.items() if n != name},
        prepare,
        lambda images: asked_extents(made, images.pixels, size),
        size is not None,
    )


@click.command()
@options.program
@click.argument("files", nargs=-1, metavar="[INPUT…]")
@options.params
@options.size
@options.schedule
@options.auto
@options.scheduler
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="How long to repeat it.",
)
@options.threads
@click.option(
    "--against",
    metavar="RIVAL",
    help="Measure something else beside it: a name of the file's table AGAINST, or an "
    'expression of the inputs, as "cv2.blur(image, (3, 3))".',
)
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
    against: str | None,
) -> None:
    """Measure a pipeline on image files: least and median time of many runs.

    With --against, each run is followed by one of the rival, which gets the inputs as
    arrays of shape (H, W) or (H, W, C) by their names, on as many threads.
    """
    start = time.perf_counter()
    made, out = prepared(program, files, params, size, schedule, auto, scheduler)
    if threads:
        hl.set_num_threads(threads)
    computed = first_run(made, out)
    ready = time.perf_counter() - start - computed
    times: list[float] = []
    theirs: list[float] = []
    other = None
    if against is not None:
        other = rivals.rival(made, against, hl.get_num_threads())
        apart = rivals.difference(
            next(iter(pictures(made, out).values())), rivals.first(other)
        )
    with click.progressbar(length=100, label="measuring", file=sys.stderr) as bar:
        begin = time.perf_counter()
        shown = 0
        while not times or time.perf_counter() - begin < seconds:
            times.append(rivals.seconds(lambda: made.pipeline.realize(out)))
            if other is not None:
                theirs.append(rivals.seconds(other.run))
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
    if other is not None:
        ratio = least / min(theirs)
        said = f"{1 / ratio:.2f} times as fast" if ratio < 1 else "as fast"
        said = f"{ratio:.2f} times as slow" if ratio > 1 else said
        click.echo(
            f"{other.name}: {1e3 * min(theirs):.3f} ms at least,"
            f" {1e3 * statistics.median(theirs):.3f} ms in the median; {made.name} is"
            f" {said}; {apart}"
        )


__all__ = ["bench", "prepared", "run"]
