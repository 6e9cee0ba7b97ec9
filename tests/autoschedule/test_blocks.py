"""How many vectors a block may have, and on which machine what costs how much."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import parhelion as hl
from parhelion.autoschedule.machine import machine
from parhelion.autoschedule.machine.families import (
    EMERALD_RAPIDS,
    ZEN3,
    ZEN4,
    ZEN5,
    family_of,
)
from parhelion.autoschedule.machine.machine import Machine, host
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Level, Loops
from parhelion.autoschedule.model.throughput import registers_for_sums
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.base import evaluations_for
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.members import Inside
from parhelion.autoschedule.search.shapes import (
    most_copies,
    plain_loops,
    register_blocks,
    row_blocks,
)
from parhelion.ir.function import Function
from parhelion.ir.target import generic_target

WIDE = Machine(1, 64, 32, 48 << 10, 2 << 20, 32 << 20)
NARROW = Machine(1, 32, 16, 32 << 10, 512 << 10, 32 << 20, permutes=False)


def looked_up(t: hl.Type, count: int = 6) -> hl.Func:
    """The sum of some look-ups in a table, which is an image."""
    x, y = hl.Var("x"), hl.Var("y")
    table, at = hl.ImageParam(t, 1, "table"), hl.ImageParam(hl.UInt(8), 2, "at")
    f = hl.Func("looked_up")
    total = table[at[x, y]]
    for k in range(1, count):
        total = total + table[at[x + k, y]]
    f[x, y] = total
    return f


def counted(t: hl.Type) -> hl.Func:
    """A histogram of each row; vectors run along the rows."""
    y, b = hl.Var("y"), hl.Var("b")
    at, f = hl.ImageParam(hl.UInt(8), 2, "at"), hl.Func("counted")
    r = hl.RDom([(0, 64)], "r")
    f[y, b] = hl.cast(t, 0)
    f[y, hl.clamp(hl.i32(at[y, r.x]), 0, 255)] += hl.cast(t, 1)
    return f


def model_of(
    f: hl.Func, here: Machine = WIDE, size: tuple[int, int] = (512, 256)
) -> tuple[Model, Function, Loops]:
    """A Func of so many points by itself, and its plainest loops."""
    out = f._function
    box = tuple([(0, n - 1) for n in size])
    search = Search((out,), Sizes({out: box}, {}, {}), here, budget=0)
    model = search.run().model
    return model, out, plain_loops(model, out, model.extents(out))


def test_lanes_that_no_instruction_gathers_are_code_each() -> None:
    """Blocks of 32 look-ups of 16 bits came to 5 MB of code."""
    narrow, wide = model_of(looked_up(hl.UInt(16))), model_of(looked_up(hl.UInt(32)))
    assert narrow[2].lanes == 32 and wide[2].lanes == 16
    assert most_copies(*narrow) * narrow[2].lanes * 6 <= 500
    assert most_copies(*wide) > 8 * most_copies(*narrow)


def test_scattered_lanes_are_code_each() -> None:
    model, f, _ = model_of(counted(hl.Int(32)))
    along = Loops(0, 16, (16, 1), (0, 1))
    across = Loops(-1, 1, (1, 1), (0, 1))
    assert most_copies(model, f, along) * 16 <= 500
    assert most_copies(model, f, along) < most_copies(model, f, across)


def test_a_short_definition_has_more_copies_than_a_long_one() -> None:
    few, many = (
        model_of(looked_up(hl.UInt(32), 4)),
        model_of(looked_up(hl.UInt(32), 40)),
    )
    assert most_copies(*few) > most_copies(*many)


def product(apart: bool = False) -> hl.Func:
    """The product of two matrices, without a place for its sums; or sums of distances
    in its place."""
    x, y = hl.Var("x"), hl.Var("y")
    a, b = (hl.ImageParam(hl.Float(32), 2, n) for n in "ab")
    f, r = hl.Func("product"), hl.RDom([(0, 64)], "r")
    one, other = a[x, r.x], b[r.x, y]
    f[x, y] = hl.f32(0)
    f[x, y] += hl.abs(one - other) if apart else one * other
    return f


def test_sums_share_the_registers_with_what_they_sum() -> None:
    """Twelve sums, four vectors and a number are more than 16: with two vectors for six
    lines a convolution takes half the time."""
    model, f, _ = model_of(product(), NARROW)

    def per_point(vectors: int, lines: int) -> float:
        block = 8 * vectors, lines
        loops = Loops(0, 8, block, (0, 1), local=True)
        return model.one_block(f, loops) / (block[0] * block[1])

    assert per_point(2, 6) < 0.95 * per_point(4, 3)
    model, f, _ = model_of(product(), WIDE)
    assert per_point(4, 3) < per_point(2, 3)


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_costs_are_those_of_a_family_that_has_the_instructions(
    monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    """Whichever the processor is, and however wide its registers could be."""
    there = generic_target(bits), machine.processor()[1]
    monkeypatch.setattr(machine, "processor", lambda: there)
    here, usual = host(1), Machine(1, bits // 8, 32, 0, 0, 0)
    same = [getattr(here, n) == getattr(usual, n) for n in ZEN3.costs]
    assert all(same) if bits == 512 else not any(same)
    families = {"znver5": ZEN5, "znver4": ZEN4, "emeraldrapids": EMERALD_RAPIDS}
    for name, family in families.items():
        made = replace(generic_target(bits), cpu=name)
        assert family_of(made) is (family if bits == 512 else ZEN3)
    assert family_of(replace(generic_target(bits), cpu="znver3")) is ZEN3


def blurred(shared: bool) -> hl.Func:
    """A blur of three by three points; or three different Funcs of one row each, which
    rows do not share."""
    x, y = hl.Var("x"), hl.Var("y")
    image, f = hl.ImageParam(hl.UInt(16), 2, "image"), hl.Func("blurred")
    rows = [
        sum([image[x + k, y + down] // (1 if shared else down + 2) for k in range(3)])
        // 3
        for down in range(3)
    ]
    f[x, y] = (rows[0] + rows[1] + rows[2]) // 3
    return f


def test_what_rows_share_counts_once_in_a_block() -> None:
    """Sixteen rows of a blur are eighteen sums, not 48."""
    assert [o.block[1] for o in row_blocks(*model_of(blurred(True)))] == [2, 4, 8, 16]
    assert 8 not in [o.block[1] for o in row_blocks(*model_of(blurred(False)))]


def test_fewer_registers_hold_fewer_rows() -> None:
    found = row_blocks(*model_of(blurred(True), NARROW))
    assert [o.block[1] for o in found] == [2, 4, 8]


@pytest.mark.parametrize(("count", "registers"), [(2, True), (40, False)])
def test_a_sum_beside_others_is_in_no_register(count: int, registers: bool) -> None:
    """What a block needs of a Func is local if one block of that Func is all of it."""
    x, y, k = hl.Var("x"), hl.Var("y"), hl.Var("k")
    image = hl.ImageParam(hl.Float(32), 3, "image")
    sums, out = hl.Func("sums"), hl.Func("out")
    r, s = hl.RDom([(0, 5)], "r"), hl.RDom([(0, count)], "s")
    sums[x, y, k] = 0.0
    sums[x, y, k] += image[x + r.x, y, k]
    out[x, y] = 0.0
    out[x, y] += sums[x, y, s.x]
    model, root, plain = model_of(out)
    f = sums._function
    loops = Inside(model, root, plain, [root, f], {}).loops(f, Level.BLOCK)
    assert loops.local == registers
    assert (loops.block[2] == count) == registers


def test_more_funcs_have_more_evaluations_up_to_a_limit() -> None:
    assert [evaluations_for(n) for n in (1, 30, 60, 10**6)] == [1000, 1000, 1440, 2000]


def test_blocks_of_a_scan_are_not_blocked_again_beyond_the_limit() -> None:
    """Twelve lines of twelve were 144 copies (found by the fuzzer: LLVM took minutes
    for them)."""
    model, f, plain = model_of(looked_up(hl.UInt(32), 1))
    lines = replace(plain, block=(plain.lanes, 12))
    most = most_copies(model, f, lines)
    assert 12 <= most <= 32
    for made in register_blocks(model, f, lines, []):
        assert math.prod(made.block) <= most * plain.lanes


@pytest.mark.parametrize(
    ("here", "apart", "rooms"),
    [
        (WIDE, False, (30, 29, 27)),
        (WIDE, True, (25, 25, 25)),
        (NARROW, False, (14, 13, 11)),
        (NARROW, True, (12, 12, 11)),
    ],
)
def test_sums_of_products_have_all_registers(
    here: Machine, apart: bool, rooms: tuple[int, ...]
) -> None:
    """But for those of the lines' vectors and of one number for all lanes."""
    model, f, _ = model_of(product(apart), here)
    work = model.work(model.graph.stages[f][1])
    assert tuple([registers_for_sums(work, here, n) for n in (1, 2, 4)]) == rooms


@pytest.mark.parametrize(("apart", "last"), [(False, 14), (True, 12)])
def test_lines_of_sums_fill_the_registers(apart: bool, last: int) -> None:
    """VGG's images of 56, 28 and 14 pixels: fourteen pixels at a time leave none over,
    where six leave four."""
    model, f, plain = model_of(product(apart), size=(512, 56))
    blocks = [made.block for made in register_blocks(model, f, plain, [f])]
    assert max(b for a, b in blocks if a == 2 * plain.lanes) == last


def test_lines_of_wide_sums_are_counted_by_their_registers() -> None:
    """A vector of bytes is four registers of sums: thirty lines of it were offered as
    if it were one, in place of blocks that are in registers."""
    x, y = hl.Var("x"), hl.Var("y")
    sums, out = product(), hl.Func("narrowed")
    out[x, y] = hl.u8(hl.clamp(sums[x, y], 0, 255))
    model, f, plain = model_of(out)
    assert plain.lanes == 64
    blocks = [b.block for b in register_blocks(model, f, plain, [sums._function])]
    assert max(n for lanes, n in blocks if lanes == plain.lanes) == 12


def test_lines_of_sums_leave_none_over() -> None:
    model, f, plain = model_of(product(apart=False), size=(512, 55))
    blocks = [made.block for made in register_blocks(model, f, plain, [f])]
    assert (2 * plain.lanes, 11) in blocks
    assert (4 * plain.lanes, 5) in blocks
    assert {n for lanes, n in blocks if lanes == 2 * plain.lanes} == {
        *(1, 2, 3, 4, 6, 8, 12),
        *(11, 14),
    }


def test_lines_of_sums_that_leave_none_over_are_no_more_than_have_room() -> None:
    """Fifteen copies of a longer definition: 14 of 28 lines, where 28 sums would fit
    the registers."""
    x, y = hl.Var("x"), hl.Var("y")
    sums, out = product(), hl.Func("curve")
    out[x, y] = 1.0 / (1.0 + hl.exp(-sums[x, y]))
    model, f, plain = model_of(out, size=(512, 28))
    most = most_copies(model, f, plain)
    assert 14 <= most < 28
    made = register_blocks(model, f, plain, [sums._function])
    assert (plain.lanes, 14) in [b.block for b in made]


@pytest.mark.parametrize("kind", ["matrices", "points", "integers", "two operations"])
def test_what_adds_products(kind: str) -> None:
    """One instruction for each, and numbers that several sums share."""
    x, y, t = hl.Var("x"), hl.Var("y"), hl.Float(32)
    if kind == "integers":
        t = hl.Int(32)
    a, b = (hl.ImageParam(t, 2, n) for n in "ab")
    r, f = hl.RDom([(0, 64)], "r"), hl.Func("f")
    other = b[x + r.x, y] if kind == "points" else b[r.x, y]
    f[x, y] = hl.cast(t, 0)
    f[x, y] += a[x, r.x] * (other + b[0, y] if kind == "two operations" else other)
    model, out, _ = model_of(f)
    work = model.work(model.graph.stages[out][1])
    assert work.adds_products == (kind == "matrices")
