"""``parhelion map``: a pipeline on images that are larger than memory."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parhelion.cli import options
from parhelion.cli.given import check_params, given_params, named_files
from parhelion.cli.problem import Problem
from parhelion.cli.programs import NamedPipeline, load

if TYPE_CHECKING:
    import dask.array as da

#: How many chunks there are for each worker at a time, at most: those that it reads and
#: computes, and those that wait for neighbours or to be written.
_IN_FLIGHT = 4


@click.command("map")
@options.program
@click.argument("files", nargs=-1, required=True, metavar="INPUT… OUTPUT")
@options.params
@options.size
@options.schedule
@click.option(
    "--memory",
    default="4GB",
    show_default=True,
    help="The most that chunks take at a time, all workers together.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="How many chunks are computed at a time. [default: all processors]",
)
@click.option(
    "--whole",
    is_flag=True,
    help="Fold reductions over whole images, as histograms are, chunk by chunk.",
)
@click.option("--plan", is_flag=True, help="Say what would be read; compute nothing.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Delete an output that is the result of something else.",
)
def map_command(
    program: str,
    files: tuple[str, ...],
    params: tuple[str, ...],
    size: str | None,
    schedule: str | None,
    memory: str,
    workers: int | None,
    whole: bool,
    plan: bool,
    overwrite: bool,
) -> None:
    """Run a pipeline on images that are larger than memory, chunk by chunk.

    Inputs are Zarr stores, .npy, TIFF or HDF5 files, in the order of the pipeline's
    inputs or as NAME=FILE; the output is a Zarr store. An interrupted run is gone on
    with by the same command, which writes what is missing. It needs the extra
    parhelion[zarr].
    """
    *inputs, output = files
    if not inputs:
        raise Problem("map: say an input and an output", hint="… in.zarr out.zarr")
    if Path(output).suffix != ".zarr":
        raise Problem(f"map: the output {output} is a Zarr store, NAME.zarr")
    try:
        import dask
        from dask.diagnostics.progress import ProgressBar

        import parhelion.dask as hd
    except ImportError as error:
        raise Problem(
            f"map needs dask and zarr: {error}",
            hint='pip install "parhelion[zarr]"',
        ) from None
    made = load(program, schedule, params)
    given_params(made, params)
    check_params(made)
    words = named_files(made.name, made.inputs, inputs, output)
    arrays = {made.inputs[n]: hd.open_image(word) for n, word in words.items()}
    if len(made.pipeline.outputs()) > 1:
        names = [f.name() for f in made.pipeline.outputs()]
        raise Problem(f"map: {made.name} has several outputs", legal=names)
    from parhelion.dask.preparing import byte_count

    count = workers or os.cpu_count() or 1
    asked: dict[str, Any] = {
        "shape": _shape(made, size),
        "memory": max(byte_count(memory) // (_IN_FLIGHT * count), 1),
        "rechunk": "auto",
        "workers": count,
    }
    if plan:
        click.echo(hd.plan(made.pipeline, arrays, **asked))
        return
    out = (hd.reduce if whole else hd.apply)(made.pipeline, arrays, **asked)
    bar = ProgressBar() if sys.stderr.isatty() else nullcontext()
    with dask.config.set(scheduler="threads", num_workers=count), bar:
        stored = hd.to_zarr(
            _regular(out), output, inputs=list(words.values()), overwrite=overwrite
        )
    shown = "x".join([str(n) for n in reversed(out.shape)])
    click.echo(f"{output}: {shown} {out.dtype}, {stored}")


def _shape(made: NamedPipeline, size: str | None) -> tuple[int, ...] | None:
    """The output's shape, as ``--size`` gives it; None for that of the first array."""
    if size is None:
        return None
    dims = made.output.dimensions()
    try:
        extents = [int(n) for n in size.split("x")]
    except ValueError:
        raise Problem(f"--size {size}: write WIDTHxHEIGHT") from None
    if len(extents) != dims or min(extents) < 1:
        raise Problem(f"--size {size}: the output has {dims} dimensions, of 1 or more")
    return tuple(reversed(extents))


def _regular(array: da.Array) -> da.Array:
    """An array of chunks of one size, as a Zarr store has them."""
    sizes: list[int] = [max(own) for own in array.chunks]
    regular = [
        all([n == s for n in own[:-1]]) and own[-1] <= s
        for own, s in zip(array.chunks, sizes, strict=True)
    ]
    return array if all(regular) else array.rechunk(tuple(sizes))


__all__ = ["map_command"]
