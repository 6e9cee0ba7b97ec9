"""RDom, RVar and Range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.build import TRUE, int32

x, y = hl.vars("x y")


def test_ranges() -> None:
    r = hl.RDom([(1, 4), hl.Range(2, 5)], "dom")
    assert len(r) == r.dimensions() == 2 and r.defined()
    assert [v.name() for v in r] == ["dom.x", "dom.y"]
    assert r[0].name() == r.x.name() and r[1].name() == r.y.name()
    assert r.x.min()._node is int32(1) and r.y.extent()._node is int32(5)
    assert r._domain.vars[1].hi is int32(6)
    assert r._domain.predicate is TRUE
    assert r.same_as(r) and not r.same_as(hl.RDom([(1, 4)]))
    assert len(hl.RDom(((0, 3), (0, 2)))) == 2
    assert hl.RDom([(0, 0)]).x.extent()._node is int32(0)


def test_over_images() -> None:
    buffer = hl.Buffer(np.zeros((3, 5), np.uint8))
    r = hl.RDom(buffer)
    assert [v.extent()._node for v in r] == [int32(5), int32(3)]
    image = hl.ImageParam(hl.UInt(8), 2, "dom_image")
    s = hl.RDom(image)
    assert s.x.extent()._node is image.dim(0).extent()._node
    assert s.y.min()._node is image.dim(1).min()._node


def test_bounds_from_params() -> None:
    n = hl.Param(hl.Int(32), "dom_n")
    r = hl.RDom([(0, n + 1)])
    assert r.x.extent()._node is (n + 1)._node
    w = hl.Param(hl.UInt(8), "dom_w")
    assert hl.RDom([(0, w)]).x.extent().type() is hl.Int(32)


def test_one_dimension_is_an_expression() -> None:
    r = hl.RDom([(0, 10)])
    f = hl.Func()
    f[x] = 0
    f[r] = f[r] + r
    assert f._function.updates[0].rdom is r._domain
    assert (r + 1).type() is hl.Int(32)


def test_where() -> None:
    r = hl.RDom([(0, 10), (0, 10)])
    assert r.where(r.x < r.y) is None  # type: ignore[func-returns-value]
    r.where(r.x + r.y < x)
    f = hl.Func()
    f[x] = 0
    f[x] += r.x
    assert f._function.updates[0].rdom is r._domain
    assert r._domain.frozen
    with pytest.raises(hl.DefinitionError, match="takes no further predicate"):
        r.where(r.x > 2)


def test_rvars_by_name_are_for_schedules() -> None:
    a = hl.RVar("rxo")
    assert a.name() == "rxo" and not a.min().defined() and not a.extent().defined()
    with pytest.raises(hl.DefinitionError, match="belongs to no RDom"):
        a + 1


PAIR: Any = (0, 3)
NAME: Any = "x"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hl.RDom(PAIR), r"takes \(min, extent\) pairs"),
        (lambda: hl.RDom([]), "at least one dimension"),
        (lambda: hl.RDom([(0, -1)]), "must not be negative"),
        (lambda: hl.RDom([(0, 2**31)]), "does not fit int32"),
        (lambda: hl.RDom([(0, 2.5)]), "is an integer"),
        (lambda: hl.RDom([(0, hl.f32(3))]), "is an integer"),
        (lambda: hl.RDom([(x, 3)]), "depends on the variable x"),
        (lambda: hl.RDom([(hl.RDom([(0, 3)]).x, 3)]), "depends on the variable r"),
        (lambda: hl.RDom([(0, 3)]).y, "has no dimension 1"),
        (lambda: hl.RDom([(0, 3), (0, 3)]) + 1, "is not one value or loop"),
        (lambda: hl.RDom([(0, 3)]).where(x), "takes a Bool"),
        (lambda: hl.RDom(NAME), "made from a list"),
        (lambda: hl.Range(3), "a min and an extent"),
    ],
)
def test_what_is_refused(make: object, message: str) -> None:
    with pytest.raises(hl.HalideError, match=message):
        make()  # type: ignore[operator]


def test_bounds_may_not_depend_on_a_func() -> None:
    f = hl.Func("bound_func")
    f[x] = x
    with pytest.raises(hl.DefinitionError, match="depends on bound_func"):
        hl.RDom([(0, f[3])])


def test_a_predicate_may_not_mention_another_domain() -> None:
    r, s = hl.RDom([(0, 3)]), hl.RDom([(0, 3)])
    with pytest.raises(hl.DefinitionError, match="belongs to another RDom"):
        r.where(r.x < s.x)


def test_what_domains_and_references_show() -> None:
    r = hl.RDom([(0, 3), (-1, 4)], "shown")
    assert repr(r) == "<parhelion.RDom shown.x(0, 3), shown.y(-1, 4)>"
    assert repr(r.y) == "<parhelion.RVar 'shown.y' (-1, 4)>"
    assert repr(hl.Range(2, 5)) == "<parhelion.Range 2, 5>"
    x = hl.Var("x")
    f = hl.Func("shown_f")
    f[x] = x
    assert repr(f[x]) == "<parhelion.FuncRef shown_f[x]>"
    assert repr(f[2 * x + 1]) == "<parhelion.FuncRef shown_f[2*x + 1]>"


@pytest.mark.parametrize(
    "term",
    [
        lambda r: r * 0 + 2,
        lambda r: 2 - 0 * r,
        lambda r: (r - r) + 2,
        lambda r: r % 1 + 2,
        lambda r: hl.select(r * 0 == 0, 2, 5),
        lambda r: hl.select(r > 3, 2, 2),
    ],
)
def test_a_domain_is_walked_whose_variable_cancels_out(term: Any) -> None:
    r = hl.RDom([(3, 5)])
    f = hl.Func()
    f[x] = 0
    f[x] += term(r.x)
    assert f._function.updates[0].rdom is r._domain
    f.update().vectorize(x, 4)
    assert np.asarray(f.realize([6])).tolist() == [10] * 6
    (defined,) = interpret(f._function, [(0, 6)])
    assert defined.tolist() == [10] * 6


def test_an_extent_that_is_required_to_be_small() -> None:
    """What only sizes decide is told in the same words as by compiled code."""
    image, f = hl.ImageParam(hl.UInt(8), 1, "image"), hl.Func("f")
    few = hl.require(
        image.width() <= 10, image.width(), "10 pixels, not", image.width()
    )
    r = hl.RDom([(1, few - 1)])
    f[x] = 0
    f[r] = f[r - 1] + hl.i32(image[r])
    image.set(np.ones(8, np.uint8))
    assert list(f.realize([8])) == list(range(8))  # type: ignore[arg-type]
    image.set(np.ones(12, np.uint8))
    with pytest.raises(hl.PipelineRuntimeError, match="10 pixels, not 12") as caught:
        f.realize([12])
    assert caught.value.failure == "require"
