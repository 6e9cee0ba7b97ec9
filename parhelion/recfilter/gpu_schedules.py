"""How recursive filters become kernels of a GPU by default (2015 paper, section 7).

The loops over tiles are those over blocks, and the first two within tiles those over
threads; a scan is one thread's. What is computed within a tile stays in the memory that
the threads of its block share. All of it is done by directives, as on a CPU.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.device import SIMULATED
from parhelion.lang.func import Func
from parhelion.recfilter.coefficients import amplified
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.directives import FULL
from parhelion.recfilter.filters import Filter, most_growth
from parhelion.recfilter.orders import settled
from parhelion.recfilter.stages import Loop, Nest, Staged, level_of
from parhelion.recfilter.tags import Kind
from parhelion.schedule.directives import MemoryType, TailStrategy
from parhelion.schedule.gpu import MOST
from parhelion.types import Type

#: Threads of a block, unless the user says how many.
THREADS = 256
#: Points of a tile along each of one or two dimensions, and of more.
_TILE, _TILE_OF_MANY = 32, 8
#: Threads that go together, and blocks that a GPU should have to choose from.
_WARP, _BLOCKS = SIMULATED.warp, 128
#: Terms of a scan that are written out one after the other, and points of it where that
#: would be too many.
_WRITTEN_OUT, _AT_A_TIME = 512, 8
#: Slots of tails that are written out.
_SLOTS = 16


@dataclass(frozen=True, slots=True)
class OnGpu:
    """That stages are kernels. threads: the most of a block."""

    threads: int = THREADS

    def widths(
        self,
        dims: Sequence[RecFilterDim],
        filters: Sequence[Filter],
        joint: bool,
        t: Type,
    ) -> dict[int, int]:
        """The widths of the tiles in which dimensions are filtered if the user gives
        none, by their positions: those with room for some tiles, in which values do not
        grow much. joint: whether several dimensions are in the same tiles."""
        made: dict[int, int] = {}
        filtered = {f.dim for f in filters if f.order}
        width = _TILE if len(filtered) < 3 or not joint else _TILE_OF_MANY
        for k in filtered:
            mine = [f for f in filters if f.dim == k]
            extent = dims[k].extent
            if extent < 2 * width or not all([f.is_constant for f in mine]):
                continue
            if max([max(f.order, f.reach) for f in mine]) > width:
                continue
            backs = [
                g.constants()[1]
                for f in mine
                if f.order
                for g in settled(Filter(k, f.causal, (1,), f.feedback), t)
            ]
            if t.is_float():
                most = max([amplified(b, width, extent) for b in backs])
                if most > most_growth(t):
                    continue
            made[k] = width
        return made


def schedule_kernels(stages: Sequence[Staged], on_gpu: OnGpu, t: Type) -> None:
    """Schedules stages of a RecFilter as kernels: each that is computed as a whole,
    with those that are computed locally for it."""
    for one in stages:
        if _is_local(one):
            continue
        group = [other for other in stages if _is_local(other) and one in other.readers]
        leads = group[0].readers if group else [one]
        # Tails of several dimensions are in the kernel of the last of them.
        if leads[-1] is one:
            _Kernel(leads, group, on_gpu, t).schedule()


def _is_local(one: Staged) -> bool:
    """Whether a stage is computed within the kernel of the one that reads it: a line of
    an image may be too long for that."""
    return bool(one.readers) and one.stages != FULL


#: A dimension whose loop is split in two, the inner one for threads.
Part = tuple[Kind, int]


class _Kernel:
    """A kernel: the stages that are computed as a whole, `leads`, several of which
    share their loops over blocks; and those that are computed in these, `local`."""

    def __init__(
        self,
        leads: Sequence[Staged],
        local: Sequence[Staged],
        on_gpu: OnGpu,
        t: Type,
    ) -> None:
        self.leads, self.local = leads, local
        self.threads, self.type = on_gpu.threads, t
        self.parts: dict[Part, int] = {}
        #: The loop of each Func that is the innermost over threads, or blocks.
        self.inmost: dict[Func, Loop] = {}

    def schedule(self) -> None:
        inside = [nest for one in self.local for nest in one.nests]
        for n in range(len(self.leads[0].nests)):
            # Each update is a kernel of its own.
            leads = [lead.nests[n] for lead in self.leads]
            self.parts = self._parts(leads)
            for nest in leads:
                self._cut(nest)
            sizes = [[n for _, n in self._threads(nest, False)] for nest in leads]
            sizes += [[n for _, n in self._threads(nest, True)] for nest in inside]
            # A block has in each dimension as many threads as any stage.
            most = [max(n) for n in itertools.zip_longest(*sizes, fillvalue=1)]
            fused = math.prod(most) > self.threads
            for nest in leads:
                self._lead(nest, fused)
        for nest in inside:
            self._give(nest, True, fused)
        for lead in self.leads:
            lead.func.compute_root()
            _store(lead)
            for own in lead.own:
                own.compute_at(lead.func, self.inmost[lead.func].var)
        for one in self.local:
            self._keep(one)
        self._place()

    # How many threads.

    def _parts(self, leads: Sequence[Nest]) -> dict[Part, int]:
        """How many points of dimensions whose loops are over blocks are in one block,
        so that it has something to do for its threads."""
        every = [*leads, *[nest for one in self.local for nest in one.nests]]
        sizes = [_product(_inner(nest)) for nest in every]
        scans = [
            _product(_inner(nest))
            for nest in every
            if any([x.kind is Kind.SCAN and not x.idle for x in nest.loops])
        ]
        lack = -(-_WARP // min(scans)) if scans else 1
        outside = [x for x in leads[0].loops if _is_outside(x) and not x.free]
        outside.sort(key=lambda x: x.kind is Kind.OUTER)
        blocks = _product(outside)
        if not scans:
            blocks *= _BLOCKS
        made: dict[Part, int] = {}
        more = max(self.threads // max(sizes), 1)
        for loop in outside:
            n = min(max(lack, min(more, blocks // _BLOCKS)), loop.extent, self.threads)
            if loop.kind is Kind.FULL and len(outside) > 1 and not made:
                n = min(n, _WARP)
            if n < 2 and loop.kind is Kind.OUTER:
                continue
            made[loop.kind, loop.number] = n
            lack, more, blocks = -(-lack // n), more // n, blocks // n
            if len(made) == 2 or (lack < 2 and more < 2):
                break
        return made

    # Stages that are computed as a whole.

    def _cut(self, nest: Nest) -> None:
        """Splits loops over blocks that have several points in each."""
        for loop in list(nest.loops):
            n = self.parts.get((loop.kind, loop.number))
            if n is not None and _is_outside(loop) and not loop.free:
                # Each block has as many tiles: the last one begins further in.
                guard = TailStrategy.GuardWithIf
                tail = guard if nest.number else TailStrategy.ShiftInwards
                nest.split(loop, n, tail)

    def _lead(self, nest: Nest, fused: bool) -> None:
        blocks = [x for x in nest.loops if _is_outside(x) and not x.part]
        if not blocks:
            nest.stage.gpu_single_thread()
            return
        self._give(nest, False, fused)
        while len(blocks) > MOST:
            *blocks, a, b = blocks
            blocks.append(nest.fuse(a, b))
        nest.stage.gpu_blocks(*[x.var for x in blocks])

    # Threads.

    def _within(self, nest: Nest, local: bool) -> list[Loop]:
        """The loops that threads may run, those that lie side by side first. local:
        whether loops that are split outside run over a part of their points."""

        def suits(x: Loop) -> bool:
            if x.kind is Kind.INNER:
                return True
            return (x.kind, x.number) in self.parts if local else x.part

        return [x for x in nest.loops if (x.part or not x.idle) and suits(x)]

    def _threads(self, nest: Nest, local: bool) -> list[tuple[Loop, int]]:
        """The loops that threads run, and how many threads each has; the others, and
        points beyond that, are a thread's own."""
        left, made = self.threads, list[tuple[Loop, int]]()
        for loop in self._within(nest, local):
            n = self._points(loop)
            if n > left:
                # Of stages that read others, what whole parts read is computed.
                n = left if local else _divisor(n, left)
            if n > 1 and len(made) < MOST:
                made.append((loop, n))
                left //= n
        return made

    def _points(self, loop: Loop) -> int:
        """How many iterations a loop within a block has."""
        if loop.part or loop.kind is Kind.INNER:
            return loop.extent
        return self.parts[loop.kind, loop.number]

    def _give(self, nest: Nest, local: bool, fused: bool) -> None:
        """Gives loops to threads, and has what is a thread's own written out. fused:
        whether threads are counted in one dimension."""
        threads, serial = list[Loop](), list[Loop]()
        given = dict(self._threads(nest, local))
        for loop in self._within(nest, local):
            n = given.get(loop)
            if n is None:
                serial.append(loop)
            elif n == self._points(loop):
                threads.append(loop)
            else:
                part, rest = nest.split(loop, n, TailStrategy.GuardWithIf)
                threads.append(part)
                serial.append(rest)
                if -(-self._points(loop) // n) <= _AT_A_TIME:
                    nest.stage.unroll(rest.var)
        own = [x for x in nest.loops if _is_own(x)]
        around = [x for x in nest.loops if x not in (*own, *serial, *threads)]
        around.sort(key=lambda x: x.free)
        nest.reorder([*own, *serial, *threads, *around])
        for x in own:
            self._write_out(nest, x)
        while fused and len(threads) > 1:
            *threads, a, b = threads
            threads.append(nest.fuse(a, b))
        if threads:
            nest.stage.gpu_threads(*[x.var for x in threads])
        self.inmost[nest.func] = next(iter([*threads, *around]))

    def _write_out(self, nest: Nest, loop: Loop) -> None:
        """Has the points of a thread's own loop written out, if they are not many."""
        if loop.kind is Kind.TAIL:
            if loop.extent <= _SLOTS:
                nest.stage.unroll(loop.var)
            return
        if not loop.terms:
            return
        if loop.extent * loop.terms <= _WRITTEN_OUT:
            nest.stage.unroll(loop.var)
        elif _AT_A_TIME * loop.terms <= _WRITTEN_OUT:
            nest.stage.unroll(loop.var, _AT_A_TIME)

    # Places.

    def _place(self) -> None:
        *others, lead = self.leads
        level = level_of(lead)
        if not self.local:
            return
        assert level is not None
        for other in others:
            other.func.compute_with(lead.func, level.var)
        for one in self.local:
            one.func.compute_at(lead.func, level.var)

    def _keep(self, one: Staged) -> None:
        first = one.storage[0]
        if first.kind is Kind.TAIL:
            # Threads are those of tiles.
            outer = [x for x in one.storage if x.kind is Kind.OUTER]
            rest = [x for x in one.storage if x not in outer[:1]]
            one.func.reorder_storage(*[x.var for x in (*outer[:1], *rest)])
        keep_in_blocks(one, self.parts, padded=first.kind is not Kind.TAIL)
        if self._bytes() > SIMULATED.shared:
            one.func.store_in(MemoryType.Heap)

    def _bytes(self) -> int:
        """Of all that the threads of a block would share."""
        every = [
            math.prod([_stored(x, self.parts) for x in one.storage])
            for one in self.local
        ]
        return sum(every) * self.type.bytes()


def keep_in_blocks(one: Staged, parts: Mapping[Part, int], padded: bool) -> None:
    """Says how much of a stage is stored for a block, in whose kernel it is computed.

    parts: how many points of the dimensions of tiles, and of those in no tiles, a block
    has, where that is more than one. padded: whether it has a column more where threads
    would use the same banks of the shared memory otherwise.
    """
    for x in one.storage:
        if x.kind in (Kind.OUTER, Kind.FULL):
            # The compiler cannot prove it.
            one.func.bound_extent(x.var, _stored(x, parts))
    if padded:
        first = one.storage[0]
        one.func.bound_storage(first.var, _stored(first, parts) | 1)


def parts_by_hand(lead: Staged) -> dict[Part, int]:
    """How many points of dimensions a block has by what the user has split."""
    made: dict[Part, int] = {}
    for x in lead.nests[0].loops:
        if x.part and x.kind in (Kind.OUTER, Kind.FULL):
            key = x.kind, x.number
            made[key] = made.get(key, 1) * x.extent
    return made


def _stored(x: Loop, parts: Mapping[Part, int]) -> int:
    """How many points of a dimension are stored for a block."""
    if x.free:
        return 1
    if x.kind in (Kind.OUTER, Kind.FULL):
        return min(parts.get((x.kind, x.number), 1), x.extent)
    return x.extent + x.before


def _store(lead: Staged) -> None:
    """Stores points side by side that threads write side by side, those of a tile; the
    dimensions of tiles outermost."""
    if len(lead.storage) > 1:
        order = (Kind.INNER, Kind.FULL, Kind.TAIL, Kind.SCAN, Kind.OUTER)
        made = sorted(lead.storage, key=lambda x: order.index(x.kind))
        lead.func.reorder_storage(*[x.var for x in made])


def _divisor(n: int, most: int) -> int:
    """The largest number up to `most` that divides `n`."""
    return next(k for k in range(min(most, n), 0, -1) if n % k == 0)


def _product(loops: Sequence[Loop]) -> int:
    return math.prod([x.extent for x in loops])


def _inner(nest: Nest) -> list[Loop]:
    return [x for x in nest.loops if x.kind is Kind.INNER and not x.idle]


def _is_outside(x: Loop) -> bool:
    """Whether a loop is over tiles, over points in none, or over lines of tails."""
    return x.kind in (Kind.OUTER, Kind.FULL) or x.idle or x.free


def _is_own(x: Loop) -> bool:
    """Whether a loop is a thread's own."""
    return x.kind in (Kind.SCAN, Kind.TAIL) and not x.idle and not x.free


__all__ = [
    "THREADS",
    "OnGpu",
    "keep_in_blocks",
    "parts_by_hand",
    "schedule_kernels",
]
