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

    Two Vars with one name are the same Var. Without a name it gets one of its own.
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
        """The name that the user gave, or the one that was made."""
        return self._var.name

    def same_as(self, other: Var) -> bool:
        """Whether both are one Var (``==`` builds an expression)."""
        return self._var is other._var

    @staticmethod
    def implicit(n: int) -> Var:
        """The `n`-th implicit Var: ``hl._0`` for 0."""
        return Var(f"_{n}")

    def is_implicit(self) -> bool:
        """Whether this is ``hl._`` or one of ``hl._0``, ``hl._1``, …"""
        return self.is_placeholder() or self.implicit_index() >= 0

    def is_placeholder(self) -> bool:
        """Whether this is ``hl._``, which stands for all remaining dimensions."""
        return self._var.name == PLACEHOLDER

    def implicit_index(self) -> int:
        """n for ``hl._n``, else -1."""
        return implicit_index(self._var)

    @staticmethod
    def outermost() -> Var:
        """The loop around all loops of a Func, which runs once."""
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
    """One Var for each word of `names`: ``x, y = hl.vars("x y")``. Commas may stand
    between the words."""
    return tuple(
        Var(name) for name in word(names, "a list of names").replace(",", " ").split()
    )


_ = Var("_")
_0, _1, _2, _3, _4 = (Var.implicit(n) for n in range(5))
_5, _6, _7, _8, _9 = (Var.implicit(n) for n in range(5, 10))
