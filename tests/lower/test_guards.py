"""What a branch of a select reads is needed only where the branch is taken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from tests.support.checking import check

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
ALL = [
    lambda f: f.vectorize(x, 8),
    lambda f: f.vectorize(x, 4, hl.TailStrategy.GuardWithIf),
    lambda f: f.unroll(x, 3),
    lambda f: f.parallel(x, 5),
]


def needed(f: hl.Func, image: hl.ImageParam, sizes: list[int]) -> list[tuple[int, int]]:
    """(min, max) of each dimension that `f` over `sizes` reads of an image."""
    f.infer_input_bounds(sizes)
    made = image.get()
    image.reset()
    return [(made.dim(d).min(), made.dim(d).max()) for d in range(made.dimensions())]


def images(*names: str, type: hl.Type | None = None) -> list[hl.ImageParam]:
    return [hl.ImageParam(type or hl.Int(32), 1, n) for n in names]


def test_each_branch_has_its_own_region() -> None:
    a, b = images("a", "b")
    f = hl.Func("f")
    f[x] = hl.select(x < 10, a[x], b[x - 10])
    f.infer_input_bounds([25])
    assert (a.get().dim(0).min(), a.get().dim(0).max()) == (0, 9)
    assert (b.get().dim(0).min(), b.get().dim(0).max()) == (0, 14)


@pytest.mark.parametrize("t", [hl.UInt(8), hl.Int(32), hl.Float(64)])
def test_images_of_just_that_size(t: hl.Type) -> None:
    """Where nothing is read nothing need be there."""
    left = hl.Buffer(np.arange(10).astype(t.to_numpy()), name="left")
    right = hl.Buffer(np.arange(100, 115).astype(t.to_numpy()), name="right")

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = hl.select(x < 10, left[x], right[x - 10])
        return f

    (got,) = check(make, [25], ALL)
    assert got.tolist() == [*range(10), *range(100, 115)]


def test_a_part_that_takes_one_branch_only() -> None:
    left = hl.Buffer(np.arange(10, dtype=np.int32), name="left")
    right = hl.Buffer(np.arange(100, 115, dtype=np.int32), name="right")

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = hl.select(x < 10, left[x], right[x - 10])
        return f

    check(make, [4], ALL[2:], mins=[2])
    check(make, [9], ALL, mins=[12])


def test_funcs_are_computed_where_they_are_used() -> None:
    """The producers' storage is for their part; loads beyond it do not happen."""

    def make() -> tuple[hl.Func, hl.Func, hl.Func]:
        f, low, high = hl.Func("f"), hl.Func("low"), hl.Func("high")
        low[x] = x * x
        high[x] = x + 1000
        f[x] = hl.select(x <= 12, low[x] + low[x - 1], high[x - 13] * 2)
        low.compute_root()
        high.compute_root()
        return f, low, high

    f, low, _ = make()
    text = hl.Pipeline(f).lowered_text()
    f.bound(x, 0, 40)
    assert "let low.x.max = 12" in text or "min(" in text
    check(
        make,
        [40],
        [
            lambda f, low, high: f.vectorize(x, 8),
            lambda f, low, high: (low.vectorize(x, 4), f.parallel(x, 7)),
            lambda f, low, high: (
                f.split(x, x, c, 8),
                low.compute_at(f, x),
                high.compute_at(f, x),
            ),
            lambda f, low, high: low.store_root().compute_at(f, x),
        ],
    )


NEVER = [
    lambda image: image,
    hl.BoundaryConditions.repeat_edge,
    hl.BoundaryConditions.repeat_image,
    hl.BoundaryConditions.mirror_image,
    hl.BoundaryConditions.mirror_interior,
    lambda image: hl.BoundaryConditions.constant_exterior(image, 3),
]


@pytest.mark.parametrize("bounded", NEVER)
@pytest.mark.parametrize("start", [3, 30, -20])
def test_a_condition_that_never_holds(
    bounded: Callable[[hl.Buffer], hl.Func | hl.Buffer], start: int
) -> None:
    """Funcs that nobody reads are computed nowhere, and ask nothing of the image."""
    image = hl.Buffer(np.arange(9, dtype=np.uint16), name="image")
    source = bounded(image)

    def make() -> tuple[hl.Func, hl.Func, hl.Func]:
        f, middle, first = hl.Func("f"), hl.Func("middle"), hl.Func("first")
        first[x] = source[x] + 1
        middle[x] = first[x - 1] + first[(x + 1) / 2]
        f[x] = hl.select((x >= start) & (x <= start - 2), middle[x], 7)
        return f, middle, first

    check(
        make,
        [9],
        [
            lambda f, middle, first: first.compute_root(),
            lambda f, middle, first: middle.compute_root().vectorize(x, 4),
            lambda f, middle, first: (
                middle.compute_root().parallel(x),
                first.compute_at(middle, x),
            ),
            lambda f, middle, first: (
                f.split(x, x, c, 4),
                middle.compute_at(f, x),
                first.store_root().compute_at(f, x).vectorize(x, 8),
            ),
        ],
    )


@pytest.mark.parametrize("bounded", NEVER)
def test_a_condition_that_never_holds_of_numbers(
    bounded: Callable[[hl.ImageParam], hl.Func | hl.ImageParam],
) -> None:
    """The same, where the regions are numbers: a table is read."""
    (image,) = images("image", type=hl.UInt(16))
    image.set(np.arange(9, dtype=np.uint16))
    source = bounded(image)

    def make() -> tuple[hl.Func, hl.Func, hl.Func]:
        out, table, first = hl.Func("out"), hl.Func("table"), hl.Func("first")
        first[x] = source[x] + source[x + 1]
        table[x] = hl.select((x >= 30) & (x <= 20), first[x], hl.cast(hl.UInt(16), x))
        out[x] = table[hl.clamp(hl.cast(hl.Int(32), image[x]), 1, 40)]
        table.compute_root()
        return out, table, first

    check(
        make,
        [9],
        [
            lambda out, table, first: first.compute_root(),
            lambda out, table, first: table.vectorize(x, 8),
            lambda out, table, first: first.compute_at(table, x),
        ],
    )


@pytest.mark.parametrize("row", [2, 5])
def test_a_condition_that_inlining_decides(row: int) -> None:
    """Inlined at a number, a condition speaks of no coordinate; what it excludes is
    asked of no image all the same (found by the fuzzer)."""
    image = hl.Buffer(np.arange(12, dtype=np.uint16).reshape(2, 6), name="image")

    def make() -> tuple[hl.Func, hl.Func, hl.Func]:
        out, chosen, first = hl.Func("out"), hl.Func("chosen"), hl.Func("first")
        first[x, y] = image[x, y] + 1
        never = hl.likely((y >= 4) & (y <= 3))
        chosen[x, y] = hl.select(never, first[x, y - row], y >= row, image[x, y], 0)
        out[x] = hl.select((x >= 2) & (x <= 4), chosen[x + 1, row - 4], 54)
        return out, chosen, first

    check(
        make,
        [5],
        [
            lambda out, chosen, first: first.compute_root(),
            lambda out, chosen, first: chosen.compute_root(),
            lambda out, chosen, first: (chosen.compute_root(), first.compute_root()),
            lambda out, chosen, first: out.vectorize(x, 4),
        ],
    )


def test_a_condition_that_inlining_decides_in_part() -> None:
    """One half of it is about numbers then, and settles the whole (found by the
    fuzzer: of what nobody reads, more was asked for than is there)."""
    image = hl.Buffer(np.zeros((1, 1), dtype=np.int32), name="image")

    def make() -> tuple[hl.Func, hl.Func, hl.Func]:
        out, chosen, never = hl.Func("out"), hl.Func("chosen"), hl.Func("never")
        never[x, y] = image[x, y]
        chosen[x, y] = hl.select((y < 7) | (x > 7), x + y, never[x, y])
        out[x] = chosen[x, 1] + chosen[x, 2]
        return out, chosen, never

    check(
        make,
        [12],
        [
            lambda out, chosen, never: never.compute_root(),
            lambda out, chosen, never: chosen.compute_root(),
            lambda out, chosen, never: (chosen.compute_root(), never.compute_root()),
        ],
    )


def test_what_is_read_never_does_not_stretch_what_is_read() -> None:
    """Of two reads of a Func one never happens, a hundred pixels away."""
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f, g = hl.Func("f"), hl.Func("g")
    g[x] = image[x]
    g.compute_root()
    f[x] = hl.select((x > 5) & (x < 3), g[x + 100], g[x])
    assert needed(f, image, [8]) == [(0, 7)]


def test_nested_and_combined_conditions() -> None:
    image = hl.ImageParam(hl.Int(32), 2, "image")
    f = hl.Func("f")
    inside = (x >= 3) & (x < 8)
    f[x, y] = hl.select(inside, hl.select(y > 2, image[x, y], 0), -1)
    assert needed(f, image, [20, 10]) == [(3, 7), (3, 9)]
    g = hl.Func("g")
    outside = (x < 3) | (x >= 8)
    g[x, y] = hl.select(outside, 0, image[x - 3, y])
    assert needed(g, image, [20, 10]) == [(0, 4), (0, 9)]


def test_a_condition_on_an_rvar_and_on_a_param() -> None:
    image, edge = hl.ImageParam(hl.Int(32), 1, "image"), hl.Param(hl.Int(32), "edge")
    edge.set(6)
    r = hl.RDom([(0, 20)])
    f = hl.Func("f")
    f[x] = 0
    f[x] += hl.select(r.x < edge, image[r.x], 1)
    assert needed(f, image, [3]) == [(0, 5)]
    image.set(np.arange(6, dtype=np.int32))
    assert np.asarray(f.realize([3])).tolist() == [15 + 14] * 3


def test_mux_reads_what_it_chooses() -> None:
    planes = [hl.ImageParam(hl.Int(32), 2, f"plane{i}") for i in range(3)]
    f = hl.Func("f")
    f[x, c] = hl.mux(c, [p[x, c] for p in planes])
    f.infer_input_bounds([5, 4])
    sides = [(p.get().dim(1).min(), p.get().dim(1).max()) for p in planes]
    # Of the last, that c is neither 0 nor 1 says nothing about an interval in general.
    assert sides == [(0, 0), (1, 1), (0, 3)]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("data", [False, True])
def test_a_func_inlined_where_it_is_clamped_or_looked_up(
    data: bool, twice: bool
) -> None:
    """It needs no more of an image than it would in loops of its own."""
    image = hl.ImageParam(hl.Int(32), 1, "image")
    place = hl.Buffer(np.arange(20, dtype=np.uint8) * 7 % 23, name="place")

    def make(image: hl.ImageParam | hl.Buffer) -> tuple[hl.Func, hl.Func]:
        f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
        g[x] = hl.select(hl.likely((x >= 3) & (x < 9)), image[x + 2], 66)
        h[x] = g[hl.min(x, 18)] + g[x] if twice else g[x]
        at = hl.cast(hl.Int(32), place[x]) if data else x
        f[x] = h[hl.clamp(at, 1, 20) + 1] + x
        return f, h

    for root in (False, True):
        f, h = make(image)
        if root:
            h.compute_root()
        assert needed(f, image, [20]) == [(5, 10)]
    pixels = hl.Buffer(np.arange(100, 106, dtype=np.int32), name="pixels")
    pixels.set_min([5])
    every = [lambda f, _, one=one: one(f) for one in ALL]
    check(lambda: make(pixels), [20], [*every, lambda _, h: h.compute_root()])


def test_guards_inside_of_guards() -> None:
    """A Func that has such reads is inlined again at coordinates of that kind."""
    image = hl.ImageParam(hl.Int(32), 2, "image")
    pixels = np.arange(12 * 14, dtype=np.int32).reshape(14, 12)

    def make(image: hl.ImageParam | hl.Buffer) -> tuple[hl.Func, ...]:
        f, g, h, p = hl.Func("f"), hl.Func("g"), hl.Func("h"), hl.Func("p")
        p[x] = x % 13
        g[x, y] = hl.select(x < 9, image[x, y], 1)
        h[x, y] = hl.select(y < 6, g[hl.clamp(p[y], 2, 11), y], 2)
        f[x, y] = hl.select(x > 3, h[x, hl.clamp(x * y, 0, 9)], 3)
        return f, g, h, p

    for root in (False, True):
        f, g, h, _ = make(image)
        if root:
            g.compute_root()
            h.compute_root()
        assert needed(f, image, [12, 14]) == [(2, 8), (0, 9)]
    part = hl.Buffer(np.ascontiguousarray(pixels[:10, 2:9]), name="part")
    part.set_min([2, 0])
    check(
        lambda: make(part),
        [12, 14],
        [
            lambda f, g, h, p: f.vectorize(x, 8),
            lambda f, g, h, p: p.compute_root(),
            lambda f, g, h, p: (h.compute_root().vectorize(x, 4), p.compute_root()),
            lambda f, g, h, p: (g.compute_root(), f.vectorize(y, 4)),
        ],
    )


def test_no_guard_where_it_says_nothing() -> None:
    """Clamped reads, data-dependent and periodic conditions, and pixels that are read
    without a condition too stay plain loads."""
    image = hl.ImageParam(hl.Int(32), 1, "image")
    for e in (
        hl.select(x < 10, image[hl.clamp(x, 0, 5)], 1),
        hl.select(image[x] < 10, image[x + 1], 1),
        hl.select(x % 2 == 0, image[x], image[x + 1]),
        hl.select(x < 10, image[x], 1) + image[x],
        hl.BoundaryConditions.constant_exterior(image, 7, [(0, 10)])[x],
    ):
        f = hl.Func("f")
        f[x] = e
        assert " if " not in hl.Pipeline(f).lowered_text()


def test_the_loads_are_conditional() -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("f")
    f[x] = hl.select(x < 10, image[x], 1)
    f.vectorize(x, 8)
    assert "if ramp(" in hl.Pipeline(f).lowered_text()
    assert "masked.load" in hl.Pipeline(f).llvm_text(optimised=False)
    image.set(np.arange(10, dtype=np.int32))
    assert np.asarray(f.realize([12])).tolist() == [*range(10), 1, 1]


def test_c_text_reads_conditionally() -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("f")
    f[x] = hl.select(x < 10, image[x], 1)
    assert "? image[" in hl.Pipeline(f).c_text([image])


def test_trace_shows_what_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    p, f = hl.Func("p"), hl.Func("f")
    p[x] = x + 5
    f[x] = hl.select(x < 2, p[x], -1)
    p.compute_root().trace_loads()
    f.realize([3])
    lines = [n for n in capsys.readouterr().out.splitlines() if n.startswith("Load")]
    assert lines == [
        f"Load {p.name()}.0({i}) = {v}" for i, v in ((0, 5), (1, 6), (2, 0))
    ]
