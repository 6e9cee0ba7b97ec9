"""How long a program takes to be compiled, in this process, which should be fresh.

    python -m benchmarks.forma.compiletime exposure_fusion

prints one JSON object: seconds for `forma.compile`, and of these for merging stages and
making their schedule.
"""

from __future__ import annotations

import json
import sys
import time

import parhelion as hl
from apps.forma.programs import PROGRAMS
from parhelion import forma
from parhelion.forma.funcs import funcs_of
from parhelion.forma.fuse import fuse
from parhelion.forma.schedules import schedule_strips
from parhelion.forma.strips import strips


def main(name: str) -> int:
    start = time.perf_counter()
    compiled = forma.compile(PROGRAMS[name].path)
    took = time.perf_counter() - start
    # Again, of Funcs of its own.
    funcs = funcs_of(compiled.graph)
    start = time.perf_counter()
    found_strips = strips(compiled.graph, fuse(compiled.graph))
    schedule_strips(funcs, found_strips, hl.get_host_target())
    scheduling = time.perf_counter() - start
    stages = len(compiled.graph.needed()) - len(compiled.graph.inputs)
    found = {"compile": took, "schedule": scheduling, "stages": stages}
    json.dump(found | {"groups": len(compiled.fusion.groups)}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
