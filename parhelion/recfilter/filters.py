"""One recursive filter as data, and the checks of its coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.errors import (
    DefinitionError,
    Site,
    TypeMismatchError,
    here,
    internal_assert,
)
from parhelion.ir.expr import Expr as Node
from parhelion.ir.function import var_label
from parhelion.ir.rewrite import free_vars
from parhelion.lang.convert import node_or_none
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.var import Var
from parhelion.recfilter.coefficients import (
    Number,
    growth,
    largest_pole,
    lasting,
    poles_of,
    rounding,
)
from parhelion.recfilter.warning import warn
from parhelion.types import Type, round_float

#: How far outside of the unit circle rounding may put a pole that is on it.
_ON_CIRCLE = 1e-6
#: Poles that are nearer to each other may be one of a higher multiplicity.
_ALIKE = 0.1


#: Earlier results that a filter may read for each of its own.
_MOST_ORDER = 512

#: What there can be outside of an image.
BORDERS = ("zero", "clamp", "repeat", "mirror")


@dataclass(frozen=True, slots=True, eq=False)
class Varying:
    """A coefficient that is known when the filter runs, and may vary.

    func: its values over the dimensions of the image. along: the positions of those
    that it varies along; none for what Params alone decide.
    """

    func: Func
    along: frozenset[int]


Coefficient = Number | Varying


@dataclass(frozen=True, slots=True)
class Filter:
    """y[i] = sum of feedforward[m] x[i -+ m] + sum of feedback[j - 1] y[i -+ j].

    dim: the position of its dimension. causal: whether it runs from point 0 on.
    site: the user's line.
    """

    dim: int
    causal: bool
    feedforward: tuple[Coefficient, ...]
    feedback: tuple[Coefficient, ...]
    site: Site | None = None

    @property
    def order(self) -> int:
        """How many points back it reads its own values."""
        return len(self.feedback)

    @property
    def is_constant(self) -> bool:
        """Whether all coefficients are numbers."""
        return not any([isinstance(a, Varying) for a in self._all()])

    @property
    def reach(self) -> int:
        """How many points back it reads what it filters."""
        return len(self.feedforward) - 1

    def without_feedforward(self) -> Filter:
        """What is left of it when its feedforward part is computed."""
        return replace(self, feedforward=(1,))

    def constants(self) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
        """The coefficients, feedforward and feedback, of a filter where all are
        numbers."""
        internal_assert(self.is_constant, "coefficients that vary are no numbers")
        both = (self.feedforward, self.feedback)
        forward, back = [
            tuple([a for a in part if not isinstance(a, Varying)]) for part in both
        ]
        return forward, back

    def along(self) -> frozenset[int]:
        """The positions of the dimensions that coefficients vary along."""
        found = [a.along for a in self._all() if isinstance(a, Varying)]
        return frozenset().union(*found)

    def _all(self) -> tuple[Coefficient, ...]:
        return (*self.feedforward, *self.feedback)


def check_border_name(border: object, what: str) -> None:
    """Raises DefinitionError for a border that there is not."""
    if not isinstance(border, str) or border not in BORDERS:
        raise DefinitionError(
            f"{what}: there is no border {border!r:.60}", at=here(), legal=BORDERS
        )


def coefficients_of(
    given: object, what: str, t: Type, dims: Sequence[Var]
) -> tuple[Coefficient, ...]:
    """Coefficients of a filter over values of a type: numbers, and expressions in the
    dimensions of the image and in Params.

    Raises TypeMismatchError for anything else, and for expressions of another type.
    """
    found: list[Coefficient] = []
    for k, a in enumerate(_listed(given, what)):
        # NumPy's numbers are taken for what they are worth, not for their types.
        node = None if isinstance(a, np.generic) else node_or_none(a)
        if node is None:
            found.append(_number(a, what, t))
            continue
        if node.type is not t:
            raise TypeMismatchError(
                f"{what}: a coefficient of a filter over {t} must be of that type, not"
                f" of {node.type}",
                at=here(),
                hint="cast it, as hl.f32 does",
            )
        check_mentions(node, dims, f"{what}: coefficient {k}")
        func = Func(f"{what.partition('.')[0]}_a{k}")
        func[tuple(dims)] = wrap(node)
        mentioned = free_vars(node)
        along = [n for n, d in enumerate(dims) if d._node in mentioned]
        found.append(Varying(func, frozenset(along)))
    return tuple(found)


def check_mentions(node: Node, dims: Sequence[Var], what: str) -> None:
    """Raises DefinitionError for an expression in other variables than the dimensions
    of the image."""
    known = {d._node for d in dims}
    others = [v for v in free_vars(node) if v.origin is None and v not in known]
    other = min(others, key=var_label, default=None)
    if other is not None:
        names = ", ".join([d.name() for d in dims])
        raise DefinitionError(
            f"{what} mentions the variable {var_label(other)}, which is none of the"
            f" dimensions {names}",
            at=here(),
        )


def numbers(given: object, what: str, t: Type) -> tuple[Number, ...]:
    """Coefficients as numbers of a type that filters compute in. Raises
    TypeMismatchError for anything else."""
    return tuple([_number(a, what, t) for a in _listed(given, what)])


def _listed(given: object, what: str) -> list[object]:
    if isinstance(given, np.ndarray):
        one = given.ndim == 0
    else:
        # A set has no order, and neither bytes nor the keys of a dict are meant.
        one = isinstance(given, str | bytes | np.generic | Set | Mapping)
        one = one or node_or_none(given) is not None
    if one or not isinstance(given, Iterable):
        raise TypeMismatchError(
            f"{what}: the coefficients must be a list of numbers, not {given!r:.60}",
            at=here(),
        )
    found = list(given)
    if not found:
        raise DefinitionError(f"{what}: no coefficients are given", at=here())
    return found


def _number(a: object, what: str, t: Type) -> Number:
    if isinstance(a, np.generic):
        a = a.item()
    if isinstance(a, bool) or not isinstance(a, int | float):
        raise TypeMismatchError(
            f"{what}: a coefficient must be a real number, not {a!r:.60}", at=here()
        )
    if t.is_float():
        return fitting(a, what, t)
    if isinstance(a, float) and not np.isfinite(a):
        raise DefinitionError(
            f"{what}: a coefficient must be finite, not {a!r}", at=here()
        )
    if a != int(a):
        raise TypeMismatchError(
            f"{what}: coefficients of a filter over {t} must be integers, not {a!r}",
            at=here(),
            hint="filter floats: hl.f32(value)",
        )
    return residue(int(a), t)


def residue(a: int, t: Type) -> int:
    """An integer as the one of the least magnitude that is the same in a type, signed
    or not, as 255 is -1 in 8 bits: values wrap, and so do coefficients."""
    half = 1 << (t.bits() - 1)
    return (a + half) % (2 * half) - half


def fitting(a: Number, what: str, t: Type) -> float:
    """A coefficient as a float. Raises DefinitionError if a type has none such."""
    try:
        value = float(a)
    except OverflowError:  # of an integer
        value = np.inf
    if not np.isfinite(round_float(value, t)):
        raise DefinitionError(
            f"{what}: a coefficient must be finite as {t}, not {value:g}", at=here()
        )
    return value


def check_stable(feedback: Sequence[Number], what: str) -> None:
    """Raises DefinitionError for a filter whose values grow without end."""
    if not feedback:
        return
    poles = poles_of(feedback)
    if not len(poles):
        return
    largest = poles[np.abs(poles).argmax()]
    pole = float(np.abs(largest))
    # A pole of multiplicity k is found to the k-th root of the precision.
    alike = int((np.abs(poles - largest) < _ALIKE).sum())
    slack = _ON_CIRCLE if alike == 1 else 10 ** (-12 / alike)
    if pole > 1 + slack:
        raise DefinitionError(
            f"{what}: the filter is unstable: it has a pole of magnitude {pole:.6g},"
            " outside of the unit circle, so that its values grow without end",
            at=here(),
            hint="the signs are those of y[i] = a0 x[i] + a1 y[i-1] + …; SciPy's"
            " denominators have the opposite ones (hl.iir takes those)",
        )


def check_border(one: Filter, border: str, t: Type, what: str) -> None:
    """Raises DefinitionError for a filter that cannot go on for ever."""
    if border == "zero":
        return
    if not one.is_constant:
        raise DefinitionError(
            f"{what}: with the border {border!r}, where an image goes on for ever, the"
            " coefficients must be numbers",
            at=here(),
            hint="filters with the border 'zero' may have others",
        )
    if not t.is_float():
        raise DefinitionError(
            f"{what}: values of {t} have the border 'zero' alone: what comes from"
            f" outside of an image with the border {border!r} is no integer",
            at=here(),
            hint="filter floats: hl.f32(value)",
        )
    pole = largest_pole(one.constants()[1])
    if pole > 1 - _ON_CIRCLE:
        raise DefinitionError(
            f"{what}: with the border {border!r}, where an image goes on for ever, the"
            f" filter has no end: it has a pole of magnitude {pole:.6g}, on the unit"
            " circle",
            at=here(),
            hint="sums have the border 'zero'",
        )


def most_growth(t: Type) -> float:
    """By how much values may grow within a tile: to half of the digits."""
    return float(rounding(t) ** -0.5)


def check_order_of(feedback: Sequence[Coefficient], what: str) -> None:
    """Raises DefinitionError for a filter of so high an order that its code, in which
    each earlier value is a term, and its poles take minutes."""
    if len(feedback) > _MOST_ORDER:
        raise DefinitionError(
            f"{what}: a filter of order {len(feedback)} reads more than {_MOST_ORDER}"
            " earlier results of its own for each",
            at=here(),
            hint="make it of several filters of lower orders; feedforward may have"
            " any number of coefficients",
        )


def check_growth(one: Filter, width: int, extent: int, t: Type, what: str) -> None:
    """Warns of tiles in which rounding errors grow to half of the digits, and of those
    along a line of `extent` points together in which they do."""
    if not t.is_float():
        return
    most, feedback = most_growth(t), one.constants()[1]
    grows = growth(feedback, width)
    if grows > most:
        warn(
            f"{what}: values that come into a tile of {width} points grow by"
            f" {grows:.3g} in it, and so do their rounding errors in {t}; use narrower"
            " tiles, filters of lower order, or float64"
        )
        return
    left = lasting(feedback, width, extent)
    if left > 1 and grows * left > most:
        ones = ", ".join("1" * one.order)
        warn(
            f"{what}: values that come into a tile of {width} points grow by"
            f" {grows:.3g} in it, and what that leaves behind by {left:.3g} up to the"
            f" end of {extent} points, as the filter never forgets; rounding errors in"
            f" {t} grow by as much as {grows * left:.3g} so. Filters of lower order do"
            f" not, as factor_filter_order({ones}) makes them, where poles are real"
        )


__all__ = [
    "Coefficient",
    "Filter",
    "Varying",
    "check_border",
    "check_border_name",
    "check_growth",
    "check_mentions",
    "check_order_of",
    "check_stable",
    "coefficients_of",
    "most_growth",
    "numbers",
]
