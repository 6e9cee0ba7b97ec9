"""What expressions refer to: run-time parameters and buffers, as unique objects."""

from __future__ import annotations

from typing import Any

from parhelion.errors import Site
from parhelion.ir.build import const_int, int32
from parhelion.ir.changes import Changing
from parhelion.ir.expr import Expr, Var
from parhelion.types import INT32, Type

#: All coordinates of buffers lie within this distance of 0, so that the coordinates of
#: their neighbours are 32-bit integers too.
COORDINATE_LIMIT = (1 << 31) - (1 << 20)


class ParamSym(Changing):
    """A scalar that is given when the pipeline runs. `var` stands for it in code.

    lo, hi are the promised range (checked at each run); estimate serves the automatic
    scheduler. What it is set to stands in `ir.bindings`. least: a promise that is a
    fact of `var`, as that of extents is.
    """

    __slots__ = ("name", "type", "var", "lo", "hi", "estimate", "site", "__weakref__")

    def __init__(
        self,
        name: str,
        type: Type,
        site: Site | None = None,
        least: Expr | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.var = Var(name, type, lo=least, origin=self)
        self.lo: Expr | None = least
        self.hi: Expr | None = None
        self.estimate: Any = None
        self.site = site

    def __repr__(self) -> str:
        return f"<ParamSym {self.name}: {self.type}>"


class DimSym(Changing):
    """One dimension of a `BufferSym`: Vars for its min, extent and stride, and what
    the user promised of them (`fixed_*`, checked at each run)."""

    __slots__ = (
        "min",
        "extent",
        "stride",
        "fixed_min",
        "fixed_extent",
        "fixed_stride",
        "estimate_min",
        "estimate_extent",
    )

    def __init__(self, owner: BufferSym, d: int) -> None:
        self.min = Var(f"{owner.name}.min.{d}", INT32, origin=(owner, "min", d))
        self.extent = Var(
            f"{owner.name}.extent.{d}", INT32, lo=int32(0), origin=(owner, "extent", d)
        )
        self.stride = Var(
            f"{owner.name}.stride.{d}", INT32, origin=(owner, "stride", d)
        )
        self.fixed_min: Expr | None = None
        self.fixed_extent: Expr | None = None
        self.fixed_stride: Expr | None = int32(1) if d == 0 else None
        self.estimate_min: Expr | None = None
        self.estimate_extent: Expr | None = None

    @property
    def known_min(self) -> Expr:
        """The constant that was promised (and is checked), else the run-time value."""
        return known(self.fixed_min, self.min)

    @property
    def known_extent(self) -> Expr:
        """As `known_min`."""
        return known(self.fixed_extent, self.extent)

    @property
    def known_stride(self) -> Expr:
        """As `known_min`."""
        return known(self.fixed_stride, self.stride)


def known(promised: Expr | None, run_time: Var) -> Expr:
    """Returns the promised number if it is a constant, else the run-time value."""
    return run_time if promised is None or const_int(promised) is None else promised


class BufferSym(Changing):
    """A buffer that code loads from or stores to.

    role: "input" and "output" buffers come from the caller as buffer structs;
        "internal" ones are made by `Allocate`.
    embedded: whether an input is a Buffer that definitions mention, which is passed
        without the user, and not an ImageParam. Either's pixels stand in `ir.bindings`.
    func, value_index: for outputs and internal storage, whose value they hold.
    wrapper: the Function through which a schedule has all Funcs read this image.
    """

    __slots__ = (
        "name",
        "type",
        "dims",
        "role",
        "embedded",
        "func",
        "value_index",
        "site",
        "host_alignment",
        "wrapper",
        "__weakref__",
    )

    def __init__(
        self,
        name: str,
        type: Type,
        dimensions: int,
        role: str,
        *,
        embedded: bool = False,
        func: Any = None,
        value_index: int = 0,
        site: Site | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.role = role
        self.embedded = embedded
        self.func = func
        self.value_index = value_index
        self.site = site
        self.host_alignment = 0
        self.wrapper: Any = None
        self.dims = tuple(DimSym(self, d) for d in range(dimensions))

    def __repr__(self) -> str:
        return f"<BufferSym {self.role} {self.name}: {self.type}, {len(self.dims)}-D>"
