"""Values that LLVM is kept from looking into: large ones of scalars, where they are
stored, and pointers that many loads and stores of a loop count from.

LLVM's strength reduction writes whatever integer a loop stores, or adds up, as a
formula of all that it is computed from, and compares such formulas part by part: 9.9
of the 10.7 s that 20 levels of ``g(x) = max(min(f(x), f(x + 1)), f(x - 1))`` took. It
finds nothing in them, as what was loaded is no formula of the loop's counter. A
``freeze`` before the store changes no value, and no formula reaches beyond it.

Of each address in an innermost loop it makes as many formulas as the terms of what the
address is outside of the loop can be parted, and compares all of them: 0.5 s of the
1.0 s that code generation for the lens blur took. Addresses are written so that what
does not change in a loop is added up before it; where that is frozen, there is one
formula, a pointer and what the loop adds to it.
"""

from __future__ import annotations

from parhelion.codegen.module import Module
from parhelion.codegen.types import value_type
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.node import Node
from parhelion.types import Type

#: Nodes of a large value. The formulas of smaller ones take LLVM next to no time, and
#: the code of stores that read, change and write one place is better without a freeze.
LARGE = 100
#: Loads and stores of a loop whose addresses LLVM may look into: it finds a pointer to
#: count with in place of the counter, which is an instruction less in a short loop.
FEW = 2


def is_formula(t: Type) -> bool:
    """Whether LLVM makes formulas of such values."""
    return t.count == 1 and t.is_int_or_uint()


def weigh_let(f: Function, var: Var, value: Expr) -> None:
    """Notes how large the value is that a Var stands for."""
    if is_formula(var.type):
        f.weights[var] = weight(f, value)


def weight(f: Function, e: Expr) -> int:
    """How many nodes a formula of `e` has, or `LARGE` if there are more."""
    seen: set[Expr] = set()
    stack, total = [e], 0
    while stack and total < LARGE:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        total += f.weights.get(n, 1) if isinstance(n, Var) else 1
        if not isinstance(n, E.Load):
            stack.extend(n.children())
    return min(total, LARGE)


def stored(f: Function, value: Expr, text: str) -> str:
    """The text of a value that is to be stored, or added to from one iteration to the
    next: as it is, or out of sight if it is large."""
    if not is_formula(value.type) or weight(f, value) < LARGE:
        return text
    return f.op(f"freeze {value_type(value.type)} {text}")


def hides_addresses(m: Module, loop: S.For) -> bool:
    """Whether a loop has none inside, and more than a few loads and stores."""
    if m.backend.generic_pointers:
        return False
    found = 0
    seen: set[Node] = set()
    stack: list[Node] = [loop.body]
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, S.For):
            return False
        found += isinstance(n, E.Load | S.Store)
        stack.extend(n.children())
    return found > FEW


def pointer(f: Function, text: str, level: int) -> str:
    """A pointer that is known at a level, out of sight."""
    key = ("hidden", text)
    found = f.memo.get(key)
    if found is None:
        found = f.remember(key, f.at(level, f"freeze ptr {text}"), level)
    return found


__all__ = ["FEW", "LARGE", "hides_addresses", "pointer", "stored", "weigh_let"]
