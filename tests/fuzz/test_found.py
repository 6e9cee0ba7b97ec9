"""What fuzzing found, shrunk by `parhelion.tools.reduce`, and is right since."""

from __future__ import annotations

from tests.fuzz.case import Case, Directive, Input, Stage
from tests.fuzz.execute import Outcome, run_case


def passes(case: Case) -> None:
    report = run_case(case)
    assert report.outcome in (Outcome.CLEAN, Outcome.TRIVIAL), report.message


def test_a_window_inside_a_tile_that_rounds_up() -> None:
    """Computed in the inner loop of a tile, for a region that does not move with it."""
    passes(
        Case(
            inputs=(Input(extents=(1,), mins=(0,)),),
            stages=(
                Stage("pointwise", "i32", 1),
                Stage("pointwise", "i32", 2, (0,)),
            ),
            outputs=(1,),
            extents=(1, 1),
            schedule=(
                Directive("tile", 1, 0, (0, 0, 11)),
                Directive("compute_at", 0, 0, (1, 0, 97)),
            ),
        )
    )


def test_a_bool_stencil_of_a_position() -> None:
    passes(
        Case(
            inputs=(
                Input("u16", (10, 27), (0, 7), boundary=2),
                Input("i8", (20, 5), boundary=4, param=False),
            ),
            stages=(
                Stage(
                    "inline_argmin",
                    "i32",
                    2,
                    (-1,),
                    (94, 21, 15, 43, 38, 30, 42, 2, 71),
                ),
                Stage(
                    "stencil",
                    "bool",
                    2,
                    (0, 0),
                    (20, 97, 51, 9, 77, 51, 68, 33, 65, 81),
                ),
                Stage("upsample", "u8", 3, (1,), (9, 78, 26, 90, 7, 89, 68, 34, 97)),
            ),
            outputs=(2,),
            extents=(16, 10, 4),
            schedule=(Directive("compute_root", 1),),
        )
    )


def test_the_position_of_a_running_minimum() -> None:
    """The second value of a Tuple was stored from an old first one."""
    passes(
        Case(
            inputs=(Input("u8", (7, 1, 2), (-3, -3, -3)),),
            stages=(Stage("tuple_update", "f64", 1, (-1,), (0, 3)),),
            outputs=(0,),
            extents=(1,),
        )
    )


def test_a_window_in_storage_of_another_order() -> None:
    passes(
        Case(
            inputs=(Input(extents=(1,), mins=(0,)),),
            stages=(
                Stage("coordinates", "i32", 2),
                Stage("pointwise", "i32", 2, (0,)),
            ),
            outputs=(1,),
            extents=(7, 8),
            schedule=(
                Directive("tile", 1, 0, (0, 89)),
                Directive("vectorize", 1, 0, (57, 97, 34, 43, 26, 29)),
                Directive("vectorize", 1, 0, (22, 76, 33, 1, 50, 79)),
                Directive("store_root", 0),
                Directive("compute_at", 0, 0, (1, 57, 28)),
                Directive("reorder_storage", 0, 0, (59, 69)),
            ),
        )
    )


def test_a_value_of_a_tuple_that_nobody_reads() -> None:
    """It is not computed, so what it would read need not be there."""
    passes(
        Case(
            inputs=(Input(extents=(1, 1), boundary=0),),
            stages=(
                Stage("pair", "i32", 1, (-1,), (7,)),
                Stage("pointwise", "i32", 1, (0,)),
            ),
            outputs=(1,),
            extents=(1,),
        )
    )


def test_an_inner_split_that_no_buffer_is_large_enough_for() -> None:
    """Each rounding up asked for more: an error of ours once, now a ScheduleError, or
    code that guards its tails."""
    report = run_case(
        Case(
            inputs=(Input(extents=(1,), mins=(0,)),),
            stages=(Stage("coordinates", "i32", 1),),
            outputs=(0,),
            extents=(1,),
            schedule=(Directive("split", 0), Directive("vectorize", 0, 0, (0, 1))),
        )
    )
    assert not report.outcome.failed, report.message


def test_an_image_that_only_a_value_mentions_which_nobody_reads() -> None:
    """The second value of the pair is not computed. Asked for what the image must
    cover, the pipeline left it out, and then would not run without it."""
    passes(
        Case(
            inputs=(Input("u8", (1,), (0,), boundary=0),),
            stages=(
                Stage("coordinates", "i32", 1),
                Stage("pair", "i32", 1, (0, -1)),
                Stage("pointwise", "i32", 1, (1,)),
            ),
            outputs=(2,),
            extents=(1,),
        )
    )


def test_boxes_of_tiles_that_lanes_ask_for() -> None:
    """A sum inside of vectors reads boxes of a Func on demand, other tiles in each
    lane: the request that does not wait was made of lanes, and refused."""
    passes(
        Case(
            inputs=(Input("u8", (1,), (0,), boundary=1, param=True),),
            stages=(
                Stage("coordinates", "i32", 1),
                Stage("inline_sum", "i32", 1, (0,)),
                Stage("pointwise", "i32", 1, (1,)),
            ),
            outputs=(2,),
            extents=(1,),
            mins=(0, 0, 0),
            schedule=(
                Directive("vectorize", 2),
                Directive("place", 0, 0, (22, 0, 0, 1, 0, 0, 23, 31)),
            ),
        )
    )
