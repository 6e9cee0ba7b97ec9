"""Where compiled code looks whether it is to stop: often enough, and never in an
innermost loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.target import host_target
from parhelion.ir.pipeline import Lowered
from parhelion.lower.passes import lower
from tests.support.checking import check
from tests.support.spec import spec_of


@dataclass(frozen=True)
class Looks:
    """Of a module: each block's text, by its name, function by function."""

    functions: list[dict[str, str]]

    @property
    def looks(self) -> int:
        return sum(
            "load atomic" in b for blocks in self.functions for b in blocks.values()
        )

    @property
    def strips(self) -> int:
        return sum(n.startswith("strip") for blocks in self.functions for n in blocks)

    def innermost(self) -> list[str]:
        """Loops of one block."""
        return [
            text
            for blocks in self.functions
            for name, text in blocks.items()
            if re.search(rf"br i1 .*label %{name}\b", text)
        ]


def looks(f: hl.Func, interruptible: bool = True) -> Looks:
    lowered = lower(spec_of(f), name="f")
    assert isinstance(lowered, Lowered)
    text = emit_with_sites(lowered, host_target(), interruptible).text
    functions = []
    for body in re.findall(r"^define .*?\{\n(.*?)^\}", text, re.M | re.S):
        parts = re.split(r"^(\S+):\n", body, flags=re.M)
        functions.append(dict(zip(parts[1::2], parts[2::2], strict=True)))
    return Looks(functions)


x, y, c = hl.vars("x y c")


def stencil() -> hl.Func:
    image = hl.ImageParam(hl.Float(32), 2)
    f = hl.Func("f")
    f[x, y] = image[x, y] + image[x + 1, y] * 2 + image[x, y + 1]
    return f


def rows() -> hl.Func:
    return stencil().vectorize(x, 8)


def tiles() -> hl.Func:
    xi, yi = hl.vars("xi yi")
    return stencil().tile(x, y, xi, yi, 64, 32).vectorize(xi, 8).parallel(y)


def line() -> hl.Func:
    f = hl.Func("f")
    f[x] = hl.f32(x) * 2
    return f.vectorize(x, 8)


def reduction() -> hl.Func:
    image = hl.ImageParam(hl.Float(32), 2)
    r = hl.RDom([(0, image.width()), (0, image.height())])
    f = hl.Func("f")
    f[x] = 0.0
    f[x] += image[r.x, r.y] * hl.f32(x)
    f.vectorize(x, 8).update().reorder(x, r.x, r.y).vectorize(x, 8)
    return f


def bounded() -> hl.Func:
    f = stencil().vectorize(x, 8)
    return f.bound(x, 0, 64).bound(y, 0, 64)


@pytest.mark.parametrize(
    ("make", "rows", "strips"),
    [
        # Each row of the image; and so many scalars of a row.
        (rows, True, False),
        (stencil, True, True),
        # Each row of tiles is the pool's: there, each tile.
        (tiles, True, False),
        # Nothing is around the loops of a line.
        (line, False, True),
        (bounded, False, False),
    ],
)
def test_where_loops_look(
    make: Callable[[], hl.Func], rows: bool, strips: bool
) -> None:
    made = looks(make())
    assert (made.looks > made.strips, made.strips > 0) == (rows, strips)


@pytest.mark.parametrize("make", [stencil, rows, tiles, line, reduction, bounded])
def test_no_innermost_loop_looks(make: Callable[[], hl.Func]) -> None:
    made = looks(make())
    assert made.innermost()
    assert not [b for b in made.innermost() if "load atomic" in b or "@ph_" in b]


@pytest.mark.parametrize("make", [stencil, rows, tiles, line, reduction])
def test_code_that_python_does_not_run_has_no_looks(
    make: Callable[[], hl.Func],
) -> None:
    made = looks(make(), interruptible=False)
    assert (made.looks, made.strips) == (0, 0)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_short_loop_begins_a_line(parallel: bool) -> None:
    """Also in strips, which LLVM joins with it: across two lines of the instruction
    cache a look-up takes 0.59 ms, not 0.34, whatever else the code is."""
    if not host_target().is_x86():
        pytest.skip("the instructions are those of x86")
    levels, f = hl.ImageParam(hl.UInt(8), 2, "levels"), hl.Func("f")
    x, y = hl.vars("x y")
    f[x, y] = hl.Buffer(hl.Float(32), [256])[hl.i32(levels[x, y])]
    if parallel:
        f.parallel(y)
    text = hl.Pipeline(f).assembly_text()
    lines = [line.strip() for line in text.splitlines()]
    (at,) = [k for k, line in enumerate(lines) if line.startswith("movzbl")]
    begin = max([k for k in range(at) if lines[k].startswith(".LBB")])
    assert lines[begin - 1].split("#")[0].split() == [".p2align", "6"]


@pytest.mark.parametrize("parallel", [False, True])
def test_values_of_a_short_reduction_are_not_those_of_a_long_one(
    parallel: bool,
) -> None:
    """What the code for one computes is not there for what comes after both."""

    def make() -> tuple[hl.Func, hl.Func]:
        x = hl.Var("x")
        first = hl.Param(hl.Int(32), "first", 1)
        r = hl.RDom([(first, hl.Param(hl.Int(32), "n", 5))], "r")
        read, f = hl.Func("read"), hl.Func("f")
        read[x] = x * 2
        f[x] = 1
        f[x] += read[x + r.x]
        return f, read

    def scheduled(f: hl.Func, read: hl.Func) -> None:
        read.compute_root()
        (x,), xi = f.args(), hl.Var("xi")
        update = f.update().split(x, x, xi, 2)
        update.reorder(f.rvars(0)[0], xi, x).unroll(xi)
        if parallel:
            update.parallel(x)

    check(make, [6], [scheduled])
