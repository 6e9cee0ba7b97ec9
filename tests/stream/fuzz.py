"""Random pipelines over videos, as streams and on all frames at once.

``python -m tests.stream.fuzz [--seconds N] [--seed S]`` draws until the time is over.
The interpreter says what a video becomes; the stream must give the same, whatever its
schedule, queue and length, and compute no frame of a Func that it keeps twice.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.interp import interpret_all

x, y, t = hl.vars("x y t")
WIDTH, HEIGHT = 9, 5
_BORDERS = ("repeat_edge", "mirror_image", "mirror_interior", "constant_exterior")
_TYPES = (hl.UInt(8), hl.UInt(16), hl.Int(32), hl.Float(32))


class Drawn:
    """A pipeline. text: its Funcs in words. directives: its schedule."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        self.text: list[str] = []
        self.readers: dict[str, set[str]] = {}
        self.type = draw.choice(_TYPES)
        self.image = hl.ImageParam(self.type, 3, "video")
        self.param = hl.Param(hl.Int(32), f"level{seed}", value=draw.randint(0, 3))
        #: Funcs of Int(32) that may be read anywhere.
        self.funcs: list[hl.Func] = []
        for _ in range(draw.randint(1, 2)):
            self.funcs.append(self._border(self.image, None))
        for n in range(draw.randint(1, 5)):
            self.funcs.append(self._func(n))
        self.output = self._func(99)
        self.frames = draw.choice((1, 2, 3, 5, 8, 13))
        self.queue = draw.choice((0, 0, 1, 2, 5))
        for f in self.funcs:
            self._schedule(f)

    def _border(self, source: Any, bounds: Any) -> hl.Func:
        name = self.draw.choice(_BORDERS)
        conditions: Any = hl.BoundaryConditions
        if name == "constant_exterior":
            fill = hl.cast(self.type if bounds is None else hl.Int(32), 5)
            edge = conditions.constant_exterior(source, fill, bounds)
        else:
            edge = getattr(conditions, name)(source, bounds)
        made = hl.Func("edge")
        made[x, y, t] = hl.i32(edge[x, y, t])
        self.text.append(f"edge = {name}({'video' if bounds is None else 'a Func'})")
        return made

    def _read(self, at: Any = None) -> hl.Expr:
        """A value of a Func before."""
        draw = self.draw
        f = draw.choice(self.funcs[-3:])
        self.readers.setdefault(f.name(), set()).add(self.text[-1].split(":")[0])
        dt = draw.choice((0, 0, -1, 1, -2, 2, -4)) if at is None else at
        dx, dy = draw.choice((0, 0, 1, -1)), draw.choice((0, 0, 1))
        self.text[-1] += f" {f.name()}[x + {dx}, y + {dy}, t + {dt}]"
        when = t + dt
        if draw.random() < 0.1:
            when = hl.clamp(t + dt, 0, self.image.dim(2).extent() - 1)
        found: hl.Expr = f[x + dx, y + dy, when] + 0
        return found

    def _func(self, n: int) -> hl.Func:
        draw = self.draw
        kind = draw.choice(
            ("stencil", "stencil", "stencil", "window", "update", "clock", "border")
        )
        if kind == "border" and n != 99:
            bounds = [(0, WIDTH), (0, HEIGHT), (0, self.image.dim(2).extent())]
            source = draw.choice(self.funcs)
            self.readers.setdefault(source.name(), set()).add("border")
            return self._border(source, bounds)
        f = hl.Func(f"f{n}")
        self.text.append(f"{f.name()}: {kind}")
        value = self._read()
        for _ in range(draw.randint(0, 2)):
            other = self._read()
            pick = draw.randint(0, 4)
            if pick == 0:
                value = value + other
            elif pick == 1:
                value = hl.max(value, other - self.param)
            elif pick == 2:
                value = value * 3 - other
            elif pick == 3:
                value = hl.select(value < other, value + 1, other)
            else:
                value = hl.absd(value, other)
                value = hl.i32(value)
        value = value & 1023
        if kind == "clock":
            value = hl.select(t % 3 == 0, value, self._read(draw.choice((-1, 1))))
            value += t
        if kind == "window":
            r = hl.RDom([(draw.randint(-2, 0), draw.randint(1, 4))])
            fold = draw.choice((hl.maximum, hl.sum, hl.minimum))
            value = value + fold(self._read(r))
        f[x, y, t] = value
        if kind == "update":
            last = self.funcs[-1].name()
            self.readers.setdefault(last, set()).add(f.name())
            s = hl.RDom([(1, WIDTH - 1)])
            f[s, y, t] += f[s - 1, y, t] + self.funcs[-1][s, y, t - 1]
        return f

    def _schedule(self, f: hl.Func) -> None:
        pick = self.draw.randint(0, 6)
        alone = self.readers.get(f.name()) == {self.output.name()}
        if pick == 0:
            f.compute_root()
        elif pick == 1:
            f.compute_root().vectorize(x, 4)
        elif pick >= 2 and not alone:
            return
        elif pick == 2:
            f.compute_at(self.output, y)
        elif pick == 3:
            f.store_root().compute_at(self.output, t)
        elif pick == 4:
            f.compute_at(self.output, t).parallel(y)

    def video(self) -> Any:
        made = np.random.default_rng(self.draw.randint(0, 1 << 30))
        shape = (self.frames, HEIGHT, WIDTH)
        return made.integers(0, 255, shape).astype(self.type.to_numpy())

    def __str__(self) -> str:
        told = f"{self.type}, {self.frames} frames, queue {self.queue}"
        return "\n".join([told, *self.text])


def check(seed: int) -> bool:
    """One pipeline; returns whether anything was kept."""
    drawn = Drawn(seed)
    frames = drawn.video()
    drawn.image.set(frames)
    region = [(0, WIDTH), (0, HEIGHT), (0, drawn.frames)]
    values = interpret_all([(drawn.output._function, region)])[0]
    wanted = np.asarray(next(iter(values))).transpose()
    drawn.image.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = hl.stream(drawn.output, frames, time="t", queue=drawn.queue)
        found = np.stack(list(made))
    assert np.array_equal(found, wanted), f"seed {seed}\n{drawn}"
    for name, n in made.counters.computed.items():
        # Each frame once: those of the video, and those beyond that borders make.
        work: Any = made._flow.work
        kept = {f.label: f for f in work.kept}
        if not n:
            continue  # a border stands for all that would be read
        span = work.windows.next[kept[name]] - work.first[kept[name]]
        assert n <= span, f"seed {seed}: {name} {n} times in {span} frames\n{drawn}"
    return bool(made.counters.computed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    end, seed, kept = time.monotonic() + given.seconds, given.seed, 0
    while time.monotonic() < end:
        kept += check(seed)
        seed += 1
    print(f"{seed - given.seed} pipelines, {kept} of which keep Funcs")


if __name__ == "__main__":
    main()
