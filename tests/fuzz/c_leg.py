"""Random cases as C: compiled by gcc, with threads, and compared with the interpreter.

    python -m tests.fuzz.c_leg --cases 100 --seed 1

Cases are drawn as in `run`. Those that are refused, or that C has no form of, do not
count. Where a schedule writes more than was asked for, a bounds query tells how much.
"""

from __future__ import annotations

import ctypes
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.interp import Rounding
from parhelion.ir.bindings import SET
from parhelion.ir.failures import HALIDE_CODES
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.callable import Argument
from tests.codegen.c_code import asking, built, struct_of
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import build, set_plain_images
from tests.fuzz.case import Case
from tests.fuzz.execute import POISON, compare, destinations, interpreted
from tests.fuzz.leg import run_leg
from tests.support.structs import BufferStruct

#: Promises that turn out to be less than what is needed.
BROKEN = [
    HALIDE_CODES[name]
    for name in ("storage_bound_too_small", "bound_too_small", "fold_too_small")
    + ("fold_direction",)
]
#: Functions that C text takes from the C library, and compiled code does not.
_LIBRARY = re.compile(r"\b(exp|sin|log|pow|atan)f?\(")
#: What C output refuses, and says so.
_REFUSALS = ("C has no type for", "foreign code", "memoized Func", "on demand")


def run_in_c(case: Case, where: Path, name: str) -> str:
    """ "clean", another word for what does not count, or how C differs."""
    program = build(case)
    scheduler = Scheduler(program)
    pipeline = hl.Pipeline(program.outputs())
    try:
        scheduler.run()
        outputs = destinations(program)
        set_plain_images(program, pipeline, outputs)
        reach = pipeline._ready().reach
        images = [b for b in reach.images if not b.embedded]
        others = [s for s in reach.others if isinstance(s, ParamSym)]
        params = [*reach.params, *others]
        symbols: list[BufferSym | ParamSym] = [*images, *params]
        given = [Argument._of(s) for s in symbols]
        text = pipeline.c_text(given, name)
    except hl.ScheduleError:
        return "refused"
    except hl.BoundsError:
        return "bounds"
    except hl.HalideError as error:
        if any(r in str(error) for r in _REFUSALS):
            return "no text"
        raise
    if not scheduler.accepted:
        return "trivial"
    if _LIBRARY.search(text):
        return "no text"
    source = where / f"{name}.c"
    source.write_text(text)
    library = ctypes.CDLL(str(built(source, where / f"{name}.so", "-shared", "-fPIC")))
    if hasattr(library, "omp_set_num_threads"):
        library.omp_set_num_threads(3)
    function = getattr(library, name)

    def call(results: Sequence[Any]) -> int:
        buffers = [struct_of(SET.of(image)) for image in images]
        scalars = [_scalar(p.type, SET.of(p)) for p in params]
        return int(function(*buffers, *scalars, *results))

    if scheduler.params.some_unlawful:
        # Refused, or the number is used by nothing.
        scheduler.params.unlawful()
        refused = call([struct_of(b) for b in outputs])
        scheduler.params.lawful()
        early = any(np.any(np.asarray(b).view(np.uint8) != POISON) for b in outputs)
        if refused and early:
            return f"pixels were computed before the refusal {refused}"
    code = call([struct_of(b) for b in outputs])
    rounds = 0
    while code == HALIDE_CODES["output_too_small"] and rounds < 8:
        # What a larger region rounds up to may be larger again.
        rounds += 1
        asked = [asking(b) for b in outputs]
        if call([ctypes.byref(a) for a in asked]):
            return "the query failed"
        outputs = [_answer(a, b.type()) for a, b in zip(asked, outputs, strict=True)]
        set_plain_images(program, pipeline, outputs)
        code = call([struct_of(b) for b in outputs])
    endless = rounds == 8 and code == HALIDE_CODES["output_too_small"]
    if endless or code in BROKEN:
        return "refused"
    if code:
        return f"returned {code}"
    found = [_inside(b, case) for b in outputs]
    # The C compiler is told of no processor with fused operations.
    return compare(found, interpreted(program, Rounding.APART)) or "clean"


def _answer(asked: BufferStruct, t: hl.Type) -> hl.Buffer:
    """A Buffer of the region that a query has found."""
    dims = [asked.dim[d] for d in range(asked.dimensions)]
    made = hl.Buffer(t, [d.extent for d in dims])
    made.set_min([d.min for d in dims])
    return made


def _inside(b: hl.Buffer, case: Case) -> Any:
    """What the case asks for of a Buffer, axes in dimension order."""
    region = zip(case.mins, case.extents, strict=False)
    starts = [(low - b.dim(d).min(), n) for d, (low, n) in enumerate(region)]
    inside = tuple([slice(start, start + n) for start, n in starts])
    return np.asarray(b).transpose()[inside]


def _scalar(t: hl.Type, value: Any) -> Any:
    """What ctypes passes as a value of type `t`."""
    if t.is_float():
        return ctypes.c_float(value) if t.bits() == 32 else ctypes.c_double(value)
    kind = "int" if t.is_int() else "uint"
    return getattr(ctypes, "c_bool" if t.is_bool() else f"c_{kind}{t.bits()}")(value)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        return run_leg(__doc__, lambda case, n: run_in_c(case, where, f"case_{n}"))


if __name__ == "__main__":
    sys.exit(main())
