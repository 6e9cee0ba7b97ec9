"""The stages of a Forma program, before fusion and after it: as a picture, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from parhelion.forma.fuse import Fusion, Group, fuse
from parhelion.forma.results import computed_in_place
from parhelion.forma.sizes import Size, size_text
from parhelion.forma.stages import Apply, Compose, Crop, Graph, Input, Output, Stage
from parhelion.forma.terms import Access, Read
from parhelion.views.graph import Edge, Node
from parhelion.views.graph import Graph as Drawn
from parhelion.views.svg import drawn

_NAMES = "xyzw"
#: Pixels around pictures, above them for a title, and for a letter of that.
_AROUND, _TITLE, _LETTER = 16, 24, 8
#: Names of merged stages that a line of text or a note has.
_TOLD = 60


def before(graph: Graph) -> Drawn:
    """Each stage of the program, its inputs and its crops."""
    stages = graph.needed()
    returned = {one.source.stage for one in graph.outputs}
    number = {stage: k for k, stage in enumerate(stages)}
    nodes = [_node(stage, stage in returned) for stage in stages]
    edges = []
    for stage in stages:
        for source in dict.fromkeys([one.stage for one in stage.sources]):
            edges.append(Edge(number[source], number[stage], _reach(stage, source)))
    return Drawn(tuple(nodes), tuple(edges))


def after(graph: Graph, fusion: Fusion) -> Drawn:
    """What is computed: the stages of a group are one."""
    inputs = [one for one in graph.inputs if one in graph.needed()]
    returned = {one.source.stage for one in graph.outputs}
    number: dict[Stage, int] = {stage: k for k, stage in enumerate(inputs)}
    nodes = [_node(one, False) for one in inputs]
    for group in fusion.groups:
        for stage in group.stages:
            number[stage] = len(nodes)
        is_output = isinstance(group.stored, Output) or group.stored in returned
        nodes.append(_group_node(group, is_output))
    edges: dict[tuple[int, int], None] = {}
    for k, group in enumerate(fusion.groups, len(inputs)):
        for source in _sources(group):
            if number[source] != k:
                edges[number[source], k] = None
    return Drawn(tuple(nodes), tuple([Edge(a, b, "") for a, b in edges]))


def picture(graph: Graph, fusion: Fusion) -> str:
    """Both in one picture in SVG, side by side."""
    out, x, tallest = [], _AROUND, 0
    titles, drawings = headings(graph, fusion), (before(graph), after(graph, fusion))
    for title, drawing in zip(titles, drawings, strict=True):
        svg = drawn(drawing)
        found = re.search(r'width="(\d+)" height="(\d+)"', svg)
        assert found is not None
        wide, tall = int(found[1]), int(found[2])
        out.append(
            f'<text x="{x}" y="{_AROUND + 12}" font-family="sans-serif"'
            f' font-size="14">{escape(title)}</text>'
        )
        out.append(svg.replace("<svg ", f'<svg x="{x}" y="{_AROUND + _TITLE}" ', 1))
        x += max(wide, _LETTER * len(title)) + _AROUND
        tallest = max(tallest, tall)
    height = tallest + 2 * _AROUND + _TITLE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x} {height}"'
            f' width="{x}" height="{height}" role="img" aria-label="fusion">',
            f'<rect width="{x}" height="{height}" fill="white"/>',
            *out,
            "</svg>\n",
        ]
    )


def text(graph: Graph, fusion: Fusion) -> str:
    """Both in words: a line for each stage, and one for each group."""
    first, second = headings(graph, fusion)
    lines = [first]
    for stage in graph.needed():
        sources = ", ".join([one.name for one in stage.sources])
        if isinstance(stage, Apply):
            lines.append(f"  {stage.name} = {stage.stencil}({sources})")
        elif isinstance(stage, Crop):
            lines.append(f"  {stage.name} = a part of {sources}")
        elif isinstance(stage, Compose):
            lines.append(f"  {stage.name} = {sources} put together")
    lines.append(second)
    for group in fusion.groups:
        others = _others(group)
        lines.append(f"  {group.name}{f', with {others}' if others else ''}")
    return "\n".join(lines)


def headings(graph: Graph, fusion: Fusion) -> tuple[str, str]:
    """How many stages there are, and buffers between them: before, and after."""
    alone = fuse(graph, merging=False)
    return (
        f"before fusion: {_counted(graph, alone)}",
        f"after fusion: {_counted(graph, fusion)}",
    )


def _counted(graph: Graph, fusion: Fusion) -> str:
    in_place = {one.source.stage for one in computed_in_place(graph)}
    computing = [one for one in fusion.groups if one.stages]
    buffers = [
        one
        for one in computing
        if not isinstance(one.stored, Output) and one.stored not in in_place
    ]
    return f"{_number(len(computing), 'stage')}, {_number(len(buffers), 'buffer')}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _others(group: Group) -> str:
    """The stages that are merged into the last one, as far as a line goes."""
    names = [one.name for one in group.stages if one.name != group.name]
    told = ", ".join(names)
    return told if len(told) <= _TOLD else _number(len(names), "other")


def _sources(group: Group) -> list[Stage]:
    """The inputs and stages that a group reads, through crops."""
    found: dict[Stage, None] = {}
    stored = group.stored
    waiting = [one.stage for stage in group.stages for one in stage.sources]
    if isinstance(stored, Output):
        waiting.append(stored.source.stage)
    for stage in waiting:  # grows meanwhile
        if isinstance(stage, Crop):
            waiting.append(stage.source.stage)
        else:
            found[stage] = None
    return list(found)


def _node(stage: Stage, is_output: bool) -> Node:
    kind = "input" if isinstance(stage, Input) else "output" if is_output else "stage"
    types = ", ".join([str(one) for one in stage.types])
    note = f"{types} · {_sizes(stage.sizes)}"
    what = stage.span.text().splitlines()[0]
    return Node(stage.name, kind, note, f"line {stage.span.line}: {what}")


def _group_node(group: Group, is_output: bool) -> Node:
    stored = group.stored
    sizes = stored.source.sizes if isinstance(stored, Output) else stored.sizes
    note = f"{_number(len(group.stages), 'stage')} · {_sizes(sizes)}"
    title = ", ".join([one.name for one in group.stages])
    return Node(group.name, "output" if is_output else "stage", note, title)


def _sizes(sizes: Sequence[Size]) -> str:
    return " × ".join([size_text(one) for one in sizes])


def _reach(stage: Stage, source: Stage) -> str:
    """Where a stencil reads for a point, ``x−1…x+1, y``; nothing if at that point."""
    if not isinstance(stage, Apply):
        return ""
    reads = [
        read
        for read in stage.body.reads
        if stage.arguments[read.source].stage is source
    ]
    if all([a == Access(0) for read in reads for a in read.at]):
        return ""
    return ", ".join([_along(reads, d) for d in range(stage.dimensions)])


def _along(reads: Sequence[Read], d: int) -> str:
    name = _NAMES[d] if d < len(_NAMES) else f"x{d}"
    scales = {read.at[d].scale for read in reads}
    if len(scales) > 1:
        return "…"
    (scale,) = scales
    base = name if scale == 1 else f"{scale}{name}"
    offsets = [read.at[d].offset for read in reads]
    low, high = min(offsets), max(offsets)
    first, last = _moved(base, low), _moved(base, high)
    return first if low == high else f"{first}…{last}"


def _moved(base: str, k: int) -> str:
    if k == 0:
        return base
    return f"{base}+{k}" if k > 0 else f"{base}−{-k}"


__all__ = ["after", "before", "headings", "picture", "text"]
