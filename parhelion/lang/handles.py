"""Makes Funcs and Stages for modules that `lang.func` itself imports.

Some directives return a Func, and a Pipeline returns its Funcs, but `lang.func` needs
their modules first. So it registers its classes here with `made_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from parhelion.ir.function import Function

if TYPE_CHECKING:
    from parhelion.lang.func import Func, Stage

_func: type[Func]
_stage: type[Stage]


def made_of(func: type[Func], stage: type[Stage]) -> None:
    """Sets the classes of the Funcs and Stages that are made here."""
    global _func, _stage
    _func, _stage = func, stage


def func_of(function: Function) -> Func:
    """Returns a Func for a Function."""
    return _func._of(function)


def stage_of(function: Function, number: int) -> Stage:
    """Returns a Stage for one definition of a Function, or for a branch of it."""
    return _stage._of(function, number)


def is_func(value: object) -> TypeGuard[Func]:
    """Returns whether a value is a Func."""
    return isinstance(value, _func)


__all__ = ["func_of", "is_func", "made_of", "stage_of"]
