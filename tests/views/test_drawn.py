"""Random pipelines under random schedules: animated, they have the compiled values."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from typing import Any

import pytest

import parhelion as hl
from parhelion.views import animation
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import Program, build, set_plain_images
from tests.fuzz.draw import draw

#: How many animations are compared, and among how many draws they must be found.
COMPARED, DRAWN = 4, 90
#: Of the output.
MOST_PIXELS = 200
#: Loads and stores: what has more is left out, to be quick.
MOST_EVENTS = 4000


def same(a: float, b: float, t: hl.Type) -> bool:
    if a == b or (a != a and b != b):
        return True
    # Compiled code may contract products and sums.
    return t.is_float() and abs(a - b) <= 1e-3 * max(1, abs(a), abs(b))


def difference(program: Program, threads: int) -> str | None:
    """Where the animation's outputs are not those of `realize`; None if they cannot be
    compared: the pipeline is refused, or too large, or foreign code computes in it."""
    pipeline = hl.Pipeline(program.outputs())
    where = list(program.case.extents)
    try:
        set_plain_images(program, pipeline, where)
        made: Any = pipeline.realize(where)
    except (hl.ScheduleError, hl.BoundsError):
        return None
    buffers = iter(made if isinstance(made, tuple) else (made,))
    try:
        shown = pipeline.animate(where, threads=threads)
    except hl.HalideError as error:
        if "too many to watch" in error.what or "foreign code" in error.what:
            return None
        raise
    assert shown.html().count("<script>") == 1
    for func in program.outputs():
        f = func._function
        storage = next(s for s in shown.storages if s.func.copy_of is f)
        for i, t in enumerate(f.types):
            pixels = next(buffers)
            for at in itertools.product(*map(range, where)):
                found, wanted = storage.values[at][i], pixels[at]
                if not same(found, wanted, t):
                    return f"{f.name}.{i}{at} is {found} and not {wanted}"
    return ""


def test_random_schedules_have_the_right_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(animation, "MOST_EVENTS", MOST_EVENTS)
    compared = 0
    for seed in range(2000, 2000 + DRAWN):
        case = draw(random.Random(seed))
        if math.prod(case.extents) > MOST_PIXELS:
            continue
        program = build(case)
        scheduler = Scheduler(program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                scheduler.run()
            except hl.ScheduleError:
                continue
            found = difference(program, 1 + seed % 3)
        if found is None or not scheduler.accepted:
            continue
        assert not found, f"seed {seed}: {found}"
        compared += 1
        if compared == COMPARED:
            return
    pytest.fail(f"only {compared} of {DRAWN} draws could be compared")
