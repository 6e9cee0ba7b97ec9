"""What an automatic scheduler decided: each choice, its cost, and what came second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

from parhelion.autoschedule.script import Script
from parhelion.dataclass import dataclass
from parhelion.ir.deep import run_deep
from parhelion.runtime.program import compiling
from parhelion.shown import view

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Option:
    """One of the ways that were weighed.

    label: what it is, in a few words. cost: what the cost model says of it, in the unit
    of the result. make: the whole script with this option in the place of the one that
    was chosen, made when it is asked for; None if it cannot be applied.
    """

    label: str
    cost: float
    make: Callable[[], Script] | None = None


@dataclass(frozen=True, eq=False)
class Decision:
    """One choice.

    kind: what was chosen: "inline", "group", "tile", "order", … func: the name of the
    Func that it is about. options: all that were weighed, the cheapest first, `chosen`
    among them. The costs of two options differ by what those of the whole pipeline
    differ by. reason: why, in a sentence; group: the heading that explain() puts it
    under.
    """

    kind: str
    func: str
    chosen: Option
    options: tuple[Option, ...]
    reason: str = ""
    group: str = ""

    def __post_init__(self) -> None:
        known = self.options
        if self.chosen not in known:
            known = (self.chosen, *known)
        # Of equal ones, the one that was chosen first.
        ranked = sorted(known, key=lambda o: (o.cost, o is not self.chosen))
        object.__setattr__(self, "options", tuple(ranked))

    @property
    def runner_up(self) -> Option | None:
        """The cheapest of the others; None if there was no other."""
        return next((o for o in self.options if o is not self.chosen), None)

    @property
    def gain(self) -> float | None:
        """What the choice saves: the cost of the runner-up less its own; None if there
        was no other."""
        second = self.runner_up
        return None if second is None else second.cost - self.chosen.cost


class Lazily(Sequence[Decision]):
    """Decisions that are worked out when somebody looks at them."""

    def __init__(self, make: Callable[[], Sequence[Decision]]) -> None:
        self._make = make
        self._made: Sequence[Decision] | None = None

    def _decisions(self) -> Sequence[Decision]:
        if self._made is None:
            self._made = searching(self._make)
        return self._made

    def __len__(self) -> int:
        return len(self._decisions())

    @overload
    def __getitem__(self, index: int) -> Decision: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Decision]: ...

    def __getitem__(self, index: int | slice) -> Decision | Sequence[Decision]:
        return self._decisions()[index]


def searching(make: Callable[[], _T]) -> _T:
    """Calls `make` while no other thread compiles or searches, as both may try
    directives on the same copies of Funcs."""

    def alone() -> _T:
        with compiling():
            return make()

    return run_deep(alone)


class Explanation:
    """What `AutoSchedulerResults.explain` returns: ``print`` it.

    decisions: all of them. unit: of the costs, "s" for seconds.
    """

    def __init__(
        self,
        heading: Sequence[str],
        decisions: Sequence[Decision],
        notes: Sequence[str],
        unit: str,
    ) -> None:
        self.heading, self.notes = tuple(heading), tuple(notes)
        self.decisions, self.unit = tuple(decisions), unit

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, index: int) -> Decision:
        return self.decisions[index]

    def __str__(self) -> str:
        lines = list(self.heading)
        by_group: dict[str, list[Decision]] = {}
        for d in self.decisions:
            by_group.setdefault(d.group, []).append(d)
        for group, decisions in by_group.items():
            lines.append("")
            if group:
                lines.append(group)
            lines += [f"  {line}" if group else line for line in self._table(decisions)]
        if self.notes:
            lines += ["", *[f"note: {note}" for note in self.notes]]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of the decisions."""
        return str(view("explanation")(self))

    def _table(self, decisions: Sequence[Decision]) -> list[str]:
        head = ("decision", "Func", "chosen", "cost", "runner-up", "its cost", "gain")
        rows = [head, *[self._row(d) for d in decisions]]
        widths = [max([len(row[c]) for row in rows]) for c in range(len(head))]
        lines = []
        for row, d in zip(rows, (None, *decisions), strict=True):
            cells = [
                cell.rjust(width) if c in _NUMBERS else cell.ljust(width)
                for c, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
            if d is not None and d.reason:
                lines.append(f"  because {d.reason}")
        return lines

    def _row(self, d: Decision) -> tuple[str, ...]:
        cost, second = cost_text(d.chosen.cost, self.unit), d.runner_up
        if second is None:
            return (d.kind, d.func, d.chosen.label, cost, "-", "", "")
        gain = cost_text(d.gain or 0.0, self.unit)
        other = cost_text(second.cost, self.unit)
        return (d.kind, d.func, d.chosen.label, cost, second.label, other, gain)


#: The columns that are numbers.
_NUMBERS = (3, 5, 6)


def cost_text(cost: float, unit: str) -> str:
    """A cost with its unit, for people: ``1.23 ms``, ``4,500,000 operations``."""
    if unit != "s":
        return f"{cost:,.0f}" if abs(cost) >= 100 else f"{cost:.3g}"
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(cost) >= size:
            return f"{cost / size:.3g} {name}" if cost < 1000 else f"{cost:.0f} s"
    return f"{cost * 1e9:.3g} ns"


__all__ = ["Decision", "Explanation", "Lazily", "Option", "cost_text", "searching"]
