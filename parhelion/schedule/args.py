"""What users pass to directives, turned into IR: Vars, Funcs and integers.

The classes of `lang` are known here only by the attribute that holds their IR, so
that `schedule` does not depend on `lang`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Protocol, SupportsIndex, TypeAlias, runtime_checkable

from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, ScheduleError, here
from parhelion.ir.build import cast, const_int, int32
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Function, ReductionDomain, var_label
from parhelion.ir.names import is_user_rvar, is_user_var
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.schedule.directives import (
    DeviceAPI,
    FuncSchedule,
    LoopLevel,
    TailStrategy,
)
from parhelion.types import INT32


class HasVar(Protocol):
    """A Var, an RVar, or a one-dimensional RDom."""

    @property
    def _var(self) -> Var: ...


@runtime_checkable
class HasFunction(Protocol):
    """A Func (or a Stage)."""

    @property
    def _function(self) -> Function: ...


@runtime_checkable
class HasImage(Protocol):
    """An ImageParam."""

    @property
    def _sym(self) -> BufferSym: ...


@runtime_checkable
class HasLevel(Protocol):
    """A public LoopLevel, whose `set` also changes the schedules it was given to."""

    @property
    def _level(self) -> LoopLevel: ...

    def _attach(self, schedule: FuncSchedule, slot: str) -> None: ...


class HasNode(Protocol):
    """An Expr."""

    @property
    def _node(self) -> Expr: ...


class HasSym(Protocol):
    """A Param."""

    @property
    def _sym(self) -> ParamSym: ...


IntLike: TypeAlias = "SupportsIndex | HasNode | HasSym"


def is_rvar(v: Var) -> bool:
    """Whether `v` belongs to an RDom or was made by ``hl.RVar``."""
    return isinstance(v.origin, ReductionDomain) or is_user_rvar(v)


def nameable(v: Var) -> bool:
    """Whether the user has an object for this Var: it was not made by a directive."""
    return is_rvar(v) or is_user_var(v)


def to_var(given: object, directive: str) -> Var:
    """The IR Var of a Var, an RVar or a one-dimensional RDom."""
    found = _attribute(given, "_var", directive)
    if isinstance(found, Var):
        return found
    raise ScheduleError(
        f"{directive} takes a Var or RVar, not {_describe(given)}",
        at=here(),
        hint=f"give the Var that the Func is defined with, or hl.Var({given!r})"
        if isinstance(given, str)
        else "",
    )


def _attribute(given: object, name: str, directive: str) -> object:
    """The IR behind `given`; one that is not fit to have any says so itself."""
    try:
        return getattr(given, name, None)
    except HalideError as error:
        raise ScheduleError(
            f"{directive}: {error.what}", at=here(), hint=error.hint
        ) from error


def to_vars(given: Sequence[object], directive: str) -> list[Var]:
    """The Vars of ``(x, y, z)`` or ``([x, y, z],)``."""
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = given[0]
    return [to_var(one, directive) for one in given]


def to_source(given: object, directive: str) -> Function | BufferSym:
    """What stands for a Func or an ImageParam."""
    if isinstance(given, HasFunction):
        return given._function
    image = getattr(given, "_sym", None)
    if isinstance(image, BufferSym) and image.role == "input":
        return image
    raise ScheduleError(
        f"{directive} takes a Func or an ImageParam, not {_describe(given)}", at=here()
    )


def to_function(given: object, directive: str) -> Function:
    """The IR Function of a Func."""
    if isinstance(given, HasFunction):
        return given._function
    raise ScheduleError(f"{directive} takes a Func, not {_describe(given)}", at=here())


def to_int(given: object, directive: str, what: str) -> Expr:
    """An int32 expression that every run can evaluate before it starts.

    Accepts Python and NumPy integers, integer Exprs over Params and image sizes,
    and Params.
    """
    e = _int_node(given, directive)
    if e is None:
        raise ScheduleError(
            f"{directive}: the {what} must be an integer, not {_describe(given)}",
            at=here(),
        )
    if not e.type.is_int_or_uint() or e.type.count != 1:
        raise ScheduleError(
            f"{directive}: the {what} must be an integer, not a value of type {e.type}",
            at=here(),
        )
    for n in nodes(e):
        if isinstance(n, (FuncCall, ImageLoad)) or (
            isinstance(n, Var) and (n.origin is None or is_rvar(n))
        ):
            named = var_label(n) if isinstance(n, Var) else "a pixel"
            raise ScheduleError(
                f"{directive}: the {what} may depend on Params and on the sizes of"
                f" images, not on {named}",
                at=here(),
            )
    value = const_int(e)
    if value is not None and not -(2**31) <= value < 2**31:
        raise ScheduleError(
            f"{directive}: the {what} {value} does not fit 32 bits", at=here()
        )
    return cast(INT32, e)


def _int_node(given: object, directive: str) -> Expr | None:
    var = _attribute(given, "_var", directive)
    if isinstance(var, Var):
        return var
    symbol = _attribute(given, "_sym", directive)
    if isinstance(symbol, ParamSym):
        return symbol.var
    node = _attribute(given, "_node", directive)
    if isinstance(node, Expr):
        return node
    if isinstance(given, bool):
        return None
    try:
        value = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        return None
    if not -(2**31) <= value < 2**31:
        raise ScheduleError(f"{directive}: {value} does not fit 32 bits", at=here())
    return int32(value)


def _describe(given: object) -> str:
    kind = type(given).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    return f"{given!r} ({article} {kind})"


# The forms of tile.


@dataclass(frozen=True, slots=True)
class TileForm:
    """The arguments of `tile`, whichever of its four forms was called."""

    olds: Sequence[object]
    outers: Sequence[object]
    inners: Sequence[object]
    factors: Sequence[object]
    tail: TailStrategy


#: With names of their own for the loops over blocks, and without.
_GPU_TILE_FORMS = tuple(
    (
        *letters,
        *(f"b{c}" for c in letters if apart),
        *(f"t{c}" for c in letters),
        *(f"{c}_size" for c in letters),
    )
    for letters in ("x", "xy", "xyz")
    for apart in (True, False)
)

_TILE_FORMS = (
    ("x", "y", "xo", "yo", "xi", "yi", "xfactor", "yfactor"),
    ("x", "y", "xi", "yi", "xfactor", "yfactor"),
    ("previous", "outers", "inners", "factors"),
    ("previous", "inners", "factors"),
)


def gpu_tile_form(
    label: str, given: tuple[object, ...], named: dict[str, object]
) -> tuple[TileForm, object]:
    """Finds out which form of `gpu_tile` was called; the tiling and the device.

    label: the directive and its stage, for errors.
    """
    known = dict(named)
    device = known.pop("device_api", DeviceAPI.Default_GPU)
    if given and isinstance(given[-1], DeviceAPI):
        given, device = given[:-1], given[-1]
    tail = known.pop("tail", TailStrategy.Auto)
    if given and isinstance(given[-1], TailStrategy):
        given, tail = given[:-1], given[-1]
    if isinstance(tail, TailStrategy):
        for names in _GPU_TILE_FORMS:
            bound = dict(zip(names, given, strict=False)) | known
            if len(given) + len(known) == len(names) and set(bound) == set(names):
                values = [bound[n] for n in names]
                count = sum(n.endswith("_size") for n in names)
                parts = [values[i : i + count] for i in range(0, len(values), count)]
                olds, *outers, inners, sizes = parts
                form = TileForm(olds, (outers or [olds])[0], inners, sizes, tail)
                return form, device
    raise ScheduleError(
        f"{label}: the arguments fit none of its forms",
        at=here(),
        legal=[
            f"gpu_tile({', '.join(names)}, tail=Auto, device_api=Default_GPU)"
            for names in _GPU_TILE_FORMS
        ],
    )


def tile_form(
    label: str, given: tuple[object, ...], named: dict[str, object]
) -> TileForm:
    """Finds out which form of `tile` was called; label: as for `gpu_tile_form`."""
    named = dict(named)
    tail = named.pop("tail", TailStrategy.Auto)
    if given and isinstance(given[-1], TailStrategy):
        given, tail = given[:-1], given[-1]
    if isinstance(tail, TailStrategy):
        for names in _TILE_FORMS:
            bound = dict(zip(names, given, strict=False)) | named
            if len(given) + len(named) != len(names) or set(bound) != set(names):
                continue
            lists = all(isinstance(v, (list, tuple)) for v in bound.values())
            if lists == (names[0] == "previous"):
                return _tile_of(label, bound, tail)
    raise ScheduleError(
        f"{label}: the arguments fit none of its forms",
        at=here(),
        legal=[f"tile({', '.join(names)}, tail=Auto)" for names in _TILE_FORMS],
    )


def _tile_of(label: str, bound: dict[str, object], tail: TailStrategy) -> TileForm:
    if "previous" in bound:
        olds = _items(bound["previous"])
        outers = _items(bound["outers"]) if "outers" in bound else olds
        inners, factors = _items(bound["inners"]), _items(bound["factors"])
        if not len(olds) == len(outers) == len(inners) == len(factors):
            raise ScheduleError(
                f"{label}: the lists must have the same length, not"
                f" {len(olds)}, {len(outers)}, {len(inners)} and {len(factors)}",
                at=here(),
            )
        return TileForm(olds, outers, inners, factors, tail)
    olds = (bound["x"], bound["y"])
    outers = (bound["xo"], bound["yo"]) if "xo" in bound else olds
    inners = (bound["xi"], bound["yi"])
    return TileForm(olds, outers, inners, (bound["xfactor"], bound["yfactor"]), tail)


def _items(given: object) -> tuple[object, ...]:
    return tuple(given) if isinstance(given, (list, tuple)) else (given,)
