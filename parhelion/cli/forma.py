"""``parhelion forma``: programs of the language Forma, checked and looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from parhelion.cli.forma_programs import dag, emit, run

if TYPE_CHECKING:
    from parhelion.forma.stages import Graph, Source, Stage

_file = click.argument("file", type=click.Path(path_type=Path), metavar="FILE")


@click.group()
def forma() -> None:
    """Programs of the image-processing language Forma."""


for one in (run, dag, emit):
    forma.add_command(one)


@forma.command()
@_file
def check(file: Path) -> None:
    """Check a program, and say what is left to be checked when it runs."""
    graph = _checked(file)
    inputs = _counted(len(graph.inputs), "input")
    outputs = _counted(len(graph.outputs), "output")
    stages = _counted(len(graph.needed()) - len(_used_inputs(graph)), "stage")
    click.echo(f"{file}: {inputs}, {stages}, {outputs}")
    unused = [one for one in graph.inputs if one not in _used_inputs(graph)]
    for one in unused:
        click.echo(f"{one.span.site()}: the input '{one.name}' is not used")
    if graph.requirements:
        click.echo("checked when it runs, that it is not so that")
    for requirement in graph.requirements:
        click.echo(f"  {requirement.span.site()}: {requirement.what}")


@forma.command()
@_file
@click.option(
    "--all", "everything", is_flag=True, help="Also of stages that have no variable."
)
def sizes(file: Path, everything: bool) -> None:
    """Show the size of each domain, in terms of the parameters."""
    from parhelion.forma.stages import Source

    graph = _checked(file)
    shown = list(graph.variables)
    if everything:
        named = {source for _, source in shown}
        for stage in graph.stages:
            results = [Source(stage, k) for k in range(len(stage.types))]
            shown += [(one.name, one) for one in results if one not in named]
    for name, source in shown:
        click.echo(_declared(name, source))
    for output in graph.outputs:
        click.echo(f"return {_declared(output.name, output.source)}")


def _declared(name: str, source: Source) -> str:
    """A domain as a program would declare it."""
    from parhelion.forma.sizes import size_text

    inside = ", ".join([size_text(size) for size in source.sizes])
    return f"vector#{source.dimensions} {source.type} {name}[{inside}]"


def _used_inputs(graph: Graph) -> set[Stage]:
    return set(graph.needed()) & set(graph.inputs)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _checked(file: Path) -> Graph:
    from parhelion.forma.check import check_file

    return check_file(file)


__all__ = ["forma"]
