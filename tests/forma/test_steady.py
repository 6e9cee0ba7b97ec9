"""The code that runs inside of domains: no clamp, no choice, no mask; dense stores."""

from __future__ import annotations

import re

import pytest

from parhelion import forma
from tests.forma.listings import BLUR, COMPOSE, EMBOSS, JACOBI, PYRAMID, SAMPLING

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
    program = forma.compile(text)
    lowered = program.pipeline.lowered_text()
    for name, f in program.funcs.items():
        assert steady_loops(lowered, f.name()), (
            f"{name} has no steady state:\n{lowered}"
        )


def test_extrapolation() -> None:
    """Even and odd points: each computed once, stored together."""
    program = forma.compile(COMPOSE)
    lowered = program.pipeline.lowered_text()
    (along_x,) = steady_loops(lowered, "temp")
    assert "= shuffle(" in along_x and along_x.count("image[ramp(") == 3 + 1
    assert "image[ramp" in along_x and "2, 16)" not in along_x.replace("12, 16)", "")
    along_y = steady_loops(lowered, "output")[0]
    assert along_y.count("] = div_round_to_zero(") == 2


def test_pyramid() -> None:
    program = forma.compile(PYRAMID)
    lowered = program.pipeline.lowered_text()
    stored = [group.name for group in program.fusion.groups]
    for name in stored:
        if name in program.funcs:
            assert steady_loops(lowered, program.funcs[name].name()), name
