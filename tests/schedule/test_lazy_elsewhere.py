"""`compute_lazy` beside the rest: object files, the cache, traces, memory."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from tests.cache.programs import outcome
from tests.codegen.c_code import struct_of

x, y = hl.Var("x"), hl.Var("y")
AT = np.random.default_rng(7).integers(0, 99, (30, 40)).astype(np.int32)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = hl.set_num_threads(4)
    yield
    hl.set_num_threads(before)


def pipeline(tile: tuple[int, ...] | None) -> hl.Func:
    f, g = hl.funcs("f g")
    u = hl.Buffer(AT)
    f[x, y] = x * y + hl.sqrt(hl.f32(x))
    g[x, y] = f[hl.clamp(u[x, y], 0, 98), y] + f[x, y + 1]
    f.compute_lazy(tile)
    if tile is not None:
        f.vectorize(x, 4).parallel(y)
    g.vectorize(x, 8).parallel(y)
    return g


@pytest.mark.parametrize("tile", [None, (16, 8)])
def test_object_files(tile: tuple[int, ...] | None, tmp_path: Path) -> None:
    g = pipeline(tile)
    g.compile_to_object(tmp_path / "g.o", [], "on_demand")
    library = tmp_path / "g.so"
    files = ["-o", str(library), str(tmp_path / "g.o")]
    subprocess.run(["gcc", "-shared", *files, "-lpthread", "-lm"], check=True)
    out = hl.Buffer(hl.Float(32), [40, 30])
    assert ctypes.CDLL(str(library)).on_demand(struct_of(out)) == 0
    want = interpret(g._function, [(0, 40), (0, 30)])[0].T
    np.testing.assert_array_equal(np.asarray(out), want)


_TWICE = """
import sys
import numpy as np
import parhelion as hl
x, y = hl.vars("x y")
f, g = hl.funcs("f g")
u = hl.Buffer(np.arange(1200, dtype=np.int32).reshape(30, 40) * 7 % 99)
f[x, y] = x * y
g[x, y] = f[u[x, y] % 99, y]
f.compute_lazy((16, 8)).vectorize(x, 4).parallel(y)
g.parallel(y)
made = np.asarray(g.realize([40, 30]))
print(int(made.sum()), "parhelion.lower.passes" in sys.modules)
"""


def test_from_the_cache(tmp_path: Path) -> None:
    """Another process finds the code, and what its run time has for it."""
    first, second = outcome(_TWICE, tmp_path), outcome(_TWICE, tmp_path)
    assert first[1] and not second[1]
    assert first[0] == second[0]


def test_traces_show_each_production() -> None:
    events = list(pipeline((16, 8)).trace([40, 30]))
    produced = [e for e in events if e.kind == "produce" and e.func == "f"]
    seen = pipeline((16, 8)).profile([40, 30])["f"]
    assert len(produced) == seen.calls > 1
    assert {e.func for e in events} == {"f", "g"}


def test_memory_that_is_not_there() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = hl.f64(x + y)
    far = hl.clamp(hl.Buffer(AT)[x, y], 0, 4_100_000)
    g[x, y] = f[far, far]
    f.compute_lazy((64, 64))
    with pytest.raises(hl.HalideError, match="out of memory: Func 'f' needs"):
        g.realize([4, 4])


def test_a_tile_larger_than_the_region() -> None:
    f, g = hl.funcs("f g")
    f[x] = x
    g[x] = f[x * x % 9]
    f.compute_lazy([16])
    with pytest.warns(match="smaller than one tile"):
        assert np.asarray(g.realize([4])).tolist() == [0, 1, 4, 0]


def test_rows_that_are_begun_come_last() -> None:
    """So that threads that ask for the same rows of tiles go through others."""
    f, first, out = hl.funcs("f first out")
    f[x, y] = x * 100 + y
    first[x] = f[hl.clamp(x * x % 3, 0, 2), 0]
    out[x, y] = f[x, y] + f[x, y + 1] + first[0]
    f.compute_lazy((4, 2))
    first.compute_root()
    out.split(y, y, hl.Var("row"), 4)
    before = hl.set_num_threads(1)
    events = out.trace([8, 4])
    stores = [e.coordinates for e in events if (e.kind, e.func) == ("store", "f")]
    hl.set_num_threads(before)
    tiles = list(dict.fromkeys([(c // 4, r // 2) for c, r in stores]))
    assert tiles[0] == (0, 0)  # what `first` reads
    assert tiles[1:] == [(0, 1), (1, 1), (0, 2), (1, 2), (1, 0)]
