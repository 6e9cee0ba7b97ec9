"""No schedule is worse than none: look-ups one by one, no threads for what is small,
and schedules with less in them among those that ``measure=N`` runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule import driver, trials
from parhelion.autoschedule.result import AutoSchedulerResults
from tests.support.checking import check

x, y, i = hl.vars("x y i")


def look_up(of: hl.Type, clamped: bool = False) -> hl.Func:
    """Levels through a table."""
    size = 1000 if clamped else 256
    rng = np.random.default_rng(3)
    kind = {8: np.uint8, 16: np.uint16, 32: np.float32}[of.bits()]
    table = hl.Buffer(rng.integers(0, 200, size).astype(kind))
    levels = hl.ImageParam(hl.UInt(16 if clamped else 8), 2, "levels")
    levels.set(rng.integers(0, 255, (40, 70)).astype("u2" if clamped else "u1"))
    at, out = hl.i32(levels[x, y]), hl.Func("out")
    out[x, y] = table[hl.clamp(at, 0, size - 1) if clamped else at]
    return out


def schedule(out: hl.Func, extents: list[int], threads: int) -> str:
    result = hl.autoschedule(out, extents, inputs={}, parallelism=threads)
    text = result.to_python()
    result.undo()
    return text


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("threads", [1, 2])
def test_look_ups_of_one_load_are_done_one_by_one(bits: int, threads: int) -> None:
    """A vector of them takes 0.35 ms for 1024 x 1024 floats, a scalar loop 0.29."""
    of = hl.Float(32) if bits == 32 else hl.UInt(bits)
    text = schedule(look_up(of), [1024, 1024], threads)
    assert "vectorize" not in text
    assert text.count(".parallel(") == 1


def test_what_is_computed_of_places_keeps_its_vectors() -> None:
    """Scalar code clamps one place at a time: 0.56 ms beside 0.28."""
    text = schedule(look_up(hl.UInt(8), clamped=True), [1024, 1024], 1)
    assert ".vectorize(" in text


def test_look_ups_among_arithmetic_keep_their_vectors() -> None:
    inner, out = look_up(hl.Float(32)), hl.Func("more")
    value: hl.Expr | hl.FuncRef = inner[x, y]
    for k in range(12):
        value = hl.sqrt(value + k)
    out[x, y] = value
    assert ".vectorize(" in schedule(out, [1024, 1024], 1)


def test_look_ups_one_by_one_are_right() -> None:
    def scheduled(out: hl.Func) -> None:
        hl.autoschedule(out, [1024, 1024], parallelism=2)

    check(lambda: look_up(hl.UInt(16)), [70, 40], [scheduled])


def test_small_images_are_left_to_one_thread() -> None:
    """Other threads would wake up when it is done."""
    picture, out = hl.ImageParam(hl.Float(32), 2, "picture"), hl.Func("out")
    out[x, y] = picture[x, y] + picture[x + 1, y] + picture[x, y + 1]
    assert ".parallel(" not in schedule(out, [64, 64], 2)
    assert ".parallel(" in schedule(out, [2048, 2048], 2)


def chain() -> tuple[hl.Func, hl.Func]:
    first, out = hl.Func("first"), hl.Func("out")
    first[x, y] = hl.f32(x * 3 + y)
    out[x, y] = first[x, y] + first[x, y + 1]
    return first, out


def timed(
    monkeypatch: pytest.MonkeyPatch, out: hl.Func, best: int
) -> tuple[str, tuple[str, ...]]:
    """What `measure=2` leaves if run number `best` is the fastest: the directives, and
    the notes."""
    ran: list[int] = []

    def seconds(pipeline: hl.Pipeline, outputs: list[hl.Buffer]) -> float:
        ran.append(1)
        return 1e-3 if len(ran) == best else 2e-3

    monkeypatch.setattr(trials, "_seconds", seconds)
    result = hl.autoschedule(out, [500, 400], measure=2, parallelism=2)
    assert len(ran) == 4
    return result.to_python(), tuple(result.notes)


def test_the_same_without_threads_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    text, notes = timed(monkeypatch, chain()[1], 3)
    assert ".vectorize(" in text and ".parallel(" not in text
    assert notes == (
        "the same without parallel loops: what was found has more in it",
        "measured, by predicted cost: 2 ms, 2 ms; with less in them: 1 ms, 2 ms;"
        " number 3 was the fastest",
    )


def test_no_schedule_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    _, out = chain()
    text, notes = timed(monkeypatch, out, 4)
    assert "out." not in text and "first." not in text
    assert notes[0] == "no schedule: what was found has more in it"
    at = np.arange(30) * 3 + np.arange(20)[:, None]
    assert np.array_equal(np.asarray(out.realize([30, 20])), 2 * at + 1)


def test_what_would_run_for_long_is_not_measured_bare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A histogram inside of each pixel is not tried, nor is a stencil of stencils."""
    levels = hl.ImageParam(hl.UInt(8), 2, "levels")
    count, equal = hl.Func("count"), hl.Func("equal")
    r = hl.RDom([(0, 500), (0, 400)], "r")
    count[i] = 0
    count[levels[r.x, r.y]] += 1
    equal[x, y] = count[levels[x, y]]
    blurred = chain()[1]
    for k in range(4):
        more = hl.Func(f"more{k}")
        more[x, y] = sum(
            (blurred[x + a, y + b] for a in range(5) for b in range(5)), hl.f32(0)
        )
        blurred = more
    seen: list[Sequence[AutoSchedulerResults]] = []

    def first(
        candidates: Sequence[AutoSchedulerResults], *_: object
    ) -> AutoSchedulerResults:
        seen.append(candidates)
        return candidates[0]

    monkeypatch.setattr(driver, "fastest", first)
    for out in (chain()[1], equal, blurred):
        hl.autoschedule(out, [500, 400], measure=2, parallelism=2)
    bare = [any(not c.script.calls for c in candidates) for candidates in seen]
    assert bare == [True, False, False]
