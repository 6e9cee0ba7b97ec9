"""Algorithms written straight in the IR, for tests that stand below the language."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.ir.build import TRUE, int32
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, DimName, Function, ReductionDomain
from parhelion.ir.names import unique_name, user_var
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.directives import FuncSchedule, StageSchedule
from parhelion.types import Type


def variables(names: str) -> list[Var]:
    return [user_var(n) for n in names.split()]


def define(name: str, args: Sequence[Var], *values: Expr) -> Function:
    """A Func with its pure definition."""
    func = Function(unique_name(name), FuncSchedule(), None)
    func.args = tuple(args)
    func.types = tuple([v.type for v in values])
    func.pure = Definition(func.args, values, None, StageSchedule(), None)
    return func


def update(
    func: Function,
    args: Sequence[Expr],
    *values: Expr,
    rdom: ReductionDomain | None = None,
) -> None:
    """Adds ``func[args] = values``."""
    made = Definition(tuple(args), values, rdom, StageSchedule(), None)
    func.updates = (*func.updates, made)


def domain(
    *ranges: tuple[int, int], where: Expr = TRUE, names: str = "rx ry rz rw"
) -> ReductionDomain:
    """An RDom over (min, extent) pairs."""
    return ReductionDomain(
        tuple([DimName(n) for n in names.split()[: len(ranges)]]),
        tuple([int32(low) for low, _ in ranges]),
        tuple([int32(n) for _, n in ranges]),
        where,
    )


def call(func: Function, *args: Expr | int, value: int = 0) -> FuncCall:
    return FuncCall(func.types[value], func, at(args), value)


def image(name: str, type: Type, dimensions: int) -> BufferSym:
    return BufferSym(unique_name(name), type, dimensions, "input")


def load(sym: BufferSym, *args: Expr | int) -> ImageLoad:
    return ImageLoad(sym.type, sym, at(args))


def at(args: Sequence[Expr | int]) -> tuple[Expr, ...]:
    return tuple([int32(a) if isinstance(a, int) else a for a in args])
