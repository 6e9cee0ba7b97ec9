"""The lines of a program that the animation shows beside its pictures."""

from __future__ import annotations

from dataclasses import dataclass

from parhelion.ir.build import const_int
from parhelion.ir.function import Function
from parhelion.ir.names import plain_name
from parhelion.ir.stmt import Atomic, Block, For, If, Produce, Provide, Realize, Stmt


@dataclass(frozen=True, slots=True)
class Line:
    """One line. parent: the number of the line around it, or -1. loop: whether it is a
    loop, whose variable has a value at each step."""

    depth: int
    text: str
    parent: int
    loop: bool


class Listing:
    """Productions, storage, loops and definitions of a program that is not flat yet.

    Loops of one iteration are left out. of: the number of the line of each statement
    that has one.
    """

    def __init__(self, body: Stmt) -> None:
        self.lines: list[Line] = []
        self.of: dict[Stmt, int] = {}
        self._walk(body, 0, -1)

    def _walk(self, s: Stmt, depth: int, parent: int) -> None:
        if isinstance(s, Block):
            for item in s.items:
                self._walk(item, depth, parent)
        elif isinstance(s, If):
            self._walk(s.then, depth, parent)
            if s.otherwise is not None:
                self._walk(s.otherwise, depth, parent)
        elif isinstance(s, Atomic):
            self._walk(s.body, depth, parent)
        elif isinstance(s, Provide):
            self._add(s, depth, f"{shown(s.func)}(…) = …", parent)
        elif isinstance(s, For):
            if const_int(s.extent) == 1:
                self._walk(s.body, depth, parent)
                return
            text = f"{s.kind.value} {loop_name(s)}"
            inside = self._add(s, depth, text, parent, loop=True)
            self._walk(s.body, depth + 1, inside)
        elif isinstance(s, Realize):
            inside = self._add(s, depth, f"store {shown(s.func)}", parent)
            self._walk(s.body, depth + 1, inside)
        elif isinstance(s, Produce):
            if not s.producing:
                self._walk(s.body, depth, parent)
                return
            inside = self._add(s, depth, f"produce {shown(s.func)}", parent)
            self._walk(s.body, depth + 1, inside)

    def _add(
        self, s: Stmt, depth: int, text: str, parent: int, loop: bool = False
    ) -> int:
        number = len(self.lines)
        self.lines.append(Line(depth, text, parent, loop))
        # The same statement may stand in two places: its first line is shown.
        self.of.setdefault(s, number)
        return number


def shown(f: Function) -> str:
    """A Func's name as the user gave it."""
    return plain_name(f.label)


def loop_name(s: For) -> str:
    """The loop that lowering called ``f.s0.xi``, by its own name."""
    *_, last = s.var.name.split(".")
    return last.split("$")[0]


__all__ = ["Line", "Listing", "loop_name", "shown"]
