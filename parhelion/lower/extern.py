"""Foreign stages: what they read, asked of themselves, and what runs them.

What a foreign stage needs of its inputs nobody can infer, so it is asked: before its
inputs are computed it is called with buffers without pixels, as in Halide's bounds
query, and writes into those of the inputs which region it is going to read. At each
place of the program where that is of interest stands one query, a let,

    let f.query = extern_query("f", scalars…, f.x.min, f.x.extent, …)
    let g.x.min = extern_bound(f.query, 0)

so regions of inputs are lets like all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parhelion.errors import internal_assert
from parhelion.ir.build import FALSE, add, int32, land, le, lor, lt, sub
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Assert, ProvideExtern, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.loops import Range
from parhelion.lower.stages import LoopStage
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32, Handle

_ONE = int32(1)


def arguments(stage: LoopStage) -> tuple[Expr, ...]:
    """What the stage is given, in order: numbers, and stand-ins for buffers."""
    (first, *_) = stage.values
    internal_assert(
        type(first) is Intrinsic and first.op == "extern_value",
        f"{stage.name} is foreign, but its value is {first!r}",
    )
    return first.children()


def scalars(stage: LoopStage) -> tuple[Expr, ...]:
    return tuple([a for a in arguments(stage) if not _is_source(a)])


def sources(stage: LoopStage) -> list[FuncCall | ImageLoad]:
    """Its buffers, as calls at no particular coordinates."""
    return [a for a in arguments(stage) if isinstance(a, FuncCall | ImageLoad)]


def _is_source(e: Expr) -> bool:
    return isinstance(e, FuncCall | ImageLoad)


def read_of(source: FuncCall | ImageLoad) -> Function | BufferSym:
    """What a source reads."""
    return source.func if isinstance(source, FuncCall) else source.image


def query(stage: LoopStage, region: Sequence[Range]) -> Var:
    """A Var for the answers of the stage about a region; it is to be bound by a let."""
    assert stage.func.extern is not None
    box = [e for r in region for e in (r.lo, r.extent)]
    key = StringImm(Handle(), stage.func.extern.key)
    asked = Intrinsic(Handle(), "extern_query", (key, *scalars(stage), *box))
    return Var(f"{stage.func.name}.query", Handle(), value=asked)


def asks(e: Expr) -> bool:
    """Whether computing `e` asks a stage: it does not only mention what was asked."""
    return any([type(n) is Intrinsic and n.op == "extern_query" for n in nodes(e)])


def answers(stage: LoopStage, asked: Var) -> list[tuple[Range, ...]]:
    """The region of each source that a query's value holds."""
    numbers = _numbers(asked)
    out: list[tuple[Range, ...]] = []
    for source in sources(stage):
        box: list[Range] = []
        for _ in source.args:
            lo, extent = next(numbers), next(numbers)
            box.append(Range(lo, sub(add(lo, extent), _ONE)))
        out.append(tuple(box))
    return out


def _numbers(asked: Var) -> Iterator[Expr]:
    k = 0
    while True:
        yield Intrinsic(INT32, "extern_bound", (asked, int32(k)))
        k += 1


def provide(
    stage: LoopStage, region: Sequence[Range], read: Sequence[Sequence[Range]]
) -> Stmt:
    """The stage over `region`, given what it reads of each source."""
    placed: list[Expr] = []
    for source, box in zip(sources(stage), read, strict=True):
        mins = tuple([r.lo for r in box])
        if isinstance(source, FuncCall):
            placed.append(FuncCall(source.type, source.func, mins, source.index))
        else:
            placed.append(ImageLoad(source.type, source.image, mins))
    return ProvideExtern(
        stage.func,
        tuple([(r.lo, r.extent) for r in region]),
        tuple([r.lo for r in region]),
        scalars(stage),
        tuple(placed),
        tuple([(r.lo, r.extent) for box in read for r in box]),
    )


def inside_check(
    stage: LoopStage, number: int, read: Sequence[Range], there: Sequence[Range]
) -> list[Stmt]:
    """Asserts that what the stage reads of its input `number` is there, unless it
    reads nothing. Only a stage whose answers for parts exceed that for the whole fails
    it."""
    out: list[Stmt] = []
    nothing: Expr = FALSE
    for r in read:
        nothing = lor(nothing, lt(r.hi, r.lo))
    name = StringImm(Handle(), stage.func.label)
    for d, (r, w) in enumerate(zip(read, there, strict=True)):
        cond = simplify(lor(nothing, land(le(w.lo, r.lo), le(r.hi, w.hi))))
        if can_prove(cond):
            continue
        told = (name, int32(number), int32(d), r.lo, r.hi, w.lo, w.hi)
        out.append(Assert(cond, "extern_region", told))
    return out


__all__ = [
    "answers",
    "arguments",
    "asks",
    "inside_check",
    "provide",
    "query",
    "read_of",
    "scalars",
    "sources",
]
