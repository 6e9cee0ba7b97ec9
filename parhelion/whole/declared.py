"""The parameters of a function under `jit`, as its annotations declare them."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Sequence
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.lang.arrays import AXIS_ORDER

#: For a parameter that has no default.
MISSING = inspect.Parameter.empty
#: The kinds of parameters that may be given by name.
_BY_NAME = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter. axes: the letters that ``Annotated[hl.Array, "yxc"]`` gives it, or
    None. number: float, if it is annotated so. static: whether its values are part of
    the program. placed: whether it may be given by its place; named: by its name."""

    name: str
    axes: str | None
    number: type | None
    static: bool
    default: Any
    placed: bool
    named: bool


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called; a `functools.partial`, as what it calls."""
    inner = _innermost(function)
    return getattr(inner, "__name__", type(inner).__name__)


def _innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a `functools.partial` calls."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def declared_by(
    function: Callable[..., Any], static: Collection[str]
) -> tuple[Declared, ...]:
    """The parameters of a function.

    Raises TypeMismatchError for a variable number of them, for annotations that name no
    axes, and for a name in `static` that the function does not have.
    """
    found = []
    parameters = inspect.signature(function).parameters
    for one in parameters.values():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            raise TypeMismatchError(
                f"{name_of(function)} takes a variable number of arguments,"
                f" *{one.name}, and a function under hl.jit names each of them",
                at=here(),
            )
        annotation = _evaluated(one.annotation, function)
        axes = _axes(annotation, one.name)
        number = float if annotation is float else None
        fixed = one.name in static
        placed, named = one.kind is not one.KEYWORD_ONLY, one.kind in _BY_NAME
        found.append(
            Declared(one.name, axes, number, fixed, one.default, placed, named)
        )
    for name in static:
        if name not in parameters:
            raise TypeMismatchError(
                f"static= names {name!r}, which is no parameter of {name_of(function)}",
                at=here(),
                legal=list(parameters),
            )
    return tuple(found)


def call(
    function: Callable[..., Any], declared: Sequence[Declared], values: Sequence[Any]
) -> Any:
    """Calls a function with a value for each of its parameters."""
    given = list(zip(declared, values, strict=True))
    by_place = [v for d, v in given if d.placed]
    return function(*by_place, **{d.name: v for d, v in given if not d.placed})


def _evaluated(annotation: object, function: Callable[..., Any]) -> object:
    """An annotation that is kept as a text, evaluated where the function stands."""
    if not isinstance(annotation, str):
        return annotation
    inner = _innermost(function)
    scope = dict(getattr(inner, "__globals__", {}))
    closed = inspect.getclosurevars(inner).nonlocals
    try:
        return eval(annotation, scope, dict(closed))  # as `typing.get_type_hints`
    except NameError as error:
        if "Annotated" not in annotation:
            return None  # a name for type checkers alone
        raise TypeMismatchError(
            f"the annotation {annotation!r} cannot be evaluated: {error}",
            at=here(),
            hint="import its names where the program runs, not for type checkers alone",
        ) from None


def _axes(annotation: object, name: str) -> str | None:
    if typing.get_origin(annotation) is not typing.Annotated:
        return None
    for word in typing.get_args(annotation)[1:]:
        if isinstance(word, str):
            if not word or set(word) - set(AXIS_ORDER) or len(set(word)) != len(word):
                raise TypeMismatchError(
                    f"{word!r} names no axes of the argument {name!r}",
                    at=here(),
                    legal=[
                        f"different letters of {AXIS_ORDER!r}, the outermost axis first"
                    ],
                    hint="a photograph from imageio or OpenCV is 'yxc'",
                )
            return word
    return None


__all__ = ["MISSING", "Declared", "call", "declared_by", "name_of"]
