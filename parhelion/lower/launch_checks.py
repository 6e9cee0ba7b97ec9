"""Checks of how large kernels become: what no GPU launches is an error before anything
runs, where the sizes can be known then, and else before the launch.

A grid has at most 65,535 blocks along y and z (along x an int32 counts no more than
there may be), a block 1,024 threads, 64 of them along z.
"""

from __future__ import annotations

from parhelion.analysis.rank import reads_data
from parhelion.ir.build import block, const_int, int32, le, mul
from parhelion.ir.device import Device
from parhelion.ir.expr import Expr, StringImm, Var
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import (
    Assert,
    Block,
    For,
    ForKind,
    If,
    LetStmt,
    Produce,
    Stmt,
)
from parhelion.lower.extents import most_of
from parhelion.lower.kernel_loops import block_loops
from parhelion.lower.kernel_names import computed
from parhelion.lower.launch_sizes import (
    DIMENSIONS,
    MOST_BLOCKS,
    MOST_THREADS,
    threads_of,
)
from parhelion.types import Handle


def check_launches(s: Stmt, device: Device | None) -> Stmt:
    """Adds checks of the grids and blocks of all kernels, which have their normal form.

    Raises ScheduleError for a kernel whose number of threads depends on the block and
    is not bounded.
    """
    return s if device is None else _Launches(device).whole(s)


class _Launches:
    """Puts the checks of a kernel as far before it as the names in them allow, but into
    the loops and branches that it is in: these may not run."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def whole(self, s: Stmt) -> Stmt:
        """A statement with all of its checks in it."""
        checks, made = self.go(s)
        return block(*checks, made) if checks else made

    def go(self, s: Stmt) -> tuple[list[Assert], Stmt]:
        """The checks that are to go before a statement, and what it becomes."""
        if isinstance(s, For) and s.kind is ForKind.GPU_BLOCK:
            checks = _checks(s, self.device)
            here = [c for c in checks if reads_data(c.cond)]
            ahead = [c for c in checks if c not in here]
            return ahead, block(*here, s) if here else s
        if isinstance(s, For):
            return [], For(s.var, s.min, s.extent, s.kind, self.whole(s.body))
        if isinstance(s, If):
            other = None if s.otherwise is None else self.whole(s.otherwise)
            return [], If(s.cond, self.whole(s.then), other)
        if isinstance(s, Produce):
            checks, body = self.go(s.body)
            return checks, Produce(s.func, s.producing, body)
        if isinstance(s, Block):
            return self.items(s)
        return [], s.map(lambda c: c if isinstance(c, Expr) else self.whole(c))

    def items(self, s: Block) -> tuple[list[Assert], Stmt]:
        """Checks go behind the names that they use, and behind those that the program
        begins with."""
        first = 0
        while first < len(s.items) and isinstance(s.items[first], Assert | LetStmt):
            first += 1
        out: list[Stmt] = []
        pending: list[Assert] = []
        for i in reversed(range(len(s.items))):
            item = s.items[i]
            if isinstance(item, LetStmt):
                bound = [c for c in pending if item.var in _names(c)]
                out = [item, *bound, *out]
                pending = [c for c in pending if c not in bound]
                continue
            if i < first:
                out = [item, *pending, *out]
                pending = []
                continue
            checks, made = self.go(item)
            pending = [*checks, *pending]
            out = [made, *out]
        return pending, Block(tuple(out))


def _names(c: Assert) -> set[Var]:
    return set().union(*[free_vars(e) for e in (c.cond, *c.args)])


def _checks(kernel: For, device: Device) -> list[Assert]:
    func = computed(kernel)
    name = StringImm(Handle(), func)
    blocks, body = block_loops(kernel)
    out: list[Assert] = []
    for d, loop in enumerate(reversed(blocks)):
        out += _bounded(
            loop.extent,
            MOST_BLOCKS[d],
            "grid_too_large",
            (name, loop.extent, StringImm(Handle(), DIMENSIONS[d])),
        )
    threads = threads_of(body, blocks, func)
    total: Expr = int32(1)
    for d, count in enumerate(threads):
        along = (name, count, StringImm(Handle(), DIMENSIONS[d]))
        code = "block_too_long"
        out += _bounded(count, MOST_THREADS[d], code, along)
        total = mul(total, count)
    if const_int(total) is None:
        out += _bounded(total, device.threads, "block_too_large", (name, total))
    return out


def _bounded(size: Expr, most: int, code: str, args: tuple[Expr, ...]) -> list[Assert]:
    known = most_of(size)
    if known is not None and known <= most:
        return []
    return [Assert(le(size, int32(most)), code, (*args, int32(most)))]


__all__ = ["check_launches"]
