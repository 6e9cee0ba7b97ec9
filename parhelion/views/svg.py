"""The graph of a pipeline's stages as a picture in SVG."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from parhelion.views.graph import Graph, Node, stage_graph
from parhelion.views.layout import Place, layered
from parhelion.views.page import template

if TYPE_CHECKING:
    from parhelion.lang.pipeline import Pipeline

#: Widths of a letter of the name and of the note, in pixels; what is around them.
_NAME, _NOTE, _AROUND = 8.0, 6.2, 20.0
_TALL = 40.0
#: Letters of a name that are shown.
_LONGEST = 40


def graph_svg(pipeline: Pipeline) -> str:
    """The picture of a Pipeline's stages: producers above, consumers below."""
    return drawn(stage_graph(pipeline._functions()))


def drawn(graph: Graph) -> str:
    """The picture of a graph. Labels of edges say where a point's reads are, where they
    are not just at the point itself."""
    sizes = [(_width(n), _TALL) for n in graph.nodes]
    layout = layered(sizes, [(e.source, e.target) for e in graph.edges])
    w, h = f"{layout.width:.0f}", f"{layout.height:.0f}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}"'
        f' height="{h}" class="ph-graph" role="img" aria-label="stages">',
        f"<style>{template('graph.css')}</style>",
        f'<rect class="ph-paper" width="{w}" height="{h}"/>',
        '<defs><marker id="ph-arrow" viewBox="0 0 8 8" refX="8" refY="4"'
        ' markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="ph-head" d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    leaving = Counter([e.source for e in graph.edges])
    arriving = Counter([e.target for e in graph.edges])
    for edge, path in zip(graph.edges, layout.paths, strict=True):
        ends = (graph.nodes[edge.source], graph.nodes[edge.target])
        told = " → ".join([n.name for n in ends])
        out.append(
            f'<g class="ph-edge"><title>{escape(told)}</title>'
            f'<path d="{_curve(path)}" marker-end="url(#ph-arrow)"/>'
        )
        if edge.label:
            # Where fewer edges meet, so that labels lie apart.
            near_end = leaving[edge.source] >= arriving[edge.target]
            x, y = _along(path, near_end)
            out.append(
                f'<text x="{x:.1f}" y="{y:.1f}" class="ph-label">'
                f"{escape(edge.label)}</text>"
            )
        out.append("</g>")
    for node, (x, y), (width, tall) in zip(
        graph.nodes, layout.centres, sizes, strict=True
    ):
        round_ = 14 if node.kind == "input" else 4
        out.append(
            f'<g class="ph-node ph-{node.kind}" data-name="{escape(node.name)}">'
            f"<title>{escape(node.title)}</title>"
            f'<rect x="{x - width / 2:.1f}" y="{y - tall / 2:.1f}" width="{width:.1f}"'
            f' height="{tall:.1f}" rx="{round_}"/>'
            f'<text x="{x:.1f}" y="{y - 3:.1f}" class="ph-name">'
            f"{escape(_short(node.name))}</text>"
            f'<text x="{x:.1f}" y="{y + 12:.1f}" class="ph-note">'
            f"{escape(node.note)}</text></g>"
        )
    return "\n".join([*out, "</svg>"])


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _width(n: Node) -> float:
    letters = max(len(_short(n.name)) * _NAME, len(n.note) * _NOTE)
    return letters + _AROUND


def _curve(path: tuple[Place, ...]) -> str:
    """Through all points, vertical at each."""
    (x, y), *rest = path
    out = [f"M{x:.1f} {y:.1f}"]
    for u, v in rest:
        half = (y + v) / 2
        out.append(f"C{x:.1f} {half:.1f} {u:.1f} {half:.1f} {u:.1f} {v:.1f}")
        x, y = u, v
    return "".join(out)


def _along(path: tuple[Place, ...], near_end: bool) -> Place:
    """Where the label of an edge stands: on its last part, near the end, or on its
    first one, near the beginning."""
    (ax, ay), (bx, by) = path[-2:] if near_end else path[:2]
    t = 0.72 if near_end else 0.28
    # The curve that `_curve` draws, at t.
    return ax + (bx - ax) * t * t * (3 - 2 * t), (
        ay * (1 - t) ** 3 + 1.5 * (ay + by) * t * (1 - t) + by * t**3 + 4
    )


__all__ = ["drawn", "graph_svg"]
