"""`Expr`, the wrapper that users hold around a node, and the operators.

Everything that can stand in an expression inherits `Operand` (or `Arithmetic`, which
leaves ``==`` alone) and has a `_node`. Results are `Expr`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, final

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import StringImm
from parhelion.lang import ops
from parhelion.lang.convert import node_of
from parhelion.types import Handle, Type

if TYPE_CHECKING:
    import numpy as np

#: What every function of the language takes for a value.
ExprLike: TypeAlias = "Arithmetic | int | float | np.generic"


class Arithmetic:
    """Python's arithmetic, bit, shift and ordering operators, building `Expr`."""

    __slots__ = ()

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """NumPy leaves ``array_scalar * expr`` to the operators here."""
        from parhelion.lang import ufuncs

        return ufuncs.apply(self, ufunc, method, inputs, options)

    @property
    def _node(self) -> Node:
        raise NotImplementedError

    def __add__(self, other: ExprLike) -> Expr:
        return wrap(ops.add(self, other))

    def __radd__(self, other: ExprLike) -> Expr:
        return wrap(ops.add(other, self))

    def __sub__(self, other: ExprLike) -> Expr:
        return wrap(ops.sub(self, other))

    def __rsub__(self, other: ExprLike) -> Expr:
        return wrap(ops.sub(other, self))

    def __mul__(self, other: ExprLike) -> Expr:
        return wrap(ops.mul(self, other))

    def __rmul__(self, other: ExprLike) -> Expr:
        return wrap(ops.mul(other, self))

    def __truediv__(self, other: ExprLike) -> Expr:
        return wrap(ops.div(self, other))

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return wrap(ops.div(other, self))

    def __floordiv__(self, other: ExprLike) -> Expr:
        return wrap(ops.floor_div(self, other))

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return wrap(ops.floor_div(other, self))

    def __mod__(self, other: ExprLike) -> Expr:
        return wrap(ops.mod(self, other))

    def __rmod__(self, other: ExprLike) -> Expr:
        return wrap(ops.mod(other, self))

    def __pow__(self, other: ExprLike) -> Expr:
        return wrap(ops.power(self, other))

    def __rpow__(self, other: ExprLike) -> Expr:
        return wrap(ops.power(other, self))

    def __and__(self, other: ExprLike) -> Expr:
        return wrap(ops.bit_and(self, other))

    def __rand__(self, other: ExprLike) -> Expr:
        return wrap(ops.bit_and(other, self))

    def __or__(self, other: ExprLike) -> Expr:
        return wrap(ops.bit_or(self, other))

    def __ror__(self, other: ExprLike) -> Expr:
        return wrap(ops.bit_or(other, self))

    def __xor__(self, other: ExprLike) -> Expr:
        return wrap(ops.bit_xor(self, other))

    def __rxor__(self, other: ExprLike) -> Expr:
        return wrap(ops.bit_xor(other, self))

    def __lshift__(self, other: ExprLike) -> Expr:
        return wrap(ops.shift(self, other, "shift_left", "<<"))

    def __rlshift__(self, other: ExprLike) -> Expr:
        return wrap(ops.shift(other, self, "shift_left", "<<"))

    def __rshift__(self, other: ExprLike) -> Expr:
        return wrap(ops.shift(self, other, "shift_right", ">>"))

    def __rrshift__(self, other: ExprLike) -> Expr:
        return wrap(ops.shift(other, self, "shift_right", ">>"))

    def __neg__(self) -> Expr:
        return wrap(ops.neg(self))

    def __pos__(self) -> Expr:
        return wrap(self._node)

    def __invert__(self) -> Expr:
        return wrap(ops.bit_not(self))

    def __abs__(self) -> Expr:
        return wrap(ops.magnitude(self))

    def __lt__(self, other: ExprLike) -> Expr:
        return wrap(ops.compare(build.lt, self, other))

    def __le__(self, other: ExprLike) -> Expr:
        return wrap(ops.compare(build.le, self, other))

    def __gt__(self, other: ExprLike) -> Expr:
        return wrap(ops.compare(build.gt, self, other))

    def __ge__(self, other: ExprLike) -> Expr:
        return wrap(ops.compare(build.ge, self, other))

    def logical_not(self) -> Expr:
        """Returns the negation of a Bool. Raises TypeMismatchError for other types."""
        return logical_not(self)


class Operand(Arithmetic):
    """Everything that is a value: all operators, and clear errors for the Python
    protocols that need a number now."""

    __slots__ = ()

    def __array_function__(
        self, function: Any, _: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """NumPy's functions are the language's of such names, or refused."""
        from parhelion.lang import ufuncs

        return ufuncs.apply_function(self, function, args, named)

    def __eq__(self, other: ExprLike) -> Expr:  # type: ignore[override]
        return wrap(ops.compare(build.eq, self, other))

    def __ne__(self, other: ExprLike) -> Expr:  # type: ignore[override]
        return wrap(ops.compare(build.ne, self, other))

    #: By identity, so that values can be keys although ``==`` builds an expression.
    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeMismatchError(
            f"{self!r} has no truth value: what it is is known only when the pipeline "
            "runs",
            at=here(),
            hint="choose with hl.select(condition, a, b); combine conditions with "
            "&, | and ~ instead of and, or and not; write (a < x) & (x < b) "
            "instead of a < x < b, and hl.max(a, b) instead of max(a, b)",
        )

    if not TYPE_CHECKING:  # for which expressions are no arrays

        @property
        def __array__(self) -> NoReturn:
            """Raises TypeMismatchError where it indexes an array, or AttributeError."""
            from parhelion.lang.subscript import refuse_subscript

            refuse_subscript(self)
            raise AttributeError("__array__")

    def _no_number(self, what: str, instead: str) -> NoReturn:
        raise TypeMismatchError(
            f"{self!r} {what}: its value is known only when the pipeline runs",
            at=here(),
            hint=instead,
        )

    def __index__(self) -> NoReturn:
        raise TypeMismatchError(
            f"{self!r} cannot index a Python sequence: its value is known only when "
            "the pipeline runs",
            at=here(),
            hint="choose with hl.mux(index, [a, b, …]), or index a Func or a Buffer; "
            "hl.RDom([(0, n)]) counts to n where range(n) cannot; in a function of "
            "arrays, np.full(shape, 0, like=a) is an array of a shape",
        )

    def __int__(self) -> NoReturn:
        self._no_number(
            "cannot become a Python int",
            "hl.i32(e) converts it, and hl.floor(e), hl.round(e), … round it, when the "
            "pipeline runs",
        )

    def __float__(self) -> NoReturn:
        self._no_number(
            "cannot become a Python float",
            "hl.f32(e) converts it, and hl.sqrt(e), hl.sin(e), … compute what "
            "functions of math do, when the pipeline runs",
        )


@final
class _Missing:
    """The type of the argument that was not given."""


_MISSING = _Missing()


class Expr(Operand):
    """An expression: a typed value that is computed for each point of a grid.

    ``Expr(3)`` is an Int(32), ``Expr(2.5)`` a Float(32), ``Expr(np.uint8(3))`` a
    UInt(8), ``Expr(True)`` a Bool, and ``Expr("text")`` a string for `print`.
    ``Expr()`` is undefined and only marks an open bound. Operators build larger
    expressions; Python numbers in them take the type of the other operand. Raises
    TypeMismatchError for what is no number.

    >>> hl.Expr(np.uint8(3)) + 1
    <parhelion.Expr of type uint8: u8(4)>
    """

    #: The slot is left empty by ``Expr()``.
    __slots__ = ("_node",)
    _node: Node

    def __init__(self, value: ExprLike | str | _Missing = _MISSING) -> None:
        if isinstance(value, _Missing):
            return
        self._node = (
            StringImm(Handle(), value) if isinstance(value, str) else node_of(value)
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name == "_node":
            raise DefinitionError("an undefined Expr, hl.Expr(), is used", at=here())
        raise AttributeError(f"an Expr has no attribute {name!r}")

    def __iter__(self) -> NoReturn:
        raise not_iterable(self)

    def defined(self) -> bool:
        """Returns whether this is an expression: False for ``hl.Expr()``."""
        try:
            _get_node(self)
        except AttributeError:
            return False
        return True

    def type(self) -> Type:
        """Returns the type of the value."""
        return self._node.type

    def __repr__(self) -> str:
        if not self.defined():
            return "<parhelion.Expr, undefined>"
        return f"<parhelion.Expr of type {self.type()}: {text_of(self._node)}>"

    __str__ = __repr__


def not_iterable(x: Operand) -> TypeMismatchError:
    """The error for unpacking or looping over one value."""
    return TypeMismatchError(f"{x!r} has no elements to iterate over", at=here())


_new = object.__new__
_get_node = Expr._node.__get__  # type: ignore[attr-defined, misc]


def wrap(node: Node) -> Expr:
    """The user's handle on a node."""
    e = _new(Expr)
    e._node = node
    return e


def to_expr(x: object) -> Expr:
    """Any value as an `Expr`; raises TypeMismatchError for what is none."""
    return x if type(x) is Expr else wrap(node_of(x))


def text_of(node: Node) -> str:
    """A node as the user would read it, for messages."""
    from parhelion.ir.text import brief

    return brief(node)


def logical_not(e: ExprLike) -> Expr:
    """Returns the negation of a Bool; ``~e`` is the same.

    Raises TypeMismatchError if `e` is not a Bool.

    >>> hl.evaluate(hl.logical_not(hl.i32(3) > 2))
    False
    """
    x = node_of(e)
    if not x.type.is_bool():
        raise TypeMismatchError(
            f"logical_not takes a Bool, not a value of type {x.type}",
            at=here(),
            hint="compare it: e != 0",
        )
    return wrap(build.lnot(x))


def is_undefined(x: Any) -> bool:
    """Whether `x` stands for an open bound: None or ``hl.Expr()``."""
    return x is None or (isinstance(x, Expr) and not x.defined())
