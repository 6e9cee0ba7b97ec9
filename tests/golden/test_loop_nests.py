"""print_loop_nest: the texts, which are Halide's.

The golden texts were recorded from Halide 21, save for what `DIFFERS` says. Where the
wheel is installed they are compared with it again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import parhelion as hl
import tests.golden.nests_rewriting
import tests.golden.nests_storage  # noqa: F401  (adds to CASES)
from parhelion.lower.loopnest import loop_nest_text
from parhelion.schedule.spec import PipelineSpec
from tests.golden import nests_foreign, nests_fused, nests_gpu
from tests.golden.halide_nests import MARK
from tests.golden.nests import CASES
from tests.support.golden import FOLDER, Golden

ROOT = Path(__file__).parent.parent.parent

#: Importing these registers their cases.
REGISTERED = (nests_foreign, nests_fused, nests_gpu)

#: Where we differ from Halide on purpose.
DIFFERS = {
    # A window starts full: the first iteration computes all it needs, where Halide
    # runs the loop over iterations before the first.
    "blur_sliding_in_strips",
    "stored_in_tiles_hoisted_to_root",
    # Halide calls the wrapper of a wrapper by the name of that, cut short.
    "wrapper_of_a_wrapper",
}


@pytest.mark.filterwarnings("ignore::parhelion.schedule.rules.ScheduleWarning")
@pytest.mark.parametrize("name", list(CASES))
def test_loop_nest(name: str, golden: Golden) -> None:
    made = CASES[name](hl)
    outputs = made._functions() if isinstance(made, hl.Pipeline) else [made._function]
    golden.check(f"loop_nests/{name}", loop_nest_text(PipelineSpec.of(list(outputs))))


@pytest.fixture(scope="module")
def halide_nests() -> dict[str, list[str]]:
    """The lines that Halide prints for each case."""
    pytest.importorskip("halide")
    command = [sys.executable, "-W", "ignore", "-m", "tests.golden.halide_nests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = {}
    for part in done.stderr.split(MARK)[1:]:
        name, *lines = part.splitlines()
        found[name] = [line for line in lines if re.match(r" *[a-z]", line)]
    return found


@pytest.mark.parametrize("name", [n for n in CASES if n not in DIFFERS])
def test_halide_prints_the_same(name: str, halide_nests: dict[str, list[str]]) -> None:
    kept = (FOLDER / "loop_nests" / f"{name}.txt").read_text().splitlines()
    assert [_plain(n) for n in halide_nests[name]] == [_plain(line) for line in kept]


def _plain(line: str) -> str:
    """A line without the numbers of generated names and the dots that Halide puts
    after the loops that a window slides over."""
    return re.sub(r"\b[rv]\d+\b", "v", line).replace(".:", ":")
