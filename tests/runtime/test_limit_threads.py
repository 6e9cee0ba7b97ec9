"""limit_threads: by how many threads calls are run, in one Python thread or task."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime.threads import LIMIT

x, y = hl.Var("x"), hl.Var("y")


@pytest.fixture(autouse=True)
def four() -> Any:
    before = hl.set_num_threads(4)
    yield
    hl.set_num_threads(before)


def rows() -> hl.Pipeline:
    f = hl.Func("f")
    f[x, y] = x + 1000 * y
    return hl.Pipeline(f.parallel(y))


def expected() -> np.ndarray:
    return np.arange(64)[None, :] + 1000 * np.arange(64)[:, None]


def limit_of(f: hl.Pipeline) -> int:
    """What the context of the last call had for a limit."""
    (program,) = f._ready()._programs.values()
    return program.call._frames[-1].most_threads


def test_it_holds_inside_the_with_and_nowhere_else() -> None:
    f = rows()
    f.realize([64, 64])
    assert limit_of(f) == 0
    with hl.limit_threads(2):
        made = f.realize([64, 64])
        assert isinstance(made, hl.Buffer)
        assert np.array_equal(made, expected())
        assert limit_of(f) == 2
        with hl.limit_threads(3):
            f.realize([64, 64])
            assert limit_of(f) == 2
        with hl.limit_threads(1):
            f.realize([64, 64])
            assert limit_of(f) == 1
    f.realize([64, 64])
    assert limit_of(f) == 0


def test_it_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), hl.limit_threads(2):
        raise KeyError
    assert LIMIT.get() == 0


def test_other_threads_have_no_limit() -> None:
    found: list[int] = []
    with hl.limit_threads(2):
        one = threading.Thread(target=lambda: found.append(LIMIT.get()))
        one.start()
        one.join()
    assert found == [0]


def test_each_task_has_its_own() -> None:
    f = rows()

    async def work(n: int) -> list[int]:
        found = []
        for _ in range(5):
            with hl.limit_threads(n):
                await asyncio.sleep(0)
                f.realize([64, 64])
                found.append(limit_of(f))
        return found

    async def both() -> list[list[int]]:
        return list(await asyncio.gather(work(1), work(3)))

    assert asyncio.run(both()) == [[1] * 5, [3] * 5]


def test_callables_and_nested_loops() -> None:
    inp = hl.ImageParam(hl.Int(32), 2, "inp")
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = inp[x, y] * 2
    f[x, y] = g[x, y] + 1
    g.compute_at(f, y).parallel(x)
    f.parallel(y)
    run = f.compile_to_callable([inp])
    given = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    for n in (1, 2, 3, 4, 9):
        out = np.zeros((64, 64), np.int32)
        with hl.limit_threads(n):
            run(given, out)
        assert np.array_equal(out, given * 2 + 1)


@pytest.mark.parametrize("n", [0, -1, 1025, 1.5, None, True, "2"])
def test_other_numbers_are_refused(n: Any) -> None:
    what = "the limit of threads is 1 to 1024"
    with pytest.raises(hl.ScheduleError, match=what), hl.limit_threads(n):
        pass
