"""Names: the Vars that users name, and unique names for everything else."""

from __future__ import annotations

import itertools
import re
import weakref
from collections import Counter
from collections.abc import Iterable

from parhelion.ir.expr import Var
from parhelion.types import INT32

_VARS: weakref.WeakValueDictionary[str, Var] = weakref.WeakValueDictionary()
_RVARS: weakref.WeakValueDictionary[str, Var] = weakref.WeakValueDictionary()
_TAKEN: dict[str, int] = {}
#: Of names that nobody gave: what they are made of.
_MADE: dict[str, tuple[str, int]] = {}
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
    count = next(_COUNTER)
    name = unique_name(f"{prefix}{count}")
    _MADE[name] = (prefix, count)
    return name


def is_made(name: str) -> bool:
    """Whether `fresh` made it, so that the next run of the same program may have
    another one in its place."""
    return name in _MADE


def plain_name(name: str) -> str:
    """A unique name as it was wished for: without the number that makes it unique, and
    for one that nobody wished for, only what it begins with."""
    if name in _MADE:
        return _MADE[name][0]
    wish, mark, number = name.rpartition("$")
    return wish if mark and number.isdecimal() else name


def shown_loop(name: str) -> str:
    """A loop of lowered code as messages call it: ``f.s1.r.x``."""
    of, dot, loop = name.rpartition(".")
    return of + dot + loop.replace("$", ".")


def shown_names(names: Iterable[str]) -> dict[str, str]:
    """What a text about all of these calls each: its `plain_name`, unless two share
    it."""
    plain = {name: plain_name(name) for name in names}
    counts = Counter(plain.values())
    return {name: it if counts[it] == 1 else name for name, it in plain.items()}


def order_key(name: str) -> tuple[str, int, int]:
    """Puts names in the order of their letters; those that differ only in a number
    that was made for them, in the order in which they were made.

    So the order does not change when the same program makes its Funcs once more, as
    that of the names themselves does: ``sum$9`` is after ``sum$10``.
    """
    if name in _MADE:
        return (*_MADE[name], 0)
    wish = plain_name(name)
    return wish, -1, int(name[len(wish) + 1 :] or 0)


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
