"""500 mutated programs, the same each time; `make fuzz` has 5,000 others."""

from __future__ import annotations

import random

from tests.forma.fuzz import failure, is_right, mutate, run


def test_mutants() -> None:
    counts, failures = run(500, seed=0)
    assert not failures, "\n".join(failures)
    assert counts["refused"] > 250 and counts["accepted"] > 10
    assert min(counts.values()) > 10


def test_mutants_are_the_same_each_time() -> None:
    one, other = mutate(random.Random("0/7")), mutate(random.Random("0/7"))
    assert one == other


def test_right_and_wrong_are_told_apart() -> None:
    assert is_right("vector#1 int x[3]; return x;")
    assert not is_right("vector#1 int x[3]; return y;")
    assert failure("vector#1 int x[3]; return y;") == ""
