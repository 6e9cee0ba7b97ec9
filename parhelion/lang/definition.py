"""Definitions: ``f[x] = e`` and ``f[r] += e`` checked and written into the Function.

Every rule about what may stand on either side is here, with its message.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence

from parhelion.errors import (
    DefinitionError,
    HalideError,
    LiteralError,
    Site,
    TypeMismatchError,
    here,
)
from parhelion.ir.build import imm
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad, Intrinsic
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import Definition, Function, ReductionDomain, var_label
from parhelion.ir.names import fresh, is_user_rvar
from parhelion.ir.rewrite import Rewriter, free_vars, nodes
from parhelion.lang.convert import literal_as, node_or_none, not_a_value
from parhelion.lang.convert import node_of as any_node
from parhelion.lang.expr import text_of, wrap
from parhelion.lang.ref import (
    FuncRef,
    Unevaluated,
    describe,
    expand,
    index_node,
)
from parhelion.lang.tuples import values_of
from parhelion.lang.var import Var, implicit_index
from parhelion.schedule.stage import initial_stage_schedule
from parhelion.types import Type, TypeCode, UInt


class _Survey:
    """What the checks need to know of the expressions of one definition."""

    __slots__ = ("trees", "variables", "calls", "random")

    def __init__(self, trees: Sequence[Node]) -> None:
        self.trees = trees
        self.variables: frozenset[IRVar] = frozenset().union(
            *[free_vars(n) for n in trees]
        )
        self.calls: list[FuncCall] = []
        self.random = False
        seen: set[object] = set()
        for tree in trees:
            if tree in seen:
                continue
            for n in nodes(tree):
                if n in seen:
                    continue
                seen.add(n)
                if type(n) is FuncCall:
                    self.calls.append(n)
                elif type(n) is Intrinsic and n.op == "random_int":
                    self.random = True

    def mentions(self, f: Function) -> bool:
        return any(c.func is f for c in self.calls)

    def read_at(self, v: IRVar) -> FuncCall | ImageLoad | None:
        """A value that is read at the coordinate `v`."""
        for tree in self.trees:
            for n in nodes(tree):
                if isinstance(n, FuncCall | ImageLoad) and v in n.args:
                    return n
        return None


class RedefinitionWarning(UserWarning):
    """The warning that an update replaces everything that was defined before it.

    >>> issubclass(hl.RedefinitionWarning, UserWarning)
    True
    """


class Requirement:
    """What a Func was promised to hold: types (None: any) and a number of dimensions
    (None: any)."""

    __slots__ = ("types", "dimensions")

    def __init__(
        self, types: tuple[Type, ...] | None = None, dimensions: int | None = None
    ) -> None:
        self.types, self.dimensions = types, dimensions


ANYTHING = Requirement()


def define(
    f: Function,
    given: tuple[object, ...],
    value: object,
    required: Requirement = ANYTHING,
    domain: ReductionDomain | None = None,
) -> None:
    """Makes ``f[given] = value`` the pure definition of `f`, or its next update.

    An update walks over `domain`, if it is given, even if it mentions none of its
    RVars; otherwise over the domain of the RVars that it mentions.
    """
    if f.extern is not None:
        raise DefinitionError(
            f"{describe(f)} is computed by foreign code (define_extern) and takes no "
            "further definition",
            at=here(),
            hint="update another Func that copies it",
        )
    if f.frozen:
        raise DefinitionError(
            f"{describe(f)} takes no further definition: another Func is already "
            "defined by it",
            at=here(),
            hint=f"finish all updates of {f.name} before it is used, or define a new "
            "Func",
        )
    if isinstance(value, Unevaluated):
        _update_undefined(f, given, value, required)
        return
    several = values_of(value)
    values = [value] if several is None else several
    if not values:
        raise TypeMismatchError(
            f"{describe(f)} is defined with no value at all", at=here()
        )
    if f.defined:
        _update(f, given, values, domain)
    else:
        _pure(f, given, values, required)


def _pure(
    f: Function,
    given: tuple[object, ...],
    values: Sequence[object],
    required: Requirement,
) -> None:
    for v in values:
        if isinstance(v, FuncRef) and v._function is f:
            raise DefinitionError(
                f"{describe(f)} refers to itself, but has no initial value",
                at=here(),
                hint=f"define it first, {f.name}[...] = 0, then update it",
            )
    made = [_value(v, t) for v, t in _with_types(f, values, required)]
    args = _pure_args(f, given, made)
    site = here()
    if required.dimensions is not None and len(args) != required.dimensions:
        raise DefinitionError(
            f"{describe(f)} is declared with {required.dimensions} dimensions, but "
            f"defined with {len(args)}",
            at=site,
        )
    for node in made:
        if node.type.is_handle():
            raise TypeMismatchError(
                f"{describe(f)} is defined with a value of type {node.type}", at=site
            )
    survey = _Survey(made)
    rdom = _domain(f, "the definition", survey.variables, site)
    if rdom is not None:
        raise DefinitionError(
            f"the first definition of {describe(f)} mentions the RVar "
            f"{_an_rvar(survey)}; it must give every point one value",
            at=site,
            hint="use an inline reduction, hl.sum(…), or give an initial value "
            f"first: {f.name}[...] = 0, then {f.name}[...] += …",
        )
    _check_variables(f, "the definition", args, survey, args, site)
    bound = _bind_random(f, 0, made, survey, args)
    with CHANGES:
        f.args, f.types = args, tuple([n.type for n in bound])
        f.site = site
        f.schedule.storage_order = tuple(range(len(args)))
        schedule = initial_stage_schedule(args, args, None, function=f, values=bound)
        f.pure = Definition(args, bound, None, schedule, site)
        _freeze(f, survey)


def _with_types(
    f: Function, values: Sequence[object], required: Requirement
) -> list[tuple[object, Type | None]]:
    """Each value with the type that was declared for it."""
    if required.types is None:
        return [(v, None) for v in values]
    if len(values) != len(required.types):
        raise TypeMismatchError(
            f"{describe(f)} is declared with {len(required.types)} values, but "
            f"defined with {len(values)}",
            at=here(),
        )
    out: list[tuple[object, Type | None]] = []
    for v, t in zip(values, required.types, strict=True):
        n = node_or_none(v)
        if n is not None and n.type is not t:
            raise TypeMismatchError(
                f"{describe(f)} is declared to hold {t}, but defined with a value of "
                f"type {n.type}",
                at=here(),
                hint=f"cast the value: {_cast_to(t)}",
            )
        out.append((v, t))
    return out


def _value(v: object, t: Type | None) -> Node:
    """A value as a node; a literal takes the type `t`, if there is one."""
    n = node_or_none(v)
    if n is not None:
        return n
    if t is None or not isinstance(v, int | float):
        return any_node(v)
    return literal_as(v, t)


def _pure_args(
    f: Function, given: tuple[object, ...], values: Sequence[Node]
) -> tuple[IRVar, ...]:
    """The Vars of a pure definition; ``hl._`` becomes the implicit Vars in use."""
    count = _implicit_count(values)
    full = expand(given, count + len(given) - 1)
    args: list[IRVar] = []
    for i, g in enumerate(full):
        if not isinstance(g, Var):
            raise DefinitionError(
                f"argument {i} in the first definition of {describe(f)} is not a Var",
                at=here(),
                hint="the first definition gives the value at every point: "
                f"{f.name}[x, y] = …; updates may then set single places",
            )
        if g._var in args:
            raise DefinitionError(
                f"the arguments {args.index(g._var)} and {i} of {describe(f)} are "
                f"both {g.name()}",
                at=here(),
            )
        args.append(g._var)
    return tuple(args)


def _implicit_count(values: Sequence[Node]) -> int:
    found = [implicit_index(v) for n in values for v in free_vars(n)]
    return max(found, default=-1) + 1


def _update_undefined(
    f: Function, given: tuple[object, ...], step: Unevaluated, required: Requirement
) -> None:
    """``f[given] op= value`` where `f` is undefined: first the neutral element
    everywhere, then the update."""
    if f.defined or step.ref._function is not f:
        raise DefinitionError(
            f"{describe(step.ref._function)} is used before it is defined", at=here()
        )
    several = values_of(step.value)
    given_values = [step.value] if several is None else several
    values = [_value(v, t) for v, t in _with_types(f, given_values, required)]
    full = expand(given, _implicit_count(values) + len(given) - 1)
    args: list[Var] = []
    for g in full:
        own = isinstance(g, Var) and not any(g.same_as(a) for a in args)
        args.append(g if isinstance(g, Var) and own else Var(fresh("v")))
    initial = [wrap(imm(step.initial, n.type)) for n in values]
    _pure(f, tuple(args), initial, required)
    ref = FuncRef(f, full)
    try:
        old = ref._several() or [ref]
        new = [step.op(a, wrap(b)) for a, b in zip(old, values, strict=True)]
        _update(f, full, [wrap(n) for n in new])
    except HalideError:
        # The statement failed as a whole: no half of it stays.
        f.pure, f.args, f.types = None, (), ()
        raise


def _update(
    f: Function,
    given: tuple[object, ...],
    values: Sequence[object],
    domain: ReductionDomain | None = None,
) -> None:
    site, number = here(), len(f.updates)
    full = expand(given, f.dimensions)
    if len(full) != f.dimensions:
        raise DefinitionError(
            f"{describe(f)} has {f.dimensions} dimensions, but update {number} gives "
            f"it {len(full)}",
            at=site,
        )
    if len(values) != len(f.types):
        raise TypeMismatchError(
            f"{describe(f)} holds {len(f.types)} value{'s' * (len(f.types) != 1)}, but "
            f"update {number} gives it {len(values)}",
            at=site,
        )
    args = tuple([index_node(g, i, describe(f)) for i, g in enumerate(full)])
    made = [
        _update_value(f, number, i, v, t)
        for i, (v, t) in enumerate(zip(values, f.types, strict=True))
    ]
    what = f"update {number}"
    pure = [own for own, arg in zip(f.args, args, strict=True) if arg is own]
    survey = _Survey((*args, *made))
    rdom = domain or _domain(f, what, survey.variables, site)
    if rdom is not None:
        survey = _Survey((*args, *made, rdom.predicate))
    _check_variables(f, what, pure, survey, f.args, site)
    _check_recursion(f, what, args, survey, site)
    if rdom is None and len(pure) == len(args) and not survey.mentions(f):
        warnings.warn(
            f"{site}: {what} of {describe(f)} hides all earlier definitions: its "
            "arguments are all pure, and it uses neither the Func itself nor an RDom",
            RedefinitionWarning,
            stacklevel=_user_depth(),
        )
    walked = () if rdom is None else rdom.vars
    variables = [v for v in (*f.args, *walked) if v in survey.variables]
    bound = _bind_random(f, number + 1, (*args, *made), survey, variables)
    args, final = bound[: len(args)], bound[len(args) :]
    schedule = initial_stage_schedule(args, f.args, rdom, function=f, values=final)
    with CHANGES:
        f.updates = (*f.updates, Definition(args, final, rdom, schedule, site))
        if rdom is not None:
            rdom.frozen = True
        _freeze(f, survey)


def _update_value(f: Function, number: int, i: int, v: object, t: Type) -> Node:
    """A value of an update, which must have the type that the Func holds."""
    n = node_or_none(v)
    which = "" if len(f.types) == 1 else f"value {i} of "
    if n is None:
        if not isinstance(v, int | float):
            raise not_a_value(v)
        try:
            n = literal_as(v, t)
        except LiteralError as e:
            raise LiteralError(
                f"{which}{describe(f)}: {e.what}", at=here(), hint=e.hint
            ) from None
    if n.type is not t:
        raise TypeMismatchError(
            f"{which}{describe(f)} holds {t}, but update {number} gives it a value of "
            f"type {n.type}",
            at=here(),
            hint=f"cast the value, {_cast_to(t)}, or define {f.name} with the type "
            f"{n.type}",
        )
    return n


#: What the names of casts begin with.
_KIND = {TypeCode.Int: "i", TypeCode.UInt: "u", TypeCode.Float: "f"}


def _cast_to(t: Type) -> str:
    if t.is_bool():
        return "hl.cast(hl.Bool(), ...)"
    if t.is_bfloat():
        return "hl.cast(hl.BFloat(16), ...)"
    return f"hl.{_KIND[t.kind]}{t.width}(...)"


def _domain(
    f: Function, what: str, variables: frozenset[IRVar], site: Site | None
) -> ReductionDomain | None:
    """The RDom that a definition walks over; there may be only one."""
    rvars = sorted(
        [v for v in variables if isinstance(v.origin, ReductionDomain)],
        key=lambda v: v.name,
    )
    for v in rvars[1:]:
        if v.origin is not rvars[0].origin:
            raise DefinitionError(
                f"{what} of {describe(f)} mentions {var_label(rvars[0])} and "
                f"{var_label(v)}, RVars of two RDoms",
                at=site,
                hint="make one RDom with the dimensions of both",
            )
    return rvars[0].origin if rvars else None


def _an_rvar(survey: _Survey) -> str:
    return min(
        [
            var_label(v)
            for v in survey.variables
            if isinstance(v.origin, ReductionDomain)
        ]
    )


def _check_variables(
    f: Function,
    what: str,
    pure: Sequence[IRVar],
    survey: _Survey,
    own: Sequence[IRVar],
    site: Site | None,
) -> None:
    """All variables are among the `pure` ones, those of the RDom, or run-time values;
    `own` are the Func's arguments."""
    for v in sorted(survey.variables, key=lambda v: v.name):
        if v.origin is not None or v in pure:
            continue
        if is_user_rvar(v):
            raise DefinitionError(
                f"{what} of {describe(f)} mentions the RVar {v.name}, which "
                "belongs to no RDom",
                at=site,
            )
        names = ", ".join(a.name for a in own)
        hint = f"the arguments are: {names or 'none'}"
        read = survey.read_at(v) if implicit_index(v) >= 0 else None
        if read is not None:
            whole = read.func if isinstance(read, FuncCall) else read.image
            count = len(read.args)
            coords = [a.name for a in own[:count]] + ["…"] * (count - len(own))
            hint = (
                f"{whole.name} without coordinates is its value at "
                f"{', '.join(map(text_of, read.args))}: write "
                f"{whole.name}[{', '.join(coords)}]"
            )
        elif pure != own:
            hint = (
                "a pure variable of an update stands alone at its own place on the "
                f"left: {f.name}[{names}]"
            )
        raise DefinitionError(
            f"{what} of {describe(f)} mentions the variable {v.name}, which is "
            "not among its arguments",
            # Where the variable has another name in Python, all of the line is marked.
            at=site.of_name(v.name) if site is not None and read is None else site,
            hint=hint,
        )
    if not f.defined and survey.mentions(f):
        raise DefinitionError(
            f"the first definition of {describe(f)} refers to itself",
            at=site,
            hint=f"give an initial value first: {f.name}[...] = 0",
        )


def _check_recursion(
    f: Function,
    what: str,
    args: Sequence[Node],
    survey: _Survey,
    site: Site | None,
) -> None:
    """An update refers to its own Func at the same pure variables as on its left."""
    for call in survey.calls:
        if call.func is not f:
            continue
        for own, arg, used in zip(f.args, args, call.args, strict=True):
            if arg is own and used is not own:
                raise DefinitionError(
                    f"{what} of {describe(f)} has the pure variable {own.name} on "
                    "its left, but refers to itself at another place in that "
                    f"dimension: {text_of(used)}",
                    at=site,
                    hint=f"points along {own.name} are computed in any order; walk "
                    "along that dimension with an RVar instead",
                )


def _freeze(f: Function, survey: _Survey) -> None:
    for call in survey.calls:
        if call.func is not f:
            call.func.frozen = True


class _BindRandom(Rewriter):
    """Adds to each random number what makes it differ from point to point."""

    def __init__(self, more: tuple[Node, ...]) -> None:
        super().__init__()
        self.more = more

    def on_intrinsic(self, n: Intrinsic) -> Node:
        if n.op == "random_int":
            return Intrinsic(n.type, n.op, (*n.args, *self.more))
        return n.map(self.go)


def _bind_random(
    f: Function,
    stage: int,
    trees: Sequence[Node],
    survey: _Survey,
    variables: Sequence[IRVar],
) -> tuple[Node, ...]:
    """The trees with random numbers tied to the definition and its Vars.

    The Func counts by its name, so that a program gives the same numbers each time.
    """
    if not survey.random:
        return tuple(trees)
    tag = imm(zlib.crc32(f"{f.name}/{stage}".encode()), UInt(32))
    bind = _BindRandom((tag, *variables))
    return tuple([bind.go(tree) for tree in trees])


def _user_depth() -> int:
    """The `stacklevel` of the user's line, for a warning raised by the caller."""
    import sys

    from parhelion.errors import PACKAGE

    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return depth
