"""The paper's scheduler on the paper's examples: groups, tiles, loops, results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine import machine
from parhelion.autoschedule.mullapudi.model import Model
from parhelion.autoschedule.mullapudi.params import ARM, XEON, Limits, limits
from parhelion.autoschedule.mullapudi.plan import Plan
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.autoschedule.pipeline.regions import Regions
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.ir.function import Function
from parhelion.schedule.directives import Place

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def image(dims: int = 2, kind: hl.Type | None = None) -> hl.ImageParam:
    return hl.ImageParam(hl.Float(32) if kind is None else kind, dims)


def blur() -> tuple[hl.Func, hl.Func]:
    """Figure 2."""
    source = image()
    blur_x, out = hl.Func("blur_x"), hl.Func("out")
    blur_x[x, y] = (source[x - 1, y] + source[x, y] + source[x + 1, y]) / 3
    out[x, y] = (blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]) / 3
    return out, blur_x


def product(size: int) -> tuple[hl.Func, hl.Func]:
    """Figure 3."""
    a, b = image(), image()
    k = hl.RDom([(0, size)], "k")
    out, total = hl.Func("out"), hl.Func("total")
    total[x, y] = 0.0
    total[x, y] += a[k.x, y] * b[x, k.x]
    out[x, y] = total[x, y]
    return out, total


def sizes(out: hl.Func, *extents: int) -> Sizes:
    return Sizes({out._function: tuple((0, n - 1) for n in extents)})


def plan(out: hl.Func, *extents: int, params: Limits = XEON) -> Plan:
    return Plan([out._function], sizes(out, *extents), params)


def members(made: Plan) -> Mapping[str, set[str]]:
    """The groups: the names of what is computed in the tiles of each output."""

    def name(f: Function) -> str:
        return f.name.split("$")[0]

    return {
        name(g.output): {name(f) for f in g.members}
        for g in made.grouping.groups.values()
    }


# Section 4.1.


def test_reuse_of_figure_5() -> None:
    out, _ = blur()
    graph = Graph.of([out._function])
    model = Model(graph, Regions(graph, sizes(out, 300, 200)))
    (stage,) = graph.stages[out._function]
    through = model.overlap(stage, (), outside=True)
    # Column after column nothing of blur_x is needed again; row after row, two of the
    # three rows are.
    assert list(through) == [0.0, 2.0]
    # Of the input behind it, two of three columns are, and two of three rows.
    both = model.reuse(stage)
    assert both[0] == pytest.approx(2 * (200 + 2) / 200)
    assert both[1] == pytest.approx(2 + 2 * (300 + 2) / 300)


def test_reuse_of_a_product_is_in_all_directions() -> None:
    out, total = product(64)
    graph = Graph.of([out._function])
    model = Model(graph, Regions(graph, sizes(out, 64, 64)))
    stage = graph.stages[total._function][1]
    # Along k the sums, loaded and stored; along x a row of A; along y a column of B.
    assert list(model.reuse(stage)) == [2.0, 1.0, 1.0]


# Sections 4.2 and 4.4.


def test_blur_is_computed_in_tiles() -> None:
    out, blur_x = blur()
    made = plan(out, 3072, 2048)
    assert members(made) == {"out": {"blur_x"}}
    (tiled,) = made.grouping.groups[out._function].stages
    assert tiled.tile is not None
    made.script().apply()
    level = blur_x._function.schedule.compute
    assert level.place is Place.LOOP and level.func is out._function
    lines = [line.strip() for line in hl.Pipeline([out]).loop_nest().splitlines()]
    loops = [line for line in lines if not line.startswith(("out(", "blur_x("))]
    assert [line.split(" ")[0] for line in loops] == [
        "produce",
        *["parallel", "for"],
        *["produce", "for", "for", "vectorized", "consume"],
        *["for", "for", "vectorized"],
    ]


def test_a_product_is_tiled_with_its_reduction() -> None:
    out, total = product(1024)
    made = plan(out, 1024, 1024)
    assert members(made) == {"out": set(), "total": set()}
    first, update = made.grouping.groups[total._function].stages
    assert first.tile is None and update.tile is not None
    assert all(1 < side < 1024 for side in update.tile)
    made.script().apply()
    dims = [d.var.name for d in total._function.updates[0].schedule.dims]
    # Vectors innermost, tiles of the reduction inside those of the result.
    assert dims[0] == "xv" and dims.index("k$x") < dims.index("y")


def test_vectors_of_updates_are_rounded_up_where_that_does_no_harm() -> None:
    for harmless in (True, False):
        source = image()
        edge = hl.BoundaryConditions.repeat_edge(source) if harmless else source
        total, out = hl.Func("total"), hl.Func("out")
        r = hl.RDom([(0, 9)], "r")
        total[x, y] += hl.sqrt(edge[x, y + r.x])
        out[x, y] = total[x - 1, y] + total[x + 1, y] + total[x, y + 1]
        text = plan(out, 1024, 1024).script().to_python()
        assert ("RoundUp" in text) == harmless


def test_sums_of_a_few_vectors_stay_in_registers() -> None:
    filters, pixels = image(2), image(2)
    total, out = hl.Func("total"), hl.Func("out")
    k = hl.RDom([(0, 256)], "k")
    total[c, x] += filters[c, k.x] * pixels[k.x, x]
    out[c, x] = hl.max(total[c, x], 0)
    made = plan(out, 48, 4096)
    assert members(made) == {"out": {"total"}}
    made.script().apply()
    dims = total._function.updates[0].schedule.dims
    # Three vectors; were there more, they would come outside of the reduction.
    assert [d.var.name for d in dims] == ["cv", "cu", "k$x", "c", "x"]


def test_a_tile_fits_into_the_cache_and_leaves_enough_tasks() -> None:
    for params in (XEON, ARM, Limits(16, 64, 32 << 10, 10)):
        out, _ = blur()
        made = plan(out, 1024, 1024, params=params)
        group = made.grouping.groups[out._function]
        (tile,) = [t.tile for t in group.stages]
        assert tile is not None and tile[0] >= 2 * params.vector_width
        (stage,) = made.graph.stages[out._function]
        at = made.model.tiles(stage, np.array([tile]))
        cost = made.model.tile_cost(stage, group.members, at)
        assert cost.footprint <= params.cache_size
        tasks = np.prod([-(-1024 // side) for side in tile])
        assert tasks >= params.parallelism_threshold


def stencil(f: hl.Func, name: str) -> hl.Func:
    """Figure 4: a vertical stencil of three points, too dear to be inlined."""
    made = hl.Func(name)
    made[x, y] = hl.sqrt(f[x, y - 1]) + hl.sqrt(f[x, y]) + hl.sqrt(f[x, y + 1])
    return made


def diamond() -> tuple[hl.Func, dict[str, hl.Func]]:
    """The pipeline of Figure 4: A to B, of which C and D are made, and E of both."""
    source, a, e = image(), hl.Func("A"), hl.Func("E")
    a[x, y] = hl.sqrt(source[x, y]) + source[x, y + 1]
    b = stencil(a, "B")
    left, right = stencil(b, "C"), stencil(b, "D")
    e[x, y] = left[x, y - 1] + left[x, y + 1] + right[x, y - 1] * right[x, y + 1]
    return e, {"A": a, "B": b, "C": left, "D": right}


def test_merges_of_a_diamond() -> None:
    out, funcs = diamond()
    made = plan(out, 1024, 1024)
    groups = made.grouping.__class__(made.model, XEON)
    found = {}
    for name, f in funcs.items():
        at = groups.candidate(f._function)
        found[name] = None if at is None else at[0].output.name.split("$")[0]
    # B is consumed by two groups until C and D are both in that of E.
    assert found == {"A": "B", "B": None, "C": "E", "D": "E"}
    groups.run()
    owners = {n: groups.owner[f._function].name.split("$")[0] for n, f in funcs.items()}
    assert owners["C"] == owners["D"] == "E"


def test_each_merge_pays_and_the_best_comes_first() -> None:
    out, _ = diamond()
    made = plan(out, 1024, 1024)
    assert made.grouping.merges
    assert all(m.benefit > 0 for m in made.grouping.merges)
    assert all(
        m.choices[0].cost == min(o.cost for o in m.choices)
        for m in made.grouping.merges
    )


# Section 4.3.


def test_what_is_cheap_to_recompute_is_inlined() -> None:
    source = image()
    scaled, wide, out = hl.Func("scaled"), hl.Func("wide"), hl.Func("out")
    scaled[x, y] = source[x, y] * 2.0
    wide[x, y] = hl.exp(scaled[x, y]) + hl.exp(scaled[x, y + 1])
    out[x, y] = wide[x, y - 1] + wide[x, y] + wide[x, y + 1]
    made = plan(out, 512, 512)
    assert scaled._function in made.inlines.inlined
    assert wide._function not in made.inlines.inlined


def test_boundary_conditions_are_inlined() -> None:
    data = hl.Buffer(np.zeros((64, 64), np.float32))
    edge = hl.BoundaryConditions.constant_exterior(data, 0.0)
    out = hl.Func("out")
    out[x, y] = edge[x - 1, y] + edge[x + 1, y] + edge[x, y - 1] + edge[x, y + 1]
    made = plan(out, 64, 64)
    assert edge._function in made.inlines.inlined


# Parameters.


def test_the_papers_machines() -> None:
    assert limits("Mullapudi2016", {"machine": "xeon"})[0] == Limits(
        16, 12, 1 << 18, 10
    )
    assert limits("Mullapudi2016", {"machine": "arm"})[0] == Limits(8, 8, 1 << 19, 10)


def test_the_papers_names_go_before_halides() -> None:
    found, _ = limits(
        "Mullapudi2016",
        {"machine": "xeon", "parallelism": "2", "balance": "40", "load_cost": "20"},
    )
    assert found == Limits(16, 4, 1 << 18, 20)
    found, _ = limits(
        "Mullapudi2016",
        {"machine": "xeon", "parallelism": "4", "last_level_cache_size": "65536"},
    )
    assert found == Limits(16, 8, 16384, 10)


def test_the_machine_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HL_NUM_THREADS", "3")
    found, _ = limits("Mullapudi2016", {})
    assert found.parallelism_threshold == 6 and found.load_cost == 10
    here, _ = machine.processor()
    assert found.vector_width == 2 * here.vector_bits // 32


@pytest.mark.parametrize(
    ("second", "shared", "size"),
    [
        (2 << 20, 8 << 20, 1 << 20),
        (512 << 10, 32 << 20, 1 << 20),
        (1 << 20, 0, 1 << 19),
    ],
)
def test_tiles_are_for_the_cache(
    monkeypatch: pytest.MonkeyPatch, second: int, shared: int, size: int
) -> None:
    """Half of the second level, or 1 MiB where the last one has room for it."""
    here, (first, *_) = machine.processor()
    monkeypatch.setattr(machine, "processor", lambda: (here, (first, second, shared)))
    assert limits("Mullapudi2016", {"parallelism": "2"})[0].cache_size == size


def test_other_parameters_are_refused() -> None:
    out, _ = blur()
    with pytest.raises(hl.ScheduleError, match="has no parameter 'cache'"):
        hl.autoschedule(out, [64, 64], scheduler="Mullapudi2016", cache=3)
    with pytest.raises(hl.ScheduleError, match="VECTOR_WIDTH .* is at least 1, not 0"):
        hl.autoschedule(out, [64, 64], scheduler="Mullapudi2016", vector_width=0)


def test_a_choice_of_values_is_no_boundary_condition() -> None:
    data = hl.Buffer(np.zeros((3, 64, 64), np.float32))
    edge = hl.BoundaryConditions.repeat_edge(data)
    chosen, total, out = hl.Func("chosen"), hl.Func("total"), hl.Func("out")
    chosen[x, y, c] = hl.mux(c, [edge[x, y, 0], edge[x, y, 1], edge[x, y, 2], 1.0])
    r = hl.RDom([(-2, 5), (-2, 5)], "r")
    total[x, y, c] += chosen[x + r.x, y + r.y, c]
    out[x, y, c] = total[x, y, c] / total[x, y, 3]
    made = plan(out, 64, 64, 3)
    # One read of four in 25 of them: computed once it is cheaper.
    assert chosen._function not in made.inlines.inlined
    assert edge._function in made.inlines.inlined
