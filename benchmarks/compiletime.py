"""Time and memory to compile one case, in a fresh process after one trivial compile.

Run as a module with ``parhelion``, ``halide`` or ``passes`` and a case's name; prints
JSON. ``passes`` lowers and compiles under Parhelion, and says what each step took.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

from apps.common import Module
from benchmarks.case import load
from benchmarks.cases import case


def _warm_up(hl: Module) -> None:
    x = hl.Var("x")
    warm = hl.Func("warm")
    warm[x] = x
    warm.realize([16])


def _peak() -> float:
    """The largest size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cold(module: str, name: str) -> dict[str, float]:
    """Seconds to build the definition and to compile it, and MB of memory: those of
    the whole process at its peak, and what compiling added."""
    hl = load(module)
    _warm_up(hl)
    chosen = case(name)
    before = _peak()
    start = time.perf_counter()
    app = chosen.build(hl, next(iter(chosen.schedules)))
    built = time.perf_counter()
    app.output.compile_jit()
    end = time.perf_counter()
    return {
        "build": built - start,
        "compile": end - built,
        "peak_mb": _peak(),
        "added_mb": _peak() - before,
    }


def by_pass(name: str) -> dict[str, Any]:
    """Seconds of each lowering pass, of code generation and of LLVM's steps."""
    import parhelion as hl
    from parhelion.codegen.llvm import emit_with_sites
    from parhelion.codegen.target import host_target
    from parhelion.lower.passes import Trace, lower
    from parhelion.runtime import jit
    from parhelion.runtime.program import compiling
    from parhelion.schedule.spec import PipelineSpec

    _warm_up(hl)
    chosen = case(name)
    app = chosen.build(hl, next(iter(chosen.schedules)))
    pipeline = app.output if isinstance(app.output, hl.Pipeline) else None
    funcs = pipeline.outputs() if pipeline else [app.output]
    trace, times, target = Trace(), jit.CompileTimes(), host_target()
    with compiling():
        spec = PipelineSpec.of([f._function for f in funcs])
        lowered = lower(spec, name="timed", trace=trace)
        start = time.perf_counter()
        text = emit_with_sites(lowered, target, interruptible=True).text
        emitted = time.perf_counter() - start
    jit.object_code(text, target, times)
    seconds: dict[str, float] = {}
    for step, _, taken in (*trace.front, *trace):
        seconds[step] = seconds.get(step, 0.0) + taken
    seconds |= {
        "write LLVM text": emitted,
        "LLVM parse": times.parse,
        "LLVM passes": times.optimise,
        "LLVM code": times.emit,
    }
    return {"seconds": seconds, "llvm_lines": text.count("\n")}


if __name__ == "__main__":
    what, chosen_name = sys.argv[1:]
    found = by_pass(chosen_name) if what == "passes" else cold(what, chosen_name)
    json.dump(found, sys.stdout)
