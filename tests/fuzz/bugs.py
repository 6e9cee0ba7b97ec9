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
        "likely(le(old.value, nominal.hi))",
        "likely(le(old.value, sub(nominal.hi, _ONE)))",
    ),
    "shifted_too_far": Bug(
        "ShiftInwards shifts the last run by one too many",
        "parhelion.lower.loops",
        "StageLoops._unsplit",
        "last = sub(nominal.hi, sub(factor, _ONE))",
        "last = sub(nominal.hi, factor)",
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
        "out = region if out is None else _hulls(out, region)",
        "out = region",
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
        "no = lnot(yes)",
        "no = yes",
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
}


def plant(name: str) -> None:
    """Puts a bug into this process's compiler, for good."""
    bug = BUGS[name]
    module = importlib.import_module(bug.module)
    found: object = module
    for part in bug.function.split("."):
        found = getattr(found, part)
    function = cast(FunctionType, found)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(bug.old) != 1:
        raise LookupError(
            f"the text of bug {name!r} occurs {source.count(bug.old)} times in "
            f"{bug.function}, not once: bring tests/fuzz/bugs.py up to date"
        )
    build = importlib.import_module("parhelion.ir.build")
    names = {**vars(build), "build": build} | vars(module)
    scope: dict[str, object] = {}
    exec(compile(source.replace(bug.old, bug.new), bug.module, "exec"), names, scope)
    made = cast(FunctionType, scope[function.__name__])
    for needed in made.__code__.co_names:
        if needed in names and needed not in vars(module):
            setattr(module, needed, names[needed])
    # In place, so that whoever has imported the function runs the new one, too.
    function.__code__ = made.__code__
