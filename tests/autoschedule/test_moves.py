"""The default scheduler's moves: what changes, what stays, and what it costs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import host
from parhelion.autoschedule.model.frames import rounded_up
from parhelion.autoschedule.model.geometry import Nest, Tiles
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Level, Loops
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.pipeline.work import Copies
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.members import Inside
from parhelion.autoschedule.search.shapes import plain_loops
from parhelion.autoschedule.search.state import INLINE, LEVELS, ROOT, State
from parhelion.ir.function import Function

TILE, ROW, _ = LEVELS


def begin(f: hl.Func, box: list[tuple[int, int]]) -> State:
    """Everything at the root, before anything is searched."""
    out = f._function
    search = Search((out,), Sizes({out: tuple(box)}, {}, {}), host(1), budget=0)
    state = search.run()
    for g in [*state.model.graph.inlined, *state.model.graph.order]:
        if g is not out and state.place(g) != ROOT:
            moved = state.moved(g, ROOT)
            assert moved is not None
            state = moved
    return state


def sobel() -> tuple[hl.Func, dict[str, Function]]:
    """Two derivatives of one smooth Func, and what is made of both."""
    x, y = hl.Var("x"), hl.Var("y")
    names = ("smooth", "across", "down", "both")
    smooth, across, down, both = made = [hl.Func(n) for n in names]
    smooth[x, y] = hl.sqrt(hl.f32(x * y))
    across[x, y] = smooth[x + 1, y] - smooth[x - 1, y]
    down[x, y] = smooth[x, y + 1] - smooth[x, y - 1]
    total = hl.f32(0.0)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            total += across[x + dx, y + dy] * down[x + dx, y + dy]
    both[x, y] = total
    return both, {n: f._function for n, f in zip(names, made, strict=True)}


def together(state: State, funcs: dict[str, Function], *names: str) -> State:
    for n in names:
        moved = state.moved(funcs[n], TILE)
        assert moved is not None
        state = moved
    return state


def test_a_member_changes_its_level_and_the_others_stay() -> None:
    out, funcs = sobel()
    state = together(
        begin(out, [(0, 639), (0, 479)]), funcs, "across", "down", "smooth"
    )
    root = funcs["both"]
    before = state.groups[root].members
    assert set(before) == {funcs[n] for n in ("across", "down", "smooth")}
    moved = state.moved(funcs["across"], ROW)
    assert moved is not None and set(moved.groups) == {root}
    assert moved.groups[root].members == {**before, funcs["across"]: Level.ROW}


def test_a_member_goes_no_further_in_than_its_readers() -> None:
    out, funcs = sobel()
    state = together(
        begin(out, [(0, 639), (0, 479)]), funcs, "across", "down", "smooth"
    )
    assert state.moved(funcs["smooth"], ROW) is None


def test_all_members_slide_together() -> None:
    out, funcs = sobel()
    state = together(
        begin(out, [(0, 639), (0, 479)]), funcs, "across", "down", "smooth"
    )
    root = funcs["both"]
    (other,) = state.slid(root)
    assert set(other.groups[root].members.values()) == {Level.ROW}
    (back,) = other.slid(root)
    assert back.groups[root].members == state.groups[root].members


def test_what_is_inlined_beside_it_leaves_along_with_a_func() -> None:
    out, funcs = sobel()
    state = together(
        begin(out, [(0, 639), (0, 479)]), funcs, "across", "down", "smooth"
    )
    for n in ("across", "down"):
        moved = state.moved(funcs[n], INLINE)
        assert moved is not None
        state = moved
    found = [
        {
            m.name.split("$")[0]: level
            for m, level in s.groups[funcs["both"]].members.items()
        }
        for s in state.restored(funcs["across"])
    ]
    assert {"across": Level.TILE, "down": Level.TILE, "smooth": Level.TILE} in found


@pytest.mark.parametrize("rows", [8, 32])
def test_a_sliding_window_computes_no_row_twice(rows: int) -> None:
    x, y = hl.Var("x"), hl.Var("y")
    first, second = hl.Func("first"), hl.Func("second")
    first[x, y] = hl.sqrt(hl.f32(x * y))
    second[x, y] = first[x, y - 1] + first[x, y] + first[x, y + 1]
    state = begin(second, [(0, 1023), (0, 1023)])
    moved = state.moved(first._function, ROW)
    assert moved is not None
    model, group = moved.model, moved.groups[second._function]
    loops = group.loops[first._function]
    alone = model.computing(first._function, loops, [1024, 1024])
    root = model.computing(
        second._function, group.loops[second._function], [1024, 1024]
    )
    tall = group.tiling.tile[1] or 1024
    begins = 1024 * moved.model.machine.produce
    least = alone * (tall + 2) / tall + root + begins
    assert group.terms["compute"] == pytest.approx(least, rel=0.05)


def test_colours_are_done_together_inside_of_tiles() -> None:
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    mixed, out = hl.Func("mixed"), hl.Func("out")
    heavy = hl.sqrt(hl.f32(x * y)) * hl.sqrt(hl.f32(x + y))
    mixed[x, y, c] = hl.select(c == 0, heavy, hl.select(c == 1, heavy + 1, heavy * 2))
    out[x, y, c] = mixed[x, y - 1, c] + mixed[x, y + 1, c]
    state = begin(out, [(0, 639), (0, 479), (0, 2)])
    moved = state.moved(mixed._function, TILE)
    assert moved is not None
    loops = moved.groups[out._function].loops[mixed._function]
    assert loops.block[2] == 3


def test_a_block_of_colours_takes_what_choices_by_colour_leave() -> None:
    x, c = hl.Var("x"), hl.Var("c")
    f = hl.Func("f")
    one, other = hl.f32(x) * 3.0, hl.sqrt(hl.f32(x))
    f[x, c] = hl.select(c == 0, one, other)
    graph = Graph.of((f._function,), frozenset())
    (stage,) = graph.stages[f._function]
    v = f._function.args[1]
    known = Copies(stage, None, {v: range(2)}).left(1)[0]
    unknown = Copies(stage, v).left(2)[0]
    # Each of the two is computed once, and no choice is left.
    assert known < 0.8 < unknown


def test_a_store_that_data_place_is_a_scatter() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    f = hl.Func("f")
    f[x, y] = 0.0
    r = hl.RDom([(0, 8)])
    f[x, hl.i32(hl.sqrt(hl.f32(x * r.x)))] = 1.0
    f[x, r.x] = hl.sqrt(hl.f32(x * r.x))
    root = f._function
    search = Search((root,), Sizes({root: ((0, 639), (0, 63))}, {}, {}), host(1))
    state = search.run()
    _, scattered, dense = state.model.graph.stages[root]
    loops = state.groups[root].loops[root]
    assert loops.vector == 0
    model = state.model
    apart = loops.lanes * search.machine.lane
    assert model.speed(scattered, loops).block > model.speed(dense, loops).block + apart


def test_a_row_inside_of_a_batch_does_one_image_at_a_time() -> None:
    c, x, y, n = hl.Var("c"), hl.Var("x"), hl.Var("y"), hl.Var("n")
    edge, out = hl.Func("edge"), hl.Func("out")
    edge[c, x, y, n] = hl.select(n == 0, 0.5, hl.sqrt(hl.f32(c * x + y)))
    out[c, x, y, n] = edge[c, x, y, n] + edge[c, x + 1, y, n] + edge[c, x + 2, y, n]
    state = begin(out, [(0, 63), (0, 99), (0, 49), (0, 3)])
    f, root = edge._function, out._function
    for order, images in (((0, 2, 1, 3), 1), ((0, 3, 1, 2), 4)):
        own = Loops(0, 16, (16, 1, 1, 1), order)
        inside = Inside(state.model, root, own, [root, f], {})
        assert inside.loops(f, Level.ROW).block[3] == images


def far_bytes(again: bool) -> float:
    """Of four stages, 256 KB each in a tile, and what is made of the last of them; or
    of the first `again` as well."""
    x, y = hl.Var("x"), hl.Var("y")
    funcs = [hl.Func(f"stage_{k}") for k in range(4)]
    out = hl.Func("out")
    funcs[0][x, y] = hl.sqrt(hl.f32(x * y))
    for before, f in itertools.pairwise(funcs):
        f[x, y] = hl.sqrt(before[x, y])
    out[x, y] = funcs[-1][x, y] + (funcs[0][x, y] if again else 0.0)
    state = begin(out, [(0, 2047), (0, 2047)])
    small = replace(host(1), l2=1 << 20)
    model = Model(state.model.graph, state.model.regions, small)
    members = {f._function: Level.TILE for f in reversed(funcs)}
    root = out._function
    plain = plain_loops(model, root, [2048, 2048])
    loops = dict.fromkeys([root, *members], plain)
    tiles = Tiles((np.array([2048]), np.array([32])), (0, 1), 1)
    (far,) = model.group(root, members, loops, tiles).terms["far bytes"]
    return float(far)


def test_what_is_read_no_more_needs_no_cache() -> None:
    assert far_bytes(again=False) == 0
    assert far_bytes(again=True) == 2 * 4 * 2048 * 2048


def test_what_a_root_needs_is_the_same_after_other_groups_of_it() -> None:
    out, funcs = sobel()
    model = begin(out, [(0, 1023), (0, 1023)]).model
    regions, root = model.regions, funcs["both"]
    sizes = np.array([64, 1024, 1024]), np.array([32, 16, 1024])
    nest = Nest(
        regions, root, plain_loops(model, root, [1024, 1024]), Tiles(sizes, (0, 1), 1)
    )
    groups = ("", "down", "across down", "across down smooth", "across", "down smooth")
    for names in (*groups, *groups):
        members = [funcs[n] for n in names.split()]
        found = nest.needs(regions, members)
        wanted = regions.needed((root, *members), {root: nest.spans})
        assert list(found) == list(wanted)
        for source, spans in wanted.items():
            np.testing.assert_array_equal(found[source].spans, spans)


def test_of_a_small_box_a_whole_block_is_stored() -> None:
    loops = Loops(0, 16, (64, 1, 3), (2, 0, 1), local=False)
    box = [
        np.array([308.0, 64.0, 16.0]),
        np.array([5.0] * 3),
        np.array([3.0, 1.0, 6.0]),
    ]
    assert list(rounded_up(box, loops)) == [1, 3, 4]


@pytest.mark.parametrize(("extent", "needed"), [(14, 6), (16, 6), (96, 6)])
def test_a_block_in_the_middle_of_few_is_at_no_edge(extent: int, needed: int) -> None:
    """Of what only a border needs, blocks in the middle need as much as they have."""
    x, y = hl.Var("x"), hl.Var("y")
    inner, padded = hl.Func("inner"), hl.Func("padded")
    inner[x, y] = hl.sqrt(hl.f32(x * y))
    padded[x, y] = hl.select((x < 1) | (x > extent), 0.0, inner[x - 1, y])
    state = begin(padded, [(0, extent + 1), (0, 15)])
    f, root = inner._function, padded._function
    own = Loops(1, 16, (6, 16), (0, 1), local=False)
    inside = Inside(state.model, root, own, [root, f], {})
    assert inside._box(f, 0)[0] == needed
    sizes = np.array([extent + 2]), np.array([16])
    nest = Nest(state.model.regions, root, own, Tiles(sizes, (), 0))
    assert nest.needs(state.model.regions, [f])[f].box[0, 0, 0] == needed


def gradients() -> tuple[hl.Func, dict[str, Function]]:
    """Products of two derivatives, summed over nine neighbours, as for corners."""
    x, y = hl.Var("x"), hl.Var("y")
    names = ("across", "down", "xx", "xy", "yy", "corners")
    across, down, xx, xy, yy, corners = made = [hl.Func(n) for n in names]
    smooth = hl.Func("smooth")
    smooth[x, y] = hl.sqrt(hl.f32(x * y))
    across[x, y] = smooth[x + 1, y] - smooth[x - 1, y]
    down[x, y] = smooth[x, y + 1] - smooth[x, y - 1]
    xx[x, y] = across[x, y] * across[x, y]
    xy[x, y] = across[x, y] * down[x, y]
    yy[x, y] = down[x, y] * down[x, y]

    def total(f: hl.Func) -> hl.Expr | hl.FuncRef:
        around = itertools.product((-1, 0, 1), repeat=2)
        return sum([f[x + dx, y + dy] for dx, dy in around], hl.f32(0.0))

    corners[x, y] = total(xx) * total(yy) - total(xy) * total(xy)
    funcs = {n: f._function for n, f in zip(names, made, strict=True)}
    return corners, {**funcs, "smooth": smooth._function}


def kept_products() -> tuple[State, dict[str, Function]]:
    """The state that keeps the products, and computes the derivatives in them."""
    out, funcs = gradients()
    state = begin(out, [(1, 640), (1, 480)])
    for n in ("across", "down"):
        moved = state.moved(funcs[n], INLINE)
        assert moved is not None
        state = moved
    return together(state, funcs, "xx", "xy", "yy", "smooth"), funcs


def test_derivatives_are_kept_instead_of_their_products() -> None:
    state, funcs = kept_products()
    root = funcs["corners"]
    wanted = {funcs[n] for n in ("across", "down", "smooth")}
    found = [s for s in state.restored(funcs["across"]) if root in s.groups]
    assert any(set(s.groups[root].members) == wanted for s in found)
    # Each product is computed wherever it is used, of numbers that are there.
    swapped = next(s for s in found if set(s.groups[root].members) == wanted)
    inlined = swapped.model.graph.inlined
    assert {funcs[n] for n in ("xx", "xy", "yy")} <= inlined
    # What reads several points of it is not computed anew for it.
    again = swapped.moved(funcs["smooth"], INLINE)
    assert again is not None
    for s in again.restored(funcs["smooth"]):
        assert wanted <= {f for g in s.groups.values() for f in (g.root, *g.members)}
