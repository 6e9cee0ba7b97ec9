"""How Funcs, Pipelines, loop nests and Buffers show themselves in notebooks, and
`animate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parhelion.shown import view

if TYPE_CHECKING:
    from parhelion.lang.named_sizes import Sizes
    from parhelion.lang.where import Destination
    from parhelion.views.animation import Animation


class LoopNest(str):
    """Loop nests as text, in the form of Halide's print_loop_nest."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The same lines coloured, with loops that fold."""
        return str(view("nest")(self))


class ShownBuffer:
    """What a notebook shows of a Buffer."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The picture, with its shape, type, range and histogram."""
        return str(view("buffer")(self))


class ShownFunc:
    """What a notebook shows of a Func."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Types and dimensions, the definitions, and the loops of its schedule."""
        return str(view("func")(self))


class ShownPipeline:
    """What a notebook shows of a Pipeline, and how it is animated."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The graph of the stages, and the loops that the schedule makes."""
        return str(view("pipeline")(self))

    def _repr_svg_(self) -> str:
        """The graph of the stages, producers above consumers; inlined ones are dim."""
        return str(view("graph")(self))

    def animate(
        self,
        where: Sizes | Destination | Sequence[Destination],
        filename: str | os.PathLike[str] | None = None,
        threads: int = 4,
    ) -> Animation:
        """Returns a page that shows in which order the schedule computes the pixels.

        `where` is as for `realize`; nothing is computed into Buffers given there. Each
        stage is a grid of pixels, those that are loaded or stored light up, and the
        listing shows where the program is. The lowered program is run step by step,
        parallel loops on so many `threads`; images that are not set are 0. A notebook
        shows the page; its `save`, or a `filename`, writes it to a file that needs
        nothing else.

        Raises BoundsError for more than 50,000 loads and stores, HalideError if foreign
        code computes a Func, and what `realize` raises.

        >>> f = hl.Func("f")
        >>> f[x, y] = x + y
        >>> page = hl.Pipeline(f).animate([4, 4], "f.html")
        """
        made: Animation = view("animation")(self, where, filename, threads)
        return made


__all__ = ["LoopNest", "ShownBuffer", "ShownFunc", "ShownPipeline"]
