"""Random reads of a texture, near its edges and beyond, on the simulator.

    python -m tests.fuzz.textures --cases 500 --seed 1

A Func of one to three dimensions is stored in a texture; another one reads it at
coordinates that are clamped on one side or on both, in either order, with constants
added within and without, or of a table, and, where they are beyond other limits, takes
0. Splits have all tails; the result begins anywhere. Results are compared bit for bit.
"""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass

import numpy as np

import parhelion as hl
from parhelion.interp import interpret
from tests.fuzz.numbered import run

_TAILS = (
    *(hl.TailStrategy.Auto,) * 4,
    *(hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards),
    hl.TailStrategy.RoundUp,
)
_TYPES = [hl.Int(8), hl.UInt(8), hl.Int(16), hl.UInt(16), hl.Int(32), hl.Float(32)]


@dataclass(frozen=True)
class Drawn:
    """What all is drawn from."""

    seed: int


def draw(rng: random.Random) -> Drawn:
    return Drawn(rng.randrange(1 << 30))


class Program:
    """The pipeline of a case. size, corner: of the result."""

    def __init__(self, drawn: Drawn) -> None:
        self.rng = rng = random.Random(drawn.seed)
        self.vars = hl.vars("x y z")[: rng.randint(1, 3)]
        self.f, self.g = hl.funcs("f g")
        most = (40, 24, 3)
        self.size = [rng.randint(1, n) for n in most[: len(self.vars)]]
        self.corner = [rng.choice((0, 0, rng.randint(-30, 30))) for _ in self.vars]
        self.limits = [self.limit(d) for d in range(len(self.vars))]
        wild = np.random.default_rng(drawn.seed).integers(-(1 << 31), 1 << 31, 64)
        self.table = hl.Buffer(wild.astype(np.int32))
        x, *others = self.vars
        value = x * 7 + 1000
        for k, v in enumerate(others):
            value = value + v * (100 * k + 13)
        self.t = rng.choice(_TYPES)
        self.f[self.vars] = hl.cast(self.t, value)
        total = self.read()
        for _ in range(rng.randint(0, 3)):
            total = total * 3 + self.read()
        self.g[self.vars] = total

    def limit(self, d: int) -> tuple[int, int]:
        low = self.corner[d] + self.rng.randint(-6, 6)
        return low, low + self.rng.choice((0, 1, 5, 20, 40))

    def coordinate(self, d: int) -> hl.Expr:
        rng = self.rng
        low, high = self.limits[d] if rng.random() < 0.7 else self.limit(d)
        e = self.vars[d] + rng.randint(-3, 3)
        kind = rng.randrange(9)
        if kind == 8:
            e = self.table[(self.vars[d] * 5 + rng.randint(0, 9)) % 64]
            kind = rng.choice((2, 3))
        within = rng.choice((0, 0, rng.randint(-4, 4)))
        if kind < 2:
            return e
        if kind == 2:
            return hl.clamp(e, low, high) + within
        if kind == 3:
            return hl.max(hl.min(e, high), low) + within
        if kind == 4:
            return hl.max(e, low) + within
        if kind == 5:
            return hl.min(e, high) + within
        if kind == 6:
            return hl.clamp(hl.likely(e), low, high)
        return hl.min(hl.max(e, low), high) + within

    def read(self) -> hl.Expr:
        rng = self.rng
        at = [self.coordinate(d) for d in range(len(self.vars))]
        if rng.random() < 0.6:
            return hl.i32(self.f[at])
        beyond: hl.Expr | None = None
        for d, v in enumerate(self.vars):
            if rng.random() < 0.25:
                continue
            low, high = self.limits[d]
            e = v + rng.randint(-3, 3)
            inset = rng.choice((0, 0, 0, 1, -1, 7))
            at[d] = hl.clamp(e, low, high)
            sides = [
                rng.choice((e < low + inset, e <= low + inset - 1)),
                rng.choice((e > high - inset, e >= high - inset + 1)),
            ]
            for side in sides[: rng.choice((1, 2, 2, 2))]:
                beyond = side if beyond is None else beyond | side
        value = self.f[at]
        if beyond is None:
            return hl.i32(value)
        wanted = hl.cast(self.t, rng.choice((0, 0, 0, 1)))
        inside = hl.likely(value) if rng.random() < 0.8 else value
        return hl.i32(hl.select(beyond, wanted, inside))

    def schedule(self) -> None:
        rng = self.rng
        self.f.compute_root().store_in(hl.MemoryType.GPUTexture)
        if len(self.vars) > 1 and rng.random() < 0.3:
            order = list(self.vars)
            rng.shuffle(order)
            self.f.reorder_storage(order)
        for func in (self.f, self.g):
            some = self.vars[:2]
            inner = hl.vars("i j")[: len(some)]
            tail = rng.choice(_TAILS)
            if func is self.g and tail is hl.TailStrategy.RoundUp:
                tail = hl.TailStrategy.Auto
            if rng.random() < 0.2:
                v = hl.Var("v")
                func.split(self.vars[0], self.vars[0], v, 4, tail).vectorize(v)
            sizes = [rng.choice((2, 4, 8, 16)) for _ in some]
            func.gpu_tile(*some, *inner, *sizes, tail)


def difference(drawn: Drawn, device: str = "simulate") -> str:
    """What is wrong about a case; empty if nothing is. device: what its kernels are
    made for, by the name that PARHELION_GPU has."""
    os.environ["PARHELION_GPU"] = device
    program = Program(drawn)
    program.schedule()
    wanted = interpret(
        program.g._function,
        [(c, n) for c, n in zip(program.corner, program.size, strict=True)],
    )[0]
    out = hl.Buffer(hl.Int(32), program.size)
    out.set_min(program.corner)
    try:
        program.g.realize(out)
    except hl.BoundsError as error:
        # The result is smaller than a tile whose tail is shifted.
        return "" if "output" in str(error) else str(error)
    got = np.asarray(out).T
    if np.array_equal(got, wanted):
        return ""
    where = tuple(np.argwhere(got != wanted)[0])
    return f"{got[where]} at {where}, not {wanted[where]}"


if __name__ == "__main__":
    sys.exit(run(__doc__, draw, difference))
