"""Code from the cache finds its memory as code does that was compiled in the process:
no page of intermediates is mapped anew in each run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import parhelion as hl

#: Many intermediates at once, for each size of image: of MiBs, just under one, and of
#: some KiB in parallel loops.
PROGRAM = """
import json, resource, sys
import numpy as np
import parhelion as hl

x, y, yi = hl.vars("x y yi")
image = hl.Buffer(np.zeros((1100, 1500), np.float32))
source = hl.BoundaryConditions.repeat_edge(image)
stages = [source]
for k in range(20):
    f = hl.Func(f"f{k}")
    f[x, y] = stages[-1][x - 1, y] + stages[-1][x + 1, y] * 0.5
    f.compute_root().vectorize(x, 8)
    stages.append(f)
small = hl.Func("small")
small[x, y] = sum((f[x, y] for f in stages[:-1]), stages[-1][x, y])
tiny = hl.Func("tiny")
tiny[x, y] = small[x, y - 1] + small[x, y + 1]
out = hl.Func("out")
out[x, y] = tiny[x - 1, y] + tiny[x + 1, y]
out.split(y, y, yi, 30).parallel(y)
small.compute_at(out, y).vectorize(x, 8)
tiny.compute_at(out, yi)
out.compile_jit()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

found = []
for size in [(1500, 1100), (500, 400), (300, 90)]:
    to = hl.Buffer(hl.Float(32), list(size))
    for _ in range(3):
        out.realize(to)
    for _ in range(8):
        before = faults()
        out.realize(to)
        found.append(faults() - before)
json.dump([found, "parhelion.lower.passes" in sys.modules], sys.stdout)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_no_page_is_faulted_after_the_third_run(tmp_path: Path, threads: int) -> None:
    told = {
        "PYTHONPATH": str(Path(hl.__file__).parents[1]),
        "PARHELION_CACHE": str(tmp_path),
        "HL_NUM_THREADS": str(threads),
    }
    for compiles in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **told},
        )
        found, lowered = json.loads(done.stdout)
        assert lowered is compiles
        if threads == 1:
            assert found == [0] * len(found)
        # Now and then two threads need more at once than ever before.
        assert sorted(found)[-4] == 0, found
