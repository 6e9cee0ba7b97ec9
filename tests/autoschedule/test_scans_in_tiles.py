"""Scans with few and long lines: automatic schedules put them into tiles."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y, c = hl.vars("x y c")
POINTS = 20_000


def pipeline(t: Any, lines: int = 2, points: int = POINTS) -> tuple[hl.Func, hl.Func]:
    """A scan of lines, and what reads it."""
    rng = np.random.default_rng(3)
    image = hl.Buffer(rng.integers(0, 9, (lines, points)).astype(t))
    f, out = hl.Func("f"), hl.Func("out")
    r = hl.RDom([(2, points - 2)], "r")
    f[x, y] = image[x, y]
    f[r, y] = f[r, y] - f[r - 2, y]
    out[x, y] = f[x, y] * 2 + image[x, y]
    return f, out


def values(out: hl.Func, lines: int = 2, points: int = POINTS) -> np.ndarray[Any, Any]:
    return np.asarray(out.realize([points, lines]))


def wanted(t: Any, lines: int = 2) -> np.ndarray[Any, Any]:
    f, out = pipeline(t, lines)
    f.compute_root()
    return values(out, lines)


def test_integers_are_put_into_tiles() -> None:
    f, out = pipeline(np.int32)
    found = hl.autoschedule(out, [POINTS, 2])
    assert "tile_scan(r_x, 1024)" in found.to_python()
    assert (
        "the scan of f.update(0) along r.x is computed in tiles of 1024 points, as it"
        " has 2 lines of 19998 points"
    ) in str(found.explain())
    assert "have no schedule yet" in found.to_python()
    assert (values(out) == wanted(np.int32)).all()
    scheduled = f._function.updates
    found.undo()
    assert f._function.updates is not scheduled
    assert f._function.updates[0].original is None
    found.apply()
    assert (values(out) == wanted(np.int32)).all()


def test_floats_only_with_consent() -> None:
    for told, tiled in ((None, False), (False, False), (True, True), ("true", True)):
        _, out = pipeline(np.float32)
        found = hl.autoschedule(out, [POINTS, 2], reassociate=told)
        assert ("tile_scan(r_x, 1024, True)" in found.to_python()) is tiled
        said = "with reassociate=True it would be computed in tiles"
        assert (said in str(found.explain())) is not tiled
        assert np.abs(values(out) - wanted(np.float32)).max() < 0.1


def test_strict_floats_stay_whole() -> None:
    _, out = pipeline(np.float32)
    target = hl.get_host_target().with_feature(hl.TargetFeature.StrictFloat)
    found = hl.autoschedule(out, [POINTS, 2], target=target, reassociate=True)
    assert "tile_scan" not in found.to_python()


@pytest.mark.parametrize("lines, points", [(16, POINTS), (2, 16_383)])
def test_many_or_short_lines_stay_whole(lines: int, points: int) -> None:
    _, out = pipeline(np.int32, lines, points)
    found = hl.autoschedule(out, [points, lines])
    assert "tile_scan" not in found.to_python()
    assert "tiles of 1024" not in str(found.explain())


def test_the_program_that_is_printed_does_the_same() -> None:
    _, out = pipeline(np.int32)
    text = hl.autoschedule(out, [POINTS, 2]).to_python()
    f, again = pipeline(np.int32)
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102
    scope["schedule"](hl.Pipeline([again]))
    assert f._function.updates[0].directive == "tile_scan"
    assert (values(again) == wanted(np.int32)).all()


def test_what_other_schedules_do_stays() -> None:
    f, out = pipeline(np.int32)
    f.compute_root().update().parallel(y)
    found = hl.autoschedule(out, [POINTS, 2])
    assert "tile_scan" not in found.to_python()
    _, out = pipeline(np.int32)
    found = hl.autoschedule(out, [POINTS, 2], scheduler="Mullapudi2016")
    assert "tile_scan" not in found.to_python()


def test_scans_that_tiles_cannot_compute_are_told_of() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, POINTS - 1), (0, 2)], "r")
    f[x] = x
    f[r.x] += f[r.x - 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = hl.autoschedule(f, [POINTS])
    assert "stays in whole lines (f.update(0).tile_scan: lines are scanned" in str(
        found.explain()
    )


def test_measured_schedules_and_alternatives() -> None:
    _, out = pipeline(np.int32)
    found = hl.autoschedule(out, [POINTS, 2], measure=2)
    assert "tile_scan" in found.to_python()
    assert (values(out) == wanted(np.int32)).all()
    for decision in found.explain().decisions:
        if decision.runner_up is not None and decision.runner_up.make is not None:
            other = found.alternative(decision)
            other.apply()
            assert "tile_scan" in other.to_python()
            assert (values(out) == wanted(np.int32)).all()


def test_several_scans() -> None:
    f, out = hl.Func("f"), hl.Func("out")
    r = hl.RDom([(1, POINTS - 1)], "r")
    f[x] = hl.u32(x)
    f[r] += f[r - 1]
    f[POINTS - 1 - r] += f[POINTS - r]
    out[x] = f[x] + 1
    hl.autoschedule(out, [POINTS])
    assert [d.directive for d in f._function.updates] == ["", "tile_scan"]
    once = np.arange(POINTS, dtype=np.uint32).cumsum(dtype=np.uint32)
    twice = once[::-1].cumsum(dtype=np.uint32)[::-1]
    assert (np.asarray(out.realize([POINTS])) == twice + np.uint32(1)).all()
