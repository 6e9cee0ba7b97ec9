"""Inline reductions: sum, product, maximum, minimum, argmax and argmin.

Each makes an anonymous Func over the free variables of its expression, with one
update over the RDom, and stands for a call of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from parhelion.dataclass import dataclass
from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import ReductionDomain, var_label
from parhelion.ir.names import fresh, user_var
from parhelion.ir.rewrite import nodes, substitute
from parhelion.lang import ops
from parhelion.lang.convert import node_of
from parhelion.lang.definition import define
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.lang.func import Func
from parhelion.lang.rdom import RDom
from parhelion.lang.ref import FuncRef
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import of_var
from parhelion.types import INT32


@dataclass(frozen=True, slots=True)
class _Reduction:
    """What an inline reduction runs over.

    args: the Vars of the new Func. call: what they are where the reduction stands.
    """

    value: Node
    domain: ReductionDomain
    args: tuple[IRVar, ...]
    call: tuple[Node, ...]
    func: Func


def _reduction(kind: str, given: Sequence[object], name: Func | str) -> _Reduction:
    """Reads the arguments ``(expr, name)`` or ``(rdom, expr, name)``."""
    items = list(given)
    if len(items) > 1 and isinstance(items[-1], str | Func) and name == kind:
        last = items[-1]
        if isinstance(last, str) or len(items) == 3 or not last.defined():
            name = last
            items.pop()
    explicit: ReductionDomain | None = None
    if len(items) == 2 and isinstance(items[0], RDom):
        explicit = items[0]._domain
        del items[0]
    if len(items) != 1:
        raise TypeMismatchError(
            f"{kind} takes an expression, or an RDom and an expression", at=here()
        )
    value = node_of(items[0])
    found = _variables(value)
    domain = explicit or _only_domain(kind, found)
    for v in _variables(domain.predicate):
        if v not in found:
            found.append(v)
    args, call, renamed = [], [], {}
    for v in found:
        if v.origin is domain:
            continue
        call.append(v)
        if v.origin is None:
            args.append(v)
        else:  # an RVar of another domain: a pure dimension of the new Func
            args.append(user_var(fresh("v")))
            renamed[v] = args[-1]
    func = name if isinstance(name, Func) else Func(name)
    if func.defined():
        raise DefinitionError(
            f"the Func {func.name()!r} given to {kind} is already defined", at=here()
        )
    value = substitute(value, renamed)
    return _Reduction(value, domain, tuple(args), tuple(call), func)


def _variables(e: Node) -> list[IRVar]:
    """The user's Vars and RVars in an expression, in order of appearance."""
    return [
        n
        for n in nodes(e)
        if isinstance(n, IRVar)
        and (n.origin is None or isinstance(n.origin, ReductionDomain))
    ]


def _only_domain(kind: str, found: list[IRVar]) -> ReductionDomain:
    rvars = [v for v in found if isinstance(v.origin, ReductionDomain)]
    if not rvars:
        raise DefinitionError(
            f"the expression given to {kind} mentions no RDom",
            at=here(),
            hint=f"reduce over one: r = hl.RDom([(0, 10)]); hl.{kind}(f[x + r.x]), or "
            f"name it: hl.{kind}(r, e)",
        )
    for v in rvars[1:]:
        if v.origin is not rvars[0].origin:
            raise DefinitionError(
                f"the expression given to {kind} mentions {var_label(rvars[0])} and "
                f"{var_label(v)}, RVars of two RDoms",
                at=here(),
                hint=f"say which one to reduce over: hl.{kind}(r, e)",
            )
    domain = rvars[0].origin
    assert isinstance(domain, ReductionDomain)
    return domain


def _accumulate(
    r: _Reduction, initial: Node, step: Callable[[Node, Node], Node]
) -> Expr:
    f = r.func._function
    args = tuple(of_var(v) for v in r.args)
    define(f, args, wrap(initial))
    old = FuncRef(f, args)._node
    define(f, args, wrap(step(old, r.value)), domain=r.domain)
    return wrap(FuncRef(f, tuple(wrap(c) for c in r.call))._node)


def update_over(f: Func, args: tuple[object, ...], value: object, domain: RDom) -> None:
    """Makes ``f[args] = value`` an update of `f` that walks over all of `domain`.

    An assignment finds its domain by the RVars that it mentions. A value that is made
    of another expression may mention none of them, since it is a constant, or since
    they have cancelled out; it is still to be folded in at each point.
    """
    define(f._function, args, value, domain=domain._domain)


@overload
def sum(expr: ExprLike, name: str | Func = ...) -> Expr: ...
@overload
def sum(rdom: RDom, expr: ExprLike, name: str | Func = ...) -> Expr: ...
def sum(
    *given: object,
    rdom: RDom | None = None,
    expr: ExprLike | None = None,
    name: str | Func = "sum",
) -> Expr:
    """Returns the sum of an expression over all points of an RDom.

    ``sum(e)`` sums over the RDom whose RVars stand in `e`; ``sum(r, e)`` sums over `r`,
    and RVars of other RDoms are then free, like Vars. The sum has the type of `e` and
    wraps on overflow: convert `e` first where the type is too narrow. `name` is the
    name of the Func that computes the sum, or an undefined Func to be used for it.

    Raises DefinitionError if `e` mentions no RDom, or several and none is given, and
    TypeMismatchError for arguments of other kinds.

    >>> r = hl.RDom([(0, 4)])
    >>> f = hl.Func()
    >>> f[x] = hl.sum(x + r.x)
    >>> np.asarray(f.realize([3])).tolist()
    [6, 10, 14]
    """
    r = _reduction("sum", _collect(given, rdom, expr), name)
    return _accumulate(r, imm(0, r.value.type), lambda a, b: ops.add(wrap(a), wrap(b)))


@overload
def product(expr: ExprLike, name: str | Func = ...) -> Expr: ...
@overload
def product(rdom: RDom, expr: ExprLike, name: str | Func = ...) -> Expr: ...
def product(
    *given: object,
    rdom: RDom | None = None,
    expr: ExprLike | None = None,
    name: str | Func = "product",
) -> Expr:
    """Returns the product of an expression over all points of an RDom.

    The arguments are those of `sum`, and so are the errors.

    >>> r = hl.RDom([(1, 5)])
    >>> hl.evaluate(hl.product(r.x))
    120
    """
    r = _reduction("product", _collect(given, rdom, expr), name)
    return _accumulate(r, imm(1, r.value.type), lambda a, b: ops.mul(wrap(a), wrap(b)))


@overload
def maximum(expr: ExprLike, name: str | Func = ...) -> Expr: ...
@overload
def maximum(rdom: RDom, expr: ExprLike, name: str | Func = ...) -> Expr: ...
def maximum(
    *given: object,
    rdom: RDom | None = None,
    expr: ExprLike | None = None,
    name: str | Func = "maximum",
) -> Expr:
    """Returns the greatest value of an expression over all points of an RDom.

    If the RDom has no points, it is the least value of the type (minus infinity for
    floats). The arguments are those of `sum`, and so are the errors.

    >>> r = hl.RDom([(0, 4)])
    >>> hl.evaluate(hl.maximum(r.x * (3 - r.x)))
    2
    """
    r = _reduction("maximum", _collect(given, rdom, expr), name)
    t = r.value.type
    return _accumulate(r, imm(t.lowest(), t), ops.maximum)


@overload
def minimum(expr: ExprLike, name: str | Func = ...) -> Expr: ...
@overload
def minimum(rdom: RDom, expr: ExprLike, name: str | Func = ...) -> Expr: ...
def minimum(
    *given: object,
    rdom: RDom | None = None,
    expr: ExprLike | None = None,
    name: str | Func = "minimum",
) -> Expr:
    """Returns the least value of an expression over all points of an RDom.

    If the RDom has no points, it is the greatest value of the type (infinity for
    floats). The arguments are those of `sum`, and so are the errors.

    >>> r = hl.RDom([(0, 4)])
    >>> hl.evaluate(hl.minimum(r.x * (r.x - 3)))
    -2
    """
    r = _reduction("minimum", _collect(given, rdom, expr), name)
    t = r.value.type
    return _accumulate(r, imm(t.highest(), t), ops.minimum)


@overload
def argmax(expr: ExprLike, name: str | Func = ...) -> tuple[Expr, ...]: ...
@overload
def argmax(rdom: RDom, expr: ExprLike, name: str | Func = ...) -> tuple[Expr, ...]: ...
def argmax(
    *given: object,
    rdom: RDom | None = None,
    expr: ExprLike | None = None,
    name: str | Func = "argmax",
) -> tuple[Expr, ...]:
    """Returns where in an RDom an expression is greatest, and its value there.

    The tuple has an Int(32) for each dimension of the RDom, then the value; of several
    such points it is the first. The arguments are those of `sum`, and so are the
    errors.

    >>> r = hl.RDom([(0, 5)])
    >>> place, value = hl.argmax(r.x * (4 - r.x))
    >>> hl.evaluate(hl.Tuple(place, value))
    (2, 4)
    """
    r = _reduction("argmax", _collect(given, rdom, expr), name)
    t = r.value.type
    return _arg_extreme(r, imm(t.lowest(), t), lambda new, old: build.lt(old, new))


@overload
def argmin(expr: ExprLike, name: str | Func = ...) -> tuple[Expr, ...]: ...
@overload
def argmin(rdom: RDom, expr: ExprLike, name: str | Func = ...) -> tuple[Expr, ...]: ...
def argmin(
    *given: object,
    rdom: RDom | None = None,
    expr: ExprLike | None = None,
    name: str | Func = "argmin",
) -> tuple[Expr, ...]:
    """Returns where in an RDom an expression is least, and its value there.

    The tuple has an Int(32) for each dimension of the RDom, then the value; of several
    such points it is the first. The arguments are those of `sum`, and so are the
    errors.

    >>> r = hl.RDom([(0, 5)])
    >>> place, value = hl.argmin(r.x * (r.x - 4))
    >>> hl.evaluate(hl.Tuple(place, value))
    (2, -4)
    """
    r = _reduction("argmin", _collect(given, rdom, expr), name)
    t = r.value.type
    return _arg_extreme(r, imm(t.highest(), t), build.lt)


def _arg_extreme(
    r: _Reduction, initial: Node, better: Callable[[Node, Node], Node]
) -> tuple[Expr, ...]:
    f = r.func._function
    args = tuple(of_var(v) for v in r.args)
    places = [wrap(imm(0, INT32)) for _ in r.domain.vars]
    define(f, args, Tuple(*places, wrap(initial)))
    old = [ref._node for ref in FuncRef(f, args)]
    found = better(r.value, old[-1])
    new = [
        wrap(build.select(found, a, b))
        for a, b in zip((*r.domain.vars, r.value), old, strict=True)
    ]
    define(f, args, Tuple(*new), domain=r.domain)
    return tuple(FuncRef(f, tuple(wrap(c) for c in r.call)))


def _collect(
    given: tuple[object, ...], rdom: RDom | None, expr: ExprLike | None
) -> list[object]:
    named = [x for x in (rdom, expr) if x is not None]
    if given and isinstance(given[-1], str):
        return [*given[:-1], *named, given[-1]]
    return [*given, *named]
