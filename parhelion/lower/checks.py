"""What is verified before any pixel is computed: the caller's buffers and parameters.

Types and dimensions are checked in Python before the call; here stand the checks that
compiled code must make itself, since only it knows the regions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.ir.build import add, div, int32, int64, land, le, maximum, mul, sub
from parhelion.ir.device import INDEX_LIMIT
from parhelion.ir.expr import EQ, LE, Cast, Expr, StringImm
from parhelion.ir.function import Function
from parhelion.ir.promises import Assumptions
from parhelion.ir.stmt import Assert, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lower.loops import Range
from parhelion.lower.options import LowerOptions
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT64, Handle

_ONE = int32(1)


def _text(value: str) -> StringImm:
    return StringImm(Handle(), value)


def buffer_checks(buffer: BufferSym, region: Sequence[Range], code: str) -> list[Stmt]:
    """Asserts that `buffer` covers `region` in every dimension.

    `code` is the failure to report: "input_too_small" or "output_too_small".
    """
    out: list[Stmt] = []
    for d, (r, dim) in enumerate(zip(region, buffer.dims, strict=True)):
        last = sub(add(dim.min, dim.extent), _ONE)
        if can_prove(le(dim.min, r.lo)) and can_prove(le(r.hi, last)):
            continue
        covers = land(le(dim.min, r.lo), le(r.hi, last))
        args = (_text(buffer.name), int32(d), r.lo, r.hi, dim.min, last)
        out.append(Assert(covers, code, args))
    return out


def layout_checks(
    buffer: BufferSym, assumptions: Assumptions, options: LowerOptions
) -> list[Stmt]:
    """Asserts of what was promised of a buffer's layout, and of its size."""
    out: list[Stmt] = []
    for d, dim in enumerate(buffer.dims):
        name, promise = f"{buffer.name}.dim({d})", assumptions.dims[dim]
        for what, promised, given in (
            ("min", promise.min, dim.min),
            ("extent", promise.extent, dim.extent),
            ("stride", promise.stride, dim.stride),
        ):
            if promised is not None:
                args = (_text(f"the {what} of {name}"), promised, given)
                out.append(Assert(EQ(given, promised), "constraint", args))
        negative = (_text(buffer.name), int32(d), dim.extent)
        # Built by hand: the extent's own fact says that it is not negative.
        out.append(Assert(LE(int32(0), dim.extent), "extent_negative", negative))
    if not options.index64:
        out += _size_checks(buffer)
        if options.device is not None:
            out += _span_check(buffer)
    return out


def tuple_checks(buffers: Sequence[BufferSym]) -> list[Stmt]:
    """Asserts that the buffers for the values of a Tuple cover the same region."""
    out: list[Stmt] = []
    first, *others = buffers
    for buffer in others:
        for d, (a, b) in enumerate(zip(first.dims, buffer.dims, strict=True)):
            last_a, last_b = [sub(add(x.min, x.extent), _ONE) for x in (a, b)]
            alike = land(EQ(a.min, b.min), EQ(a.extent, b.extent))
            names = (_text(first.name), _text(buffer.name), int32(d))
            args = (*names, a.min, last_a, b.min, last_b)
            out.append(Assert(alike, "tuple_differs", args))
    return out


def _size_checks(buffer: BufferSym) -> list[Stmt]:
    """Every flat index into the buffer fits in 31 bits."""
    limit = (1 << 31) - 1
    out: list[Stmt] = []
    for dim in buffer.dims:
        span = mul(Cast(INT64, dim.extent), Cast(INT64, dim.stride))
        for bounded in (LE(span, int64(limit)), LE(int64(-limit), span)):
            out.append(Assert(bounded, "size_overflow", (_text(buffer.name),)))
    return out


def _span_check(buffer: BufferSym) -> list[Stmt]:
    """That no element is further from the first one than kernels can count. Each
    dimension's part fits, so that their sum does not overflow."""
    total: Expr = int64(0)
    for dim in buffer.dims:
        span = mul(Cast(INT64, dim.extent), Cast(INT64, dim.stride))
        total = add(total, maximum(span, sub(int64(0), span)))
    cond = LE(total, int64(INDEX_LIMIT))
    return [Assert(cond, "size_overflow", (_text(buffer.name),))]


def param_checks(param: ParamSym, assumptions: Assumptions) -> list[Stmt]:
    """Asserts that a scalar lies in the range promised for it."""
    out: list[Stmt] = []
    low, high = assumptions.params[param]
    if low is not None:
        args = (_text(param.name), low, param.var)
        out.append(Assert(le(low, param.var), "param_below", args))
    if high is not None:
        args = (_text(param.name), high, param.var)
        out.append(Assert(le(param.var, high), "param_above", args))
    return out


def bound_check(f: Function, d: int, given: Range, needed: Range) -> list[Stmt]:
    """Asserts that what `bound` promised of dimension `d` holds what is needed."""
    if can_prove(le(given.lo, needed.lo)) and can_prove(le(needed.hi, given.hi)):
        return []
    names = (_text(f.label), _text(f.args[d].name))
    numbers = (given.lo, given.hi, needed.lo, needed.hi)
    holds = land(le(given.lo, needed.lo), le(needed.hi, given.hi))
    return [Assert(holds, "bound_too_small", (*names, *numbers))]


def storage_check(f: Function, d: int, needed: Expr, bound: Expr) -> Stmt:
    """That the storage which `bound_storage` promised is as large as is `needed`."""
    args = (_text(f.label), _text(f.args[d].name), bound, needed)
    return Assert(le(needed, bound), "storage_bound_too_small", args)


def laid_out(
    f: Function, extents: Mapping[int, Expr], checks: list[Stmt]
) -> dict[int, Expr]:
    """The extents of storage as `bound_storage` and `align_storage` want them. What
    the former promises joins `checks`, unless it is proven."""
    out = dict(extents)
    for d, wish in f.schedule.storage.items():
        if wish.bound is not None:
            needed, out[d] = out[d], wish.bound
            if not can_prove(le(needed, wish.bound)):
                checks.append(storage_check(f, d, needed, wish.bound))
        if wish.align is not None:
            by = int32(wish.align)
            whole = mul(div(add(out[d], sub(by, _ONE)), by), by)
            out[d] = simplify(whole)
    return out
