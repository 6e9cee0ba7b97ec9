"""One directive of a script as data: what it is about, its name, what it is given."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from parhelion.dataclass import dataclass
from parhelion.errors import InternalError
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import Function, ReductionDomain
from parhelion.ir.symbols import BufferSym
from parhelion.lang.func import Func, Stage
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.rdom import RVar
from parhelion.lang.var import Var
from parhelion.schedule.args import is_rvar

#: Directives on the loops of one definition.
STAGE_METHODS = frozenset(
    (
        *("split", "tile", "reorder", "fuse", "rename", "serial", "vectorize"),
        *("unroll", "parallel", "unscheduled", "rfactor", "atomic", "prefetch"),
        *("allow_race_conditions", "compute_with", "partition", "never_partition"),
        *("never_partition_all", "always_partition", "tile_scan"),
        *("gpu_blocks", "gpu_threads", "gpu_lanes", "gpu_tile", "gpu"),
        "gpu_single_thread",
    )
)
#: Directives on a Func as a whole, and on its storage.
FUNC_METHODS = frozenset(
    (
        *("compute_root", "compute_at", "compute_inline", "store_at", "store_root"),
        "compute_lazy",
        *("hoist_storage", "hoist_storage_root", "store_in", "reorder_storage"),
        *("fold_storage", "align_storage", "bound_storage", "bound", "bound_extent"),
        *("align_bounds", "align_extent", "in_", "clone_in", "async_", "ring_buffer"),
    )
)
#: Those that return another Func.
MAKERS = frozenset(("rfactor", "in_", "clone_in"))
#: Those whose first argument is a Func and the next ones are loops of that Func.
LEVELS = frozenset(("compute_at", "store_at", "hoist_storage"))


@dataclass(frozen=True, slots=True)
class VarArg:
    """``hl.Var(name)``, or the pure Var of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class RVarArg:
    """A dimension of an RDom, or ``hl.RVar(name)``.

    domain: the RDom's, if the Var is one of its dimensions. Without it, the name means
    a dimension of the RDom of the definition that the call is about, and if there is
    none of that name, ``hl.RVar(name)``.
    """

    name: str
    domain: ReductionDomain | None = None


@dataclass(frozen=True, slots=True)
class FuncArg:
    """A Func of the pipeline."""

    function: Function


@dataclass(frozen=True, slots=True)
class ImageArg:
    """An ImageParam of the pipeline, for `prefetch`."""

    image: BufferSym


@dataclass(frozen=True, slots=True)
class Made:
    """The Func that an earlier call returns (`in_`, `clone_in`, `rfactor`)."""

    call: int


@dataclass(frozen=True, slots=True)
class StageArg:
    """``func.update(stage - 1)``, for `compute_with`."""

    function: Function | Made
    stage: int


@dataclass(frozen=True, slots=True)
class LevelArg:
    """``hl.LoopLevel(func, var, stage)``: a loop of one definition of a Func."""

    function: Function | Made
    var: VarArg | RVarArg
    stage: int


#: What a directive may be about: a Func, one that an earlier call makes, or an image.
Target: TypeAlias = "Function | Made | BufferSym"
#: What a call may be given; enumerations are those of the schedule (TailStrategy, …).
Arg: TypeAlias = (
    "VarArg | RVarArg | FuncArg | ImageArg | Made | StageArg | LevelArg | Enum | int |"
    " None | tuple[Arg, ...]"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One directive: ``function.update(stage - 1).method(*args)``.

    function: what it is about; of an image there is only ``image.in_``. stage: -1 for
    directives on the Func as a whole, 0 for its pure definition, k for update k - 1.
    """

    function: Target
    stage: int
    method: str
    args: tuple[Arg, ...] = ()


def var_arg(v: IRVar) -> VarArg | RVarArg:
    """The argument that stands for a loop that the user can name."""
    if isinstance(v.origin, ReductionDomain):
        return RVarArg(v.name, v.origin)
    return RVarArg(v.name) if is_rvar(v) else VarArg(v.name)


def to_arg(given: object) -> Arg:
    """An argument of a directive as the script keeps it: IR or public Vars, RVars and
    Funcs, numbers, choices, and lists of them."""
    if isinstance(given, Func):
        return FuncArg(given._function)
    if isinstance(given, Stage):
        return StageArg(given._function, given._stage)
    if isinstance(given, Var | RVar):
        return var_arg(given._var)
    if isinstance(given, IRVar):
        return var_arg(given)
    if isinstance(given, Function):
        return FuncArg(given)
    if isinstance(given, ImageParam):
        return ImageArg(given._sym)
    if isinstance(given, BufferSym):
        return ImageArg(given)
    if isinstance(given, list | tuple):
        return tuple([to_arg(one) for one in given])
    if given is None or isinstance(
        given,
        VarArg | RVarArg | FuncArg | ImageArg | Made | StageArg | LevelArg | Enum | int,
    ):
        return given
    raise InternalError(f"internal error: a script cannot hold the argument {given!r}")


__all__ = [
    "FUNC_METHODS",
    "LEVELS",
    "MAKERS",
    "STAGE_METHODS",
    "Arg",
    "Call",
    "FuncArg",
    "ImageArg",
    "LevelArg",
    "Made",
    "RVarArg",
    "StageArg",
    "Target",
    "VarArg",
    "to_arg",
    "var_arg",
]
