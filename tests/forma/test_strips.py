"""The scheduler `Strips`: what it computes in lines of what, and why not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from apps.forma.programs import PROGRAMS
from parhelion import forma
from parhelion.forma.check import check, check_file
from parhelion.forma.fuse import fuse
from parhelion.forma.strips import Strips, strips
from tests.forma.compare import difference
from tests.forma.draw import draw
from tests.forma.listings import BLUR, SAMPLING
from tests.forma.support import assert_same


def found(text: str) -> Strips:
    graph = check(text)
    return strips(graph, fuse(graph))


def test_canny() -> None:
    graph = check_file(PROGRAMS["canny"].path)
    (band,) = strips(graph, fuse(graph)).bands
    assert band.root.name == "connect"
    assert [one.group.name for one in band.lines] == [
        "gauss_x",
        "blurred",
        "slope",
        "edges",
    ]
    program = forma.compile(PROGRAMS["canny"].path)
    report = program.report(
        image=np.zeros((512, 256), np.int16), low=np.int32(1), high=np.int32(2)
    )
    for name in ("gauss_x", "blurred", "slope", "edges"):
        told = report[program.funcs[name].name()]
        assert told.recomputed < 1.2, name
        # As many lines as are read at once, not those of a strip.
        (fold,) = told.folds
        assert int(fold.removeprefix("y: ")) <= 16, name


def test_small_stencils_are_computed_where_they_are_read() -> None:
    assert str(found(BLUR)) == (
        "blurx: inline, in what reads it\nblury: whole, 4 lines at once"
    )


def test_scales() -> None:
    """Of a domain that is sampled, two lines belong to one; of one that is
    extrapolated, one to two."""
    text = """
        stencil far(vector#2 float X) { return X@[-9,-1] + X@[9,1] + X@[9,2]; }
        stencil half(vector#2 float X) { return X@[(0,2),(0,2)] + X@[(1,2),(1,2)]; }
        stencil same(vector#2 float X) { return X@[-1,-1] + X@[1,1]; }
        vector twice(vector#2 float X) {
          return (@[0,(0,2)] = same(X:clamped); @[0,(1,2)] = far(X:clamped););
        }
        parameter M, N; vector#2 float x[M, N];
        return same(half(far(x:clamped)):clamped), same(twice(far(x:clamped)):clamped);
    """
    rates = [
        [(one.group.name, one.rate) for one in band.lines] for band in found(text).bands
    ]
    assert [[float(rate) for _, rate in band] for band in rates] == [
        [2.0, 1.0],
        [0.5, 1.0],
    ]
    for m, n in ((2, 2), (3, 7), (40, 33)):
        assert_same(forma.compile(text, strict_float=True), M=m, N=n)


@pytest.mark.parametrize(
    "pipeline, why",
    [
        ("return f(f(x):wrap);", "it is read from both ends at once"),
        ("a = f(x); return f(a), f(f(a:clamped));", "several read it"),
        ("a = f(x); b = f(a)[0..M-1, N/2..N-1]; return f(b);", "no number"),
        ("a = f(x); return ([0..,0..] = f(a); [M..,0..] = f(a););", "part after part"),
        ("return g(f(x):clamped);", "computed twice"),
    ],
)
def test_why_not(pipeline: str, why: str) -> None:
    text = f"""
        stencil f(vector#2 int X) {{ return X@[-1,-1] + X@[1,0] + X@[0,1]; }}
        stencil g(vector#2 int X) {{ return X@[-1,-30] + X@[1,30]; }}
        parameter M, N; vector#2 int x[M, N]; {pipeline}
    """
    assert why in str(found(text))
    assert_same(forma.compile(text), M=70, N=80)


def test_a_band_has_so_many_groups() -> None:
    """Those that are next to its root are in lines, the one before begins another."""
    chain = "f(" * 20 + "x" + ":clamped)" * 20
    text = f"""
        stencil f(vector#2 int X) {{ return X@[-1,0] + X + X@[1,0]; }}
        parameter M, N; vector#2 int x[M, N]; return {chain};
    """
    bands = found(text).bands
    assert [len(band.lines) for band in bands] == [5, 6, 6]
    assert "many groups" in str(found(text))


def test_large_programs_are_stored_whole() -> None:
    graph = check_file(PROGRAMS["exposure_pyramid"].path)
    fusion = fuse(graph)
    made = strips(graph, fusion)
    assert len(made.bands) == len(fusion.groups) > 100
    assert not any([band.lines or band.inline for band in made.bands])
    assert "the program is large" in str(made)


def test_the_papers_scheduler_stores_each_group() -> None:
    program = forma.compile(BLUR, scheduler="Forma")
    assert program.strips is None
    image = np.zeros((64, 64), np.float32)
    assert program.report(image)[program.funcs["blurx"].name()].produced == 1


@pytest.mark.parametrize("first", range(101, 125, 8))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 8):
        drawn = draw(seed)
        told = difference(drawn, "Strips")
        assert not told, f"{told}\n{drawn.text}"


@pytest.mark.parametrize("text, width", [(SAMPLING, 32771), (BLUR, 16390)])
def test_rows_of_more_points_than_a_strip_has(text: str, width: int) -> None:
    assert_same(forma.compile(text, strict_float=True), M=width, N=5)


def test_strips_store_no_more_rows_than_they_have() -> None:
    """How many they have depends on the width: not the most for any width."""
    text = PROGRAMS["rician_3d"].path.read_text()
    lowered = forma.compile(text).pipeline.lowered_text()
    stored = re.findall(
        r"allocate \S+\[float32 \* \S+ \* \S+ \* (.*)\] in heap", lowered
    )
    assert len(stored) >= 8
    assert [size for size in stored if size.isdigit()] == []
