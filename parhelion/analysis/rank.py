"""A canonical order of expressions that is the same in every process, and what their
structure says about them.

The simplifier sorts the operands of commutative operations by `sort_key`, so that
equal sums become one node. Object identity or creation order would depend on what was
compiled before; this order depends on the expression's structure and names alone, and
not on the numbers that make names unique (``f$2``) but where all else is the same: the
same pipeline gives the same program, whatever was named before it. Two distinct
expressions may tie (Vars of one name); they keep the order they came in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple
from zlib import crc32

from parhelion.ir.expr import (
    Expr,
    Extern,
    FloatImm,
    FuncCall,
    ImageLoad,
    Imm,
    Intrinsic,
    Load,
    Select,
    Var,
)
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.node import Node

#: Sort keys: Vars first and by name, then the rest by a structural hash, constants
#: last. What the numbers of unique names say comes last in each.
Key = tuple[int, str, int]


class Rank(NamedTuple):
    """Cached facts of a node's structure.

    data: whether it reads memory or calls out: what it computes is pixel data.
    pure: whether evaluating it has no effect.
    size: nodes of the tree, shared ones counted each time (saturates at 1e6).
    choices: how many of them are selections.
    """

    data: bool
    pure: bool
    size: int
    choices: int


#: Made in C, which takes half as long.
_rank_of: Callable[[tuple[bool, bool, int, int]], Rank] = partial(tuple.__new__, Rank)

_LEAF = Rank(False, True, 1, 0)
_MOST = 1_000_000
_DATA = (Load, FuncCall, ImageLoad, Extern)
_KINDS: dict[type[Expr], tuple[int, tuple[str, ...]]] = {}
_NUMBER = re.compile(r"\$(\d+)")
_DIGITS = re.compile(r"\d+")
_set_rank = Expr._rank.__set__  # type: ignore[attr-defined]
_set_digest = Expr._digest.__set__  # type: ignore[attr-defined]


def rank(e: Expr) -> Rank:
    """The cached `Rank` of a node."""
    try:
        return e._rank  # type: ignore[attr-defined,no-any-return]
    except AttributeError:
        return _find_rank(e)


def _find_rank(e: Expr) -> Rank:
    """As `rank`, of a node whose rank is not known."""
    kind = type(e)
    if kind is Var or kind is Imm or kind is FloatImm:
        made = _LEAF
    else:
        data, pure, size, choices = kind in _DATA, True, 1, int(kind is Select)
        if kind is Intrinsic:
            info = INTRINSICS.get(e.op)  # type: ignore[attr-defined]
            pure = info is not None and info.pure
            data = info is not None and info.data
        for child in e.children():
            try:
                of_child = child._rank
            except AttributeError:
                of_child = _find_rank(child)
            reads, plain, nodes, chosen = of_child
            data = data or reads
            pure = pure and plain
            size += nodes
            choices += chosen
        if size > _MOST:
            size, choices = _MOST, min(choices, _MOST)
        made = _rank_of((data, pure, size, choices))
    _set_rank(e, made)
    return made


@lru_cache(1 << 13)
def _name_key(name: str) -> Key:
    """The key of a Var: ``x9`` is before ``x10``, and ``f$9.x`` before ``f$10.x``."""
    number = 0
    for digits in _NUMBER.findall(name):
        number = (number << 32) + int(digits)
    plain = _NUMBER.sub("", name)
    return 0, _DIGITS.sub(lambda m: m[0].rjust(12, "0"), plain), number


def _mixed(made: int, factor: int, other: int) -> int:
    """A 64-bit hash with another: of its halves, only the lower one knows the numbers
    of unique names."""
    high = ((made >> 32) * factor ^ other >> 32) & 0xFFFFFFFF
    return high << 32 | (made * factor ^ other) & 0xFFFFFFFF


@lru_cache(1 << 13)
def _text_digest(text: str) -> int:
    low = crc32(text.encode())
    plain = _NUMBER.sub("", text)
    return (low if plain == text else crc32(plain.encode())) << 32 | low


def _digest(e: Expr) -> int:
    """A structural hash of 64 bits."""
    try:
        return e._digest  # type: ignore[attr-defined,no-any-return]
    except AttributeError:
        pass
    kind = type(e)
    known = _KINDS.get(kind)
    if known is None:
        plain = tuple([f for f in kind.FIELDS if f not in kind.CHILDREN])
        known = _KINDS[kind] = _text_digest(kind.__name__), plain
    made, plain = known
    for name in plain:
        # Numbers, names, types; symbols, Functions and a Let's Var by their names.
        value = getattr(e, name)
        text = str(getattr(value, "name", value))
        made = _mixed(made, 31, _text_digest(text))
    for child in e.children():
        made = _mixed(made, 1000003, _digest(child))
    _set_digest(e, made)
    return made


def sort_key(e: Expr) -> Key:
    """The key that orders the operands of commutative operations."""
    if type(e) is Var:
        return _name_key(e.name)
    return (9 if type(e) is Imm else 1), "", _digest(e)


def tree_size(e: Expr) -> int:
    """Nodes of the tree, shared ones counted each time (saturates at 1e6)."""
    return rank(e).size


#: Nodes of the tree of a condition that is looked into, node by node.
_LARGEST_CONDITION = 4096


def is_small(cond: Expr) -> bool:
    """Whether a condition may be taken apart as a tree, whatever it shares."""
    return rank(cond).size <= _LARGEST_CONDITION


def reads_data(e: Expr) -> bool:
    """Whether `e` reads memory or calls a function: pixel data, not an index."""
    return rank(e).data


def loads(*roots: Node) -> Iterator[Load]:
    """Every distinct Load in a tree, or in several, those around others first.

    Of expressions that read nothing, which are most of the nodes of a program, no more
    than that is asked.
    """
    seen: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if type(n) is Load:
            yield n
        stack += [
            c for c in n.children()[::-1] if not isinstance(c, Expr) or reads_data(c)
        ]


def is_pure(e: Expr) -> bool:
    """Whether `e` may be moved, shared or dropped."""
    return rank(e).pure
