"""Random expressions, many to a pipeline, on each set of a processor's features.

    python -m tests.fuzz.idioms --cases 20000 --features avx512 --seed 1

What `run` draws are schedules; here it is what code generation and LLVM make of one
expression in vectors of 2 to 64 lanes: masked operations on bits, selections of loads,
saturating, halving and widening arithmetic. Each expression is a Func of its own, and
so a loop of its own, and is compared with the interpreter.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.codegen import target as machines
from parhelion.codegen.target import host_target
from parhelion.interp import interpret_all
from parhelion.ir.target import Target, generic_target
from tests.fuzz.ops import TYPES
from tests.fuzz.run import seeds
from tests.fuzz.terms import NUMBERS, Drawer, Given, Term, build, given

#: The sets of features by name: those of x86-64-v2, -v3 and -v4, and all that this
#: computer has.
FEATURES = ("sse41", "avx2", "avx512", "host")
#: Expressions of one pipeline, and the pixels of each: so many where code knows it,
#: which makes for a third of the code, or a number that no vector divides.
TOGETHER, KNOWN, ASKED = 24, 192, 173
_LANES = (2, 4, 8, 16, 32, 64)
_PURE = ("RoundUp", "GuardWithIf", "Predicate", "PredicateStores", "ShiftInwards")
_UPDATE = ("GuardWithIf", "Predicate")
_MOST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class Loop:
    """A term computed over a row, in vectors of so many lanes.

    where: a condition; the term then updates what was there, where it holds.
    unroll: two vectors in each iteration.
    """

    term: Term
    lanes: int = 8
    tail: str = "RoundUp"
    where: Term | None = None
    unroll: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Terms that are compiled together, with images drawn by a seed.

    known: the number of pixels is part of the algorithm.
    """

    loops: tuple[Loop, ...]
    images: int = 0
    known: bool = True

    @property
    def size(self) -> int:
        return KNOWN if self.known else ASKED


def draw(rng: random.Random, count: int = TOGETHER) -> Batch:
    loops = []
    for _ in range(count):
        t = rng.choice((*NUMBERS, "i32", "u32", "i64", "u64"))
        update = rng.random() < 0.2
        drawer = Drawer(rng, t if update else "")
        depth = rng.randint(1, 4)
        # The root of a term is never a leaf.
        term = drawer.real(t, depth) if t[0] == "f" else drawer.whole(t, depth)
        most = rng.choices((512, 1024, 2048), (6, 3, 1))[0]
        lanes = rng.choice([n for n in _LANES if n * TYPES[t].bits() <= most])
        where = drawer.condition(1) if update else None
        tail = rng.choice(_UPDATE if update else _PURE)
        loops.append(Loop(term, lanes, tail, where, rng.random() < 0.2))
    return Batch(tuple(loops), rng.randrange(16), rng.random() < 0.75)


@contextmanager
def compiling_for(features: str) -> Iterator[Target]:
    """Pipelines are compiled for a set of features meanwhile, as if this computer had
    no others."""
    bits = {"sse41": 128, "avx2": 256, "avx512": 512}
    own = machines.host_target
    goal = host_target() if features == "host" else generic_target(bits[features])
    machines.host_target = lambda: goal  # type: ignore[assignment]
    try:
        yield goal
    finally:
        machines.host_target = own


def runs(features: str) -> bool:
    """Whether this computer can run code for a set of features."""
    host = host_target()
    needed = {
        "sse41": ("sse4.1", "sse4.2", "ssse3", "popcnt"),
        "avx2": ("avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt"),
        "avx512": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
        "host": (),
    }
    return host.is_x86() and all([host.has(f) for f in needed[features]])


def made(batch: Batch) -> hl.Func:
    """A Func of all the terms of a batch, each of which is computed in a Func of its
    own, under its schedule."""
    g, x = given(batch.images), hl.Var("x")
    parts = [_func(loop, g, batch, n) for n, loop in enumerate(batch.loops)]
    out = hl.Func("out")
    out[x] = tuple([part[x] for part in parts])
    if batch.known:
        out.bound(x, 0, KNOWN)
    return out


def _func(loop: Loop, g: Given, batch: Batch, n: int) -> hl.Func:
    f, x = hl.Func(f"f{n}"), hl.Var("x")
    t = loop.term.type
    stage: hl.Func | hl.Stage = f
    at: hl.Var | hl.RVar = x
    inner: hl.Var | hl.RVar = hl.Var("xi")
    if loop.where is None:
        f[x] = build(loop.term, Given(g.images, g.params, x))[0]
    else:
        f[x] = g.images[t][2][x]
        r = hl.RDom([(0, batch.size)])
        inside = Given(g.images, g.params, r.x, hl.Expr(f[r.x]))
        r.where(build(loop.where, inside)[0])
        f[r.x] = build(loop.term, inside)[0]
        stage, at, inner = f.update(), r.x, hl.RVar("xi")
    tail = hl.TailStrategy[loop.tail]
    if loop.unroll:
        stage.split(at, at, inner, 2 * loop.lanes, tail)
        stage.vectorize(inner, loop.lanes).unroll(inner)
    else:
        stage.vectorize(at, loop.lanes, tail)
    return f.compute_root()


def run(batch: Batch, features: str) -> list[int]:
    """The numbers of the loops whose results are not the interpreter's."""
    with warnings.catch_warnings(), compiling_for(features):
        warnings.simplefilter("ignore")
        out = made(batch)
        results: Any = out.realize([batch.size])
        found = list(results) if isinstance(results, tuple) else [results]
        (wanted,) = interpret_all([(out._function, [(0, batch.size)])])
    return [
        n
        for n, (got, want) in enumerate(zip(found, wanted, strict=True))
        if not same(np.asarray(got), want)
    ]


def same(got: Any, wanted: Any) -> bool:
    """Whether two rows have the same bits, but for those of NaNs."""
    if got.dtype.kind != "f":
        return bool(np.array_equal(got, wanted))
    equal = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    return bool(np.all(equal | (np.isnan(got) & np.isnan(wanted))))


@dataclass
class Summary:
    """How many expressions were right, and which were not: a seed, a number in its
    batch, and what is wrong."""

    clean: int = 0
    failures: tuple[tuple[int, int, str], ...] = ()

    def text(self, features: str) -> str:
        lines = [f"{features}: {self.clean} expressions clean"]
        for seed, n, what in self.failures:
            lines.append(
                f"{what}\n  python -m parhelion.tools.reduce "
                f"tests.fuzz.idioms_reduction {features} {seed} {n}"
            )
        return "\n".join(lines)


def fuzz(cases: int, features: str, seed: int) -> Summary:
    """Draws batches until so many expressions are clean, or many have failed."""
    summary = Summary()
    for number in seeds(seed):
        if summary.clean >= cases or len(summary.failures) >= _MOST_FAILURES:
            break
        batch = draw(random.Random(number))
        wrong: dict[int, str] = {}
        try:
            wrong = dict.fromkeys(run(batch, features), "mismatch")
        except Exception:  # what no batch should cause: which of them does
            for n, loop in enumerate(batch.loops):
                try:
                    if run(Batch((loop,), batch.images, batch.known), features):
                        wrong[n] = "mismatch"
                except Exception as error:
                    wrong[n] = f"{type(error).__name__}: {str(error)[:200]}"
            wrong = wrong or {0: "an error that only the whole batch has"}
        summary.clean += len(batch.loops) - len(wrong)
        summary.failures += tuple([(number, n, what) for n, what in wrong.items()])
    return summary


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.idioms", description=__doc__
    )
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--features", choices=FEATURES, default="host")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not runs(options.features):
        print(f"this computer cannot run code for {options.features}")
        return 2
    start = time.monotonic()
    summary = fuzz(options.cases, options.features, options.seed)
    print(summary.text(options.features))
    ops = Counter(_ops(options.seed))
    print(", ".join([f"{count} {op}" for op, count in ops.most_common()]))
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if summary.failures else 0


def _ops(seed: int) -> Iterator[str]:
    """The operations of the first batches of a run."""
    for number, _ in zip(seeds(seed), range(20), strict=False):
        waiting = [loop.term for loop in draw(random.Random(number)).loops]
        while waiting:
            term = waiting.pop()
            yield term.op
            waiting += term.args


if __name__ == "__main__":
    sys.exit(main())
