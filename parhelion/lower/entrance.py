"""The entrance of a program: its arguments, and what is checked before loops run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.build import block
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.pipeline import ArgKind, Argument
from parhelion.ir.pipeline import Region as ArgumentRegion
from parhelion.ir.promises import Assumptions, symbol_of
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import Assert, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lower.checks import (
    buffer_checks,
    layout_checks,
    param_checks,
    tuple_checks,
)
from parhelion.lower.loops import Range
from parhelion.lower.memoize import memo_keys
from parhelion.lower.options import LowerOptions
from parhelion.lower.overflow import OverflowChecks, regions_further_in
from parhelion.lower.prologue import number_checks
from parhelion.lower.regions import Region, Regions
from parhelion.lower.stages import StagedPipeline
from parhelion.schedule.spec import PipelineSpec
from parhelion.simplify.simplifier import simplify


@dataclass(frozen=True, slots=True)
class Entrance:
    """body: the loops behind all checks. args, required, written, bounds, demands: see
    `Lowered`."""

    body: Stmt
    args: tuple[Argument, ...]
    required: dict[BufferSym, tuple[ArgumentRegion, ...]]
    written: dict[BufferSym, tuple[ArgumentRegion, ...]]
    bounds: tuple[Expr, ...]
    demands: tuple[Assert, ...]


def entrance(
    spec: PipelineSpec, options: LowerOptions, regions: Regions, nest: Stmt
) -> Entrance:
    """The way into the loops of a pipeline."""
    program, outputs = regions.program, spec.outputs
    root = regions.sites.root
    demanded = [Assert(r.condition, "require", r.shown) for r in spec.requirements]
    numbers = number_checks(program)
    demanded += numbers
    plain = block(*root.lets, *root.checks, *demanded, nest)
    roots: list[Stmt | Expr] = [plain, *memo_keys(program.order)]
    standing = _standing(program, roots, outputs, spec.assumptions)
    inputs = [s for s in standing if isinstance(s, BufferSym) and s.role == "input"]
    required = {b: r for b in inputs if (r := regions.image(b)) is not None}
    written = {f: regions.stored(f) for f in outputs}
    further_in = regions_further_in(regions)
    checks = OverflowChecks().of_lets(root.lets, regions.owners)
    for f, region in further_in.items():
        checks += OverflowChecks().of_region(f.label, region)
    checks += _checks(inputs, required, written, spec.assumptions, options)
    body = block(*demanded, *root.lets, *root.checks, *checks, nest)
    args = _arguments(body, standing, outputs)
    params = [a.symbol for a in args if isinstance(a.symbol, ParamSym)]
    told = [c for p in params for c in param_checks(p, spec.assumptions)]
    expand = _LetExpander()
    return Entrance(
        block(*told, body),
        args,
        {b: expand.region(r) for b, r in required.items()},
        {b: expand.region(written[f]) for f in outputs for b in f.buffers},
        tuple([expand.of(e) for e in _bounds(root.checks)]),
        tuple(numbers),
    )


def _bounds(checks: Sequence[Stmt]) -> list[Expr]:
    """What must hold so that the regions promised of Funcs are large enough."""
    return [
        c.cond for c in checks if isinstance(c, Assert) and c.code == "bound_too_small"
    ]


def _checks(
    inputs: Sequence[BufferSym],
    required: Mapping[BufferSym, tuple[Range, ...]],
    written: Mapping[Function, tuple[Range, ...]],
    assumptions: Assumptions,
    options: LowerOptions,
) -> list[Stmt]:
    checks: list[Stmt] = []
    overflow = OverflowChecks()
    outputs = [b for f in written for b in f.buffers]
    for buffer in (*inputs, *outputs):
        checks += layout_checks(buffer, assumptions, options)
    for f in written:
        checks += tuple_checks(f.buffers)
    # Outputs first: an image may only be too small because more is written than there
    # is room for.
    for f, region in written.items():
        checks += overflow.of_region(f.label, region)
        for buffer in f.buffers:
            checks += buffer_checks(buffer, region, "output_too_small")
    for buffer, region in required.items():
        checks += overflow.of_region(buffer.name, region)
        checks += buffer_checks(buffer, region, "input_too_small")
    return checks


def _standing(
    program: StagedPipeline,
    roots: Sequence[Stmt | Expr],
    outputs: Sequence[Function],
    assumptions: Assumptions,
) -> dict[BufferSym | ParamSym, None]:
    """The input images, in the order in which the stages mention them, the Params and
    the outputs, with all that what is promised of them mentions in turn."""
    exprs = [e for f in program.order for s in program.stages[f] for e in s.exprs]
    found = {s: None for root in (*exprs, *roots) for s in _symbols(root)}
    found |= {b: None for f in outputs for b in f.buffers}
    waiting = list(found)
    while waiting:
        symbol = waiting.pop(0)
        for e in assumptions.of(symbol):
            new = [] if e is None else [s for s in _symbols(e) if s not in found]
            found |= dict.fromkeys(new)
            waiting += new
    return found


def _symbols(root: Stmt | Expr) -> dict[BufferSym | ParamSym, None]:
    """The Params, and the images that callers give, that something mentions."""
    found: dict[BufferSym | ParamSym, None] = {}
    for n in nodes(root):
        symbol = symbol_of(n)
        if isinstance(symbol, ParamSym) or symbol and symbol.role == "input":
            found[symbol] = None
    return found


def _arguments(
    body: Stmt,
    standing: Mapping[BufferSym | ParamSym, None],
    outputs: Sequence[Function],
) -> tuple[Argument, ...]:
    """Of all that stands; the Params in the order in which the body mentions them."""
    symbols = [*_symbols(body), *standing]
    params = dict.fromkeys([s for s in symbols if isinstance(s, ParamSym)])
    inputs = [s for s in standing if isinstance(s, BufferSym) and s.role == "input"]
    return (
        *[Argument(b.name, ArgKind.INPUT, b) for b in inputs],
        *[Argument(p.name, ArgKind.SCALAR, p) for p in params],
        *[Argument(b.name, ArgKind.OUTPUT, b) for f in outputs for b in f.buffers],
    )


class _LetExpander:
    """Replaces lets by their values, all the way to arguments."""

    def __init__(self) -> None:
        self._known: dict[Var, Expr] = {}

    def of(self, e: Expr) -> Expr:
        env: dict[Var, Expr] = {}
        for v in free_vars(e):
            if v.value is None:
                continue
            if v not in self._known:
                self._known[v] = self.of(v.value)
            env[v] = self._known[v]
        return simplify(substitute(e, env))

    def region(self, region: Region) -> tuple[ArgumentRegion, ...]:
        return tuple([ArgumentRegion(self.of(r.lo), self.of(r.hi)) for r in region])
