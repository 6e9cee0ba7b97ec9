"""Inputs and outputs of Generators: how a class declares them, and what they become.

A declaration has no pixels and no definition. Each instance of the Generator gets an
ImageParam, a Param or a Func of its own for it, before `generate` is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, DefinitionError, TypeMismatchError, here
from parhelion.ir.bindings import SET
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.names import unique_name
from parhelion.ir.symbols import BufferSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.func import Func
from parhelion.lang.generator_params import TypeLike, types_of
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param, Value, number_of
from parhelion.simplify.simplifier import simplify
from parhelion.types import Type


class _Declared:
    """What all declarations share: types and dimensions, either of which may be left
    to the GeneratorParams ``NAME.type`` and ``NAME.dim``."""

    __slots__ = ()
    if TYPE_CHECKING:
        _declared: tuple[Type, ...]
        _wanted: int | None
        _called: str

    def __set_name__(self, owner: object, name: str) -> None:
        object.__setattr__(self, "_called", name)

    def name(self) -> str:
        """Returns the name of the member; a made-up one until the class is complete."""
        if not self._called:
            object.__setattr__(self, "_called", unique_name(type(self).__name__))
        return self._called

    def type(self) -> Type:
        """Returns the declared type.

        Raises DefinitionError where it is left open, or there are several.
        """
        if len(self._declared) != 1:
            several = f"declares {len(self._declared)} types: types() gives them"
            lacks = several if self._declared else "leaves its type open"
            raise DefinitionError(f"this {type(self).__name__} {lacks}", at=here())
        return self._declared[0]

    def dimensions(self) -> int:
        """Returns the declared number of dimensions.

        Raises DefinitionError where it is left open.
        """
        if self._wanted is None:
            raise DefinitionError(
                f"this {type(self).__name__} leaves its number of dimensions open",
                at=here(),
            )
        return self._wanted

    def _read(
        self, types: object, dimensions: int | None, one: bool
    ) -> tuple[tuple[Type, ...], int | None]:
        """The types and dimensions that a class says, checked."""
        object.__setattr__(self, "_called", "")
        what = type(self).__name__
        found = types_of(types, f"{what}(…)")
        if one and len(found) > 1:
            raise TypeMismatchError(f"{what} has one type, not {len(found)}", at=here())
        if dimensions is not None and (
            not hasattr(dimensions, "__index__") or dimensions < 0
        ):
            raise TypeMismatchError(
                f"{what} has a number of dimensions, or None; not {dimensions!r:.60}",
                at=here(),
            )
        return found, None if dimensions is None else dimensions.__index__()

    if not TYPE_CHECKING:  # type checkers would allow any attribute

        def __getattr__(self, name: str) -> NoReturn:
            if name in ("_sym", "_function", "_required"):
                raise DefinitionError(
                    f"an {type(self).__name__} is a declaration, which has no value",
                    at=here(),
                    hint="use it in the method generate(self), as self.NAME",
                )
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}"
            )

    def __repr__(self) -> str:
        types = ", ".join(map(str, self._declared)) or "any type"
        count = "any" if self._wanted is None else str(self._wanted)
        return f"<parhelion.{type(self).__name__} of {types}, dims: {count}>"


class InputBuffer(_Declared, ImageParam):
    """Declares an image that a Generator's pipeline reads.

    Where `generate` runs, the member is an ImageParam. `type` is a Type, or bool, int
    (for Int(32)) or float (for Float(32)). Type and dimensions may be None: the
    GeneratorParams ``NAME.type`` and ``NAME.dim`` give them then. Raises
    TypeMismatchError for others.

    >>> hl.InputBuffer(hl.UInt(8), 2)
    <parhelion.InputBuffer of uint8, dims: 2>
    """

    __slots__ = ("_called", "_declared", "_wanted")

    def __init__(self, type: TypeLike | None, dimensions: int | None) -> None:
        self._declared, self._wanted = self._read(type, dimensions, True)


class InputScalar(_Declared, Param):
    """Declares a number that a Generator's pipeline reads.

    Where `generate` runs, the member is a Param. `type` is as for InputBuffer.

    >>> hl.InputScalar(float)
    <parhelion.InputScalar of float32, dims: 0>
    """

    __slots__ = ("_called", "_declared", "_wanted")

    def __init__(self, type: TypeLike | None) -> None:
        self._declared, self._wanted = self._read(type, 0, True)


class OutputBuffer(_Declared, Func):
    """Declares an image that a Generator's pipeline computes.

    Where `generate` runs, the member is a Func, which `generate` must define. `types`
    is as for InputBuffer, or a list of types for a Func of several values.

    >>> hl.OutputBuffer([hl.UInt(8), hl.Float(32)], 2)
    <parhelion.OutputBuffer of uint8, float32, dims: 2>
    """

    __slots__ = ("_called", "_declared", "_wanted")

    def __init__(
        self, types: TypeLike | Sequence[TypeLike] | None, dimensions: int | None
    ) -> None:
        self._declared, self._wanted = self._read(types, dimensions, False)

    def types(self) -> list[Type]:
        """Returns the declared types. Raises DefinitionError where they are left
        open."""
        if not self._declared:
            raise DefinitionError(
                f"this {type(self).__name__} leaves its type open", at=here()
            )
        return list(self._declared)

    def defined(self) -> bool:
        """Returns False: only the Func that `generate` gets can be defined."""
        return False


class OutputScalar(OutputBuffer):
    """Declares a number that a Generator's pipeline computes.

    Where `generate` runs, the member is a Func without dimensions: ``self.total[()] =
    …``.

    >>> hl.OutputScalar(hl.Int(32))
    <parhelion.OutputScalar of int32, dims: 0>
    """

    __slots__ = ()

    def __init__(self, types: TypeLike | Sequence[TypeLike] | None) -> None:
        super().__init__(types, 0)


class _Number(Param):
    """A Param with a value that is known when the pipeline is built.

    It stands in expressions as a constant.
    """

    __slots__ = ()

    @property
    def _node(self) -> Node:
        return imm(self._known, self._sym.type)

    @property
    def _known(self) -> Value:
        value: Value | None = SET.of(self._sym)
        assert value is not None
        return value

    def _check_order(self) -> None:
        """Checks the value against its limits now, as the code has no Param to
        check."""
        super()._check_order()
        for limit, least, name in (
            (self._sym.lo, True, "minimum"),
            (self._sym.hi, False, "maximum"),
        ):
            if limit is None:
                continue
            most = number_of(simplify(limit))
            if most is None:
                raise DefinitionError(
                    f"the {name} of {self.name()!r} is no constant, and a number is "
                    "given for it, which nothing checks when the pipeline runs",
                    at=here(),
                    hint="give a Param instead of the number",
                )
            if self._known < most if least else self._known > most:
                where = "below its minimum" if least else "above its maximum"
                raise BoundsError(
                    f"Param {self.name()!r} is {self._known}, {where} {most}", at=here()
                )


Declaration = InputBuffer | InputScalar | OutputBuffer
Member = ImageParam | Param | Func


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of one instance of a Generator, its types and dimensions
    known."""

    name: str
    declaration: Declaration
    types: tuple[Type, ...]
    dimensions: int

    @property
    def is_output(self) -> bool:
        return isinstance(self.declaration, OutputBuffer)

    def made(self, given: object = None) -> Member:
        """What stands for it in `generate`: made new, or of what a caller gave for an
        input. Raises TypeMismatchError if that does not fit."""
        if self.is_output:
            return Func(list(self.types), self.dimensions, self.name)
        if isinstance(self.declaration, InputBuffer):
            return self._image(given)
        return self._scalar(given)

    def _image(self, given: object) -> ImageParam:
        if given is None:
            return ImageParam(self.types[0], self.dimensions, self.name)
        if isinstance(given, ImageParam):
            self.check([given.type()], given.dimensions())
            return given
        if isinstance(given, Func | Param) or np.isscalar(given):
            raise TypeMismatchError(
                f"the input {self.name!r} takes an ImageParam or a Buffer, not "
                f"{given!r:.60}",
                at=here(),
            )
        buffer = given if isinstance(given, Buffer) else Buffer(given)
        if not buffer.defined():
            raise TypeMismatchError(
                f"the input {self.name!r} is given a Buffer that is not defined",
                at=here(),
            )
        self.check([buffer.type()], buffer.dimensions())
        # The Buffer is a part of the algorithm, as where one is used without a name.
        known = unique_name(self.name)
        sym = BufferSym(
            known, buffer.type(), self.dimensions, "input", embedded=True, site=here()
        )
        SET.set(sym, buffer)
        return ImageParam._of(sym)

    def _scalar(self, given: object) -> Param:
        if isinstance(given, Param):
            self.check([given.type()], 0)
            return given
        if given is None:
            return Param(self.types[0], self.name)
        if not isinstance(given, bool | int | float | np.generic):
            raise TypeMismatchError(
                f"the input {self.name!r} takes a Param or a number, not {given!r:.60}",
                at=here(),
            )
        return _Number(self.types[0], self.name, given)

    def check(self, types: Sequence[Type], dimensions: int) -> None:
        """Raises TypeMismatchError unless these are its types and dimensions."""
        what = "output" if self.is_output else "input"
        if tuple(types) != self.types:
            raise TypeMismatchError(
                f"the {what} {self.name!r} is of type {_listed(self.types)}, not "
                f"{_listed(types)}",
                at=here(),
            )
        if dimensions != self.dimensions:
            raise TypeMismatchError(
                f"the {what} {self.name!r} has {self.dimensions} dimensions, not "
                f"{dimensions}",
                at=here(),
            )


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


def port_of(name: str, declaration: Declaration, params: dict[str, Any]) -> Port:
    """A Port as it is declared, with what ``NAME.type`` and ``NAME.dim`` among the
    params say, which are taken out of them.

    Raises DefinitionError for what is said twice or not at all.
    """
    types, dimensions = declaration._declared, declaration._wanted
    if f"{name}.type" in params:
        if types:
            raise _said_twice(f"{name}.type")
        types = types_of(params.pop(f"{name}.type"), f"{name}.type")
    if f"{name}.dim" in params:
        if dimensions is not None:
            raise _said_twice(f"{name}.dim")
        dimensions = _count(params.pop(f"{name}.dim"), f"{name}.dim")
    if not types or dimensions is None:
        lacks, param = ("number of dimensions", "dim") if types else ("type", "type")
        example = f"{name}.{param}={'2' if types else 'uint8'}"
        raise DefinitionError(
            f"the {lacks} of {name!r} is neither declared nor given",
            at=here(),
            hint=f"set the GeneratorParam '{name}.{param}', as in {example}",
        )
    if len(types) > 1 and not isinstance(declaration, OutputBuffer):
        raise TypeMismatchError(
            f"the input {name!r} has one type, not {_listed(types)}", at=here()
        )
    return Port(name, declaration, types, dimensions)


def _said_twice(name: str) -> DefinitionError:
    return DefinitionError(
        f"the GeneratorParam {name!r} cannot be set: the class declares it", at=here()
    )


def _count(given: object, name: str) -> int:
    try:
        found = int(given)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        found = -1
    if found < 0 or isinstance(given, bool | float):
        raise TypeMismatchError(
            f"{name!r} takes a number of dimensions, not {given!r:.60}", at=here()
        )
    return int(found)


def declarations(owner: type) -> Mapping[str, Any]:
    """The members of a class and its bases that it has now, in the order in which
    they were first written."""
    found: dict[str, Any] = {}
    for one in reversed(owner.__mro__):
        found.update(vars(one))
    return found


__all__ = [
    "Declaration",
    "InputBuffer",
    "InputScalar",
    "Member",
    "OutputBuffer",
    "OutputScalar",
    "Port",
    "declarations",
    "port_of",
]
