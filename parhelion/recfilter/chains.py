"""Steps that each depend on the one before, in groups that are followed side by side.

The tails of a long line are completed from tile to tile, which is one thread's work if
there is no other line. So the tiles are taken in groups. Within each, steps are
followed from zeros on; what groups leave behind is completed from group to group, which
is the same problem with fewer steps; and what comes into a group is added to all of its
steps, by powers of the matrix of one step. (Blelloch, "Prefix sums and their
applications", 1990: linear recurrences are scans of an associative operator.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.lang.effects import likely, undef
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp, select
from parhelion.lang.functions import max as max_
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.recfilter.coefficients import Matrix
from parhelion.recfilter.values import Table, constant
from parhelion.types import Type

#: Steps of a group, and those that are followed by one thread at the end.
GROUP, LAST = 64, 128
#: Fewer steps are not worth the kernels that groups take.
LEAST = 1024
#: Integers wrap at fewer bits than this.
_WRAPS = 1 << 64

#: A value by its number among those of a step, and the step.
Value = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Link:
    """A Func of a chain, over the values of a step, then `steps` of a group or of the
    last level, then `sides`, what does not depend on each other: groups, or steps.

    domain: of its update over values and steps, if there is one.
    """

    func: Func
    values: Var
    order: int
    steps: Var | None = None
    step_count: int = 1
    sides: Var | None = None
    side_count: int = 1
    domain: RDom | None = None


class Chain:
    """Funcs that follow steps. links: all of them, those that are read first."""

    def __init__(self, name: str, t: Type) -> None:
        self.name, self.type = name, t
        self.links: list[Link] = []

    def follow(self, label: str, count: int, one: Matrix, given: Value) -> Value:
        """The values y of `count` steps, of which y[k] = given[k] + one @ y[k - 1], and
        y[-1] = 0."""
        if count <= LAST:
            return self._serially(label, count, one, given)
        order, groups = len(one), -(-count // GROUP)
        f, value = Func(f"{self.name}_{label}_group"), Var("q")
        step, group = Var("k"), Var("g")
        f[value, step, group] = undef(self.type)
        r = RDom([(0, order), (0, GROUP)], f"r{f.name()}")

        def before(j: int) -> Any:
            return f[j, max_(r.y - 1, 0), group]

        # The last group may have steps that nobody asks for.
        here = given(r.x, clamp(group * GROUP + r.y, 0, count - 1))
        f[r.x, r.y, group] = here + self._carried(one, label, r, before)
        self.links.append(Link(f, value, order, step, GROUP, group, groups, r))
        powers = [one]
        while len(powers) < GROUP:
            powers.append(self._product(powers[-1], one))
        carried = self.follow(
            f"{label}_carried", groups, powers[-1], lambda q, g: f[q, GROUP - 1, g]
        )
        done, at = Func(f"{self.name}_{label}_done"), Var("s")
        table = Table(np.stack(powers), self.type, f"{done.name()}_powers")
        total: Any = f[value, at % GROUP, at / GROUP]
        for j in range(order):
            come = carried(j, max_(at / GROUP - 1, 0))
            come = select(at >= GROUP, come, constant(0, self.type))
            total = total + table[j, value, at % GROUP] * come
        done[value, at] = total
        link = Link(done, value, order, sides=at, side_count=count)
        self.links.append(link)
        return lambda q, s: done[q, s]

    def _serially(self, label: str, count: int, one: Matrix, given: Value) -> Value:
        order = len(one)
        f, value, step = Func(f"{self.name}_{label}_last"), Var("q"), Var("s")
        f[value, step] = undef(self.type)
        r = RDom([(0, order), (0, count)], f"r{f.name()}")

        def before(j: int) -> Any:
            return f[j, max_(r.y - 1, 0)]

        f[r.x, r.y] = given(r.x, r.y) + self._carried(one, label, r, before)
        self.links.append(Link(f, value, order, step, count, domain=r))
        return lambda q, s: f[q, s]

    def _carried(
        self, one: Matrix, label: str, r: RDom, before: Callable[[int], Any]
    ) -> Any:
        """What the step before adds to value r.x."""
        table = Table(one, self.type, f"{self.name}_{label}_step")
        total: Any = None
        for j in range(len(one)):
            come = select(likely(r.y > 0), before(j), constant(0, self.type))
            term = table[j, r.x] * come
            total = term if total is None else total + term
        return total

    def _product(self, a: Matrix, b: Matrix) -> Matrix:
        made = a @ b
        return made if self.type.is_float() else made % _WRAPS


__all__ = ["GROUP", "LAST", "LEAST", "Chain", "Link", "Value"]
