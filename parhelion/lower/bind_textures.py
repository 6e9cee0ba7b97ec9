"""Reads of textures in their last form, once vectors are made and loops are divided.

For a GPU a ``texel`` is its coordinates, and of its `Load` only the buffer counts. A
simulated kernel does by index arithmetic what the hardware does with coordinates, so
that a clamp which was left out wrongly is a wrong pixel there.
"""

from __future__ import annotations

from parhelion.ir.build import (
    add,
    broadcast,
    cast,
    conjunction,
    imm,
    int32,
    le,
    lt,
    maximum,
    minimum,
    mul,
    select,
    sub,
)
from parhelion.ir.device import Device
from parhelion.ir.expr import Broadcast, Expr, Intrinsic, Load
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.ir.stmt import Stmt
from parhelion.lower.texture_reads import BORDER, EDGE, mode_of, one_of


def bind_textures(s: Stmt, device: Device | None) -> Stmt:
    """Gives reads of textures the form that code is made of."""
    return s if device is None else _Bind(device.simulated).go(s)


class _Bind(Rewriter):
    def __init__(self, simulated: bool) -> None:
        super().__init__()
        self.simulated = simulated

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op != "texel":
            return n.map(self.go)
        # Passes on vectors may have made several loads of one.
        loads = [m for m in nodes(n.args[0]) if isinstance(m, Load)]
        buffer = loads[0].buffer
        x, y = self.go(n.args[1]), self.go(n.args[2])
        sizes = [self.go(one_of(e)) for e in n.args[3:6]]
        index = loads[0].index.type.element_of()
        if not self.simulated:
            of = Load(n.type.element_of(), buffer, imm(0, index), None)
            return Intrinsic(n.type, "texel", (of, x, y, *sizes, one_of(n.args[6])))
        predicate: Expr | None = None
        mode = mode_of(n)
        if isinstance(n.args[0], Load):
            if n.args[0].predicate is not None:
                predicate = self.go(n.args[0].predicate)
        elif any([one.predicate is not None for one in loads]):
            mode = max(mode, EDGE)  # so that lanes that load nothing may do so
        t = index.with_lanes(n.type.count)
        width, rows, pitch = [self.spread(e, n.type.count) for e in sizes]
        at, inside = self.place(x, y, width, rows, mode)
        place = add(cast(t, at[0]), mul(cast(t, at[1]), cast(t, pitch)))
        made = Load(n.type, buffer, place, predicate)
        return made if mode != BORDER else select(inside, made, imm(0, n.type))

    def place(
        self, x: Expr, y: Expr, width: Expr, rows: Expr, mode: int
    ) -> tuple[tuple[Expr, Expr], Expr]:
        """The coordinates that the hardware takes, and whether the given ones are in
        the texture."""
        zero, one = (self.spread(int32(k), x.type.count) for k in (0, 1))
        inside = [le(zero, x), lt(x, width), le(zero, y), lt(y, rows)]
        if mode in (EDGE, BORDER):
            x = maximum(minimum(x, sub(width, one)), zero)
            y = maximum(minimum(y, sub(rows, one)), zero)
        return (x, y), conjunction(inside)

    def spread(self, e: Expr, lanes: int) -> Expr:
        return e if lanes == 1 or isinstance(e, Broadcast) else broadcast(e, lanes)


__all__ = ["bind_textures"]
