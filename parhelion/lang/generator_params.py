"""`GeneratorParam`: what a Generator is told before it builds its pipeline.

Values are given as Python values or as text, as command lines do; the type of the
default is the type of the parameter.
"""

from __future__ import annotations

import re
from typing import Generic, TypeAlias, TypeVar, overload

from parhelion.errors import DefinitionError, HalideError, TypeMismatchError, here
from parhelion.types import BFloat, Bool, Float, Int, Type, UInt

T = TypeVar("T")

#: What stands for a type where a Generator declares one.
TypeLike: TypeAlias = Type | type[bool] | type[int] | type[float]

_WORDS = {"true": True, "1": True, "false": False, "0": False}
_NAME = re.compile(r"(?!.*__)[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_TYPE = re.compile(r"(int|uint|float|bfloat)([0-9]+)", re.ASCII)
_MAKERS = {"int": Int, "uint": UInt, "float": Float, "bfloat": BFloat}


class GeneratorParam(Generic[T]):
    """A value that is chosen when a Generator is built, declared as a member of its
    class.

    The default is a bool, an int, a float, a string or a Type; in the methods, the
    member is the value itself. It is set where the Generator is made,
    ``MyGenerator({"tile": 64})``, or on the command line of `hl.main`, ``tile=64``.
    Raises TypeMismatchError for other defaults.

    >>> class Tiled(hl.Generator):
    ...     tile = hl.GeneratorParam(32)
    ...     def generate(self): ...
    >>> Tiled({"tile": "64"}).tile
    64
    """

    __slots__ = ("_default",)

    def __init__(self, value: T) -> None:
        if not isinstance(value, bool | int | float | str | Type):
            raise TypeMismatchError(
                "the default of a GeneratorParam is a bool, an int, a float, a string "
                f"or a Type, not {value!r:.60}",
                at=here(),
            )
        self._default = value

    @overload
    def __get__(self, instance: None, owner: type) -> GeneratorParam[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> GeneratorParam[T] | T:
        # Instances of a Generator hold their own values, which are found first.
        return self if instance is None else self._default

    def __repr__(self) -> str:
        return f"<parhelion.GeneratorParam {self._default!r}>"


def checked_param(name: str, default: object, given: object) -> object:
    """A given value as one of the type of `default`; raises TypeMismatchError."""
    made: object = None
    if isinstance(default, Type):
        types = types_of(given, name)
        made = types[0] if len(types) == 1 else None
    elif isinstance(default, str):
        made = str(given) if isinstance(given, bool | int | float | str) else None
    elif isinstance(given, str):
        made = _parsed(default, given.strip())
    elif isinstance(default, bool):
        made = bool(given) if given in (0, 1) else None
    elif isinstance(default, int):
        if isinstance(given, float):
            made = int(given) if given.is_integer() else None
        elif hasattr(given, "__index__") and not isinstance(given, bool):
            made = given.__index__()
    elif hasattr(given, "__float__"):
        made = float(given)
    if made is None:
        kind = "a Type" if isinstance(default, Type) else f"of type {_kind(default)}"
        raise TypeMismatchError(
            f"the GeneratorParam {name!r} is {kind}; it cannot be {given!r:.60}",
            at=here(),
        )
    return made


def _kind(default: object) -> str:
    return type(default).__name__


def _parsed(default: object, text: str) -> object:
    """The number that a text says, or None."""
    try:
        if isinstance(default, bool):
            return _WORDS.get(text.lower())
        return int(text, 0) if isinstance(default, int) else float(text)
    except ValueError:
        return None


def types_of(given: object, name: str) -> tuple[Type, ...]:
    """The types that ``hl.UInt(8)``, ``bool``, ``"uint8"``, ``"uint8,float32"`` or a
    list of them says; None says none. Raises TypeMismatchError for anything else."""
    if given is None:
        return ()
    if isinstance(given, str):
        return tuple([_named_type(word.strip(), name) for word in given.split(",")])
    if isinstance(given, list | tuple):
        return tuple([t for one in given for t in types_of(one, name)])
    if given is bool:
        return (Bool(),)
    if given is int:
        return (Int(32),)
    if given is float:
        return (Float(32),)
    if isinstance(given, Type) and given.is_scalar():
        return (given,)
    raise TypeMismatchError(
        f"{name!r} takes a scalar type such as hl.UInt(8), not {given!r:.60}",
        at=here(),
    )


def _named_type(text: str, name: str) -> Type:
    if text == "bool":
        return Bool()
    known = _TYPE.fullmatch(text)
    try:
        if known is not None:
            return _MAKERS[known[1]](int(known[2]))
    except HalideError:
        pass  # no such width, which the message below says as well
    raise TypeMismatchError(
        f"{name!r} takes a type, and {text!r} is the name of none",
        at=here(),
        legal=["bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16"],
    )


def check_port_name(name: str) -> None:
    """Raises DefinitionError unless `name` may be that of a GeneratorParam, an input
    or an output: a C identifier without an underscore first or two together."""
    if name == "generator_params" or not _NAME.fullmatch(name):
        raise DefinitionError(
            f"{name!r} cannot be the name of a GeneratorParam, an input or an output",
            at=here(),
            hint="letters, digits and underscores; an underscore neither first nor "
            "after another",
        )


__all__ = [
    "GeneratorParam",
    "TypeLike",
    "check_port_name",
    "checked_param",
    "types_of",
]
