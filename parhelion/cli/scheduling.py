"""``parhelion schedule``: a schedule found, printed as Python, and explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from parhelion.cli import options
from parhelion.cli.automatic import find_schedule
from parhelion.cli.functions import NamedFunction, load_either
from parhelion.cli.given import given_images, given_params
from parhelion.cli.problem import Problem
from parhelion.cli.programs import NamedPipeline
from parhelion.cli.region import asked_extents


@click.command()
@options.program
@click.argument("files", nargs=-1, metavar="[INPUT…]")
@options.params
@click.option("--size", metavar="WxH…", help="Extents of the output.")
@click.option(
    "--scheduler",
    default="Parhelion",
    show_default=True,
    help="Parhelion or Mullapudi2016.",
)
@options.threads
@click.option("--measure", type=int, help="Measure so many candidates, take the best.")
@click.option("--explain", is_flag=True, help="Tell what was decided, and why.")
@click.option("-o", "--output", type=Path, help="Write the Python code to a file.")
def schedule(
    program: str,
    files: tuple[str, ...],
    params: tuple[str, ...],
    size: str | None,
    scheduler: str,
    threads: int | None,
    measure: int | None,
    explain: bool,
    output: Path | None,
) -> None:
    """Find a schedule for a pipeline, and print it as Python code.

    It is made for the sizes of the images given, or for --size. What the file's own
    `schedule` has decided stays.
    """
    known = {
        "--size": size,
        "--threads": threads,
        "--measure": measure,
        "--scheduler": None if scheduler == "Parhelion" else scheduler,
    }
    made = load_either(program, None, params, known)
    if isinstance(made, NamedFunction):
        made.give(files)
        found = made.autoschedule()
    else:
        given_params(made, params)
        extents = _sizes(made, files, size)
        told: dict[str, Any] = {}
        if threads:
            told["parallelism"] = threads
        if measure is not None:
            told["measure"] = measure
        found = find_schedule(made, extents, scheduler, **told)
    code = found.to_python()
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(code)
        click.echo(f"wrote {output}")
    else:
        click.echo(code)
    if explain:
        click.echo(found.explain())


def _sizes(made: NamedPipeline, files: tuple[str, ...], size: str | None) -> list[int]:
    if not files:
        if size is None:
            raise Problem(
                "for what size is the schedule to be?",
                hint="give the input images, or --size WIDTHxHEIGHT",
            )
        return asked_extents(made, {}, size)
    return asked_extents(made, given_images(made, files).pixels, size)


__all__ = ["schedule"]
