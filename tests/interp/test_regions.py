"""Which regions the interpreter computes, and what fails outside of an input."""

from __future__ import annotations

import numpy as np
import pytest

from parhelion.errors import BoundsError, DefinitionError, PipelineRuntimeError
from parhelion.interp import interpret, interpret_all
from parhelion.interp import machine as machine_module
from parhelion.interp.machine import Machine
from parhelion.ir import build as B
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr, Intrinsic, Select, StringImm
from parhelion.types import INT32, Float, Handle, UInt
from tests.support.handmade import (
    call,
    define,
    domain,
    image,
    load,
    update,
    variables,
)

x, y, c = variables("x y c")
U8, U16 = UInt(8), UInt(16)
RNG = np.random.default_rng(7)


def add(a: Expr, k: int) -> Expr:
    return B.add(a, int32(k))


def test_blur_is_numpys() -> None:
    src = image("src", U16, 2)
    pixels = RNG.integers(0, 1 << 14, (40, 30), np.uint16)

    def three(a: Expr, b: Expr, d: Expr) -> Expr:
        return B.div(B.add(B.add(a, b), d), B.imm(3, U16))

    bx = define(
        "bx",
        [x, y],
        three(load(src, add(x, -1), y), load(src, x, y), load(src, add(x, 1), y)),
    )
    by = define(
        "by",
        [x, y],
        three(call(bx, x, add(y, -1)), call(bx, x, y), call(bx, x, add(y, 1))),
    )
    (got,) = interpret(by, [(1, 38), (1, 28)], images={src: (pixels, (0, 0))})
    want = (pixels[:-2] + pixels[1:-1] + pixels[2:]) // np.uint16(3)
    want = (want[:, :-2] + want[:, 1:-1] + want[:, 2:]) // np.uint16(3)
    assert got.dtype == np.uint16
    assert np.array_equal(got, want)


def test_min_coordinates_of_output_and_input_count() -> None:
    src = image("src", U8, 1)
    f = define("f", [x], load(src, B.mul(x, int32(2))))
    pixels = np.arange(50, dtype=np.uint8)
    (got,) = interpret(f, [(-5, 4)], images={src: (pixels, (-20,))})
    assert got.tolist() == [10, 12, 14, 16]


def test_read_outside_names_image_and_coordinates() -> None:
    src = image("photo", U8, 2)
    f = define("f", [x, y], load(src, add(x, 1), y))
    pixels = np.zeros((4, 4), np.uint8)
    with pytest.raises(
        BoundsError, match=r"'photo.*' at \(4, 0\), .*dimension 0 .* 0 to 3"
    ):
        interpret(f, [(0, 4), (0, 4)], images={src: (pixels, (0, 0))})


def test_a_branch_not_taken_reads_nothing() -> None:
    src = image("src", U8, 1)
    inside = B.land(B.le(int32(0), x), B.lt(x, int32(4)))
    f = define("f", [x], B.select(inside, load(src, x), B.imm(9, U8)))
    # Nested the other way round, and through a Func.
    g = define(
        "g",
        [x],
        Select(
            B.lt(x, int32(0)),
            B.imm(7, U8),
            Select(B.le(int32(4), x), B.imm(8, U8), load(src, x)),
        ),
    )
    h = define("h", [x], B.select(inside, call(f, x), B.imm(1, U8)))
    images = {src: (np.array([1, 2, 3, 4], np.uint8), (0,))}
    assert interpret(f, [(-2, 8)], images=images)[0].tolist() == [
        9,
        9,
        1,
        2,
        3,
        4,
        9,
        9,
    ]
    assert interpret(g, [(-2, 8)], images=images)[0].tolist() == [
        7,
        7,
        1,
        2,
        3,
        4,
        8,
        8,
    ]
    assert interpret(h, [(-2, 8)], images=images)[0].tolist() == [
        1,
        1,
        1,
        2,
        3,
        4,
        1,
        1,
    ]


def test_a_branch_on_a_pixel_value_reads_nothing_when_not_taken() -> None:
    src = image("src", INT32, 1)
    # Entries out of range mean "none".
    index = load(src, x)
    ok = B.land(B.le(int32(0), index), B.lt(index, int32(4)))
    f = define("f", [x], B.select(ok, load(src, index), int32(-1)))
    pixels = np.array([3, 99, -5, 0], np.int32)
    got = interpret(f, [(0, 4)], images={src: (pixels, (0,))})[0]
    assert got.tolist() == [0, -1, -1, 3]


def test_points_that_are_computed_but_not_needed_may_fail() -> None:
    src = image("src", U8, 1)
    f = define("f", [x], load(src, B.select(B.eq(x, int32(1)), int32(99), x)))
    g = define("g", [x], call(f, B.mul(x, int32(2))))
    images = {src: (np.arange(10, dtype=np.uint8), (0,))}
    assert interpret(g, [(0, 4)], images=images)[0].tolist() == [0, 2, 4, 6]
    with pytest.raises(BoundsError, match=r"at \(99\)"):
        interpret(f, [(0, 3)], images=images)


def test_the_values_of_a_tuple_fail_each_by_itself() -> None:
    src = image("src", U8, 1)
    f = define("f", [x], load(src, x), load(src, add(x, 1)))
    update(f, [x], call(f, x, value=0), call(f, x, value=1))
    images = {src: (np.arange(4, dtype=np.uint8), (0,))}
    g = define("g", [x], call(f, x, value=0))
    assert interpret(g, [(0, 4)], images=images)[0].tolist() == [0, 1, 2, 3]
    h = define("h", [x], call(f, x, value=1))
    with pytest.raises(BoundsError, match=r"at \(4\)"):
        interpret(h, [(0, 4)], images=images)


def test_a_spoiled_point_that_is_overwritten_is_good_again() -> None:
    src = image("src", U8, 1)
    f = define("f", [x], load(src, x))
    update(f, [int32(4)], B.imm(77, U8))
    images = {src: (np.arange(4, dtype=np.uint8), (0,))}
    assert interpret(f, [(0, 5)], images=images)[0].tolist() == [0, 1, 2, 3, 77]
    g = define("g", [x], load(src, x))
    update(g, [int32(4)], B.add(call(g, 4), B.imm(1, U8)))
    with pytest.raises(BoundsError):
        interpret(g, [(0, 5)], images=images)


def test_a_write_to_an_unknown_place_matters_where_the_func_is_needed() -> None:
    src = image("src", U8, 1)
    images = {src: (np.arange(4, dtype=np.uint8), (0,))}
    r = domain((0, 5))
    at = B.cast(INT32, load(src, r.vars[0]))  # reads at 4, where the image has no pixel
    f = define("f", [x], int32(7))
    update(f, [at], int32(1), rdom=r)
    pair = define("pair", [x], load(src, x), call(f, x))
    needless = define("needless", [x], call(pair, x, value=0))
    assert interpret(needless, [(0, 4)], images=images)[0].tolist() == [0, 1, 2, 3]
    for needed in (f, define("g", [x], call(pair, x, value=1))):
        with pytest.raises(BoundsError, match=r"at \(4\)"):
            interpret(needed, [(0, 4)], images=images)
    # What is written for sure afterwards is known again.
    update(f, [int32(2)], int32(5))
    assert interpret(f, [(2, 1)], images=images)[0].tolist() == [5]
    with pytest.raises(BoundsError):
        interpret(f, [(1, 2)], images=images)


def test_a_condition_that_cannot_be_read_may_hold_or_not() -> None:
    src = image("src", U8, 1)
    images = {src: (np.zeros(4, dtype=np.uint8), (0,))}
    r = domain((3, 2))
    r.predicate = B.lt(int32(5), B.cast(INT32, load(src, r.vars[0])))
    f = define("f", [x], int32(7))
    update(f, [x], int32(1), rdom=r)
    with pytest.raises(BoundsError, match=r"at \(4\)"):
        interpret(f, [(0, 2)], images=images)


def test_lookup_in_a_table_made_by_a_func() -> None:
    src = image("src", U8, 2)
    pixels = RNG.integers(0, 256, (9, 7), np.uint8)
    table = define("table", [x], B.mul(x, x))
    f = define("f", [x, y], call(table, B.cast(INT32, load(src, x, y))))
    (got,) = interpret(f, [(0, 9), (0, 7)], images={src: (pixels, (0, 0))})
    assert np.array_equal(got, pixels.astype(np.int32) ** 2)


def test_zero_extents_and_zero_dimensions() -> None:
    f = define("f", [x, y], B.add(x, y))
    (got,) = interpret(f, [(0, 0), (0, 5)])
    assert got.shape == (0, 5) and got.dtype == np.int32
    g = define("g", [], int32(42))
    update(g, [], B.add(call(g), int32(1)))
    (scalar,) = interpret(g, [])
    assert scalar.shape == () and scalar.item() == 43
    h = define("h", [x], B.add(call(g), x))
    assert interpret(h, [(0, 3)])[0].tolist() == [43, 44, 45]


def test_several_outputs_share_work() -> None:
    f = define("f", [x], B.mul(x, int32(3)))
    g = define("g", [x], B.add(call(f, add(x, 5)), int32(1)))
    (a,), (b,) = interpret_all([(f, [(0, 3)]), (g, [(2, 2)])])
    assert a.tolist() == [0, 3, 6] and b.tolist() == [22, 25]


def test_a_deep_pyramid_computes_each_level_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[str] = []
    attempt = Machine._attempt

    def counting(self: Machine, func, box):  # type: ignore[no-untyped-def]
        computed.append(func.name)
        return attempt(self, func, box)

    monkeypatch.setattr(machine_module.Machine, "_attempt", counting)
    down = [define("d", [x], B.mul(x, x))]
    for _ in range(10):
        fine = down[-1]
        two_x = B.mul(x, int32(2))
        down.append(
            define(
                "d",
                [x],
                B.add(
                    B.add(call(fine, add(two_x, -1)), call(fine, two_x)),
                    call(fine, add(two_x, 1)),
                ),
            )
        )
    up = down[-1]
    for level in reversed(down[:-1]):
        half = B.div(x, int32(2))
        up = define(
            "u",
            [x],
            B.add(B.add(call(up, half), call(up, add(half, 1))), call(level, x)),
        )
    interpret(up, [(0, 64)])
    assert len(computed) == len(set(computed)) == 21


def test_a_diamond_chain_of_lookups_is_not_exponential(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[str] = []
    attempt = Machine._attempt

    def counting(self: Machine, func, box):  # type: ignore[no-untyped-def]
        computed.append(func.name)
        return attempt(self, func, box)

    monkeypatch.setattr(machine_module.Machine, "_attempt", counting)
    f = define("f", [x], B.mod(B.mul(x, int32(7)), int32(11)))
    for _ in range(12):
        f = define(
            "f", [x], B.mod(B.add(call(f, add(x, -1)), call(f, add(x, 1))), int32(13))
        )
    lookup = define("g", [x], call(f, call(f, x)))
    interpret(lookup, [(0, 20)])
    assert len(computed) <= 2 * 13 + 1


def test_a_deep_expression() -> None:
    e: Expr = x
    for k in range(5000):
        e = B.add(B.mul(e, int32(3)), int32(k))
    value = 2
    for k in range(5000):
        value = INT32.wrap(value * 3 + k)
    assert interpret(define("f", [x], e), [(2, 1)])[0].tolist() == [value]


def test_require() -> None:
    message = (StringImm(Handle(), "x is "), x)
    guarded = Intrinsic(INT32, "require", (B.lt(x, int32(3)), B.mul(x, x), *message))
    f = define("f", [x], guarded)
    assert interpret(f, [(0, 3)])[0].tolist() == [0, 1, 4]
    with pytest.raises(PipelineRuntimeError, match="requirement failed: x is 3"):
        interpret(f, [(0, 5)])


def test_missing_inputs_and_definitions() -> None:
    src = image("src", Float(32), 1)
    with pytest.raises(DefinitionError, match="'src.*' was not given"):
        interpret(define("f", [x], load(src, x)), [(0, 1)])
    hollow = define("hollow", [x], int32(1))
    hollow.pure = None
    with pytest.raises(DefinitionError, match="never defined"):
        interpret(define("f", [x], call(hollow, x)), [(0, 1)])
    with pytest.raises(DefinitionError, match="y is used here"):
        interpret(define("f", [x], B.add(x, y)), [(0, 1)])


def test_unbounded_reads_of_itself() -> None:
    f = define("f", [x], x)
    update(f, [x], call(f, add(x, -1)))
    with pytest.raises(BoundsError, match="without bound"):
        interpret(f, [(0, 4)])


def test_predicates_narrow_what_is_read() -> None:
    src = image("src", INT32, 1)
    total = define("total", [], int32(0))
    triangle = domain((0, 10))
    r = triangle.vars[0]
    triangle.predicate = B.lt(r, int32(4))
    update(total, [], B.add(call(total), load(src, r)), rdom=triangle)
    images = {src: (np.arange(4, dtype=np.int32), (0,))}
    assert interpret(total, [], images=images)[0].item() == 6
