"""Storage flattening: Funcs and images become flat buffers, calls become loads.

An element's index is a sum over the dimensions in storage order. The caller's buffers
keep their run-time strides; their mins are gathered in one sum, named at the top of
the program, so that inner loops add one invariant:

    in(x, y)   ->   in[x + y*in.stride.1 - in.offset]
    let in.offset = in.min.1*in.stride.1 + in.min.0

Internal storage starts at the min of its region, which usually cancels against the
loops that fill it, so there the mins are subtracted from each coordinate:

    f(x, y)    ->   f[x - f.min.0 + (y - f.min.1)*f.stride.1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from parhelion.analysis.interval import constant_interval
from parhelion.analysis.linear import build as build_linear
from parhelion.analysis.linear import linear
from parhelion.dataclass import dataclass
from parhelion.errors import internal_assert
from parhelion.ir.build import (
    add,
    block,
    cast,
    const_int,
    imm,
    int32,
    is_true,
    lnot,
    maximum,
    mul,
    sub,
)
from parhelion.ir.expr import (
    Add,
    Expr,
    FuncCall,
    ImageLoad,
    Imm,
    Intrinsic,
    Let,
    Load,
    Mul,
    Select,
    Sub,
    Var,
)
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.promises import Assumptions
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.ir.stmt import (
    NOP,
    Acquire,
    Allocate,
    Block,
    Demand,
    For,
    ForKind,
    If,
    LetStmt,
    MemoryKind,
    Prefetch,
    PrefetchRegion,
    Produce,
    Provide,
    ProvideExtern,
    Realize,
    RunExtern,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.allocate import memory_kind, refuse_rounding, size_checks
from parhelion.lower.checks import laid_out
from parhelion.lower.extents import most_of
from parhelion.lower.instantiate import inline_lets
from parhelion.lower.memoize import Remembered, decided_outside, remembered
from parhelion.lower.options import PLAIN, LowerOptions
from parhelion.lower.texture_reads import Reads, is_zero
from parhelion.lower.textures import Texture, Textures
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32, INT64

#: Storage of at most this many bytes takes a constant upper bound of its extents in
#: their place: constant strides, and one allocation for all iterations around it.
MOST_ROUNDED_UP = 256 << 10


def flatten_storage(
    s: Stmt,
    outputs: Mapping[Function, tuple[BufferSym, ...]],
    assumptions: Assumptions,
    options: LowerOptions = PLAIN,
) -> Stmt:
    """Replaces Realize, Provide, FuncCall and ImageLoad by Allocate, Store and Load.

    `outputs` are stored in the caller's buffers.
    """
    s = inline_lets(s, _shifts(s))
    flatten = _Flatten(assumptions, options)
    for func, buffers in outputs.items():
        flatten.places[func] = tuple(map(flatten.outside, buffers))
    body = flatten.go(s)
    flatten.textures.check()
    return block(*flatten.offsets, body)


_SUMS: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {Add: add, Sub: sub, Mul: mul}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a Func's value or an image lives: the index of a point is
    ``sum((args[d] - mins[d]) * strides[d]) - offset``, over `order`. texture: what
    kernels read there, if it is one."""

    buffer: BufferSym
    order: tuple[int, ...]
    mins: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr
    texture: Texture | None = None


class _Flatten(Rewriter):
    def __init__(self, assumptions: Assumptions, options: LowerOptions) -> None:
        super().__init__()
        self.assumptions = assumptions
        self.options = options
        self.index = INT64 if options.index64 else INT32
        self.places: dict[Function, tuple[_Place, ...]] = {}
        self.images: dict[BufferSym, _Place] = {}
        self.realized: set[Function] = set()
        self.remembered: dict[Function, Remembered] = {}
        self.offsets: list[Stmt] = []
        self.widened: dict[Expr, Expr] = {}
        self.in_kernel = False
        self.textures = Textures()
        #: Of the kernel in hand: its reads of textures, and what it stores to.
        self.reads: Reads | None = None
        self.stored: set[Function] = set()

    # Places.

    def outside(self, buffer: BufferSym) -> _Place:
        """The layout of a buffer that the caller gives."""
        zero = imm(0, self.index)
        known = self.assumptions
        strides = tuple([self.wide(known.stride(d)) for d in buffer.dims])
        sums = [
            mul(self.wide(known.min(d)), stride)
            for d, stride in zip(buffer.dims, strides, strict=True)
        ]
        total = _sum(reversed(sums), zero)
        offset = total
        if total.children():
            offset = Var(f"{buffer.name}.offset", self.index, value=total)
            self.offsets.append(LetStmt(offset, total))
        order = sorted(
            range(len(buffer.dims)), key=lambda d: _rank(known.stride(buffer.dims[d]))
        )
        return _Place(buffer, tuple(order), (zero,) * len(order), strides, offset)

    def wide(self, e: Expr) -> Expr:
        """A coordinate in the index type. Index arithmetic does not overflow, so the
        conversion moves inside sums, where strides and constants join it."""
        if e.type is self.index:
            return e
        found = self.widened.get(e)
        if found is None:
            if isinstance(e, (Add, Sub, Mul)):
                found = _SUMS[type(e)](self.wide(e.a), self.wide(e.b))
            elif type(e) is Intrinsic and e.op in LIKELY:
                found = Intrinsic(self.index, e.op, (self.wide(e.args[0]),))
            else:
                found = cast(self.index, e)
            self.widened[e] = found
        return found

    def at(self, place: _Place, args: Sequence[Expr]) -> Expr:
        """The flat index of a point."""
        terms = [
            mul(sub(self.wide(args[d]), place.mins[d]), place.strides[d])
            for d in place.order
        ]
        return sub(_sum(terms, imm(0, self.index)), place.offset)

    # Reads.

    def on_funccall(self, n: FuncCall) -> Expr:
        args = [self.go(a) for a in n.args]
        load, texture = self.read(n, args)
        if texture is None or self.reads is None:
            return load
        return self.reads.texel(texture, args, load)

    def read(self, n: FuncCall, args: Sequence[Expr]) -> tuple[Load, Texture | None]:
        """A call as a load, and the texture that it may read instead."""
        places = self.places.get(n.func)
        internal_assert(places, f"{n.func.name} is called but has no storage")
        assert places is not None
        place = places[n.index]
        load = Load(n.type, place.buffer, self.at(place, args), None)
        if place.texture is None:
            return load, None
        if self.reads is None or n.func in self.stored:
            self.textures.as_memory.add(n.func)
            return load, None
        self.textures.read.add(n.func)
        return load, place.texture

    def on_select(self, n: Select) -> Expr:
        if self.reads is None:
            return n.map(self.go)
        cond, a, b = self.go(n.cond), self.go(n.a), n.b
        while isinstance(b, Intrinsic) and b.op in LIKELY:
            b = b.args[0]
        if isinstance(b, FuncCall) and is_zero(a):
            args = [self.go(e) for e in b.args]
            load, texture = self.read(b, args)
            if texture is not None:
                made = self.reads.border(texture, args, load, cond)
                if made is not None:
                    return made
        return Select(cond, a, self.go(n.b))

    def on_imageload(self, n: ImageLoad) -> Expr:
        index = self.at(self.image(n.image), [self.go(a) for a in n.args])
        return Load(n.type, n.image, index, None)

    def image(self, image: BufferSym) -> _Place:
        place = self.images.get(image)
        if place is None:
            place = self.images[image] = self.outside(image)
        return place

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op != "guarded":
            return n.map(self.go)
        pixel, cond = self.go(n.args[0]), self.go(n.args[1])
        if is_true(cond):
            return pixel
        if isinstance(pixel, Intrinsic) and pixel.op == "texel":
            load, *rest = pixel.args
            assert isinstance(load, Load)
            return Intrinsic(pixel.type, "texel", (_guarded(load, cond), *rest))
        return _guarded(pixel, cond) if isinstance(pixel, Load) else pixel

    def on_for(self, n: For) -> Stmt:
        if self.in_kernel or n.kind is not ForKind.GPU_BLOCK:
            return n.map(self.go)
        self.in_kernel = True
        made = self.kernel(n) if self.textures.wanted else n.map(self.go)
        self.in_kernel = False
        return made

    def kernel(self, n: For) -> Stmt:
        """A kernel that may read textures, with names before it for their sizes."""
        inner = list(nodes(n))
        bound = [m.var for m in inner if isinstance(m, For | LetStmt | Let)]
        self.stored = {m.func for m in inner if isinstance(m, Provide)}
        self.reads = Reads(frozenset(bound))
        before, self.memo = self.memo, {}
        made = n.map(self.go)
        lets, self.reads, self.memo = self.reads.lets, None, before
        return block(*lets, made)

    # Writes.

    def on_provide(self, n: Provide) -> Stmt:
        places = self.places.get(n.func)
        internal_assert(places, f"{n.func.name} is defined but has no storage")
        assert places is not None
        args = [self.go(a) for a in n.args]
        values = [self.go(v) for v in n.values]
        predicate = None if n.predicate is None else self.go(n.predicate)
        lets: list[Stmt] = []
        if _interfere(n):
            args = [self.named(n.func, "at", a, lets) for a in args]
            values = [self.named(n.func, "value", v, lets) for v in values]
            if predicate is not None:
                predicate = self.named(n.func, "where", predicate, lets)
        stores = [
            _store(place.buffer, value, self.at(place, args), predicate)
            for place, value in zip(places, values, strict=True)
        ]
        return block(*lets, *stores)

    def named(self, func: Function, what: str, e: Expr, lets: list[Stmt]) -> Expr:
        """`e`, evaluated before the stores that follow."""
        if isinstance(e, (Var, Imm)) or _is_undef(e) or _undef_branch(e) is not None:
            return e
        var = Var(f"{func.name}.{what}", e.type, value=e)
        lets.append(LetStmt(var, e))
        return var

    def on_demand(self, n: Demand) -> Stmt:
        assert isinstance(n.table, Function)
        (place,) = self.places[n.table]
        index = self.at(place, [self.go(e) for e in n.index])
        predicate = None if n.predicate is None else self.go(n.predicate)
        where = self.go(n.row), self.go(n.col)
        at = place.buffer, (index,)
        return Demand(n.thunk, *where, *at, predicate, n.reads, n.waits)

    def on_acquire(self, n: Acquire) -> Stmt:
        buffers = tuple([place.buffer for place in self.places[n.func]])
        return Acquire(n.semaphore, self.go(n.count), n.func, buffers)

    def on_prefetchregion(self, n: PrefetchRegion) -> Stmt:
        if isinstance(n.source, BufferSym):
            places: tuple[_Place, ...] = (self.image(n.source),)
        else:
            places = self.places[n.source]
        bounds = [(self.go(low), self.go(extent)) for low, extent in n.bounds]
        return block(*[self.rows(place, bounds) for place in places])

    def rows(self, place: _Place, bounds: Sequence[tuple[Expr, Expr]]) -> Stmt:
        """Prefetches of a region, row by row of the densest dimension."""
        order = list(place.order)
        elements: Expr = int32(1)
        args = [low for low, _ in bounds]
        if order and const_int(place.strides[order[0]]) == 1:
            elements = bounds[order.pop(0)][1]
        loops: list[tuple[Var, Expr, Expr]] = []
        for d in order:
            low, extent = bounds[d]
            if const_int(extent) == 1:
                continue
            last = sub(add(low, extent), int32(1))
            var = Var(f"{place.buffer.name}.ahead.{d}", INT32, lo=low, hi=last)
            args[d] = var
            loops.append((var, low, extent))
        count = self.wide(elements)
        made: Stmt = Prefetch(place.buffer, self.at(place, args), count, False)
        for var, low, extent in loops:
            made = For(var, low, extent, ForKind.SERIAL, made)
        return made

    def on_provideextern(self, n: ProvideExtern) -> Stmt:
        made = self.places.get(n.func)
        internal_assert(made, f"{n.func.name} is computed but has no storage")
        assert made is not None
        places: list[_Place] = []
        indices: list[Expr] = []
        shapes: list[Expr] = []
        boxes = iter(n.boxes)
        for source in n.sources:
            assert isinstance(source, FuncCall | ImageLoad)
            if isinstance(source, FuncCall):
                place = self.places[source.func][source.index]
            else:
                place = self.image(source.image)
            places.append(place)
            indices.append(self.at(place, [self.go(a) for a in source.args]))
            for stride in place.strides:
                least, extent = next(boxes)
                shapes += (self.go(least), self.go(extent), stride)
        outputs: list[BufferSym] = []
        for place in made:
            outputs.append(place.buffer)
            indices.append(self.at(place, [self.go(a) for a in n.at]))
            for (least, extent), stride in zip(n.bounds, place.strides, strict=True):
                shapes += (self.go(least), self.go(extent), stride)
        return RunExtern(
            n.func,
            tuple([self.go(e) for e in n.scalars]),
            tuple([p.buffer for p in places]),
            tuple(outputs),
            tuple(indices),
            tuple(shapes),
        )

    def on_realize(self, n: Realize) -> Stmt:
        func = n.func
        refuse_rounding(func)
        order = _storage_order(func)
        lets: list[Stmt] = []
        mins = tuple([self.wide(self.go(low)) for low, _ in n.bounds])
        extents = laid_out(func, self.extents(n, order), lets)
        texture: Texture | None = None
        if not self.in_kernel:
            bounds = [(self.go(low), self.go(extent)) for low, extent in n.bounds]
            texture = self.textures.lay_out(func, order, bounds, extents, lets)
        strides: dict[int, Expr] = {}
        stride: Expr = imm(1, self.index)
        for d in order:
            if stride.children():
                named = Var(f"{func.name}.stride.{d}", self.index, value=stride)
                lets.append(LetStmt(named, stride))
                stride = named
            strides[d] = stride
            stride = mul(stride, self.wide(extents[d]))
        outer = self.places.get(func)
        places: list[_Place] = []
        for i, t in enumerate(func.types):
            name = func.name if len(func.types) == 1 else f"{func.name}.{i}"
            buffer = BufferSym(
                name, t, len(order), "internal", func=func, value_index=i
            )
            by_dim = tuple([strides[d] for d in range(len(order))])
            none = imm(0, self.index)
            places.append(_Place(buffer, order, mins, by_dim, none, texture))
        if func in self.realized:
            self.memo.clear()  # it speaks of the storage of an earlier realization
        self.realized.add(func)
        self.places[func] = tuple(places)
        condition = self.go(n.condition)
        sizes = tuple([extents[d] for d in order])
        known = self.recalled(n, sizes, lets)
        body = self.go(n.body)
        if known is not None:
            del self.remembered[func]
        if outer is None:
            del self.places[func]
        else:
            self.places[func] = outer
            self.memo.clear()
        for i, p in enumerate(places):
            kind = memory_kind(func, p.buffer.type, sizes)
            if known is not None:
                condition, kind = known.storage(i), MemoryKind.CACHE
            made = Allocate(p.buffer, sizes, condition, kind, 0)
            # What is in a kernel has a constant size (`lower.kernels`).
            if not self.in_kernel:
                lets += size_checks(made, self.options)
            lets.append(made)
        return tail_block((*lets, body))

    def recalled(
        self, n: Realize, sizes: Sequence[Expr], lets: list[Stmt]
    ) -> Remembered | None:
        """The answer of the cache, if `n.func` is memoized."""
        func = n.func
        if func.schedule.memo is None:
            return None
        region = [(self.go(low), self.go(extent)) for low, extent in n.bounds]
        decided = [self.go(v) for v in decided_outside(func, n.body)]
        known = remembered(func, region, sizes, decided, n.body)
        assert known.answer.value is not None
        lets.append(LetStmt(known.answer, known.answer.value))
        self.remembered[func] = known
        return known

    def on_produce(self, n: Produce) -> Stmt:
        body = self.go(n.body)
        known = self.remembered.get(n.func)
        if n.producing and known is not None:
            body = known.unless_known(body)
        return Produce(n.func, n.producing, body)

    def on_block(self, n: Block) -> Stmt:
        return tail_block([self.go(item) for item in n.items])

    def extents(self, n: Realize, order: Sequence[int]) -> dict[int, Expr]:
        """The extents to allocate: constant where possible, never negative."""
        exact = {}
        for d in order:
            e = simplify(self.go(n.bounds[d][1]))
            low = constant_interval(e).lo
            exact[d] = e if low is not None and low >= 0 else maximum(e, int32(0))
        if all(const_int(e) is not None for e in exact.values()):
            return exact
        if self.in_kernel:
            bounds = {d: most_of(e) for d, e in exact.items()}
            return {
                d: exact[d] if bound is None else imm(bound, exact[d].type)
                for d, bound in bounds.items()
            }
        size = max((t.bytes() for t in n.func.types), default=1)
        rounded = {}
        for d, e in exact.items():
            most = constant_interval(e).hi
            if most is None:
                return exact
            size *= max(int(most), 1)
            rounded[d] = imm(int(most), e.type)
        return rounded if size <= MOST_ROUNDED_UP else exact


def tail_block(items: Sequence[Stmt]) -> Stmt:
    """The statements as one flat block. One with allocations of its own may be laid
    flat where it comes last: both end at the same place."""
    if not items:
        return NOP
    *before, last = items
    rest = last.items if type(last) is Block else (last,)
    flat = block(*before)
    start = flat.items if type(flat) is Block else (flat,)
    if before and any(type(i) is Allocate for i in (*start, *rest)):
        return Block((*start, *rest))
    return block(flat, *rest)


def _shifts(s: Stmt) -> dict[Var, Expr]:
    """The lets that only add a constant to another Var. They hide that regions and
    the loops over them have constant extents."""
    found: dict[Var, Expr] = {}
    stack: list[Stmt] = [s]
    while stack:
        n = stack.pop()
        if type(n) is LetStmt:
            form = linear(n.value) if n.var.type is INT32 else None
            if form is not None and list(form.terms.values()) == [1]:
                (atom,) = form.terms
                if isinstance(atom, Var):
                    base = linear(found.get(atom, atom))
                    found[n.var] = build_linear(base.shifted(form.const), INT32)
        elif isinstance(n, Block):
            stack.extend(reversed(n.items))
        else:
            stack.extend([c for c in n.children() if isinstance(c, Stmt)])
    return found


def _sum(terms: Iterable[Expr], zero: Expr) -> Expr:
    total: Expr | None = None
    for t in terms:
        total = t if total is None else add(total, t)
    return zero if total is None else total


def _rank(stride: Expr) -> int:
    """Dense dimensions come first in an index, so that its vector part is at hand."""
    value = const_int(stride)
    return 1 if value is None else 0 if value == 1 else 2


def _storage_order(func: Function) -> tuple[int, ...]:
    return tuple(func.schedule.storage_order) or tuple(range(func.dimensions))


def _interfere(n: Provide) -> bool:
    """Whether a store of one value could change what another one reads."""
    if len(n.values) < 2:
        return False
    written: set[int] = set()
    for i, value in enumerate(n.values):
        if i > 0 and written & _reads(n.func, (value, *n.args)):
            return True
        if i > 0 and n.predicate is not None:
            if written & _reads(n.func, (n.predicate,)):
                return True
        written.add(i)
    return False


def _reads(func: Function, exprs: Sequence[Expr]) -> set[int]:
    """Which values of `func` the expressions read."""
    return {
        e.index
        for root in exprs
        for e in nodes(root)
        if type(e) is FuncCall and e.func is func
    }


def _guarded(load: Load, cond: Expr) -> Load:
    return Load(load.type, load.buffer, load.index, cond)


def _is_undef(e: Expr) -> bool:
    return type(e) is Intrinsic and e.op == "undef"


def _is_likely(e: Expr) -> bool:
    return type(e) is Intrinsic and e.op in LIKELY


def _undef_branch(e: Expr) -> tuple[Expr, Expr] | None:
    """(condition, value) of a select one branch of which is undef."""
    if type(e) is Select:
        if _is_undef(e.b):
            return e.cond, e.a
        if _is_undef(e.a):
            return lnot(e.cond), e.b
    return None


def _store(buffer: BufferSym, value: Expr, index: Expr, predicate: Expr | None) -> Stmt:
    """A store; none of an undefined value."""
    if _is_undef(value):
        return NOP
    partly = _undef_branch(value)
    if partly is not None:
        cond, defined = partly
        store = _store(buffer, defined, index, predicate)
        if type(value) is Select and _is_undef(value.a) and _is_likely(value.cond):
            # Loops and vectors are made for points where nothing is stored.
            return If(value.cond, NOP, store)
        return If(cond, store, None)
    return Store(buffer, value, index, predicate)
