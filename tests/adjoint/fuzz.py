"""Random pipelines of floats, whose gradients are compared with finite differences.

    python -m tests.adjoint.fuzz --cases 300 --seed 1

Each Func reads the ones before it, or the image, at random places: shifted, clamped,
scaled, mirrored, or told by a table. Some have updates: sums, scans, folds, single
places. Sizes are small, and values kept in the range where all is smooth.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import numpy as np

import parhelion as hl
from tests.adjoint.differences import check

x, y = hl.Var("x"), hl.Var("y")
#: Extents of the image and of the output.
INPUT, OUTPUT = (6, 5), (4, 3)


class Drawing:
    """One random pipeline, drawn anew from a seed each time that it is built."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def build(self, image: Any) -> hl.Func:
        self.random = random.Random(self.seed)
        self.table = hl.Buffer(
            np.array([self.random.randrange(5) for _ in range(8)], np.int32)
        )
        kinds = ("repeat_edge", "mirror_image", "repeat_image", "constant_exterior")
        kind = self.random.choice(kinds)
        more = (0.5,) if kind == "constant_exterior" else ()
        edge = getattr(hl.BoundaryConditions, kind)(image, *more)
        funcs = [edge]
        for _ in range(self.random.randint(1, 3)):
            funcs.append(self.func(funcs))
        out = hl.Func("out")
        out[x, y] = self.value(funcs[-1:], x, y, 1) + self.value(funcs, x, y, 1)
        return out

    def func(self, funcs: list[Any]) -> hl.Func:
        f = hl.Func("f")
        f[x, y] = self.value(funcs, x, y, 2)
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            self.update(f, funcs)
        return f

    def place(self, i: Any) -> Any:
        """A coordinate near `i`."""
        draw = self.random.randrange(10)
        k = self.random.randint(-2, 2)
        if draw < 4:
            return i + k
        if draw == 4:
            return hl.clamp(i + k, 0, 3)
        if draw == 5:
            return 2 * i + k
        if draw == 6:
            return 3 - i + k
        if draw == 7:
            return (i + k) / 2
        if draw == 8:
            return hl.select(i < 2, i + 1, 2 * i - 3)
        return hl.clamp(self.table[hl.clamp(i, 0, 7)] + k, -1, 4)

    def read(self, funcs: list[Any], i: Any, j: Any) -> Any:
        f = self.random.choice(funcs)
        a, b = (i, j) if self.random.random() < 0.8 else (j, i)
        return f[self.place(a), self.place(b)]

    def value(self, funcs: list[Any], i: Any, j: Any, depth: int) -> Any:
        if depth == 0:
            return self.read(funcs, i, j)
        a, b = (self.value(funcs, i, j, depth - 1) for _ in range(2))
        return self.combined(a, b)

    def combined(self, a: Any, b: Any) -> Any:
        k = self.random.uniform(-1, 1)
        return self.random.choice(
            (
                lambda: a + b * k,
                lambda: a * b,
                lambda: hl.sin(a) + b * 0.5,
                lambda: hl.tanh(a * b),
                lambda: a / (b * b + 1.5),
                lambda: hl.max(a, b * k),
                lambda: hl.min(a, b) * k,
                lambda: hl.select(a > b * k, a, b),
                lambda: hl.abs(a) - b,
                lambda: hl.sqrt(a * a + 1.0) * k + b,
                lambda: hl.exp(hl.min(a, 1.0)) * 0.3 + b,
                lambda: hl.cast(hl.Float(64), x) * a + b,
            )
        )()

    def update(self, f: hl.Func, funcs: list[Any]) -> None:
        r = hl.RDom([(0, self.random.randint(2, 3))])
        if self.random.random() < 0.3:
            r.where(r % 2 == 0)
        k = self.random.uniform(-0.8, 0.8)
        e = self.read(funcs, x + r, y)
        here = self.read(funcs, r, y)
        place = hl.clamp(self.table[r] - 1, 0, 3)
        draw = self.random.randrange(11)
        if draw == 0:
            f[x, y] += e * k
        elif draw == 1:
            f[r, y] += here * k
        elif draw == 2:
            f[place, y] += here * here
        elif draw == 3:
            f[r + 1, y] = f[r, y] * k + here
        elif draw == 4:
            f[3 - r, y] = hl.tanh(f[4 - r, y]) * k + f[3 - r, y] * here
        elif draw == 5:
            f[x, y] = hl.max(f[x, y], e * k)
        elif draw == 6:
            f[x, y] = f[x, y] * (e * 0.3 + 1.0)
        elif draw == 7:
            f[place, y] = here
        elif draw == 8:
            f[1, y] = f[1, y] * f[2, y] + self.read(funcs, 1, y)
        elif draw == 9:
            f[x, y] = hl.sin(f[x, y]) + self.read(funcs, x, y)
        else:
            f[r, y] = hl.min(f[r, y], here)


def try_one(seed: int) -> None:
    """Raises AssertionError, with the seed, where a gradient is wrong."""
    try:
        check(Drawing(seed).build, INPUT, OUTPUT, seed=seed, tolerance=1e-4)
    except AssertionError as error:
        raise AssertionError(f"python -m tests.adjoint.fuzz --only {seed}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the seed of one case")
    given = parser.parse_args()
    if given.only is not None:
        try_one(given.only)
        return
    for n in range(given.cases):
        try_one(given.seed * 1_000_000 + n)
    print(f"{given.cases} gradients are those of finite differences")


if __name__ == "__main__":
    main()
