"""``parhelion show``: a pipeline as a page for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

import parhelion as hl
from parhelion.cli import options
from parhelion.cli.automatic import schedule_as_run
from parhelion.cli.functions import NamedFunction, load_either
from parhelion.cli.given import given_images, given_params, params_without_value
from parhelion.cli.problem import Problem, note
from parhelion.cli.programs import NamedPipeline
from parhelion.cli.region import asked_extents, destination, promised_extents
from parhelion.views.notebook import show_page

#: Pixels of the two first dimensions that are shown unless it is said otherwise: the
#: first of them that is not too much to watch.
_SHOWN = (16, 8, 4)
#: The size that a schedule is for, if no image is given.
_PHOTO = (1536, 1024)


@click.command()
@options.program
@click.argument("files", nargs=-1, metavar="[INPUT…]")
@click.option(
    "-o",
    "--output",
    type=Path,
    metavar="PAGE",
    help="The page's file. [default: the pipeline's name and .html]",
)
@click.option(
    "--size",
    metavar="WxH…",
    help=f"Extents to animate. [default: {_SHOWN[0]}x{_SHOWN[0]}, or less if that is "
    "too much to watch, and 1 of what is beyond]",
)
@options.params
@options.schedule
@options.auto
@options.scheduler
def show(
    program: str,
    files: tuple[str, ...],
    output: Path | None,
    size: str | None,
    params: tuple[str, ...],
    schedule: str | None,
    auto: bool,
    scheduler: str | None,
) -> None:
    """Show a pipeline in the browser: its stages, its loops, and their order.

    The page has the graph of the stages, the schedule that `parhelion run` takes for
    the images given (or for a photograph of 1536 x 1024 pixels), the loop nest, the
    definitions of all stages and, if it is small enough to be watched, each load and
    store in the order of the schedule. It needs no network.
    """
    given = load_either(program, schedule, params, {"--scheduler": scheduler})
    if isinstance(given, NamedFunction):
        given.give(files)
        made = given.pipeline()
        taken = "that of calls with images of this kind and size", ""
    else:
        made = given
        given_params(made, params)
        taken = _scheduled(made, files, auto, scheduler)
    for name in params_without_value(made):
        note(
            f"the Param {name!r} has no value, without which the order of evaluation is"
            f" not known\n  hint: say -p {name}=VALUE"
        )
    if size is not None:
        extents, *smaller = [asked_extents(made, {}, size)]
    else:
        extents, *smaller = [_small(made, shown) for shown in _SHOWN]
    path = output or Path(f"{made.name}.html")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sizes = [
            (" × ".join(map(str, one)), _where(made, one))
            for one in (extents, *smaller)
        ]
        page = show_page(made.pipeline, made.name, sizes, taken)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error}") from error
    click.echo(f"{path}: {path.stat().st_size} bytes")


def _scheduled(
    made: NamedPipeline, files: Sequence[str], auto: bool, scheduler: str | None
) -> tuple[str, str]:
    """Schedules a program as `parhelion run` does, and returns where the schedule comes
    from, in words, and its code."""
    if files:
        extents = asked_extents(made, given_images(made, files).pixels, None)
    else:
        extents = _small(made, 1)
        extents[:2] = [
            known if known != 1 else usual
            for known, usual in zip(extents, _PHOTO, strict=False)
        ]
        if len(extents) == 3 and extents[2] == 1:
            extents[2] = 3
    size = " × ".join(map(str, extents))
    if params_without_value(made):
        return "as the file has it: without values of all Params none can be found", ""
    found = schedule_as_run(made, extents, auto, scheduler)
    if found is None:
        return "as the file has it", ""
    words = f"found by {found.scheduler_name}, for {size} pixels, as `run` does"
    return words, found.to_python()


def _where(made: NamedPipeline, extents: list[int]) -> list[int] | list[hl.Buffer]:
    """What `animate` is given: outputs of one number of dimensions have these extents,
    others a Buffer each, which takes memory."""
    if len({f.dimensions() for f in made.pipeline.outputs()}) == 1:
        return extents
    return destination(made, [0] * len(extents), extents)


def _small(made: NamedPipeline, shown: int) -> list[int]:
    """A size that shows the order, and all of what has a promised extent."""
    outputs = made.pipeline.outputs()
    dims = max(f.dimensions() for f in outputs)
    sizes = [shown if d < 2 else 1 for d in range(dims)]
    for f in outputs:
        for d, known in enumerate(promised_extents(f)):
            sizes[d] = known or sizes[d]
    return sizes


__all__ = ["show"]
