"""What lowering makes and code generation takes: a program with its arguments."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from parhelion.ir.expr import Expr
from parhelion.ir.function import Function
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym, ParamSym


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


@dataclass(frozen=True, slots=True)
class Region:
    """Inclusive bounds of one dimension, over the outputs' min and extent Vars and
    the scalar parameters."""

    min: Expr
    max: Expr


@dataclass(frozen=True, slots=True)
class Lowered:
    """A pipeline as an imperative program.

    args: inputs and scalars in order of first use, then the outputs.
    body: loads, stores, loops, asserts; free Vars are those of the args' symbols.
    required: what each input must cover. written: what the schedule writes of each
        output, which is the output's own region rounded up by its splits.
    """

    name: str
    outputs: tuple[Function, ...]
    args: tuple[Argument, ...]
    body: Stmt
    required: dict[BufferSym, tuple[Region, ...]]
    written: dict[BufferSym, tuple[Region, ...]]
    strict_float: bool = False
    index64: bool = False
