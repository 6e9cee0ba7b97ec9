"""What several commands are told in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_C = TypeVar("_C", bound=Callable[..., Any])

program = click.argument("program", metavar="FILE[:NAME]")
params = click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a Param, or a GeneratorParam.",
)
schedule = click.option(
    "--schedule", metavar="NAME", help="A schedule of the file's table SCHEDULES."
)
size = click.option(
    "--size",
    metavar="WxH…",
    help="Extents of the output, also by names: y=480,x=640. [default: the image's]",
)

auto = click.option(
    "--auto",
    is_flag=True,
    help="Schedule it automatically; what its file has scheduled stays. Pipelines "
    "without any schedule are scheduled anyway.",
)
scheduler = click.option(
    "--scheduler",
    metavar="NAME",
    help="Schedule it automatically, by Parhelion or Mullapudi2016. [default: "
    "Parhelion]",
)

threads = click.option(
    "--threads",
    type=click.IntRange(min=0),
    help="How many threads; 0 for all. [default: all]",
)


def ahead(command: _C) -> _C:
    """The options of commands that compile for a target, without images."""
    target = click.option(
        "--target",
        default="host",
        show_default=True,
        help="As x86-64-linux-avx2, arm-64-linux or arm-32-linux: what those computers "
        "have on which it is to run.",
    )
    extents = click.option(
        "--size",
        metavar="WxH…",
        help="Extents of the output to schedule for, automatically, if nothing else "
        "does.",
    )
    return target(schedule(extents(command)))


__all__ = [
    "ahead",
    "auto",
    "params",
    "program",
    "schedule",
    "scheduler",
    "size",
    "threads",
]
