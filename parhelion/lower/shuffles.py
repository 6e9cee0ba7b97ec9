"""Values that lanes of a warp hand on to each other go from register to register.

Where dimension x of a block is over the lanes of a warp (`gpu_lanes`), a lane can read
a register of another one, without shared memory and without a barrier. Storage at the
level of a block becomes registers of its threads, as in `registers`, if each element is
stored by one thread alone, at constant places, and other threads read it from the same
warp: at a place that is the same number of lanes away for all of them, or in one lane.

    f[lane] = …                             own[0] = …
    g[lane] = f[lane + 1] + …          →    g[lane] = from_lane(own[0], lane + 1) + …

An element so many lanes away may be in several registers, as a lane has elements that
are a warp apart; then one of the values is selected. All lanes exchange, so that what
reads is under no condition of a thread's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from parhelion.analysis.linear import Linear
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    cast,
    const_int,
    imm,
    int32,
    land,
    le,
    lt,
    mod,
    mul,
    select,
)
from parhelion.ir.device import Device
from parhelion.ir.expr import Expr, Intrinsic, Load
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Allocate, Assert, For, ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.kernel_blocks import rewrite_blocks
from parhelion.lower.kernel_loops import (
    THREADS,
    leaves,
    nest_of,
    thread_counts,
)
from parhelion.lower.registers import Own
from parhelion.lower.thread_places import (
    Leaf,
    Use,
    read_together,
    shared_storage,
    thread_numbers,
)

#: Elements of more bytes than this for each thread stay in shared memory.
MOST = 32 * 4
#: Registers that one read may have to choose between.
_MOST_OF_A_READ = 3
#: A register's bits.
_REGISTER = 32


def exchange_in_warps(s: Stmt, device: Device | None) -> Stmt:
    """Gives storage in shared memory, of kernels in their normal form, to the lanes of
    warps that store its elements and read them from each other."""
    if device is None:
        return s
    return rewrite_blocks(s, lambda _, body: _exchanged(body, device))


def _exchanged(body: Stmt, device: Device) -> Stmt:
    """The same for what one block does."""
    counts = [c for c in thread_counts(body) if c is not None]
    if len(counts) < len(thread_counts(body)) or not _in_warps(counts, device):
        return body
    return body if _may_end(body) else _Block(device, counts, body).rewritten(body)


def _in_warps(counts: Sequence[int], device: Device) -> bool:
    """Whether warps are whole, and lines of a block within them."""
    total = 1
    for n in counts:
        total *= n
    across = counts[-1]
    return 1 < across <= device.warp and not (
        device.warp % across or total % device.warp
    )


def _may_end(body: Stmt) -> bool:
    """Whether a thread may end before others, by a check or a `require` that does not
    hold: no lane may ask it for anything then."""
    return any(
        [
            isinstance(n, Assert) or (isinstance(n, Intrinsic) and n.op == "require")
            for n in nodes(body)
        ]
    )


@dataclass(slots=True)
class _Storage:
    """own: what its stores are. reads: all that load from it. fixed: whether it stays
    where it is."""

    own: Own
    reads: list[Use] = field(default_factory=list)
    fixed: bool = False


class _Block:
    """What one block does. counts: how many threads there are along each dimension.
    kept: of what becomes registers, the number of each constant place."""

    def __init__(self, device: Device, counts: Sequence[int], body: Stmt) -> None:
        self.device, self.counts = device, counts
        self.numbers = thread_numbers(counts)
        self.lane, self.across = self.numbers[-1], counts[-1]
        self.storage: dict[BufferSym, _Storage] = {}
        self.kept: dict[BufferSym, dict[int, int]] = {}
        together = read_together(body)
        for buffer, found in shared_storage(body).items():
            f = buffer.func
            wish = MemoryKind.AUTO if f is None else f.schedule.memory
            t = buffer.type
            if wish is not MemoryKind.AUTO or buffer in together or t.width > _REGISTER:
                continue
            if t.is_handle() or t.is_bool():
                continue
            self.storage[buffer] = _Storage(Own(found[0], len(counts)))
        for leaf in leaves(body):
            loops = nest_of(leaf)[0]
            self.lanes = loops[-1].kind is ForKind.GPU_LANE
            Leaf(leaf, self.numbers, self.note).rewritten()
        for buffer, storage in self.storage.items():
            if self.fits(buffer, storage):
                places = sorted(storage.own.places)
                self.kept[buffer] = {c: k for k, c in enumerate(places)}

    def note(self, use: Use) -> None:
        s = self.storage.get(use.buffer)
        if s is None:
            return
        if use.writes:
            s.own.note(use, self.numbers)
        else:
            s.reads.append(use)
            s.fixed = s.fixed or not self.together(use)
        s.fixed = s.fixed or not self.lanes or len(use.lanes) > 1

    def together(self, use: Use) -> bool:
        """Whether all lanes of a warp come to a read at once."""
        loops = [const_int(loop.extent) for loop in use.loops]
        return (
            not (use.guarded or use.predicated or use.atomic)
            and list(use.extents) == list(self.counts)
            and None not in loops
        )

    def fits(self, buffer: BufferSym, s: _Storage) -> bool:
        own = s.own
        if s.fixed or own.why or not own.places or not s.reads:
            return False
        if (
            own.threads != list(self.counts)
            or len(own.places) > MOST // 4
            or own.meet()
        ):
            return False
        return all([self.sources(own, use.lanes[0]) for use in s.reads])

    def sources(self, own: Own, form: Linear) -> list[tuple[int, Expr, Expr | None]]:
        """Where what a thread reads may be: of each possible place, the constant, the
        lane that has it, and whether there is one; the last is None where it is surely
        there. Empty if it is not known, or where some thread reads what no thread of
        its line has stored: one of another line has."""
        if any([atom not in self.numbers for atom in form.terms]):
            return []
        for number, step in zip(self.numbers[:-1], own.steps[:-1], strict=True):
            if form.terms.get(number, 0) != (step or 0):
                return []
        step, factor = own.steps[-1], form.terms.get(self.lane, 0)
        if not step or factor not in (0, step):
            return []
        found: list[tuple[int, Expr, Expr | None]] = []
        left = set(range(self.across))
        for place in sorted(own.places):
            if own.places[place][:-1] != list(self.counts[:-1]):
                continue
            away, rest = divmod(form.const - place, step)
            if rest:
                continue
            if not factor:
                if 0 <= away < own.places[place][-1]:
                    return [(place, int32(away), None)]
            elif abs(away) < self.across:
                lane = add(self.lane, int32(away))
                most = int32(own.places[place][-1])
                inside = land(le(int32(0), lane), lt(lane, most))
                within = mod(lane, int32(self.across)) if away else self.lane
                found.append((place, within, inside))
                left -= set(range(-away, own.places[place][-1] - away))
        return [] if left or len(found) > _MOST_OF_A_READ else found

    # What it becomes.

    def rewritten(self, s: Stmt) -> Stmt:
        if not self.kept:
            return s
        if isinstance(s, For) and s.kind in THREADS:
            return Leaf(s, self.numbers, self.stored, self.loaded).rewritten()
        if isinstance(s, Allocate) and s.buffer in self.kept:
            count = len(self.kept[s.buffer])
            if self.device.simulated:
                for n in self.counts:
                    count *= n
            extents = (int32(count),)
            return Allocate(s.buffer, extents, s.condition, MemoryKind.REGISTER, 0)
        return s.map(lambda c: c if isinstance(c, Expr) else self.rewritten(c))

    def place(self, use: Use, constant: int, lane: Expr) -> Expr:
        """Where an element of a lane is: in a row for each thread, if simulated."""
        numbers = self.kept[use.buffer]
        at: Expr = imm(numbers[constant], use.type)
        if not self.device.simulated:
            return at
        row, stride = lane, 1
        for d in reversed(range(len(self.counts) - 1)):
            stride *= self.counts[d + 1]
            row = add(row, mul(self.numbers[d], int32(stride)))
        return add(cast(use.type, mul(row, int32(len(numbers)))), at)

    def stored(self, use: Use) -> Expr | None:
        if use.buffer not in self.kept:
            return None
        return self.place(use, use.lanes[0].const, self.lane)

    def loaded(self, use: Use, n: Load) -> Expr | None:
        if use.buffer not in self.kept:
            return None
        made: Expr | None = None
        for constant, lane, inside in self.sources(
            self.storage[use.buffer].own, use.lanes[0]
        ):
            value: Expr = Load(n.type, n.buffer, self.place(use, constant, lane), None)
            if lane is not self.lane and not self.device.simulated:
                value = Intrinsic(
                    n.type, "from_lane", (value, lane, int32(self.across))
                )
            if made is None or inside is None:
                made = value
            else:
                made = select(inside, value, made)
        return made


__all__ = ["MOST", "exchange_in_warps"]
