"""What cannot be differentiated is refused by its name, with the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl

x = hl.Var("x")


def image() -> Any:
    return hl.ImageParam(hl.Float(64), 1, "image")


def loss(e: Any, count: int = 4) -> hl.Func:
    f, r = hl.Func("f"), hl.RDom([(0, count)])
    f[x] = e
    sum_ = hl.Func("loss")
    sum_[()] = hl.f64(0)
    sum_[()] += f[r]
    return sum_


def refused(f: hl.Func, what: str, line: str = "") -> None:
    with pytest.raises(hl.HalideError, match=what) as found:
        hl.propagate_adjoints(f)
    assert line in str(found.value)


def test_foreign_functions() -> None:
    far = hl.extern_function("cbrt", hl.Float(64), [hl.Float(64)])
    i, f = image(), hl.Func("f")
    f[x] = far(hl.f64(x)) * i[x]
    hl.propagate_adjoints(f, hl.Buffer(np.ones(3)))
    g = hl.Func("g")
    g[x] = far(i[x])
    with pytest.raises(hl.DefinitionError, match="'cbrt' has no derivative") as found:
        hl.propagate_adjoints(g, hl.Buffer(np.ones(3)))
    assert "g[x] = far(i[x])" in str(found.value)


def test_a_scan_whose_distances_differ() -> None:
    i, f, r = image(), hl.Func("f"), hl.RDom([(1, 6)])
    f[x] = i[x]
    f[r] = f[r / 2] * i[r]
    refused(loss(f[x]), "no fixed number of steps", "f[r] = f[r / 2] * i[r]")


def test_places_that_pixels_tell_are_not_folded() -> None:
    i, f, r = image(), hl.Func("f"), hl.RDom([(0, 6)])
    f[x] = i[x]
    place = hl.clamp(hl.i32(i[r]), 0, 5)
    f[place] = hl.max(f[place], i[r])
    refused(loss(f[x]), "at places that pixels tell", "f[place] = hl.max(")


def test_places_that_the_func_tells() -> None:
    i, f, r = image(), hl.Func("f"), hl.RDom([(0, 6)])
    f[x] = i[x]
    f[hl.clamp(hl.i32(f[r]), 0, 5)] = i[r]
    refused(loss(f[x]), "where this update of 'f' writes depends on", "f[hl.clamp(")


def test_bounds_that_are_not_known() -> None:
    i, f = image(), hl.Func("f")
    f[x] = i[x] * 2
    refused(f, "how much that is in dimension 0 is not known")
    f.output_buffer().dim(0).set_bounds(0, 3)
    i.set(hl.Buffer(np.ones(3)))
    d = hl.propagate_adjoints(f)
    assert np.asarray(d[i].realize([4])).tolist() == [2.0, 2.0, 2.0, 0.0]


def test_integers_have_no_gradient() -> None:
    i, k, f = image(), hl.Func("k"), hl.Func("f")
    k[x] = x * 2
    f[()] = hl.f64(k[3]) * i[1]
    d = hl.propagate_adjoints(f)
    with pytest.raises(hl.DefinitionError, match="integers have no gradient"):
        d[k]
    g = hl.Func("g")
    g[()] = hl.i32(3)
    with pytest.raises(hl.DefinitionError, match="integers have no gradient"):
        hl.propagate_adjoints(g)


def test_what_a_pipeline_does_not_have() -> None:
    i, other = image(), hl.Func("other")
    other[x] = hl.f64(1)
    d = hl.propagate_adjoints(loss(i[x]))
    for key in (other, image(), hl.Param(hl.Float(64), "p")):
        with pytest.raises(hl.DefinitionError, match="does not depend on"):
            d[key]
    with pytest.raises(hl.TypeMismatchError, match="not of an int"):
        d[3]  # type: ignore[index]


def test_updates_by_number() -> None:
    i, f = image(), hl.Func("f")
    f[x] = i[x]
    f[2] = f[2] * 3.0
    one = hl.Buffer(np.ones(4))
    d = hl.propagate_adjoints(f, one)
    assert np.asarray(d[f].realize([4])).tolist() == [1.0, 1.0, 3.0, 1.0]
    assert np.asarray(d[f, 0].realize([5])).tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    with pytest.raises(hl.DefinitionError, match="has no update 1; it has 1"):
        d[f, 1]


def test_adjoints_of_other_types() -> None:
    i, f = image(), hl.Func("f")
    f[x] = i[x]
    for wrong in (np.ones(3, np.float32), np.ones((3, 3))):
        with pytest.raises(hl.TypeMismatchError, match="the same number of dimensions"):
            hl.propagate_adjoints(f, hl.Buffer(wrong))
    with pytest.raises(hl.TypeMismatchError, match="is a Func or a Buffer"):
        hl.propagate_adjoints(f, 3)  # type: ignore[call-overload]
    one = hl.Func("one")
    one[x] = hl.f64(1)
    with pytest.raises(hl.BoundsError, match="output_bounds has 2"):
        hl.propagate_adjoints(f, one, [(0, 3), (0, 3)])
