"""Which stages are merged: the paper's Figures 3 and 4, and each rule by itself."""

from __future__ import annotations

import pytest

from parhelion import forma
from parhelion.forma.fuse import Fusion, fuse
from tests.forma.listings import BOUNDARY, COMPOSE, EXPOSURE, LISTINGS, PYRAMID

STENCILS = """\
stencil one(vector#1 float X) { return X + 1; }
stencil two(vector#1 float X, vector#1 float Y) { return X * Y; }
stencil around(vector#1 float X) { return X@[-1] + X@[1]; }
stencil moved(vector#1 float X) { return X@[1]; }
stencil half(vector#1 float X) { return X@[(1, 2)]; }
stencil both(vector#1 float X) { return X, -X; }
parameter M;
vector#1 float x[M];
"""


def fused(text: str) -> Fusion:
    return fuse(forma.check(STENCILS + text))


def names(fusion: Fusion) -> list[list[str]]:
    return [[stage.name for stage in group.stages] for group in fusion.groups]


def test_figure_3() -> None:
    """Two stages have one reader; once they are merged, two more have."""
    fusion = fused(
        "f = one(x); g = one(x); h1 = two(f, g); h2 = two(g, f); return two(h1, h2);"
    )
    passes = [[stage.name for stage in one] for one in fusion.passes]
    assert passes == [["h1", "h2"], ["f", "g"]]
    assert names(fusion) == [["f", "g", "h1", "h2", "two"]]


def test_figure_4() -> None:
    """Exposure fusion: from 11 stages to 3, from 10 buffers to 2."""
    graph = forma.check(EXPOSURE)
    before, after = fuse(graph, merging=False), fuse(graph)
    assert len(before.groups) == len(before.stages) == 11
    assert [group.name for group in after.groups] == [
        "weights1.grey",
        "weights2.grey",
        "combine",
    ]
    # The last group is stored in the caller's array, the others in buffers.
    assert [len(fusion.groups) - 1 for fusion in (before, after)] == [10, 2]


@pytest.mark.parametrize(
    "text, groups",
    [
        # One reader that reads the point.
        ("return one(one(x));", [["one", "one#2"]]),
        # Neighbours would be computed again.
        ("return around(one(x));", [["one"], ["around"]]),
        ("return one(around(x));", [["around", "one"]]),
        # Any one place will do, but for the conditions that read an edge again.
        ("return moved(one(x));", [["one", "moved"]]),
        ("return half(one(x));", [["one", "half"]]),
        ("return moved(one(x):constant(1));", [["one", "moved"]]),
        ("return moved(one(x):clamped);", [["one"], ["moved"]]),
        ("return one(one(x):clamped);", [["one", "one#2"]]),
        # Two readers; two places of one reader.
        ("f = one(x); return one(f), moved(f);", [["f"], ["one"], ["moved"]]),
        ("f = one(x); return two(f, moved(f));", [["f"], ["moved", "two"]]),
        ("f = one(x); return two(f, f);", [["f", "two"]]),
        # Of several results each counts, of one place.
        ("a, b = both(x); return two(a, b);", [["a", "two"]]),
        ("a, b = both(x); return two(a, moved(b));", [["a"], ["moved", "two"]]),
        # What is returned is stored.
        ("f = one(x); return f, one(f);", [["f"], ["one"]]),
        # Crops are no readers: what they are of is read.
        ("f = one(x); return two(f[0..3], f[0..3]);", [["f", "two"]]),
        ("f = one(x); return two(f[0..3], f[1..4]);", [["f"], ["two"]]),
        ("return one(one(x)[M/2..M/2+1]);", [["one", "one#2"]]),
        # Parts of composes, which are put together at each point or one by one.
        (
            "y = ( @[(0, 2)] = one(x); @[(1, 2)] = one(x); ); return one(y);",
            [["one", "one#2", "y", "one#3"]],
        ),
        (
            "f = one(x); y = ( @[(0, 2)] = f; @[(1, 2)] = f; ); return y;",
            [["f"], ["y"]],
        ),
        (
            "y = ( [0..] = one(x); [M..] = one(x); ); return one(y);",
            [["one", "one#2", "y"], ["one#3"]],
        ),
        ("y[3..] = one(x); return one(y);", [["one", "y", "one#2"]]),
        # A choice by the parity of a point that no number tells stays where it is.
        (
            "y = ( @[(0, 2)] = x; @[(1, 2)] = x; ); return one(y[M/2..M]);",
            [["y"], ["one"]],
        ),
    ],
)
def test_rules(text: str, groups: list[list[str]]) -> None:
    assert names(fused(text)) == groups


def test_listings() -> None:
    """The extrapolations of both parities become one stage each."""
    assert [group.periods for group in fuse(forma.check(COMPOSE)).groups] == [
        (2, 1),
        (1, 2),
    ]
    assert len(fuse(forma.check(BOUNDARY)).groups) == 1
    pyramid = fuse(forma.check(PYRAMID))
    assert len(pyramid.stages) == 27 and len(pyramid.groups) == 12


def test_without_merging_stages_are_groups() -> None:
    for text in LISTINGS.values():
        fusion = fuse(forma.check(text), merging=False)
        assert all([len(group.stages) <= 1 for group in fusion.groups])


def test_long_chains() -> None:
    """10,000 stages that are all read at one place, and nested composes."""
    text = "f<0> = x; for i = 1..4000 f<i> = one(f<i-1>); endfor return f<4000>;"
    assert len(fused(text).groups) == 1
    text = "f<0> = x; for i = 1..2000 f<i>[1..] = f<i-1>; endfor return f<2000>;"
    assert len(fused(text).groups) == 1
