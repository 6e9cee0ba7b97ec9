"""Scans that go on where the iteration before of a loop around them has ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")
WIDTH, HEIGHT = 96, 8
IMAGE = np.random.default_rng(5).integers(0, 9, (HEIGHT, WIDTH)).astype(np.int32)


def sums(after: bool = False, pure: bool = False) -> tuple[hl.Func, hl.Func, hl.RDom]:
    """Sums along rows, and what reads them."""
    image, rows, out = hl.Buffer(IMAGE), hl.Func("rows"), hl.Func("out")
    r = hl.RDom([(0, WIDTH)], "r")
    rows[x, y] = hl.i32(0) if pure else hl.undef(hl.Int(32))
    if not pure:
        rows[-1, y] = hl.i32(0)
    rows[r.x, y] = rows[r.x - 1, y] + image[r.x, y]
    if after:
        rows[x, y] *= 2
    out[x, y] = rows[x, y]
    return rows, out, r


def stored(out: hl.Func, wanted: Any) -> int:
    """How many points of the scan are computed for the result, starts left out."""
    assert np.array_equal(np.asarray(out.realize([WIDTH, HEIGHT])), wanted)
    events = [e for e in out.trace([WIDTH, HEIGHT]) if e.func == "rows"]
    return len([e for e in events if e.kind == "store" and e.coordinates[0] >= 0])


def in_strips(out: hl.Func, rows: hl.Func, width: int) -> None:
    """The result in strips of columns, the scan computed for one after the other."""
    xo, xi = hl.Var("xo"), hl.Var("xi")
    out.split(x, xo, xi, width).reorder(xi, xo, y)
    rows.store_at(out, y).compute_at(out, xo)


@pytest.mark.parametrize("width", [8, 16, 28])
def test_each_point_is_computed_once(width: int) -> None:
    """Of whole strips, and of those of which the last is shifted inwards."""
    rows, out, _ = sums()
    in_strips(out, rows, width)
    assert stored(out, np.cumsum(IMAGE, 1)) == WIDTH * HEIGHT


def test_in_vectors_along_the_scan() -> None:
    rows, out, r = sums()
    in_strips(out, rows, 32)
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    rows.update(0).unscheduled()
    rows.update(1).atomic().split(r.x, ro, ri, 8).vectorize(ri)
    assert stored(out, np.cumsum(IMAGE, 1)) == WIDTH * HEIGHT


def test_points_that_nothing_reads_are_computed_where_the_scan_needs_them() -> None:
    """The strips read every fourth point, and none of the last third."""
    rows, out, _ = sums()
    some = hl.Func("some")
    some[x, y] = rows[4 * x, y]
    xo, xi = hl.Var("xo"), hl.Var("xi")
    some.split(x, xo, xi, 4).reorder(xi, xo, y)
    rows.store_at(some, y).compute_at(some, xo)
    wanted = np.cumsum(IMAGE, 1)[:, : 4 * 16 : 4]
    assert np.array_equal(np.asarray(some.realize([16, HEIGHT])), wanted)
    events = [e for e in some.trace([16, HEIGHT]) if e.func == "rows"]
    done = [e for e in events if e.kind == "store" and e.coordinates[0] >= 0]
    assert len(done) == (4 * 15 + 1) * HEIGHT


def test_producers_are_computed_for_what_is_left() -> None:
    image, g = hl.Buffer(IMAGE), hl.Func("g")
    rows, out, r = hl.Func("rows"), hl.Func("out"), hl.RDom([(0, WIDTH)], "r")
    g[x, y] = image[x, y] + 1
    rows[x, y] = hl.undef(hl.Int(32))
    rows[-1, y] = hl.i32(0)
    rows[r.x, y] = rows[r.x - 1, y] + g[r.x, y]
    out[x, y] = rows[x, y]
    in_strips(out, rows, 16)
    g.compute_at(out, hl.Var("xo"))
    assert np.array_equal(
        np.asarray(out.realize([WIDTH, HEIGHT])), np.cumsum(IMAGE + 1, 1)
    )
    events = [e for e in out.trace([WIDTH, HEIGHT]) if e.func == "g"]
    assert len([e for e in events if e.kind == "store"]) == WIDTH * HEIGHT


@pytest.mark.parametrize("after, pure", [(True, False), (False, True)])
def test_what_is_more_than_a_scan_is_computed_anew(after: bool, pure: bool) -> None:
    """Where a later update changes what the scan would go on from, or the pure
    definition gives all points a value."""
    rows, out, _ = sums(after, pure)
    in_strips(out, rows, 16)
    wanted = np.cumsum(IMAGE, 1) * (2 if after else 1)
    assert stored(out, wanted) > 2 * WIDTH * HEIGHT


def test_a_scan_against_the_strips_is_computed_anew() -> None:
    image, rows, out = hl.Buffer(IMAGE), hl.Func("rows"), hl.Func("out")
    r = hl.RDom([(0, WIDTH)], "r")
    at = WIDTH - 1 - r.x
    rows[x, y] = hl.undef(hl.Int(32))
    rows[WIDTH, y] = hl.i32(0)
    rows[at, y] = rows[at + 1, y] + image[at, y]
    out[x, y] = rows[x, y]
    in_strips(out, rows, 16)
    wanted = np.cumsum(IMAGE[:, ::-1], 1)[:, ::-1]
    assert stored(out, wanted) > 2 * WIDTH * HEIGHT
