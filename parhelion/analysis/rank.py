"""A canonical order of expressions that is the same in every process.

The simplifier sorts the operands of commutative operations by it, so that equal sums
become one node. Object identity or creation order would depend on what was compiled
before; this order depends on the expression's structure and names alone. Two distinct
expressions may tie (Vars of one name); they then keep the order they came in.
"""

from __future__ import annotations

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
    Let,
    Load,
    Var,
)
from parhelion.ir.intrinsics import INTRINSICS

#: Sort keys: constants last, Vars first and by name, the rest by a structural hash.
Key = tuple[int, str, int]


class Rank(NamedTuple):
    """Cached facts of a node's structure.

    key: the sort key. digest: a 32-bit structural hash.
    data: whether it reads memory or calls out: what it computes is pixel data.
    pure: whether evaluating it has no effect.
    size: nodes of the tree, shared ones counted each time (saturates at 1e6).
    """

    key: Key
    digest: int
    data: bool
    pure: bool
    size: int


_DATA = (Load, FuncCall, ImageLoad, Extern)
_KIND_DIGEST: dict[type, int] = {}
_set_rank = Expr._rank.__set__  # type: ignore[attr-defined]


def _plain_digest(value: object) -> int:
    """A hash of a field that is not a child: numbers, names, types."""
    name = getattr(value, "name", value)
    return crc32(str(name).encode())


def rank(e: Expr) -> Rank:
    """The cached `Rank` of a node."""
    try:
        return e._rank  # type: ignore[attr-defined,no-any-return]
    except AttributeError:
        pass
    made = _compute(e)
    _set_rank(e, made)
    return made


def _compute(e: Expr) -> Rank:
    kind = type(e)
    if kind is Var:
        digest = crc32(e.name.encode())  # type: ignore[attr-defined]
        return Rank((0, e.name, 0), digest, False, True, 1)  # type: ignore[attr-defined]
    if kind is Imm or kind is FloatImm:
        value = e.value if kind is Imm else e.bits  # type: ignore[attr-defined]
        digest = crc32(b"%d" % value)
        return Rank((9, "", digest), digest, False, True, 1)
    digest = _KIND_DIGEST.get(kind) or _KIND_DIGEST.setdefault(
        kind, crc32(kind.__name__.encode())
    )
    data, pure, size = kind in _DATA, True, 1
    if kind is Intrinsic:
        info = INTRINSICS.get(e.op)  # type: ignore[attr-defined]
        pure = info is not None and info.pure
    for name in e.FIELDS:
        if name in e.CHILDREN:
            continue
        digest = (digest * 31 + _plain_digest(getattr(e, name))) & 0xFFFFFFFF
    if kind is Let:
        digest = (digest * 31 + crc32(e.var.name.encode())) & 0xFFFFFFFF  # type: ignore[attr-defined]
    for child in e.children():
        r = rank(child)
        digest = (digest * 1000003 ^ r.digest) & 0xFFFFFFFF
        data = data or r.data
        pure = pure and r.pure
        size += r.size
    return Rank((1, "", digest), digest, data, pure, min(size, 1_000_000))


def sort_key(e: Expr) -> Key:
    """The key that orders the operands of commutative operations."""
    return rank(e).key


def tree_size(e: Expr) -> int:
    """Nodes of the tree, shared ones counted each time (saturates at 1e6)."""
    return rank(e).size


def reads_data(e: Expr) -> bool:
    """Whether `e` reads memory or calls a function: pixel data, not an index."""
    return rank(e).data


def is_pure(e: Expr) -> bool:
    """Whether `e` may be moved, shared or dropped."""
    return rank(e).pure
