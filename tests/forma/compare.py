"""Compares compiled random programs with the reference: each result bit by bit.

python -m tests.forma.compare --cases 300 --seed 1 [--scheduler Parhelion] [--math]
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from parhelion import forma
from parhelion.forma.reference import evaluate
from parhelion.runtime import cache
from tests.forma.draw import Drawn, draw

Array = npt.NDArray[Any]

#: Of math functions, which NumPy and compiled code round differently: units in the last
#: place of the largest value, and that a conversion to integers may be one off.
_CLOSE = 1e-4


def difference(drawn: Drawn, scheduler: str | None, math: bool = False) -> str:
    """What differs between the compiled program and the reference; "" if nothing."""
    program = forma.compile(drawn.text, scheduler=scheduler, strict_float=True)
    wanted = evaluate(program.graph, drawn.inputs, drawn.parameters)
    arguments: dict[str, Any] = {**drawn.inputs, **drawn.parameters}
    programs = [program]
    if cache.folder() is not None:
        # As the next process has it.
        programs.append(
            forma.compile(drawn.text, scheduler=scheduler, strict_float=True)
        )
    for one in programs:
        found = one(**arguments)
        results = found if isinstance(found, tuple) else (found,)
        outputs = program.graph.outputs
        for output, got, want in zip(outputs, results, wanted, strict=True):
            if not same(got, want, math):
                return f"{output.name} differs"
    return ""


def same(got: Array, want: Array, math: bool = False) -> bool:
    """Whether two arrays are equal; math: nearly, as functions are rounded."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if got.dtype.names:
        return all([same(got[name], want[name], math) for name in got.dtype.names])
    if not math:
        return np.array_equal(got, want, equal_nan=got.dtype.kind == "f")
    scale = float(np.abs(want.astype(np.float64)).max(initial=1.0))
    distance = np.abs(got.astype(np.float64) - want.astype(np.float64))
    return bool((distance <= _CLOSE * scale + (want.dtype.kind == "i")).all())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduler", default="Forma")
    parser.add_argument("--math", action="store_true")
    given = parser.parse_args()
    scheduler = None if given.scheduler == "None" else given.scheduler
    start, failed = time.time(), 0
    for seed in range(given.seed, given.seed + given.cases):
        drawn = draw(seed, given.math)
        try:
            told = difference(drawn, scheduler, given.math)
        except Exception as error:  # whatever it is, the program is shown
            told = f"{type(error).__name__}: {error}"
        if told:
            failed += 1
            print(f"seed {seed}: {told}\n{drawn.text}{drawn.parameters}\n", flush=True)
    print(f"{given.cases} programs, {failed} differ; {time.time() - start:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
