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
