"""Expressions that are known to be well-formed, and what they use.

Most of a program is the same after a pass as before it. Whether an expression is
well-formed depends on its nodes alone, and not on where it stands; whether what it uses
is there does. So `ir.verify` looks at each node once in a lowering, and at each place
only at the Vars, buffers and Funcs that the whole expression uses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from parhelion.ir.expr import Expr, FuncCall, Load
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym

#: What has to be there where an expression stands.
Used = BufferSym | Function

_NOTHING: frozenset[Used] = frozenset()


class Verified:
    """The expressions that were found well-formed, for each kind of program apart."""

    def __init__(self) -> None:
        self._kinds: dict[Hashable, Known] = {}

    def of(self, kind: Hashable) -> Known:
        """Those of one kind: all else than a node that decides whether it is sound."""
        return self._kinds.setdefault(kind, Known())


class Known:
    """What expressions use that were found well-formed."""

    def __init__(self) -> None:
        #: The flat buffers that an expression loads from, and the Funcs that it calls.
        self.uses: dict[Expr, frozenset[Used]] = {}

    def find(self, e: Expr, check: Callable[[Expr], None]) -> frozenset[Used]:
        """As `uses`, also of an expression that is new.

        check: is called with each node that was not found well-formed before, with
            parents before their children; raises where one is not.
        """
        known = self.uses
        checked: set[Expr] = set()
        stack = [e]
        while stack:
            n = stack[-1]
            if n in known:
                stack.pop()
                continue
            if n not in checked:
                checked.add(n)
                check(n)
            waiting = [c for c in n.children() if c not in known]
            if waiting:
                stack.extend(reversed(waiting))
            else:
                known[n] = _joined(n, known)
                stack.pop()
        return known[e]


def _joined(n: Expr, known: dict[Expr, frozenset[Used]]) -> frozenset[Used]:
    """What a node uses, of whose children that is known."""
    found = _NOTHING
    for child in n.children():
        more = known[child]
        if not more <= found:
            found = found | more if found else more
    own: Used | None = None
    if type(n) is Load:
        own = n.buffer
    elif type(n) is FuncCall:
        own = n.func
    return found if own is None or own in found else found | {own}


__all__ = ["Known", "Used", "Verified"]
