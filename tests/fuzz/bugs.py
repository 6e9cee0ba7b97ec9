"""Bugs to put into the compiler, to see that the fuzzer finds them.

Each is one small edit of one function's source, such as a tired programmer makes. The
function is compiled anew and its code replaced in the running process.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from dataclasses import dataclass
from types import FunctionType
from typing import cast


@dataclass(frozen=True, slots=True)
class Bug:
    """In `function` (dotted inside `module`), the text `old` becomes `new`."""

    what: str
    module: str
    function: str
    old: str
    new: str


BUGS: dict[str, Bug] = {
    "dropped_tail": Bug(
        "a split forgets the iterations that do not fill a whole one",
        "parhelion.lower.loops",
        "StageLoops._resolve",
        "extent if exact else add(extent, sub(t.factor, _ONE))",
        "extent",
    ),
    "guard_off_by_one": Bug(
        "the guard of a split leaves out the last iteration",
        "parhelion.lower.loops",
        "StageLoops._unsplit",
        "within = le(old.value, old.range.hi)",
        "within = le(old.value, sub(old.range.hi, _ONE))",
    ),
    "shifted_too_far": Bug(
        "ShiftInwards shifts the last run by one too many",
        "parhelion.lower.loops",
        "StageLoops._unsplit",
        "base = minimum(mark(start), t.last)",
        "base = minimum(mark(start), sub(t.last, _ONE))",
    ),
    "fuse_loses_the_min": Bug(
        "a fused loop forgets where the inner one begins",
        "parhelion.lower.loops",
        "StageLoops._unfuse",
        "simplify(add(mod(fused.value, size), inner.range.lo))",
        "simplify(mod(fused.value, size))",
    ),
    "window_slides_too_far": Bug(
        "a sliding window takes one more value for computed than there is",
        "parhelion.lower.sliding",
        "_advance",
        "start = simplify(add(substitute(hi, before), _ONE))",
        "start = simplify(add(substitute(hi, before), int32(2)))",
    ),
    "folded_too_tightly": Bug(
        "storage folds by half of what one iteration touches",
        "parhelion.lower.folding",
        "_rounded",
        "int32(1 << (max(int(known), 1) - 1).bit_length())",
        "int32(max(1, (1 << (max(int(known), 1) - 1).bit_length()) // 2))",
    ),
    "one_consumer_forgotten": Bug(
        "the region of a Func is that of its last consumer only",
        "parhelion.lower.regions",
        "Regions._find_required",
        "out = together(found)",
        "out = together(found[-1:])",
    ),
    "wrong_min_offset": Bug(
        "flattening subtracts one dimension's min from another's coordinate",
        "parhelion.lower.flatten",
        "_Flatten.at",
        "place.mins[d]), place.strides[d])",
        "place.mins[-1 - d]), place.strides[d])",
    ),
    "wrong_stride": Bug(
        "rows of intermediate storage overlap",
        "parhelion.lower.flatten",
        "_Flatten.on_realize",
        "stride = mul(stride, self.wide(extents[d]))",
        "stride = mul(stride, sub(self.wide(extents[d]), imm(1, self.index)))",
    ),
    "wrong_lane_stride": Bug(
        "the lanes of a vectorised loop are two iterations apart",
        "parhelion.lower.vectorize",
        "_Vectorizer.__init__",
        "Ramp(loop.min, imm(1, loop.min.type), times)",
        "Ramp(loop.min, imm(2, loop.min.type), times)",
    ),
    "mask_not_inverted": Bug(
        "the otherwise of a vectorised if runs in the lanes of the then",
        "parhelion.lower.vectorize",
        "_Vectorizer.masked",
        "self.under(lnot(yes), otherwise)",
        "self.under(yes, otherwise)",
    ),
    "one_copy_too_few": Bug(
        "an unrolled loop loses its last iteration",
        "parhelion.lower.unroll",
        "_Unroll.on_for",
        "for i in range(extent)",
        "for i in range(max(extent - 1, 1))",
    ),
    "steady_state_too_long": Bug(
        "the steady state of a partitioned loop runs one iteration too far",
        "parhelion.lower.partition",
        "_Partition.in_pieces",
        "stop = maximum(add(last, int32(1)), start)",
        "stop = minimum(maximum(add(last, int32(2)), start), end)",
    ),
    "storage_too_short": Bug(
        "storage is one element short in each dimension",
        "parhelion.lower.flatten",
        "_Flatten.on_realize",
        "made = Allocate(p.buffer, sizes, condition, kind, 0)",
        "made = Allocate(p.buffer, tuple([sub(e, imm(1, e.type)) for e in sizes]), "
        "condition, kind, 0)",
    ),
    "values_stored_in_turn": Bug(
        "a Tuple's second value reads its first one's new value",
        "parhelion.lower.flatten",
        "_interfere",
        "if len(n.values) < 2:",
        "if True:",
    ),
    "parallel_loop_too_short": Bug(
        "a parallel loop leaves out its last iteration",
        "parhelion.codegen.closures",
        "parallel_loop",
        "_as_int32(f, s.extent)",
        "_as_int32(f, build.sub(s.extent, build.imm(1, s.extent.type)))",
    ),
    "branches_swapped": Bug(
        "a specialisation runs where its condition does not hold",
        "parhelion.lower.nest",
        "NestBuilder._definition",
        "else If(branch.condition, inside, made)",
        "else If(build.lnot(branch.condition), inside, made)",
    ),
    "joined_over_the_leader": Bug(
        "stages that share a loop run over what the first of them needs only",
        "parhelion.lower.fused",
        "shared_loop",
        "else hull(union, ranges[stage])",
        "else union",
    ),
    "blend_dropped": Bug(
        "a tail that should blend stores its values over what was there",
        "parhelion.lower.nest",
        "NestBuilder._provide",
        "fresh = likely(conjunction(nest.blends))",
        "fresh = TRUE",
    ),
    "parts_from_one": Bug(
        "the parts of a factored reduction begin at one, not at the neutral value",
        "parhelion.schedule.associativity",
        "_constant",
        "imm(value, t)",
        "imm(1 - value, t)",
    ),
    "remembered_by_size": Bug(
        "a memoized result is found again for a region elsewhere",
        "parhelion.lower.memoize",
        "remembered",
        "[e for pair in region for e in pair]",
        "[cast(INT64, e) for _, e in region]",
    ),
    "consumer_does_not_wait": Bug(
        "the thread that uses an async Func does not wait for its values",
        "parhelion.lower.fork_async",
        "acquired",
        "Acquire(sync.done, _ONE, f, ())",
        "Acquire(sync.done, build.int32(0), f, ())",
    ),
    "atomic_forgotten": Bug(
        "an atomic update is made like any other",
        "parhelion.lower.atomic",
        "marked",
        "if not schedule.atomic:",
        "if True:",
    ),
    "written_too_early": Bug(
        "the address of what changes in a loop is written before the loop",
        "parhelion.codegen.neighbours",
        "_found",
        "f.level(base) > deepest",
        "deepest < 0",
    ),
    "any_number_will_do": Bug(
        "numbers that only runs know are not checked from below",
        "parhelion.lower.prologue",
        "_checks",
        "LE(int64(n.least), value)",
        "LE(int64(-(1 << 40)), value)",
    ),
}


def edited(bug: Bug) -> tuple[FunctionType, str]:
    """The function that a bug is to be put into, and its source with the bug. Raises
    LookupError if the text that the bug edits is not there."""
    found: object = importlib.import_module(bug.module)
    for part in bug.function.split("."):
        found = getattr(found, part)
    function = cast(FunctionType, found)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(bug.old) != 1:
        raise LookupError(
            f"{bug.what}: the text of the bug occurs {source.count(bug.old)} times in "
            f"{bug.function}, not once: bring tests/fuzz/bugs.py up to date"
        )
    return function, source.replace(bug.old, bug.new)


def plant(name: str) -> None:
    """Puts a bug into this process's compiler, for good."""
    bug = BUGS[name]
    function, source = edited(bug)
    module = importlib.import_module(bug.module)
    build = importlib.import_module("parhelion.ir.build")
    names = {**vars(build), "build": build} | vars(module)
    scope: dict[str, object] = {}
    exec(compile(source, bug.module, "exec"), names, scope)
    made = cast(FunctionType, scope[function.__name__])
    for needed in made.__code__.co_names:
        if needed in names and needed not in vars(module):
            setattr(module, needed, names[needed])
    # In place, so that whoever has imported the function runs the new one, too.
    function.__code__ = made.__code__
