"""Real pipelines, after every pass: well formed, and their text reads back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import parhelion as hl
from parhelion.ir.reader import read
from parhelion.ir.text import symbols_of, text
from parhelion.ir.verify import Form, verify
from parhelion.lower.passes import Trace, lower
from tests.support.spec import spec_of

Make = Callable[[], hl.Func]


def _blur(schedule: Callable[[hl.Func, hl.Func], object]) -> hl.Func:
    image = hl.ImageParam(hl.UInt(16), 2)
    x, y = hl.Var("x"), hl.Var("y")
    inside = hl.BoundaryConditions.repeat_edge(image)
    rows, out = hl.Func("rows"), hl.Func("out")
    rows[x, y] = (inside[x - 1, y] + inside[x, y] + inside[x + 1, y]) / 3
    out[x, y] = (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) / 3
    schedule(rows, out)
    return out


def _tiled(rows: hl.Func, out: hl.Func) -> None:
    x, y, xi, yi = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi")
    out.tile(x, y, xi, yi, 64, 16).vectorize(xi, 8).parallel(y)
    rows.compute_at(out, x).vectorize(x, 8)


def _sliding(rows: hl.Func, out: hl.Func) -> None:
    x, y = hl.Var("x"), hl.Var("y")
    out.vectorize(x, 8)
    rows.store_root().compute_at(out, y).unroll(x, 4)


def _histogram() -> hl.Func:
    image = hl.ImageParam(hl.UInt(8), 2)
    x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")
    counts, out = hl.Func("counts"), hl.Func("out")
    r = hl.RDom([(0, 64), (0, 48)])
    counts[i] = 0
    counts[image[r.x, r.y]] += 1
    out[x, y] = hl.cast(hl.UInt(8), counts[hl.cast(hl.Int(32), image[x, y])] % 256)
    counts.compute_root()
    out.vectorize(x, 8)
    return out


def _pair() -> hl.Func:
    x = hl.Var("x")
    f, out = hl.Func("f"), hl.Func("out")
    f[x] = (hl.cast(hl.Float(32), x), hl.cast(hl.UInt(8), x))
    out[x] = hl.select(x > 3, hl.exp(f[x][0]), f[x + 1][1] * 0.5)
    f.compute_root()
    return out


def _foreign() -> hl.Func:
    x, y = hl.Var("x"), hl.Var("y")
    g, e, out = hl.Func("g"), hl.Func("e"), hl.Func("out")
    image = hl.ImageParam(hl.UInt(8), 2)
    g[x, y] = (x, hl.f32(y))
    types = [hl.Int(32), hl.UInt(8)]
    e.define_extern("abs", [g, 3, image], types, [x, y])
    out[x, y] = e[x, y][0] + e[x, y + 1][1]
    g.compute_root()
    e.compute_at(out, y)
    return out


PIPELINES: dict[str, Make] = {
    "inlined": lambda: _blur(lambda rows, out: None),
    "root": lambda: _blur(lambda rows, out: rows.compute_root()),
    "tiled": lambda: _blur(_tiled),
    "sliding": lambda: _blur(_sliding),
    "histogram": _histogram,
    "pair": _pair,
    "foreign": _foreign,
}


@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
def test_after_every_pass(make: Make) -> None:
    trace = Trace()
    lower(spec_of(make()), name="pipeline", trace=trace)
    steps = list(trace)
    assert steps[0][0] == "loop_nests"
    form = Form.NESTS
    for k, (name, body, _) in enumerate(steps):
        if name == "flatten_storage":
            form = Form.FLAT
        if k == len(steps) - 1:
            form = Form.FINAL
        verify(body, form, after=name)
        assert read(text(body), symbols_of(body)) is body
