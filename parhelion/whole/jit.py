"""`jit`: a function of whole arrays as a compiled one."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.lang.func import Func
from parhelion.whole.array import Array
from parhelion.whole.jitted import Jitted
from parhelion.whole.schedules import Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray


@overload
def jit(
    function: Callable[..., Array],
    *,
    static: Collection[str] = (),
    schedule: Schedule = None,
) -> Jitted[NDArray[Any]]: ...
@overload
def jit(
    function: Callable[..., tuple[Array, ...]],
    *,
    static: Collection[str] = (),
    schedule: Schedule = None,
) -> Jitted[tuple[NDArray[Any], ...]]: ...
@overload
def jit(
    function: Callable[..., Any],
    *,
    static: Collection[str] = (),
    schedule: Schedule = None,
) -> Jitted[Any]: ...
@overload
def jit(
    *, static: Collection[str] = (), schedule: Schedule = None
) -> Callable[[Callable[..., Any]], Jitted[Any]]: ...
def jit(
    function: Callable[..., Any] | None = None,
    *,
    static: Collection[str] = (),
    schedule: Schedule = None,
) -> Any:
    """Makes a function of whole arrays a compiled one: NumPy arrays in and out.

    The function is run once for each combination of types and ranks that it is given,
    with an `Array` for each array and each number; what it returns is compiled and
    scheduled, for any sizes. Arguments that are neither are part of the program.

    static: names of parameters whose numbers are part of the program too, because a
        loop or an ``if`` depends on them.
    schedule: a function of a Pipeline that gives the schedule, or a text that
        `to_python` of what `Jitted.autoschedule` returns printed. Without it, small
        arrays are computed Func by Func, and for others the automatic scheduler is
        asked, once for a class of sizes; what it answers is kept between processes.

    ``Annotated[hl.Array, "yxc"]`` names the axes of a parameter. Raises
    TypeMismatchError for functions that it cannot call.

    >>> @hl.jit
    ... def brighter(image: hl.Array, gain: float = 1.5) -> hl.Array:
    ...     return np.clip(image * gain, 0, 255).astype(image.dtype)
    >>> brighter(np.array([[10, 200]], np.uint8))
    array([[ 15, 255]], dtype=uint8)
    """
    if function is None:
        return functools.partial(jit, static=static, schedule=schedule)
    if not callable(function) or isinstance(function, Func | Jitted):
        raise TypeMismatchError(
            f"hl.jit takes a function of arrays, not {function!r:.60}", at=here()
        )
    if isinstance(function, np.ufunc | types.BuiltinFunctionType):
        name = function.__name__
        if isinstance(function, np.ufunc):
            name = f"np.{name}"
        names = "a" if getattr(function, "nin", 1) == 1 else "a, b"
        raise TypeMismatchError(
            f"hl.jit takes a function in Python, and {name} is compiled already",
            at=here(),
            hint=f"hl.jit(lambda {names}: {name}({names}))",
        )
    return Jitted(function, _words(static), schedule)


def _words(static: object) -> tuple[str, ...]:
    if isinstance(static, str):
        return (static,)
    return tuple(static)  # type: ignore[arg-type]


__all__ = ["jit"]
