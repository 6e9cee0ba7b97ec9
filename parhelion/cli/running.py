"""``parhelion run`` and ``parhelion bench``: a pipeline on image files."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path

import click

import parhelion as hl
from parhelion.cli import options, rivals
from parhelion.cli.automatic import schedule_as_run
from parhelion.cli.functions import NamedFunction, load_either, planar
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
    is_array,
    size_of,
    write,
)
from parhelion.cli.programs import NamedPipeline
from parhelion.cli.region import (
    asked_extents,
    by_output,
    covered,
    destination,
    pictures,
)
from parhelion.dataclass import dataclass


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
    told = {"--size": size, "--scheduler": scheduler}
    made = load_either(program, schedule, params, told)
    if isinstance(made, NamedFunction):
        _run_function(made, inputs, output, begin)
        return
    given_params(made, params)
    many = find_source(made.name, made.inputs, inputs, output)
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
        _tell(file, size_of(pixels), ready, computed)


def _run_function(
    made: NamedFunction, inputs: Sequence[str], output: str, begin: float
) -> None:
    """Runs a function of arrays on image files, as `run` does a pipeline."""
    images = made.inputs(inputs)
    many = find_source(made.name, images, inputs, output)
    if many is not None:
        words = named_files(made.name, images, inputs, output)
        for name, word in words.items():
            if name != many[0]:
                made.take(name, *loaded(Path(word)))
        run_many(made, *many, Path(output))
        return
    check_written(Path(output))
    made.give(inputs, output)
    made.call()  # compiles
    start = time.perf_counter()
    found = made.call()
    computed, ready = time.perf_counter() - start, start - begin
    planes = {n: planar(p) for n, p in found.items()}
    for name, pixels in planes.items():
        check_held(Path(output), name, pixels)
    # Arrays are written as the function returns them.
    written = _files(Path(output), found if is_array(Path(output)) else planes)
    for (file, pixels), shown in zip(written.items(), planes.values(), strict=True):
        write(file, pixels)
        _tell(file, size_of(shown), ready, computed)


def _tell(file: Path, size: str, ready: float, computed: float) -> None:
    click.echo(
        f"{file}: {size}, ready in {ready:.2f} s, computed in {1e3 * computed:.1f} ms"
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

    words = named_files(made.name, made.inputs, inputs, output)
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
    told = {"--size": size, "--scheduler": scheduler}
    made = load_either(program, schedule, params, told)
    if threads:
        hl.set_num_threads(threads)
    measured: _Measured
    if isinstance(made, NamedFunction):
        measured = _function(made, files, against)
    else:
        measured = _pipeline(made, files, params, size, auto, scheduler, against)
    ready = time.perf_counter() - start - measured.first
    times: list[float] = []
    theirs: list[float] = []
    other = measured.other
    with click.progressbar(length=100, label="measuring", file=sys.stderr) as bar:
        begin = time.perf_counter()
        shown = 0
        while not times or time.perf_counter() - begin < seconds:
            times.append(rivals.seconds(measured.run))
            if other is not None:
                theirs.append(rivals.seconds(other.run))
            now = min(100, int(100 * (time.perf_counter() - begin) / seconds))
            bar.update(now - shown)
            shown = now
    least, median = min(times), statistics.median(times)
    rate = measured.pixels / least / 1e6
    click.echo(
        f"{made.name}: {1e3 * least:.3f} ms at least, {1e3 * median:.3f} ms in the "
        f"median of {len(times)} runs; {rate:.1f} megapixels a second; "
        f"ready in {ready:.2f} s; {hl.get_num_threads()} threads"
    )
    if other is not None:
        ratio = least / min(theirs)
        said = f"{1 / ratio:.2f} times as fast" if ratio < 1 else "as fast"
        said = f"{ratio:.2f} times as slow" if ratio > 1 else said
        click.echo(
            f"{other.name}: {1e3 * min(theirs):.3f} ms at least,"
            f" {1e3 * statistics.median(theirs):.3f} ms in the median; {made.name} is"
            f" {said}; {measured.apart}"
        )


@dataclass(frozen=True)
class _Measured:
    """What `bench` measures: a run, how long the first one took, and how many pixels it
    computes (channels, and whatever else comes behind width and height, are of one);
    another way to compute them, and in words how far its result is from ours."""

    run: Callable[[], object]
    first: float
    pixels: int
    other: rivals.Rival | None
    apart: str


def _pipeline(
    made: NamedPipeline,
    files: Sequence[str],
    params: Sequence[str],
    size: str | None,
    auto: bool,
    scheduler: str | None,
    against: str | None,
) -> _Measured:
    given_params(made, params)
    out = _ready(made, files, size, auto, scheduler, None)
    first = first_run(made, out)
    pixels = 0
    for one, *_ in by_output(made, out):
        pixels += prod([one.dim(d).extent() for d in range(min(2, one.dimensions()))])
    other, apart = None, ""
    if against is not None:
        other = rivals.rival_of(made, against, hl.get_num_threads())
        ours = rivals.as_opencv(next(iter(pictures(made, out).values())))
        apart = rivals.difference(ours, rivals.first(other))
    return _Measured(lambda: made.pipeline.realize(out), first, pixels, other, apart)


def _function(
    made: NamedFunction, files: Sequence[str], against: str | None
) -> _Measured:
    made.give(files)
    made.call()  # compiles
    start = time.perf_counter()
    found = made.call()
    first = time.perf_counter() - start
    other, apart = None, ""
    if against is not None:
        other = rivals.rival(
            made.name,
            made.arrays,
            made.values,
            made.rivals,
            against,
            hl.get_num_threads(),
        )
        apart = rivals.difference(next(iter(found.values())), rivals.first(other))
    pixels = sum([prod(one.shape[:2]) for one in found.values()])
    return _Measured(made.call, first, pixels, other, apart)


__all__ = ["bench", "run"]
