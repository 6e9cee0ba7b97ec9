"""What lowering makes and code generation takes: a program with its arguments."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir.device import Device
from parhelion.ir.expr import Expr
from parhelion.ir.function import Function
from parhelion.ir.promises import NOTHING, Assumptions
from parhelion.ir.stmt import NOP, Assert, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym

#: What a thread of code that is profiled is at, as a number: it waits for others; it
#: does what is no Func's own work; from `FIRST_FUNC` on, a Func.
WAITING, OVERHEAD, FIRST_FUNC = range(3)

#: Where the totals of a Func in profiled code keep what is counted of one that is
#: computed on demand: values computed, reads that found theirs, values that are stored.
LAZY_WORDS = {"computed": 7, "hits": 8, "stored": 9}


class ArgKind(enum.Enum):
    SCALAR = "scalar"
    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the compiled function, in calling order."""

    name: str
    kind: ArgKind
    symbol: ParamSym | BufferSym

    @property
    def embedded(self) -> bool:
        """Whether it is a Buffer that definitions mention, and no user passes."""
        return isinstance(self.symbol, BufferSym) and self.symbol.embedded


@dataclass(frozen=True, slots=True)
class Region:
    """Inclusive bounds of one dimension, over the outputs' min and extent Vars and
    the scalar parameters."""

    min: Expr
    max: Expr


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on parameters that must hold whenever a pipeline runs, and the
    numbers and strings that say so if it does not."""

    condition: Expr
    shown: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A pipeline as an imperative program.

    args: inputs and scalars in order of first use, then the outputs.
    body: loads, stores, loops, asserts; free Vars are those of the args' symbols.
    required: what each input must cover. written: what the schedule writes of each
        output, which is the output's own region rounded up by its splits.
    profiled: where the code is to be profiled, the number of each Func that has loops;
        the copies that lowering makes of a Func share one.
    recorded: whether lines of tracing are handed on as records.
    nests: the loops with their bounds, before any pass has changed them.
    assumptions: what is promised of the arguments.
    bounds: what must hold so that the regions are large enough that the schedule
        promises of Funcs at the root.
    demands: the checks of the schedule's numbers, with which the body begins; whoever
        evaluates `required` and `written` makes them first.
    device: what its kernels are made for.
    """

    name: str
    outputs: tuple[Function, ...]
    args: tuple[Argument, ...]
    body: Stmt
    required: dict[BufferSym, tuple[Region, ...]]
    written: dict[BufferSym, tuple[Region, ...]]
    assumptions: Assumptions = NOTHING
    strict_float: bool = False
    index64: bool = False
    profiled: Mapping[Function, int] = field(default_factory=dict)
    recorded: bool = False
    nests: Stmt = NOP
    bounds: tuple[Expr, ...] = ()
    demands: tuple[Assert, ...] = ()
    device: Device | None = None
