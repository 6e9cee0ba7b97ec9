"""Funcs whose storage kernels read as a texture (`store_in`): its layout.

A texture here is two-dimensional and lies in memory of the device: its rows are those
of the storage, a number of bytes apart that the hardware can take, and what further
dimensions have are further rows. Stages store to it as to any memory, and the host has
a copy with the same strides. A kernel that stores to none of it reads it by the
intrinsic ``texel`` (`lower.texture_reads`), whose value is its first argument, a
`Load`, and which says beside it where in the texture the pixel lies; any other reads it
as memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.build import add, div, int32, le, mul, sub
from parhelion.ir.expr import Expr, StringImm
from parhelion.ir.function import Function
from parhelion.ir.stmt import Assert, MemoryKind, Stmt
from parhelion.lower.extents import most_of
from parhelion.simplify.simplifier import simplify
from parhelion.types import Handle, Type

#: Bytes that rows are a multiple of from each other, texels along x and rows that a
#: texture in linear memory has at most, on all GPUs since compute capability 5.0 (CUDA
#: C++ Programming Guide, "Technical Specifications per Compute Capability"), and the
#: largest distance between rows in bytes (cuDeviceGetAttribute tells it).
PITCH_BYTES = 32
MOST_TEXELS, MOST_ROWS, MOST_PITCH = 131072, 65000, 2097120


def is_textured(f: Function) -> bool:
    """Whether `store_in` asks for a texture."""
    return f.schedule.memory is MemoryKind.TEXTURE


def refused_texture(f: Function, why: str, hint: str) -> ScheduleError:
    return ScheduleError(
        f"{f.label}.store_in(MemoryType.GPUTexture): {why}",
        at=f.schedule.memory_site,
        hint=hint,
    )


def check_texture(f: Function) -> None:
    """Raises ScheduleError for values that are no texels."""
    if not f.dimensions:
        raise refused_texture(
            f,
            f"{f.label} is one value, and a texture has one dimension at least",
            "leave out store_in",
        )
    for t in f.types:
        if not _is_texel(t):
            raise refused_texture(
                f,
                f"its values are of type {t}, and a texel is an integer or a float of"
                " 8, 16 or 32 bits",
                "cast them, or leave them in the device's memory: MemoryType.Heap",
            )


def _is_texel(t: Type) -> bool:
    return not t.is_bool() and not t.is_handle() and t.width in (8, 16, 32)


def padded_row(f: Function, extent: Expr) -> Expr:
    """The texels from one row to the next: a number that all values of `f` can have."""
    by = int32(PITCH_BYTES // min([t.bytes() for t in f.types]))
    return simplify(mul(div(add(extent, sub(by, int32(1))), by), by))


@dataclass(frozen=True, slots=True)
class Texture:
    """Storage that is read as a texture.

    order: its dimensions, the densest first. mins, extents: where it begins along each,
    and how much of it is used (int32). pitch: texels from row to row. steps: rows from
    one place to the next along each dimension but the densest. rows: how many there
    are."""

    order: tuple[int, ...]
    mins: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    pitch: Expr
    steps: tuple[Expr, ...]
    rows: Expr

    def checks(self, f: Function) -> list[Stmt]:
        """Asserts that a texture can be so large; none where that is sure."""
        name = StringImm(Handle(), f.label)
        size = max([t.bytes() for t in f.types])
        most = min(MOST_TEXELS, MOST_PITCH // size)
        limits = ((self.pitch, most, "texels in a row"), (self.rows, MOST_ROWS, "rows"))
        made: list[Stmt] = []
        for count, limit, what in limits:
            known = most_of(count)
            if known is None or known > limit:
                args = name, count, StringImm(Handle(), what), int32(limit)
                cond = le(count, int32(limit))
                made.append(Assert(cond, "texture_too_large", args))
        return made


def texture_of(
    order: Sequence[int],
    bounds: Sequence[tuple[Expr, Expr]],
    laid: Mapping[int, Expr],
) -> Texture:
    """The texture of storage. By dimension, bounds: where it begins, and how much is
    used; laid: how much there is room for."""
    densest, *others = order
    steps: list[Expr] = []
    rows: Expr = int32(1)
    for d in others:
        steps.append(rows)
        rows = mul(rows, laid[d])
    mins, used = [low for low, _ in bounds], [extent for _, extent in bounds]
    return Texture(
        tuple(order), tuple(mins), tuple(used), laid[densest], tuple(steps), rows
    )


@dataclass(slots=True)
class Textures:
    """Those of a program. wanted: the Funcs that are to be one. read: those that a
    kernel reads as one; as_memory: those that are read as memory somewhere."""

    wanted: set[Function] = field(default_factory=set)
    read: set[Function] = field(default_factory=set)
    as_memory: set[Function] = field(default_factory=set)

    def lay_out(
        self,
        func: Function,
        order: Sequence[int],
        bounds: Sequence[tuple[Expr, Expr]],
        extents: dict[int, Expr],
        checks: list[Stmt],
    ) -> Texture | None:
        """The texture that the storage of a Func is to be, if it is to be one.

        `extents` get room for its rows, and `checks` what must hold. Raises
        ScheduleError for values that are no texels.
        """
        if not is_textured(func):
            return None
        check_texture(func)
        self.wanted.add(func)
        extents[order[0]] = padded_row(func, extents[order[0]])
        made = texture_of(order, bounds, extents)
        checks += made.checks(func)
        return made

    def check(self) -> None:
        """Raises ScheduleError for a texture that is read, but nowhere as one."""
        for f in sorted(self.as_memory - self.read, key=lambda f: f.label):
            raise refused_texture(
                f,
                "no kernel reads it that does not store to it, too; only kernels read"
                " textures, and what they store to they read as memory",
                "schedule its consumer for the GPU (gpu_tile), or leave out store_in",
            )


__all__ = ["Texture", "Textures", "check_texture", "is_textured", "refused_texture"]
