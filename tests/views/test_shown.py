"""What notebooks show: the structure of the SVG and the HTML, and what is in them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import parhelion as hl
from parhelion.views.graph import Edge, Graph, Node, stage_graph
from parhelion.views.layout import layered
from parhelion.views.nest import nest_fragment
from parhelion.views.page import filled, json_text
from parhelion.views.svg import drawn
from tests.support.html_pages import Checked

x, y, xi, yi = hl.vars("x y xi yi")
SVG = "{http://www.w3.org/2000/svg}"


def pipeline() -> hl.Pipeline:
    """Four stages, one of them inlined, over an image."""
    image = hl.ImageParam(hl.UInt(16), 2, "photo")
    bright, across, down = hl.funcs("bright across down")
    bright[x, y] = image[x, y] / 2 + 1
    across[x, y] = bright[x - 1, y] + bright[x, y] + bright[x + 1, y]
    r = hl.RDom([(0, 3)], "r")
    down[x, y] = hl.u16(0)
    down[x, y] += across[2 * x, y + r - 1]
    across.store_root().compute_at(down, y)
    down.vectorize(x, 8)
    down.update().unscheduled()
    return hl.Pipeline(down)


def test_the_graph_names_every_stage_and_dims_inlined_ones() -> None:
    p = pipeline()
    tree = ET.fromstring(p._repr_svg_())
    kinds = {
        e.attrib["data-name"]: e.attrib["class"].split()[-1]
        for e in tree.iter(f"{SVG}g")
        if "data-name" in e.attrib
    }
    assert kinds == {
        "photo": "ph-input",
        "bright": "ph-inlined",
        "across": "ph-stage",
        "down": "ph-output",
    }
    said = [e.text for e in tree.iter(f"{SVG}text")]
    assert "uint16 · at down.y, stored at root" in said
    # Where a pixel's reads are; the image is read at the pixel itself.
    labels = [
        e.text for e in tree.iter(f"{SVG}text") if "ph-label" in e.attrib["class"]
    ]
    assert labels == ["x−1…x+1, y", "2x, y−1…y+1"]
    edges = [t.text for e in tree.iter(f"{SVG}g") if e.attrib["class"] == "ph-edge"
             for t in e.iter(f"{SVG}title")]  # fmt: skip
    assert edges == ["photo → bright", "bright → across", "across → down"]


@pytest.mark.parametrize(
    ("read", "label"),
    [
        (lambda f: f[x, y], ""),
        (lambda f: f[y, x], "y, x"),
        (lambda f: f[x + 3, y], "x+3, y"),
        (lambda f: f[2 * x, y] + f[2 * x + 1, y], "2x…2x+1, y"),
        (lambda f: f[hl.clamp(x - 1, 0, 9), y], "x−1, y"),
        (lambda f: f[-x, 0] + f[-x, 4], "−x, 0…4"),
        (lambda f: f[f[x, y], y] + f[x, y], "…, y"),
        (lambda f: f[x / 2, y], "x/2, y"),
        (lambda f: f[hl.clamp(hl.likely(x + 1), 0, 9), y], "x+1, y"),
    ],
)
def test_labels_of_edges(read: object, label: str) -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = read(f)  # type: ignore[operator]
    (edge,) = stage_graph([g._function]).edges
    assert edge.label == label


def test_wrappers_stand_in_the_graph() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y + 1]
    f.in_(g).compute_root()
    graph = stage_graph([g._function])
    names = [n.name for n in graph.nodes]
    assert len(names) == 3
    assert len(graph.edges) == 2
    assert [e.label for e in graph.edges if names[e.target] == "g"] == ["x, y+1"]


def test_names_are_escaped() -> None:
    name = 'a<b>&"c"'
    graph = Graph(
        (Node(name, "input", "n < 1 & 2", "t <&>"), Node("b", "output", "", "")),
        (Edge(0, 1, "x < y & z"),),
    )
    tree = ET.fromstring(drawn(graph))
    assert any(e.attrib.get("data-name") == name for e in tree.iter(f"{SVG}g"))
    said = [e.text for e in tree.iter(f"{SVG}text")]
    assert name in said and "n < 1 & 2" in said and "x < y & z" in said
    assert (
        "a < b & c" in Checked(nest_fragment("produce a < b & c:\n  f(...) = ...")).said
    )
    assert "</script>" not in json_text([name, "</script>"])
    assert json.loads(json_text([name, "</script>"])) == [name, "</script>"]
    # What is filled in is not filled in again.
    assert filled("{{a}}-{{b}}", a="{{b}}", b="1") == "{{b}}-1"


def test_boxes_of_a_layout_do_not_overlap_and_edges_go_down() -> None:
    # Two pyramids of eight levels, whose ends meet: edges cross many layers.
    edges = [(i, i + 1) for i in range(8)] + [(i, 17 - i) for i in range(8)]
    edges += [(i, i + 1) for i in range(9, 17)] + [(8, 9)]
    sizes = [(60.0 + 7 * (i % 5), 40.0) for i in range(18)]
    layout = layered(sizes, edges)
    boxes = list(zip(layout.centres, sizes, strict=True))
    for i, ((ax, ay), (aw, ah)) in enumerate(boxes):
        assert aw / 2 <= ax <= layout.width - aw / 2
        assert ah / 2 <= ay <= layout.height - ah / 2
        for (bx, by), (bw, bh) in boxes[:i]:
            assert abs(ax - bx) >= (aw + bw) / 2 or abs(ay - by) >= (ah + bh) / 2
    for path in layout.paths:
        assert all(a[1] < b[1] for a, b in zip(path, path[1:], strict=False))
    assert layered([], []).paths == ()


def test_a_pipeline_shows_graph_and_loops() -> None:
    p = pipeline()
    page = Checked(p._repr_html_())
    tags = [tag for tag, _ in page.elements]
    assert "svg" in tags and "details" in tags and "script" not in tags
    assert not [a for _, a in page.elements if "src" in a or "href" in a]
    for line in p.loop_nest().splitlines():
        assert line.strip() in page.said


def test_loop_nests_fold() -> None:
    nest = pipeline().loop_nest()
    assert isinstance(nest, str) and nest.startswith("store across:\n")
    page = Checked(nest._repr_html_())
    blocks = len([1 for tag, _ in page.elements if tag == "details"])
    assert blocks == nest.count(":\n")


def test_a_func_shows_its_definitions() -> None:
    p = pipeline()
    page = Checked(p.outputs()[0]._repr_html_()).said
    assert "uint16, 2 dimensions (x, y)" in page
    assert "down(x, y) = u16(0)" in page
    assert "across(2*x, y + r - 1)" in page and "for r in [0, 2]" in page
    assert "vectorized" in page
    assert "$" not in page


def test_a_func_computed_in_the_loops_of_another_shows_its_own() -> None:
    f, g = hl.funcs("f g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    f.compute_at(g, x)
    # Without a warning that compute_at has no effect where `f` is the output.
    page = Checked(f._repr_html_()).said
    assert "int32, 1 dimension (x)" in page
    assert "loops, computed by itself" in page
    assert "for its readers, at g.x" in page
    with pytest.warns(hl.ScheduleWarning):
        f.realize([4])


def test_what_cannot_be_shown_is_said() -> None:
    f, g = hl.funcs("f g")
    assert "f is not defined yet" in Checked(f._repr_html_()).said
    assert "without outputs" in Checked(hl.Pipeline()._repr_html_()).said
    f[x, y] = x + y
    g[x, y] = f[x, y]
    f.compute_at(g, xi)
    page = Checked(g._repr_html_()).said
    assert "g(x, y) = f(x, y)" in page
    with pytest.raises(hl.ScheduleError) as caught:
        g.print_loop_nest()
    assert caught.value.what in page


def test_what_would_take_long_is_not_lowered_unasked() -> None:
    f = [hl.Func(f"f{i}") for i in range(40)]
    f[0][x] = x
    for i in range(1, 40):
        f[i][x] = f[i - 1][x] + f[i - 1][x + i]
    page = Checked(f[39]._repr_html_()).said
    assert f"f0 is inlined into {2**39} places" in page
    assert "f39(x) = f38(x) + f38(x + 39)" in page
    for g in f[1:39]:
        g.compute_root()
    assert "produce f38" in Checked(f[39]._repr_html_()).said


def test_an_animation_is_a_page_of_its_own(tmp_path: Path) -> None:
    p = pipeline()
    animation = p.animate([8, 3], tmp_path / "first.html")
    animation.save(tmp_path / "second.html")
    page = (tmp_path / "first.html").read_text(encoding="utf-8")
    assert (tmp_path / "second.html").read_text(encoding="utf-8") == page
    assert "http:" not in page.replace("http://www.w3.org", "") and "https:" not in page
    checked = Checked(page)
    assert not [a for _, a in checked.elements if "src" in a or "href" in a]
    data = animation.data()
    assert json.loads(json_text(data)) == json.loads(json.dumps(data))
    frame = Checked(animation._repr_html_()).elements
    ((tag, attributes),) = frame
    assert tag == "iframe" and attributes["srcdoc"] == page
    assert attributes["sandbox"] == "allow-scripts"
