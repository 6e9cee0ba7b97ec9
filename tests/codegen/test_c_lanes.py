"""C output: loops of lanes that C compilers make vectors of."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.c.blocked import blocked
from parhelion.codegen.c.joined import joined
from parhelion.codegen.c.limits import limited
from parhelion.codegen.c.loops import is_simd
from parhelion.codegen.c.parted import parted
from parhelion.codegen.c.straight import opened
from parhelion.ir import build
from parhelion.ir import stmt as S
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import BufferSym
from parhelion.types import BOOL, INT32, UInt
from tests.codegen.c_code import compiled, needs_cc

x, y, xi = hl.vars("x y xi")
GUARD = hl.TailStrategy.GuardWithIf


def lanes(text: str) -> list[list[str]]:
    """The loops of lanes, as their lines."""
    found: list[list[str]] = []
    depth = -1
    for line in text.splitlines():
        inside = len(line) - len(line.lstrip())
        if depth >= 0 and inside > depth:
            found[-1].append(line.strip())
        elif line.strip() == "#pragma omp simd":
            found.append([])
            depth = inside
        elif found and not found[-1]:
            assert line.strip().startswith("for (")
        else:
            depth = -1
    return found


def same(f: hl.Func, call: object, sizes: list[int]) -> None:
    expected = f.realize(sizes)
    assert isinstance(expected, hl.Buffer) and callable(call)
    out = hl.Buffer(expected.type(), sizes)
    assert call(out) == 0
    assert np.array_equal(np.asarray(out), np.asarray(expected))


def guarded() -> hl.Func:
    f = hl.Func("c_guarded")
    f[x, y] = x * 7 + y
    f.split(x, x, xi, 8, GUARD).vectorize(xi)
    return f


def guarded_blocks() -> hl.Func:
    """Of each block of f, one of g is computed before."""
    f, g = hl.Func("c_guarded"), hl.Func("c_before")
    g[x, y] = x * 7 + y
    f[x, y] = g[x, y] * g[x + 1, y]
    f.split(x, x, xi, 8, GUARD).vectorize(xi)
    g.compute_at(f, x).vectorize(x, 8, GUARD)
    return f


def test_a_guard_of_lanes_is_the_end_of_their_loop() -> None:
    text = hl.Pipeline(guarded_blocks()).c_text([])
    assert lanes(text) and re.search(r"c_guarded_s0_xi\w*_end", text)
    assert not [line for loop in lanes(text) for line in loop if "if (" in line]


@needs_cc
@pytest.mark.parametrize("make", [guarded, guarded_blocks])
def test_lanes_that_end_early(make: Callable[[], hl.Func], tmp_path: Path) -> None:
    f = make()
    call = compiled(f, [], tmp_path)
    for width in (1, 7, 8, 9, 16, 23):
        same(f, call, [width, 3])


def loops_of_x(text: str) -> list[str]:
    """The heads of the loops along rows, of blocks and of lanes."""
    return re.findall(r"for \(int32_t \w+_s0_x\w* = .*", text)


@pytest.mark.parametrize("tail", [GUARD, hl.TailStrategy.RoundUp])
def test_blocks_of_lanes_are_one_loop(tail: hl.TailStrategy) -> None:
    """Where each block is nothing but a loop of lanes, C has none of blocks."""
    f = hl.Func("c_row")
    f[x, y] = x * 7 + y
    f.split(x, x, xi, 8, tail).vectorize(xi)
    text = hl.Pipeline(f).c_text([])
    heads = loops_of_x(text)
    assert heads and len(heads) == len(lanes(text))
    assert not [one for one in heads if "_s0_xi" in one]


def test_blocks_that_overlap_keep_their_loop() -> None:
    f = hl.Func("c_shifted")
    f[x, y] = x * 7 + y
    f.split(x, x, xi, 8, hl.TailStrategy.ShiftInwards).vectorize(xi)
    heads = loops_of_x(hl.Pipeline(f).c_text([]))
    assert [one for one in heads if "_s0_xi" in one]


@needs_cc
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("first", [0, -5, 11])
def test_rows_of_blocks(step: int, first: int, tmp_path: Path) -> None:
    """Rows from any place, read by steps, and two stores of pairs that interleave."""
    image = hl.Buffer(np.arange(300, dtype=np.int32) ** 2 % 251, name="c_steps")
    f = hl.Func("c_stepped")
    at = (x - first) * step
    f[x, y] = (image[at] + image[at + 1] * y) >> (x % 2)
    phase = hl.Var("phase")
    f.align_bounds(x, 2, first % 2).split(x, x, phase, 2).unroll(phase)
    f.split(x, x, xi, 8, GUARD).vectorize(xi)
    call = compiled(f, [], tmp_path)
    for width in (2, 14, 16, 18, 66):
        expected, out = (hl.Buffer(hl.Int(32), [width, 3]) for _ in range(2))
        expected.set_min(first, 0)
        out.set_min(first, 0)
        f.realize(expected)
        assert call(out) == 0
        assert np.array_equal(np.asarray(out), np.asarray(expected))


def test_the_end_of_a_row_is_an_int_where_that_of_its_blocks_is_none() -> None:
    """Of 2**31 - 1 points, the last block ends at 2**31."""
    points, blocks, block, lane = [Var(n, INT32) for n in ("p", "b", "block", "lane")]
    point = build.add(build.mul(block, build.int32(16)), lane)
    store = S.Store(BufferSym("c_long", UInt(8), 1, "output"), point, point, None)
    inner = S.If(build.lt(point, points), store, None)
    lanes_of = S.For(lane, build.int32(0), build.int32(16), ForKind.VECTORIZED, inner)
    row = joined(S.For(block, build.int32(0), blocks, ForKind.SERIAL, lanes_of))
    assert row is not None and isinstance(row.body, S.Store)
    assert row.body.index is row.var
    for count in (1, 15, 16, 17, 2**31 - 1):
        sizes = {points: count, blocks: -(-count // 16)}
        assert evaluate(row.min, sizes) == 0
        assert evaluate(row.extent, sizes) == count


def rows(updated: bool) -> hl.Func:
    """Four rows at a time, the last of which have a guard each."""
    f, yi = hl.Func("c_rows"), hl.Var("yi")
    f[x, y] = x * 7 + y
    stage: hl.Func | hl.Stage = f
    if updated:
        f[x, y] = f[x, y] * 3 + hl.select(y > 2, x, 5)
        stage = f.update()
    stage.split(y, y, yi, 4, GUARD).split(x, x, xi, 8, GUARD)
    stage.reorder(xi, yi, x, y).reorder(yi, xi).unroll(yi).vectorize(xi)
    return f


def test_guards_of_rows_stand_around_their_lanes() -> None:
    text = hl.Pipeline(rows(updated=False)).c_text([])
    assert len(lanes(text)) > 6
    assert not [line for loop in lanes(text) for line in loop if "if (" in line]


@needs_cc
@pytest.mark.parametrize("updated", [False, True])
def test_rows_that_end_early(updated: bool, tmp_path: Path) -> None:
    f = rows(updated)
    call = compiled(f, [], tmp_path)
    for height in (1, 3, 4, 6, 9):
        same(f, call, [19, height])


def test_branches_stay_where_a_name_reads_what_one_of_them_stores() -> None:
    lane, wanted = Var("lane", INT32), [Var(n, BOOL) for n in "ab"]
    buffers = [BufferSym(n, INT32, 1, "output") for n in ("c_first", "c_second")]

    def branches(read: BufferSym) -> S.For:
        """The second one stores what has been read before the first."""
        old, three = Var("old", INT32), build.int32(3)
        first = S.If(wanted[0], S.Store(buffers[0], three, lane, None), None)
        second = S.If(wanted[1], S.Store(buffers[1], old, lane, None), None)
        named = S.LetStmt(old, Load(INT32, read, lane, None))
        body = build.block(named, first, second)
        return S.For(lane, build.int32(0), build.int32(8), ForKind.VECTORIZED, body)

    other = branches(BufferSym("c_other", INT32, 1, "input"))
    found = parted(other)
    assert isinstance(found, S.Block)
    assert [type(item) for item in found.items] == [S.If, S.If]
    changed = branches(buffers[0])
    assert is_simd(changed) and parted(changed) is changed


def test_other_guards_stay() -> None:
    f = hl.Func("c_other")
    f[x] = x
    r = hl.RDom([(0, 64)])
    r.where(r.x % 3 != 1)
    f[r.x] += 5
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update().split(r.x, ro, ri, 8).vectorize(ri)
    text = hl.Pipeline(f).c_text([])
    assert "% 3" in text or "mod_i32" in text
    assert re.search(r"if \(.*1", text)


def folded() -> hl.Func:
    f, g = hl.Func("c_lines"), hl.Func("c_sums")
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x, y + 1] + f[x, y + 2]
    g.split(x, x, xi, 8, GUARD).vectorize(xi)
    f.store_root().compute_at(g, y).fold_storage(y, 3).split(x, x, xi, 8, GUARD)
    f.vectorize(xi)
    return g


def test_rows_are_counted_outside_of_all_loops_along_them() -> None:
    text = hl.Pipeline(folded()).c_text([])
    body = text[text.index("int c_sums(") :]
    counted, open_loops = 0, [""]
    for line in body.splitlines():
        if line.strip() == "}":
            open_loops.pop()
        if "mod_i32(" in line:
            counted += 1
            assert not [one for one in open_loops if "_s0_x" in one]
        if line.endswith("{"):
            open_loops.append(line)
    assert counted > 6


@needs_cc
def test_rows_of_folded_storage(tmp_path: Path) -> None:
    g = folded()
    call = compiled(g, [], tmp_path)
    for width in (5, 8, 19):
        same(g, call, [width, 11])


def chosen() -> hl.Func:
    rng = np.random.default_rng(3)
    a = hl.Buffer(rng.integers(-9, 9, 70).astype(np.int16), name="c_a")
    b = hl.Buffer(rng.integers(-9, 9, 70).astype(np.int32), name="c_b")
    f = hl.Func("c_chosen")
    low = (b[x] < b[x + 1]) & (b[x] < b[x + 2])
    high = (b[x] >= b[x + 3]) | (a[x + 4] > 2)
    is_edge = hl.select(a[x] < a[x + 1], low, hl.select(a[x + 2] > 0, high, b[x] > 1))
    f[x] = hl.select(is_edge, b[x + 5], hl.i32(a[x + 5]))
    f.split(x, x, xi, 8, GUARD).vectorize(xi)
    return f


def test_choices_read_no_memory() -> None:
    text = hl.Pipeline(chosen()).c_text([])
    loops = lanes(text)
    choices = [line for loop in loops for line in loop if " ? " in line]
    assert choices
    for line in choices:
        assert "[" not in line.split(" = ", 1)[1]


@needs_cc
def test_what_is_chosen(tmp_path: Path) -> None:
    f = chosen()
    call = compiled(f, [], tmp_path)
    for width in (3, 8, 64):
        same(f, call, [width])


@needs_cc
@pytest.mark.parametrize("bits", [8, 16])
def test_guards_of_narrow_stores(bits: int, tmp_path: Path) -> None:
    f = hl.Func("c_narrow")
    value = hl.select(x % 3 == 0, x * y, x - y)
    f[x, y] = hl.cast(hl.UInt(bits), value)
    f.split(x, x, xi, 16, GUARD).vectorize(xi).parallel(y)
    call = compiled(f, [], tmp_path)
    for width in (15, 16, 33):
        same(f, call, [width, 5])


@needs_cc
@pytest.mark.parametrize("t", [hl.Int(8), hl.UInt(8), hl.Int(16), hl.UInt(16)])
def test_halves_of_sums(t: hl.Type, tmp_path: Path) -> None:
    ends = np.iinfo(f"{'' if t.is_int() else 'u'}int{t.bits()}")
    numbers = [ends.min, ends.min + 1, 0, 1, 2, ends.max - 1, ends.max]
    at = hl.Buffer(np.array(numbers, ends.dtype), name="c_ends")
    f = hl.Func("c_halves")
    a, b = at[x], at[y]
    f[x, y] = (hl.halving_add(a, b), hl.rounding_halving_add(a, b))
    one = hl.Func("c_one")
    one[x, y] = f[x, y][0] ^ (f[x, y][1] << 1)
    same(one, compiled(one, [], tmp_path), [len(numbers)] * 2)


@needs_cc
@pytest.mark.parametrize("t", [hl.Int(8), hl.Int(16), hl.Int(32), hl.Int(64)])
def test_quotients_that_are_cut(t: hl.Type, tmp_path: Path) -> None:
    ends = np.iinfo(f"int{t.bits()}")
    numbers = [ends.min, ends.min + 1, -5, -4, -1, 0, 1, 3, 4, ends.max]
    at = hl.Buffer(np.array(numbers, ends.dtype), name="c_numbers")
    f = hl.Func("c_cut")
    a = at[x]
    found = hl.cast(t, 0)
    for by in (1, 3, 4, 100, -1, -3, 0):
        quotient, rest = hl.div_round_to_zero(a, by), hl.mod_round_to_zero(a, by)
        found = found * 31 + quotient * 7 + rest
    f[x] = found
    same(f, compiled(f, [], tmp_path), [len(numbers)])


@needs_cc
def test_clamps_that_follow_each_other(tmp_path: Path) -> None:
    image, f = (
        hl.Buffer(np.linspace(-2, 3, 400, dtype=np.float32), "c_levels"),
        hl.Func(),
    )
    root = hl.sqrt(hl.clamp(image[x], 0.0, 1.0))
    low = hl.min(root, 1.0 - root)
    f[x] = hl.u8(hl.clamp(hl.select(root > 0.5, 1.0 - low, low) * 300.0, 0.0, 255.0))
    f.vectorize(x, 16, GUARD)
    same(f, compiled(f, [], tmp_path), [400])


def halves() -> hl.Func:
    image = hl.Buffer(np.arange(400, dtype=np.int32) ** 2 % 251, name="c_row")
    f = hl.Func("c_wide")
    f[x] = hl.select(x % 2 == 0, image[x / 2], image[x / 2 + 1] * 3)
    phase = hl.Var("phase")
    f.bound(x, 0, 256).split(x, x, phase, 2).unroll(phase)
    f.split(x, x, xi, 8).vectorize(xi)
    return f


def test_halves_of_doubles_are_places_of_a_row() -> None:
    loops = lanes(hl.Pipeline(halves()).c_text([]))
    assert loops
    assert not [line for loop in loops for line in loop if ">> 1" in line]


def test_places_that_mention_what_is_read_keep_its_name() -> None:
    """A name of what is read at a place stays, and the place after it mentions it."""
    lane, place, read, after = [Var(n, INT32) for n in ("lane", "p", "read", "q")]
    source, out = [BufferSym(n, INT32, 1, "output") for n in ("c_source", "c_out")]
    half = build.div(after, build.int32(2))
    body = build.block(
        S.LetStmt(place, build.mul(lane, build.int32(2))),
        S.LetStmt(read, Load(INT32, source, place, None)),
        S.LetStmt(after, build.add(read, place)),
        S.Store(out, half, lane, None),
    )
    found = opened(body, lane)
    assert found is not body
    named = {n.var for n in nodes(found) if isinstance(n, S.LetStmt)}
    assert {n for n in nodes(found) if isinstance(n, Var)} <= {lane, *named}


@needs_cc
def test_phases(tmp_path: Path) -> None:
    f = halves()
    same(f, compiled(f, [], tmp_path), [256])


@needs_cc
@pytest.mark.parametrize("strict", [False, True])
def test_what_functions_make_of_the_same_for_all_lanes(
    strict: bool, tmp_path: Path
) -> None:
    """A power and a quotient are made before the lanes: gcc puts the function in its
    place, and vectorises no loop with the branches that become of it."""
    contrast = hl.Param(hl.Float(32), "contrast", 50.0)
    image, f = hl.funcs("c_image c_curved")
    image[x, y] = hl.f32(x * 3 + y) / 64.0
    steep = 2.0 - hl.pow(2.0, contrast / 100.0)
    factor = hl.strict_float(steep) if strict else steep
    f[x, y] = hl.select(image[x, y] > 0.5, image[x, y] * factor, factor / contrast)
    image.compute_at(f, y).vectorize(x, 8)
    f.vectorize(x, 8)
    text = hl.Pipeline(f).c_text([contrast])
    inside = [line for loop in lanes(text) for line in loop]
    assert inside and "pow_f32" in text
    assert not [one for one in inside if "pow_f32" in one or "/ _contrast" in one]
    expected, out = f.realize([24, 5]), hl.Buffer(hl.Float(32), [24, 5])
    assert compiled(f, [contrast], tmp_path)(ctypes.c_float(50.0), out) == 0
    assert np.allclose(np.asarray(out), np.asarray(expected), rtol=1e-6, atol=0)


def within_limits() -> hl.Func:
    special = [np.nan, -0.0, 0.0, np.inf, -np.inf, 0.5, 1.0, 254.9, 255.0, 3e9]
    image, f = (
        hl.Buffer(np.array(special * 7, np.float32), "c_levels"),
        hl.Func("c_limits"),
    )
    low = hl.min(1.0, hl.max(image[x], 0.0)) - hl.max(hl.min(image[x], 255.0), 0.25)
    f[x] = hl.reinterpret(hl.UInt(32), low + hl.max(0.0, hl.min(image[x + 3], 1.0)))
    f.vectorize(x, 8, GUARD)
    return f


def test_constants_of_minima_have_names_before_the_lanes() -> None:
    loops = lanes(hl.Pipeline(within_limits()).c_text([]))
    minima = [
        line for loop in loops for line in loop if re.search("m(in|ax)_f32", line)
    ]
    assert minima
    for line in minima:
        assert not re.search(r"m(in|ax)_f32\([^(]*\b[0-9.]+f[,)]", line)


@needs_cc
def test_minima_of_numbers_and_of_none(tmp_path: Path) -> None:
    f = within_limits()
    same(f, compiled(f, [], tmp_path), [64])


@needs_cc
@pytest.mark.parametrize("most, has_cast", [(1023, False), (40000, True)])
def test_casts_that_change_nothing(most: int, has_cast: bool, tmp_path: Path) -> None:
    """Values that fit are not made narrow to be made wide again."""
    image = hl.Buffer(np.arange(-200, 99800, 1000, dtype=np.int32), name="c_fit")
    f = hl.Func("c_narrowed")
    f[x] = hl.f32(hl.i16(hl.clamp(image[x], 0, most))) / 2.0
    f.vectorize(x, 8, GUARD)
    assert ("(int16_t)" in hl.Pipeline(f).c_text([])) is has_cast
    same(f, compiled(f, [], tmp_path), [100])


def bytes_of_floats() -> tuple[hl.Func, hl.ImageParam]:
    image = hl.ImageParam(hl.Float(32), 2, "c_levels")
    f = hl.Func("c_bytes")
    edge = hl.clamp(x + 1, 0, image.width() - 1)
    f[x, y] = hl.u8(hl.sqrt(image[x, y] * 9.0 + image[edge, y]))
    f.split(x, x, xi, 16, GUARD).vectorize(xi)
    return f, image


def test_rows_of_bytes_are_whole_vectors() -> None:
    f, image = bytes_of_floats()
    text = hl.Pipeline(f).c_text([image])
    for width in (64, 16):
        assert re.search(rf"for \(int32_t (lane\w*) = 0; \1 < {width}; ", text)
    # Fewer lanes are no vector.
    assert "#pragma omp simd simdlen(1)" in text


@needs_cc
def test_vectors_that_overlap(tmp_path: Path) -> None:
    f, image = bytes_of_floats()
    call = compiled(f, [image], tmp_path)
    for width in (1, 15, 16, 17, 31, 63, 64, 65, 80, 127, 128, 200):
        pixels = np.random.default_rng(width).random((3, width), np.float32) * 99
        given = hl.Buffer(pixels)
        image.set(given)
        expected, out = f.realize([width, 3]), hl.Buffer(hl.UInt(8), [width, 3])
        assert isinstance(expected, hl.Buffer) and call(given, out) == 0
        assert np.array_equal(np.asarray(out), np.asarray(expected))


BYTES = [BufferSym(n, UInt(8), 1, "output") for n in ("c_from", "c_to")]


def row_of(read: BufferSym, extent: Expr) -> S.For:
    """A loop of lanes that stores bytes, and reads some."""
    lane = Var("lane", INT32)
    store = S.Store(BYTES[1], Load(UInt(8), read, lane, None), lane, None)
    return S.For(lane, build.int32(3), extent, ForKind.VECTORIZED, store)


def lanes_in(loop: S.For) -> int | None:
    """Of how many lanes the vectors in a loop are."""
    if not isinstance(loop.body, S.Block):
        return 1
    vector = loop.body.items[-1]
    assert isinstance(vector, S.For)
    return build.const_int(vector.extent)


def test_how_many_lanes_there_are_decides_on_their_vectors() -> None:
    size = Var("size", INT32)
    upper, lower = (
        build.minimum(size, build.int32(40)),
        build.maximum(size, build.int32(40)),
    )
    for extent, widths in (
        (size, [64, 16, 1]),
        (upper, [16, 1]),
        (lower, [64, 16]),
        (build.int32(100), [64]),
        (build.int32(9), [1]),
    ):
        found = blocked(row_of(BYTES[0], extent))
        assert [wanted is None for wanted, _ in found] == [False] * (len(found) - 1) + [
            True
        ]
        assert [lanes_in(one) for _, one in found] == widths


def test_lanes_that_read_what_lanes_write_do_not_overlap() -> None:
    assert not blocked(row_of(BYTES[1], Var("size", INT32)))


@pytest.mark.parametrize("extent", [16, 17, 40, 63, 64, 65, 1000])
def test_blocks_cover_each_lane_and_no_other(extent: int) -> None:
    size = Var("size", INT32)
    for wanted, loop in blocked(row_of(BYTES[0], size)):
        if wanted is None or not evaluate(wanted, {size: extent}):
            continue
        first, lanes_of = loop.body.items  # type: ignore[attr-defined]
        here = lanes_of.body.items[0].value
        covered = [
            evaluate(
                here, {first.var: evaluate(first.value, known), lanes_of.var: lane}
            )
            for block in range(int(evaluate(loop.extent, {size: extent})))
            for known in ({size: extent, loop.var: block},)
            for lane in range(int(evaluate(lanes_of.extent, {})))
        ]
        assert set(covered) == set(range(3, 3 + extent))


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("compare", [build.lt, build.le])
def test_guards_of_multiples_are_ends(
    times: int, compare: Callable[[Expr, Expr], Expr]
) -> None:
    """A guard of ``lane * times``, by a name that is given before the branch."""
    lane, size, place = [Var(n, INT32) for n in ("lane", "size", "place")]
    store = S.Store(BYTES[1], build.cast(UInt(8), place), lane, None)
    named = S.LetStmt(place, build.mul(lane, build.int32(times)))
    body = build.block(named, S.If(compare(place, size), store, None))
    loop = limited(
        S.For(lane, build.int32(0), build.int32(16), ForKind.VECTORIZED, body)
    )
    assert not any([isinstance(n, S.If) for n in nodes(loop)])
    for limit in range(-5, 50):
        wanted = [
            i
            for i in range(16)
            if evaluate(compare(build.int32(i * times), size), {size: limit})
        ]
        assert max(int(evaluate(loop.extent, {size: limit})), 0) == len(wanted)


def test_guards_by_what_lanes_read_stay() -> None:
    lane, read = Var("lane", INT32), Var("read", INT32)
    source = BufferSym("c_sizes", INT32, 1, "input")
    named = S.LetStmt(read, Load(INT32, source, build.int32(0), None))
    store = S.Store(BYTES[1], build.cast(UInt(8), lane), lane, None)
    for after in (build.lt(lane, read), build.lt(build.mul(lane, lane), read)):
        body = build.block(named, S.If(after, store, None))
        loop = S.For(lane, build.int32(0), build.int32(16), ForKind.VECTORIZED, body)
        assert limited(loop) is loop
