"""Large outputs are written past the caches, a line at a time, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.target import Target, generic_target
from parhelion.ir.text import text
from parhelion.ir.tuning import MEASURED
from parhelion.lower.passes import for_processor, lower
from parhelion.runtime.jit import assembly_text
from tests.support.spec import spec_of

x, y, c, xi, yi = (hl.Var(n) for n in ("x", "y", "c", "xi", "yi"))
AVX2, AVX512 = generic_target(256), generic_target(512)


U8 = hl.UInt(8)


def brighter(t: hl.Type = U8) -> tuple[hl.ImageParam, hl.Func]:
    inp, out = hl.ImageParam(t, 2, "inp"), hl.Func("out")
    out[x, y] = inp[x, y] + hl.cast(t, 1)
    return inp, out


def lowered(*outputs: hl.Func, target: Target = AVX512) -> str:
    return text(for_processor(lower(spec_of(*outputs), name="test"), target))


def assembly(out: hl.Func, target: Target) -> str:
    return assembly_text(emit(lower(spec_of(out), name="t"), target), target)


@pytest.mark.parametrize(
    "target, lanes", [(AVX2, 32), (AVX512, 64), (AVX2, 64), (AVX512, 32)]
)
@pytest.mark.parametrize("parallel", [False, True])
def test_whole_lines_in_the_assembly(
    target: Target, lanes: int, parallel: bool
) -> None:
    _, out = brighter()
    out.vectorize(x, lanes)
    if parallel:
        out.parallel(y)
    asm = assembly(out, target)
    stores = re.findall(r"vmovnt(?:ps|pd|dq)\s+%(.)mm", asm)
    wide = "z" if lanes == 64 and target is AVX512 else "y"
    assert set(stores) == {wide}
    assert len(stores) % (lanes // (64 if wide == "z" else 32)) == 0
    # Who waits for the loop sees it all.
    assert asm.count("sfence") == 1


def in_turn(t: hl.Type = U8) -> tuple[hl.ImageParam, hl.Func]:
    """Three rows that are written at once."""
    inp, out = hl.ImageParam(t, 3, "inp"), hl.Func("out")
    out[x, y, c] = hl.cast(U8, inp[x, y, c]) + hl.u8(1)
    out.bound(c, 0, 3).reorder(c, x, y).unroll(c).vectorize(x, 32)
    return inp, out


def test_rows_at_the_same_place_in_a_page() -> None:
    """Narrow registers leave lines open, which loads from such rows empty: each row
    that is read is compared with each that is written, those next to it but once."""
    _, out = in_turn()
    assert "lines_apart" not in lowered(out, target=AVX512)
    assert lowered(out, target=AVX2).count("lines_apart") == 9
    assert "vmovnt" in assembly(out, AVX2)
    _, one = brighter()
    one.vectorize(x, 32)
    assert "lines_apart" not in lowered(one, target=AVX2)


def looked_up() -> hl.Func:
    inp, table = hl.ImageParam(U8, 3, "inp"), hl.ImageParam(U8, 1, "table")
    out = hl.Func("out")
    out[x, y, c] = table[inp[x, y, c]]
    return out


def spread() -> hl.Func:
    inp, out = hl.ImageParam(U8, 3, "inp"), hl.Func("out")
    out[x, y, c] = inp[2 * x, y, c] + hl.u8(1)
    return out


def wider() -> hl.Func:
    return in_turn(hl.UInt(16))[1]


@pytest.mark.parametrize("make", [looked_up, spread, wider])
def test_rows_that_are_read_at_another_pace(make: Callable[[], hl.Func]) -> None:
    """At some places they are at the same in a page as what is written."""
    out = make()
    if make is not wider:
        out.bound(c, 0, 3).reorder(c, x, y).unroll(c).vectorize(x, 32)
    assert "streamed(" in lowered(out, target=AVX512)
    assert "streamed(" not in lowered(out, target=AVX2)


def test_short_rows_are_not_worth_many_comparisons() -> None:
    inp, out = hl.ImageParam(hl.UInt(16), 2, "inp"), hl.Func("out")
    out[x, y] = inp[x, y] + inp[x + 1, y] + inp[x, y + 1]
    out.tile(x, y, xi, yi, 256, 8).reorder(yi, xi, x, y).vectorize(xi, 32).unroll(yi)
    assert "streamed(" in lowered(out, target=AVX512)
    assert "streamed(" not in lowered(out, target=AVX2)


@pytest.mark.parametrize("skip", [0, 64, 4096 - 64, 2048, 17])
def test_values_wherever_the_rows_are(skip: int) -> None:
    shape = 3, 3000, 4096
    count = int(np.prod(shape))
    flat = np.random.default_rng(3).integers(0, 255, count + 9000).astype(np.uint8)
    made = np.zeros(count + 4096, np.uint8)
    out_at = -made.ctypes.data % 4096
    in_at = -flat.ctypes.data % 4096 + skip
    image = flat[in_at : in_at + count].reshape(shape)
    result = made[out_at : out_at + count].reshape(shape)
    inp, out = in_turn()
    inp.set(hl.Buffer(image))
    out.realize(hl.Buffer(result))
    assert np.array_equal(result, image + np.uint8(1))


def test_the_condition() -> None:
    _, out = brighter()
    out.vectorize(x, 32)
    body = lowered(out)
    cond = re.search(r"if \((i64\(\d+\) < .*|i64\(\d+\) <= .*) && line_aligned", body)
    assert cond is not None
    assert str(MEASURED.large) in cond[1] or str(MEASURED.large + 1) in cond[1]
    assert "streamed(" in body


def test_hints_for_writing_are_for_the_other_version() -> None:
    inp, out = hl.ImageParam(hl.UInt(16), 2, "inp"), hl.Func("out")
    out[x, y] = inp[x, y] + inp[x + 1, y]
    out.tile(x, y, xi, yi, 256, 32).vectorize(xi, 32)
    body = lowered(out)
    past, kept = body.split("} else {")[:2]
    assert "streamed(" in past and "to write" not in past
    assert "streamed(" not in kept and "to write" in kept
    assert "prefetch inp" in past


def read_again() -> tuple[hl.Func, ...]:
    _, out = brighter()
    then = hl.Func("then")
    then[x, y] = out[x, y] + hl.u8(1)
    out.compute_root().vectorize(x, 32)
    then.vectorize(x, 5)
    return out, then


def updated() -> tuple[hl.Func, ...]:
    _, out = brighter()
    out.vectorize(x, 32)
    out[0, y] = hl.u8(0)
    out.update(0).unscheduled()
    return (out,)


def heavy() -> tuple[hl.Func, ...]:
    inp, out = hl.ImageParam(hl.Float(32), 2, "inp"), hl.Func("out")
    value = hl.f32(0)
    for d in range(30):
        value = value * inp[x, y + d] + float(d + 1)
    out[x, y] = value
    out.vectorize(x, 16)
    return (out,)


def short_rows() -> tuple[hl.Func, ...]:
    _, out = brighter()
    out.tile(x, y, xi, yi, 256, 32).vectorize(xi, 32)
    return (out,)


def narrow_vectors() -> tuple[hl.Func, ...]:
    _, out = brighter()
    out.vectorize(x, 8)
    return (out,)


def scalars() -> tuple[hl.Func, ...]:
    return (brighter()[1],)


@pytest.mark.parametrize(
    "make", [read_again, updated, heavy, short_rows, narrow_vectors, scalars]
)
def test_no_second_version(make: Callable[[], tuple[hl.Func, ...]]) -> None:
    assert "streamed(" not in lowered(*make())


@pytest.mark.parametrize("pitch", [8192, 8192 + 32, 8192 + 5])
@pytest.mark.parametrize("start", [0, 16, 64])
@pytest.mark.parametrize("parallel", [False, True])
def test_values(pitch: int, start: int, parallel: bool) -> None:
    """Rows that begin lines, that do so now and then, and that never do."""
    rows, width = 4100, 8190
    flat = np.zeros(rows * pitch + 256, np.uint8)
    skip = -flat.ctypes.data % 64 + start
    made = flat[skip : skip + rows * pitch].reshape(rows, pitch)[:, :width]
    inp, out = brighter()
    out.vectorize(x, 32)
    if parallel:
        out.parallel(y)
    image = np.random.default_rng(2).integers(0, 255, (rows, width)).astype(np.uint8)
    inp.set(hl.Buffer(image))
    out.realize(hl.Buffer(made))
    assert np.array_equal(made, image + np.uint8(1))
    whole = flat[skip : skip + rows * pitch].reshape(rows, pitch)
    assert not whole[:, width:].any()


def test_values_of_bools_and_floats() -> None:
    size = [8192, 4200]
    inp, out = hl.ImageParam(hl.Float(32), 2, "inp"), hl.Func("out")
    out[x, y] = inp[x, y] > 0.5
    out.vectorize(x, 64)
    assert "streamed(" in lowered(out)
    image = np.random.default_rng(2).random((size[1], size[0]), np.float32)
    inp.set(hl.Buffer(image))
    assert np.array_equal(np.asarray(out.realize(size)), image > 0.5)


def test_several_rows_at_once() -> None:
    inp, out = brighter(hl.UInt(16))
    out.split(y, y, yi, 4).reorder(yi, x, y).vectorize(x, 32).unroll(yi).parallel(y)
    assert lowered(out).count("line_aligned") == 4
    image = np.random.default_rng(2).integers(0, 999, (4000, 4800)).astype(np.uint16)
    inp.set(hl.Buffer(image))
    assert np.array_equal(np.asarray(out.realize([4800, 4000])), image + np.uint16(1))


def columns(rows: int, pure: bool = False) -> hl.Func:
    """The sums of columns, so many rows at a time."""
    inp, out = hl.ImageParam(hl.Float(32), 2, "inp"), hl.Func("out")
    out[x, y] = hl.f32(0) if pure else hl.undef(hl.Float(32))
    r = hl.RDom([(1, inp.height() - 1)], "r")
    out[x, r] = inp[x, r] + out[x, r - 1]
    if pure:
        out.vectorize(x, 32)
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    u = out.update().split(r, ro, ri, rows) if rows > 1 else out.update()
    if rows > 1:
        u.reorder(ri, x, ro).unroll(ri)
    u.vectorize(x, 32)
    return out


@pytest.mark.parametrize("target", [AVX2, AVX512])
def test_scans_along_columns_that_keep_rows_in_registers(target: Target) -> None:
    """Of eight rows one is read again, and the others come from registers."""
    made = lowered(columns(8), target=target)
    assert made.count("= streamed(") >= 8
    assert "vmovnt" in assembly(columns(8), target)


def recurrence(rows: int, order: int) -> tuple[hl.ImageParam, hl.Func]:
    """Each row is the sum of an image's row and those before it, so many at a time."""
    inp, out = hl.ImageParam(hl.Float(32), 2, "inp"), hl.Func("out")
    out[x, y] = hl.undef(hl.Float(32))
    r = hl.RDom([(order, inp.height() - order)], "r")
    total = inp[x, r]
    for k in range(order, 0, -1):
        total = total - out[x, r - k]
    out[x, r] = total
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    u = out.update().split(r, ro, ri, rows).reorder(ri, x, ro).unroll(ri)
    u.vectorize(x, 32)
    return inp, out


@pytest.mark.parametrize("rows, order", [(8, 1), (8, 2), (16, 3)])
def test_rows_that_are_read_again_are_kept(rows: int, order: int) -> None:
    """No row that was written in this iteration is read from memory; rows that are
    narrower than a vector, and may overlap, are for the other version."""
    _, out = recurrence(rows, order)
    body = lowered(out).split("if (i64(", 1)[1]
    past, other = body.split("} else {", 1)
    lets = re.findall(r"let out\S*kept\d+ = (.*)", past)
    last = re.findall(r"= streamed\((.*\[.*)\)", past)
    assert len(lets) == rows - 1 and len(last) == 1
    read = [n for value in (*lets, *last) for n in re.findall(r"out\S*\[ramp", value)]
    assert len(read) == order * (order + 1) // 2
    apart = r"out\S*\.stride\.1 <= -32"
    assert bool(re.search(apart, past.splitlines()[0])) == (order > 1)
    assert "kept" not in other


@pytest.mark.parametrize("out", [columns(1), columns(2), columns(8, pure=True)])
def test_scans_that_read_much_again_or_write_twice(out: hl.Func) -> None:
    assert "streamed" not in lowered(out)


def test_an_output_that_a_later_stage_reads() -> None:
    made, twice = columns(8), hl.Func("twice")
    twice[x, y] = made[x, y] * 2
    made.compute_root()
    twice.vectorize(x, 32)
    assert "out[ramp" in lowered(twice, made)
    assert not re.search(r"out\[.*\] = streamed", lowered(twice, made))


def test_sums_of_columns_past_the_caches_are_right() -> None:
    pixels = np.random.default_rng(1).integers(-9, 9, (3000, 4096)).astype(np.float32)
    inp, out = hl.ImageParam(hl.Float(32), 2), hl.Func("out")
    inp.set(hl.Buffer(pixels))
    r = hl.RDom([(0, inp.height())], "r")
    out[x, y] = hl.undef(hl.Float(32))
    before = hl.select(hl.likely(r >= 1), out[x, hl.max(r - 1, 0)], 0)
    out[x, r] = inp[x, r] + before
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    u = out.update().split(r, ro, ri, 8).reorder(ri, x, ro).unroll(ri)
    u.vectorize(x, 32)
    assert np.array_equal(np.asarray(out.realize([4096, 3000])), pixels.cumsum(0))


@pytest.mark.parametrize("order", [1, 2])
def test_recurrences_past_the_caches_are_right(order: int) -> None:
    pixels = np.random.default_rng(1).integers(0, 2, (3002, 2048)).astype(np.float32)
    inp, out = recurrence(8, order)
    inp.set(hl.Buffer(pixels))
    got = hl.Buffer(np.zeros_like(pixels))
    out.realize(got)
    wanted = np.zeros_like(pixels)
    for k in range(order, len(pixels)):
        before = sum([wanted[k - j] for j in range(order, 0, -1)])
        wanted[k] = pixels[k] - before
    assert np.array_equal(np.asarray(got), wanted)


def test_scans_along_rows_read_what_they_have_just_written() -> None:
    inp, out = hl.ImageParam(hl.Float(32), 2, "inp"), hl.Func("out")
    out[x, y] = hl.undef(hl.Float(32))
    r = hl.RDom([(16, inp.width() - 16)], "r")
    out[r, y] = inp[r, y] + out[r - 1, y]
    out.update().atomic().vectorize(r, 16)
    assert "streamed" not in lowered(out)
    whole = hl.Func("whole")
    whole[x, y] = hl.undef(hl.Float(32))
    vectors = hl.RDom([(1, 63), (0, 16)], "r")
    at = vectors.x * 16 + vectors.y
    whole[at, y] = inp[at, y] + whole[at - 16, y]
    whole.update().allow_race_conditions().reorder(vectors.y, vectors.x)
    whole.update().vectorize(vectors.y)
    assert "streamed" not in lowered(whole)
