"""All contenders of one case, timed in turn in one process.

    python -m benchmarks.auto.runtime CASE LABEL...

Prints a JSON object a line: what it is about to prepare, what came of it, and at last
the times. So the one that starts it knows which contender has brought it down. The
number of threads comes from HL_NUM_THREADS, as both modules read it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TextIO

import numpy as np

from apps.common import Array, Module
from benchmarks.auto.adams import NoAnswer
from benchmarks.auto.contenders import (
    Contender,
    Ready,
    Setting,
    contenders,
    prepare,
    scaled,
)
from benchmarks.auto.gate import Gate
from benchmarks.auto.load import Others
from benchmarks.auto.steady import steady
from benchmarks.case import Case, Image, load
from benchmarks.cases import case

#: A first run of more seconds than this is the contender's time.
SLOW = 10.0
#: Pixels on every side that an input is enlarged by for schedules that read beyond it.
MARGIN = 256


def own_output() -> TextIO:
    """This process's standard output; what else is printed to it, as Halide's plugins
    do, goes to the standard error from now on."""
    found = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return found


def say(to: TextIO, **facts: Any) -> None:
    print(json.dumps(facts), file=to, flush=True)


def warm_up(hl: Module) -> None:
    """Compiles and runs something small, so that no contender pays for loading LLVM."""
    x, f = hl.Var("x"), hl.Func("warm")
    f[x] = x
    f.realize([16])


def run(
    case: Case,
    taking: Sequence[Contender],
    setting: Setting,
    seconds: float,
    out: TextIO,
    gate: Gate | None = None,
) -> None:
    """Prepares contenders, and measures those that could be; says to `out` what comes
    of it. gate: to be alone while times are taken."""
    images = case.inputs()
    runs: dict[str, Callable[[], object]] = {}
    alive: list[Ready] = []
    slow: dict[str, dict[str, float]] = {}
    first: list[Array] | None = None
    for who in taking:
        say(out, preparing=who.label)
        errors: tuple[type[Exception], ...] = (RuntimeError, ValueError, TypeError)
        if who.module:
            module = load(who.module)
            warm_up(module)
            errors = (*errors, module.HalideError)
        try:
            ready, taken = first_run(who, case, images, setting)
        except NoAnswer as error:
            say(out, prepared=who.label, absent=str(error))
            continue
        except errors as error:
            say(out, prepared=who.label, failed=_last_line(error))
            continue
        alive.append(ready)
        first = ready.results if first is None else first
        apart = case.difference(first, ready.results)
        facts = ready.facts | {"difference": apart[0], "differing": apart[1]}
        say(out, prepared=who.label, **facts, same=case.same(apart))
        if taken > SLOW:
            slow[who.label] = {"min": taken, "median": taken, "runs": 1}
        else:
            runs[who.label] = ready.run
    with gate.alone() if gate else nullcontext():
        others = Others()
        times = slow | steady(runs, seconds)
        say(out, times=times, others=others.share())


def first_run(
    who: Contender, case: Case, images: Mapping[str, Image], setting: Setting
) -> tuple[Ready, float]:
    """A contender that has run once, and the seconds of that. Where a schedule that
    Halide made reads beyond its input, which is Halide's fault, it is given a larger
    one, so that there is a time; its facts then say by how much ("padded")."""
    automatic = who.module == "halide" and who.kind in ("scheduler", "search")
    for margin in (0, MARGIN):
        ready = prepare(who, case, padded(images, margin), setting)
        if margin:
            ready.facts["padded"] = margin
        try:
            taken = timed(ready.run)
        except Exception as error:
            if automatic and not margin and "is accessed at" in str(error):
                continue
            raise
        if taken > SLOW and who.module == "parhelion":
            # The first run has perhaps compiled for these sizes.
            taken = timed(ready.run)
        return ready, taken
    raise AssertionError("the second attempt returns or raises")


def timed(run: Callable[[], object]) -> float:
    """The seconds that it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def padded(images: Mapping[str, Image], margin: int) -> Mapping[str, Image]:
    """Images that go on at their edges by so many pixels along dimensions 0 and 1."""
    if not margin:
        return images
    found = {}
    for name, image in images.items():
        dims = image.array.ndim
        wide = [(margin, margin) if d < 2 else (0, 0) for d in range(dims)][::-1]
        low = [int(n) for n in image.origin or (0,) * dims]
        origin = [n - margin if d < 2 else n for d, n in enumerate(low)]
        found[name] = Image(np.pad(image.array, wide, mode="edge"), tuple(origin))
    return found


def _last_line(error: BaseException) -> str:
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[-1] if said else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("labels", nargs="+")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--renamed", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    threads = int(os.environ["HL_NUM_THREADS"])
    setting = Setting(threads, options.renamed, options.scale)
    chosen = scaled(case(options.case), options.scale)
    every = contenders(chosen, pinned=True)
    taking = [c for c in every if c.label in options.labels]
    run(chosen, taking, setting, options.seconds, own_output())


if __name__ == "__main__":
    main()
