"""The code that runs inside of domains: no clamp, no choice, no mask; dense stores."""

from __future__ import annotations

import re

import numpy as np
import pytest

import parhelion as hl
from parhelion import forma
from parhelion.forma.funcs import funcs_of
from tests.forma.listings import BLUR, COMPOSE, EMBOSS, JACOBI, PYRAMID, SAMPLING
from tests.forma.support import assert_same

#: A loop, and the lines of its body.
_LOOP = re.compile(r"^( *)for \(.*\n((?:\1 .*\n)+)", re.M)
#: What only borders need. Clamps of the coordinate of a row are none of it: they are
#: evaluated before the loop along the row.
_COSTS = re.compile(r"select\(| if ramp| if t|%|(min|max)\([^()]*(ramp|x16|\.s0\.x)")


def steady_loops(text: str, stage: str) -> list[str]:
    """The bodies of the innermost loops over whole vectors that store to a stage, in
    which nothing is tested."""
    produced = text[text.index(f"produce {stage}:") :]
    produced = produced.split("\n  consume ")[0]
    bodies = []
    at = 0
    while (found := _LOOP.search(produced, at)) is not None:
        at = found.start() + 1
        body = found.group(2)
        if "for (" in body or "else" in body or "if (" in body:
            continue
        stores = [line.strip() for line in body.splitlines() if "] = " in line]
        if all([line.startswith(f"{stage}[ramp(") for line in stores]):
            bodies.append(body)
    return [body for body in bodies if not _COSTS.search(body)]


@pytest.mark.parametrize(
    "boundary", ["", ":constant(0)", ":clamped", ":wrap", ":mirror"]
)
@pytest.mark.parametrize("text", [JACOBI, EMBOSS, BLUR, SAMPLING])
def test_stencils(text: str, boundary: str) -> None:
    text = re.sub(r"\((x|input|image)(:constant\(0\))?\);", rf"(\1{boundary});", text)
    text = text.replace("blury(blurx(input", f"blury(blurx(input{boundary}")
    program = forma.compile(text, scheduler="Forma")
    lowered = program.pipeline.lowered_text()
    for name, f in program.funcs.items():
        assert steady_loops(lowered, f.name()), (
            f"{name} has no steady state:\n{lowered}"
        )


def test_each_second_point_of_a_stage_that_is_not_stored() -> None:
    """Its clamps are inside of those of the stage that it reads, times two."""
    program = forma.compile(SAMPLING)
    assert list(program.fusion.groups) and "temp" in program.funcs
    lowered = program.pipeline.lowered_text()
    assert "produce temp" not in lowered
    assert steady_loops(lowered, program.pipeline.outputs()[0].name()), lowered


def test_extrapolation() -> None:
    """Even and odd points: each computed once, stored together."""
    program = forma.compile(COMPOSE, scheduler="Forma")
    lowered = program.pipeline.lowered_text()
    (along_x,) = steady_loops(lowered, "temp")
    assert "= shuffle(" in along_x and along_x.count("image[ramp(") == 3 + 1
    assert "image[ramp" in along_x and "2, 16)" not in along_x.replace("12, 16)", "")
    along_y = steady_loops(lowered, "output")[0]
    assert along_y.count("] = div_round_to_zero(") == 2


def test_pyramid() -> None:
    program = forma.compile(PYRAMID, scheduler="Forma")
    lowered = program.pipeline.lowered_text()
    stored = [group.name for group in program.fusion.groups]
    for name in stored:
        if name in program.funcs:
            assert steady_loops(lowered, program.funcs[name].name()), name


MIRRORED = """
    stencil far(vector#2 int X) { return X@[-2,-3] + 3*X + X@[1,3]; }
    stencil half(vector#2 int X) { return X@[(-3,2),(-2,2)] + 5*X@[(4,2),(3,2)]; }
    parameter M, N; vector#2 int x[M, N];
    return half(far(x):mirror), far(far(x):mirror);
"""


def test_a_mirror_asks_no_more_than_its_surroundings() -> None:
    """Of what is mirrored at an edge, a tile needs what is close to it; it once needed
    the whole domain, which was computed again for each tile."""
    funcs = funcs_of(forma.check(MIRRORED))
    _, _, inner, outer = funcs.stages.values()
    y, yo = outer.args()[1], hl.Var("yo")
    outer.split(y, yo, y, 16)
    inner.compute_at(outer, yo)
    image = hl.Buffer(np.zeros((256, 32), np.int32))
    funcs.images[0].params[0].set(image)
    for name, value in (("M", 32), ("N", 256)):
        funcs.parameters[name].set(value)
    found = hl.Pipeline([one.func for one in funcs.results]).report(
        [hl.Buffer(np.zeros((128, 16), np.int32)), hl.Buffer(np.zeros_like(image))]
    )
    # Tiles of 16 rows need 3 above and below, and by their bounds 2 more.
    assert found[inner.name()].recomputed < 1.6


@pytest.mark.parametrize("size", [(2, 2), (2, 5), (3, 2), (4, 6), (5, 3), (9, 8)])
def test_small_mirrors(size: tuple[int, int]) -> None:
    """Of domains smaller than what is mirrored, too, each point is the right one."""
    assert_same(forma.compile(MIRRORED), M=size[0], N=size[1])
