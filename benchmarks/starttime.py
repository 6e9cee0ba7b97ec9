"""How long a program waits for its first result: one case in a fresh process.

Run as a module with a case's name; prints JSON, in seconds: importing the library,
building the Funcs and their schedule, and being ready to run, which is compiling, or
loading what an earlier process compiled (the persistent cache is where
``PARHELION_BENCH_CACHE`` says). LLVM's library is loaded as part of the last.
"""

from __future__ import annotations

import json
import sys
import time


def measured(name: str) -> dict[str, float | bool]:
    """The three times, and whether anything was lowered."""
    from benchmarks.cases import case

    chosen = case(name)
    start = time.perf_counter()
    import parhelion as hl

    imported = time.perf_counter()
    app = chosen.build(hl, next(iter(chosen.schedules)))
    built = time.perf_counter()
    app.output.compile_jit()
    end = time.perf_counter()
    return {
        "import": imported - start,
        "build": built - imported,
        "ready": end - built,
        "lowered": "parhelion.lower.passes" in sys.modules,
    }


if __name__ == "__main__":
    json.dump(measured(sys.argv[1]), sys.stdout)
