"""Numbers of directives that are Params: drawn for any directive, lawful or not.

A case runs with unlawful values first, where it has some: it must be refused before any
pixel is computed. Then with lawful ones, in the same code: the result is the same as
with constants. Then with others, and with one unlawful value after the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import parhelion as hl
from tests.fuzz.case import Case, Choices, Numbers

#: The failures by which compiled code refuses a number of the schedule.
REFUSALS = (
    *("number_not_positive", "number_below", "number_above"),
    *("loop_too_long", "loop_too_far", "ring_too_large"),
)
#: How often a case runs with other values that are lawful.
ROUNDS = 3

#: What no number of a directive may be, but for those that may be 0 or less.
_LARGE = (2**31 - 1, 1 << 31, -(1 << 31))
_SMALL = (0, -1, -3, -17)

_TYPES = (hl.Int(64), hl.UInt(8), hl.UInt(32), hl.Int(16), hl.UInt(64))


@dataclass(frozen=True, slots=True)
class _Set:
    """A Param; the value that the case has; one that is refused, if another; and others
    that make no difference, if it is free. factor: a Param that it is multiplied with,
    by which 65536 comes to nothing in 32 bits."""

    param: hl.Param
    lawful: int
    unlawful: int
    others: tuple[int, ...] = ()
    factor: hl.Param | None = None

    def set(self, value: int) -> None:
        wrong = value == self.unlawful != self.lawful
        if self.factor is not None:
            self.factor.set(1 << 16 if wrong else 1)
        self.param.set(value)


class Params:
    """The Params of one case's directives. `number` makes them; `lawful` and `unlawful`
    set their values."""

    def __init__(self) -> None:
        self._sets: list[_Set] = []
        self._choices = Choices(())
        self.made = 0

    def begin(self, given: Numbers) -> None:
        """Has the numbers of the next directive made as `given` says."""
        self._choices = Choices(given)
        self.made = 0

    def number(self, value: int, least: int = 1, free: bool = False) -> Any:
        """`value`, or an expression of Params that has this value when the case runs.

        least: what it may be, 1, or less where that makes sense. free: whether any
        other small number, too, gives the same result.
        """
        kind = self._choices.upto(5)
        if kind < 2:
            return value
        self.made += 1
        law = self._choices.upto(3)
        wrong = [*_LARGE, *[n for n in _SMALL if n < least]]
        unlawful = wrong[self._choices.upto(len(wrong) - 1)] if law == 3 else value
        t = hl.Int(32)
        if kind == 4:
            t = _TYPES[self._choices.upto(len(_TYPES) - 1)]
        p = self._param(t, value, unlawful)
        if free:
            low = max(least, 1 if p._sym.type.is_uint() else -9)
            others = tuple([low + self._choices.upto(18) for _ in range(ROUNDS)])
            self._sets[-1] = replace(self._sets[-1], others=others)
        if kind != 5:
            return p
        q = hl.Param(hl.Int(32), f"{p.name()}f", 1)
        wrong_too = 1 << 16 if unlawful != value else value
        self._sets[-1] = replace(self._sets[-1], unlawful=wrong_too, factor=q)
        return p * q

    def constant(self, value: int) -> Any:
        """`value`, of a directive that takes constants alone; rarely a Param, which it
        refuses."""
        return self.number(value) if self._choices.upto(19) == 19 else value

    def _param(self, t: hl.Type, lawful: int, unlawful: int) -> hl.Param:
        low = -(1 << (t.bits() - 1)) if t.is_int() else 0
        high = (1 << (t.bits() - t.is_int())) - 1
        if not low <= lawful <= high:
            t, low, high = hl.Int(32), -(1 << 31), (1 << 31) - 1
        p = hl.Param(t, f"number{len(self._sets)}", lawful)
        fits = low <= unlawful <= high
        self._sets.append(_Set(p, lawful, unlawful if fits else lawful))
        return p

    @property
    def some_unlawful(self) -> bool:
        return any(s.lawful != s.unlawful for s in self._sets)

    def lawful(self) -> None:
        for s in self._sets:
            s.set(s.lawful)

    def unlawful(self) -> None:
        for s in self._sets:
            s.set(s.unlawful)

    def told(self) -> str:
        return ", ".join([f"{s.param.name()} = {s.param.get()}" for s in self._sets])

    def others(self) -> Iterator[bool]:
        """Sets other values, again and again; whether they are lawful."""
        for turn in range(ROUNDS if any(s.others for s in self._sets) else 0):
            for s in self._sets:
                s.set(s.others[turn] if s.others else s.lawful)
            yield True
        for wrong in self._sets:
            if wrong.unlawful != wrong.lawful:
                self.lawful()
                wrong.set(wrong.unlawful)
                yield False
        self.lawful()


def with_params(rng: random.Random, case: Case, always: bool = False) -> Case:
    """`case` with Params for some of the numbers of its directives, sometimes; or for
    any of them, if `always`."""
    if not always and rng.random() < 0.6:
        return case
    share = 1.0 if always else rng.choice((0.2, 0.5, 1.0))
    made = [
        replace(d, given=tuple([rng.randint(0, 99) for _ in range(12)]))
        if rng.random() < share
        else d
        for d in case.schedule
    ]
    return replace(case, schedule=tuple(made))


__all__ = ["REFUSALS", "Params", "with_params"]
