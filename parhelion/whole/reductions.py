"""Sums, means and extremes over axes of an array.

Each is a Func with an update over an RDom. Sums of integers are of 64 bits, as in
NumPy; sums of floats of at most 32 bits are added up in float64 and rounded once, so
that their order does not matter much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang import ops
from parhelion.lang.checked import integer
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.inline import update_over
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.types import BOOL, Type
from parhelion.whole.align import shown
from parhelion.whole.core import (
    Whole,
    coordinate,
    letters,
    loop_order,
    moved,
    read,
    with_axes,
)
from parhelion.whole.elementwise import apply, cast, truth
from parhelion.whole.promotion import FLOAT64, float_for, sum_type
from parhelion.whole.trace import Filled

#: What stands for axes: a place, a letter, or several.
Axes = int | str | Sequence[int | str] | None


@dataclass(frozen=True, slots=True)
class _Fold:
    """How elements are folded: in a type, from an initial value, by a step."""

    type: Callable[[Type], Type]
    initial: Callable[[Type], Node]
    step: Callable[[Node, Node], Node]
    gives: Callable[[Type], Type]
    needs_elements: bool = False


def _same(t: Type) -> Type:
    return t


def _accumulated(t: Type) -> Type:
    return FLOAT64 if t.is_float() else sum_type(t)


def _keeping_nan(step: Callable[[Node, Node], Node]) -> Callable[[Node, Node], Node]:
    def fold(old: Node, new: Node) -> Node:
        if not new.type.is_float():
            return step(old, new)
        return build.select(build.ne(new, new), new, step(old, new))

    return fold


def _added(old: Node, new: Node) -> Node:
    return build.lor(old, new) if new.type.is_bool() else build.add(old, new)


_FOLDS = {
    "sum": _Fold(_accumulated, lambda t: imm(0, t), build.add, sum_type),
    "prod": _Fold(_accumulated, lambda t: imm(1, t), build.mul, sum_type),
    "max": _Fold(
        _same, lambda t: imm(t.lowest(), t), _keeping_nan(ops.maximum), _same, True
    ),
    "min": _Fold(
        _same, lambda t: imm(t.highest(), t), _keeping_nan(ops.minimum), _same, True
    ),
    # Sums of products, which have the type of these.
    "dot": _Fold(_same, lambda t: imm(0, t), _added, _same),
    "any": _Fold(lambda _: BOOL, lambda t: imm(False, t), build.lor, lambda _: BOOL),
    "all": _Fold(lambda _: BOOL, lambda t: imm(True, t), build.land, lambda _: BOOL),
}


def places(whole: Whole, axes: Axes, what: str) -> list[int]:
    """Axes by their places in the shape; all of them for None.

    Raises TypeMismatchError for an axis that the array does not have, or one given
    twice.
    """
    if axes is None:
        return list(range(whole.rank))
    if isinstance(axes, str) and len(axes) != 1:
        axes = list(axes)
    given = list(axes) if isinstance(axes, tuple | list) else [axes]
    found = [_place(whole, a, what) for a in given]
    if len(set(found)) != len(found):
        raise TypeMismatchError(f"{what} is given an axis twice: {axes!r}", at=here())
    return found


def _place(whole: Whole, axis: object, what: str) -> int:
    if isinstance(axis, str):
        if axis in whole.names:
            return whole.names.index(axis)
        raise TypeMismatchError(
            f"{what}: the array has no axis {axis!r}; its axes are"
            f" {shown(whole.names)}",
            at=here(),
            hint='Annotated[hl.Array, "yxc"] names the axes of an argument'
            if None in whole.names
            else "",
        )
    n = integer(axis, "an axis")
    if not -whole.rank <= n < whole.rank:
        raise TypeMismatchError(
            f"{what}: an array of {whole.rank} axes has no axis {n}", at=here()
        )
    return n % whole.rank


def reduce(kind: str, whole: Whole, axes: Axes, keepdims: bool) -> Whole:
    """The sum, prod, max, min, any, all or dot of an array over axes.

    keepdims: whether these stay, with one element each.
    """
    fold = _FOLDS[kind]
    over = places(whole, axes, kind)
    own = whole.type
    if fold.needs_elements and whole.trace is not None:
        whole.trace.check(Filled(kind, whole.shape, tuple(over), here()))
    value = _folded(kind, whole, over, fold)
    kept: list[int | None] = [
        k if k not in over else None
        for k in range(whole.rank)
        if keepdims or k not in over
    ]
    names = [whole.names[k] for k in range(whole.rank) if keepdims or k not in over]
    f, shape = value
    # What is left moves together: its axes are counted anew.
    to: dict[int, Node] = {}
    left = [k for k in range(whole.rank) if k not in over]
    for i, k in enumerate(left):
        place = kept.index(k)
        to[len(left) - 1 - i] = coordinate(len(kept) - 1 - place)
    made = with_axes(whole, read(f, shape, to), kept, names)
    made.weak = False
    gives = fold.gives(own)
    return made if made.type is gives else cast(made, gives)


def _folded(
    kind: str, whole: Whole, over: Sequence[int], fold: _Fold
) -> tuple[Func, list[Node]]:
    """The Func of what is left, and its shape."""
    t = fold.type(whole.type)
    left = [k for k in range(whole.rank) if k not in over]
    shape = [whole.shape[k] for k in left]
    named = [Var(c) for c in letters([whole.names[k] for k in left])]
    args = tuple([named[p] for p in loop_order(shape)])
    f = Func(kind)
    f[args] = wrap(fold.initial(t))
    if not over:
        value = moved(whole.value, {p: v._node for p, v in enumerate(named)})
        f[args] = wrap(fold.step(f[args]._node, _element(value, t)))
        return f, shape
    inner = [p for p in loop_order(whole.shape) if whole.rank - 1 - p in over]
    domain = RDom([(wrap(int32(0)), wrap(whole.extent(p))) for p in inner])
    to: dict[int, Node] = {p: domain[i]._node for i, p in enumerate(inner)}
    for q, v in enumerate(named):
        to[whole.rank - 1 - left[len(left) - 1 - q]] = v._node
    value = _element(moved(whole.value, to), t)
    update_over(f, args, wrap(fold.step(f[args]._node, value)), domain)
    return f, shape


def _element(value: Node, t: Type) -> Node:
    return truth(value) if t.is_bool() else build.cast(t, value)


def count(whole: Whole, over: Sequence[int], t: Type) -> Whole:
    """The number of elements of some axes, as a float."""
    found: Node = imm(1, FLOAT64)
    for k in over:
        found = build.mul(found, build.cast(FLOAT64, whole.shape[k]))
    return Whole(build.cast(t, found), (), (), whole.trace)


def mean(whole: Whole, axes: Axes, keepdims: bool) -> Whole:
    """The mean over axes: in float32 for integers of at most 16 bits, else in float64
    or the array's own type."""
    over = places(whole, axes, "mean")
    wide = cast(reduce("sum", _wide(whole), list(over), keepdims), FLOAT64)
    found = apply("divide", wide, count(whole, over, FLOAT64))
    return cast(found, float_for(whole.type))


def variance(whole: Whole, axes: Axes, keepdims: bool, ddof: int) -> Whole:
    """The variance over axes, of the deviations from the mean."""
    over = places(whole, axes, "var")
    wide = cast(whole, FLOAT64)
    away = apply("subtract", wide, mean(wide, list(over), True))
    total = reduce("sum", apply("square", away), list(over), keepdims)
    one = Whole(imm(ddof, FLOAT64), (), (), whole.trace)
    number = apply("subtract", count(whole, over, FLOAT64), one)
    return cast(apply("divide", total, number), float_for(whole.type))


def _wide(whole: Whole) -> Whole:
    # Sums of integers of 64 bits would wrap.
    wide = whole.type.is_float() or whole.type.width == 64
    return cast(whole, FLOAT64) if wide else whole


__all__ = ["Axes", "mean", "places", "reduce", "variance"]
