"""Seconds of the processor to compile kernels, beside Halide's CUDA; no GPU is needed.

Run as a module with ``parhelion`` or ``halide`` and a case's name, it prints a JSON
object. Both make host code and PTX for one architecture, in a fresh process after a
trivial compile; what the driver makes of PTX is the same for both, and not in it. Ours
is cold with PARHELION_BENCH_CACHE=off, and warm where it is not the first with its
cache.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

from apps.common import Module
from benchmarks import gpu_kernels
from benchmarks.cases import case
from benchmarks.gpu.applications import program_of
from benchmarks.gpu.halide_cuda import module, scheduled, target

#: What kernels are compiled for.
ARCH = "sm_80"


def _warm_up(hl: Module) -> None:
    """Compiles something trivial, for the host."""
    x = hl.Var("x")
    warm = hl.Func("warm")
    warm[x] = x
    warm.realize([16])


def seconds(who: str, name: str) -> dict[str, float]:
    """To build the definition, and to compile it."""
    import parhelion

    hl = module() if who == "halide" else parhelion
    _warm_up(hl)
    of = case(name)
    schedule = next(iter(gpu_kernels.PROGRAMS[program_of(name)][1].values()))
    begin = time.process_time()
    if who == "halide":
        app = scheduled(of, schedule, hl)
    else:
        app = of.algorithm(hl)
        schedule(hl, app)
    built = time.process_time()
    if who == "halide":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            app.output.compile_jit(target(hl, ARCH))
    else:
        app.output.compile_jit()
    return {"build": built - begin, "compile": time.process_time() - built}


if __name__ == "__main__":
    json.dump(seconds(*sys.argv[1:]), sys.stdout)
