"""What one definition costs in the core: operations, loads from the first-level cache.

For a block of points that is computed at once, every operation counts once for each
distinct value that it has in the block: what does not depend on an unrolled dimension
is shared by its iterations, what does not depend on the vector dimension is a scalar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from parhelion.analysis.rank import reads_data
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.pipeline.graph import GraphStage, Source
from parhelion.autoschedule.pipeline.storage import storage_of
from parhelion.autoschedule.pipeline.work import Access, Work
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Var
from parhelion.ir.rewrite import free_vars

#: How many addresses the scalar registers hold besides what a loop needs anyway.
_ADDRESSES = 10
#: Narrow lanes that lie a constant distance from others that are gathered take so much
#: of the time: the index has left its vector already. (A Zen 4, of the second to the
#: fourth of four neighbours, beside what is looked up by itself: 0.48 of bytes, 0.6 of
#: 16 bits, 0.68 of floats. Those count whole: else local Laplacian gathers more of
#: them, and takes 1.04 of the time.)
_BESIDE = 0.5
#: A scattered lane is dearer than a gathered one.
_SCATTER = 2.0


@dataclass(frozen=True, slots=True)
class Speed:
    """Nanoseconds of a block of points, without what lies beyond the nearest cache.

    block: for one pass over all its reduction variables. registers: how many vectors
    it keeps from the first of these to the last. lanes: of its vectors; 1 where points
    are done one after the other. edge: how much longer a block takes at the edge of an
    image, where lanes are fetched one by one.
    """

    block: float
    registers: int
    lanes: int = 1
    edge: float = 0.0


def stage_speed(
    work: Work,
    machine: Machine,
    vector: Var | None,
    lanes: int,
    block: dict[Var, int],
    trips: dict[Var, int],
    local: bool,
    sharing: tuple[float, float] = (1.0, 1.0),
    tables: Mapping[Source, int] | None = None,
) -> Speed:
    """The time of one block: `block` says how many points of each loop are done
    together (of the vector's loop a multiple of `lanes`), `trips` how far the loops
    over reduction variables go; `local`, that nothing but the block is stored;
    `sharing`, how much of the operations and loads is left of what each point would
    take by itself (see `work.Copies`); `tables`, the sources so small that look-ups in
    them are permutations of registers, and their bytes."""
    stage = work.stage
    vectors = max(1, -(-block.get(vector, 1) // lanes)) if vector is not None else 1

    def times(depends: frozenset[Var]) -> float:
        """How many vectors, or scalars, of a value there are in the block."""
        count = 1.0
        for v in depends:
            if v is vector:
                count *= vectors
            elif v in trips:
                count *= trips[v]
            else:
                count *= block.get(v, 1)
        return count

    total = in_vectors = 0.0
    for (depends, bits, scalar, function), weight in work.alike.items():
        count = times(depends) * (machine.function if function else 1.0)
        if vector is None or vector not in depends:
            total += weight * count * machine.scalar
        elif scalar:
            total += weight * count * lanes * machine.scalar
        else:
            in_vectors += weight * count * registers_of(lanes, bits, machine)
    total = (total + in_vectors * machine.operation) * sharing[0]
    if not trips:
        total = max(total, _in_turn(work, machine, in_vectors))
    reduction = frozenset(trips)
    kept = unkept = 0
    edge = 0.0
    for a, beside in zip(work.loads, work.beside, strict=True):
        if a.source is stage.func and not (a.depends & reduction):
            # An accumulator: in registers from the first iteration to the last.
            cells = int(times(a.depends)) * registers_of(lanes, a.bits, machine)
            # Lines of a larger array lie apart by what is not known when code is made:
            # their sums go to memory and back.
            lines = [v for v in a.depends if v is not vector and block.get(v, 1) > 1]
            if lines and not local:
                unkept += cells
            else:
                kept += cells
            continue
        size = (tables or {}).get(a.source)
        if size is not None and vector is not None and _looks_up(a, vector):
            one = look_up_time(size, a.bits, machine, lanes)
        else:
            one = load_time(a, machine, vector, lanes, block)
            narrow = beside and a.bits < 32
            if narrow and vector is not None and gathers(a, vector, machine):
                one *= _BESIDE
        total += times(a.depends) * one * sharing[1]
        # What gathers lanes elsewhere, too, takes no longer at the edge.
        if (
            vector is not None
            and vector in a.clamped
            and not gathers(a, vector, machine)
        ):
            edge += times(a.depends) * lanes * machine.edge * sharing[1]
    written = _written(stage)
    for t in stage.func.types:
        one = store_time(stage, t.width, machine, vector, lanes, block)
        total += times(written) * one
    if vector is not None:
        # Each row that is read has an address of its own; those for which there is no
        # register are fetched from the stack.
        rows = {(a.source, a.args[1:]) for a in work.loads if vector in a.depends}
        total += max(0, len(rows) - _ADDRESSES) * machine.address
    rounds = 1.0
    for v in reduction:
        rounds *= trips[v]
    if reduction:
        total += rounds * machine.round
    # What does not fit in the registers goes to the stack and back each time.
    spilled = max(0, kept - registers_for_sums(work, machine, vectors))
    total += spilled * rounds * (machine.load + machine.store)
    total += unkept * rounds * machine.again
    if kept and reduction:
        # One chain of dependent additions for each register that is kept.
        total = max(total, machine.latency * rounds)
    if work.recurs:
        # Each iteration waits for what the one before has stored, and computes on it.
        total = max(total, (machine.forward + 2 * machine.latency) * rounds)
    return Speed(total, kept, lanes if vector is not None else 1, edge)


def _in_turn(work: Work, machine: Machine, operations: float) -> float:
    """The time of a block of so many operations of registers by its longest chain.
    While one block waits for its results, the core begins the next ones, as far as
    there is room for operations that wait."""
    begun = max(1.0, machine.waiting / max(operations, 1.0))
    return work.chain * machine.latency / begun


def waits(work: Work, machine: Machine, vector: Var, lanes: int) -> bool:
    """Whether a pure definition's vectors take longer by their chains than by what
    there is to do."""
    if work.stage.index or work.stage.rvars:
        return False
    operations = 0.0
    for (depends, bits, scalar, function), weight in work.alike.items():
        if vector in depends and not scalar:
            count = machine.function if function else 1.0
            operations += weight * count * registers_of(lanes, bits, machine)
    return _in_turn(work, machine, operations) > operations * machine.operation


def registers_for_sums(work: Work, machine: Machine, vectors: int) -> int:
    """How many registers are left for the sums of a block of so many vectors a line,
    beside one number for all lanes and what the lines share."""
    room = machine.registers - vectors - 1
    if work.adds_products:
        return room
    # What is between the loads and the sums needs some as well.
    return min(room, int(machine.registers * 0.8))


def registers_of(lanes: int, bits: int, machine: Machine) -> int:
    return max(1, -(-lanes * max(8, bits) // (machine.vector_bytes * 8)))


def _looks_up(a: Access, vector: Var) -> bool:
    """Whether a load's lanes are where data say."""
    return any(
        a.step(d, vector) is None and (d, vector) not in a.divided
        for d in range(len(a.steps))
    )


def fetches(work: Work, vector: Var, machine: Machine) -> bool:
    """Whether a pure definition gathers lanes, which it stores side by side, from where
    data say."""
    stage = work.stage
    if stage.index or stage.rvars or scatters(stage, vector):
        return False
    loads = [a for a in work.loads if _looks_up(a, vector)]
    return any([gathers(a, vector, machine) for a in loads])


def one_by_one(work: Work, machine: Machine) -> float:
    """One point of a pure definition in a loop without vectors. Points do not wait for
    each other: a core does two loads, or a load and a store, in the time of a scalar
    operation. (Tables of bytes to floats on a Zen 5, measured and so counted: 0.29 and
    0.32 ns a point, 0.46 and 0.42 where the place is clamped at one end, 0.58 and 0.53
    at both.)"""
    moved = len(work.loads) + len(work.stage.func.types) + 1
    return machine.scalar * (work.arithmetic + 0.5 * moved)


def look_up_time(size: int, bits: int, machine: Machine, lanes: int) -> float:
    """One look-up of as many numbers as a vector has lanes, in a table of so many bytes
    whose registers are permuted (see `codegen.x86.tables`)."""
    registers = -(-size // machine.vector_bytes)
    return registers * registers_of(lanes, bits, machine) * machine.shuffle


def load_time(
    a: Access,
    machine: Machine,
    vector: Var | None,
    lanes: int,
    block: Mapping[Var, int] | None = None,
) -> float:
    """One load of as many numbers as a vector has lanes. block: as of `stage_speed`."""
    if vector is None:
        return machine.load
    if vector not in a.depends:
        return machine.broadcast
    if gathers(a, vector, machine):
        return lanes * (machine.lane if a.bits >= 32 else machine.narrow)
    count = registers_of(lanes, a.bits, machine)
    first = storage_of(a.source).order[0]
    if a.step(first, vector) is None:
        # Fewer neighbours, then spread over the lanes.
        share = a.divided[first, vector]
        read = registers_of(math.ceil(lanes * share), a.bits, machine)
        return read * machine.load + count * machine.shuffle
    step = abs(_step_in_memory(a, vector) or 0)
    if step == 1:
        return count * machine.load
    between = [v for v, k in a.steps[first].items() if k == 1 and v is not vector]
    if any([(block or {}).get(v, 1) >= step for v in between]):
        # What lies between two lanes is loaded for the same block.
        return count * (machine.load + machine.shuffle)
    return count * (step * machine.load + step * machine.shuffle)


def _step_in_memory(a: Access, vector: Var) -> int | None:
    """How many elements lie from one lane to the next; None if that is not constant, or
    a stride that no one knows."""
    strides = storage_of(a.source).strides
    total = 0
    for d in range(len(a.steps)):
        step = a.step(d, vector)
        if step == 0:
            continue
        if step is None or d not in strides:
            return None
        total += step * strides[d]
    return total


def gathers(a: Access, vector: Var, machine: Machine) -> bool:
    """Whether a load fetches each lane from a place of its own: not one of every n-th
    element, which is made of dense loads and shuffles."""
    if vector not in a.depends:
        return False
    step = _step_in_memory(a, vector)
    if step is None:
        first = storage_of(a.source).order[0]
        if any(a.step(d, vector) != 0 for d in range(len(a.steps)) if d != first):
            return True
        return not 0 < a.divided.get((first, vector), 0) < 1
    return step not in (-1, *range(1, machine.step(a.bits) + 1))


def apart(work: Work, vector: Var, machine: Machine) -> list[Access]:
    """The loads of which each lane has code of its own, as no instruction gathers
    them."""
    return [a for a in work.loads if a.bits < 32 and gathers(a, vector, machine)]


def store_time(
    stage: GraphStage,
    bits: int,
    machine: Machine,
    vector: Var | None,
    lanes: int,
    block: Mapping[Var, int] | None = None,
) -> float:
    """One store of as many numbers as a vector has lanes. block: as of
    `stage_speed`."""
    if vector is None:
        return machine.store
    count = registers_of(lanes, bits, machine)
    step = _step_of_stores(stage, vector)
    if step is None:
        return lanes * machine.lane * _SCATTER
    if step == 1:
        return count * machine.store
    if _fills(stage, step, block):
        return count * (machine.store + machine.shuffle)
    # Lanes that lie in the same lines are stored one by one.
    return lanes * machine.lane


def scatters(
    stage: GraphStage, vector: Var, block: Mapping[Var, int] | None = None
) -> bool:
    """Whether lanes are stored one by one: they do not lie side by side in memory, nor
    does the block (see `stage_speed`) have what lies between them."""
    step = _step_of_stores(stage, vector)
    return step is None or (step != 1 and not _fills(stage, step, block))


def _step_of_stores(stage: GraphStage, vector: Var) -> int | None:
    """How many elements lie from one lane that is stored to the next; None where lanes
    move by a look-up, in steps, in several dimensions, or by a stride that no one
    knows."""
    strides = storage_of(stage.func).strides
    moved = [d for d, a in enumerate(stage.args) if vector in free_vars(a)]
    if len(moved) != 1 or stage.args[moved[0]] is not vector:
        return None
    return strides.get(moved[0])


def _fills(stage: GraphStage, step: int, block: Mapping[Var, int] | None) -> bool:
    """Whether a block has all elements from one lane that is stored to the next."""
    first = storage_of(stage.func).order[0]
    inner = stage.args[first]
    return isinstance(inner, Var) and (block or {}).get(inner, 1) >= abs(step)


def looked_up(stage: GraphStage, vector: Var) -> bool:
    """Whether lanes, which would lie side by side, are stored where data say."""
    order = stage.func.schedule.storage_order or range(len(stage.args))
    dense = any(stage.args[d] is vector for d in list(order)[:1])
    return dense and any(reads_data(a) and vector in free_vars(a) for a in stage.args)


def _written(stage: GraphStage) -> frozenset[Var]:
    """The loops that the place of a store depends on."""
    found = frozenset[Var]().union(*[free_vars(a) for a in stage.args])
    return found & frozenset(stage.loops)


__all__ = [
    "Speed",
    "apart",
    "fetches",
    "gathers",
    "load_time",
    "looked_up",
    "one_by_one",
    "registers_for_sums",
    "registers_of",
    "scatters",
    "stage_speed",
    "store_time",
    "waits",
]
