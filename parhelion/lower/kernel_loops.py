"""The loops of a kernel: those over blocks, those over threads, and how they nest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.ir.stmt import Assert, Block, For, ForKind, LetStmt, Stmt
from parhelion.lower.kernel_refusals import block_inside
from parhelion.lower.unroll import refused

#: Dimensions of blocks in a grid, and of threads in a block.
MOST_DIMENSIONS = 3

THREADS = (ForKind.GPU_THREAD, ForKind.GPU_LANE)


def has_threads(s: Stmt) -> bool:
    """Whether loops over threads are in a statement."""
    if isinstance(s, For) and s.kind in THREADS:
        return True
    return any([has_threads(c) for c in s.children() if isinstance(c, Stmt)])


def has_checks(s: Stmt) -> bool:
    """Whether a check is in a statement, in loops that a block's threads may go through
    together."""
    if isinstance(s, For) and s.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
        return False
    if isinstance(s, Assert):
        return True
    return any([has_checks(c) for c in s.children() if isinstance(c, Stmt)])


def block_loops(kernel: For) -> tuple[list[For], Stmt]:
    """The loops over blocks of a kernel in its normal form, outermost first, and what a
    block does."""
    loops = [kernel]
    while isinstance(loops[-1].body, For) and loops[-1].body.kind is ForKind.GPU_BLOCK:
        loops.append(loops[-1].body)
    return loops, loops[-1].body


def nest_of(leaf: Stmt) -> tuple[list[For], Stmt]:
    """The loops over threads of a leaf, outermost first, and what one thread does."""
    loops: list[For] = []
    while isinstance(leaf, For) and leaf.kind in THREADS:
        loops.append(leaf)
        leaf = leaf.body
    return loops, leaf


def leaves(s: Stmt) -> Iterator[Stmt]:
    """The nests of threads at block level."""
    if isinstance(s, For) and s.kind in THREADS:
        yield s
        return
    for c in s.children():
        if isinstance(c, Stmt):
            yield from leaves(c)


def outer_loops(kernel: For) -> tuple[list[For], list[LetStmt], Stmt]:
    """The loops over blocks, outermost first; the lets between them, which go inwards;
    and what is inside of all."""
    loops: list[For] = []
    lets: list[LetStmt] = []
    known: dict[Var, Expr] = {}
    bound: set[Var] = set()
    s: Stmt = kernel
    while True:
        inner: Stmt = s
        between: list[LetStmt] = []
        if isinstance(inner, Block):
            head = inner.items[:-1]
            if all([isinstance(i, LetStmt) for i in head]):
                between = [i for i in head if isinstance(i, LetStmt)]
                inner = inner.items[-1]
        if not isinstance(inner, For) or inner.kind is not ForKind.GPU_BLOCK:
            break
        for let in between:
            known[let.var] = substitute(let.value, known)
        lets += between
        low, extent = substitute(inner.min, known), substitute(inner.extent, known)
        if not bound.isdisjoint(free_vars(low) | free_vars(extent)):
            raise refused(
                inner,
                "is over blocks and depends on another such loop, but a grid of blocks"
                " is a box",
                "make it serial, or bound its extent",
            )
        bound.add(inner.var)
        loops.append(For(inner.var, low, extent, inner.kind, inner.body))
        s = inner.body
    if len(loops) > MOST_DIMENSIONS:
        raise refused(
            loops[MOST_DIMENSIONS],
            f"is inside of {MOST_DIMENSIONS} others over blocks, which are all"
            " dimensions that a grid has",
            "make it serial, or fuse two of them",
        )
    return loops, lets, s


def depths(s: Stmt, around: list[For]) -> Iterable[list[For]]:
    """The loops over threads around each innermost one. Raises ScheduleError for a loop
    over blocks."""
    if isinstance(s, For) and s.kind is ForKind.GPU_BLOCK:
        raise block_inside(s)
    if isinstance(s, For) and s.kind in THREADS:
        if around and around[-1].kind is ForKind.GPU_LANE:
            raise refused(
                s,
                "is over threads and inside of one over the lanes of a warp, which is"
                " the innermost",
                "reorder them",
            )
        around = [*around, s]
        yield around
    for c in s.children():
        if isinstance(c, Stmt):
            yield from depths(c, around)


def thread_counts(body: Stmt) -> list[int | None]:
    """The number of threads along each dimension, outermost first; None where it is not
    constant."""
    found: list[int | None] = []
    stack = [body]
    while stack:
        s = stack.pop()
        if isinstance(s, For) and s.kind in THREADS:
            extents = [const_int(loop.extent) for loop in nest_of(s)[0]]
            if not found:
                found = [1] * len(extents)
            found = [
                None if a is None or b is None else max(a, b)
                for a, b in zip(found, extents, strict=True)
            ]
        else:
            stack += [c for c in s.children() if isinstance(c, Stmt)]
    return found


def loop_vars(s: Stmt) -> set[Var]:
    """The variables of all loops in a statement."""
    found: set[Var] = set()
    stack = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, For):
            found.add(n.var)
        stack += [c for c in n.children() if isinstance(c, Stmt)]
    return found


__all__ = [
    "MOST_DIMENSIONS",
    "THREADS",
    "block_loops",
    "depths",
    "has_checks",
    "has_threads",
    "leaves",
    "loop_vars",
    "nest_of",
    "outer_loops",
    "thread_counts",
]
