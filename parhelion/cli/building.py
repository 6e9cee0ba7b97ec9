"""``parhelion build``: pipelines as a Python module that needs no compiler to run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

import parhelion as hl
from parhelion.cli import options
from parhelion.cli.automatic import ensure_schedule
from parhelion.cli.problem import Problem
from parhelion.cli.programs import (
    NamedPipeline,
    check_name,
    generators,
    imported,
    is_generator,
    of_generator,
    program_of,
    split,
)
from parhelion.lang.extension import write_extension


@click.command()
@options.program
@click.argument("words", nargs=-1, metavar="[PARAM=VALUE…]")
@click.option(
    "-o",
    "--output",
    type=Path,
    default=Path("."),
    metavar="FOLDER",
    help="Where the module is written. [default: here]",
)
@click.option(
    "--module",
    metavar="NAME",
    help="The module's name. [default: the function's; the file's, if there are more]",
)
@options.ahead
def build(
    program: str,
    words: tuple[str, ...],
    output: Path,
    module: str | None,
    target: str,
    schedule: str | None,
    size: str | None,
) -> None:
    """Build a Python module, FOLDER/NAME.abi3.so, and its types, NAME.pyi.

    It has a function for each Generator of the file, or for the pipeline that is named,
    and takes arrays of NumPy and others. PARAM is a GeneratorParam.
    """
    path, wanted = split(program)
    made = _programs(path, wanted, words, hl.Target(target), schedule)
    for one in made:
        ensure_schedule(one, size)
    name = module or (made[0].name if len(made) == 1 else path.stem)
    check_name(name, "--module")
    modules = []
    for one in made:
        # A single function may have the module's name where the file's is none.
        fitting = one.name.isidentifier() or len(made) > 1
        modules.append(one.module(one.name if fitting else name, hl.Target(target)))
    built = write_extension(modules, output, name)
    for file in (built, output / f"{name}.pyi"):
        click.echo(f"{file}: {os.path.getsize(file)} bytes")


def _programs(
    path: Path,
    wanted: str,
    words: Sequence[str],
    target: hl.Target,
    schedule: str | None,
) -> list[NamedPipeline]:
    """What is to be built: the one that is named, or all Generators of the file."""
    file = imported(path)
    known = generators(file)
    found: object = known.get(wanted, getattr(file, wanted, None) if wanted else None)
    if is_generator(found):
        known = {wanted: found}
    elif wanted or not known:
        if words:
            raise Problem(f"{words[0]}: there is no Generator that takes parameters")
        return [program_of(file, path, wanted, schedule)]
    if schedule is not None:
        raise Problem("Generators schedule their pipelines: --schedule has no meaning")
    params: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise Problem(f"{word}: write PARAM=VALUE")
        params[name] = value
    if params and len(known) > 1:
        raise Problem(
            f"{words[0]}: of which Generator? Say {path}:NAME", legal=list(known)
        )
    return [of_generator(one, target, params) for one in known.values()]


__all__ = ["build"]
