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
from parhelion.lang.expr import Arithmetic, Expr, ExprLike, wrap
from parhelion.lang.factoring import Factoring
from parhelion.lang.handles import made_of
from parhelion.lang.rdom import RVar, of_rvar
from parhelion.lang.ref import FuncRef, Unevaluated, as_indices, describe
from parhelion.lang.running import Running
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


class Stage(Factoring, Specializing, LoopDirectives):
    """One definition of a Func, to be scheduled: ``f.update(0).vectorize(x, 8)``."""

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
        """``f`` for the pure definition, ``f.update(0)``, … for updates, and
        ``f.specialize(…)`` for what `specialize` returned."""
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
    """A function from integer coordinates to a value, or several: one stage of a
    pipeline.

    ``Func("name")`` or ``Func()`` is undefined until ``f[x, y] = …``. ``Func(expr)``
    is defined by an expression over implicit Vars or undecorated Funcs, ``Func(image)``
    by a Buffer or an ImageParam. ``Func(type, dimensions, name)`` (or a list of types)
    declares what it must hold.

    Undecorated, a Func in arithmetic stands for itself point by point: ``a + b`` is
    ``a[hl._] + b[hl._]``.
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
        """``f[x, y]``: the value at a point, or the left-hand side of an update."""
        return FuncRef(self._function, as_indices(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        """``f[x, y] = e``: the pure definition, or the next update.

        `value` is an expression, a Tuple or Python tuple for several values, or an
        undecorated Func. Raises DefinitionError and TypeMismatchError.
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
        """The name, unique in the process."""
        return self._function.name

    def defined(self) -> bool:
        """Whether it has its pure definition."""
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
        """The number of arguments; that declared, if it is not defined yet."""
        if not self.defined() and self._required.dimensions is not None:
            return self._required.dimensions
        self._pure("dimensions()")
        return self._function.dimensions

    def args(self) -> list[Var]:
        """The Vars of the pure definition, innermost first; empty if undefined."""
        return [of_var(v) for v in self._function.args]

    def types(self) -> list[Type]:
        """The types of the values; those declared, if it is not defined yet."""
        if not self.defined() and self._required.types is not None:
            return list(self._required.types)
        self._pure("the type")
        return list(self._function.types)

    def type(self) -> Type:
        """The type of the value; raises TypeMismatchError if there are several."""
        types = self.types()
        if len(types) != 1:
            raise TypeMismatchError(
                f"{describe(self._function)} has {len(types)} values; types() gives "
                "their types",
                at=here(),
            )
        return types[0]

    def outputs(self) -> int:
        """The number of values."""
        return len(self.types())

    def value(self) -> Expr:
        """The right-hand side of the pure definition, if it is one value."""
        return self._one(self._pure("value()"), "values()")

    def values(self) -> tuple[Expr, ...]:
        """The right-hand sides of the pure definition."""
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
        """Whether there is any update."""
        return bool(self._function.updates)

    def num_update_definitions(self) -> int:
        """The number of updates."""
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
        """The `idx`-th update, to be scheduled."""
        self._update(idx)
        return Stage(self, idx + 1)

    def update_args(self, idx: int = 0) -> list[Expr]:
        """The left-hand side of an update."""
        return [wrap(a) for a in self._update(idx).args]

    def update_value(self, idx: int = 0) -> Expr:
        """The right-hand side of an update, if it is one value."""
        return self._one(self._update(idx), f"update_values({idx})")

    def update_values(self, idx: int = 0) -> tuple[Expr, ...]:
        """The right-hand sides of an update."""
        return tuple(wrap(v) for v in self._update(idx).values)

    def rvars(self, idx: int = 0) -> list[RVar]:
        """The dimensions of the RDom that an update walks over; after `rfactor`, its
        loops over them, which keep their names."""
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
        """The output's storage, to make promises about its bounds and strides; raises
        TypeMismatchError if there are several values."""
        buffers = self.output_buffers()
        if len(buffers) != 1:
            raise TypeMismatchError(
                f"{describe(self._function)} has {len(buffers)} values; "
                "output_buffers() gives the storage of each",
                at=here(),
            )
        return buffers[0]

    def output_buffers(self) -> list[OutputImageParam]:
        """The storage of each value, if this is an output."""
        from parhelion.lang.imageparam import OutputImageParam

        self._pure("output_buffers()")
        return [OutputImageParam._of(sym) for sym in self._function.buffers]

    def __repr__(self) -> str:
        return f"<parhelion.Func {self._function.name!r}>"


made_of(Func, Stage)


def funcs(names: str) -> tuple[Func, ...]:
    """One Func for each word of `names`: ``f, g = hl.funcs("f g")``. Commas may stand
    between the words."""
    return tuple(
        Func(name) for name in word(names, "a list of names").replace(",", " ").split()
    )


def lambda_func(*args: Var | ExprLike | Tuple) -> Func:
    """An anonymous Func: ``lambda_func(x, y, e)`` is `e` over the Vars before it."""
    if not args:
        raise TypeMismatchError("lambda_func needs at least the value", at=here())
    f = Func(fresh("lambda_"))
    f[tuple(args[:-1])] = args[-1]
    return f
