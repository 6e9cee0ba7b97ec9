"""`Var`, the coordinates of Funcs, and the implicit ones: ``_``, ``_0``, ``_1``, …"""

from __future__ import annotations

from typing import NoReturn

from parhelion.errors import DefinitionError, here
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.names import fresh, user_var
from parhelion.lang.checked import word
from parhelion.lang.expr import Operand, not_iterable

PLACEHOLDER = "_"


class Var(Operand):
    """A coordinate of a Func, or a loop that a schedule makes; Int(32) in expressions.

    Two Vars of one name are the same Var. Without a name, a Var gets one of its own.

    >>> x, y = hl.Var("x"), hl.Var("y")
    >>> f = hl.Func()
    >>> f[x, y] = x - y
    >>> f.realize([4, 3])[3, 1]
    2
    """

    __slots__ = ("_var",)
    _var: IRVar

    def __init__(self, name: str | None = None) -> None:
        known = fresh("v") if name is None else word(name, "the name of a Var")
        self._var = user_var(known)

    @property
    def _node(self) -> IRVar:
        if self._var.name == PLACEHOLDER:
            raise DefinitionError(
                "hl._ stands for dimensions, not for a value",
                at=here(),
                hint="use it as an index, f[x, hl._], or name one: hl._0, hl._1, …",
            )
        return self._var

    def name(self) -> str:
        """Returns the name that was given, or the one that was made up."""
        return self._var.name

    def same_as(self, other: Var) -> bool:
        """Returns whether both are one Var; ``==`` builds an expression."""
        return self._var is other._var

    @staticmethod
    def implicit(n: int) -> Var:
        """Returns implicit Var number `n`: ``hl._0`` for 0."""
        return Var(f"_{n}")

    def is_implicit(self) -> bool:
        """Returns whether this is ``hl._`` or one of ``hl._0``, ``hl._1``, …"""
        return self.is_placeholder() or self.implicit_index() >= 0

    def is_placeholder(self) -> bool:
        """Returns whether this is ``hl._``, which stands for all remaining
        dimensions."""
        return self._var.name == PLACEHOLDER

    def implicit_index(self) -> int:
        """Returns n for ``hl._n``, and -1 for other Vars."""
        return implicit_index(self._var)

    @staticmethod
    def outermost() -> Var:
        """Returns the loop around all loops of a Func, which runs once."""
        return Var("__outermost")

    def __iter__(self) -> NoReturn:
        raise not_iterable(self)

    def __repr__(self) -> str:
        return f"<parhelion.Var {self._var.name!r}>"

    def __str__(self) -> str:
        return self._var.name


def of_var(v: IRVar) -> Var:
    """The user's handle on a Var."""
    made = object.__new__(Var)
    made._var = v
    return made


def implicit_index(v: IRVar) -> int:
    """n for the implicit Var ``_n``, else -1."""
    name = v.name
    return int(name[1:]) if name[:1] == "_" and name[1:].isdecimal() else -1


def vars(names: str) -> tuple[Var, ...]:
    """Returns a Var for each word of `names`; commas may stand between the words.

    >>> x, y = hl.vars("x y")
    >>> y.name()
    'y'
    """
    return tuple(
        Var(name) for name in word(names, "a list of names").replace(",", " ").split()
    )


_ = Var("_")
_0, _1, _2, _3, _4 = (Var.implicit(n) for n in range(5))
_5, _6, _7, _8, _9 = (Var.implicit(n) for n in range(5, 10))
