"""`Func`, a stage of a pipeline, and `Stage`, one of its definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir.expr import Expr as Node
from parhelion.ir.function import Definition, Function
from parhelion.ir.names import fresh, unique_name
from parhelion.lang.checked import word
from parhelion.lang.define_extern import ExternDefinition
from parhelion.lang.definition import ANYTHING, Requirement, define
from parhelion.lang.expr import Arithmetic, Expr, ExprLike, Operand, wrap
from parhelion.lang.factoring import Factoring
from parhelion.lang.handles import made_of
from parhelion.lang.rdom import RVar, of_rvar
from parhelion.lang.ref import FuncRef, Unevaluated, as_indices, describe
from parhelion.lang.running import Running
from parhelion.lang.scanning import Scanning
from parhelion.lang.showing import ShownFunc
from parhelion.lang.specializing import Specializing
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var, of_var
from parhelion.lang.wrapping import Wrapping
from parhelion.schedule.directives import FuncSchedule, Rename
from parhelion.schedule.rules import stage_label
from parhelion.schedule.stage import FuncDirectives, LoopDirectives
from parhelion.types import Type

if TYPE_CHECKING:
    from parhelion.lang.imageparam import OutputImageParam
    from parhelion.lang.pipeline import Pipeline


@runtime_checkable
class Image(Protocol):
    """A Buffer or an ImageParam."""

    def name(self) -> str: ...

    def dimensions(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class Stage(Factoring, Scanning, Specializing, LoopDirectives):
    """One definition of a Func, by which its loops are scheduled.

    A Func is itself the Stage of its pure definition; `Func.update` gives the Stage of
    an update, `Func.specialize` that of a special case.

    >>> r = hl.RDom([(0, 10)])
    >>> f = hl.Func("f")
    >>> f[x] = 0
    >>> f[x] += x * r
    >>> f.update(0).unroll(r)
    <parhelion.Stage f.update(0)>
    """

    __slots__ = ("_function", "_stage")
    _function: Function
    _stage: int

    def __init__(self, func: Func, index: int = 0) -> None:
        self._function, self._stage = func._function, index

    @classmethod
    def _of(cls, function: Function, index: int) -> Stage:
        """The user's handle on a definition, or on a branch of it."""
        made = object.__new__(cls)
        made._function, made._stage = function, index
        return made

    def name(self) -> str:
        """Returns how messages call it: ``f``, ``f.update(0)`` or
        ``f.specialize(…)``."""
        return stage_label(self._function, self._stage)

    def __repr__(self) -> str:
        return f"<parhelion.Stage {self.name()}>"


class Func(
    Wrapping,
    Specializing,
    FuncDirectives,
    ExternDefinition,
    Running,
    ShownFunc,
    Arithmetic,
):
    """A function from integer coordinates to one or more values: one stage of a
    pipeline.

    ``Func("name")`` and ``Func()`` are undefined until ``f[x, y] = …`` gives them a
    pure definition; further assignments are updates. ``Func(expr)`` is defined at once
    by an expression over implicit Vars or Funcs without indices, ``Func(image)`` by a
    Buffer or an ImageParam. ``Func(type, dimensions, name)`` declares the type, or a
    list of types, that its definition must have.

    In arithmetic, a Func without indices stands for its value at each point: ``a + b``
    is ``a[hl._] + b[hl._]``. Raises TypeMismatchError for a Func made from a Func.

    >>> f = hl.Func("f")
    >>> f[x, y] = x + 10 * y
    >>> np.asarray(f.realize([3, 2])).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """

    __slots__ = ("_function", "_required", "_kept")
    _function: Function

    def __init__(
        self,
        source: str | Expr | Image | Type | Sequence[Type] | Arithmetic | None = None,
        required_dimensions: int | None = None,
        name: str | None = None,
        *,
        required_type: Type | None = None,
        required_types: Sequence[Type] | None = None,
    ) -> None:
        if required_type is not None:
            source = required_type
        elif required_types is not None:
            source = required_types
        required = Requirement()
        value: object = None
        if isinstance(source, str):
            name = source
        elif isinstance(source, Type):
            required = Requirement((source,), required_dimensions)
        elif isinstance(source, tuple | list) and all(
            isinstance(t, Type) for t in source
        ):
            required = Requirement(tuple(source), required_dimensions)
        elif isinstance(source, Func):
            raise TypeMismatchError(
                "a Func is not made from another Func",
                at=here(),
                hint="bind a second name to it, g = f, or wrap it: g = hl.Func(f + 0)",
            )
        elif source is not None:
            value = source
        self._required = required
        self._kept: Pipeline | None = None
        self._function = Function(
            fresh("f") if name is None else unique_name(name), FuncSchedule(), here()
        )
        if value is not None:
            self[Var("_")] = value

    @classmethod
    def _of(cls, function: Function) -> Func:
        """The user's handle on a Function."""
        made = object.__new__(cls)
        made._function, made._required, made._kept = function, ANYTHING, None
        return made

    # References and definitions.

    def __getitem__(self, key: Any) -> FuncRef:
        """Returns ``f[x, y]``: the value at a point, or the left-hand side of an
        update."""
        return FuncRef(self._function, as_indices(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Gives the Func its pure definition, ``f[x, y] = e``, or one more update.

        `value` is an expression, a Tuple or Python tuple for several values, or a Func
        without indices. Raises DefinitionError for a definition that makes no sense,
        and TypeMismatchError for values of other types than the first definition's.
        """
        if isinstance(value, Func):
            value = value[Var("_")]
        if isinstance(value, Unevaluated) and value.ref._function is not self._function:
            raise DefinitionError(
                f"{describe(value.ref._function)} is used before it is defined",
                at=here(),
            )
        given = as_indices(key)
        if (
            len(given) == 1
            and isinstance(given[0], FuncRef)
            and (given[0]._function is self._function)
        ):
            given = given[0]._given
        define(self._function, given, value, self._required)

    if not TYPE_CHECKING:  # for type checkers it is not there

        def __call__(self, *coords: object, **named: object) -> NoReturn:
            shown = ", ".join([c.name() if isinstance(c, Var) else "…" for c in coords])
            raise TypeMismatchError(
                f"{describe(self._function)} is not called: its value at a point is "
                "taken with brackets",
                at=here(),
                hint=f"write {self.name()}[{shown}]; realize computes it",
            )

    __array_function__ = Operand.__array_function__

    @property
    def _node(self) -> Node:
        return self[Var("_")]._node

    def _several(self) -> list[object] | None:
        return self[Var("_")]._several()

    def __iter__(self) -> NoReturn:
        raise TypeMismatchError(
            f"{describe(self._function)} has no elements to iterate over",
            at=here(),
            hint="values of a Tuple are f[x][0], f[x][1], …",
        )

    def __bool__(self) -> NoReturn:
        raise TypeMismatchError(
            f"{describe(self._function)} has no truth value",
            at=here(),
            hint="f.defined() tells whether it is defined; choose between values with "
            "hl.select(condition, a, b)",
        )

    # What it is.

    def name(self) -> str:
        """Returns the name, which no other Func of the process has.

        It is the name that was given, with a number behind it where that was taken.
        """
        return self._function.name

    def defined(self) -> bool:
        """Returns whether the Func has its pure definition."""
        return self._function.defined

    def _pure(self, what: str) -> Definition:
        pure = self._function.pure
        if pure is None:
            raise DefinitionError(
                f"{what} of {describe(self._function)}, which is not defined",
                at=here(),
                hint="defined() tells whether it is",
            )
        return pure

    def dimensions(self) -> int:
        """Returns the number of dimensions, or of those that were declared.

        Raises DefinitionError if the Func has neither a definition nor a declaration.
        """
        if not self.defined() and self._required.dimensions is not None:
            return self._required.dimensions
        self._pure("dimensions()")
        return self._function.dimensions

    def args(self) -> list[Var]:
        """Returns the Vars of the pure definition, innermost first; [] if there is
        none."""
        return [of_var(v) for v in self._function.args]

    def types(self) -> list[Type]:
        """Returns the type of each value, or those that were declared.

        Raises DefinitionError if the Func has neither a definition nor a declaration.

        >>> f = hl.Func()
        >>> f[x] = hl.Tuple(x, 0.5)
        >>> f.types()
        [<parhelion.Type int32>, <parhelion.Type float32>]
        """
        if not self.defined() and self._required.types is not None:
            return list(self._required.types)
        self._pure("the type")
        return list(self._function.types)

    def type(self) -> Type:
        """Returns the type of the value.

        Raises TypeMismatchError if there are several values, and DefinitionError as
        `types` does.
        """
        types = self.types()
        if len(types) != 1:
            raise TypeMismatchError(
                f"{describe(self._function)} has {len(types)} values; types() gives "
                "their types",
                at=here(),
            )
        return types[0]

    def outputs(self) -> int:
        """Returns the number of values at each point. Raises DefinitionError as `types`
        does."""
        return len(self.types())

    def value(self) -> Expr:
        """Returns the right-hand side of the pure definition.

        Raises DefinitionError if there is none, and TypeMismatchError if it has several
        values.
        """
        return self._one(self._pure("value()"), "values()")

    def values(self) -> tuple[Expr, ...]:
        """Returns the right-hand sides of the pure definition, one for each value.

        Raises DefinitionError if there is no definition.
        """
        return tuple(wrap(v) for v in self._pure("values()").values)

    def _one(self, d: Definition, instead: str) -> Expr:
        if len(d.values) != 1:
            raise TypeMismatchError(
                f"{describe(self._function)} has {len(d.values)} values; {instead} "
                "gives them all",
                at=here(),
            )
        return wrap(d.values[0])

    # Updates.

    def has_update_definition(self) -> bool:
        """Returns whether the Func has any update."""
        return bool(self._function.updates)

    def num_update_definitions(self) -> int:
        """Returns the number of updates."""
        return len(self._function.updates)

    def _update(self, idx: int) -> Definition:
        updates = self._function.updates
        if isinstance(idx, bool) or not isinstance(idx, int):
            raise TypeMismatchError(
                f"an update is numbered by an int, not {idx!r:.60}", at=here()
            )
        if not 0 <= idx < len(updates):
            raise DefinitionError(
                f"{describe(self._function)} has no update {idx}; it has "
                f"{len(updates)}",
                at=here(),
            )
        return updates[idx]

    def update(self, idx: int = 0) -> Stage:
        """Returns the Stage of update number `idx`, counted from 0, for its schedule.

        Raises DefinitionError if there is no such update.

        >>> f = hl.Func("f")
        >>> f[x] = 0
        >>> f[x] += x
        >>> f.update().vectorize(x, 4)
        <parhelion.Stage f.update(0)>
        """
        self._update(idx)
        return Stage(self, idx + 1)

    def update_args(self, idx: int = 0) -> list[Expr]:
        """Returns the coordinates on the left-hand side of an update.

        Raises DefinitionError if there is no such update.
        """
        return [wrap(a) for a in self._update(idx).args]

    def update_value(self, idx: int = 0) -> Expr:
        """Returns the right-hand side of an update.

        Raises DefinitionError if there is no such update, and TypeMismatchError if it
        has several values.
        """
        return self._one(self._update(idx), f"update_values({idx})")

    def update_values(self, idx: int = 0) -> tuple[Expr, ...]:
        """Returns the right-hand sides of an update, one for each value.

        Raises DefinitionError if there is no such update.
        """
        return tuple(wrap(v) for v in self._update(idx).values)

    def rvars(self, idx: int = 0) -> list[RVar]:
        """Returns the RVars that an update runs over, for its schedule; [] without an
        RDom.

        After `rfactor` they are the loops of what is left of the update, by the names
        that they had. Raises DefinitionError if there is no such update.
        """
        d = self._update(idx)
        if d.rdom is None:
            return []
        kept = {
            t.old: t.new
            for t in d.schedule.transforms
            if isinstance(t, Rename) and t.old.name == t.new.name
        }
        return [of_rvar(kept.get(v, v)) for v in d.rdom.vars]

    def output_buffer(self) -> OutputImageParam:
        """Returns the image that the Func is computed into, to promise its bounds and
        strides.

        Raises TypeMismatchError if there are several values, and DefinitionError if the
        Func is not defined.

        >>> f = hl.Func()
        >>> f[x, y] = x + y
        >>> f.output_buffer().dim(0).set_bounds(0, 640).extent()
        <parhelion.Expr of type int32: 640>
        """
        buffers = self.output_buffers()
        if len(buffers) != 1:
            raise TypeMismatchError(
                f"{describe(self._function)} has {len(buffers)} values; "
                "output_buffers() gives the storage of each",
                at=here(),
            )
        return buffers[0]

    def output_buffers(self) -> list[OutputImageParam]:
        """Returns the image that each value is computed into, as `output_buffer`
        does."""
        from parhelion.lang.imageparam import OutputImageParam

        self._pure("output_buffers()")
        return [OutputImageParam._of(sym) for sym in self._function.buffers]

    def __repr__(self) -> str:
        return f"<parhelion.Func {self._function.name!r}>"


made_of(Func, Stage)


def funcs(names: str) -> tuple[Func, ...]:
    """Returns a new Func for each word of `names`; commas may stand between the words.

    >>> f, g = hl.funcs("f g")
    >>> g.name()
    'g'
    """
    return tuple(
        Func(name) for name in word(names, "a list of names").replace(",", " ").split()
    )


def lambda_func(*args: Var | ExprLike | Tuple) -> Func:
    """Returns a Func without a name of its own: ``lambda_func(x, y, e)`` is `e` over x,
    y.

    Raises TypeMismatchError if no value is given.

    >>> np.asarray(hl.lambda_func(x, x * x).realize([3])).tolist()
    [0, 1, 4]
    """
    if not args:
        raise TypeMismatchError("lambda_func needs at least the value", at=here())
    f = Func(fresh("lambda_"))
    f[tuple(args[:-1])] = args[-1]
    return f
