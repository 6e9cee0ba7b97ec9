"""How large a kernel is: the blocks of its grid, and the threads of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from parhelion.errors import InternalError, ScheduleError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.lower.extents import most_of
from parhelion.lower.kernel_loops import nest_of

#: The dimensions of threads and blocks, innermost first.
DIMENSIONS = "xyz"
#: Threads that a block may have along each of them, and blocks of a grid (CUDA C++
#: Programming Guide, "Technical Specifications per Compute Capability").
MOST_THREADS = (1024, 1024, 64)
MOST_BLOCKS = ((1 << 31) - 1, 65535, 65535)


def threads_of(body: Stmt, blocks: Sequence[S.For], func: str) -> tuple[Expr, ...]:
    """How many threads a block has along each dimension, for the host: the most that a
    nest has."""
    nests: list[S.For] = []
    lets: dict[Var, Expr] = {}
    inner: set[Var] = {loop.var for loop in blocks}
    stack: list[Stmt] = [body]
    while stack:
        s = stack.pop()
        if isinstance(s, S.LetStmt):
            lets[s.var] = s.value
        elif isinstance(s, S.For):
            if s.kind is not ForKind.SERIAL:
                nests.append(s)
                continue
            inner.add(s.var)
        stack.extend([c for c in reversed(s.children()) if isinstance(c, Stmt)])
    if not nests:
        raise InternalError(f"the kernel of {func} has no threads")
    dimensions = {len(nest_of(nest)[0]) for nest in nests}
    if len(dimensions) != 1:
        raise InternalError(f"nests of {sorted(dimensions)} loops in the kernel {func}")
    counts: list[Expr | None] = [None] * dimensions.pop()
    for nest in nests:
        loops = nest_of(nest)[0]
        for d, loop in enumerate(reversed(loops)):
            more = _extent(loop, lets, inner, func)
            known = counts[d]
            counts[d] = more if known is None else _larger(known, more)
    made = [c for c in counts if c is not None]
    for d, count in enumerate(made):
        known_count = build.const_int(count)
        if known_count is not None and known_count > MOST_THREADS[d]:
            raise ScheduleError(
                f"the kernel of {func} has {known_count} threads along"
                f" {DIMENSIONS[d]}, and a block has at most {MOST_THREADS[d]} there"
            )
    return tuple(made)


def _larger(a: Expr, b: Expr) -> Expr:
    return a if a is b else build.maximum(a, b)


def _extent(loop: S.For, lets: dict[Var, Expr], inner: set[Var], func: str) -> Expr:
    """How many iterations a loop over threads has, or at most has where that depends on
    the block."""
    extent = opened(loop.extent, lets)
    if of_the_host(extent, inner):
        return extent
    most = most_of(extent)
    if most is None:
        raise ScheduleError(
            f"how many threads the kernel of {func} has depends on the block, and no"
            f" constant bounds it: {extent!r}",
            hint="split the loop by a constant factor, and give the inner loop to the"
            " threads",
        )
    return build.int32(max(most, 0))


def opened(e: Expr, lets: Mapping[Var, Expr]) -> Expr:
    """An expression without the names that `lets` gives values."""
    while True:
        found = {v: lets[v] for v in free_vars(e) if v in lets}
        if not found:
            return e
        e = substitute(e, found)


def of_the_host(e: Expr, inner: Set[Var]) -> bool:
    """Whether the host can compute an expression before a kernel runs. inner: what the
    loops of the kernel bind."""
    if any(isinstance(n, E.Load) for n in nodes(e)):
        return False
    return inner.isdisjoint(free_vars(e))


__all__ = [
    "DIMENSIONS",
    "MOST_BLOCKS",
    "MOST_THREADS",
    "of_the_host",
    "opened",
    "threads_of",
]
