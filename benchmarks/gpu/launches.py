"""What a launch costs on the host's side: pipelines of many small kernels, and of one.

Run as a module, it prints seconds for each further kernel as JSON: of the processor's
time where kernels are simulated, of the clock's on a GPU, until all is done.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import parhelion as hl
from parhelion.runtime import devices

#: Kernels of the longer chain.
MANY = 101


def chain(count: int) -> Callable[[], object]:
    """A pipeline of so many kernels of one thread each, compiled."""
    x, tx = hl.Var("x"), hl.Var("tx")
    made: list[hl.Func] = []
    for k in range(count):
        f = hl.Func(f"stage{k}")
        f[x] = made[-1][x] + 1 if made else x
        f.compute_root().gpu_tile(x, tx, 1)
        made.append(f)
    made[-1].compile_jit()
    out = hl.Buffer(hl.Int(32), [1])
    made[-1].realize(out)
    return lambda: made[-1].realize(out)


def of_one(repeats: int = 30) -> float:
    """Seconds for a further kernel, least of many."""
    clock = time.process_time if devices.is_simulated() else time.perf_counter
    runs = {count: chain(count) for count in (1, MANY)}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for count, run in runs.items():
            begin = clock()
            run()
            devices.finish(devices.interface(), "launches")
            least[count] = min(least[count], clock() - begin)
    return (least[MANY] - least[1]) / (MANY - 1)


if __name__ == "__main__":
    json.dump({"seconds": of_one()}, sys.stdout)
