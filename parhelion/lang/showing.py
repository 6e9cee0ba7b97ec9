"""How Funcs, Pipelines and loop nests show themselves in notebooks, and `animate`.

What draws them is in `parhelion.views`, above this package: it is loaded by name when
something is first shown.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

if TYPE_CHECKING:
    from parhelion.lang.pipeline import Destination
    from parhelion.views.animation import Animation

#: Where each view is, as "module:function".
_VIEWS = {
    "animation": "parhelion.views.animation:animate",
    "func": "parhelion.views.notebook:func_html",
    "graph": "parhelion.views.svg:graph_svg",
    "nest": "parhelion.views.nest:nest_html",
    "pipeline": "parhelion.views.notebook:pipeline_html",
}


def _view(name: str) -> Any:
    module, _, function = _VIEWS[name].partition(":")
    return getattr(importlib.import_module(module), function)


class LoopNest(str):
    """Loop nests as text, in the form of Halide's print_loop_nest."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The same lines coloured, with loops that fold."""
        return str(_view("nest")(self))


class ShownFunc:
    """What a notebook shows of a Func."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Types and dimensions, the definitions, and the loops of its schedule."""
        return str(_view("func")(self))


class ShownPipeline:
    """What a notebook shows of a Pipeline, and how it is animated."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The graph of the stages, and the loops that the schedule makes."""
        return str(_view("pipeline")(self))

    def _repr_svg_(self) -> str:
        """The graph of the stages, producers above consumers; inlined ones are dim."""
        return str(_view("graph")(self))

    def animate(
        self,
        where: Sequence[SupportsIndex] | Destination | Sequence[Destination],
        filename: str | os.PathLike[str] | None = None,
        threads: int = 4,
    ) -> Animation:
        """The order in which the schedule computes the outputs, of the size or in the
        place of the Buffers that `where` says as for `realize`, as a page that moves:
        every stage is a grid of pixels, in which those light up that are loaded or
        stored, and the listing shows where the program is. Nothing is computed into the
        Buffers.

        The program that lowering makes is run step by step. The lanes of a vector light
        up together; parallel loops are shown on so many `threads`. Images that are not
        set are taken to be 0. A notebook shows what is returned; its `save` writes a
        page that needs nothing else, as does a `filename`.

        Raises BoundsError for more than 50,000 loads and stores, HalideError if foreign
        code computes a Func, and what `realize` raises.
        """
        made: Animation = _view("animation")(self, where, filename, threads)
        return made


__all__ = ["LoopNest", "ShownFunc", "ShownPipeline"]
