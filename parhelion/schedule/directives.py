"""The schedule as data: what each stage's directives add up to.

`FuncSchedule` belongs to a Function (where it is stored and computed, the layout of
its storage); `StageSchedule` to each of its definitions (the loop nest). `lang`
changes them through the methods of `schedule.stage`, which check legality; lowering
only reads them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir.changes import Changing
from parhelion.ir.expr import Expr, Var
from parhelion.ir.loop_id import PartitionChoice
from parhelion.ir.names import user_var
from parhelion.ir.stmt import ForKind, MemoryKind

if TYPE_CHECKING:
    from parhelion.ir.function import Function
    from parhelion.ir.symbols import BufferSym


#: The loop around all loops of a stage, ``hl.Var.outermost()``: it runs once.
OUTERMOST: Var = user_var("__outermost")


class MemoryType(enum.Enum):
    """In which memory the storage of a Func is (`Func.store_in`).

    A CPU has Auto (the stack if the storage is small, else the heap), Heap, Stack and
    Register; the others are memories of GPUs and other devices.
    """

    Auto = "auto"
    Heap = "heap"
    Stack = "stack"
    Register = "register"
    GPUShared = "gpu_shared"
    GPUTexture = "gpu_texture"
    LockedCache = "locked_cache"
    VTCM = "vtcm"
    AMXTile = "amx_tile"


class DeviceAPI(enum.Enum):
    """Where loops or foreign code run."""

    Default_GPU = -1
    Host = 1
    None_ = 0
    CUDA = 2


class TailStrategy(enum.Enum):
    """What a split does where the factor does not divide the extent, so that the
    last run of the inner loop would go beyond the end.

    RoundUp: goes beyond the end; inputs and outputs must be that large.
    ShiftInwards: starts the last run earlier, and computes some points twice.
    GuardWithIf: puts an ``if`` around what is computed, or masks vectors.
    Predicate: masks loads and stores of vectors.
    PredicateLoads: masks loads; the Func's storage is rounded up.
    PredicateStores: masks stores; what is read is rounded up.
    ShiftInwardsAndBlend: starts the last run earlier, and writes back what was there.
    RoundUpAndBlend: goes beyond the end, and writes back what was there.
    Auto: ShiftInwards in pure definitions, GuardWithIf in updates; RoundUp for the
        outer loop of a ShiftInwards split, if the factor is no larger than that one's.
    """

    RoundUp = "round_up"
    GuardWithIf = "guard_with_if"
    Predicate = "predicate"
    PredicateLoads = "predicate_loads"
    PredicateStores = "predicate_stores"
    ShiftInwards = "shift_inwards"
    ShiftInwardsAndBlend = "shift_inwards_and_blend"
    RoundUpAndBlend = "round_up_and_blend"
    Auto = "auto"


@dataclass(frozen=True, slots=True)
class Split:
    """``old`` becomes ``outer * factor + inner``.

    `tail` is never Auto here; `auto` tells that the user left it to us, so that code
    for outputs smaller than the factor may guard the tail instead of shifting it.
    directive: what the user called, `split`, `tile`, `parallel`, ….
    """

    old: Var
    outer: Var
    inner: Var
    factor: Expr
    tail: TailStrategy
    site: Site | None = None
    auto: bool = False
    directive: str = "split"


@dataclass(frozen=True, slots=True)
class Fuse:
    """``inner`` and ``outer`` become one loop ``fused``, inner fastest."""

    inner: Var
    outer: Var
    fused: Var
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Rename:
    old: Var
    new: Var
    site: Site | None = None


class DimType(enum.Enum):
    """Whether the iterations of a loop may change their order.

    PURE_VAR: a dimension of the Func. PURE_RVAR: a reduction variable whose
    iterations are independent. IMPURE_RVAR: one whose order matters.
    """

    PURE_VAR = "pure var"
    PURE_RVAR = "pure rvar"
    IMPURE_RVAR = "impure rvar"


@dataclass(frozen=True, slots=True)
class Dim:
    """One loop of a stage. `var` is the user's Var or RVar (interned by name)."""

    var: Var
    kind: ForKind
    type: DimType


@dataclass(frozen=True, slots=True)
class Specialization:
    """Another schedule of a definition, for where `condition` holds; without a
    schedule, the run fails there with `message`."""

    condition: Expr
    schedule: StageSchedule | None
    message: str = ""
    site: Site | None = None


class PrefetchBoundStrategy(enum.Enum):
    """What a prefetch does with what lies outside of the Func or image.

    Clamp: fetches the part that is inside. GuardWithIf: fetches only what is inside as
    a whole. NonFaulting: fetches all of it; addresses that do not exist do no harm.
    """

    Clamp = 0
    GuardWithIf = 1
    NonFaulting = 2


@dataclass(frozen=True, slots=True)
class PrefetchAhead:
    """In each iteration of the loop `at`, a hint for what it needs of `source` when the
    loop `start` is `offset` iterations further on."""

    source: Function | BufferSym
    at: Var
    start: Var
    offset: Expr
    strategy: PrefetchBoundStrategy
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """A number of a directive whose loops `rfactor` has made the dimensions of RDoms:
    what it is (``factor``) of which loop, what it is given as, and what it may be."""

    directive: str
    what: str
    given: Expr | None
    of: Var
    value: Expr
    least: int
    most: int
    site: Site | None = None


class LoopAlignStrategy(enum.Enum):
    """Which iterations of two stages meet in a loop that they share (compute_with):
    the first of both, the last of both, or (NoAlign, Auto) those of the same number."""

    AlignStart = 0
    AlignEnd = 1
    NoAlign = 2
    Auto = 3


@dataclass(frozen=True, slots=True)
class FusedWith:
    """A stage shares the loops of stage number `stage` of `func` down to `var`, aligned
    as `each` says of a loop, else as `align` does."""

    func: Function
    stage: int
    var: Var
    align: LoopAlignStrategy
    each: tuple[tuple[Var, LoopAlignStrategy], ...]
    site: Site | None = None


@dataclass(slots=True)
class StageSchedule(Changing):
    """The loop nest of one definition.

    transforms: splits, fuses and renames in the order given.
    dims: the loops, innermost first.
    touched: whether the user gave it any directive.
    keeps_order: whether `atomic` was given to a running sum, whose iterations follow
    each other: its loops are vectorized at most.
    sites: where each loop was last marked parallel, vectorized, …; race_site and
    reorder_site, the lines that say so.
    partitions: what the user said of partitioning loops.
    generated: how many loops it has named itself (v0, v1, …).
    specializations: other schedules, tried in order before this one.
    fused_with: the stage whose loops this one shares.
    spent: numbers of the splits and fuses that `rfactor` took from the stage.
    single_thread: whether all loops run in a kernel of one thread.
    cuda: the loops that were given to a GPU by the name DeviceAPI.CUDA.
    """

    transforms: tuple[Split | Fuse | Rename, ...] = ()
    dims: tuple[Dim, ...] = ()
    allow_race_conditions: bool = False
    race_site: Site | None = None
    atomic: bool = False
    atomic_site: Site | None = None
    keeps_order: bool = False
    touched: bool = False
    sites: Mapping[Var, Site | None] = field(default_factory=dict)
    reorder_site: Site | None = None
    partitions: Mapping[Var, PartitionChoice] = field(default_factory=dict)
    generated: int = 0
    specializations: tuple[Specialization, ...] = ()
    prefetches: tuple[PrefetchAhead, ...] = ()
    fused_with: FusedWith | None = None
    spent: tuple[Spent, ...] = ()
    single_thread: bool = False
    cuda: tuple[Var, ...] = ()


class Place(enum.Enum):
    INLINED = "inlined"
    ROOT = "root"
    LOOP = "loop"
    DEMAND = "demand"


@dataclass(frozen=True, slots=True)
class LoopLevel:
    """Where a Func is computed or stored: inlined, at root, inside a loop; it may also
    be computed where a value of it is first needed.

    stage: index of the definition of `func` whose loop is meant (0 is pure; -1, the
    default, every one that needs the Func and has the loop).
    """

    place: Place
    func: Function | None = None
    var: Var | None = None
    stage: int = -1
    site: Site | None = None


INLINED = LoopLevel(Place.INLINED)
ROOT = LoopLevel(Place.ROOT)


@dataclass(frozen=True, slots=True)
class Bound:
    """What `bound`, `bound_extent`, `align_bounds`, `align_extent` promise of a
    dimension: a region (min may be None), or an alignment (modulus, remainder)."""

    var: Var
    min: Expr | None
    extent: Expr | None
    modulus: int | None = None
    remainder: int | None = None
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Instead:
    """What a Func reads in place of another Func or an image: a wrapper or a clone."""

    func: Function
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class StorageDim:
    """What `fold_storage`, `align_storage` and `bound_storage` say of the storage of
    one dimension; None where nothing is said. The sites are the user's lines.

    fold: how many coordinates are kept; the next one takes the place of the first
    (of the last, if not `forward`). align: what the extent is rounded up to a multiple
    of. bound: the extent, whatever is needed.
    """

    fold: Expr | None = None
    forward: bool = True
    fold_site: Site | None = None
    align: int | None = None
    align_site: Site | None = None
    bound: Expr | None = None
    bound_site: Site | None = None


@dataclass(frozen=True, slots=True)
class Memo:
    """Results are kept; `eviction` is the number by which they can be dropped."""

    eviction: Expr | None
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a Func is read, by its user's estimate: a fraction of its values, in
    pieces of the extents `patch`, of the first dimensions (None among them for all of a
    dimension; empty: in one piece)."""

    fraction: float
    patch: tuple[int | None, ...] = ()
    site: Site | None = None


@dataclass(slots=True)
class FuncSchedule(Changing):
    """Where a Func lives. The defaults are inline, stored innermost-first.

    store: None means the same level as `compute`.
    hoist: where the storage is allocated; None means the level of the storage itself.
    storage_order: positions of the dimensions, innermost first; order_site, the line
    that says so.
    storage: what is said of the storage of dimensions, by their position.
    memory: where the storage lives; memory_site, the line that says so.
    trace_stores, trace_loads, trace_realizations: whether each store, each load, and
    the beginning and end of storage, production and use print a line when they run.
    trace_tags: what is printed of the Func at the beginning of a run.
    instead: what this Func reads in place of Funcs and images that it mentions.
    wrapper: what all other Funcs read in place of this one.
    wraps: for a wrapper, what it hands on.
    async_: whether it is computed by a thread of its own; async_site, the line.
    ring: in how many copies of its storage the loops that `hoist` goes out of take
    turns; ring_site, the line.
    memo: whether results are kept from one run to the next.
    tile: of a Func that is computed on demand, the extents of what is computed at a
    time, of the first dimensions; None among them for all of a dimension. Empty: one
    point.
    coverage: how much of it is expected to be read, for automatic schedulers.
    """

    compute: LoopLevel = INLINED
    store: LoopLevel | None = None
    hoist: LoopLevel | None = None
    storage_order: tuple[int, ...] = ()
    order_site: Site | None = None
    storage: Mapping[int, StorageDim] = field(default_factory=dict)
    bounds: tuple[Bound, ...] = ()
    estimates: tuple[Bound, ...] = ()
    memory: MemoryKind = MemoryKind.AUTO
    memory_site: Site | None = None
    trace_stores: bool = False
    trace_loads: bool = False
    trace_realizations: bool = False
    trace_tags: tuple[str, ...] = ()
    instead: Mapping[Function | BufferSym, Instead] = field(default_factory=dict)
    wrapper: Function | None = None
    wraps: Function | BufferSym | None = None
    async_: bool = False
    async_site: Site | None = None
    ring: Expr | None = None
    ring_site: Site | None = None
    memo: Memo | None = None
    tile: tuple[int | None, ...] = ()
    coverage: Coverage | None = None

    @property
    def traced(self) -> bool:
        """Whether the user asked for lines about the Func."""
        return self.trace_stores or self.trace_loads or self.trace_realizations

    @property
    def store_level(self) -> LoopLevel:
        """Where the storage begins. A LoopLevel left at `inlined` says nothing."""
        if self.store is None or self.store.place is Place.INLINED:
            return ROOT if self.compute.place is Place.DEMAND else self.compute
        return self.store

    @property
    def on_demand(self) -> bool:
        """Whether values are computed where they are first needed."""
        return self.compute.place is Place.DEMAND

    @property
    def hoist_level(self) -> LoopLevel:
        """Where the storage is allocated."""
        if self.hoist is None or self.hoist.place is Place.INLINED:
            return self.store_level
        return self.hoist
