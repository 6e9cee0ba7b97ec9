"""Tracebacks that end at the user's line: errors leave their frames behind at the door.

The calls inside of this package say nothing to who made a mistake, and the message
quotes the line. So the public functions and methods are called through a function
(`ending`) that takes the frames of the package off an error that passes. No hook of
Python's or of IPython's is set: what prints, logs or examines a traceback finds a
short one. ``PARHELION_TRACEBACK=full`` in the environment keeps all frames; so do
`InternalError` and the errors of other packages.

An exception that a bare ``raise`` raises again gets no second entry for the frame that
caught it, from CPython 3.11 on: so a function that sets ``__traceback__`` before is in
no traceback itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import Enum
from types import FunctionType, TracebackType
from typing import Any, TypeVar

from parhelion.errors import GENERATED, PACKAGE, HalideError, InternalError

_F = TypeVar("_F")

_VARIABLE = "PARHELION_TRACEBACK"
_PYTHON = os.path.dirname(os.__file__) + os.sep
#: Methods that Python calls by itself, or so often that a call more is felt: none of
#: them raises an error of this package, or they have the same in their own code.
_LEFT = frozenset(
    [
        *("__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__hash__"),
        *("__repr__", "__str__", "__getstate__", "__setstate__"),
        *("__copy__", "__deepcopy__", "__new__", "__del__"),
        *("__init_subclass__", "__class_getitem__", "__dir__"),
        *("__instancecheck__", "__subclasscheck__", "__set_name__"),
        *("__post_init__", "__enter__", "__exit__"),
    ]
)
_BELOW = ("parhelion.dataclass", "parhelion.types", "parhelion.ir.")
_GENERATOR = 0x20  # of `co_flags`: its body runs after the call
_done: set[object] = set()


def is_full(error: BaseException) -> bool:
    """Whether an error keeps all its frames."""
    if not isinstance(error, HalideError) or isinstance(error, InternalError):
        return True
    return os.environ.get(_VARIABLE, "").lower() == "full"


def leave(error: BaseException) -> None:
    """Takes the frame that caught an error off its traceback, and of an error of this
    package all frames of the package; what the user's functions did that it called is
    kept. A bare ``raise`` is to follow."""
    trace = error.__traceback__
    rest = None if trace is None else trace.tb_next
    if is_full(error):
        error.__traceback__ = rest
        return
    error.__traceback__ = _users(rest)
    pending, seen = [error.__cause__, error.__context__], {id(error)}
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _users(one.__traceback__)
        pending += [one.__cause__, one.__context__]


def _users(trace: TracebackType | None) -> TracebackType | None:
    """The entries of a traceback below a call of this package that are the user's."""
    entries = []
    inside = True
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        inside = name.startswith(PACKAGE) or (inside and _is_between(name))
        if not inside:
            entries.append(trace)
        trace = trace.tb_next
    made: TracebackType | None = None
    for one in reversed(entries):
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


def _is_between(name: str) -> bool:
    """Whether a file is of Python, NumPy or lark: what this package calls."""
    if name.startswith(GENERATED):
        return True
    packages = ("site-packages" in name) or ("dist-packages" in name)
    if packages or not name.startswith(_PYTHON):
        return any([f"{os.sep}{one}{os.sep}" in name for one in ("numpy", "lark")])
    return True


def ending(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, but that errors leave it without frames of this package."""

    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except BaseException as error:
            leave(error)
            raise

    # As `functools.wraps`, in a fifth of its time: the import waits for all of them.
    call.__name__, call.__qualname__ = function.__name__, function.__qualname__
    call.__module__, call.__doc__ = function.__module__, function.__doc__
    call.__wrapped__ = function  # type: ignore[attr-defined]
    _done.add(call)
    return call


def ends_itself(function: _F) -> _F:
    """Says of a method that it calls `leave` itself: a call of a microsecond would feel
    another function around it."""
    _done.add(function)
    return function


def shorten(names: dict[str, Any]) -> None:
    """Puts `ending` around the public functions among the names of a module, in the
    modules that define them, too, and around the methods of the classes."""
    for name, value in list(names.items()):
        if not name.startswith("_"):
            names[name] = shortened(value)


def shortened(value: Any) -> Any:
    """The same for one function or class; anything else as it is."""
    if isinstance(value, FunctionType):
        return _function(value)
    if isinstance(value, type) and not issubclass(value, type | BaseException | Enum):
        for one in value.__mro__:
            if one not in _done and _is_called(one.__module__):
                _done.add(one)
                _methods(one)
    return value


def _function(function: FunctionType) -> Any:
    if not _is_wanted(function):
        return function
    made = ending(function)
    home = vars(sys.modules[function.__module__])
    if home.get(function.__name__) is function:
        home[function.__name__] = made
    return made


def _is_wanted(function: object) -> bool:
    if not isinstance(function, FunctionType) or function in _done:
        return False
    generates = function.__code__.co_flags & _GENERATOR
    return _is_called(function.__module__) and not generates


def _is_called(module: str) -> bool:
    """Whether a module is one whose functions and methods users call. Types and trees
    are asked for many things, many times for each operation, and refuse little."""
    return module.startswith("parhelion.") and not module.startswith(_BELOW)


def _methods(kind: type) -> None:
    for name, value in list(vars(kind).items()):
        special = name.startswith("__") and name.endswith("__")
        if name in _LEFT or (name.startswith("_") and not special):
            continue
        if isinstance(value, classmethod | staticmethod):
            if _is_wanted(value.__func__):
                setattr(kind, name, type(value)(ending(value.__func__)))
        elif type(value) is property:
            parts: list[Any] = [value.fget, value.fset, value.fdel]
            get, put, drop = [ending(f) if _is_wanted(f) else f for f in parts]
            setattr(kind, name, property(get, put, drop, value.__doc__))
        elif _is_wanted(value):
            setattr(kind, name, ending(value))


__all__ = ["ending", "ends_itself", "is_full", "leave", "shorten", "shortened"]
