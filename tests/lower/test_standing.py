"""Images and Params that only promises and ranges mention are arguments as well."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret

x = hl.Var("x")


class Given:
    """Two Params, two images and a Func that are yet to be joined by promises."""

    def __init__(self) -> None:
        self.p, self.q = hl.Param(hl.Int(32), "p", 3), hl.Param(hl.Int(32), "q", 5)
        self.image = hl.ImageParam(hl.Int(32), 1, "image")
        self.other = hl.ImageParam(hl.Int(32), 1, "other")
        self.image.set(hl.Buffer(np.arange(13, dtype=np.int32)))
        self.other.set(hl.Buffer(np.arange(10, dtype=np.int32)))
        self.f = hl.Func("f")


def of_a_range(g: Given) -> None:
    g.p.set_range(0, g.q)
    g.f[x] = x * g.p


def of_a_range_by_an_image(g: Given) -> None:
    g.p.set_range(0, g.image.dim(0).extent())
    g.f[x] = x * g.p


def of_an_image(g: Given) -> None:
    g.q.set_range(0, g.p + 8)
    g.image.dim(0).set_extent(g.q + 8)
    g.f[x] = g.image[x]


def of_another_image(g: Given) -> None:
    g.p.set_range(0, g.q)
    g.image.dim(0).set_extent(g.other.dim(0).extent() + g.p)
    g.f[x] = g.image[x]


def of_the_output(g: Given) -> None:
    g.q.set_range(0, g.p + 5)
    g.f[x] = x
    g.f.output_buffer().dim(0).set_extent(g.q + 5)


def of_a_factor(g: Given) -> None:
    g.p.set_range(1, g.q)
    g.f[x] = x
    g.f.split(x, hl.Var("xo"), hl.Var("xi"), g.p, hl.TailStrategy.GuardWithIf)


@pytest.mark.parametrize(
    "promise, named",
    [
        (of_a_range, "p q"),
        (of_a_range_by_an_image, "image p"),
        (of_an_image, "image p q"),
        (of_another_image, "image other p q"),
        (of_the_output, "p q"),
        (of_a_factor, "p q"),
    ],
)
def test_what_promises_mention(promise: Callable[[Given], None], named: str) -> None:
    given = Given()
    promise(given)
    made = np.asarray(given.f.realize([10]))
    np.testing.assert_array_equal(made, interpret(given.f._function, [(0, 10)])[0])
    arguments = hl.Pipeline(given.f).infer_arguments()
    found = sorted(a.name.split("$")[0] for a in arguments)
    assert found == named.split()
    symbols: dict[str, hl.Param | hl.ImageParam]
    symbols = {"p": given.p, "q": given.q, "image": given.image, "other": given.other}
    call = given.f.compile_to_callable([symbols[name] for name in named.split()])
    values = {name: s.get() for name, s in symbols.items()}
    out = hl.Buffer(hl.Int(32), [10])
    call(*[values[name] for name in named.split()], out)
    np.testing.assert_array_equal(np.asarray(out), made)


def test_a_range_that_only_a_range_mentions_is_kept() -> None:
    given = Given()
    of_a_range(given)
    given.q.set_range(0, 4)
    with pytest.raises(hl.HalideError, match="'q' is 5, "):
        given.f.realize([10])
