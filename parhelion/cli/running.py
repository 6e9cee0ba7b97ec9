"""``parhelion run`` and ``parhelion bench``: a pipeline on image files."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

import parhelion as hl
from parhelion.cli.pictures import Array, check_written, fitted, read, write
from parhelion.cli.problem import Problem
from parhelion.cli.programs import Program, load
from parhelion.cli.region import asked_extents, covered, destination, picture
from parhelion.schedule.recomputing import unscheduled
from parhelion.schedule.sites import realization_order

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False}


def given_params(program: Program, given: Sequence[str]) -> None:
    """Sets Params from words like ``levels=8``."""
    for word in given:
        name, equals, text = word.partition("=")
        if not equals:
            raise Problem(f"--param {word}: write NAME=VALUE")
        param = program.params.get(name)
        if param is None:
            raise Problem(
                f"{program.name} has no Param {name!r}", legal=list(program.params)
            )
        param.set(_value(text, param.type(), name))


def _value(text: str, t: hl.Type, name: str) -> int | float | bool:
    try:
        if t.is_bool():
            return _WORDS[text.lower()] if text.lower() in _WORDS else bool(int(text))
        return float(text) if t.is_float() else int(text, 0)
    except ValueError as error:
        raise Problem(f"{text!r} is no value for {name!r} of type {t}") from error


def given_images(program: Program, files: Sequence[str]) -> dict[str, Array]:
    """The inputs' pixels: files in the order of the inputs, or NAME=FILE."""
    found: dict[str, Array] = {}
    free = list(program.inputs)
    for word in files:
        name, equals, file = word.partition("=")
        if not (equals and name in program.inputs):
            if not free:
                raise Problem(
                    f"{program.name} has {len(program.inputs)} inputs; "
                    f"{len(files)} files are given",
                    legal=list(program.inputs),
                )
            name, file = free[0], word
        free.remove(name)
        found[name] = fitted(read(Path(file)), program.inputs[name], name)
    if free:
        raise Problem(
            f"{program.name} needs an image for {', '.join(map(repr, free))}",
            hint="files are given in the order of the inputs, or as NAME=FILE",
        )
    for name, pixels in found.items():
        program.inputs[name].set(hl.Buffer(pixels))
    return found


_program = click.argument("program", metavar="FILE[:NAME]")
_params = click.option(
    "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="Set a Param."
)
_size = click.option(
    "--size", metavar="WxH…", help="Extents of the output. [default: the image's]"
)
_schedule = click.option(
    "--schedule", metavar="NAME", help="A schedule of the file's table SCHEDULES."
)
_auto = click.option(
    "--auto",
    is_flag=False,
    flag_value="Parhelion",
    metavar="[SCHEDULER]",
    help="Schedule it automatically, by Parhelion or Mullapudi2016; what its file has "
    "scheduled stays. Pipelines without any schedule are scheduled anyway.",
)


@click.command()
@_program
@click.argument("files", nargs=-1, required=True, metavar="[INPUT…] OUTPUT")
@_params
@_size
@_schedule
@_auto
def run(
    program: str,
    files: tuple[str, ...],
    params: tuple[str, ...],
    size: str | None,
    schedule: str | None,
    auto: str | None,
) -> None:
    """Run a pipeline on image files.

    Inputs are PNG, JPEG, TIFF or .npy files, in the order of the pipeline's inputs or
    as NAME=FILE; the last file is written. Levels are converted to the inputs' types.
    """
    *inputs, output = files
    begin = time.perf_counter()
    check_written(Path(output))
    made, out = prepared(program, inputs, params, size, schedule, auto)
    computed = first_run(made, out)
    ready = time.perf_counter() - begin - computed
    write(Path(output), picture(out))
    shape = " x ".join(map(str, np.asarray(out[0]).shape[::-1]))
    click.echo(
        f"{output}: {shape}, ready in {ready:.2f} s, computed in "
        f"{1e3 * computed:.1f} ms"
    )


def first_run(made: Program, out: Sequence[hl.Buffer]) -> float:
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
    auto: str | None,
) -> tuple[Program, list[hl.Buffer]]:
    """The program with its inputs and schedule, and Buffers for its output."""
    made = load(program, schedule)
    given_params(made, params)
    images = given_images(made, inputs)
    extents = asked_extents(made, images, size)
    outputs = [f._function for f in made.pipeline.outputs()]
    if auto is None and unscheduled(realization_order(outputs)):
        auto = "Parhelion"
    if auto is not None:
        hl.autoschedule(made.output, sizes=extents, scheduler=auto)
    mins = [0] * len(extents)
    if size is None:
        mins, extents = covered(made, images, extents)
    return made, destination(made, mins, extents)


def ensure_schedule(program: Program, size: str | None) -> None:
    """Schedules a program of several stages that has no schedule, for outputs of this
    size. Raises Problem where it is not given: all inlined, code grows beyond use."""
    order = realization_order([f._function for f in program.pipeline.outputs()])
    if len(order) == 1 or not unscheduled(order):
        return
    if size is None:
        raise Problem(
            f"nothing says how {program.name} is to be computed: it has "
            f"{len(order)} Funcs and no schedule",
            hint="give --schedule NAME, a schedule of its file, or --size WIDTHxHEIGHT "
            "for an automatic one",
        )
    extents = asked_extents(program, {}, size)
    hl.autoschedule(program.output, sizes=extents)


@click.command()
@_program
@click.argument("files", nargs=-1, metavar="[INPUT…]")
@_params
@_size
@_schedule
@_auto
@click.option(
    "--seconds", default=2.0, show_default=True, help="How long to repeat it."
)
@click.option("--threads", type=int, help="How many threads. [default: all]")
def bench(
    program: str,
    files: tuple[str, ...],
    params: tuple[str, ...],
    size: str | None,
    schedule: str | None,
    auto: str | None,
    seconds: float,
    threads: int | None,
) -> None:
    """Measure a pipeline on image files: least and median time of many runs."""
    start = time.perf_counter()
    made, out = prepared(program, files, params, size, schedule, auto)
    if threads is not None:
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
    pixels = out[0].number_of_elements()
    least, median = min(times), statistics.median(times)
    click.echo(
        f"{made.name}: {1e3 * least:.3f} ms at least, {1e3 * median:.3f} ms in the "
        f"median of {len(times)} runs; {pixels / least / 1e6:.1f} megapixels a second; "
        f"ready in {ready:.2f} s; {hl.get_num_threads()} threads"
    )


__all__ = ["bench", "ensure_schedule", "prepared", "run"]
