"""The search needs one start, and comes to about the same with another budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Level
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.state import State

MACHINE = Machine(1, 64, 32, 48 << 10, 2 << 20, 32 << 20)
WIDTH, HEIGHT = 2048, 1536
x, y = hl.Var("x"), hl.Var("y")
Picture = Callable[[hl.ExprLike, hl.ExprLike], hl.Expr | hl.FuncRef]


def windowed(f: Picture, reach: int) -> hl.Func:
    """The mean of a square around each pixel, one dimension after the other."""
    across, down = hl.Func("across"), hl.Func("down")
    taps = range(-reach, reach + 1)
    across[x, y] = sum([f(x + k, y) for k in taps[1:]], f(x + taps[0], y))
    down[x, y] = sum([across[x, y + k] for k in taps[1:]], across[x, y + taps[0]])
    out = hl.Func("mean")
    out[x, y] = down[x, y] * (1.0 / len(taps) ** 2)
    return out


def picture() -> hl.Func:
    pixels = hl.Buffer(np.zeros((HEIGHT, WIDTH), np.float32))
    return hl.BoundaryConditions.repeat_edge(pixels)


def guided() -> hl.Func:
    """A guided filter: means of products of two pictures, and means of what is made of
    these."""
    g, p = picture(), picture()
    mg = windowed(lambda a, b: g[a, b], 4)
    mp = windowed(lambda a, b: p[a, b], 4)
    gg = windowed(lambda a, b: g[a, b] * g[a, b], 4)
    gp = windowed(lambda a, b: g[a, b] * p[a, b], 4)
    slope, level, out = hl.Func("slope"), hl.Func("level"), hl.Func("out")
    slope[x, y] = (gp[x, y] - mg[x, y] * mp[x, y]) / (
        gg[x, y] - mg[x, y] * mg[x, y] + 0.01
    )
    level[x, y] = mp[x, y] - slope[x, y] * mg[x, y]
    slopes = windowed(lambda a, b: slope[a, b], 4)
    levels = windowed(lambda a, b: level[a, b], 4)
    out[x, y] = slopes[x, y] * g[x, y] + levels[x, y]
    return out


def sharpened() -> hl.Func:
    f = picture()
    small = windowed(lambda a, b: f[a, b], 1)
    large = windowed(lambda a, b: small[a, b], 3)
    out = hl.Func("out")
    out[x, y] = 2.0 * small[x, y] - large[x, y]
    return out


def iterated() -> hl.Func:
    f = picture()
    for k in range(6):
        g = hl.Func(f"step{k}")
        g[x, y] = 0.6 * f[x, y] + 0.1 * (
            f[x - 1, y] + f[x + 1, y] + f[x, y - 1] + f[x, y + 1]
        )
        f = g
    return f


def search_of(out: hl.Func, budget: int | None = None) -> Search:
    f = out._function
    box = ((0, WIDTH - 1), (0, HEIGHT - 1))
    return Search((f,), Sizes({f: box}, {}, {}), MACHINE, budget=budget)


def starts(search: Search) -> Sequence[State]:
    """Every Func by itself; all in the loops of their readers, per tile and per row."""
    model = search.inline_cheap(Model(*search.bounded(), MACHINE))
    apart = State(search, model, {})
    for f in model.graph.order:
        apart.groups[f] = search.group(model, f, {})
    return [apart.merged(), *[apart.together(lv) for lv in (Level.TILE, Level.ROW)]]


@pytest.mark.parametrize("make", [guided, sharpened, iterated])
def test_single_changes_lead_as_far_as_other_starts(
    make: Callable[[], hl.Func],
) -> None:
    search = search_of(make(), budget=10_000)
    first, *others = [search.descended(s) for s in starts(search)]
    best = min(s.cost for s in others)
    assert first.cost < 1.03 * best
    assert search_of(make()).run().cost < 1.03 * best


@pytest.mark.parametrize("make", [guided, sharpened, iterated])
def test_a_fifth_more_or_less_of_the_budget_changes_nothing(
    make: Callable[[], hl.Func],
) -> None:
    out = make()
    usual = search_of(out)
    found = usual.run()
    assert usual.budget is not None
    for budget in (usual.budget * 4 // 5, usual.budget * 6 // 5):
        other = search_of(out, budget).run()
        assert other.cost == pytest.approx(found.cost, rel=0.05)
    assert usual.evaluations < usual.budget
