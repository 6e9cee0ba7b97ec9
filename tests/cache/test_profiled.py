"""Profiled programs are kept apart from others, with what their tables say."""

from __future__ import annotations

from pathlib import Path

from tests.cache.programs import child

SOURCE = """
import sys
import numpy as np
import parhelion as hl
x, y = hl.vars("x y")
f, g = hl.funcs("f g")
f[x, y] = x + y
g[x, y] = f[x, y] + f[x + 1, y]
f.compute_at(g, y)
if {profiled}:
    found = g.profile([9, 5])
    print([(one.name, one.calls, one.stack) for one in found.funcs])
else:
    print(int(np.asarray(g.realize([9, 5])).sum()))
print("parhelion.lower.passes" in sys.modules)
"""


def lines(folder: Path, profiled: bool) -> list[str]:
    done = child(SOURCE.format(profiled=profiled), folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_profiled_program_is_kept(tmp_path: Path) -> None:
    total = str(sum([2 * (x + y) + 1 for x in range(9) for y in range(5)]))
    assert lines(tmp_path, False) == [total, "True"]
    told, compiled = lines(tmp_path, True)
    assert compiled == "True"
    assert told.startswith("[('f', 5.0, ") and "('g', 1.0, 0)" in told
    assert lines(tmp_path, True) == [told, "False"]
    assert lines(tmp_path, False) == [total, "False"]
