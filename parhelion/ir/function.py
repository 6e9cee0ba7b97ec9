"""The algorithm as data: Functions, their definitions and reduction domains.

`lang` builds these; the schedule hangs on them; `lower` and `interp` read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parhelion.errors import Site
from parhelion.ir.changes import Changing
from parhelion.ir.expr import Expr, Var
from parhelion.types import INT32, Type

if TYPE_CHECKING:
    from parhelion.ir.externs import ExternStage
    from parhelion.ir.symbols import BufferSym, ParamSym
    from parhelion.schedule.directives import FuncSchedule, StageSchedule


class DimName(NamedTuple):
    """What a dimension of a reduction domain is called: ``r.x`` is `letter` x of the
    domain `of`, r; of one without a letter, `of` is all of it."""

    of: str
    letter: str = ""

    def __str__(self) -> str:
        return f"{self.of}.{self.letter}" if self.letter else self.of

    def unique(self) -> str:
        """The name of the dimension's `Var`, beside which a Var ``r.x`` may stand."""
        return f"{self.of}${self.letter}" if self.letter else self.of


class ReductionDomain(Changing):
    """A box of integers walked in lexicographic order, first variable fastest.

    names: of the dimensions.
    vars: one `Var` per dimension, whose lo and hi are the domain's inclusive bounds
        and whose origin is this domain.
    mins, extents: the same bounds as given.
    predicate: points where it is false are skipped (`where`).
    frozen: whether a definition uses it, so that it may not change any more.
    """

    __slots__ = ("names", "vars", "mins", "extents", "predicate", "site", "frozen")

    def __init__(
        self,
        names: tuple[DimName, ...],
        mins: tuple[Expr, ...],
        extents: tuple[Expr, ...],
        predicate: Expr,
        site: Site | None = None,
    ) -> None:
        from parhelion.ir.build import add, int32, sub

        self.names = names
        self.mins, self.extents, self.predicate = mins, extents, predicate
        self.site = site
        self.frozen = False
        self.vars = tuple(
            Var(n.unique(), INT32, lo=lo, hi=sub(add(lo, e), int32(1)), origin=self)
            for n, lo, e in zip(names, mins, extents, strict=True)
        )


def dim_name(v: Var) -> DimName:
    """The name of a Var in its parts; one of no RDom has only the first."""
    domain = v.origin
    if not isinstance(domain, ReductionDomain):
        return DimName(v.name)
    return domain.names[domain.vars.index(v)]


def var_label(v: Var) -> str:
    """A Var as the user writes it: ``x``, or ``r.x`` for one of an RDom."""
    return str(dim_name(v))


class Definition(Changing):
    """One definition of a Func: ``f[args] = values``.

    For the pure definition `args` are the Func's own Vars. For an update, an arg is
    either the Func's own Var of that position (a pure dimension) or any expression
    over RVars and pure Vars. `rdom` is None when no RVar is used.

    original: what the user wrote, where a schedule has put this in its place.
    directive: the one that has done so, if it regroups what is folded.
    moved_by: the directive that has put what the definition computed into another Func,
        so that it computes nothing any more; empty if none has.
    known_as: what messages call it, if a directive has made it of what the user knows;
        empty for its own name.
    predicate: where it holds, the definition computes something: that of the domain.
    """

    __slots__ = (
        "args",
        "values",
        "rdom",
        "schedule",
        "site",
        "original",
        "directive",
        "moved_by",
        "known_as",
        "_predicate",
        "_mentions",
        "_symbols",
    )

    def __init__(
        self,
        args: tuple[Expr, ...],
        values: tuple[Expr, ...],
        rdom: ReductionDomain | None,
        schedule: StageSchedule,
        site: Site | None,
    ) -> None:
        self.args, self.values, self.rdom = args, values, rdom
        self.schedule, self.site = schedule, site
        self.original: Definition | None = None
        self.directive = self.moved_by = self.known_as = ""
        self._predicate: Expr | None = None
        self._mentions: tuple[Function | BufferSym, ...] | None = None
        self._symbols: tuple[BufferSym | ParamSym, ...] | None = None

    @property
    def predicate(self) -> Expr:
        if self._predicate is not None:
            return self._predicate
        if self.rdom is not None:
            return self.rdom.predicate
        from parhelion.ir.build import TRUE

        return TRUE

    def read_predicate(self, predicate: Expr) -> None:
        """Has the definition read a predicate in place of its domain's, which other
        definitions may share."""
        self._predicate = predicate

    @property
    def guard(self) -> tuple[Expr, ...]:
        """The predicate, if there is a domain."""
        return () if self.rdom is None else (self.predicate,)

    def mentions(self) -> tuple[Function | BufferSym, ...]:
        """The Functions and images that it reads, in order of first appearance."""
        if self._mentions is None:
            from parhelion.ir.expr import FuncCall, ImageLoad
            from parhelion.ir.rewrite import nodes

            found: dict[Function | BufferSym, None] = {}
            for n in nodes(*self.values, *self.args, *self.guard):
                if isinstance(n, FuncCall):
                    found[n.func] = None
                elif isinstance(n, ImageLoad):
                    found[n.image] = None
            self._mentions = tuple(found)
        return self._mentions

    def symbols(self) -> tuple[BufferSym | ParamSym, ...]:
        """The Params, images and outputs that it or its domain mentions."""
        if self._symbols is None:
            from parhelion.ir.promises import mentioned

            bounds = () if self.rdom is None else (*self.rdom.mins, *self.rdom.extents)
            told = mentioned(*self.values, *self.args, *self.guard, *bounds)
            self._symbols = tuple(told)
        return self._symbols


class Function(Changing):
    """A stage of the pipeline: a value, or a tuple of values, at each grid point.

    name: unique in the process. label: what messages call it; of a copy that lowering
    makes, the name of the Func that the user knows.
    args: the pure Vars, innermost first. pure: the pure definition.
    updates: applied in order.
    frozen: whether another Func's definition uses it: it takes no more definitions.
    extern: the foreign code that computes it. The pure definition's values are then
        stand-ins, which mention what the code is given (`ir.intrinsics`, extern_value).
    copy_of: of a copy that the compiler has made, the Func of which.
    """

    __slots__ = (
        "name",
        "label",
        "args",
        "types",
        "pure",
        "updates",
        "schedule",
        "site",
        "_buffers",
        "frozen",
        "extern",
        "copy_of",
        "__weakref__",
    )

    def __init__(self, name: str, schedule: FuncSchedule, site: Site | None) -> None:
        self.name = self.label = name
        self.schedule = schedule
        self.site = site
        self.args: tuple[Var, ...] = ()
        self.types: tuple[Type, ...] = ()
        self.pure: Definition | None = None
        self.updates: tuple[Definition, ...] = ()
        self._buffers: tuple[BufferSym, ...] = ()
        self.frozen = False
        self.extern: ExternStage | None = None
        self.copy_of: Function | None = None

    @property
    def dimensions(self) -> int:
        return len(self.args)

    @property
    def buffers(self) -> tuple[BufferSym, ...]:
        """One output `BufferSym` per value: the Func's storage if it is an output.

        Made when first asked for: most Funcs are no outputs.
        """
        if not self._buffers and self.defined:
            from parhelion.ir.symbols import BufferSym

            several = len(self.types) > 1
            made = tuple(
                BufferSym(
                    f"{self.name}.{i}" if several else self.name,
                    t,
                    self.dimensions,
                    "output",
                    func=self,
                    value_index=i,
                    site=self.site,
                )
                for i, t in enumerate(self.types)
            )
            if not self._buffers:  # another thread may have been faster
                self._buffers = made
        return self._buffers

    @property
    def buffers_made(self) -> tuple[BufferSym, ...]:
        """`buffers`, if somebody has asked for them, as for those of all outputs; else
        none."""
        return self._buffers

    def hold(self, buffers: tuple[BufferSym, ...]) -> None:
        """Has a copy of an output write to the buffers of that output."""
        self._buffers = buffers

    @property
    def defined(self) -> bool:
        return self.pure is not None

    def stages(self) -> list[Definition]:
        """The pure definition and the updates, in order."""
        return [] if self.pure is None else [self.pure, *self.updates]

    def as_written(self) -> list[Definition]:
        """The definitions as the user wrote them, whatever a schedule made of them."""
        return [d.original or d for d in self.stages()]

    def __repr__(self) -> str:
        return f"<Function {self.name}({', '.join(a.name for a in self.args)})>"
