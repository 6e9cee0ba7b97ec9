"""Prints Halide's loop nests of all cases: ``python -m tests.golden.halide_nests``.

In a process of its own: Halide cuts a name where its counters, which other tests in the
process move on, have made it unique.
"""

from __future__ import annotations

import importlib
import os

from tests.golden import (
    nests_foreign,
    nests_fused,
    nests_gpu,
    nests_rewriting,
    nests_storage,
)
from tests.golden.nests import CASES

#: Importing these registers their cases.
REGISTERED = (nests_foreign, nests_fused, nests_gpu, nests_rewriting, nests_storage)

#: Begins the lines that name the case whose loop nest follows.
MARK = "==== "


def main() -> None:
    halide = importlib.import_module("halide")
    for name, make in CASES.items():
        # Halide prints to the process's standard error, past Python's buffers.
        os.write(2, f"{MARK}{name}\n".encode())
        make(halide).print_loop_nest()


if __name__ == "__main__":
    main()
