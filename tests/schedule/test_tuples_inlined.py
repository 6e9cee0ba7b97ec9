"""Where one value of an inlined Tuple is read, it uses what that value reads."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl


def test_what_only_the_other_value_reads_may_be_further_in() -> None:
    x, y = hl.vars("x y")
    source, both, one, out = hl.funcs("source both one out")
    source[x, y] = hl.cast(hl.Int(32), x + 10 * y)
    both[x, y] = hl.Tuple(x * y, source[x, y] + 1)
    one[x, y] = both[x, y][0]
    out[x, y] = one[x, y] + both[x, y][1]
    one.compute_root()
    source.compute_at(out, y)
    wanted = np.fromfunction(lambda j, i: i * j + i + 10 * j + 1, (5, 7))
    assert np.array_equal(np.asarray(out.realize([7, 5])), wanted)


def test_what_both_values_read_may_not() -> None:
    x, y = hl.vars("x y")
    source, both, one, out = hl.funcs("source both one out")
    source[x, y] = hl.cast(hl.Int(32), x + 10 * y)
    both[x, y] = hl.Tuple(source[x, y], source[x, y] + 1)
    one[x, y] = both[x, y][0]
    out[x, y] = one[x, y] + both[x, y][1]
    one.compute_root()
    source.compute_at(out, y)
    with pytest.raises(hl.ScheduleError, match="one uses source outside the loop y"):
        out.realize([7, 5])
