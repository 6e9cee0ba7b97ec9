"""What notebooks show of Funcs and Pipelines, and the page of ``parhelion show``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, SupportsIndex

from parhelion.errors import HalideError
from parhelion.ir.function import Function
from parhelion.schedule.directives import Place
from parhelion.schedule.order import realization_order
from parhelion.schedule.placement import placement_of
from parhelion.schedule.rules import ScheduleWarning
from parhelion.views.animation import animate
from parhelion.views.execute import TooManyEvents
from parhelion.views.graph import inlined_most, stage_graph
from parhelion.views.listing import names_of, shown
from parhelion.views.nest import nest_fragment
from parhelion.views.page import styled, whole_page
from parhelion.views.svg import drawn
from parhelion.views.wording import definitions, place, signature

if TYPE_CHECKING:
    from parhelion.lang.func import Func
    from parhelion.lang.pipeline import Pipeline
    from parhelion.lang.where import Destination

    _Where = Sequence[SupportsIndex] | Sequence[Destination]

#: Into how many places a Func may be inlined for the loops to be shown unasked.
_MOST_PLACES = 2000


def func_html(func: Func) -> str:
    """Types and dimensions of a Func, its definitions, and its loops."""
    f = func._function
    if not f.defined:
        return styled(f"<p><b>{escape(shown(f))}</b> is not defined yet</p>")
    with warnings.catch_warnings():
        # Computed by itself, it is not where its schedule says: no fault of the user's.
        warnings.simplefilter("ignore", ScheduleWarning)
        nest = _nest(func._pipeline())
    alone = f.schedule.compute.place is Place.LOOP
    if alone:
        where = escape(place(placement_of(f, ())))
        nest += f"\n<p class='ph-dim'>for its readers, {where}</p>"
    head = "loops, computed by itself" if alone else "loops"
    return styled(f"{_described(f, shown(f))}\n<h2>{head}</h2>\n{nest}")


def pipeline_html(pipeline: Pipeline) -> str:
    """The graph of a Pipeline's stages, and its loops."""
    if not pipeline.defined():
        return styled("<p>a Pipeline without outputs</p>")
    return styled(f"{_graph(pipeline)}\n<h2>loops</h2>\n{_nest(pipeline)}")


def show_page(
    pipeline: Pipeline,
    name: str,
    sizes: Sequence[tuple[str, _Where]],
    schedule: tuple[str, str] = ("", ""),
) -> str:
    """All of a pipeline on one page: the graph of its stages, their definitions, the
    loops and the order of evaluation, at the first of the sizes at which it can be
    watched. Each of them is told in words, and as for `realize`. schedule: where the
    schedule comes from, in words, and its code, if it was found."""
    outputs = pipeline._functions()
    stages = [
        _described(f, name, place(placement_of(f, outputs)))
        for f, name in names_of(realization_order(outputs)).items()
    ]
    size, order = _order(pipeline, sizes)
    parts = [
        f"<h1>{escape(name)}</h1>",
        _graph(pipeline),
        f"<h2>order of evaluation, {size}</h2>",
        order,
        *_taken(*schedule),
        "<h2>loops</h2>",
        _nest(pipeline),
        "<h2>stages</h2>",
        *stages,
    ]
    return whole_page(name, "\n".join(parts))


def _order(
    pipeline: Pipeline, candidates: Sequence[tuple[str, _Where]]
) -> tuple[str, str]:
    """Returns the first size that is small enough, in words, and its animation.

    If none is, returns the first size and the reason.
    """
    refusals = []
    for words, where in candidates:
        try:
            return words, _loops(pipeline, partial(_moving, pipeline, where))
        except _Refused as error:
            refusals.append(str(error))
    return candidates[0][0], _message(refusals[0])


class _Refused(Exception):
    """The error that a size has too many loads and stores to be watched."""


def _moving(pipeline: Pipeline, where: _Where) -> str:
    try:
        return animate(pipeline, where).fragment()
    except TooManyEvents as error:
        raise _Refused(str(error)) from error


def _graph(pipeline: Pipeline) -> str:
    return _or_why(lambda: drawn(stage_graph(pipeline._functions())))


def _nest(pipeline: Pipeline) -> str:
    return _loops(pipeline, lambda: nest_fragment(pipeline.loop_nest()))


def _loops(pipeline: Pipeline, part: Callable[[], str]) -> str:
    """Returns a part of a page that needs lowering, or a note if that would take long.

    A page must come at once, also in the middle of the work on a pipeline.
    """
    most = inlined_most(pipeline._functions())
    if most is None or most[1] <= _MOST_PLACES:
        return _or_why(part)
    name = escape(shown(most[0]))
    return (
        f"<p>{name} is inlined into {most[1]} places. The loops are shown here once"
        " some Funcs have a place of their own: compute_root, compute_at.</p>"
    )


def _or_why(part: Callable[[], str]) -> str:
    """Returns a part of a page, or the message of the error that prevents it.

    A page is needed most when something is wrong.
    """
    try:
        return part()
    except HalideError as error:
        return _message(str(error))


def _message(text: str) -> str:
    return f'<p class="ph-error">{escape(text)}</p>'


def _taken(words: str, code: str) -> list[str]:
    """The schedule, in words and as a program."""
    if not words:
        return []
    parts = ["<h2>schedule</h2>", f"<p>{escape(words)}</p>"]
    if code:
        parts.append(f"<pre class='ph-source'>{escape(code.strip())}</pre>")
    return parts


def _described(f: Function, name: str, where: str = "") -> str:
    lines = [
        f"<div class='ph-leaf'><code>{escape(d)}</code></div>" for d in definitions(f)
    ]
    head = f"<b>{escape(name)}</b> <span class='ph-dim'>{escape(signature(f))}</span>"
    if where:
        head += f" <span class='ph-dim'>— {escape(where)}</span>"
    return "\n".join([f"<div class='ph-func'><p>{head}</p>", *lines, "</div>"])


__all__ = ["func_html", "pipeline_html", "show_page"]
