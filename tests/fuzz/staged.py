"""Random kernels whose stages share values over a block, on the simulator.

    python -m tests.fuzz.staged --cases 2000 --seed 1

A stage is computed at the level of a block, by the threads of its consumer or others,
perhaps summed up over tiles of a reduction that are loaded into shared memory; the
consumer reads it at the same place, beside it, or transposed. So it is in registers or
in shared memory, whichever the compiler finds, in rows that it may pad. The simulator
checks for races, and results are compared with the interpreter's bit for bit.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.interp import interpret
from tests.fuzz.numbered import run

_TYPES = (hl.Float(32), hl.Int(32), hl.Int(16), hl.UInt(8))
_MEMORIES = (None, None, None, hl.MemoryType.Register, hl.MemoryType.GPUShared)
_TAILS = (hl.TailStrategy.Auto, hl.TailStrategy.Auto, hl.TailStrategy.GuardWithIf)


@dataclass(frozen=True)
class Axis:
    """One dimension of a block: its threads, how many elements each has, whether these
    lie beside each other or as far apart as there are threads, and whether they are a
    vector."""

    threads: int
    each: int
    beside: bool
    vector: bool

    @property
    def tile(self) -> int:
        return self.threads * self.each


@dataclass(frozen=True)
class Drawn:
    """A kernel. reads: offsets of the consumer's reads. own: whether the producer has
    loops over threads as the consumer has. depth: of the reduction, 0 for none; chunk:
    of it at once. lanes: whether dimension x is over the lanes of a warp."""

    kind: int
    size: tuple[int, int]
    x: Axis
    y: Axis
    reads: tuple[tuple[int, int], ...]
    transposed: bool
    own: bool
    depth: int
    chunk: int
    memory: int
    tail: int
    lanes: bool


def draw_lanes(rng: random.Random) -> Drawn:
    """A stage that lanes of a warp read from each other, along lines of a block."""
    threads = rng.choice((8, 16, 32))
    across = Axis(threads, rng.choice((1, 1, 2)), False, False)
    down = Axis(32 // threads * rng.choice((1, 2)), rng.choice((1, 2)), False, False)
    reads = [(rng.randrange(-2, 3), 0) for _ in range(rng.choice((1, 2, 3)))]
    more = random.Random(f"lines of {rng.getstate()}")
    if more.random() < 0.3:
        reads = [(dx, more.choice((0, 0, 1, 1, 2))) for dx, _ in reads]
    size = (across.tile * rng.choice((1, 2)), down.tile * rng.choice((1, 2)))
    return Drawn(
        rng.randrange(len(_TYPES)),
        (size[0] + rng.choice((0, 0, 0, 3)), size[1]),
        across,
        down,
        tuple(reads),
        False,
        True,
        0,
        4,
        0,
        rng.randrange(len(_TAILS)),
        True,
    )


def draw(rng: random.Random) -> Drawn:
    if rng.random() < 0.15:
        return draw_lanes(rng)
    lanes = rng.random() < 0.25
    across = Axis(
        rng.choice((8, 16, 32)) if lanes else rng.choice((1, 3, 4, 8, 16, 32)),
        rng.choice((1, 1, 2, 4)),
        rng.random() < 0.5,
        rng.random() < 0.5,
    )
    down = Axis(
        rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 3)), rng.random() < 0.5, False
    )
    reads = [(0, 0)]
    while rng.random() < 0.4:
        reads.append((rng.randrange(-2, 3), rng.choice((0, 0, 0, 1))))
    depth = rng.choice((0, 0, 5, 8, 19))
    return Drawn(
        rng.randrange(len(_TYPES)),
        (
            across.tile * rng.choice((1, 2)) + rng.choice((0, 0, 1, 5)),
            down.tile * rng.choice((1, 2, 3)) + rng.choice((0, 0, 1)),
        ),
        across,
        down,
        tuple(reads[-rng.choice((1, 3)) :]),
        rng.random() < 0.2,
        rng.random() < 0.8,
        depth,
        rng.choice((4, 8)),
        rng.randrange(len(_MEMORIES)),
        rng.randrange(len(_TAILS)),
        lanes,
    )


def algorithm(c: Drawn) -> dict[str, Any]:
    x, y = hl.vars("x y")
    rng = np.random.default_rng(c.size[0])
    kind = _TYPES[c.kind]
    array = rng.integers(0, 12, (c.size[1] + 40, c.size[0] + 40)).astype(
        kind.to_numpy()
    )
    source = hl.BoundaryConditions.repeat_edge(hl.Buffer(array))
    f, g, left, right = (hl.Func(n) for n in ("f", "g", "left", "right"))
    f[x, y] = hl.cast(kind, source[x, y] * 2)
    left[x, y], right[x, y] = source[x, y], source[x + 1, y]
    k = hl.RDom([(0, max(c.depth, 1))], "k")
    if c.depth:
        f[x, y] += hl.cast(kind, left[k.x, y] * right[x, k.x])
    total = hl.cast(kind, 1)
    for n, (dx, dy) in enumerate(c.reads):
        at = (y + dx, x + dy) if c.transposed else (x + dx, y + dy)
        total = hl.cast(kind, total + f[at] * (n + 1))
    g[x, y] = total
    return {"f": f, "g": g, "left": left, "right": right, "k": k}


class Threads:
    """Gives loops of a stage over a tile to the threads of a block."""

    def __init__(self, c: Drawn) -> None:
        self.c, self.names = c, 0

    def new(self) -> hl.Var:
        self.names += 1
        return hl.Var(f"v{self.names}")

    def split(self, stage: Any, loop: hl.Var, axis: Axis, tail: Any) -> tuple[Any, Any]:
        """The loop over threads, and the one over the elements of each."""
        a, b = self.new(), self.new()
        if axis.beside:
            stage.split(loop, a, b, axis.each, tail)
            return a, b
        stage.split(loop, a, b, axis.threads, tail)
        return b, a

    def give(
        self,
        stage: Any,
        x: hl.Var,
        y: hl.Var,
        tail: Any,
        inner: list[Any],
        outer: list[Any],
    ) -> None:
        tx, ex = self.split(stage, x, self.c.x, tail)
        ty, ey = self.split(stage, y, self.c.y, tail)
        stage.reorder(ex, ey, *inner, tx, ty, *outer)
        if self.c.x.vector and self.c.x.each > 1:
            stage.vectorize(ex, self.c.x.each)
        stage.unroll(ex).unroll(ey) if not self.c.x.vector else stage.unroll(ey)
        if self.c.lanes:
            stage.gpu_lanes(tx).gpu_threads(ty)
        else:
            stage.gpu_threads(tx, ty)


def schedule(c: Drawn, made: dict[str, Any]) -> None:
    x, y, xi, yi = hl.vars("x y xi yi")
    ko, ki = hl.RVar("ko"), hl.RVar("ki")
    f, g, threads = made["f"], made["g"], Threads(c)
    tail, auto = _TAILS[c.tail], hl.TailStrategy.Auto
    g.tile(x, y, xi, yi, c.x.tile, c.y.tile, tail)
    threads.give(g, xi, yi, auto, [], [x, y])
    g.gpu_blocks(x, y)
    f.compute_at(g, x)
    memory = _MEMORIES[c.memory]
    if memory is not None:
        f.store_in(memory)
    if c.own:
        # Lanes that are shifted inwards would store elements twice.
        threads.give(f, x, y, hl.TailStrategy.GuardWithIf if c.lanes else auto, [], [])
    else:
        f.gpu_threads(x, y)
    if c.depth:
        update = f.update(0)
        update.split(made["k"].x, ko, ki, c.chunk)
        threads.give(update, x, y, auto, [ki], [ko])
        for stage in (made["left"], made["right"]):
            stage.compute_at(f, ko).gpu_threads(x, y)


#: How many cases have had storage in registers, and how many were clean.
GIVEN: Counter[str] = Counter()


def difference(c: Drawn, device: str = "simulate") -> str:
    """What is wrong about a case; empty if nothing is."""
    os.environ["PARHELION_GPU"] = device
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = algorithm(c)
        try:
            schedule(c, made)
            got = np.asarray(made["g"].realize(list(c.size)))
        except hl.ScheduleError as error:
            GIVEN[str(error).splitlines()[0].split(", ")[-1]] += 1
            return ""
        except hl.BoundsError as error:
            return "" if "too small" in str(error) else str(error)
    wanted = interpret(made["g"]._function, [(0, n) for n in c.size])[0].T
    GIVEN["clean"] += 1
    if np.array_equal(got, wanted):
        return ""
    wrong = np.argwhere(got != wanted)
    at = tuple(wrong[0])
    return f"{len(wrong)} pixels differ, first {at}: {got[at]}, not {wanted[at]}"


if __name__ == "__main__":
    sys.exit(run(__doc__, draw, difference))
