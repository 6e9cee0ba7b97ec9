"""Functions such as ``pow`` are long chains of operations: vectors of several registers
keep a core busy while one of these waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.groups import Model
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.shapes import plain_loops

MACHINE = Machine(1, 64, 32, 48 << 10, 2 << 20, 32 << 20)
WIDTH, HEIGHT = 640, 480
x, y = hl.Var("x"), hl.Var("y")


def of(make: Callable[[hl.Expr], hl.Expr], t: hl.Type | None = None) -> hl.Func:
    """A function of each pixel of an image of floats."""
    image, out = hl.ImageParam(t or hl.Float(32), 2, "image"), hl.Func("out")
    out[x, y] = make(image[x, y])
    return out


def modelled(out: hl.Func, machine: Machine = MACHINE) -> Model:
    f = out._function
    box = ((0, WIDTH - 1), (0, HEIGHT - 1))
    return Model(*Search((f,), Sizes({f: box}, {}, {}), machine).bounded(), machine)


def chain(out: hl.Func) -> float:
    model = modelled(out)
    (stage,) = model.graph.stages[out._function]
    return model.work(stage).chain


def lanes(out: hl.Func, width: int = WIDTH, machine: Machine = MACHINE) -> int:
    return plain_loops(modelled(out, machine), out._function, (width, 4)).lanes


def test_what_functions_compute_from_each_other_is_one_chain() -> None:
    one = chain(of(hl.sin))
    assert one > 0
    assert chain(of(lambda v: hl.sin(hl.sin(v) * 3.0))) == 2 * one
    assert chain(of(lambda v: hl.sin(v) + hl.sin(v * 3.0))) == one
    # Sums are chains too, but their terms are there long before.
    assert chain(of(lambda v: v * 3.0 + 1.0)) == 0


def test_functions_are_computed_in_vectors_of_several_registers() -> None:
    assert lanes(of(lambda v: hl.pow(v, 2.2))) == 64
    assert lanes(of(lambda v: v * 3.0 + 1.0)) == 16


def test_a_core_that_has_room_for_more_needs_no_longer_vectors() -> None:
    roomy = replace(MACHINE, waiting=2000.0)
    assert lanes(of(lambda v: hl.pow(v, 2.2)), machine=roomy) == 16


@pytest.mark.parametrize(("width", "most"), [(640, 64), (128, 32), (64, 16)])
def test_vectors_are_no_longer_than_a_quarter_of_a_row(width: int, most: int) -> None:
    assert lanes(of(lambda v: hl.pow(v, 2.2)), width) == most


def test_longer_vectors_are_cheaper_for_each_point_of_a_chain() -> None:
    out = of(lambda v: hl.pow(v, 2.2))
    model = modelled(out)
    (stage,) = model.graph.stages[out._function]
    each = [
        model.speed(stage, Loops(0, n, (n, 1), (0, 1))).block / n for n in (16, 32, 64)
    ]
    assert each[0] > each[1] > each[2]


def test_results_are_the_same_in_longer_vectors() -> None:
    pixels = np.linspace(0.01, 4, WIDTH * 8, dtype=np.float32).reshape(8, WIDTH)
    image, out, plain = hl.Buffer(pixels), hl.Func("out"), hl.Func("plain")
    out[x, y] = hl.pow(image[x, y], 2.2)
    plain[x, y] = hl.pow(image[x, y], 2.2)
    hl.autoschedule(out, [WIDTH, 8])
    found, want = out.realize([WIDTH, 8]), plain.realize([WIDTH, 8])
    assert np.array_equal(np.asarray(found), np.asarray(want))
