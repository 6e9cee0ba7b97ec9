"""Schedules that one thread changes while another one compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.changes import CHANGES
from parhelion.schedule import change, spec
from parhelion.schedule.reach import Reach

x, y, xi = hl.Var("x"), hl.Var("y"), hl.Var("xi")


def meanwhile(do: Callable[[], object]) -> threading.Thread:
    """Another thread that does something, as soon as it may."""
    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    return thread


def test_a_directive_is_seen_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a split, whose loops are not what its splits say."""
    f = hl.Func("f")
    f[x, y] = x + 10 * y
    begun, go_on = threading.Event(), threading.Event()
    split = change.Change._split

    def slow(self: change.Change, *given: Any) -> None:
        dims = self.schedule.dims
        split(self, *given)
        after, self.schedule.dims = self.schedule.dims, dims
        begun.set()
        go_on.wait(20)
        self.schedule.dims = after

    monkeypatch.setattr(change.Change, "_split", slow)
    splitting = meanwhile(lambda: f.split(x, x, xi, 4))
    assert begun.wait(20)
    results: list[Any] = []
    realizing = meanwhile(lambda: results.append(f.realize([8, 2])))
    realizing.join(0.2)
    assert realizing.is_alive()  # it waits for the rest of the split
    go_on.set()
    splitting.join(20)
    realizing.join(60)
    assert np.asarray(results[0]).tolist() == [[*range(8)], [*range(10, 18)]]


@pytest.mark.parametrize(
    "do",
    [
        lambda f, g: f.in_().compute_root(),
        lambda f, g: f.in_(g).compute_root(),
        lambda f, g: f.clone_in(g).compute_root(),
        lambda f, g: hl.Func.__setitem__(g, x, g[x] + f[x]),
    ],
    ids=["in_ all", "in_", "clone_in", "update"],
)
def test_no_func_comes_between_order_and_copies(
    do: Callable[[hl.Func, hl.Func], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    f.compute_root()
    copies, others = spec._copies, []

    def late(order: Any) -> Any:
        others.append(meanwhile(lambda: do(f, g)))
        others[-1].join(0.2)
        return copies(order)

    monkeypatch.setattr(spec, "_copies", late)
    assert np.asarray(g.realize([4])).tolist() == [1, 3, 5, 7]
    monkeypatch.undo()
    for one in others:
        one.join(20)


LATE = """
import sys, threading
import parhelion as hl
import parhelion.runtime.program as program
x = hl.Var("x")
f = hl.Func("f")
f[x] = x * 41
f.compute_root()
if sys.argv[1] == "late":
    of = program.PipelineSpec.of

    class Late:
        @staticmethod
        def of(*given):
            f.bound(x, 0, 4)
            return of(*given)

    program.PipelineSpec = Late
    f.realize([4])
else:
    print(list(f.realize([8])))
"""


def test_code_is_kept_under_the_key_of_what_was_compiled(tmp_path: Path) -> None:
    """A directive between the key and the copy."""
    for when in ("late", "never"):
        ran = subprocess.run(
            [sys.executable, "-c", LATE, when],
            env={**os.environ, "PARHELION_CACHE": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str([41 * k for k in range(8)])


def test_the_lock_is_free_after_errors() -> None:
    f = hl.Func("f")
    f[x] = x
    for wrong in (
        lambda: f.split(x, x, xi, 0),
        lambda: f.in_(f),
        lambda: f.update(0),
        lambda: hl.Func.__setitem__(f, x, hl.Func("undefined")[x]),
    ):
        with pytest.raises(hl.HalideError):
            wrong()
    free: list[bool] = []

    def take() -> None:
        free.append(CHANGES.acquire(timeout=5))
        CHANGES.release()

    meanwhile(take).join(20)
    assert free == [True]
    assert Reach([f._function]).look()
