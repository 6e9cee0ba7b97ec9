"""Random pipelines with schedules for a GPU, on the simulator.

    python -m tests.fuzz.kernels --cases 2000 --seed 1

The pipelines are those of `draw`. Funcs at the root are kernels, or the host computes
them; others are computed inside of loops of their consumers, over blocks, over threads
or serial, with loops over threads of their own; or an automatic scheduler finds all of
it. What the compiler refuses does not count. Some stages require something, which the
last run but one may break; some cases run with a device switched to. The simulator
checks for races, and results are compared bit for bit.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import parhelion as hl
from parhelion.ir.stmt import ForKind
from parhelion.schedule.directives import DimType
from tests.fuzz.auto import run_auto
from tests.fuzz.build import Program, build
from tests.fuzz.case import Case
from tests.fuzz.draw import draw_case
from tests.fuzz.execute import compare, compiled, interpreted
from tests.fuzz.foreign import CALLS, TooManyCalls
from tests.fuzz.numbered import run
from tests.fuzz.ops import LAWFUL
from tests.fuzz.places import _level, nests_down_to
from tests.fuzz.storage import BROKEN_PROMISES

_SIZES = (1, 2, 3, 4, 5, 8, 16)
_TAILS = (
    *(hl.TailStrategy.Auto,) * 3,
    *(hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards),
    *(hl.TailStrategy.RoundUp, hl.TailStrategy.Predicate),
)

_MEMORIES = (
    hl.MemoryType.Heap,
    hl.MemoryType.GPUShared,
    hl.MemoryType.Register,
    hl.MemoryType.GPUTexture,
)


#: What automatic schedules are for.
CUDA = hl.get_host_target().with_feature(hl.TargetFeature.CUDA)


@dataclass(frozen=True)
class Drawn:
    """A pipeline, and what its schedule is drawn from.

    scheduler: the automatic one that schedules it; empty where the schedule is drawn.
    switched: the devices that it runs on, one after another, as `hl.cuda_device` says;
    -1 for none that is said. broken: whether what stages require is broken once.
    """

    case: Case
    seed: int
    scheduler: str = ""
    switched: tuple[int, ...] = (-1,)
    broken: bool = False


def draw(rng: random.Random) -> Drawn:
    case = draw_case(rng, 1, 6)
    seed = rng.randrange(1 << 30)
    # By numbers of their own, so that cases stay what they were.
    more = random.Random(f"more of {seed}")
    scheduler = more.choice(("", "", "", "", "", "", "Parhelion", "Mullapudi2016"))
    switched = more.choice(((-1,), (-1,), (0,), (-1, 0), (0, -1)))
    if broken := more.random() < 0.3:
        case = requiring(more, case)
    return Drawn(case, seed, scheduler, switched, broken and not scheduler)


def requiring(rng: random.Random, case: Case) -> Case:
    """The same pipeline with requirements: stages that read points as they are, and
    some others in their place."""
    stages = list(case.stages)
    likely = [k for k, s in enumerate(stages) if s.op in ("pointwise", "stencil")]
    for k in {*likely, rng.randrange(len(stages))}:
        if rng.random() < 0.7 and stages[k].op not in ("foreign", "downsample"):
            stages[k] = replace(stages[k], op="required")
    return replace(case, stages=tuple(stages))


class Scheduler:
    """Gives a program a schedule; what a directive refuses is left out."""

    def __init__(self, program: Program, rng: random.Random) -> None:
        self.program, self.rng = program, rng
        #: Of what is drawn beside the rest, so that it changes no other choice.
        self.more = random.Random(str(rng.getstate()))
        self.threads = random.Random(f"threads of {rng.getstate()}")
        self.names = 0
        self.given: Counter[str] = Counter()

    def attempt(self, name: str, call: Any) -> bool:
        try:
            call()
        except hl.ScheduleError:
            return False
        self.given[name] += 1
        return True

    def run(self) -> None:
        outputs = self.program.outputs()
        for built in reversed(self.program.stages):
            func = built.func
            is_output = any([func is f for f in outputs])
            inside = False if is_output else self.place(func, outputs)
            if inside is None:
                continue
            stages = [
                func,
                *[func.update(k) for k in range(func.num_update_definitions())],
            ]
            for stage in stages:
                self.loops(stage, inside)

    def place(self, func: hl.Func, outputs: list[hl.Func]) -> bool | None:
        """Where a producer is computed: whether that is inside of a kernel, and None if
        it is inlined."""
        rng = self.rng
        if rng.random() < 0.2 and not func.has_update_definition():
            return None
        # While it is inlined, those that it reads count as what its readers use.
        func.compute_root()
        nests = nests_down_to(outputs, func._function)
        if nests is None or rng.random() < 0.25:
            self.texture(func)
            self.thread(func)
            return False
        sites = nests.legal_sites(func._function)
        found = [s for s in sites if s.dim.kind is not ForKind.VECTORIZED]
        if not found:
            self.texture(func)
            self.thread(func)
            return False
        kernel = [s for s in found if s.dim.kind.on_gpu]
        site = rng.choice(kernel if kernel and rng.random() < 0.8 else found)
        blocks = [s for s in found if s.dim.kind is ForKind.GPU_BLOCK]
        if blocks and rng.random() < 0.5:
            site = blocks[-1]
        level = _level(site, nests, func._function)
        self.attempt(
            f"compute_at {site.dim.kind.value}", lambda: func.compute_at(level)
        )
        if rng.random() < 0.2:
            outer = _level(
                rng.choice(found[: found.index(site) + 1]), nests, func._function
            )
            self.attempt("store_at", lambda: func.store_at(outer))
        if rng.random() < 0.2:
            memory = rng.choice(_MEMORIES)
            self.attempt(memory.name, lambda: func.store_in(memory))
        if self.more.random() < 0.2:
            # What a tile needs may depend on where it is: then the kernel checks it.
            v, most = self.more.choice(func.args()), self.more.choice((4, 8, 16, 40))
            self.attempt("bound_storage", lambda: func.bound_storage(v, most))
        inside = any([s.dim.kind.on_gpu for s in found[: found.index(site) + 1]])
        if not inside:
            self.thread(func)
        return inside

    def thread(self, func: hl.Func) -> None:
        """Has a thread of its own compute a Func outside of kernels now and then."""
        if self.threads.random() < 0.25:
            self.attempt("async_", func.async_)

    def texture(self, func: hl.Func) -> None:
        """Stores a Func at the root in a texture now and then, if its values can be."""
        texels = all([t.bits() in (8, 16, 32) for t in func.types()])
        if texels and func.dimensions() and self.rng.random() < 0.4:
            where = hl.MemoryType.GPUTexture
            self.attempt("texture", lambda: func.store_in(where))

    def loops(self, stage: Any, inside: bool) -> None:
        rng = self.rng
        if not inside and rng.random() < 0.25:
            return  # the host computes it
        loops = self.dims(stage)
        if inside:
            if rng.random() < 0.3 and loops:
                self.split(stage, rng.choice(loops))
                loops = self.dims(stage)
            if rng.random() < 0.3 and loops:
                # Serial loops of the block's around those over threads.
                self.attempt(
                    "reorder", lambda: stage.reorder(*loops, *self.rvars(stage))
                )
            count = rng.randrange(0, min(len(loops), 3) + 1)
            some = loops[:3] if rng.random() < 0.5 else loops[:count]
            if some:
                self.attempt("gpu_threads", lambda: stage.gpu_threads(*some))
            left = [v for v in self.dims(stage) if v.name() not in _names(some)]
            for loop in left:
                if rng.random() < 0.5:
                    self.attempt("unroll", lambda loop=loop: stage.unroll(loop))
            return
        if not loops:
            return
        count = min(len(loops), 3)
        if rng.random() < 0.3:
            count = rng.randrange(1, count + 1)
        some = [loops[k] for k in sorted(rng.sample(range(len(loops)), count))]
        blocks, threads = [], []
        for loop in some:
            outer, inner = self.split(stage, loop)
            blocks.append(outer)
            threads.append(inner)
        rest = [v for v in self.dims(stage) if v.name() not in _names(blocks + threads)]
        if rng.random() < 0.5:
            self.attempt("reorder", lambda: stage.reorder(*threads, *rest, *blocks))
        else:
            self.attempt("reorder", lambda: stage.reorder(*rest, *threads, *blocks))
        self.attempt("gpu_blocks", lambda: stage.gpu_blocks(*blocks))
        some = threads[: rng.randrange(len(threads) + 1)]
        if some:
            self.attempt("gpu_threads", lambda: stage.gpu_threads(*some))
        left = [v for v in self.dims(stage) if v.name() not in _names(blocks + some)]
        if left and rng.random() < 0.3:
            self.attempt("unroll", lambda: stage.unroll(left[0], 2))
        elif left and rng.random() < 0.3:
            self.attempt("vectorize", lambda: stage.vectorize(left[0], 4))

    def rvars(self, stage: Any) -> list[Any]:
        """The loops of a stage over reduction domains, innermost first."""
        definition = stage._function.stages()[stage._stage]
        return [
            hl.RVar(d.var.name)
            for d in definition.schedule.dims
            if d.type is not DimType.PURE_VAR
        ]

    def dims(self, stage: Any) -> list[Any]:
        """The pure loops of a stage, innermost first."""
        definition = stage._function.stages()[stage._stage]
        return [
            hl.Var(d.var.name)
            for d in definition.schedule.dims
            if d.type is DimType.PURE_VAR and d.var.name != "__outermost"
        ]

    def split(self, stage: Any, loop: Any) -> tuple[Any, Any]:
        self.names += 1
        outer, inner = hl.Var(f"o{self.names}"), hl.Var(f"i{self.names}")
        size, tail = self.rng.choice(_SIZES), self.rng.choice(_TAILS)
        if not self.attempt(
            "split", lambda: stage.split(loop, outer, inner, size, tail)
        ):
            stage.split(loop, outer, inner, size)
        return outer, inner


def _names(loops: list[Any]) -> set[str]:
    return {v.name() for v in loops}


#: What has been given to the schedules of clean cases, and what became of them.
GIVEN: Counter[str] = Counter()


def difference(drawn: Drawn, device: str = "simulate") -> str:
    """What is wrong about a case; empty if nothing is. device: what its kernels are
    made for, by the name that PARHELION_GPU has."""
    os.environ["PARHELION_GPU"] = device
    CALLS.begin()
    if drawn.scheduler:
        return _automatic(drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = build(drawn.case)
        scheduler = Scheduler(program, random.Random(drawn.seed))
        try:
            scheduler.run()
            pipeline = hl.Pipeline(program.outputs())
            with on(drawn.switched[0]):
                got = compiled(program, pipeline)
            wanted = interpreted(program)
            found = compare(got, wanted)
            if drawn.broken and not found:
                found = _broken(program, pipeline)
            for number in drawn.switched[not drawn.broken :]:
                if not found:
                    found = compare(_switched(program, pipeline, number), wanted)
        except (hl.ScheduleError, TooManyCalls):
            return ""
        except hl.BoundsError as error:
            return "" if any(p in str(error) for p in BROKEN_PROMISES) else str(error)
    GIVEN.update(scheduler.given)
    GIVEN["clean"] += 1
    GIVEN[f"on devices {drawn.switched}"] += 1
    return found


def on(number: int) -> AbstractContextManager[None]:
    """Work goes to a device inside of a ``with`` block; -1 to none that is said."""
    return nullcontext() if number < 0 else hl.cuda_device(number)


def _switched(program: Program, pipeline: hl.Pipeline, number: int) -> list[Any]:
    """The results once more, on another device: the copies of images on the one before
    are freed, as has to be where it is another GPU."""
    for image in program.images:
        buffer = image.get() if isinstance(image, hl.ImageParam) else image
        if buffer is not None and buffer.defined():
            buffer.copy_to_host()
            buffer.device_free()
    with on(number):
        return compiled(program, pipeline)


def _broken(program: Program, pipeline: hl.Pipeline) -> str:
    """Breaks what the stages require: compiled code is to say so where the interpreter
    does. It may where the interpreter does not, of points that nobody asked for."""
    LAWFUL.set(0)
    try:
        told = [
            _requirement(lambda: compiled(program, pipeline)),
            _requirement(lambda: interpreted(program)),
        ]
    finally:
        LAWFUL.set(1)
    GIVEN["requirements broken"] += told[1]
    return "a broken requirement was not told" if told[1] and not told[0] else ""


def _requirement(run: Any) -> bool:
    """Whether a requirement is found broken."""
    try:
        run()
    except hl.PipelineRuntimeError as error:
        if "requirement failed: other is " not in str(error):
            raise
        return True
    return False


def _automatic(drawn: Drawn) -> str:
    with on(drawn.switched[0]):
        found = run_auto(drawn.case, drawn.scheduler, target=CUDA)
    GIVEN.update({f"{drawn.scheduler} {k}": n for k, n in found.directives.items()})
    GIVEN[drawn.scheduler] += 1
    return found.failure


if __name__ == "__main__":
    sys.exit(run(__doc__, draw, difference))
