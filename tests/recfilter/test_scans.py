"""`tile_scan`: scans in ordinary updates, computed in tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.recfilter import RecFilterWarning
from parhelion.schedule.snapshot import Snapshot
from tests.support.refusals import plain

x, y, c = hl.vars("x y c")


def same(f: hl.Func, size: list[int]) -> None:
    """Compiled code has the values of the algorithm as it was written."""
    made = f.realize(size)
    wanted = interpret(f._function, [(0, n) for n in size])
    for got, one in zip(
        made if isinstance(made, tuple) else (made,), wanted, strict=True
    ):
        assert (np.asarray(got) == one.T).all()


def sums(n: int, t: Any = None) -> tuple[hl.Func, hl.RDom]:
    """A sum of prefixes of a line that begins at point 3."""
    f, r = hl.Func("f"), hl.RDom([(3, n - 3)], "r")
    f[x] = hl.cast(hl.Int(32) if t is None else t, x % 7)
    f[r] += f[r - 1]
    return f, r


def names(f: hl.Func) -> str:
    return hl.Pipeline(f).lowered_text()


def test_a_sum_of_prefixes() -> None:
    f, r = sums(1000)
    assert f.update().tile_scan(r, 64).name() == "f.update(0)"
    assert "f_scan_completedx" in names(f)
    same(f, [1000])


@pytest.mark.parametrize("width", [2, 3, 7, 8, 100, 499, 996])
def test_widths(width: int) -> None:
    f, r = hl.Func("f"), hl.RDom([(2, 997)], "r")
    f[x] = hl.u8(x % 251)
    f[r] = 3 * f[r] + f[r - 1] - 2 * f[r - 2] + hl.u8(x * 0 + r)
    f.update().tile_scan(r, width)
    same(f, [1000])


def test_lines_that_are_no_longer_than_a_tile_stay_whole() -> None:
    f, r = sums(100)
    f.update().tile_scan(r, 97)
    assert "f_scan" not in names(f)
    same(f, [100])


def test_from_the_last_point_back() -> None:
    f, r = hl.Func("f"), hl.RDom([(5, 300)], "r")
    f[x, y] = x * y
    f[310 - r, y] += f[311 - r, y] - 3 * f[313 - r, y]
    f.update().tile_scan(r, 32)
    same(f, [320, 9])


def test_values_before_the_first_point_are_read_from_the_pure_definition() -> None:
    image = hl.Buffer(np.arange(400, dtype=np.int32) * 3)
    f, r = hl.Func("f"), hl.RDom([(2, 398)], "r")
    f[x] = hl.select(x < 2, 1000 + image[x], image[x])
    f[r] = f[r - 2] + image[r]
    f.update().tile_scan(r, 16)
    same(f, [400])


def test_nothing_outside_of_the_image_is_read() -> None:
    """Images and outputs are as large as needed, with tiles and vectors that divide
    nothing."""
    for width, height in ((37, 5), (41, 13), (5, 41), (11, 3)):
        image = hl.Buffer(
            np.arange(width * height, dtype=np.int32).reshape(height, width)
        )
        for along in (0, 1):
            n = (width, height)[along]
            r = hl.RDom([(2, n - 2)], "r")
            f = hl.Func("f")
            f[x, y] = image[x, y]
            at = (r, y) if along == 0 else (x, r)
            back = (r - 2, y) if along == 0 else (x, r - 2)
            f[at] = f[at] + f[back] + image[at]
            f.update().tile_scan(r, 4)
            same(f, [width, height])


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 100])
def test_an_extent_that_is_known_when_it_runs(n: int) -> None:
    points = hl.Param(hl.Int(32), "points", n)
    image = hl.Buffer(np.arange(101, dtype=np.int32))
    f, r = hl.Func("f"), hl.RDom([(1, points)], "r")
    f[x] = image[x]
    f[r] += 2 * f[r - 1]
    f.update().tile_scan(r, 8)
    same(f, [101])


def test_lines_that_have_rvars() -> None:
    image = hl.ImageParam(hl.Int(16), 3, "image")
    image.set(np.arange(3 * 20 * 50, dtype=np.int16).reshape(3, 20, 50))
    r = hl.RDom([(1, image.width() - 1), (2, 10)], "r")
    f = hl.Func("f")
    f[x, y, c] = image[x, y, c]
    f[r.x, 12 - r.y, 1] += f[r.x - 1, 12 - r.y, 1]
    f.update().tile_scan(r.x, 16)
    same(f, [50, 20, 3])


def test_a_diagonal() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x, y] = x + y
    f[r + y, y] += f[r + y - 1, y]
    f.update().tile_scan(r, 16)
    same(f, [120, 10])


def test_tuples() -> None:
    f, r = hl.Func("f"), hl.RDom([(3, 500)], "r")
    f[x] = hl.Tuple(x, hl.u8(x % 200), x)
    f[r] = hl.Tuple(
        f[r][0] + f[r - 1][0], f[r][1] - f[r - 3][1] + hl.u8(r % 5), 2 * f[r][2]
    )
    f.update().tile_scan(r, 32)
    same(f, [510])


def test_coefficients_that_grow() -> None:
    """Integers are exact, however large they become."""
    f, r = hl.Func("f"), hl.RDom([(2, 3000)], "r")
    f[x] = hl.u64(x)
    f[r] = f[r] - 5 * f[r - 1] + 7 * f[r - 2]
    f.update().tile_scan(r, 512)
    same(f, [3002])


# Other definitions, and readers.

#: Those that are left alone are warned of.
others_alone = pytest.mark.filterwarnings("ignore::parhelion.ScheduleWarning")


def table() -> tuple[hl.Func, hl.RDom, hl.RDom]:
    f = hl.Func("f")
    rx, ry = hl.RDom([(1, 99)], "rx"), hl.RDom([(1, 49)], "ry")
    f[x, y] = x ^ y
    f[x, y] = f[x, y] * 3
    f[rx, y] += f[rx - 1, y]
    f[x, ry] += f[x, ry - 1]
    f[x, 0] = f[x, 1] + 1
    return f, rx, ry


@others_alone
@pytest.mark.parametrize("which", [(1,), (2,), (1, 2)])
def test_updates_before_and_after(which: tuple[int, ...]) -> None:
    f, rx, ry = table()
    for k in which:
        f.update(k).tile_scan((rx, ry)[k - 1], 16)
    same(f, [100, 50])


def test_what_is_computed_in_the_loops_of_updates_before() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    r = hl.RDom([(1, 99)], "r")
    g[x, y] = x * y
    f[x, y] = x
    f[x, y] += g[x, y] + g[x, y + 1]
    f[r, y] += f[r - 1, y]
    g.compute_at(f, y)
    f.update(0).vectorize(x, 4)
    f.update(1).tile_scan(r, 16)
    same(f, [100, 20])


@others_alone
def test_a_reader_of_a_part() -> None:
    f, rx, _ = table()
    f.update(1).tile_scan(rx, 8)
    f.compute_root()
    g = hl.Func("g")
    g[x, y] = f[x + 20, 2 * y] - f[x, y]
    same(g, [40, 10])


def test_what_was_written_can_be_had_again() -> None:
    f, r = sums(500)
    before = Snapshot([f._function])
    update = f._function.updates[0]
    f.update().tile_scan(r, 16)
    assert f._function.updates[0] is not update
    assert f._function.as_written()[1] is update and not before.redefined()
    before.restore()
    assert f._function.updates[0] is update and "f_scan" not in names(f)
    same(f, [500])


# Floats.


def test_floats_with_consent() -> None:
    f, r = sums(5000, hl.Float(32))
    f.update().tile_scan(r, 128, reassociate=True)
    got = np.asarray(f.realize([5000]))
    (wanted,) = interpret(f._function, [(0, 5000)])
    assert np.abs(got - wanted).max() <= 1e-6 * np.abs(wanted).max()
    told = f.report([5000])
    assert told["f"].regrouped == ("update 0: tile_scan",)
    f, r = sums(5000)
    f.update().tile_scan(r, 128)
    assert f.report([5000])["f"].regrouped == ()


def refused(f: hl.Func, r: Any, width: Any, message: str, **more: Any) -> None:
    before = f._function.updates
    with pytest.raises(hl.ScheduleError) as caught:
        f.update(len(before) - 1).tile_scan(r, width, **more)
    assert caught.value.at is not None and caught.value.at.file == __file__
    assert plain(caught.value, __file__) == f"f.update(0).tile_scan: {message}"
    assert f._function.updates is before


def test_floats_without_consent() -> None:
    f, r = sums(100, hl.Float(64))
    refused(
        f,
        r,
        8,
        "tiles regroup sums of floats, which may change their last digits\n"
        "hint: reassociate=True consents to it",
    )


def test_strict_floats() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x] = hl.f32(x)
    f[r] = hl.strict_float(f[r] + f[r - 1])
    refused(
        f,
        r,
        8,
        "tiles regroup sums, which the strict_float in the update forbids\n"
        "hint: leave the scan in whole lines, or leave out strict_float",
        reassociate=True,
    )
    f, r = sums(100, hl.Float(32))
    f.update().tile_scan(r, 8, reassociate=True)
    target = hl.get_host_target().with_feature(hl.TargetFeature.StrictFloat)
    with pytest.raises(hl.ScheduleError, match="tile_scan: floats would be folded"):
        f.realize([100], target=target)


def test_values_that_grow_within_a_tile() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 999)], "r")
    f[x] = hl.f32(x)
    f[r] = f[r] + 1.5 * f[r - 1]
    with pytest.warns(RecFilterWarning, match="grow by"):
        f.update().tile_scan(r, 32, reassociate=True)
    f, r = hl.Func("f"), hl.RDom([(1, 999)], "r")
    f[x] = hl.f32(x)
    f[r] = f[r] + 1.5 * f[r - 1]
    refused(
        f,
        r,
        256,
        "values that come into a tile of 256 points grow by 1.2e+45 in it, which is"
        " more than float32 can hold\n"
        "hint: narrower tiles, or whole lines, without tile_scan",
        reassociate=True,
    )


# What is refused.


def test_what_is_no_scan() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x] = x
    f[r] = hl.max(f[r], f[r - 1])
    refused(
        f,
        r,
        8,
        "the update is no scan: it is not a sum of multiples of earlier values: max of"
        " one\nhint: f[r, y] = own * f[r, y] + a1 * f[r - 1, y] + … + rest is one",
    )
    with pytest.raises(hl.ScheduleError, match="only an update can be a scan"):
        hl.Stage(f, 0).tile_scan(r, 8)


def test_coefficients_that_are_no_numbers() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x] = x
    f[r] += f[r - 1] * hl.i32(r % 2)
    refused(
        f,
        r,
        8,
        "the coefficient of the value 1 back along r.x is no number; what a tile leaves"
        " behind is known only where all are numbers\n"
        "hint: without tile_scan, f is computed in whole lines",
    )


def test_widths_that_are_none() -> None:
    f, r = hl.Func("f"), hl.RDom([(3, 90)], "r")
    f[x] = x
    f[r] += f[r - 3]
    refused(
        f,
        r,
        2,
        "tiles of 2 points are narrower than 3, the order of the scan\n"
        "hint: 3 points or more; some hundreds are fast",
    )
    refused(f, r, 2.5, "the width of a tile must be an integer, not 2.5")
    refused(
        f,
        r,
        100_000,
        "tiles of 100000 points are wider than 65536\n"
        "hint: some hundreds of points are fast",
    )


def test_another_loop() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99), (0, 20)], "r")
    f[x, y] = x
    f[r.x, r.y] += f[r.x - 1, r.y]
    refused(
        f,
        r.y,
        8,
        "the scan runs along r.x, not r.y\nlegal here:\n  - r.x",
    )
    refused(
        f,
        hl.RDom([(1, 99), (0, 20)], "r").x,
        8,
        "the scan runs along r.x, not r.x of another RDom\nlegal here:\n  - r.x",
    )


def test_lines_that_meet() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99), (0, 20)], "r")
    f[x, y] = x
    f[r.x, r.y // 2] += f[r.x - 1, r.y // 2]
    refused(
        f,
        r.x,
        8,
        "the coordinate in y does not number the lines of the scan: it must be y, a"
        " number, or an RVar of its own plus a number",
    )
    f, r = hl.Func("f"), hl.RDom([(1, 99), (0, 3)], "r")
    f[x] = x
    f[r.x] += f[r.x - 1] + r.y
    refused(
        f,
        r.x,
        8,
        "lines are scanned again for each r.y, which is in no coordinate of the"
        " update\nhint: tiles compute lines that are scanned once",
    )


def test_directives_before() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x, y] = x
    f[r, y] += f[r - 1, y]
    f.update().parallel(y)
    refused(
        f,
        r,
        8,
        "the update has directives already, and tile_scan gives it the loops of its"
        " tiles\nhint: call tile_scan first",
    )
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x, y] = x
    f[r, y] += f[r - 1, y]
    f.update().specialize(hl.Param(hl.Bool(), "b"))
    refused(
        f,
        r,
        8,
        "a specialised definition cannot be computed in tiles\n"
        "hint: call tile_scan first, then specialize",
    )


def test_a_scan_that_is_in_tiles_already() -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x] = x
    f[r] += f[r - 1]
    f.update().tile_scan(r, 8)
    with pytest.raises(hl.ScheduleError, match="the scan is in tiles already"):
        f.update().tile_scan(r, 8)
    g = hl.Func("g")
    g[x] = f[x]
    with pytest.raises(hl.ScheduleError, match="a scan of f is in tiles") as info:
        f.clone_in(g)
    assert "clone_in first" in str(info.value)


@pytest.mark.parametrize("directive", ["unroll", "parallel", "reorder"])
def test_loops_that_tiles_have_replaced(directive: str) -> None:
    f, r = sums(1000)
    f.update().tile_scan(r, 64)
    with pytest.raises(hl.ScheduleError, match="has no loop r.x") as info:
        getattr(f.update(), directive)(r)
    assert "hint: r.x was split into rxo and rxi by tile_scan at " in plain(
        info.value, __file__
    )


@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_computed_in_loops_that_tiles_have_replaced(is_first: bool) -> None:
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(1, 999)], "r")
    g[x] = x % 5
    f[x] = 0
    f[r] = f[r - 1] + g[r]
    if is_first:
        g.compute_at(f, r)
    f.update().tile_scan(r, 64)
    if not is_first:
        g.compute_at(f, r)
    with pytest.raises(hl.ScheduleError, match=r"has no loop r\.x") as info:
        f.realize([1000])
    assert "hint: r.x was split into rxo and rxi by tile_scan at " in plain(
        info.value, __file__
    )
    assert "- g.compute_root()" in str(info.value)


def twice_scanned() -> tuple[hl.Func, hl.Func, hl.RDom, hl.RDom]:
    f, g = hl.Func("f"), hl.Func("g")
    r, q = hl.RDom([(1, 999)], "r"), hl.RDom([(1, 999)], "q")
    g[x] = x % 3
    f[x] = x % 5
    f[r] += f[r - 1] + g[r]
    f[q] += f[q - 1]
    return f, g, r, q


def test_updates_that_tiles_have_moved_take_no_directives() -> None:
    """They are computed before the tiles, where users cannot reach them."""
    f, g, r, q = twice_scanned()
    f.update(1).tile_scan(q, 64)
    told = (
        "f.update(0) cannot be scheduled any more: f.update(1).tile_scan has moved what"
        " it computes into a Func of its own, with the directives that it had\n"
        "hint: give f.update(0) its directives before f.update(1).tile_scan"
    )
    stage = f.update(0)
    for give in (
        lambda: stage.unroll(r, 4),
        lambda: stage.vectorize(x, 8),
        lambda: stage.tile_scan(r, 64),
        lambda: stage.unscheduled(),
        lambda: stage.atomic(),
        lambda: stage.specialize(hl.Param(hl.Bool(), "b")),
    ):
        with pytest.raises(hl.ScheduleError) as info:
            give()
        assert plain(info.value, __file__) == told
    g.compute_at(f, r)
    with pytest.raises(hl.ScheduleError, match=r"has no loop r\.x") as info:
        f.realize([1000])
    assert (
        "hint: f.update(1).tile_scan has moved what f.update(0) computes into a Func of"
        " its own: compute_at(f, r.x) must come before it" in str(info.value)
    )


@pytest.mark.parametrize("updates", [0, 1])
@pytest.mark.parametrize("first", [True, False])
def test_what_the_tiles_read_is_computed_in_no_loop(updates: int, first: bool) -> None:
    """Messages call the stages of tiles, and what moves out of a Func, by what the
    user wrote."""
    f, g, r = hl.Func("told"), hl.Func("read"), hl.RDom([(1, 99)], "r")
    g[x, y] = x * y
    f[x, y] = 0
    for _ in range(updates):
        f[x, y] += g[x, y]
    f[r, y] += f[r - 1, y] + g[r, y]
    if first:
        g.compute_at(f, y)
    f.update(updates).tile_scan(r, 16)
    if not first:
        g.compute_at(f, y)
    with pytest.raises(hl.ScheduleError) as info:
        f.realize([100, 20])
    assert plain(info.value, __file__).startswith(
        f"{g.name()}.compute_at({f.name()}, y): {f.name()}.update({updates}).tile_scan"
        f" uses {g.name()} outside the loop y of {f.name()}\n"
    )
    assert f"legal here:\n  - {g.name()}.compute_root()" in str(info.value)
    g.compute_root()
    same(f, [100, 20])


def test_updates_that_tiles_have_moved_keep_their_names() -> None:
    """Those who find them in the pipeline may schedule them."""
    f = hl.Func("known")
    r, q = hl.RDom([(2, 998)], "r"), hl.RDom([(1, 999)], "q")
    f[x] = hl.f32(x % 3)
    f[r] = f[r] + 2 * f[r - 1] - f[r - 2]
    f[q] = f[q] + 0.5 * f[q - 1]
    f.update(1).tile_scan(q, 64, reassociate=True)
    moved = hl.Pipeline(f).get_func(0)
    assert moved.name().startswith("known_before")
    told = rf"^{f.name()}\.update\(0\)\.tile_scan: values that come into a tile of 512"
    with pytest.warns(RecFilterWarning, match=told.replace("$", "\\$")):
        moved.update(0).tile_scan(r, 512, reassociate=True)


@pytest.mark.parametrize("vectors", [False, True])
def test_what_a_scan_overwrites_is_not_written_before(vectors: bool) -> None:
    f, r = hl.Func("once"), hl.RDom([(3, 995)], "r")
    f[x] = x % 7
    f[r] += f[r - 1]
    f.update().tile_scan(r, 64)
    if vectors:
        o, i = hl.Var("o"), hl.Var("i")
        f.split(x, o, i, 64, hl.TailStrategy.GuardWithIf).vectorize(i, 8)
    text = names(f)
    first = text[text.index(f"produce {f.name()}:") :].split("parallel")[0]
    assert ("998" in first) and ("% 7" in first or "% x8(7)" in first)
    # Points before the scan and after it, and none in between.
    loops = [line for line in first.splitlines() if "for (" in line]
    assert len(loops) >= 2
    same(f, [1000])
    same(f, [1200])


@pytest.mark.parametrize("vectors", [None, x, y])
@pytest.mark.parametrize("which", ["rising", "falling", "some", "one", "slanted"])
def test_what_a_scan_leaves_out_is_written(which: str, vectors: hl.Var | None) -> None:
    lines = [(5, 11)] if which == "some" else []
    f, r = hl.Func("kept"), hl.RDom([(2, 41), *lines], "r")
    f[x, y] = x * 3 + y
    if which == "rising":
        f[r.x + 1, y] += f[r.x, y]
    elif which == "falling":
        f[60 - r.x, y] += 2 * f[61 - r.x, y]
    elif which == "some":
        f[r.x, 20 - r.y] += f[r.x - 1, 20 - r.y] - x * 0
    elif which == "one":
        f[r.x, 7] += f[r.x - 1, 7]
    else:
        f[r.x + y, y] += f[r.x + y - 1, y]
    f.update().tile_scan(r.x, 8)
    if vectors is not None:
        f.vectorize(vectors, 8)
    same(f, [75, 24])


def test_scans_in_tiles_one_after_the_other() -> None:
    f, _, r, q = twice_scanned()
    f.update(0).tile_scan(r, 100)
    f.update(1).tile_scan(q, 64)
    same(f, [1000])


@pytest.mark.parametrize("width", [np.array([8]), np.arange(3), "8", None, True])
def test_odd_widths(width: object) -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x] = x
    f[r] += f[r - 1]
    with pytest.raises(hl.ScheduleError, match="must be an integer, not"):
        f.update().tile_scan(r, width)  # type: ignore[arg-type]


@pytest.mark.parametrize("consent", ["no", 2.5, None])
def test_consent_is_true_or_false(consent: Any) -> None:
    f, r = hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x] = hl.f32(x)
    f[r] += f[r - 1]
    with pytest.raises(hl.TypeMismatchError, match="reassociate is True or False"):
        f.update().tile_scan(r, 8, consent)
