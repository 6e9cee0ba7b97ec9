"""The statements of the intermediate representation.

A `Block` is a flat tuple. `LetStmt` and `Allocate` are items of a block that scope
over the rest of it, so nesting stays shallow however many of them there are.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from parhelion.ir.expr import Expr, Var
from parhelion.ir.node import Node, node
from parhelion.types import Type

if TYPE_CHECKING:
    from parhelion.ir.function import Function
    from parhelion.ir.symbols import BufferSym


class Stmt(Node):
    __slots__ = ()


class ForKind(enum.Enum):
    """How the iterations of a loop run. Those of ON_DEMAND, which stand in an
    `OnDemand`, run one by one where a `Demand` asks for one."""

    SERIAL = "for"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    GPU_BLOCK = "gpu_block"
    GPU_THREAD = "gpu_thread"
    GPU_LANE = "gpu_lane"
    ON_DEMAND = "on_demand"

    @property
    def on_gpu(self) -> bool:
        return self in (ForKind.GPU_BLOCK, ForKind.GPU_THREAD, ForKind.GPU_LANE)

    @property
    def concurrent(self) -> bool:
        """Whether iterations may run at the same time."""
        return self.on_gpu or self in (ForKind.PARALLEL, ForKind.VECTORIZED)

    @property
    def threaded(self) -> bool:
        """Whether iterations run on threads that take no turns."""
        return self.on_gpu or self is ForKind.PARALLEL


class MemoryKind(enum.Enum):
    """Where an `Allocate` lives. AUTO becomes STACK or HEAP in code generation;
    REGISTER, a wish of the schedule, is STACK of a constant size, which LLVM turns into
    registers where all its indices are constant. SPARSE is a HEAP of which little may
    be used. CACHE is given by the cache of memoized Funcs; the condition then says
    where (`memo_storage`). SHARED belongs to a block of a kernel's threads; REGISTER
    where these use it together holds elements of each thread alone (`lower.registers`).
    DEVICE is what kernels use that is stored outside of them: memory of the device, and
    main memory as well for MIRRORED, which the host's code uses, too. CACHE_MIRRORED
    has its main memory from that cache. TEXTURE, a wish of the schedule, is a HEAP that
    kernels read as a texture (`lower.textures`)."""

    AUTO = "auto"
    STACK = "stack"
    HEAP = "heap"
    SPARSE = "sparse"
    REGISTER = "register"
    CACHE = "cache"
    SHARED = "shared"
    TEXTURE = "texture"
    DEVICE = "device"
    MIRRORED = "mirrored"
    CACHE_MIRRORED = "mirrored cache"


#: The kinds of memory that the run time is asked for.
HEAPS = (MemoryKind.HEAP, MemoryKind.SPARSE)


@node
class Block(Stmt):
    """Statements in order. Never holds a Block without an `Allocate` of its own
    (`build.block` lays others flat), and never just one statement."""

    items: tuple[Stmt, ...]


@node
class LetStmt(Stmt):
    """Names a value for the rest of the enclosing block. ``var.value is value`` is
    usual but not required after rewriting."""

    var: Var
    value: Expr


@node
class Allocate(Stmt):
    """Storage for the rest of the enclosing block, in elements of `buffer.type`.

    The size is the product of `extents` (a constant one may live on the stack) plus
    `padding` elements that may be read but hold nothing.
    """

    buffer: BufferSym
    extents: tuple[Expr, ...]
    condition: Expr
    kind: MemoryKind
    padding: int


@node
class Free(Stmt):
    """Ends an allocation before its block does."""

    buffer: BufferSym


@node
class For(Stmt):
    """`body` for `var` from `min` to ``min + extent - 1``."""

    var: Var
    min: Expr
    extent: Expr
    kind: ForKind
    body: Stmt


@node
class If(Stmt):
    cond: Expr
    then: Stmt
    otherwise: Stmt | None


@node
class Store(Stmt):
    """Writes `value` to a flat buffer at `index` (in elements), lane by lane in
    order; lanes where `predicate` is false are not touched."""

    buffer: BufferSym
    value: Expr
    index: Expr
    predicate: Expr | None


@node
class Provide(Stmt):
    """Sets all values of a Func at one point. Gone after flattening.

    All `values` are evaluated before any is stored.
    """

    func: Function
    values: tuple[Expr, ...]
    args: tuple[Expr, ...]
    predicate: Expr | None


@node
class ProvideExtern(Stmt):
    """Foreign code sets all values of `func` over a region. Gone after flattening.

    bounds: (min, extent) of the region; at: the place of its first point. scalars:
    the arguments that are numbers. sources: a call of each Func value or image that
    the code is given, at the first point of what it may read; boxes: (min, extent) of
    that region, of all sources in turn. A place is not the point itself in storage
    that is allocated further out (`lower.relocate`).
    """

    func: Function
    bounds: tuple[tuple[Expr, Expr], ...]
    at: tuple[Expr, ...]
    scalars: tuple[Expr, ...]
    sources: tuple[Expr, ...]
    boxes: tuple[tuple[Expr, Expr], ...]


@node
class RunExtern(Stmt):
    """Calls the foreign code that computes `func`, on flat buffers.

    For each of `inputs` and then `outputs`, `places` has the index of the first element
    and `shapes` min, extent and stride of each dimension.
    """

    func: Function
    scalars: tuple[Expr, ...]
    inputs: tuple[BufferSym, ...]
    outputs: tuple[BufferSym, ...]
    places: tuple[Expr, ...]
    shapes: tuple[Expr, ...]


@node
class Realize(Stmt):
    """Storage for `func` over `bounds` (min, extent) pairs during `body`."""

    func: Function
    bounds: tuple[tuple[Expr, Expr], ...]
    condition: Expr
    body: Stmt


@node
class Produce(Stmt):
    """Marks `body` as what computes `func` (or, if not `producing`, consumes it)."""

    func: Function
    producing: bool
    body: Stmt


@node
class Atomic(Stmt):
    """Marks `body` as an update of one place of `func` (of each lane's place, once it
    is vectorised) that happens as a whole: no other iteration of the loops around it
    sees the place half-way.

    shared: whether iterations run in other threads meanwhile. locked: whether the
    update is more than one machine word can be exchanged for, so that it needs a lock.
    """

    func: Function
    shared: bool
    locked: bool
    body: Stmt


@node
class Fork(Stmt):
    """Both statements at once, until both have finished: the production of `func`,
    and what uses it."""

    func: Function
    first: Stmt
    second: Stmt


@node
class Acquire(Stmt):
    """Waits until `semaphore`, an int32 in memory, is at least `count`, and lowers it
    by that. What is read of `func` (once flat, of `buffers`) comes after."""

    semaphore: BufferSym
    count: Expr
    func: Function
    buffers: tuple[BufferSym, ...]


@node
class Release(Stmt):
    """Raises `semaphore` by `count`. What is stored before can be seen by those who
    then get through."""

    semaphore: BufferSym
    count: Expr
    func: Function


@node
class OnDemand(Stmt):
    """Within `body`, each `Demand` of `thunk` may have a part of `func` computed.

    makes: what computes a part: two ON_DEMAND loops, the second one inside the first,
    over the row and the column of the part. Nothing of it runs where it stands. There
    is one for each of `lanes`, all for the same parts: the one for n lanes computes n
    parts side by side, from the column on, and the next n as often as it is told.
    claims: whether a part is computed once, by the thread that asks for it first.
    rank: more than that of all that asks for parts of `func`, so that threads that wait
    for each other never do so in a circle.
    """

    func: Function
    thunk: BufferSym
    makes: tuple[Stmt, ...]
    lanes: tuple[int, ...]
    claims: bool
    rank: int
    body: Stmt


@node
class Demand(Stmt):
    """Has the part of a Func at (row, col) computed, unless its entry in `table`, at
    `index`, is `MADE`.

    The table is a Func with coordinates until it is flattened. Of vectors, it does so
    for each lane where `predicate` holds, if there is one. reads: how many reads of
    the Func it stands for, in each lane; 0 of those that ask for a box of parts.
    waits: whether it waits for a part that another thread computes. Else that part may
    be missing after it.
    """

    thunk: BufferSym
    row: Expr
    col: Expr
    table: Function | BufferSym
    index: tuple[Expr, ...]
    predicate: Expr | None
    reads: int
    waits: bool


#: What the table says of a part of a Func that is computed.
MADE = 2


@node
class Barrier(Stmt):
    """All threads of a block wait here until all have come; what they have stored
    before can be seen by all after it. It stands at block level (see
    `lower.kernels`)."""


@node
class Sync(Stmt):
    """Precedes the use of a buffer that has a copy on the device and one in main
    memory.

    device: which of the copies is used. reads: whether it must hold what was stored
    last, on either side. writes: whether it is the newest from then on.
    """

    buffer: BufferSym
    device: bool
    reads: bool
    writes: bool


@node
class Evaluate(Stmt):
    """Evaluates an expression for its effect (print, …)."""

    value: Expr


@node
class Prefetch(Stmt):
    """A hint: `elements` of `buffer` from `index` on will soon be read, or written.

    It computes nothing and never fails, wherever the index points.
    """

    buffer: BufferSym
    index: Expr
    elements: Expr
    writes: bool


@node
class PrefetchRegion(Stmt):
    """A hint: what lies in `bounds` (min, extent) of a Func or an image will soon be
    read. It becomes `Prefetch`es of rows in flattening."""

    source: Function | BufferSym
    bounds: tuple[tuple[Expr, Expr], ...]


@node
class Assert(Stmt):
    """Leaves the pipeline with error `code` unless `cond` holds.

    `code` names a template of `ir.failures.FAILURES`; `args` are its numbers and
    strings.
    """

    cond: Expr
    code: str
    args: tuple[Expr, ...]


NOP = Block(())


def keeps_books(s: Stmt) -> bool:
    """Whether all that loops do is to ask for parts on demand, or to empty a table of
    them, which has no definition."""
    if isinstance(s, Block):
        return all(map(keeps_books, s.items))
    if isinstance(s, For):
        return keeps_books(s.body)
    if isinstance(s, If):
        return keeps_books(s.then) and (s.otherwise is None or keeps_books(s.otherwise))
    if isinstance(s, Provide):
        return not s.func.defined
    return isinstance(s, Demand | LetStmt)


__all__ = [
    "NOP",
    "Acquire",
    "Allocate",
    "Assert",
    "Atomic",
    "Barrier",
    "Block",
    "Demand",
    "Evaluate",
    "For",
    "ForKind",
    "Fork",
    "Free",
    "If",
    "LetStmt",
    "MADE",
    "HEAPS",
    "MemoryKind",
    "OnDemand",
    "Prefetch",
    "PrefetchRegion",
    "Produce",
    "Provide",
    "ProvideExtern",
    "Realize",
    "RunExtern",
    "Release",
    "Stmt",
    "keeps_books",
    "Store",
    "Sync",
    "Type",
]
