"""Threads that compile, schedule and run pipelines which share images and Funcs.

    python -m tests.fuzz.threads --rounds 10000 --threads 8

In each round a thread makes a pipeline over images that all of them read, perhaps by
way of a Func that all of them give directives to, or takes one that it has made before;
schedules it by hand or by a scheduler, and compares what it computes with NumPy.
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import random
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

import parhelion as hl
from parhelion.schedule.spec import PipelineSpec

Array = npt.NDArray[np.int32]

WIDTH, HEIGHT = 37, 23
#: Pixels around, which stencils read.
_AROUND = 4
#: How many pipelines a thread keeps.
_KEPT = 6
_MOST_FAILURES = 20
x, y, xi, yi = hl.vars("x y xi yi")


@dataclass
class Shared:
    """What all threads read: an ImageParam, a Buffer, and a Func of both."""

    pixels: Array
    levels: Array
    image: hl.ImageParam = field(
        default_factory=lambda: hl.ImageParam(hl.Int(32), 2, "shared")
    )
    mixed: hl.Func = field(default_factory=lambda: hl.Func("mixed"))

    @staticmethod
    def new() -> Shared:
        rng = np.random.default_rng(7)
        shape = (HEIGHT + 2 * _AROUND, WIDTH + 2 * _AROUND)
        made = Shared(*rng.integers(0, 1000, (2, *shape)).astype(np.int32))
        made.image.set(made.pixels)
        table = hl.Buffer(made.levels, "levels")
        made.mixed[x, y] = made.image[x, y] * 3 + table[x, y]
        return made

    def source(self, rng: random.Random) -> tuple[hl.Func | hl.ImageParam, Array]:
        """What a pipeline reads, and its values: the Func or the image."""
        if rng.random() < 0.3:
            return self.mixed, self.pixels * 3 + self.levels
        return self.image, self.pixels


@dataclass
class Made:
    """A pipeline, its producer, its Param, and what it computes for a value.

    alone: whether all its Funcs are its own. scheduled: whether they have directives.
    """

    out: hl.Func
    between: hl.Func
    gain: hl.Param
    expected: Callable[[int], Array]
    alone: bool
    scheduled: bool = False


def _part(a: Array, dx: int, dy: int) -> Array:
    return a[dy : dy + HEIGHT, dx : dx + WIDTH]


def stencil(shared: Shared, rng: random.Random) -> Made:
    """A sum over some neighbours of neighbours."""
    (ax, ay), (bx, by) = [
        (rng.randint(1, _AROUND // 2), rng.randint(0, _AROUND // 2)) for _ in "ab"
    ]
    k, gain = rng.randint(-3, 30), hl.Param(hl.Int(32), "gain")
    source, a = shared.source(rng)
    between, out = hl.Func("between"), hl.Func("out")
    between[x, y] = source[x, y] - source[x + ax, y + ay] + k
    out[x, y] = between[x, y] + between[x + bx, y + by] * gain

    def expected(value: int) -> Array:
        inner = a[: HEIGHT + by, : WIDTH + bx] + np.int32(k)
        inner = inner - a[ay : ay + HEIGHT + by, ax : ax + WIDTH + bx]
        return _part(inner, 0, 0) + _part(inner, bx, by) * np.int32(value)

    return Made(out, between, gain, expected, source is shared.image)


def sums(shared: Shared, rng: random.Random) -> Made:
    """Sums along columns, by an update over an RDom."""
    rows, k, gain = rng.randint(2, 20), rng.randint(0, 9), hl.Param(hl.Int(32), "gain")
    between, out = hl.Func("between"), hl.Func("out")
    r = hl.RDom([(0, rows)])
    source, a = shared.source(rng)
    between[x] = k
    between[x] += source[x, r.x]
    out[x, y] = between[x] * gain + shared.image[x, y]

    def expected(value: int) -> Array:
        total = a[:rows, :WIDTH].sum(0, dtype=np.int32) + np.int32(k)
        return np.asarray(total * np.int32(value) + _part(shared.pixels, 0, 0))

    return Made(out, between, gain, expected, source is shared.image)


MAKERS = (stencil, sums)
SCHEDULERS = {"search": "Parhelion", "paper": "Mullapudi2016"}


def by_hand(made: Made, rng: random.Random) -> None:
    """Some directives for the Funcs of a pipeline."""
    made.between.compute_root()
    if rng.random() < 0.5:
        made.between.vectorize(x, rng.choice([4, 8]))
    lanes = rng.choice([4, 8, 16])
    made.out.tile(x, y, xi, yi, 2 * lanes, rng.choice([2, 4, 8])).vectorize(xi, lanes)
    if rng.random() < 0.5:
        made.out.parallel(y)
    if rng.random() < 0.3 and made.between.dimensions() == 2:
        made.between.compute_at(made.out, x)


#: What is done in a round, and how often in a hundred.
SHARES = {"run": 32, "hand": 16, "search": 15, "paper": 15, "spec": 10, "shared": 12}


class Threads:
    """One run: what has been done, and what went wrong.

    rounds: in all. seed: of what each thread draws.
    """

    def __init__(self, rounds: int, seed: int) -> None:
        self.shared = Shared.new()
        self.seed = seed
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self._left = itertools.count(rounds, -1)
        self._lock = threading.Lock()

    def run(self, count: int) -> None:
        """Has so many threads take rounds until there are none left."""
        threads = [
            threading.Thread(target=self._work, args=(i,), daemon=True)
            for i in range(count)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def _work(self, number: int) -> None:
        rng = random.Random(self.seed * 1000 + number)
        kept: list[Made] = []
        while next(self._left) > 0 and len(self.failures) < _MOST_FAILURES:
            what = "making"
            try:
                if not kept or rng.random() < 0.5:
                    kept.append(rng.choice(MAKERS)(self.shared, rng))
                    del kept[:-_KEPT]
                what = self._round(rng.choice(kept), rng)
            except Exception:
                # Whatever comes up on a thread is a failure of the run, with its trace.
                with self._lock:
                    self.failures.append(f"{what}: {traceback.format_exc()}")
            with self._lock:
                self.done[what] += 1

    def _round(self, made: Made, rng: random.Random) -> str:
        (what,) = rng.choices(list(SHARES), list(SHARES.values()))
        if made.scheduled and what in ("hand", *SCHEDULERS):
            what = "run"
        if what in SCHEDULERS and not made.alone:
            what = "hand"
        if what == "hand":
            by_hand(made, rng)
            made.scheduled = True
        if what in SCHEDULERS:
            given: dict[object, object] = {made.gain: 2}
            found = hl.autoschedule(
                made.out, [WIDTH, HEIGHT], inputs=given, scheduler=SCHEDULERS[what]
            )
            made.scheduled = rng.random() < 0.5
            if not made.scheduled:
                found.undo()
        if what == "spec":
            spec = PipelineSpec.of([made.out._function])
            assert pickle.loads(pickle.dumps(spec)) == spec
        if what == "shared":
            self._reschedule(rng)
        value = rng.randint(-5, 5)
        made.gain.set(value)
        got = np.asarray(made.out.realize([WIDTH, HEIGHT]))
        np.testing.assert_array_equal(got, made.expected(value))
        return what

    def _reschedule(self, rng: random.Random) -> None:
        """Gives the Func that all read another place, while others compile it."""
        if rng.random() < 0.5:
            self.shared.mixed.compute_root()
        else:
            self.shared.mixed.compute_inline()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.monotonic()
    run = Threads(options.rounds, options.seed)
    run.run(options.threads)
    for failure in run.failures:
        print(failure)
    print(f"{run.done.total()} rounds: {dict(run.done.most_common())}")
    print(f"{len(run.failures)} failures, {time.monotonic() - start:.0f} s")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
