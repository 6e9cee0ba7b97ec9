"""Time to compile one case in a fresh process, after one trivial warm-up compile.

Run as a module with a module's name and a case's name; prints seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.cases import case, load


def cold(module: str, name: str) -> dict[str, float]:
    hl = load(module)
    x = hl.Var("x")
    warm = hl.Func("warm")
    warm[x] = x
    warm.realize([16])
    chosen = case(name)
    image = chosen.make_input()
    start = time.perf_counter()
    app = chosen.build(hl)
    chosen.bind(hl, app, image)
    built = time.perf_counter()
    app.output.compile_jit()
    end = time.perf_counter()
    return {"build": built - start, "compile": end - built}


if __name__ == "__main__":
    json.dump(cold(sys.argv[1], sys.argv[2]), sys.stdout)
