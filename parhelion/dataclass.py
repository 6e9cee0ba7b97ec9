"""`dataclass` with the standard library's meaning, made in a seventh of the time.

The standard decorator writes each method as text and compiles it: 0.7 ms for a frozen
class with slots on CPython 3.11, of which importing this library makes seventy, and
a first compile three hundred more. Here ``__init__`` alone is written as text, when it
is looked up first; the other methods are closures over the names of the fields.
`dataclasses.fields`, `dataclasses.replace` and `dataclasses.is_dataclass` take the
classes as they take their own, and type checkers see the standard decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from types import MethodType
from typing import TYPE_CHECKING, Any

_Fields = tuple["dataclasses.Field[Any]", ...]
_Method = Callable[..., Any]


class Unwritten:
    """Stands for the ``__init__`` of a class until it is looked up.

    Compiling one takes 0.1 ms, and half of the classes that are imported are never
    made objects of.
    """

    def __init__(self, cls: type, write: Callable[[], _Method]) -> None:
        self.cls = cls
        self.write = write

    def __get__(self, of: object, owner: type | None = None) -> _Method:
        if self.cls.__dict__["__init__"] is self:
            method = self.write()
            method.__qualname__ = f"{self.cls.__qualname__}.__init__"
            type.__setattr__(self.cls, "__init__", method)
        method = self.cls.__dict__["__init__"]
        return method if of is None else MethodType(method, of)


def has_own_hash(cls: type) -> bool:
    """Whether a class says itself how it hashes (an ``__eq__`` alone makes it None)."""
    own = cls.__dict__
    return "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)


def is_hashed(field: dataclasses.Field[Any]) -> bool:
    """Whether the hash of an object is made of this field, too."""
    return field.compare if field.hash is None else field.hash


def constructor(cls: type, fields: _Fields, *, frozen: bool, slots: bool) -> _Method:
    """``__init__``: sets each field to its argument, its default or a new default."""
    names: dict[str, Any] = {"_missing": MISSING, "_set": object.__setattr__}
    positional: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for f in fields:
        given = f.name
        argument = f.name
        if f.default_factory is not MISSING:
            names[f"_new_{f.name}"] = f.default_factory
            argument += "=_missing"
            given = f"_new_{f.name}()"
            if f.init:
                given += f" if {f.name} is _missing else {f.name}"
        elif f.default is not MISSING:
            names[f"_default_{f.name}"] = f.default
            argument += f"=_default_{f.name}"
            if not f.init:
                given = f"_default_{f.name}"
        if f.init:
            (keywords if f.kw_only else positional).append(argument)
        elif f.default_factory is MISSING and (f.default is MISSING or not slots):
            continue
        if not frozen:
            body.append(f"    self.{f.name} = {given}")
        elif slots:
            # The setter of a slot is found once, and passes by `__setattr__`.
            names[f"_set_{f.name}"] = getattr(cls, f.name).__set__
            body.append(f"    _set_{f.name}(self, {given})")
        else:
            body.append(f"    _set(self, {f.name!r}, {given})")
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    if keywords:
        keywords.insert(0, "*")
    signature = ", ".join(["self", *positional, *keywords])
    text = "\n".join([f"def __init__({signature}):", *(body or ["    pass"])])
    exec(text, names)  # noqa: S102 - our own text
    made: _Method = names["__init__"]
    made.__module__ = cls.__module__
    made.__annotations__ = {f.name: f.type for f in fields if f.init}
    made.__annotations__["return"] = None
    return made


def values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the values of these fields of an object, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if names:
        one = attrgetter(names[0])
        return lambda of: (one(of),)
    return lambda of: ()


def equality(values: Callable[[Any], tuple[Any, ...]]) -> _Method:
    """``__eq__``: compares objects of one class by these values."""

    def __eq__(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def hasher(values: Callable[[Any], tuple[Any, ...]]) -> _Method:
    """``__hash__`` by these values."""

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def shower(fields: _Fields) -> _Method:
    """``__repr__``: the call that would make such an object."""
    names = [f.name for f in fields if f.repr]

    @recursive_repr("...")
    def __repr__(self: Any) -> str:
        inside = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({inside})"

    return __repr__


def immutability(cls: Any, fields: _Fields) -> dict[str, _Method]:
    """``__setattr__`` and ``__delattr__`` of a frozen class."""
    names = frozenset(f.name for f in fields)

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def pickling(fields: _Fields) -> dict[str, _Method]:
    """``__getstate__`` and ``__setstate__``: a frozen object with slots has neither a
    dictionary to fill nor attributes that can be set."""
    names = [f.name for f in fields]

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}


def made_dataclass(
    cls: type | None = None,
    /,
    *,
    eq: bool = True,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
) -> Any:
    """Turns an annotated class into one with a constructor, comparison and repr.

    The arguments mean what they do for `dataclasses.dataclass`; ``order``,
    ``unsafe_hash`` and fields of type ``InitVar`` are not there.
    """

    def made(cls: Any) -> Any:
        own = frozenset(cls.__dict__)
        hashed = has_own_hash(cls)
        if cls.__doc__ is None:  # Else the standard decorator reads the signature.
            cls.__doc__ = f"{cls.__name__}({', '.join(cls.__annotations__)})"
        cls = dataclasses.dataclass(
            init=False,
            repr=False,
            eq=False,
            kw_only=kw_only,
            slots=slots,
            weakref_slot=weakref_slot,
        )(cls)
        fields = dataclasses.fields(cls)
        methods = {"__repr__": shower(fields)}
        if eq:
            methods["__eq__"] = equality(
                values_of([f.name for f in fields if f.compare])
            )
        if eq and frozen and not hashed:
            methods["__hash__"] = hasher(
                values_of([f.name for f in fields if is_hashed(f)])
            )
        elif eq and not hashed:
            cls.__hash__ = None
        if frozen:
            methods |= immutability(cls, fields)
        if frozen and slots:
            methods |= pickling(fields)
        if "__init__" not in own:
            write = partial(constructor, cls, fields, frozen=frozen, slots=slots)
            cls.__init__ = Unwritten(cls, write)
        for name, method in methods.items():
            if name not in own or (name == "__hash__" and not hashed):
                method.__qualname__ = f"{cls.__qualname__}.{name}"
                setattr(cls, name, method)
        return cls

    return made if cls is None else made(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = made_dataclass
