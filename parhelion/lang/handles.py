"""Funcs and Stages for what they stand for, made by whoever is below them.

A directive that returns another Func, and a Pipeline that is asked for one of its
Funcs, are part of what a Func is made of. `lang.func` says once which classes they
make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from parhelion.ir.function import Function

if TYPE_CHECKING:
    from parhelion.lang.func import Func, Stage

_func: type[Func]
_stage: type[Stage]


def made_of(func: type[Func], stage: type[Stage]) -> None:
    """Says which classes handles are of."""
    global _func, _stage
    _func, _stage = func, stage


def func_of(function: Function) -> Func:
    """The Func of a Function."""
    return _func._of(function)


def stage_of(function: Function, number: int) -> Stage:
    """The Stage of one definition of a Function, or of a branch of it."""
    return _stage._of(function, number)


def is_func(value: object) -> TypeGuard[Func]:
    """Whether a user has given a Func."""
    return isinstance(value, _func)


__all__ = ["func_of", "is_func", "made_of", "stage_of"]
