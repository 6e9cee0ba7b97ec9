"""Random cases profiled and traced: the same is computed, and the records agree.

    python -m tests.fuzz.traced_leg --cases 100 --seed 1

Each case of `draw` runs as it is, under the profiler and traced, and is compared with
the interpreter. Of the records each value that is loaded must have been stored before,
each begin has its end, and the last values stored of the outputs are what was computed.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

import parhelion as hl
from parhelion.ir.names import plain_name
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import build, set_plain_images
from tests.fuzz.case import Case
from tests.fuzz.execute import Array, compare, destinations, interpreted
from tests.fuzz.leg import run_leg

#: A Func's value at a place: its name, which value, coordinates.
Place = tuple[str, int, tuple[int, ...]]
_PAIRS = {
    "end_realization": "begin_realization",
    "end_produce": "produce",
    "end_consume": "consume",
    "end_pipeline": "begin_pipeline",
}


def run_traced(case: Case) -> str:
    """ "clean", another word for what does not count, or what is wrong."""
    program = build(case)
    scheduler = Scheduler(program)
    pipeline = hl.Pipeline(program.outputs())
    try:
        scheduler.run()
        plain = destinations(program)
        set_plain_images(program, pipeline, plain)
        pipeline.realize(plain)
        profiled = destinations(program)
        profile = pipeline.profile(profiled)
        events = list(pipeline.trace(traced := destinations(program)))
    except hl.ScheduleError:
        return "refused"
    except hl.BoundsError:
        return "bounds"
    if not scheduler.accepted:
        return "trivial"
    wanted = interpreted(program)
    for what, buffers in (("profiled", profiled), ("traced", traced)):
        apart = compare([_values(b) for b in buffers], wanted)
        if apart:
            return f"{what}: {apart}"
    # Of what nobody needs, as behind a condition that never holds, nothing is stored.
    stored = {plain_name(e.func) for e in events if e.kind == "store"}
    unseen = [plain_name(f.func) for f in profile.funcs if not f.calls]
    never = [name for name in unseen if name in stored]
    if never:
        return f"never produced: {never}"
    return _disagreement(events, pipeline, traced) or "clean"


def _values(b: hl.Buffer) -> Array:
    return np.asarray(b).transpose()


def _disagreement(
    events: Iterable[hl.TraceEvent], pipeline: hl.Pipeline, results: list[hl.Buffer]
) -> str:
    """What is wrong with the records, if anything is."""
    stored: dict[Place, list[object]] = defaultdict(list)
    open_: Counter[tuple[str, str]] = Counter()
    for e in events:
        place = (plain_name(e.func), e.index, e.coordinates)
        if e.kind == "store":
            stored[place].append(e.value)
        elif e.kind == "load":
            # A read that its condition excludes gives 0; lanes past the end of a
            # guarded vector load what nobody stored.
            known = stored.get(place)
            if known and not any(_same(e.value, v) for v in (*known, 0)):
                return f"{e} was never stored; {known[-3:]} was"
        elif e.kind in _PAIRS.values():
            open_[e.kind, e.func] += 1
        elif e.kind in _PAIRS:
            open_[_PAIRS[e.kind], e.func] -= 1
    left = {k: n for k, n in open_.items() if n}
    if left:
        return f"begin and end differ: {left}"
    outputs = iter(results)
    for f in pipeline.outputs():
        for index in range(f.outputs()):
            b = next(outputs)
            if f.is_extern():
                continue  # foreign code stores what nobody records
            low = [b.dim(d).min() for d in range(b.dimensions())]
            for at in np.ndindex(_values(b).shape):
                here = tuple(map(sum, zip(at, low, strict=True)))
                value, place = b[here], (plain_name(f.name()), index, here)
                known = stored.get(place, [])
                if not any(_same(value, v) for v in known):
                    return f"{place} is {value}; stored was {known[-3:]}"
    return ""


def _same(a: object, b: object) -> bool:
    return a == b or (a != a and b != b)


def main() -> int:
    return run_leg(__doc__, lambda case, _: run_traced(case))


if __name__ == "__main__":
    sys.exit(main())
