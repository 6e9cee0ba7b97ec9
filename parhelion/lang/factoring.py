"""`rfactor`, the directive that splits an associative update in two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from parhelion.errors import ScheduleError, here
from parhelion.ir.function import Function
from parhelion.lang.handles import func_of
from parhelion.schedule.args import HasVar, to_var
from parhelion.schedule.rfactor import rfactor
from parhelion.schedule.rules import stage_label

if TYPE_CHECKING:
    from parhelion.lang.func import Func


class Factoring:
    """`rfactor` of Stage."""

    __slots__ = ()
    _function: Function
    _stage: int

    @overload
    def rfactor(self, r: HasVar, v: HasVar) -> Func: ...

    @overload
    def rfactor(self, preserved: Sequence[tuple[HasVar, HasVar]]) -> Func: ...

    def rfactor(self, *given: object, **named: object) -> Func:
        """Splits an associative update into partial results, and returns the Func of
        these.

        ``rfactor(r.y, v)`` or ``rfactor([(r.y, v), (ro, u)])`` names the loops over the
        RDom that stay, and a Var for each. The Func that is returned has these Vars as
        further dimensions. For each of their values it folds the update over all other
        loops of the RDom, from a neutral value on. The update itself then folds that
        Func over the loops that were named. As the values of the Vars do not depend on
        each other, the partial results can be computed in parallel or on vectors.

        The operation must be known to be associative, and commutative too unless the
        loops named are outside all others: +, *, min, max, &, |, ^ or unsigned
        saturating_add of the old value, a choice of these, values that are replaced
        together where one is less or greater (argmin), or a product of complex numbers.
        Integers give the same result bit for bit. Sums and products of floats may
        differ in their last bits, and in which of several NaNs or numbers is the
        result.

        Call it after the splits and fuses of the RDom's loops, and before those of the
        result. Raises ScheduleError where the operation is not known, the loops are not
        there, or a Var's name is in use. From: Halide's rfactor.

        >>> r, total = hl.RDom([(0, 100), (0, 4)]), hl.Func("total")
        >>> total[()] = 0
        >>> total[()] += r.x * r.y
        >>> rows = total.update().rfactor(r.y, y).compute_root().update().parallel(y)
        >>> hl.evaluate(total[()])
        29700
        """
        label = stage_label(self._function, self._stage)
        values = list(given)
        values += [named.pop(key) for key in ("r", "v", "preserved") if key in named]
        if named or len(values) not in (1, 2):
            raise _wrong(label)
        pairs = values[0] if len(values) == 1 else [tuple(values)]
        if not isinstance(pairs, list | tuple):
            raise _wrong(label)
        kept, what = [], f"{label}.rfactor"
        for pair in pairs:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise _wrong(label)
            r, v = pair
            kept.append((to_var(r, what), to_var(v, what)))
        return func_of(rfactor(self._function, self._stage, kept))


def _wrong(label: str) -> ScheduleError:
    return ScheduleError(
        f"{label}.rfactor takes an RVar and a Var, or a list of such pairs", at=here()
    )


__all__ = ["Factoring"]
