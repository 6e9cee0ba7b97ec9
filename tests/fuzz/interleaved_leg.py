"""Random cases with threads of their own for Funcs, in every order that may go wrong.

    python -m tests.fuzz.interleaved_leg --cases 100 --seed 1

Of the cases of `draw` those with an async Func are lowered and run by the tests' model
of the machine, with one thread at a time: the producer as far ahead as it may be, the
consumer as early as it may be, and by chance. What is computed is compared with what
compiled code computes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.ir.bindings import SET
from parhelion.ir.expr import Intrinsic, Var
from parhelion.ir.pipeline import Lowered
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Fork, OnDemand
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lower.passes import lower
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import build, set_plain_images
from tests.fuzz.case import Case
from tests.fuzz.execute import Array, compare, compiled, destinations
from tests.fuzz.leg import run_leg
from tests.lower.execute import AssertFailed, TooLong
from tests.lower.interleaved import RULES, execute_interleaved
from tests.support.spec import spec_of

#: Longer programs take the model too long.
_MOST_STEPS = 60_000
#: What the model knows nothing of: stages of others, and the cache of `memoize`.
_FOREIGN = ("extern_query", "memo_find")


def run_interleaved(case: Case, seed: int) -> str:
    """ "clean", another word for what does not count, or what is wrong."""
    program = build(case)
    scheduler = Scheduler(program)
    pipeline = hl.Pipeline(program.outputs())
    try:
        scheduler.run()
        if not scheduler.accepted["async_"]:
            return "trivial"
        wanted = compiled(program, pipeline)
        outputs = destinations(program)
        set_plain_images(program, pipeline, outputs)
        lowered = lower(spec_of(*program.outputs()), name="f")
    except hl.ScheduleError:
        return "refused"
    except hl.BoundsError:
        return "bounds"
    found = list(nodes(lowered.body))
    if not any(isinstance(n, Fork) for n in found):
        return "trivial"
    if any(isinstance(n, OnDemand) for n in found):
        return "no text"  # the model has no functions
    if any(isinstance(n, Intrinsic) and n.op in _FOREIGN for n in found):
        return "no text"
    images = [a.symbol for a in lowered.args if isinstance(a.symbol, BufferSym)]
    if any(s.type.is_bfloat() for s in images):
        return "no text"  # NumPy has their bits
    for rule in RULES:
        memory, env = _bound(lowered, outputs)
        try:
            machine = execute_interleaved(
                lowered.body, memory, env, rule, seed, _MOST_STEPS
            )
        except TooLong:
            return "too long"
        except AssertFailed:
            # The schedule rounds up, or strides are not those of the plain code.
            return "bounds"
        got = [_array(b, machine.memory[s]) for s, b in _places(lowered, outputs)]
        apart = compare(got, wanted)
        if apart:
            return f"{rule}: {apart}"
    return "clean"


def _places(
    lowered: Lowered, outputs: list[Any]
) -> Iterable[tuple[BufferSym, hl.Buffer]]:
    """The symbols of the outputs, and their buffers."""
    made = [a.symbol for a in lowered.args if _is_output(a.symbol)]
    return zip(made, outputs, strict=True)  # type: ignore[arg-type]


def _is_output(s: BufferSym | ParamSym) -> bool:
    return isinstance(s, BufferSym) and s.role == "output"


def _bound(
    lowered: Lowered, outputs: list[Any]
) -> tuple[dict[BufferSym, list[Any]], dict[Var, Any]]:
    """The memory and the values of the arguments, as the user has set them."""
    memory: dict[BufferSym, list[Any]] = {}
    env: dict[Var, Any] = {}
    results = dict(_places(lowered, outputs))
    for a in lowered.args:
        s = a.symbol
        if isinstance(s, ParamSym):
            env[s.var] = SET.of(s)
            continue
        buffer = results.get(s) or SET.of(s)
        data = np.asarray(buffer).transpose()
        strides = [buffer.dim(d).stride() for d in range(buffer.dimensions())]
        for d, sym in enumerate(s.dims):
            dim = buffer.dim(d)
            env |= {sym.min: dim.min(), sym.extent: dim.extent()}
            env[sym.stride] = strides[d]
        flat: list[Any] = [None] * (1 + _at(strides, [n - 1 for n in data.shape]))
        if s not in results:
            for where in np.ndindex(data.shape):
                flat[_at(strides, where)] = data[where].item()
        memory[s] = flat
    return memory, env


def _at(strides: Iterable[int], where: Iterable[int]) -> int:
    return sum(a * b for a, b in zip(strides, where, strict=True))


def _array(buffer: hl.Buffer, flat: list[Any]) -> Array:
    """What was stored, in an array like that of the buffer, axes in its order."""
    made = np.zeros_like(np.asarray(buffer).transpose())
    strides = [buffer.dim(d).stride() for d in range(buffer.dimensions())]
    for where in np.ndindex(made.shape):
        made[where] = flat[_at(strides, where)]
    return made


def main() -> int:
    return run_leg(__doc__, run_interleaved)


if __name__ == "__main__":
    sys.exit(main())
