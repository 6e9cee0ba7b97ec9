"""Names: the Vars that users name, and unique names for everything else."""

from __future__ import annotations

import itertools
import re
import weakref

from parhelion.ir.expr import Var
from parhelion.types import INT32

_VARS: weakref.WeakValueDictionary[str, Var] = weakref.WeakValueDictionary()
_RVARS: weakref.WeakValueDictionary[str, Var] = weakref.WeakValueDictionary()
_TAKEN: dict[str, int] = {}
_COUNTER = itertools.count()


def user_var(name: str) -> Var:
    """The one Var behind every ``hl.Var(name)``."""
    return _VARS.setdefault(name, Var(name, INT32))


def user_rvar(name: str) -> Var:
    """The one Var behind every ``hl.RVar(name)`` that a schedule makes."""
    return _RVARS.setdefault(name, Var(name, INT32))


def is_user_rvar(v: Var) -> bool:
    """Whether `v` is behind an ``hl.RVar`` (one of an RDom has that as its origin)."""
    return _RVARS.get(v.name) is v


def is_user_var(v: Var) -> bool:
    """Whether `v` is behind an ``hl.Var``."""
    return _VARS.get(v.name) is v


def unique_name(wish: str) -> str:
    """`wish`, made a valid identifier and followed by ``$n`` if it is taken.

    Func, Param and image names go through here: each is unique in the process.
    """
    name = re.sub(r"[^A-Za-z0-9_$]", "_", wish) or "f"
    n = _TAKEN.get(name)
    if n is None:
        _TAKEN[name] = 0
        return name
    while True:
        n += 1
        if f"{name}${n}" not in _TAKEN:
            break
    _TAKEN[name] = n
    _TAKEN[f"{name}${n}"] = 0
    return f"{name}${n}"


def fresh(prefix: str) -> str:
    """A name for something the user did not name: ``v0``, ``f12``, …"""
    return unique_name(f"{prefix}{next(_COUNTER)}")


class Namer:
    """Gives names that are unique within one compile, the same every time."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def __call__(self, wish: str) -> str:
        n = self.taken.get(wish, 0)
        self.taken[wish] = n + 1
        if n == 0:
            return wish
        name = f"{wish}.{n}"
        return self(name) if name in self.taken else name
