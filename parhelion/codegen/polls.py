"""Where compiled code looks whether a signal is to end its run.

A look is a load and a branch that is never taken, until the word of the run's context
is marked (see `runtime.watch_ir`). Between two looks there are about BETWEEN
operations at most, some milliseconds: a loop that does less, in all its iterations,
has none. An innermost loop is never looked from: it runs in strips of so many
iterations, of which most loops have one, and the look is between strips. Not even that
is done for a row of an image in vectors, where there is a look after each row. A loop
around others looks once an iteration, unless one of these does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from parhelion.analysis.interval import constant_interval
from parhelion.codegen import effects
from parhelion.codegen.module import Module
from parhelion.codegen.writer import Function
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Extern, Load
from parhelion.ir.failures import INTERRUPTED
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import ForKind, Stmt

#: Where a context has the word (see `runtime.context`).
STOP_OFFSET = 12

#: Operations between two looks: a millisecond, a hundred if each waits for memory.
BETWEEN = 1 << 20
#: A loop around others looks in each iteration that does as much; else it has strips.
WORTH = 256
#: Lanes from which on a loop over a row of an image is short.
_VECTOR = 4
#: Operations of a loop that fits in a line of the instruction cache.
_SHORT = 24
#: What a call of a function of the C library counts for, and a foreign stage.
_CALL, _FOREIGN = 50, BETWEEN


def strip(f: Function, loop: S.For) -> int:
    """After how many iterations the loop looks; 0 for never."""
    found = _strip(f.module, loop)
    return 0 if found > 1 and f.looked and _is_a_row(f.module, loop) else found


def is_short(m: Module, loop: S.For) -> bool:
    """Whether a loop has none inside and its code is some tens of bytes."""
    return not _has_loops(loop.body) and _work(m, loop.body) <= _SHORT


def _is_a_row(m: Module, loop: S.For) -> bool:
    """Whether a loop only stores vectors, each elsewhere: at most a row of an image,
    where what it is in looks after each. Or always the same one, as the rest of a row
    is, which has an iteration or none."""
    moving = {loop.var}
    stack: list[Stmt] = [loop.body]
    while stack:
        s = stack.pop()
        if isinstance(s, S.LetStmt) and not moving.isdisjoint(free_vars(s.value)):
            moving.add(s.var)
        elif isinstance(s, S.Store):
            if s.value.type.count < _VECTOR:
                return False
            if moving.isdisjoint(free_vars(s.index)):
                same = moving.isdisjoint(free_vars(s.value))
                if not same or s.buffer in m.reads(s.value):
                    return False
        stack.extend([c for c in reversed(s.children()) if isinstance(c, Stmt)])
    return True


def _strip(m: Module, loop: S.For) -> int:
    if not m.interruptible:
        return 0
    times = _times(loop)
    body = _work(m, loop.body)
    if times * body <= BETWEEN:
        return 0
    if _looks_within(m, loop.body):
        return 0
    if body >= WORTH and _has_loops(loop.body):
        return 1
    return max(BETWEEN // max(int(body), 1), 1) if math.isfinite(body) else 1


def _times(loop: S.For) -> float:
    """The most iterations that a loop may have."""
    most = constant_interval(loop.extent).hi
    return math.inf if most is None else max(float(most), 0.0)


def _looks_within(m: Module, s: Stmt) -> bool:
    """Whether a statement surely comes to a loop that looks in each iteration."""
    if isinstance(s, S.For):
        return s.kind is ForKind.PARALLEL or _strip(m, s) == 1
    if isinstance(s, S.Block):
        return any(_looks_within(m, item) for item in s.items)
    return isinstance(s, S.Produce) and _looks_within(m, s.body)


def _has_loops(s: Stmt) -> bool:
    if isinstance(s, S.For):
        return True
    return any(isinstance(c, Stmt) and _has_loops(c) for c in s.children())


def _work(m: Module, s: Stmt) -> float:
    """About how many operations a statement is, at the most."""
    found = m.work.get(s)
    if found is not None:
        return found
    own: list[Expr] = []
    total = 1.0
    for child in s.children():
        if isinstance(child, Stmt):
            total += _work(m, child)
        elif isinstance(child, Expr):
            own.append(child)
    if isinstance(s, S.For):
        total *= _times(s)
    elif isinstance(s, S.RunExtern):
        total += _FOREIGN
    total += _operations(own, m.target.vector_bits)
    m.work[s] = total
    return total


def _operations(roots: Iterable[Expr], vector_bits: int) -> float:
    """Of expressions: one for each different node and vector register of its value."""
    total = 0.0
    seen: set[Node] = set()
    stack: list[Node] = list(roots)
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        stack.extend(n.children())
        if not isinstance(n, Expr):
            continue
        t = n.type
        registers = max(t.count * t.width // vector_bits, 1)
        if isinstance(n, Extern):
            registers = _CALL * t.count
        elif isinstance(n, Load) and t.count > 1:
            registers *= 2
        total += registers
    return total


def look(f: Function) -> None:
    """Leaves the run if it is to end."""
    at = f.op(f"getelementptr i8, ptr %ctx, i64 {STOP_OFFSET}")
    word = f.op(f"load atomic i32, ptr {at} monotonic, align 4")
    quiet = f.op(f"icmp eq i32 {word}, 0")
    marked, go = f.label("marked"), f.label("go")
    f.out(f"  br i1 {quiet}, label %{go}, label %{marked}{f.module.LIKELY}")
    before, out = f.block, f.out
    f.block, f.out = marked, f.cold.append
    f.out(f"{marked}:")
    _ask(f, "ph_look", go)
    f.block, f.out = before, out
    f.start(go)


def look_now(f: Function) -> None:
    """Leaves the run if it is to end, right before it calls Python.

    If the handler of a signal raises at this moment, Python is not called any more.
    """
    if f.module.interruptible:
        go = f.label("go")
        _ask(f, "ph_look_now", go)
        f.start(go)


def _ask(f: Function, name: str, go: str) -> None:
    f.module.runtime(name)
    called = f.module.result_of(name)
    code = f.op(f"call {called} @{name}(ptr %ctx)")
    fine = f.op(f"icmp eq i32 {code}, 0")
    leave = f.label("interrupted")
    f.out(f"  br i1 {fine}, label %{go}, label %{leave}{f.module.LIKELY}")
    before, out = f.block, f.out
    f.block, f.out = leave, f.cold.append
    f.out(f"{leave}:")
    effects.leave(f, code)
    f.block, f.out = before, out


def interrupted_unless(f: Function, good: str) -> None:
    """Leaves a run whose callback was interrupted, unless `good` (an ``i1``)."""
    leave, go = f.label("interrupted"), f.label("go")
    f.out(f"  br i1 {good}, label %{go}, label %{leave}{f.module.LIKELY}")
    before, out = f.block, f.out
    f.block, f.out = leave, f.cold.append
    f.out(f"{leave}:")
    effects.leave(f, str(INTERRUPTED))
    f.block, f.out = before, out
    f.start(go)


__all__ = ["interrupted_unless", "look", "look_now", "strip"]
