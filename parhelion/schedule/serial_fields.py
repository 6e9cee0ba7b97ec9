"""How the fields of a pipeline are told in JSON: by the types they are declared as.

Trees, Funcs, images, Params and reduction domains are entries of one table, and a field
that holds one has its number. Everything else is written in place: numbers, strings and
Bools as they are, members of enumerations by their names, types by theirs, tuples and
mappings as lists, dataclasses as lists that begin with the class's name. Of lines of
the user's source is told only that there was one, since warnings go by that.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from parhelion.errors import HalideError, SerialisationError, Site
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.function import Function, ReductionDomain
from parhelion.ir.loop_id import PartitionChoice
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.schedule import directives as D
from parhelion.types import BFloat, Bool, Float, Handle, Int, Type, UInt

#: The greatest length of a string, and of a list in a field.
MOST_LETTERS, MOST_ITEMS = 1 << 16, 1 << 20
#: Integers have at most so many bits, and a sign.
MOST_BITS = 64

#: What stands for lines of the source of who has written the file.
LINE = Site("<serialised pipeline>", 0)

#: What is an entry of the table.
ENTRIES = (Expr, Function, BufferSym, ParamSym, ReductionDomain)

#: The nodes that definitions consist of, by their names in the file. Names of nodes are
#: part of the format.
NODES: Mapping[str, type[Expr]] = {
    n.__name__: n
    for n in (
        *(E.Imm, E.FloatImm, E.StringImm, E.Cast, E.Reinterpret, *E.BINARY, E.Not),
        *(E.Select, E.Let, E.FuncCall, E.ImageLoad, E.Intrinsic, E.Extern),
    )
}

#: The parts of schedules, by their names in the file.
PARTS: Mapping[str, type[Any]] = {
    c.__name__: c
    for c in (
        *(D.Split, D.Fuse, D.Rename, D.Dim, D.Specialization, D.PrefetchAhead),
        *(D.Spent, D.FusedWith, D.StageSchedule, D.LoopLevel, D.Bound, D.Instead),
        *(D.StorageDim, D.Memo, D.Coverage, D.FuncSchedule, PartitionChoice),
    )
}

#: The types of pixels, by their names.
TYPES: Mapping[str, Type] = {
    str(t): t
    for t in (
        *map(Int, (8, 16, 32, 64)),
        *map(UInt, (8, 16, 32, 64)),
        *map(Float, (16, 32, 64)),
        *(Bool(), BFloat(16), Handle()),
    )
}
_NAMES = {t: name for name, t in TYPES.items()}

#: Numbers an entry; and finds one of a class by its number.
Number = Callable[[Any], int]
Find = Callable[[object, type[Any] | tuple[type[Any], ...]], Any]


def fields(cls: type[Any]) -> tuple[tuple[str, Any], ...]:
    """The fields of a node or of a part of a schedule, with their types."""
    found = _FIELDS.get(cls)
    if found is None:
        found = _FIELDS[cls] = _fields(cls)
    return found


_FIELDS: dict[type[Any], tuple[tuple[str, Any], ...]] = {}


def _fields(cls: type[Any]) -> tuple[tuple[str, Any], ...]:
    known = {"Function": Function, "BufferSym": BufferSym}
    hints = typing.get_type_hints(cls, localns=known)
    if issubclass(cls, Expr):
        return tuple([(name, hints[name]) for name in cls.FIELDS])
    return tuple([(f.name, hints[f.name]) for f in dataclasses.fields(cls)])


def broken(what: str) -> NoReturn:
    """Reports what is wrong with a file."""
    raise SerialisationError(
        f"this is no serialised pipeline, or it is damaged: {what}",
        hint="serialize the pipeline again",
    )


def type_name(t: Type) -> str:
    """The name of a scalar type."""
    if t not in _NAMES:
        raise HalideError(f"values of type {t} are not serialised")
    return _NAMES[t]


def told(value: Any, number: Number) -> Any:
    """A value as JSON has it."""
    if value is None:
        return None
    if isinstance(value, Site):
        return True
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, Type):
        return type_name(value)
    if isinstance(value, tuple):
        return [told(one, number) for one in value]
    if isinstance(value, Mapping):
        return [[told(k, number), told(v, number)] for k, v in value.items()]
    if isinstance(value, ENTRIES):
        return number(value)
    parts = [told(getattr(value, name), number) for name, _ in fields(type(value))]
    return [type(value).__name__, *parts]


def read(json: Any, hint: Any, find: Find) -> Any:
    """The value of a field that is declared as `hint`. Raises SerialisationError where
    it is another."""
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        return _one_of(json, typing.get_args(hint), find)
    if origin is tuple:
        return _tuple(json, typing.get_args(hint), find)
    if origin is not None:  # a mapping
        key, value = typing.get_args(hint)
        pairs = [_list(pair, 2) for pair in _list(json)]
        return {read(k, key, find): read(v, value, find) for k, v in pairs}
    if issubclass(hint, ENTRIES):
        return find(json, hint)
    if hint is Site:
        return LINE if json is True else broken(f"{json!r:.40} in place of a line")
    if hint is Type:
        return type_of(json)
    if issubclass(hint, enum.Enum):
        if not isinstance(json, str) or json not in hint.__members__:
            broken(f"{json!r:.40} is no {hint.__name__}")
        return hint[json]
    if hint is bool or hint is int or hint is str:
        return plain(json, hint)
    if hint is float:
        return real(json)
    return _part(json, hint, find)


def plain(json: Any, of: type[Any]) -> Any:
    """A Bool, an integer or a string."""
    if type(json) is not of:
        broken(f"{json!r:.40} in place of {of.__name__}")
    if of is int and json.bit_length() > MOST_BITS:
        broken(f"an integer of {json.bit_length()} bits")
    if of is str and (len(json) > MOST_LETTERS or not _is_text(json)):
        broken(f"the string {json!r:.40}")
    return json


def _is_text(s: str) -> bool:
    """Whether a string can be written: JSON may have halves of characters."""
    return not any(["\ud800" <= c <= "\udfff" or c == "\0" for c in s])


def real(json: Any) -> float:
    """A finite float, which is told by its hexadecimal digits."""
    try:
        value = float.fromhex(json)
    except (TypeError, ValueError, OverflowError):
        broken(f"{json!r:.40} in place of a float")
    if not math.isfinite(value):
        broken(f"the float {json!r:.40}")
    return value


def type_of(json: Any) -> Type:
    """A type of pixels by its name."""
    if not isinstance(json, str) or json not in TYPES:
        broken(f"{json!r:.40} in place of a type")
    return TYPES[json]


def _list(json: Any, length: int | None = None) -> list[Any]:
    if not isinstance(json, list) or len(json) > MOST_ITEMS:
        broken(f"{json!r:.40} in place of a list")
    if length is not None and len(json) != length:
        broken(f"a list of {len(json)} in place of {length}")
    return json


def _tuple(json: Any, of: tuple[Any, ...], find: Find) -> tuple[Any, ...]:
    if len(of) == 2 and of[1] is Ellipsis:
        return tuple([read(one, of[0], find) for one in _list(json)])
    items = zip(_list(json, len(of)), of, strict=True)
    return tuple([read(one, hint, find) for one, hint in items])


def _one_of(json: Any, hints: tuple[Any, ...], find: Find) -> Any:
    if json is None and type(None) in hints:
        return None
    left = tuple([h for h in hints if h is not type(None)])
    if len(left) == 1:
        return read(json, left[0], find)
    if all([issubclass(h, ENTRIES) for h in left]):
        return find(json, left)
    for hint in left:
        if isinstance(json, list) and json and json[0] == hint.__name__:
            return read(json, hint, find)
    return broken(f"{json!r:.40} in place of a directive")


def _part(json: Any, cls: type[Any], find: Find) -> Any:
    """A dataclass: a part of a schedule."""
    declared = fields(cls)
    name, *values = _list(json, len(declared) + 1)
    if name != cls.__name__:
        broken(f"{name!r:.40} in place of {cls.__name__}")
    made = [read(v, h, find) for v, (_, h) in zip(values, declared, strict=True)]
    return cls(*made)


__all__ = ["NODES", "broken", "fields", "plain", "read", "real", "told", "type_name"]
