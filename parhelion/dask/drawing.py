"""Plans as drawings: the chunks of images and outputs, and what one of them reads."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from parhelion.dask.chunks import Chunks, starts

if TYPE_CHECKING:
    from parhelion.dask.planning import Plan

#: The longest side of an array, the space around one, and the lines of text, in pixels.
_SIDE, _GAP, _LINE = 240, 24, 16
#: Grids with more chunks along an axis are drawn without lines.
_MOST_LINES = 80
Spans = Sequence[tuple[int, int]]


def drawn(plan: Plan) -> str:
    """A plan as SVG. Of more than two axes the last two are drawn."""
    parts: list[str] = []
    top, width = _GAP, 0
    for o in plan.outputs:
        left, high = _GAP, 0
        tiles = [(i.name, i.shape, i.chunks, i.example, False) for i in o.images]
        tiles.append((", ".join(o.names), o.shape, o.chunks, o.example, True))
        for name, shape, chunks, example, result in tiles:
            wide, tall, drawing = _grid(
                left, top + _LINE, shape, chunks, example, result
            )
            size = " x ".join([str(n) for n in shape])
            label = escape(f"{'-> ' if result else ''}{name} ({size})")
            parts.append(f'<text x="{left}" y="{top + 10}">{label}</text>')
            parts += drawing
            left += max(wide, 7 * len(label)) + _GAP
            high = max(high, tall)
        width, top = max(width, left), top + _LINE + high + _GAP
    for line in str(plan).splitlines()[-2:]:
        parts.append(f'<text x="{_GAP}" y="{top}">{escape(line)}</text>')
        width, top = max(width, _GAP + 7 * len(line)), top + _LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}"'
        ' font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *parts, "</svg>"])


def _grid(
    left: int,
    top: int,
    shape: Sequence[int],
    chunks: Chunks,
    example: Spans,
    result: bool,
) -> tuple[int, int, list[str]]:
    """The width and height of an array's drawing, and its parts."""
    rows, columns = ([1, 1, *shape])[-2:]
    cuts: Chunks = (((1,), (1,), *chunks))[-2:]
    spans: Spans = ([(0, 1), (0, 1), *example])[-2:]
    scale = _SIDE / max(rows, columns, 1)
    wide, tall = max(columns * scale, 2), max(rows * scale, 2)
    colour = "#f4a261" if result else "#8ecae6"
    out = [_box(left, top, wide, tall, "#f5f5f5")]
    if example:
        (y, h), (x, w) = spans
        place = left + x * scale, top + y * scale
        out.append(_box(*place, w * scale, h * scale, colour))
    if max(len(own) for own in cuts) <= _MOST_LINES:
        for b in starts(cuts[0])[1:-1]:
            at = top + b * scale
            out.append(_line(left, at, left + wide, at))
        for b in starts(cuts[1])[1:-1]:
            at = left + b * scale
            out.append(_line(at, top, at, top + tall))
    return round(wide), round(tall), out


def _box(x: float, y: float, w: float, h: float, colour: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}"'
        f' fill="{colour}" stroke="#555555"/>'
    )


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
        ' stroke="#999999" stroke-width="0.5"/>'
    )


__all__ = ["drawn"]
