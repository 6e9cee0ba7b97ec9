"""How a batch of expressions shrinks (see `idioms`); used by `parhelion.tools.reduce`.

python -m parhelion.tools.reduce tests.fuzz.idioms_reduction FEATURES SEED NUMBER
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.fuzz.idioms import Batch, Loop, draw, run
from tests.fuzz.terms import NUMBERS, Term

__all__ = ["Failing", "as_test", "failure", "load", "smaller"]


@dataclass(frozen=True, slots=True)
class Failing:
    """A batch, and the set of features that it fails on."""

    batch: Batch
    features: str


def load(arguments: Sequence[str]) -> Failing:
    """The expression of that number in the batch of a seed; all of the batch if no
    number is given."""
    features, seed, *numbers = arguments
    batch = draw(random.Random(int(seed)))
    if numbers:
        batch = replace(batch, loops=(batch.loops[int(numbers[0])],))
    return Failing(batch, features)


def failure(case: Failing) -> str | None:
    try:
        return "mismatch" if run(case.batch, case.features) else None
    except Exception as error:
        return type(error).__name__


def smaller(case: Failing) -> Iterator[Failing]:
    for batch in _batches(case.batch):
        yield replace(case, batch=batch)


def _batches(batch: Batch) -> Iterator[Batch]:
    loops = batch.loops
    if len(loops) > 1:
        half = len(loops) // 2
        yield replace(batch, loops=loops[:half])
        yield replace(batch, loops=loops[half:])
        for n in range(len(loops)):
            yield replace(batch, loops=loops[:n] + loops[n + 1 :])
    for n, loop in enumerate(loops):
        for less in _loops(loop):
            yield replace(batch, loops=(*loops[:n], less, *loops[n + 1 :]))


def _loops(loop: Loop) -> Iterator[Loop]:
    if loop.unroll:
        yield replace(loop, unroll=False)
    if loop.tail != "RoundUp" and loop.where is None:
        yield replace(loop, tail="RoundUp")
    if loop.where is not None:
        yield replace(loop, where=None, tail="RoundUp")
        for where in _terms(loop.where):
            yield replace(loop, where=where)
    if loop.lanes > 2:
        yield replace(loop, lanes=loop.lanes // 2)
    for term in _terms(loop.term):
        yield replace(loop, term=term)


def _inside(term: Term) -> Iterator[Term]:
    for arg in term.args:
        yield arg
        yield from _inside(arg)


def _terms(term: Term) -> Iterator[Term]:
    """Terms of the same type, the most different first: a part of it, a load, one with
    a part made smaller, one with smaller numbers."""
    for part in _inside(term):
        if part.type == term.type:
            yield part
    if term.type in NUMBERS and term.args:
        yield Term("load", term.type)
    for n, arg in enumerate(term.args):
        for less in _terms(arg):
            yield replace(term, args=(*term.args[:n], less, *term.args[n + 1 :]))
    for n, number in enumerate(term.numbers):
        # Numbers are taken modulo what is possible; small ones are easily read.
        for less_ in {0, number % 12, number % 60} - {number}:
            if less_ < number:
                changed = (*term.numbers[:n], less_, *term.numbers[n + 1 :])
                yield replace(term, numbers=changed)


def as_test(case: Failing, failure: str) -> str:
    return (
        f"def test_expressions_of_a_batch() -> None:  # {failure}\n"
        f"    batch = {case.batch!r}\n"
        f"    assert not run(batch, {case.features!r})\n"
    )
