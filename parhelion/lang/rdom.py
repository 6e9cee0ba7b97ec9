"""`RDom` and `RVar`: the boxes of integers that updates and reductions walk over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias, cast, runtime_checkable

from parhelion.errors import (
    BoundsError,
    DefinitionError,
    TypeMismatchError,
    here,
)
from parhelion.ir import build
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import DimName, ReductionDomain, var_label
from parhelion.ir.names import fresh, user_rvar
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.lang.checked import a_kind, integer
from parhelion.lang.convert import is_literal, literal_as, node_of
from parhelion.lang.expr import (
    Expr,
    ExprLike,
    Operand,
    is_undefined,
    not_iterable,
    text_of,
    wrap,
)
from parhelion.types import INT32

_LETTERS = "xyzw"


class Range:
    """An interval of coordinates, from `min` to ``min + extent - 1``.

    ``Range()`` is unbounded. Where a Range is taken, a pair ``(min, extent)`` serves as
    well. Raises TypeMismatchError for another number of arguments.

    >>> hl.RDom([hl.Range(0, 4), (1, 2)], "r")
    <parhelion.RDom r.x(0, 4), r.y(1, 2)>
    """

    __slots__ = ("min", "extent")

    def __init__(self, *bounds: ExprLike | None | tuple[ExprLike, ExprLike]) -> None:
        given: tuple[object, ...] = bounds
        if len(given) == 1 and isinstance(given[0], tuple | list):
            given = tuple(given[0])
        if len(given) not in (0, 2):
            raise TypeMismatchError(
                "a Range takes a min and an extent, or nothing", at=here()
            )
        low, extent = given if given else (None, None)
        self.min = Expr() if is_undefined(low) else wrap(node_of(low))
        self.extent = Expr() if is_undefined(extent) else wrap(node_of(extent))

    def __repr__(self) -> str:
        if not self.min.defined():
            return "<parhelion.Range, unbounded>"
        low, extent = text_of(self.min._node), text_of(self.extent._node)
        return f"<parhelion.Range {low}, {extent}>"


RangeLike: TypeAlias = Range | tuple[ExprLike, ExprLike] | Sequence[ExprLike]


@runtime_checkable
class Bounded(Protocol):
    """A Buffer or an ImageParam: what says how large it is."""

    def dimensions(self) -> int: ...

    def dim(self, dimension: int, /) -> Any: ...


class RVar(Operand):
    """One dimension of an RDom, an Int(32) in expressions.

    ``RVar("name")`` is a loop that a schedule splits off one; it has no value.

    >>> r = hl.RDom([(0, 4)], "r")
    >>> r.x
    <parhelion.RVar 'r.x' (0, 4)>
    """

    __slots__ = ("_var",)
    _var: IRVar

    def __init__(self, name: str | None = None) -> None:
        self._var = user_rvar(fresh("r") if name is None else name)

    @property
    def _domain(self) -> ReductionDomain | None:
        origin = self._var.origin
        return origin if isinstance(origin, ReductionDomain) else None

    @property
    def _node(self) -> IRVar:
        if self._domain is None:
            raise DefinitionError(
                f"RVar {self._var.name!r} belongs to no RDom and has no value",
                at=here(),
                hint="RVars made by name are for schedules; in a definition use "
                "those of an RDom: r = hl.RDom([(0, 10)]); r.x",
            )
        return self._var

    def name(self) -> str:
        """Returns the name, as in ``r.x`` for the first dimension of an RDom called
        r."""
        return var_label(self._var)

    def _bound(self, which: str) -> Expr:
        domain = self._domain
        if domain is None:
            return Expr()
        bounds: tuple[Node, ...] = getattr(domain, which)
        return wrap(bounds[domain.vars.index(self._var)])

    def min(self) -> Expr:
        """Returns the first value; an undefined Expr for an RVar without an RDom."""
        return self._bound("mins")

    def extent(self) -> Expr:
        """Returns the number of values; an undefined Expr for an RVar without an
        RDom."""
        return self._bound("extents")

    def __iter__(self) -> NoReturn:
        raise not_iterable(self)

    def __repr__(self) -> str:
        domain = self._domain
        if domain is None:
            return f"<parhelion.RVar {self._var.name!r}>"
        low, extent = text_of(self.min()._node), text_of(self.extent()._node)
        return f"<parhelion.RVar {self.name()!r} ({low}, {extent})>"

    def __str__(self) -> str:
        return self.name()


def of_rvar(v: IRVar) -> RVar:
    """The user's handle on a dimension of a domain."""
    made = object.__new__(RVar)
    made._var = v
    return made


class RDom(Operand):
    """A box of integers that an update or a reduction runs over.

    The points come in order, the first dimension fastest. ``RDom([(min, extent), …])``
    takes the ranges, which may depend on Params and on the sizes of images;
    ``RDom(image)`` is the region of a Buffer or an ImageParam. The dimensions are
    ``r.x, r.y, r.z, r.w`` or ``r[0], r[1], …``; an RDom of one dimension is itself an
    expression.

    Raises BoundsError for a negative extent, TypeMismatchError for what are no ranges,
    and DefinitionError for ranges that depend on Vars, Funcs or pixels.

    >>> r = hl.RDom([(0, 3)])
    >>> histogram, image = hl.Func(), hl.Buffer(np.array([2, 0, 2], np.uint8))
    >>> histogram[x] = 0
    >>> histogram[image[r]] += 1
    >>> np.asarray(histogram.realize([3])).tolist()
    [1, 0, 2]
    """

    __slots__ = ("_domain",)
    _domain: ReductionDomain

    def __init__(self, region: Sequence[RangeLike] | Bounded, name: str = "") -> None:
        ranges, prefix = _ranges(region), name or fresh("r")
        mins, extents = [], []
        for d, one in enumerate(ranges):
            mins.append(_bound(one[0], d, "min"))
            extents.append(_bound(one[1], d, "extent"))
            size = const_int(extents[-1])
            if size is not None and size < 0:
                raise BoundsError(
                    f"the extent of an RDom in dimension {d} is {size}; it must not "
                    "be negative",
                    at=here(),
                )
        letters = [*_LETTERS, *map(str, range(len(_LETTERS), len(ranges)))]
        names = tuple([DimName(prefix, letter) for letter in letters[: len(ranges)]])
        self._domain = ReductionDomain(
            names, tuple(mins), tuple(extents), build.TRUE, here()
        )

    @property
    def _var(self) -> IRVar:
        found = self._domain.vars
        if len(found) != 1:
            raise DefinitionError(
                f"an RDom of {len(found)} dimensions is not one value or loop",
                at=here(),
                hint="take a dimension: r.x, r.y, … or r[0], r[1], …",
            )
        return found[0]

    @property
    def _node(self) -> IRVar:
        return self._var

    def __len__(self) -> int:
        return len(self._domain.vars)

    def __getitem__(self, dimension: int) -> RVar:
        try:
            return of_rvar(self._domain.vars[integer(dimension, "a dimension")])
        except IndexError:
            raise BoundsError(
                f"an RDom of {len(self)} dimensions has no dimension {dimension}",
                at=here(),
            ) from None

    def __iter__(self) -> Iterator[RVar]:
        return iter([of_rvar(v) for v in self._domain.vars])

    @property
    def x(self) -> RVar:
        """The first dimension. Raises BoundsError if there are not so many."""
        return self[0]

    @property
    def y(self) -> RVar:
        """The second dimension. Raises BoundsError if there are not so many."""
        return self[1]

    @property
    def z(self) -> RVar:
        """The third dimension. Raises BoundsError if there are not so many."""
        return self[2]

    @property
    def w(self) -> RVar:
        """The fourth dimension. Raises BoundsError if there are not so many."""
        return self[3]

    def defined(self) -> bool:
        """Returns True."""
        return True

    def dimensions(self) -> int:
        """Returns the number of dimensions."""
        return len(self)

    def same_as(self, other: RDom) -> bool:
        """Returns whether both are one domain; ``==`` builds an expression."""
        return self._domain is other._domain

    def where(self, predicate: ExprLike) -> None:
        """Leaves out the points where `predicate` is false; several predicates are
        combined.

        It may mention the dimensions, the pure Vars of the update that uses the domain,
        Params and Funcs. Raises TypeMismatchError if it is not a Bool, and
        DefinitionError if it mentions another RDom or the domain is in use already.

        >>> r = hl.RDom([(0, 5)])
        >>> r.where(r % 2 == 0)
        >>> hl.evaluate(hl.sum(hl.i32(r)))
        6
        """
        condition = node_of(predicate)
        if not condition.type.is_bool():
            raise TypeMismatchError(
                f"RDom.where takes a Bool, not a value of type {condition.type}",
                at=here(),
                hint="compare it: value != 0",
            )
        domain = self._domain
        if domain.frozen:
            raise DefinitionError(
                f"{self!r} is in use by a definition and takes no further predicate",
                at=here(),
                hint="call where before the first definition that uses the RDom",
            )
        for v in sorted(free_vars(condition), key=lambda v: v.name):
            if isinstance(v.origin, ReductionDomain) and v.origin is not domain:
                raise DefinitionError(
                    f"the predicate of {self!r} mentions {var_label(v)}, which "
                    "belongs to another RDom",
                    at=here(),
                )
        domain.predicate = build.land(domain.predicate, condition)

    def __repr__(self) -> str:
        domain = self._domain
        parts = zip(domain.vars, domain.mins, domain.extents, strict=True)
        inside = ", ".join(
            f"{var_label(v)}({text_of(m)}, {text_of(n)})" for v, m, n in parts
        )
        return f"<parhelion.RDom {inside}>"


def of_domain(domain: ReductionDomain) -> RDom:
    """The user's handle on a domain."""
    made = object.__new__(RDom)
    made._domain = domain
    return made


def _ranges(region: object) -> list[tuple[object, object]]:
    if isinstance(region, Bounded):
        dims = [region.dim(d) for d in range(region.dimensions())]
        return [(d.min(), d.extent()) for d in dims]
    if not isinstance(region, Sequence) or isinstance(region, str):
        raise TypeMismatchError(
            "an RDom is made from a list of (min, extent) pairs, a Buffer or an "
            f"ImageParam, not {a_kind(region)}",
            at=here(),
        )
    out = [pair_of(one, "an RDom") for one in region]
    if not out:
        raise TypeMismatchError("an RDom has at least one dimension", at=here())
    return out


def pair_of(one: object, what: str) -> tuple[object, object]:
    """The min and extent of a Range or a pair."""
    if isinstance(one, Range):
        return one.min, one.extent
    if isinstance(one, tuple | list) and len(one) == 2:
        return cast("tuple[object, object]", tuple(one))
    raise TypeMismatchError(
        f"{what} takes (min, extent) pairs, not {one!r:.60}",
        at=here(),
        hint="one dimension is a list of one pair: hl.RDom([(0, 10)])",
    )


def _bound(given: object, d: int, which: str) -> Node:
    """A bound of a domain as an Int(32) that is known before the pipeline starts."""
    if isinstance(given, int) and is_literal(given):
        return literal_as(given, INT32)
    node = node_of(given)
    if not node.type.is_int_or_uint():
        raise TypeMismatchError(
            f"the {which} of an RDom in dimension {d} is an integer, not a value of "
            f"type {node.type}",
            at=here(),
        )
    for n in nodes(node):
        if isinstance(n, FuncCall | ImageLoad):
            name = n.func.name if isinstance(n, FuncCall) else n.image.name
            raise DefinitionError(
                f"the {which} of an RDom in dimension {d} depends on {name}",
                at=here(),
                hint="bounds may depend on Params and on the sizes of images; take "
                "the greatest domain and restrict it with where",
            )
        if isinstance(n, IRVar) and (
            n.origin is None or isinstance(n.origin, ReductionDomain)
        ):
            raise DefinitionError(
                f"the {which} of an RDom in dimension {d} depends on the variable "
                f"{n.name}",
                at=here(),
                hint="bounds may depend on Params and on the sizes of images; take "
                "the greatest domain and restrict it with where",
            )
    return build.cast(INT32, node)
