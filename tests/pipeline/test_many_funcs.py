"""Long chains of stored Funcs: what is generated grows no faster than the chain."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import parhelion as hl

x = hl.Var("x")


def chain(length: int) -> hl.Func:
    """Each Func stores the sums of neighbours in the one before."""
    first = hl.Func("first")
    first[x] = hl.u8(x)
    for _ in range(length):
        first.compute_root()
        f = hl.Func("f")
        f[x] = first[x] + first[x + 1]
        first = f
    return first


def test_failures_share_the_code_that_frees(tmp_path: Path) -> None:
    frees = []
    for length in (10, 20, 40):
        file = tmp_path / f"{length}.ll"
        chain(length).compile_to_llvm_assembly(str(file), [])
        frees.append(file.read_text().count("@ph_free"))
    assert frees[2] - frees[1] <= 2 * (frees[1] - frees[0]) + 2


def test_a_hundred_stored_funcs_compile() -> None:
    values = np.arange(104, dtype=np.uint8)
    for _ in range(100):
        values = values[:-1] + values[1:]
    assert np.asarray(chain(100).realize([4])).tolist() == values.tolist()
