"""Names: the Vars that users name, and unique names for everything else."""

from __future__ import annotations

import itertools
import re
import sys
import weakref
from collections import Counter
from collections.abc import Iterable

from parhelion.ir.expr import Var
from parhelion.types import INT32

_VARS: weakref.WeakValueDictionary[str, Var] = weakref.WeakValueDictionary()
_RVARS: weakref.WeakValueDictionary[str, Var] = weakref.WeakValueDictionary()

# Names are never given again, whatever became of what they named. What is kept of that
# is one entry for each different wish, and one word for each name that nobody wished.

#: Each wish, and the greatest number that has followed it.
_TAKEN: dict[str, int] = {}
#: What names begin with that nobody gave, by the number that follows.
_MADE: list[str | None] = []
#: Such names, and what they are made of, where another number follows.
_RENAMED: dict[str, tuple[str, int]] = {}
_COUNTER = itertools.count()
_ROOM = 1024
_DIGITS = "0123456789"


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
    name = _identifier(wish)
    if not _is_taken(name):
        _TAKEN[name] = 0
        return name
    return _numbered(name)


def _identifier(wish: str) -> str:
    return re.sub(r"[^A-Za-z0-9_$]", "_", wish) or "f"


def _is_taken(name: str) -> bool:
    if name in _TAKEN or is_made(name):
        return True
    wish, _, number = name.rpartition("$")
    n = _number(number)
    return n is not None and 0 < n <= _TAKEN.get(wish, 0)


def _number(digits: str) -> int | None:
    """The number that is written so."""
    if not digits or digits.strip(_DIGITS) or len(digits) > 18:
        return None
    return None if len(digits) > 1 and digits[0] == "0" else int(digits)


def _numbered(name: str) -> str:
    """A name with the next number that makes it unique."""
    n = _TAKEN.get(name, 0) + 1
    while _is_taken(f"{name}${n}"):
        n += 1
    _TAKEN[name] = n
    return f"{name}${n}"


def fresh(prefix: str) -> str:
    """A name for something the user did not name: ``v0``, ``f12``, …"""
    count = next(_COUNTER)
    prefix = sys.intern(_identifier(prefix))
    name = f"{prefix}{count}"
    if _is_taken(name):
        name = _numbered(name)
        _RENAMED[name] = (prefix, count)
        return name
    while len(_MADE) <= count:
        _MADE.extend([None] * _ROOM)
    _MADE[count] = prefix
    return name


def _made_of(name: str) -> tuple[str, int] | None:
    """What `fresh` has made a name of."""
    if name in _RENAMED:
        return _RENAMED[name]
    for at in range(len(name.rstrip(_DIGITS)), len(name)):
        n = _number(name[at:])
        if n is not None and n < len(_MADE) and _MADE[n] == name[:at]:
            return name[:at], n
    return None


def is_made(name: str) -> bool:
    """Whether `fresh` made it, so that the next run of the same program may have
    another one in its place."""
    return _made_of(name) is not None


def plain_name(name: str) -> str:
    """A unique name as it was wished for: without the number that makes it unique, and
    for one that nobody wished for, only what it begins with."""
    made = _made_of(name)
    return wished(name) if made is None else made[0]


def wished(name: str) -> str:
    """A unique name without the number that makes it unique."""
    wish, mark, number = name.rpartition("$")
    return wish if mark and number.isdecimal() else name


def shown_names(names: Iterable[str]) -> dict[str, str]:
    """What a text about all of these calls each: its `plain_name`, unless two share
    it."""
    plain = {name: plain_name(name) for name in names}
    counts = Counter(plain.values())
    return {name: it if counts[it] == 1 else name for name, it in plain.items()}


def by_call(names: Iterable[str]) -> dict[str, str]:
    """The unique names by what a user calls them: by themselves, or as they were wished
    for where that means one of them only.

    A program that runs twice in one process, as the cell of a notebook does, wishes for
    its names again, and gets others: ``gain$1`` is still its ``gain``.
    """
    shown = shown_names(names)
    return {it: name for name, it in shown.items()} | {name: name for name in shown}


def order_key(name: str) -> tuple[str, int, int]:
    """Puts names in the order of their letters; those that differ only in a number
    that was made for them, in the order in which they were made.

    So the order does not change when the same program makes its Funcs once more, as
    that of the names themselves does: ``sum$9`` is after ``sum$10``.
    """
    made = _made_of(name)
    if made is not None:
        return (*made, 0)
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
