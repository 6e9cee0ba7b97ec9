"""`Param`: a scalar that is given when the pipeline runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from parhelion.errors import BoundsError, LiteralError, TypeMismatchError, here
from parhelion.ir.bindings import SET
from parhelion.ir.build import const_int, imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FloatImm
from parhelion.ir.names import fresh, unique_name
from parhelion.ir.symbols import ParamSym
from parhelion.lang.convert import TypeLike, check_type, node_or_none, number_text
from parhelion.lang.expr import Expr, Operand, wrap
from parhelion.types import Type, round_float

if TYPE_CHECKING:
    from parhelion.lang.expr import ExprLike

Value = int | float | bool


def checked_value(value: object, type: Type, name: str) -> Value:
    """A Python or NumPy number as a value of `type`.

    Raises TypeMismatchError for what is no number, LiteralError for a number that
    the type cannot hold. Floats are kept as they are given; code rounds them.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float):
        raise TypeMismatchError(
            f"Param {name!r} of type {type} takes a number, not {value!r}", at=here()
        )
    shown = number_text(value)
    if type.is_bool():
        if value not in (0, 1):
            raise LiteralError(
                f"Param {name!r} is a bool; it cannot be {shown}",
                at=here(),
            )
        return bool(value)
    if type.is_float():
        if math.isinf(round_float(value, type)) and abs(value) != math.inf:
            raise LiteralError(
                f"{shown} is too large for the type {type} of Param {name!r}",
                at=here(),
            )
        return float(value)
    if not type.can_represent(value):
        whole = value % 1 == 0
        raise LiteralError(
            f"{shown} does not fit the type {type} of Param {name!r}",
            at=here(),
            hint=f"{type} holds {'' if whole else 'the integers from '}{type.lowest()}"
            f" to {type.highest()}",
        )
    return int(value)


class Param(Operand):
    """A number that is given when the pipeline runs: ``hl.Param(hl.Float(32), "gain",
    1.5)``.

    It stands in expressions like any value. The calls of `realize` use the value that
    was set last; a `Callable` takes the value as an argument. The name and the first
    value may be left out. Raises TypeMismatchError for a value that is no number, and
    LiteralError for one that the type cannot hold.

    >>> gain = hl.Param(hl.Int(32), "gain", 3)
    >>> f = hl.Func()
    >>> f[x] = x * gain
    >>> np.asarray(f.realize([3])).tolist()
    [0, 3, 6]
    """

    __slots__ = ("_sym",)

    @classmethod
    def _of(cls, sym: ParamSym) -> Self:
        made = cls.__new__(cls)
        made._sym = sym
        return made

    def __init__(
        self,
        type: TypeLike,
        name: str | Value | np.generic | None = None,
        value: Value | np.generic | None = None,
    ) -> None:
        type = check_type(type, "a Param has")
        if name is not None and not isinstance(name, str):
            name, value = None, name
        known = unique_name(name) if name else fresh("p")
        self._sym = ParamSym(known, type, here())
        if value is not None:
            self.set(value)

    @property
    def _node(self) -> Node:
        return self._sym.var

    def name(self) -> str:
        """Returns the name."""
        return self._sym.name

    def type(self) -> Type:
        """Returns the type."""
        return self._sym.type

    def set(self, value: Value | np.generic) -> None:
        """Sets the value for the calls of `realize` that follow.

        Raises TypeMismatchError if it is no number, and LiteralError if the type cannot
        hold it.
        """
        SET.set(self._sym, checked_value(value, self._sym.type, self._sym.name))

    def get(self) -> Value | None:
        """Returns the value that was set, or None."""
        value: Value | None = SET.of(self._sym)
        return value

    def set_range(self, min: ExprLike, max: ExprLike) -> None:
        """Promises that the value lies in [min, max].

        Runs with another value raise BoundsError. An undefined ``hl.Expr()`` leaves an
        end open. Raises BoundsError for an empty range, and TypeMismatchError for
        limits of another type.
        """
        self.set_min_value(min)
        self.set_max_value(max)

    def set_min_value(self, min: ExprLike) -> None:
        """Promises that the value is at least `min`, as `set_range` does."""
        self._sym.lo = self._limit(min)
        self._check_order()

    def set_max_value(self, max: ExprLike) -> None:
        """Promises that the value is at most `max`, as `set_range` does."""
        self._sym.hi = self._limit(max)
        self._check_order()

    def _limit(self, value: ExprLike) -> Node | None:
        if isinstance(value, Expr) and not value.defined():
            return None
        node = node_or_none(value)
        if node is None:
            return imm(checked_value(value, self.type(), self.name()), self.type())
        if node.type is not self.type():
            raise TypeMismatchError(
                f"a limit of Param {self.name()!r} is of type {self.type()}, "
                f"not {node.type}",
                at=here(),
            )
        return node

    def _check_order(self) -> None:
        lo, hi = number_of(self._sym.lo), number_of(self._sym.hi)
        if lo is not None and hi is not None and lo > hi:
            raise BoundsError(
                f"the range of Param {self.name()!r} is empty: {lo} to {hi}",
                at=here(),
            )

    def min_value(self) -> Expr:
        """Returns the promised minimum; an undefined Expr if there is none."""
        return Expr() if self._sym.lo is None else wrap(self._sym.lo)

    def max_value(self) -> Expr:
        """Returns the promised maximum; an undefined Expr if there is none."""
        return Expr() if self._sym.hi is None else wrap(self._sym.hi)

    def get_range(self) -> tuple[Expr, Expr]:
        """Returns the promised minimum and maximum, as `min_value` and `max_value`
        do."""
        return self.min_value(), self.max_value()

    def set_estimate(self, value: Value | np.generic) -> None:
        """Tells the automatic scheduler what value to expect. It changes no result."""
        self._sym.estimate = checked_value(value, self._sym.type, self._sym.name)

    def parameter(self) -> Param:
        """Returns the Param itself, for scripts written for Halide."""
        return self

    def __repr__(self) -> str:
        return f"<parhelion.Param {self.name()!r} type {self.type()}>"


def number_of(e: Node | None) -> Value | None:
    """The value of a constant node, else None."""
    if isinstance(e, FloatImm):
        return e.value
    return None if e is None else const_int(e)
