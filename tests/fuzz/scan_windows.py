"""Random scans whose windows slide along the loops of what reads them, against the
interpreter.

    python -m tests.fuzz.scan_windows --cases 1000 --seed 1

All values are integers, or floats whose sums are exact, so that the order in which they
are added does not matter. Images are as large as what is read of them, so that reading
outside fails.
"""

from __future__ import annotations

import random
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.interp import interpret
from tests.fuzz.numbered import run

_TYPES = ("int32", "uint8", "int64", "float64")


@dataclass(frozen=True)
class Case:
    """A scan of `points` points, in an image of two dimensions, and what reads it.

    along: the dimension of the scan. low: of its RVar. first: the coordinate of its
    first point. starts: how many points before it are given. initial: whether their
    definition comes before the scan; else the pure one is defined everywhere. after:
    whether an update follows. offsets: at which points it is read around a point, whose
    number along the scan is `step` times that of the reader, or, backwards, that many
    from the end. widths: of the reader's tiles, along the scan first; 0 for none.
    level, outside: where the scan is computed, and whether its storage is outside of
    all loops. produced: whether another Func is scanned
    that is computed where the scan is. lanes: of vectors along a running sum.
    """

    type: str
    along: int
    causal: bool
    feedback: tuple[int, ...]
    points: int
    lines: int
    low: int
    first: int
    starts: int
    initial: bool
    after: bool
    offsets: tuple[int, ...]
    step: int
    widths: tuple[int, int]
    level: int
    outside: bool
    backwards: bool
    produced: bool
    lanes: int
    seed: int


def draw(rng: random.Random) -> Case:
    """A case of orders 1 to 3."""
    order = rng.choice([1, 1, 2, 3])
    lanes = rng.choice([0, 0, 2, 4, 8])
    causal = rng.random() < 0.7
    feedback = (1,) if lanes else tuple([rng.choice([1, -1, 0]) for _ in range(order)])
    if not any(feedback):
        feedback = (*feedback[:-1], 1)
    return Case(
        rng.choice(_TYPES),
        rng.randrange(2),
        causal,
        feedback,
        rng.randrange(3, 60),
        rng.randrange(1, 9),
        rng.choice([0, 0, 1, -3, 7]),
        rng.choice([0, 0, 4, -2]),
        len(feedback) + rng.choice([0, 0, 1, 3]),
        rng.random() < 0.9,
        rng.random() < 0.1,
        rng.choice([(0,), (0,), (0, 1), (-1, 0), (0, 3)]),
        rng.choice([1, 1, 1, 2]),
        (rng.choice([0, 1, 3, 4, 8, 16]), rng.choice([0, 0, 2])),
        rng.randrange(3),
        rng.random() < 0.4,
        causal == (rng.random() < 0.2),
        rng.random() < 0.4,
        lanes,
        rng.randrange(1 << 30),
    )


def build(case: Case, image: Any, scheduled: bool) -> hl.Func:
    """The pipeline."""
    t = hl.Buffer(np.zeros(1, case.type)).type()
    x, y = hl.vars("x y")
    pixels, source, f, out = hl.Buffer(image), *hl.funcs("source f out")
    source[x, y] = pixels[x, y] + hl.cast(t, 1)

    def at(i: Any, j: Any) -> tuple[Any, Any]:
        return (j, i) if case.along else (i, j)

    r, b = hl.RDom([(case.low, case.points)], "r"), hl.RDom([(0, case.starts)], "b")
    way = 1 if case.causal else -1
    begin = case.first if case.causal else case.first + case.points - 1
    here = begin + way * (r.x - case.low)
    line = y if case.along == 0 else x
    if case.initial:
        f[x, y] = hl.undef(t)
        f[at(begin - way * (1 + b.x), line)] = hl.cast(t, b.x + line)
    else:
        f[x, y] = hl.cast(t, x + 2 * y)
    total: Any = source[at(r.x - case.low, line)]
    for j, a in enumerate(case.feedback, 1):
        if a:
            total = total + hl.cast(t, a) * f[at(here - way * j, line)]
    f[at(here, line)] = total
    scan = f.num_update_definitions() - 1
    if case.after:
        f[x, y] += hl.cast(t, 3)

    args = (x, y)
    k = args[case.along]
    read: Any = hl.cast(t, 0)
    for offset in case.offsets:
        # Points beyond the scan, and those before what is given, are not read.
        there = case.first + case.step * k + offset
        if case.backwards:
            there = 2 * case.first + case.points - 1 - there
        there = hl.clamp(there, case.first, case.first + case.points - 1)
        read = read + f[at(there, line)]
    out[x, y] = read
    if scheduled:
        _schedule(case, out, f, source, scan, r, args)
    return out


def _schedule(
    case: Case,
    out: hl.Func,
    f: hl.Func,
    source: hl.Func,
    scan: int,
    r: hl.RDom,
    args: tuple[hl.Var, hl.Var],
) -> None:
    loops: list[hl.Var] = []
    for v, width in zip(
        (args[case.along], args[1 - case.along]), case.widths, strict=True
    ):
        outer, inner = hl.Var(f"{v.name()}o"), hl.Var(f"{v.name()}i")
        if width:
            out.split(v, outer, inner, width)
            loops += [inner, outer]
        else:
            loops.append(v)
    rng = random.Random(case.seed)
    if rng.random() < 0.3:
        rng.shuffle(loops)
    out.reorder(*loops)
    level = min(case.level, len(loops) - 1)
    f.compute_at(out, loops[level])
    if case.outside or level == len(loops) - 1:
        f.store_root()
    else:
        f.store_at(out, loops[rng.randrange(level + 1, len(loops))])
    if case.lanes:
        ro, ri = hl.RVar("ro"), hl.RVar("ri")
        f.update(scan).atomic().split(r.x, ro, ri, case.lanes).vectorize(ri)
    if case.produced:
        source.compute_at(out, loops[level])
        if rng.random() < 0.5:
            source.store_root()


def difference(case: Case) -> str:
    """What is wrong about a case; empty if nothing is."""
    rng = np.random.default_rng(case.seed)
    shape = [case.points, case.lines] if case.along else [case.lines, case.points]
    image = rng.integers(0, 4, shape).astype(case.type)
    most = (case.points + case.step - 1) // case.step
    extents = [case.lines, most] if case.along else [most, case.lines]
    wanted = interpret(build(case, image, False)._function, [(0, n) for n in extents])[
        0
    ].T
    out = build(case, image, True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hl.ScheduleWarning)
        got = np.asarray(out.realize(extents))
    if np.array_equal(got, wanted):
        return ""
    return f"{np.count_nonzero(got != wanted)} of {got.size} values differ"


if __name__ == "__main__":
    sys.exit(run(__doc__, draw, difference))
