"""One spelling of a name: what `name()` says is what messages and expressions say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import parhelion as hl

x, y, u = hl.vars("x y u")


def sums() -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("f"), hl.RDom([(0, 4), (0, 5)], "r")
    f[x] = 0
    f[x] += r.x * r.y
    return f, r


def test_an_rvar_has_one_name() -> None:
    f, r = sums()
    assert [v.name() for v in (*r, *f.rvars(0))] == ["r.x", "r.y"] * 2
    assert str(r.y) == "r.y"
    assert repr(r.y) == "<parhelion.RVar 'r.y' (0, 5)>"
    assert repr(r) == "<parhelion.RDom r.x(0, 4), r.y(0, 5)>"
    assert repr(r.x * 2 + r.y) == "<parhelion.Expr of type int32: r.x*2 + r.y>"
    unnamed = hl.RDom([(0, 4)])
    assert unnamed.x.name().endswith(".x")
    assert hl.RVar("strip").name() == "strip"


#: Programs whose message mentions r.y.
BAD: dict[str, Callable[[hl.Func, hl.RDom], object]] = {
    "parallel": lambda f, r: f.update(0).parallel(r.y),
    "vectorize": lambda f, r: f.update(0).vectorize(r.y),
    "loops of another": lambda f, r: f.parallel(r.y),
    "bound": lambda f, r: f.bound(r.y, 0, 4),
    "factor": lambda f, r: f.split(x, x, u, r.y),
    "fused into a Var": lambda f, r: f.update(0).fuse(r.y, r.x, u),
    "in a pure definition": lambda f, r: hl.Func("g").__setitem__(x, r.y),
    "of two domains": lambda f, r: f.__setitem__(x, f[x] + r.y + hl.RDom([(0, 3)])),
    "summed": lambda f, r: hl.sum(r.y + hl.RDom([(0, 3)])),
    "a requirement": lambda f, r: hl.Pipeline(f).add_requirement(r.y > 0),
    "lanes": lambda f, r: (
        f.update(0).split(r.y, hl.RVar("a"), hl.RVar("b"), hl.Param(hl.Int(32))),
        f.update(0).atomic().vectorize(hl.RVar("b")),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_messages_call_it_by_that_name(what: str) -> None:
    f, r = sums()
    with pytest.raises(hl.HalideError) as caught:
        BAD[what](f, r)
    said = str(caught.value)
    assert "r.y" in said.replace(repr(caught.value.at), "")
    assert "$" not in said


def test_what_lowering_says() -> None:
    p = hl.Param(hl.Int(32), "p")
    f, r = hl.Func("f"), hl.RDom([(0, p)], "r")
    f[x] = 0
    f[x] += r.x
    f.update(0).unroll(r.x)
    with pytest.raises(
        hl.ScheduleError, match=r"f\.update\(0\): the loop over r\.x is"
    ):
        f.compile_jit()
