"""What single directives gain, each on a small pipeline made for it.

    python -m benchmarks.gains

prints milliseconds, least of many: narrow images with each way to treat the end of a
row, under both modules; and producers in threads of their own (`async_`), beside the
same schedules without, where the producer waits for something outside of the program
and where it computes as long as its consumer. HL_NUM_THREADS should be 1: the
producer's thread comes in addition.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from apps.common import Module
from benchmarks.case import load, zeros
from benchmarks.runtime import measure

Runs = dict[str, Callable[[], object]]

WIDTHS = (33, 40, 63, 100)
ROWS = 20_000
LANES = 32
#: Ways to treat the end of a row. Both modules have each of them; where a machine
#: cannot mask a vector, `GuardWithIf` goes lane by lane.
STRATEGIES = ("ShiftInwards", "GuardWithIf", "Predicate")

#: Blocks that a producer hands over, and the seconds that it waits for each.
BLOCKS = 16
WAIT = 0.003


def tails(width: int) -> Runs:
    """Blurs of 16-bit rows of a width, vectorized, with each strategy; and the whole
    vectors of all rows first, then what is left of them pixel by pixel."""
    pixels = np.random.default_rng(1).integers(0, 9999, (ROWS, width + 2))
    image = pixels.astype(np.uint16)
    runs: Runs = {}
    for module in ("parhelion", "halide"):
        hl = load(module)

        def blur(strategy: str, hl: Module = hl) -> Any:
            x, y, xo, xi = (hl.Var(n) for n in ("x", "y", "xo", "xi"))
            source, f = hl.Buffer(image), hl.Func("f")
            f[x, y] = (source[x, y] + source[x + 1, y] + source[x + 2, y]) / 3
            if strategy:
                f.split(x, xo, xi, LANES, getattr(hl.TailStrategy, strategy))
                f.vectorize(xi)
            return f

        out = hl.Buffer(zeros((ROWS, width), np.uint16))
        for strategy in STRATEGIES:
            runs[f"{module} {strategy}"] = _ready(blur(strategy), out)
        whole = width // LANES * LANES
        vectors = _ready(blur("RoundUp"), out.cropped(0, 0, whole))
        rest = _ready(blur(""), out.cropped(0, whole, width - whole))
        runs[f"{module} scalar tail"] = _both(vectors, rest)
    return runs


def _both(first: Callable[[], object], second: Callable[[], object]) -> Any:
    return lambda: (first(), second())


def _ready(f: Any, out: Any) -> Callable[[], object]:
    """A run of a compiled Func into memory that is there already."""
    f.compile_jit()
    f.realize(out)
    return lambda: f.realize(out)


def waiting() -> Runs:
    """Blocks of rows that arrive from outside, a Python stage that waits for each; the
    consumer computes about as long."""
    import parhelion as hl

    def arrives(result: Any) -> int:
        time.sleep(WAIT)
        np.asarray(result)[...] = 1.5
        return 0

    def built(how: str) -> Callable[[], object]:
        x, y = hl.vars("x y")
        block, out = hl.funcs("block out")
        block.define_extern(arrives, [], hl.Float(32), 2)
        out[x, y] = _heavy(block[x, y] + 0.0, 40)
        out.vectorize(x, 16)
        _placed(block.compute_at(out, y), how)
        return _ready(out, hl.Buffer(zeros((BLOCKS, 120_000), np.float32)))

    return {how: built(how) for how in OVERLAPS}


def _heavy(value: Any, roots: int) -> Any:
    """Many square roots, one after the other."""
    import parhelion as hl

    for _ in range(roots):
        value = hl.sqrt(value + 1.0)
    return value


def computing() -> Runs:
    """Rows that take as long to produce as to consume."""
    import parhelion as hl

    def built(how: str) -> Callable[[], object]:
        x, y = hl.vars("x y")
        row, out = hl.funcs("row out")
        row[x, y] = _heavy(hl.f32(x + y), 20)
        out[x, y] = _heavy(row[x, y] + row[x + 1, y], 20)
        row.vectorize(x, 16)
        out.vectorize(x, 16)
        _placed(row.compute_at(out, y), how)
        return _ready(out, hl.Buffer(zeros((200, 8_000), np.float32)))

    return {how: built(how) for how in OVERLAPS}


#: Ways to compute the producer: in turn with its consumer, in a thread of its own that
#: waits until its one row is read, and in one that has several.
OVERLAPS = ("in turn", "async_", "async_, ring_buffer(2)", "async_, ring_buffer(4)")


def _placed(f: Any, how: str) -> None:
    """Schedules a Func, computed at its consumer's rows, in one of those ways."""
    if how == "async_":
        f.hoist_storage_root().async_()
    elif how != "in turn":
        f.hoist_storage_root().ring_buffer(int(how[-2])).async_()


def tables(seconds: float) -> Iterator[str]:
    """Markdown, one table after the other."""
    names = [
        f"{m} {s}"
        for m in ("parhelion", "halide")
        for s in (*STRATEGIES, "scalar tail")
    ]
    yield "| width | " + " | ".join(names) + " |"
    yield "|" + "---|" * (len(names) + 1)
    for width in WIDTHS:
        taken = measure(tails(width), seconds)
        cells = [f"{taken[name]['min'] * 1e3:.2f}" for name in names]
        yield f"| {width} | " + " | ".join(cells) + " |"
    yield ""
    yield "| producer | " + " | ".join(OVERLAPS) + " |"
    yield "|" + "---|" * (len(OVERLAPS) + 1)
    for what, runs in (("waits", waiting()), ("computes", computing())):
        taken = measure(runs, seconds)
        cells = [f"{taken[how]['min'] * 1e3:.1f}" for how in OVERLAPS]
        yield f"| {what} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.gains", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each row")
    for line in tables(parser.parse_args().seconds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
