"""What of the storage meant for the stack fits there.

Each parallel loop's body, and each side of a fork, becomes a function with a frame of
its own. A thread that waits for the iterations of a loop runs those of loops nested
deeper, so that one frame of each depth may be on its stack at once. `fit_frames` keeps
what `store_in` puts there within one thread's share, and every frame within its own;
what does not fit goes to the heap. So does what Python functions are lent: who keeps an
array of it beyond the call may read it after the thread has ended (`runtime.pins`).
"""

from __future__ import annotations

from collections.abc import Iterator

from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import (
    Allocate,
    For,
    Fork,
    ForKind,
    MemoryKind,
    RunExtern,
    Stmt,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.allocate import (
    MOST_IN_FRAME,
    MOST_WISHED_ON_STACK,
    constant_bytes,
    refuse_wish,
)

#: The stack allocations of one function, one entry for each that runs.
_Frame = list[Allocate]


def fit_frames(s: Stmt) -> Stmt:
    """Puts on the heap what does not fit on the stack.

    Storage that `store_in` puts on the stack is fitted first, in the order of the
    program; a warning names what does not fit. Raises ScheduleError for registers.
    """
    frames = list(_frames(s, 0))
    lent = _lent(s)
    out = {a for _, frame in frames for a in frame if a.buffer in lent}
    depths = [0] * (1 + max([depth for depth, _ in frames]))
    for depth, frame in frames:
        used = 0
        wished = [a for a in frame if _is_wished(a)]
        for a in wished:
            size = _bytes(a)
            # The largest frame of each depth, at once.
            more = max(used + size - depths[depth], 0)
            if a in out or sum(depths) + more > MOST_WISHED_ON_STACK:
                out.add(a)
            else:
                used += size
                depths[depth] += more
        for a in frame:
            if a not in out and a not in wished:
                if used + _bytes(a) > MOST_IN_FRAME:
                    out.add(a)
                else:
                    used += _bytes(a)
    refused = [a.buffer for a in out if _is_wished(a)]
    for f, buffer in {b.func: b for b in refused}.items():
        assert f is not None
        why = (
            "with all else that is on the stack of a thread at that time, the storage"
            f" of {f.label} takes more than {MOST_WISHED_ON_STACK} bytes"
        )
        if buffer in lent:
            why = f"the storage of {f.label} is lent to a Python function"
        refuse_wish(f, why)
    return _ToHeap(out).go(s) if out else s


def _frames(s: Stmt, depth: int) -> Iterator[tuple[int, _Frame]]:
    """The frames of `s`, itself first, and in how many others each of them is."""
    frame: _Frame = []
    inside: list[Stmt] = []
    stack = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, Allocate) and n.kind is MemoryKind.STACK:
            frame.append(n)
        if isinstance(n, Fork):
            inside += [n.first, n.second]
        elif isinstance(n, For) and n.kind is ForKind.PARALLEL:
            inside.append(n.body)
        else:
            stack += reversed([c for c in n.children() if isinstance(c, Stmt)])
    yield depth, frame
    for body in inside:
        yield from _frames(body, depth + 1)


def _lent(s: Stmt) -> set[BufferSym]:
    """The buffers of which Python functions are given arrays."""
    found: set[BufferSym] = set()
    stack = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, RunExtern):
            code = n.func.extern
            if code is not None and code.packed:
                found.update((*n.inputs, *n.outputs))
        stack += [c for c in n.children() if isinstance(c, Stmt)]
    return found


def _is_wished(a: Allocate) -> bool:
    f = a.buffer.func
    return f is not None and f.schedule.memory in (
        MemoryKind.STACK,
        MemoryKind.REGISTER,
    )


def _bytes(a: Allocate) -> int:
    """The size of storage on the stack, in whole cache lines."""
    size = constant_bytes(a.buffer.type, a.extents, a.padding)
    assert size is not None, "storage on the stack has a constant size"
    return (size + 63) // 64 * 64


class _ToHeap(Rewriter):
    def __init__(self, out: set[Allocate]) -> None:
        super().__init__()
        self.out = out

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_allocate(self, n: Allocate) -> Stmt:
        if n not in self.out:
            return n
        return Allocate(n.buffer, n.extents, n.condition, MemoryKind.HEAP, n.padding)


__all__ = ["fit_frames"]
