"""What is compared: schedules by experts, by schedulers, and those that are kept."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.common import App, Array, Module
from benchmarks.auto import adams, library
from benchmarks.auto.adams import NoAnswer
from benchmarks.auto.estimates import set_estimates
from benchmarks.auto.renamed import Renamed
from benchmarks.case import Case, Image, load
from benchmarks.halide_host import target_of

#: Our schedulers.
OURS = ("Mullapudi2016", "Parhelion")


@dataclass(frozen=True)
class Contender:
    """One column of the comparison.

    module: parhelion or halide, "" for a rival. kind: "expert" (name: a schedule of the
    case), "scheduler" (name: the scheduler's), "pinned" (what our scheduler printed
    before, or drawing lots found), "search" (what Adams2019 found in a process of its
    own) or "rival" (name: a rival of the case). parameters: more that a scheduler is
    told.
    """

    module: str
    kind: str
    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        words = {"expert": f"expert {self.name}", "pinned": f"{self.name} pinned"}
        told = [f"{k}={v}" for k, v in self.parameters]
        return " ".join([self.module, words.get(self.kind, self.name), *told]).strip()


@dataclass
class Ready:
    """A compiled contender: what runs it, the arrays it writes, and what is known of
    it: seconds to schedule (of the clock, and of the processor), to compile, predicted,
    the cost by the scheduler's own model with its unit, and the schedule as Python.

    images: the inputs, which Halide's ImageParams do not keep alive.
    """

    run: Callable[[], object]
    results: list[Array]
    facts: dict[str, Any]
    images: Mapping[str, Image]


def contenders(case: Case, pinned: bool) -> list[Contender]:
    """All of a case's, experts first."""
    found = [
        Contender(module, "expert", schedule)
        for schedule in case.schedules
        for module in ("parhelion", "halide")
    ]
    found.append(Contender("halide", "scheduler", "Mullapudi2016"))
    found.append(Contender("halide", "search", adams.NAME))
    found += [Contender("parhelion", "scheduler", name) for name in OURS]
    if pinned:
        found += [Contender("parhelion", "pinned", name) for name in OURS]
    return found + [Contender("", "rival", name) for name in case.aims]


@dataclass(frozen=True)
class Setting:
    """How a case is run: threads, whether all names are others, and its scale."""

    threads: int
    renamed: bool = False
    scale: float = 1.0


def scaled(case: Case, scale: float) -> Case:
    """A case at another size. Raises ValueError where it has just one."""
    if scale == 1:
        return case
    if case.at is None:
        raise ValueError(f"{case.name} is of one size only")
    return case.at(scale)


def prepare(
    who: Contender, case: Case, images: Mapping[str, Image], setting: Setting
) -> Ready:
    """Builds, schedules and compiles. Raises NoAnswer, and what the modules do."""
    if who.kind == "rival":
        return rival(who, case, images)
    hl = load(who.module)
    if setting.renamed:
        hl = Renamed(hl)
    facts: dict[str, Any] = {}
    app = case.algorithm(hl)
    start, used = time.perf_counter(), time.process_time()
    if who.kind == "expert":
        case.schedules[who.name](hl, app)
    elif who.kind == "scheduler":
        set_estimates(case, app, images)
        start, used = time.perf_counter(), time.process_time()
        facts |= apply(hl, who, app, setting.threads)
    elif setting.scale != 1:
        raise NoAnswer("not searched at this size")
    elif who.kind == "search":
        text = library.searched(who.name, case.name, setting.threads)
        facts |= adams.apply(hl, app, text)
    else:
        run_kept(hl, app, who.name, case.name, setting.threads)
    facts["schedule"] = time.perf_counter() - start
    facts["schedule_cpu"] = time.process_time() - used
    return compiled(hl, case, app, images, facts)


def compiled(
    hl: Module,
    case: Case,
    app: App,
    images: Mapping[str, Image],
    facts: dict[str, Any],
) -> Ready:
    """A scheduled application, compiled for these inputs; `facts` gets its seconds."""
    case.bind(hl, app, images)
    start = time.perf_counter()
    app.output.compile_jit()
    facts["compile"] = time.perf_counter() - start
    results = [output.new() for output in case.outputs]
    buffers = [image.buffer(hl) for image in results]
    where = buffers[0] if len(buffers) == 1 else buffers
    written = [image.array for image in results]
    return Ready(lambda: app.output.realize(where), written, facts, images)


def rival(who: Contender, case: Case, images: Mapping[str, Image]) -> Ready:
    """A rival of a case that gives its result as one array."""
    made = case.rivals(images) if case.rivals else {}
    if who.name not in made:
        raise NoAnswer("not installed")
    (result,) = [output.new().array for output in case.outputs]

    def run() -> None:
        result[...] = made[who.name]()

    return Ready(run, [result], {}, images)


def apply(hl: Module, who: Contender, app: App, threads: int) -> dict[str, Any]:
    """Runs a scheduler by name on an application that knows its sizes. The facts are
    those that its result offers: `predicted_seconds`, its cost by its own model and the
    unit of that, `to_python`."""
    params = getattr(hl, "AutoschedulerParams", None)
    if params is None:
        raise NoAnswer(f"{who.module} has no AutoschedulerParams")
    if who.module == "halide":
        adams.load_plugin(hl, who.name)
    elif who.name not in offered():
        raise NoAnswer(f"{who.module} has no scheduler {who.name}")
    result = hl.Pipeline([app.output]).apply_autoscheduler(
        target_of(hl),
        params(who.name, {"parallelism": str(threads), **dict(who.parameters)}),
    )
    facts: dict[str, Any] = {}
    predicted = getattr(result, "predicted_seconds", None)
    if predicted is not None:
        facts["predicted"] = float(predicted)
    cost = getattr(result, "cost", None)
    if cost is not None:
        facts |= {"cost": float(cost), "unit": result.unit}
    if hasattr(result, "to_python"):
        facts["python"] = result.to_python()
    return facts


def offered() -> list[str]:
    """The names of our schedulers that there are."""
    module = importlib.import_module("parhelion.lang.autoscheduling")
    found: list[str] = module.autoschedulers()
    return found


def run_kept(hl: Module, app: App, scheduler: str, case: str, threads: int) -> None:
    """Applies a schedule that was searched for, or that one of ours printed before."""
    text = library.text(scheduler, case, threads)
    if text is None:
        raise NoAnswer(f"no schedule of {scheduler} is kept here")
    run_text(hl, app, text, f"{scheduler} {case} {threads}")


def run_text(hl: Module, app: App, text: str, where: str) -> None:
    """Applies a schedule that a scheduler printed; `where` is for error messages."""
    names: dict[str, Any] = {}
    exec(compile(text, where, "exec"), names)
    names["schedule"](hl.Pipeline([app.output]))
