"""``parhelion``: the command, and what it does with errors."""

from __future__ import annotations

import sys

import click

from parhelion.cli.building import build
from parhelion.cli.caching import cache
from parhelion.cli.compiling import compile_command
from parhelion.cli.doctor import doctor
from parhelion.cli.forma import forma
from parhelion.cli.mapping import map_command
from parhelion.cli.problem import Problem
from parhelion.cli.running import bench, run
from parhelion.cli.scheduling import schedule
from parhelion.cli.showing import show
from parhelion.errors import HalideError
from parhelion.version import VERSION


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="parhelion")
def commands() -> None:
    """Image-processing pipelines: run, compile, schedule and measure them.

    A pipeline is named by its file, or FILE:NAME: a Func, Pipeline or Generator of the
    file, a function under hl.jit, or a function that makes a pipeline, like the
    applications' algorithm(hl).
    """


_ALL = (
    run,
    map_command,
    bench,
    compile_command,
    build,
    schedule,
    show,
    forma,
    doctor,
    cache,
)
for one in _ALL:
    commands.add_command(one)


def main() -> None:
    """The entry point: messages instead of tracebacks for what users can mend."""
    try:
        commands.main(prog_name="parhelion", standalone_mode=True)
    except (Problem, HalideError) as error:
        print(f"parhelion: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        # Files that cannot be written, programs that are not installed.
        place = "" if error.filename is None else f"{error.filename}: "
        print(f"parhelion: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)


__all__ = ["commands", "main"]
