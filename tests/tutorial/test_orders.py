"""In what order a schedule computes pixels, seen by tracing and by the loop nest."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import parhelion as hl

Capture = pytest.CaptureFixture[str]

x, y = hl.vars("x y")
xo, xi, yo, yi, t = hl.vars("xo xi yo yi t")


def visited(capsys: Capture, func: str) -> list[tuple[int, ...]]:
    """The points at which `func` was stored, in order."""
    pattern = re.compile(rf"Store {func}\.0\((.*)\) = ")
    lines = capsys.readouterr().out.splitlines()
    points = [m.group(1) for line in lines if (m := pattern.match(line))]
    return [tuple(int(i) for i in p.split(", ")) for p in points]


def row(j: int, n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n)]


ROWS = [p for j in range(4) for p in row(j, 4)]
TILES = [
    (2 * a + i, 2 * b + j)
    for b in range(2)
    for a in range(2)
    for j in range(2)
    for i in range(2)
]
COLUMNS = [(i, j) for i in range(4) for j in range(4)]


@pytest.mark.parametrize(
    ("schedule", "order", "nest"),
    [
        (lambda f: f, ROWS, ["for y:", "for x:"]),
        (lambda f: f.reorder(y, x), COLUMNS, ["for x:", "for y:"]),
        (
            lambda f: f.split(x, xo, xi, 2),
            ROWS,
            ["for y:", "for x.xo:", "for x.xi in [0, 1]:"],
        ),
        (lambda f: f.fuse(x, y, t), ROWS, ["for x.t:"]),
        (
            lambda f: f.tile(x, y, xo, yo, xi, yi, 2, 2),
            TILES,
            [
                "for y.yo:",
                "for x.xo:",
                "for y.yi in [0, 1]:",
                "for x.xi in [0, 1]:",
            ],
        ),
        (
            lambda f: f.split(x, xo, xi, 2).unroll(xi),
            ROWS,
            ["for y:", "for x.xo:", "unrolled x.xi in [0, 1]:"],
        ),
    ],
)
def test_one_func(
    schedule: Callable[[hl.Func], object],
    order: list[tuple[int, int]],
    nest: list[str],
    capsys: Capture,
) -> None:
    f = hl.Func("walked")
    f[x, y] = 10 * y + x
    f.trace_stores()
    schedule(f)
    f.realize([4, 4])
    name = f.name()
    assert visited(capsys, re.escape(name)) == order
    f.print_loop_nest()
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert shown == [
        f"produce {shown[0].split()[1]}",
        *nest,
        shown[-1],
    ]
    assert shown[-1].endswith("(...) = ...")


def test_a_factor_that_does_not_divide_the_width(capsys: Capture) -> None:
    f = hl.Func("shifted")
    f[x] = x
    f.trace_stores()
    f.split(x, xo, xi, 3)
    f.realize([7])
    # The last group begins earlier, so that it ends with the image.
    assert [i for (i,) in visited(capsys, "shifted")] == [0, 1, 2, 3, 4, 5, 4, 5, 6]


def test_tiles_in_parallel(capsys: Capture) -> None:
    f = hl.Func("shared")
    f[x, y] = x - y
    f.trace_stores()
    f.tile(x, y, xo, yo, xi, yi, 2, 2).fuse(xo, yo, t).parallel(t)
    out = f.realize([4, 4])
    assert isinstance(out, hl.Buffer)
    assert sorted(visited(capsys, "shared")) == sorted(TILES)
    assert out[3, 1] == 2


def two_stages(name: str) -> tuple[hl.Func, hl.Func]:
    """A stage that reads a square of four pixels of another."""
    made, used = hl.Func(f"made_{name}"), hl.Func(f"used_{name}")
    made[x, y] = x * x + y
    used[x, y] = made[x, y] + made[x + 1, y] + made[x, y + 1] + made[x + 1, y + 1]
    made.trace_stores()
    used.trace_stores()
    return made, used


def counts(capsys: Capture, name: str, used: hl.Func) -> tuple[int, str]:
    """How often the first stage is stored, and the order of the two, as letters."""
    out = used.realize([4, 3])
    assert isinstance(out, hl.Buffer)
    assert out[3, 2] == 9 + 2 + 16 + 2 + 9 + 3 + 16 + 3
    lines = capsys.readouterr().out.splitlines()[1:-1]
    order = ["m" if f"made_{name}" in line else "u" for line in lines]
    return order.count("m"), re.sub(r"(.)\1+", r"\1", "".join(order))


def test_inlined(capsys: Capture) -> None:
    _, used = two_stages("inline")
    assert counts(capsys, "inline", used) == (0, "u")


def test_all_at_once(capsys: Capture) -> None:
    made, used = two_stages("root")
    made.compute_root()
    assert counts(capsys, "root", used) == (5 * 4, "mu")


def test_for_each_row(capsys: Capture) -> None:
    made, used = two_stages("row")
    made.compute_at(used, y)
    assert counts(capsys, "row", used) == (3 * 5 * 2, "mu" * 3)


def test_for_each_row_keeping_the_last_one(capsys: Capture) -> None:
    made, used = two_stages("kept")
    made.store_root().compute_at(used, y)
    assert counts(capsys, "kept", used) == (5 * 4, "mu" * 3)


def test_for_each_pixel_keeping_all(capsys: Capture) -> None:
    made, used = two_stages("pixel")
    made.store_root().compute_at(used, x)
    stored, order = counts(capsys, "pixel", used)
    assert stored == 5 * 4
    assert order == "mu" * 12


def test_in_tiles_of_vectors(capsys: Capture) -> None:
    made, used = two_stages("mixed")
    used.split(y, yo, yi, 2, hl.TailStrategy.GuardWithIf).parallel(yo)
    used.vectorize(x, 4)
    made.store_at(used, yo).compute_at(used, yi).vectorize(x, 4)
    out = used.realize([8, 5])
    assert isinstance(out, hl.Buffer)
    assert out[7, 4] == 49 + 4 + 64 + 4 + 49 + 5 + 64 + 5
    lines = capsys.readouterr().out.splitlines()
    vectors = [line for line in lines if line.startswith("Store used_mixed.0(<")]
    assert len(vectors) == 2 * 5
    text = hl.Pipeline(used).loop_nest()
    for head in ("parallel y.yo", "store made_mixed", "vectorized x."):
        assert head in text, text
