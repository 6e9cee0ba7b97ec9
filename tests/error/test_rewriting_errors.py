"""Wrong uses of the directives that rewrite a pipeline, and what they say."""

from __future__ import annotations

import re

import pytest

import parhelion as hl
from tests.error.test_schedule_errors import _plain, lower

x, y, u = hl.vars("x y u")


def refused(program: object, message: str) -> None:
    with pytest.raises(hl.ScheduleError) as caught:
        program()  # type: ignore[operator]
    assert caught.value.at is not None and caught.value.at.file == __file__
    shown = re.sub(re.escape(__file__) + r":\d+", "SITE", _plain(caught.value))
    assert shown == message


def pipeline() -> tuple[hl.Func, hl.Func, hl.Func]:
    p, q, o = hl.Func("p"), hl.Func("q"), hl.Func("o")
    p[x, y] = x + y
    q[x, y] = p[x, y] * 2
    o[x, y] = q[x, y] + p[x, y + 1]
    return p, q, o


def test_in_an_undefined_func() -> None:
    _, q, _ = pipeline()
    refused(lambda: hl.Func("nil").in_(q), "nil.in_: nil is not defined")


def test_in_nothing() -> None:
    p, _, _ = pipeline()
    message = "{0}: the list of Funcs is empty\nlegal here:\n  - {1}"
    refused(
        lambda: p.in_([]),
        "p.in_: the list of Funcs is empty\nlegal here:\n  - p.in_(g)\n"
        "  - p.in_([g, h])",
    )
    refused(
        lambda: p.clone_in([]),
        message.format("p.clone_in", "p.clone_in(g)\n  - p.clone_in([g, h])"),
    )


def test_in_itself() -> None:
    p, q, _ = pipeline()
    message = "p.{}: p cannot be replaced in its own definition"
    refused(lambda: p.in_(p), message.format("in_"))
    refused(lambda: p.clone_in([q, p]), message.format("clone_in"))


def test_in_what_does_not_read_it() -> None:
    p, q, o = pipeline()
    s = hl.Func("s")
    s[x, y] = o[x, y]
    p.in_(s)
    refused(lambda: lower(s), "p.in_(s): s does not read p\ns reads o")


def test_a_clone_beside_a_wrapper() -> None:
    p, q, _ = pipeline()
    p.in_(q)
    refused(
        lambda: p.clone_in(q),
        "p.clone_in: q already reads p_in_q, made by in_, in place of p\n"
        "p_in_q was made at SITE\nhint: wrap or clone p_in_q in turn",
    )


def test_joining_a_wrapper_later() -> None:
    p, q, o = pipeline()
    p.in_(q)
    refused(
        lambda: p.in_([q, o]),
        "p.in_: q already reads p_in_q in place of p, and o reads p\n"
        "p_in_q was made at SITE\nhint: Funcs that are to share a wrapper or clone"
        " are given in one list, the first time",
    )


# Specialisation.


def one() -> hl.Func:
    f = hl.Func("one")
    f[x, y] = x + y
    return f


HINT = (
    "\nhint: a condition is made of Params and of the sizes and strides of images and"
    " outputs, which one run does not change; hl.select chooses from pixel to pixel"
)


def test_conditions_that_one_run_changes() -> None:
    f, (_, q, _) = one(), pipeline()
    image, r = hl.ImageParam(hl.UInt(8), 1, "image"), hl.RDom([(0, 3)], "r")
    message = "one.specialize: the condition depends on {}" + HINT
    for condition, what in (
        (x > 3, "the Var x"),
        (r.x > 3, "the RVar r.x"),
        (q[0, 0] > 3, "the Func q"),
        (image[0] > 3, "pixels of image"),
    ):
        refused(lambda c=condition: f.specialize(c), message.format(what))


def test_a_condition_that_is_no_bool() -> None:
    p = hl.Param(hl.Int(32), "p")
    refused(
        lambda: one().specialize(p + 1),
        "one.specialize takes a Bool, not a value of type int32\n"
        "hint: compare it: value != 0",
    )
    refused(
        lambda: one().specialize("p"),  # type: ignore[arg-type]
        "one.specialize takes a Bool, not 'p'",
    )
    refused(
        lambda: one().specialize_fail(3),  # type: ignore[arg-type]
        "one.specialize_fail takes a message, not 3",
    )


def test_after_specialize_fail() -> None:
    f, b = one(), hl.Param(hl.Bool(), "b")
    f.specialize_fail("no")
    refused(
        lambda: f.specialize(b),
        "one.specialize: nothing is tried after specialize_fail\n"
        "specialize_fail was given at SITE",
    )
    refused(
        lambda: f.specialize_fail("again"),
        "one.specialize_fail: it was given already\nit was given at SITE",
    )


def test_directives_on_a_branch_name_it() -> None:
    p, f = hl.Param(hl.Int(32), "p"), one()
    special = f.specialize(p == 2)
    refused(
        lambda: special.vectorize(u),
        "one.specialize(p == 2).vectorize: one.specialize(p == 2) has no loop u\n"
        "legal here:\n  - x\n  - y",
    )


def test_a_loop_that_only_one_branch_has() -> None:
    b, (_, q, o) = hl.Param(hl.Bool(), "b"), pipeline()
    o.specialize(b).split(x, x, u, 4)
    q.compute_at(o, u)
    refused(
        lambda: lower(o),
        "q.compute_at(o, u): o uses q outside the loop u of o\n"
        "the loop nest without q:\n"
        "  produce o:\n"
        "    for y:\n      for x:\n        for u:\n          o(...) = ...  <- uses q\n"
        "    for y:\n      for x:\n        o(...) = ...  <- uses q\n"
        "legal here:\n  - q.compute_root()\n  - q.compute_at(o, y)\n"
        "  - q.compute_at(o, x)",
    )


def test_a_condition_on_what_is_no_output() -> None:
    _, q, o = pipeline()
    q.compute_root().specialize(q.output_buffer().width() > 3)
    refused(
        lambda: lower(o),
        "q.specialize(3 < q.extent.0): q is no output of the pipeline and has no buffer"
        " whose size could be asked for\nlegal here:\n  - o.output_buffer()",
    )
