"""Storage of a block whose elements each belong to one thread becomes the threads' own.

    allocate sum[float32 * 64*64] in shared       allocate sum[float32 * 16] in register
    gpu_thread ty, gpu_thread tx:                 gpu_thread ty, gpu_thread tx:
      sum[ty*256 + tx*4] = 0                        sum[0] = 0
      sum[ty*256 + tx*4 + 1] = 0, …                 sum[1] = 0, …
    for k:                                        for k:
      …tiles of shared memory, barriers…     →      …
      gpu_thread ty, gpu_thread tx:                 gpu_thread ty, gpu_thread tx:
        sum[ty*256 + tx*4] += …                       sum[0] += …

A thread keeps such values in registers from one nest of threads to the next, over
barriers and the iterations of loops of the block's, without memory that is shared.

It is proved of the places of all uses: each is one linear form of the numbers of the
thread plus a constant, with the same factors in all of them, and no two threads meet at
any of the constants. The constants are numbered; their numbers are the places in the
registers of a thread. Where kernels are simulated, whose threads run one after the
other, the storage has such a row for each thread of the block.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir.build import add, cast, imm, int32, mul, sub
from parhelion.ir.device import Device
from parhelion.ir.expr import Expr
from parhelion.ir.stmt import Allocate, For, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.allocate import constant_bytes
from parhelion.lower.kernel_blocks import rewrite_blocks
from parhelion.lower.kernel_loops import (
    THREADS,
    leaves,
    nest_of,
    thread_counts,
)
from parhelion.lower.kernel_refusals import refused_storage
from parhelion.lower.lanes import concat
from parhelion.lower.thread_places import (
    Leaf,
    Use,
    read_together,
    shared_storage,
    thread_numbers,
)

#: Storage of more bytes for each thread stays in shared memory, unless the schedule
#: wishes for registers: half of the registers that a thread can have.
MOST = 128 * 4

_WISHED = (MemoryKind.STACK, MemoryKind.REGISTER)

#: Why storage cannot be that of a thread.
_BETWEEN = "several threads of a block use an element of it"
_VARIES = "a thread uses it at places that are not constant"
_TOGETHER = "all threads of a block read it together"
_ATOMIC = "it is updated atomically"
_UNKNOWN = "how many threads use it is not constant"
_HINTS = {
    _BETWEEN: "give all stages that use it the same loops over threads, or leave out"
    " store_in",
    _VARIES: "unroll or vectorize the loops inside of those over threads, or leave out"
    " store_in",
}


def keep_in_registers(s: Stmt, device: Device | None) -> Stmt:
    """Gives storage in shared memory, of kernels in their normal form, to the threads
    that alone use its elements.

    Raises ScheduleError for storage that is wished in registers or on the stack and
    that several threads use, and for what is larger than the memory of a block.
    """
    if device is None:
        return s
    return rewrite_blocks(s, lambda _, body: _Block(device, body).rewritten(body))


@dataclass(slots=True)
class Own:
    """What is known of an allocation. why: why it cannot be a thread's, empty as long
    as it can. steps: the factors of the numbers of a thread; None of those that no use
    has told. threads: how many there are along each dimension. places: of each
    constant, how many threads use it along each dimension.
    """

    allocate: Allocate
    dimensions: int
    why: str = ""
    steps: list[int | None] = field(init=False)
    threads: list[int] = field(init=False)
    places: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = [None] * self.dimensions
        self.threads = [1] * self.dimensions

    def note(self, use: Use, numbers: Sequence[Expr]) -> None:
        if use.atomic:
            self.why = _ATOMIC
        for form in use.lanes:
            if any([atom not in numbers for atom in form.terms]):
                self.why = self.why or _VARIES
        known = [n for n in use.extents if n is not None]
        if len(known) < len(use.extents):
            self.why = self.why or _UNKNOWN
        if self.why:
            return
        self.threads = [max(a, b) for a, b in zip(self.threads, known, strict=True)]
        for form in use.lanes:
            some = self.places.setdefault(form.const, [1] * self.dimensions)
            some[:] = [max(a, b) for a, b in zip(some, known, strict=True)]
            for d, number in enumerate(numbers):
                # A single thread along a dimension has the number 0.
                step = form.terms.get(number, 0)
                if known[d] == 1:
                    continue
                if self.steps[d] not in (None, step):
                    self.why = _BETWEEN
                self.steps[d] = step

    def meet(self) -> bool:
        """Whether two threads use one element."""
        if not self.may_meet():
            return False
        if all([some == self.threads for some in self.places.values()]):
            return True
        users: dict[int, tuple[int, ...]] = {}
        for place, some in self.places.items():
            for thread in itertools.product(*map(range, some)):
                at = place + self.moved(thread)
                if users.setdefault(at, thread) != thread:
                    return True
        return False

    def may_meet(self) -> bool:
        """Whether two would if all threads used all places."""
        reach = max(self.places) - min(self.places)
        every = [range(1 - n, n) for n in self.threads]
        for apart in itertools.product(*every):
            if not any(apart):
                continue
            moved = self.moved(apart)
            if abs(moved) <= reach and any(
                [c + moved in self.places for c in self.places]
            ):
                return True
        return False

    def moved(self, apart: Sequence[int]) -> int:
        """How far the places of a thread are from those of one that has lower numbers
        by so many."""
        return sum([(s or 0) * k for s, k in zip(self.steps, apart, strict=True)])


class _Block:
    """What one block does. kept: of storage that becomes the threads', the number of
    each constant place."""

    def __init__(self, device: Device, body: Stmt) -> None:
        self.device = device
        counts = thread_counts(body)
        self.numbers = thread_numbers(counts)
        self.storage: dict[BufferSym, Own] = {}
        self.kept: dict[BufferSym, dict[int, int]] = {}
        together = read_together(body)
        for buffer, found in shared_storage(body).items():
            why = _TOGETHER if buffer in together else ""
            n = len(counts)
            self.storage[buffer] = Own(found[0], n, why)
        for leaf in leaves(body):
            Leaf(leaf, self.numbers, self.note).rewritten()
        for buffer, storage in self.storage.items():
            self.decide(buffer, storage)

    def note(self, use: Use) -> None:
        found = self.storage.get(use.buffer)
        if found is not None:
            found.note(use, self.numbers)

    def decide(self, buffer: BufferSym, s: Own) -> None:
        f = buffer.func
        wish = MemoryKind.AUTO if f is None else f.schedule.memory
        if not s.why and s.places and s.meet():
            s.why = _BETWEEN
        if wish in _WISHED and s.why:
            raise refused_storage(
                s.allocate, f"is that of a thread, but {s.why}", _HINTS.get(s.why, "")
            )
        own = not s.why and wish is not MemoryKind.SHARED
        bytes_of_thread = len(s.places) * buffer.type.bytes()
        if own and (wish in _WISHED or bytes_of_thread <= MOST):
            self.kept[buffer] = {c: k for k, c in enumerate(sorted(s.places))}
            return
        size = constant_bytes(buffer.type, s.allocate.extents, s.allocate.padding)
        if size is not None and size > self.device.shared:
            raise refused_storage(
                s.allocate,
                f"takes {size} bytes for a block, and the most is {self.device.shared}",
                "compute it at smaller blocks or at the root, or keep it in memory of"
                " the device by store_in(MemoryType.Heap)",
            )

    # What it becomes.

    def rewritten(self, s: Stmt) -> Stmt:
        if not self.kept:
            return s
        if isinstance(s, For) and s.kind in THREADS:
            return self.leaf(s)
        if isinstance(s, Allocate) and s.buffer in self.kept:
            count = max(len(self.kept[s.buffer]), 1)
            if self.device.simulated:
                count *= _product(self.storage[s.buffer].threads)
            extents = (int32(count),)
            return Allocate(s.buffer, extents, s.condition, MemoryKind.REGISTER, 0)
        return s.map(lambda c: c if isinstance(c, Expr) else self.rewritten(c))

    def leaf(self, s: For) -> Stmt:
        def replaced(use: Use) -> Expr | None:
            numbers = self.kept.get(use.buffer)
            if numbers is None:
                return None
            places = [numbers[form.const] for form in use.lanes]
            row = self.row(s, self.storage[use.buffer].threads)
            first = cast(use.type, mul(row, int32(len(numbers))))
            return concat([add(first, imm(k, use.type)) for k in places])

        return Leaf(s, self.numbers, replaced).rewritten()

    def row(self, s: For, threads: Sequence[int]) -> Expr:
        """Which row of simulated storage is that of a thread. threads: how many have
        one, along each dimension; the block may have more."""
        row: Expr = int32(0)
        if self.device.simulated:
            for d, loop in enumerate(nest_of(s)[0]):
                stride = _product(threads[d + 1 :])
                row = add(row, mul(sub(loop.var, loop.min), int32(stride)))
        return row


def _product(numbers: Sequence[int]) -> int:
    total = 1
    for n in numbers:
        total *= n
    return total


__all__ = ["MOST", "Own", "keep_in_registers"]
