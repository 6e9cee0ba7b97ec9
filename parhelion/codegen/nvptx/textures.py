"""Reads of textures: instructions that take coordinates.

A texel is read as the integer that its bits are, so that no value changes on the way.
Where what lies beyond the texture counts, coordinates are floats, in the middle of the
texel: what the hardware does with these is documented (CUDA C++ Programming Guide,
"Texture Fetching"), and numbers that a float does not hold are beyond the texture on
the same side as their neighbours that it holds.
"""

from __future__ import annotations

from parhelion.codegen.module import TextureObject
from parhelion.codegen.nvptx.module import kernel_function
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.vector import extract
from parhelion.codegen.writer import Function
from parhelion.errors import internal_assert
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.ir.stmt import For, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.texture_reads import BORDER, INSIDE, mode_of

#: Four channels, of which texels have one.
_RESULT = "{ i32, i32, i32, i32 }"


def name_textures(s: For) -> tuple[For, list[TextureObject]]:
    """A kernel whose reads of textures have the number of the texture in the place of
    its sizes, and these textures."""
    if not any([isinstance(n, E.Intrinsic) and n.op == "texel" for n in nodes(s)]):
        return s, []
    name = _Name()
    made = name.go(s)
    assert isinstance(made, For)
    return made, list(name.found)


class _Name(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[TextureObject, int] = {}

    def on_intrinsic(self, n: E.Intrinsic) -> Expr:
        if n.op != "texel":
            return n.map(self.go)
        load, x, y, width, rows, pitch, _ = n.args
        assert isinstance(load, E.Load)
        mode = mode_of(n)
        of = TextureObject(load.buffer, width, rows, pitch, mode == BORDER)
        number = self.found.setdefault(of, len(self.found))
        by = build.int32(number), build.int32(int(mode == INSIDE))
        return E.Intrinsic(n.type, "texel", (load, self.go(x), self.go(y), *by))


def only_textured(s: Stmt) -> set[BufferSym]:
    """The buffers that a kernel reads as textures and in no other way."""
    reads = [n for n in nodes(s) if isinstance(n, E.Intrinsic) and n.op == "texel"]
    return {n.args[0].buffer for n in reads if isinstance(n.args[0], E.Load)}


def texel(f: Function, e: E.Intrinsic) -> str:
    """The texels at coordinates, lane by lane."""
    _, x, y, number, inside = e.args
    which, plain = build.const_int(number), build.const_int(inside)
    internal_assert(which is not None, "a texel names its texture")
    assert which is not None
    object = kernel_function(f).textures[which]
    kind, t = ("s32" if plain else "f32"), e.type.element_of()
    of = "i32" if plain else "float"
    at = f.module.declare(
        f"llvm.nvvm.tex.unified.2d.v4u32.{kind}",
        _RESULT,
        f"i64, {of}, {of}",
        "nounwind memory(read)",
    )
    xs, ys = f.value(x), f.value(y)
    made = "poison"
    for lane in range(e.type.count):
        places = []
        for text, coordinate in ((xs, x), (ys, y)):
            one = extract(f, text, coordinate.type, lane)
            if not plain:
                whole = f.op(f"sitofp i32 {one} to float")
                one = f.op(f"fadd float {whole}, 0.5")
            places.append(f"{of} {one}")
        four = f.op(f"call {_RESULT} {at}(i64 {object}, {', '.join(places)})")
        bits = f.op(f"extractvalue {_RESULT} {four}, 0")
        if t.width < 32:
            bits = f.op(f"trunc i32 {bits} to i{t.width}")
        if memory_type(t) != f"i{t.width}":
            bits = f.op(f"bitcast i{t.width} {bits} to {memory_type(t)}")
        if e.type.count == 1:
            return bits
        vector = value_type(e.type)
        made = f.op(
            f"insertelement {vector} {made}, {memory_type(t)} {bits}, i64 {lane}"
        )
    return made


__all__ = ["name_textures", "only_textured", "texel"]
