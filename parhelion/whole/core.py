"""`Whole`: an array as a value at each point, with its extents and the names of axes.

The value is an expression of `coordinate(p)`, one for each axis, which is counted from
the last: so values of arrays that NumPy would broadcast fit together as they are. An
axis has a letter or, where nobody named it, None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from parhelion.analysis.facts import Facts
from parhelion.dataclass import dataclass
from parhelion.errors import DefinitionError, here
from parhelion.ir.build import const_int, imm, int32, le
from parhelion.ir.expr import Cast, FuncCall, ImageLoad
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.names import user_var
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.ref import FuncRef
from parhelion.lang.var import Var
from parhelion.simplify.simplifier import simplify
from parhelion.types import Type
from parhelion.whole.promotion import weak_type
from parhelion.whole.trace import Trace

#: Letters for axes without a name, counted from the last.
_LETTERS = "xyzwtuvs"
#: A last axis of at most this many elements holds channels: its loop goes outside.
MOST_CHANNELS = 4


def coordinate(p: int) -> IRVar:
    """The Var of axis `p`, counted from the last."""
    return user_var(f"axis{p}")


@dataclass(eq=False, slots=True)
class Whole:
    """An array in a function that is traced.

    value: of the point whose coordinates are `coordinate(p)`.
    shape: extents, int32 nodes, the outermost axis first, as in NumPy.
    names: a letter for each axis, or None.
    trace: the tracing that it belongs to; None for constants.
    weak: whether it is a number that takes the type of what it stands beside.
    """

    value: Node
    shape: tuple[Node, ...]
    names: tuple[str | None, ...]
    trace: Trace | None = None
    weak: bool = False
    #: The Func that computes it, once it was asked for; and those with borders.
    func: Func | None = None
    bordered: dict[object, Func] = field(default_factory=dict)

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def rank(self) -> int:
        return len(self.shape)

    def extent(self, p: int) -> Node:
        """The extent of axis `p`, counted from the last."""
        return self.shape[-1 - p]


def number(value: bool | int | float) -> Whole:
    """A Python number."""
    return Whole(imm(value, weak_type(value)), (), (), weak=True)


def moved(value: Node, to: Mapping[int, Node]) -> Node:
    """A value with other coordinates on some axes, which are counted from the last."""
    return substitute(value, {coordinate(p): at for p, at in to.items()})


def is_plain(node: Node) -> bool:
    """Whether a value is read and not computed: so that it may be read many times."""
    while isinstance(node, Cast):
        node = node.a
    return isinstance(node, ImageLoad | FuncCall) or not free_vars(node)


def loop_order(shape: Sequence[Node]) -> list[int]:
    """The axes, counted from the last, from the innermost loop outwards.

    It is the order of an array in memory, but that channels go outside.
    """
    order = list(range(len(shape)))
    if len(shape) > 2:
        last = const_int(shape[-1])
        if last is not None and last <= MOST_CHANNELS:
            return [*order[1:], 0]
    return order


def letters(names: Sequence[str | None]) -> list[str]:
    """A different letter for each axis, counted from the last: its name if it has
    one."""
    taken = {n for n in names if n is not None}
    free = iter([c for c in (*_LETTERS, *"abdefghijklmnopqr") if c not in taken])
    return [next(free) if n is None else n for n in reversed(names)]


def define(whole: Whole, name: str, into: Func | None = None) -> Func:
    """A Func that has the value of an array, in the order of `loop_order`: a new one,
    unless it is given."""
    f = Func(name) if into is None else into
    named = [Var(c) for c in letters(whole.names)]
    value = moved(whole.value, {p: v._node for p, v in enumerate(named)})
    f[tuple([named[p] for p in loop_order(whole.shape)])] = wrap(value)
    return f


def read(f: Func, shape: Sequence[Node], at: Mapping[int, Node] | None = None) -> Node:
    """The value of a Func that `define` made for arrays of a shape; at: other
    coordinates on some axes."""
    moved_to = {} if at is None else at
    places = [moved_to.get(p, coordinate(p)) for p in loop_order(shape)]
    return FuncRef(f._function, tuple([wrap(n) for n in places]))._node


def read_all(f: Func, shape: Sequence[Node]) -> list[Node]:
    """As `read`, of a Func that has several values at each point."""
    ref = FuncRef(f._function, tuple([wrap(coordinate(p)) for p in loop_order(shape)]))
    return [ref[i]._node for i in range(len(ref))]


def computed(whole: Whole, name: str = "stage") -> Whole:
    """The same array as a Func of its own, where it is more than a pixel: it may be
    read at many places, and is computed once if the schedule says so."""
    if is_plain(whole.value):
        return whole
    if whole.func is None:
        whole.func = define(whole, name)
        whole.value = read(whole.func, whole.shape)
    return whole


def common_trace(wholes: Sequence[Whole]) -> Trace | None:
    """The tracing that arrays belong to. Raises DefinitionError for those of two, and
    of one that is over."""
    found: Trace | None = None
    for w in wholes:
        if w.trace is None or w.trace is found:
            continue
        if found is not None or w.trace.finished:
            raise DefinitionError(
                "an array of another call of a function under hl.jit is used: it was"
                " the value of a variable there, and has no elements here",
                at=here(),
                hint="return it from that function, and give the result to this one",
            )
        found = w.trace
    return found


def with_axes(
    whole: Whole, value: Node, kept: Sequence[int | None], names: Sequence[str | None]
) -> Whole:
    """An array of some axes of another one, given by their positions in its shape, None
    for one of a single element."""
    shape = [int32(1) if k is None else whole.shape[k] for k in kept]
    return replace(
        whole,
        value=value,
        shape=tuple(shape),
        names=tuple(names),
        func=None,
        bordered={},
    )


def tidy(size: Node) -> Node:
    """An extent, simplified: those of inputs that are not fixed are 2 at least."""
    facts = Facts.EMPTY
    for v in free_vars(size):
        facts = facts.assume(le(int32(2), v))
    return simplify(size, facts)


__all__ = [
    "MOST_CHANNELS",
    "Whole",
    "common_trace",
    "computed",
    "coordinate",
    "define",
    "is_plain",
    "letters",
    "loop_order",
    "moved",
    "number",
    "read",
    "read_all",
    "tidy",
    "with_axes",
]
