"""`Pipeline.report`: what the compiler makes of a schedule, in numbers, without running
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, here
from parhelion.ir.build import const_int
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.names import plain_name
from parhelion.ir.stmt import ForKind
from parhelion.runtime.profile import aligned, size_text
from parhelion.schedule.directives import DimType
from parhelion.schedule.loopnest import loop_names
from parhelion.shown import view
from parhelion.tracebacks import shortened

if TYPE_CHECKING:
    from parhelion.lang.given import Number
    from parhelion.lang.runner import Runner
    from parhelion.lower.realizations import Realizations
    from parhelion.lower.regions import Regions
    from parhelion.lower.stages import LoopStage
    from parhelion.lower.tally import Tally
    from parhelion.runtime.program import Variant


@dataclass(frozen=True, slots=True)
class FuncReport:
    """One Func that has loops of its own, in a Report.

    recomputed: how many of its values are computed for each one that is needed; 1 if
        none is computed twice. What regions are rounded up to does not count.
    produced: how many times it is produced.
    bytes: its storage, for each thread that has one; 0 for an output.
    vectors: the loops that became vectors, with their lanes: ``x: 8``.
    lanes: how many vector loads and stores of it become one access for each lane.
    folds: the dimensions whose storage is folded, with the extent that is kept: ``y:
        4``.
    unfolded: the dimensions whose storage outlives a loop and is not folded, each with
        the reason.
    regrouped: the updates of floats whose sums (or products, minima, …) the schedule
        does in another order, which may change their last bits: ``update 0: rfactor``.
    by_data: whether it is only read where data decides, so that not all of what is
        computed may be needed (`Func.compute_lazy`).

    >>> f, g = hl.funcs("f g")
    >>> f[x] = x * x
    >>> g[x] = f[x] + f[x + 1]
    >>> f = f.compute_at(g, x)
    >>> report = g.report([64])["f"]
    >>> report.recomputed > 1.9, report.produced, report.bytes
    (True, 64.0, 8)
    """

    name: str
    recomputed: float
    produced: float
    bytes: int
    vectors: tuple[str, ...]
    lanes: int
    folds: tuple[str, ...]
    unfolded: tuple[str, ...]
    regrouped: tuple[str, ...] = ()
    by_data: bool = False


@dataclass(frozen=True, slots=True)
class LoopReport:
    """A parallel loop of a Func, in a Report.

    func, loop: the names of the Func and of the loop.
    entries: how many times the loop runs.
    iterations: how many tasks it has then.
    work: the operations and loads of one task, with those of what is computed inside.

    >>> f = hl.Func("f")
    >>> f[x, y] = x + y
    >>> f.parallel(y).report([64, 32]).loops[0].iterations
    32.0
    """

    func: str
    loop: str
    entries: float
    iterations: float
    work: float


@dataclass(frozen=True, slots=True)
class Report:
    """What a schedule does for outputs of a given size; ``str`` of it is a table.

    pipeline: its name.
    funcs: a FuncReport for each Func that has loops of its own.
    loops: a LoopReport for each parallel loop.
    images: by the names of input images, how many vector loads become one access for
        each lane.
    peak: the bytes of storage that there are at most at one time, if one thread runs
        everything.

    >>> f = hl.Func("f")
    >>> f[x] = x * x
    >>> print(f.vectorize(x, 8).report([64]))
    f: ...
    """

    pipeline: str
    funcs: tuple[FuncReport, ...]
    loops: tuple[LoopReport, ...]
    images: Mapping[str, int]
    peak: int

    def __getitem__(self, name: str) -> FuncReport:
        """Returns the FuncReport of that name.

        Raises HalideError if the report has none, as for a Func that is inlined.
        """
        for f in self.funcs:
            if f.name == name:
                return f
        raise HalideError(
            f"the report of {self.pipeline!r} has no Func {name!r}",
            at=here(),
            legal=[f.name for f in self.funcs],
            hint="a Func that is inlined has no row",
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of the Funcs, and all of it as text."""
        return str(view("report")(self))

    def __str__(self) -> str:
        return _text(self)


def report(
    runner: Runner, variant: Variant, boxes: Sequence[Sequence[tuple[int, int]]]
) -> Report:
    """The report of a pipeline for boxes of its outputs' values. Call it inside of
    `compiling`."""
    return run_deep(lambda: _report(runner, variant, boxes))


def _report(
    runner: Runner, variant: Variant, boxes: Sequence[Sequence[tuple[int, int]]]
) -> Report:
    from parhelion.codegen.llvm import emit_with_sites
    from parhelion.codegen.target import host_target
    from parhelion.lower.by_data import read_by_data
    from parhelion.lower.passes import nests_of
    from parhelion.lower.tally import tally
    from parhelion.runtime.program import (
        check_demands,
        lower_options,
        lowered_for,
        of_variant,
    )

    spec = runner.spec()
    lowered = lowered_for(spec, runner.name, variant)
    regions_of = dict(zip(runner.targets, [list(b) for b in boxes], strict=True))
    env = runner.environment(lowered.args, regions_of)
    check_demands(lowered.demands, env, runner.reach.sites())
    by_lane = emit_with_sites(lowered, host_target()).by_lane
    options = lower_options(variant, host_target(), vectors=False)
    draft = nests_of(of_variant(spec, variant), options)
    program, regions = draft.program, draft.regions
    volumes = {f: [r.extent for r in regions.computed(f)] for f in program.order}
    told = tally(draft.nests, volumes, env)
    root = regions.sites.root
    needed = {
        f: _product([r.extent for r in regions.required(f, root)], env)
        for f in program.order
    }
    rows: list[FuncReport] = []
    scattered = read_by_data(program)
    for f in program.order:
        computed = told.computed.get(f, 0.0)
        mine = [n for b, n in by_lane.items() if b.func is f]
        rows.append(
            FuncReport(
                plain_name(f.label),
                computed / needed[f] if needed[f] else 0.0,
                told.produced.get(f, 0.0),
                told.peak.get(f, 0),
                _vectors(regions, f),
                sum(mine),
                _folds(draft.realizations, f, told),
                _unfolded(regions, f),
                _regrouped(program.stages[f]),
                f in scattered,
            )
        )
    loops = [
        LoopReport(
            plain_name(p.func.label),
            p.name,
            p.entries,
            p.iterations / p.entries,
            p.work / p.iterations if p.iterations else 0.0,
        )
        for p in told.parallel.values()
    ]
    images = {b.name: n for b, n in by_lane.items() if b.role == "input"}
    return Report(runner.name, tuple(rows), tuple(loops), images, told.peak_of_all)


def _product(extents: Sequence[Expr], env: Mapping[Var, Number]) -> float:
    from parhelion.ir.evaluate import evaluate

    total = 1.0
    for e in extents:
        total *= max(evaluate(e, env), 0)
    return total


def _vectors(regions: Regions, f: Function) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for stage in regions.program.stages[f]:
        names = loop_names(stage.schedule)
        for loop in regions.loops(stage).loops:
            if loop.dim.kind is ForKind.VECTORIZED:
                name = names.get(loop.dim.var, loop.dim.var.name)
                found[f"{name}: {const_int(loop.extent)}"] = None
    return tuple(found)


def _folds(made: Realizations, f: Function, told: Tally) -> tuple[str, ...]:
    extents = told.extents.get(f, ())
    origins = made.origins.get(f, ())
    return tuple(
        [
            f"{v.name}: {extent}"
            for v, extent, o in zip(f.args, extents, origins, strict=False)
            if o is not None and o.fold is not None
        ]
    )


def _unfolded(regions: Regions, f: Function) -> tuple[str, ...]:
    return tuple(
        [
            f"{f.args[d].name}: {why}"
            for (g, d), why in regions.unfolded.items()
            if g is f
        ]
    )


def _regrouped(stages: Sequence[LoopStage]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for stage in stages:
        if not any([v.type.is_float() for v in stage.values]):
            continue
        update = f"update {stage.index - 1}"
        if stage.definition.directive:
            found[f"{update}: {stage.definition.directive}"] = None
        if not stage.schedule.atomic:
            continue
        names = loop_names(stage.schedule)
        for dim in stage.schedule.dims:
            how = _AT_ONCE.get(dim.kind)
            if how is not None and dim.type is DimType.IMPURE_RVAR:
                loop = names.get(dim.var, dim.var.name)
                found[f"{update}: atomic over {how} of {loop}"] = None
    return tuple(found)


_AT_ONCE = {ForKind.VECTORIZED: "vectors", ForKind.PARALLEL: "threads"}


#: What a table tells of each Func, behind its name.
TITLES = ("recomputed", "produced", "storage", "vectors", "by lane", "folded")


def cells_of(f: FuncReport) -> tuple[str, ...]:
    """Returns the name of a Func, and what stands below each of `TITLES`."""
    return (
        f.name,
        f"{f.recomputed:.2f}",
        f"{f.produced:,.0f}",
        size_text(f.bytes) if f.bytes else "",
        ", ".join(f.vectors),
        str(f.lanes or ""),
        ", ".join(f.folds),
    )


def _text(r: Report) -> str:
    from parhelion.lower.by_data import advice

    out = [f"{r.pipeline}: storage at most {size_text(r.peak)}"]
    out += aligned([("", *TITLES), *[cells_of(f) for f in r.funcs]])
    for name, n in r.images.items():
        out.append(f"  {n} loads of {name} are made lane by lane")
    for p in r.loops:
        out.append(
            f"  {p.func}.{p.loop} is parallel: {p.iterations:,.0f} tasks of about"
            f" {p.work:,.0f} operations"
            + (f", {p.entries:,.0f} times" if p.entries != 1 else "")
        )
    for f in r.funcs:
        out += [f"  {f.name} is not folded along {one}" for one in f.unfolded]
        out += [f"  {f.name} rounds in another order in {one}" for one in f.regrouped]
        if f.by_data:
            out.append(f"  {advice(f.name)}")
    return "\n".join(out)


# It is what a method returns, and so found by no name of the package's.
shortened(Report)

__all__ = ["TITLES", "FuncReport", "LoopReport", "Report", "cells_of", "report"]
