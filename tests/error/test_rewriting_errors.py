"""Wrong uses of the directives that rewrite a pipeline, and what they say."""

from __future__ import annotations

import pytest

import parhelion as hl
from tests.support.refusals import lower, plain

x, y, u = hl.vars("x y u")


def refused(program: object, message: str) -> None:
    with pytest.raises(hl.ScheduleError) as caught:
        program()  # type: ignore[operator]
    assert caught.value.at is not None and caught.value.at.file == __file__
    shown = plain(caught.value, __file__)
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


# rfactor.


def total() -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("total"), hl.RDom([(0, 10), (0, 5)], "r")
    f[x] = 0
    f[x] += r.x * r.y
    return f, r


FORMS = (
    "\nhint: each value must be the old one at the same place, folded by +, *, min,"
    " max, &, |, ^ or an unsigned saturating_add with something that does not read {};"
    " or several values must be replaced together where one of them is less or greater;"
    " or two must be the product of complex numbers"
)


def test_rfactor_of_what_is_not_associative() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    f[x] = 0
    f[x] = f[x] * 2 + r.x
    refused(
        lambda: f.update().rfactor(r.x, u),
        "f.update(0).rfactor: the update is not known to fold with an associative"
        " operation\nthe update is f[…] = f(x)*2 + r.x" + FORMS.format("f"),
    )


def test_rfactor_of_signed_sums_that_saturate() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    f[x] = hl.i8(0)
    f[x] = hl.saturating_add(f[x], hl.i8(r.x))
    refused(
        lambda: f.update().rfactor(r.x, u),
        "f.update(0).rfactor: the update is not known to fold with an associative"
        " operation\nthe update is f[…] = saturating_add(f(x), int8(r.x))\n"
        "signed sums that saturate are not associative: (100 + 100) + -100 is 27"
        " in 8 bits, 100 + (100 + -100) is 100" + FORMS.format("f"),
    )


def test_rfactor_of_floats_that_takes_a_nan() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    f[x] = 0.0
    f[x] = hl.max(hl.sqrt(r.x), f[x])
    refused(
        lambda: f.update().rfactor(r.x, u),
        "f.update(0).rfactor: among floats the update is not associative\n"
        "the update is f[…] = max(sqrt(float32(r.x)), f(x))\n"
        "a NaN would replace the old value, and be replaced by what comes next: where"
        " it stands decides the result\n"
        "hint: max(f[…], e), min(f[…], e) and select(e < old, e, old) take numbers"
        " only",
    )


def test_atomic_of_floats_that_takes_a_nan() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    f[x] = 0.0
    f[x] = hl.max(hl.sqrt(r.x), f[x])
    refused(
        lambda: f.update().atomic(),
        "f.update(0).atomic: it is not proven that the updates may happen in any"
        " order\n"
        "each value must be the old one at the same place, folded with something that"
        " does not read f by +, -, *, min, max, &, | or ^, or be part of a product of"
        " complex numbers; as the left operand of min and max, if they are floats: on"
        " the right, a NaN would replace it, and be replaced by what comes next; or"
        " each value must be the one a point before it, plus such a thing\n"
        "hint: atomic(override_associativity_test=True) takes the responsibility",
    )


def test_rfactor_of_an_inner_loop_where_order_matters() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10), (0, 5)], "r")
    f[x] = hl.Tuple(1000, 0)
    c = r.x * r.y < f[x][0]
    f[x] = hl.Tuple(hl.select(c, r.x * r.y, f[x][0]), hl.select(c, r.x, f[x][1]))
    refused(
        lambda: f.update().rfactor(r.x, u),
        "f.update(0).rfactor: r.x cannot be kept, as it is inside r.y, which is not\n"
        "where values are equal, the order decides which of them stays; parts are"
        " merged in order only if the loops kept are outside the others\n"
        "hint: keep the outer loops, or allow_race_conditions() takes the"
        " responsibility",
    )
    f.update().allow_race_conditions().rfactor(r.x, u)


def test_rfactor_of_loops_that_are_not_there() -> None:
    f, r = total()
    other = hl.RDom([(0, 3)], "other")
    refused(
        lambda: f.update().rfactor(other.x, u),
        "total.update(0).rfactor: total.update(0) has no loop other.x\n"
        "legal here:\n  - r.x\n  - r.y\n  - x",
    )
    refused(
        lambda: f.update().rfactor(x, u),
        "total.update(0).rfactor: x is no loop over an RDom\n"
        "legal here:\n  - r.x\n  - r.y",
    )
    refused(
        lambda: hl.Stage(f, 0).rfactor(r.x, u),
        "total.rfactor: only an update can be factored\n"
        "hint: total.update(0).rfactor(…)",
    )


def test_names_in_rfactor() -> None:
    f, r = total()
    taken = "total.update(0).rfactor: the name {} is in use already\n{}\nhint: take a"
    loops = "loops, innermost first: r.x, r.y, x"
    refused(
        lambda: f.update().rfactor(r.x, x),
        taken.format("x", loops) + " new Var to stand for r.x",
    )
    refused(
        lambda: f.update().rfactor([(r.x, u), (r.y, u)]),
        taken.format("u", loops) + " new Var to stand for r.y",
    )
    refused(
        lambda: f.update().rfactor([(r.x, u), (r.x, y)]),
        "total.update(0).rfactor: r.x is given twice",
    )
    refused(
        lambda: f.update().rfactor(r.x, hl.RVar("q")),
        "total.update(0).rfactor: q is an RVar; a Var must stand for r.x in the"
        " intermediate\nhint: make it with hl.Var('q')",
    )
    refused(
        lambda: f.update().rfactor(r.x),  # type: ignore[call-overload]
        "total.update(0).rfactor takes an RVar and a Var, or a list of such pairs",
    )


def test_rfactor_of_a_branch() -> None:
    (f, r), b = total(), hl.Param(hl.Bool(), "b")
    f.update().specialize(b)
    refused(
        lambda: f.update().rfactor(r.x, u),
        "total.update(0).rfactor: a specialised definition cannot be factored\n"
        "hint: call rfactor first, then specialize",
    )


def test_rfactor_of_floats_under_strict_float() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    f[x] = 0.0
    f[x] += hl.f32(r.x)
    f.update().rfactor(r.x, u).compute_root()
    target = hl.get_host_target().with_feature(hl.TargetFeature.StrictFloat)
    with pytest.raises(hl.ScheduleError) as caught:
        f.realize([3], target=target)
    assert plain(caught.value, __file__).startswith(
        "f.update(0).rfactor: floats would be folded in another order, which the"
        " target's strict_float forbids\n"
    )
