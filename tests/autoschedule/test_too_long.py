"""Schedulers do not inline what multiplies the code."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine import machine
from parhelion.autoschedule.pipeline.graph import (
    MOST_ADDED,
    Graph,
    TooLong,
    size_of,
    written_in,
)
from tests.support.machines import PROCESSORS

x = hl.Var("x")


def halvings(levels: int) -> tuple[hl.ImageParam, hl.Func]:
    """Each level is read at two places, so that inlined ones double the code."""
    inp = hl.ImageParam(hl.Float(32), 1, "inp")
    f = hl.Func("level0")
    f[x] = inp[x] * 0.5
    for k in range(1, levels):
        g = hl.Func(f"level{k}")
        g[x] = f[2 * x] + hl.min(f[2 * x + 1], f[2 * x])
        f = g
    return inp, f


def test_a_graph_with_too_much_inlined_is_refused() -> None:
    _, out = halvings(14)
    whole = Graph.of((out._function,))
    others = frozenset(whole.whole) - {out._function}
    with pytest.raises(TooLong, match="comes to .* more than") as error:
        Graph.of((out._function,), others)
    assert error.value.at is not None


@pytest.mark.parametrize("scheduler", ["Parhelion", "Mullapudi2016"])
def test_what_is_chosen_is_not_too_long(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # For registers like those here: of vectors that are twice as wide LLVM makes code
    # for minutes, as each lane of 512 loads is one by itself.
    wide = hl.get_host_target().natural_vector_size(hl.UInt(8)) >= 64
    there = PROCESSORS["znver5" if wide else "znver3"]
    monkeypatch.setattr(machine, "processor", lambda: there)
    levels, width = 14, 3
    inp, out = halvings(levels)
    inp.set_estimates([(0, 64 << levels)])
    out.set_estimates([(0, 64)])
    params = hl.AutoschedulerParams(scheduler, {"parallelism": "1"})
    result = hl.Pipeline([out]).apply_autoscheduler(hl.get_host_target(), params)
    text = result.to_python()
    functions = Graph.of((out._function,)).whole
    kept = {f for f in functions if f"{f.name.split('$')[0]}.compute" in text}
    inlined = frozenset(functions) - kept - {out._function}
    graph = Graph.of((out._function,), inlined)
    most = written_in(functions) + MOST_ADDED
    for stages in graph.stages.values():
        for s in stages:
            assert size_of((*s.args, *s.values)) <= most
    values = np.random.default_rng(3).random(width << (levels - 1), np.float32)
    inp.set(values)
    wanted = values * np.float32(0.5)
    for _ in range(1, levels):
        wanted = wanted[::2] + np.minimum(wanted[1::2], wanted[::2])
    got = np.asarray(out.realize([width]))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_what_is_put_together_at_once_is_not_longer_than_what_was_weighed() -> None:
    """Four generations of the game of life, of an image that repeats itself."""
    y = hl.Var("y")
    f = hl.BoundaryConditions.repeat_image(hl.Buffer(np.ones((1, 1), np.uint8)))
    near = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    for k in range(4):
        alive = sum([f[x + i, y + j] for i, j in near], hl.u8(0))
        stays = (alive == 3) | ((alive == 2) & (f[x, y] == 1))
        f = hl.Func(f"generation{k}")
        f[x, y] = hl.select(stays, hl.u8(1), hl.u8(0))
    made = hl.autoschedule(f, [1, 1], scheduler="Mullapudi2016")
    said = [d.chosen.label for d in made.decisions]
    assert "inlined" in said and "not inlined" in said
