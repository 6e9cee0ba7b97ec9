"""References: ``f[x, y]`` as a value, as the left-hand side of a definition, and the
rules for indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from parhelion.errors import (
    BoundsError,
    DefinitionError,
    TypeMismatchError,
    here,
)
from parhelion.ir.build import cast
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall
from parhelion.ir.function import Function
from parhelion.lang import ops
from parhelion.lang.convert import is_literal, literal_as, node_of
from parhelion.lang.expr import Expr, ExprLike, Operand, text_of, wrap
from parhelion.lang.tuples import Tuple, TupleLike, values_of
from parhelion.lang.var import Var
from parhelion.types import INT32


def expand(given: Sequence[object], dimensions: int) -> tuple[object, ...]:
    """Indices with ``hl._`` replaced by as many implicit Vars as are missing to
    `dimensions`."""
    places = [
        i for i, g in enumerate(given) if isinstance(g, Var) and g.is_placeholder()
    ]
    if not places:
        return tuple(given)
    if len(places) > 1:
        raise DefinitionError("hl._ may stand only once in an index", at=here())
    (at,) = places
    missing = dimensions - (len(given) - 1)
    implicit = tuple(Var.implicit(n) for n in range(missing))
    return (*given[:at], *implicit, *given[at + 1 :])


def index_node(given: object, position: int, owner: str) -> Node:
    """One index as an Int(32) node; raises TypeMismatchError unless it is an integer
    that fits."""
    if isinstance(given, int) and is_literal(given):
        return literal_as(given, INT32)
    node = node_of(given)
    t = node.type
    if not t.is_int_or_uint() or not INT32.can_represent(t):
        raise TypeMismatchError(
            f"index {position} of {owner} has type {t}; an index is an integer that "
            "fits Int(32)",
            at=here(),
            hint="convert it: hl.i32(...)",
        )
    return cast(INT32, node)


def index_nodes(
    given: Sequence[object], dimensions: int, owner: str
) -> tuple[Node, ...]:
    """All indices of a reference, ``hl._`` expanded, their number checked."""
    full = expand(given, dimensions)
    if len(full) != dimensions:
        raise DefinitionError(
            f"{owner} has {dimensions} dimension{'s' * (dimensions != 1)}, but is "
            f"given {len(full)} ind{'ices' if len(full) != 1 else 'ex'}",
            at=here(),
            hint="hl._ stands for all remaining dimensions"
            if len(full) < dimensions
            else "",
        )
    return tuple([index_node(g, i, owner) for i, g in enumerate(full)])


def as_indices(key: object) -> tuple[object, ...]:
    """What stands between the brackets, as a tuple."""
    return tuple(key) if isinstance(key, tuple | list) else (key,)


def describe(function: Function) -> str:
    return f"Func {function.name!r}"


class FuncRef(Operand):
    """The value of a Func at a point, ``f[x, y]``, or the left-hand side of a
    definition.

    >>> f = hl.Func("f")
    >>> f[x, y] = x + y
    >>> f[x, 0]
    <parhelion.FuncRef f[x, 0]>
    """

    __slots__ = ("_function", "_given")

    def __init__(self, function: Function, given: tuple[object, ...]) -> None:
        self._function, self._given = function, given

    def _call(self, index: int) -> Node:
        f = self._function
        if not f.defined:
            raise DefinitionError(
                f"{describe(f)} is used before it is defined",
                at=here(),
                hint=f"define it first; a recursive {f.name} needs an initial value "
                f"before the update that refers to itself: {f.name}[...] = 0",
            )
        args = index_nodes(self._given, f.dimensions, describe(f))
        return FuncCall(f.types[index], f, args, index)

    @property
    def _node(self) -> Node:
        f = self._function
        if len(f.types) > 1:
            raise TypeMismatchError(
                f"{describe(f)} has {len(f.types)} values, and one is expected here",
                at=here(),
                hint=f"take one: {f.name}[...][0]",
            )
        return self._call(0)

    def _several(self) -> list[object] | None:
        """The values as separate expressions, if the Func has more than one."""
        n = len(self._function.types)
        return [FuncTupleElementRef(self, i) for i in range(n)] if n > 1 else None

    def type(self) -> object:
        """Returns the type of the value. Raises TypeMismatchError if there are
        several."""
        return self._node.type

    def size(self) -> int:
        """Returns the number of values."""
        return len(self)

    def __len__(self) -> int:
        f = self._function
        if not f.defined:
            raise DefinitionError(
                f"{describe(f)} is used before it is defined", at=here()
            )
        return len(f.types)

    def __getitem__(self, index: int) -> FuncTupleElementRef:
        f = self._function
        if len(self) == 1:
            raise TypeMismatchError(
                f"{describe(f)} has one value, which is not a Tuple", at=here()
            )
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeMismatchError(
                f"a value of {describe(f)} is chosen by a Python int, not "
                f"{index!r:.60}",
                at=here(),
                hint="choose at run time with hl.mux(index, [f[x][0], f[x][1], …])",
            )
        if not -len(f.types) <= index < len(f.types):
            raise BoundsError(
                f"{describe(f)} has {len(f.types)} values; there is no value {index}",
                at=here(),
            )
        return FuncTupleElementRef(self, index % len(f.types))

    def __setitem__(self, index: int, value: object) -> None:
        raise DefinitionError(
            f"one value of {describe(self._function)} cannot be assigned alone",
            at=here(),
            hint="assign all: f[x] = (new, f[x][1])",
        )

    def __iter__(self) -> Iterator[FuncTupleElementRef]:
        return iter([self[i] for i in range(len(self))])

    # Updates in place. Python hands what these return to `Func.__setitem__`.

    def _step(
        self, op: Callable[[object, object], Node], value: object, initial: int | None
    ) -> Expr | Tuple | Unevaluated:
        f = self._function
        several = values_of(value)
        if not f.defined:
            if initial is None:
                raise DefinitionError(
                    f"{describe(f)} is updated before it has an initial value",
                    at=here(),
                    hint=f"only +=, -=, *= and /= have one of their own; write "
                    f"{f.name}[...] = 0 first",
                )
            return Unevaluated(self, op, value, initial)
        if several is None:
            return wrap(op(self, value))
        if len(several) != len(f.types):
            raise TypeMismatchError(
                f"{describe(f)} has {len(f.types)} values and is updated with "
                f"{len(several)}",
                at=here(),
            )
        own = self._several() or [self]
        return Tuple(*[wrap(op(a, b)) for a, b in zip(own, several, strict=True)])

    def __iadd__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.add, value, 0)

    def __isub__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.sub, value, 0)

    def __imul__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.mul, value, 1)

    def __itruediv__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.div, value, 1)

    def __ifloordiv__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.floor_div, value, None)

    def __imod__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.mod, value, None)

    def __ipow__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.power, value, None)

    def __iand__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.bit_and, value, None)

    def __ior__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.bit_or, value, None)

    def __ixor__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(ops.bit_xor, value, None)

    def __ilshift__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(_shift_left, value, None)

    def __irshift__(self, value: ExprLike | TupleLike) -> Any:
        return self._step(_shift_right, value, None)

    def __repr__(self) -> str:
        inside = ", ".join(
            text_of(g._node) if isinstance(g, Expr) else str(g) for g in self._given
        )
        return f"<parhelion.FuncRef {self._function.name}[{inside}]>"


def _shift_left(a: object, b: object) -> Node:
    return ops.shift(a, b, "shift_left", "<<")


def _shift_right(a: object, b: object) -> Node:
    return ops.shift(a, b, "shift_right", ">>")


class FuncTupleElementRef(Expr):
    """One of the values of a Func at a point: ``f[x][0]``, ``f[x][1]``, ….

    >>> f = hl.Func("f")
    >>> f[x] = hl.Tuple(x, 0.5)
    >>> f[x][1].type()
    <parhelion.Type float32>
    """

    __slots__ = ("_index",)

    def __init__(self, ref: FuncRef, index: int) -> None:
        self._node = ref._call(index)
        self._index = index

    def index(self) -> int:
        """Returns which of the values it is, counted from 0."""
        return self._index


class Unevaluated:
    """``f[x] += e`` on a Func without a definition, on its way to `Func.__setitem__`,
    which gives it its initial value first."""

    __slots__ = ("ref", "op", "value", "initial")

    def __init__(
        self,
        ref: FuncRef,
        op: Callable[[object, object], Node],
        value: object,
        initial: int,
    ) -> None:
        self.ref, self.op, self.value, self.initial = ref, op, value, initial
