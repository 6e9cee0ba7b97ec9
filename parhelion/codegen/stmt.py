"""Statements: blocks, bindings, branches, loops, allocations, assertions."""

from __future__ import annotations

from parhelion.codegen import (
    accumulate,
    atomic,
    closures,
    device,
    effects,
    extern,
    lazy,
    memories,
    opaque,
    polls,
)
from parhelion.codegen.addresses import address, index_value
from parhelion.codegen.lets import bind_let
from parhelion.codegen.memory import store, store_text
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.writer import STATEMENTS, Function, ScopeKind
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.stmt import ForKind
from parhelion.types import INT32

#: The size of a cache line in bytes, on all machines that code is made for.
LINE = 64
#: A Prefetch of up to this many cache lines is written out, a longer one is a loop.
MOST_HINTS = 32


def _block(f: Function, s: S.Block) -> None:
    before = memories.mark(f)
    for at, item in enumerate(s.items):
        f.run = (s.items, at)
        f.write_next(item)
    memories.end(f, before)


def _let(f: Function, s: S.LetStmt) -> None:
    bind_let(f, s.var, s.value)


def _if(f: Function, s: S.If) -> None:
    cond = f.value(s.cond)
    yes, end = f.label("then"), f.label("end")
    no = f.label("else") if s.otherwise is not None else end
    f.out(f"  br i1 {cond}, label %{yes}, label %{no}")
    for label, part in ((yes, s.then), (no, s.otherwise)):
        if part is None:
            continue
        f.push(ScopeKind.BRANCH)
        f.start(label)
        f.write(part)
        f.out(f"  br label %{end}")
        f.append(f.pop())
    f.start(end)


def _for(f: Function, s: S.For) -> None:
    if s.kind is ForKind.PARALLEL:
        closures.parallel_loop(f, s)
        return
    if s.kind is ForKind.GPU_BLOCK:
        device.launch(f, s)
        return
    if s.kind is not ForKind.SERIAL:
        raise InternalError(f"code generation met a {s.kind.value} loop")
    serial_loop(f, s)


def serial_loop(f: Function, s: S.For) -> None:
    """A loop with its test at the end, behind a guard unless it surely runs.

    Whatever its body computes that does not change is written before it (see
    `writer`), inside the guard.
    """
    known = build.const_int(s.extent)
    if known is not None and known <= 0:
        return
    strip = polls.strip(f, s)
    if strip > 1 and f.looked and accumulate.plan(f.module, s) is not None:
        _short_or_long(f, s, strip)
    else:
        _loop(f, s, strip)


def _short_or_long(f: Function, s: S.For, strip: int) -> None:
    """Writes a reduction twice: in strips if it is long, and without if it is short.

    Most reductions inside of loops that look for signals are short, and strips would
    compute their addresses anew.
    """
    extent = index_value(f, s.extent)
    is_long = f.at(f.level(s.extent), f"icmp sgt i64 {extent}, {strip}")
    long, short, joined = f.label("long"), f.label("short"), f.label("joined")
    f.out(f"  br i1 {is_long}, label %{long}, label %{short}")
    before = f.block
    f.push(ScopeKind.BRANCH)
    f.start(long)
    _loop(f, s, strip)
    f.out(f"  br label %{joined}")
    f.cold.extend(f.pop())
    f.block = before
    f.push(ScopeKind.BRANCH)
    f.start(short)
    _loop(f, s, 0)
    f.out(f"  br label %{joined}")
    f.append(f.pop())
    f.start(joined)


def _loop(f: Function, s: S.For, strip: int) -> None:
    """A loop that surely runs or has a guard, which looks after so many iterations."""
    known = build.const_int(s.extent)
    looked, f.looked = f.looked, f.looked or strip == 1
    word = f.module.backend.word if s.var.type is INT32 else "i64"
    start = _bound(f, s.min, word)
    stop = _bound(f, build.add(s.min, s.extent), word)
    pre, loop, end = f.label("pre"), f.label("loop"), f.label("end")
    if known is None:
        runs = f.op(f"icmp slt {word} {start}, {stop}")
        f.out(f"  br i1 {runs}, label %{pre}, label %{end}")
    else:
        f.out(f"  br label %{pre}")
    outside = f.push(ScopeKind.PREHEADER, sure=known is not None)
    f.start(pre)
    plan = accumulate.plan(f.module, s)
    cells: list[tuple[E.Load, str, str]] = []
    if plan is not None:
        for item in plan.lets:
            bind_let(f, item.var, item.value)
        cells = [(cell, f.value(cell), f.name()) for cell in plan.cells]
    strips = None
    if strip > 1:
        strips = _Strips(f, s, strip, (start, stop), pre, cells)
    inside = f.push(ScopeKind.BODY, f.module.writes(s.body))
    inside.hides = opaque.hides_addresses(f.module, s)
    f.start(loop)
    counter, after = f.name(), f.name()
    phi = len(inside.lines)
    f.out("")
    if word == value_type(s.var.type):
        f.bind(s.var, counter, f.top)
    else:
        f.bind(s.var, None, f.top)
    if word == "i64":
        f.wide[s.var] = counter
    if plan is None:
        f.write(s.body)
        last: dict[E.Load, str] = {}
    else:
        last = _accumulate(f, plan, {cell: name for cell, _, name in cells})
    f.looked = looked
    if strip == 1:
        polls.look(f)
    first, before = (start, pre) if strips is None else (strips.first, strips.label)
    carried = [v for _, v, _ in cells] if strips is None else strips.carried
    phis = [
        f"  {counter} = phi {word} [ {first}, %{before} ], [ {after}, %{f.block} ]",
        *[
            f"  {name} = phi {value_type(cell.type)} [ {value}, %{before} ], "
            f"[ {last[cell]}, %{f.block} ]"
            for (cell, _, name), value in zip(cells, carried, strict=True)
        ],
    ]
    inside.lines[phi] = "\n".join(phis)
    f.out(f"  {after} = add nsw {word} {counter}, 1")
    # An equality: LLVM then counts with a pointer that it has anyway.
    limit = stop if strips is None else strips.limit
    more = f.op(f"icmp ne {word} {after}, {limit}")
    done = f.label("done") if cells else end
    left = done if strips is None else strips.left
    mark = f.module.loop(short=polls.is_short(f.module, s))
    f.out(f"  br i1 {more}, label %{loop}, label %{left}{mark}")
    body = f.pop()
    if strips is None:
        outside.lines.append(f"  br label %{loop}")
        outside.lines.extend(body)
    else:
        f.out(f"  br label %{strips.label}")
        f.start(strips.label)
        head = len(outside.lines)
        f.out("")
        f.out(f"  br label %{loop}")
        f.append(body)
        f.start(strips.left)
        outside.lines[head] = strips.end(f, done, last, mark)
    if cells:
        f.start(done)
        for cell, _, _ in cells:
            store_text(f, cell.buffer, last[cell], cell.type, cell.index)
        f.out(f"  br label %{end}")
    f.append(f.pop())
    f.start(end)


def _bound(f: Function, e: E.Expr, word: str) -> str:
    """A bound of a loop that counts in words of that type."""
    return f.value(e) if word == "i32" else index_value(f, e)


class _Strips:
    """A long loop in strips, between which it looks whether it is to stop.

    label: of the block before each strip. first, limit: where a strip begins and ends.
    carried: what the cells in registers hold there. left: where a strip is left to.
    """

    def __init__(
        self,
        f: Function,
        s: S.For,
        strip: int,
        span: tuple[str, str],
        pre: str,
        cells: list[tuple[E.Load, str, str]],
    ) -> None:
        self.strip, self.pre, self.cells = strip, pre, cells
        self.start, self.stop = span
        self.label, self.left = f.label("strip"), f.label("left")
        self.first, self.limit = f.name(), f.name()
        self.carried = [f.name() for _ in cells]
        # Where the first one ends is known outside of the loops around this one too.
        level = max(f.level(s.min), f.level(s.extent))
        far = f.at(level, f"add nsw i64 {self.start}, {strip}")
        self.soon = f.at(level, self._nearer(f, far))

    def _nearer(self, f: Function, far: str) -> str:
        at = f.module.declare("llvm.smin.i64", "i64", "i64, i64")
        return f"call i64 {at}(i64 {far}, i64 {self.stop})"

    def end(self, f: Function, done: str, last: dict[E.Load, str], mark: str) -> str:
        """Writes what follows a strip: the end, or a look and the next one. Returns
        the phis. Nothing of it mentions the loop's counter, which LLVM may then give
        up for a pointer that it has anyway. mark: the loop's metadata, which this way
        back needs as well, as LLVM joins the two loops to one."""
        over = f.op(f"icmp eq i64 {self.limit}, {self.stop}")
        between = f.label("between")
        f.out(f"  br i1 {over}, label %{done}, label %{between}{f.module.LIKELY}")
        f.start(between)
        polls.look(f)
        then = f.op(self._nearer(f, f.op(f"add nsw i64 {self.limit}, {self.strip}")))
        f.out(f"  br label %{self.label}{mark}")
        carried = [
            ("i64", self.first, self.start, self.limit),
            ("i64", self.limit, self.soon, then),
            *[
                (value_type(cell.type), name, first, last[cell])
                for (cell, first, _), name in zip(self.cells, self.carried, strict=True)
            ],
        ]
        return "\n".join(
            f"  {name} = phi {kind} [ {first}, %{self.pre} ], [ {next}, %{f.block} ]"
            for kind, name, first, next in carried
        )


def _accumulate(
    f: Function, plan: accumulate.Plan, now: dict[E.Load, str]
) -> dict[E.Load, str]:
    """Writes the body of a loop that keeps cells in registers.

    now: the name of each cell at the beginning of an iteration. Returns those at its
    end.
    """
    buffers = plan.buffers

    def remember() -> None:
        for cell, name in now.items():
            f.forward(cell, name)

    remember()
    for at, item in enumerate(plan.rest):
        f.run = (plan.rest, at)
        if not isinstance(item, S.Store) or item.buffer not in buffers:
            f.write_next(item)
            continue
        text = opaque.stored(f, item.value, f.value(item.value))
        now[E.Load(item.value.type, item.buffer, item.index, None)] = text
        f.forget_loads(item.buffer)
        remember()
    return now


def _store(f: Function, s: S.Store) -> None:
    text = store(f, s.buffer, s.value, s.index, s.predicate)
    f.forget_loads(s.buffer)
    if s.predicate is None and accumulate.self_disjoint(s.index):
        # Who loads this next need not go to memory.
        f.forward(E.Load(s.value.type, s.buffer, s.index, None), text)


def _evaluate(f: Function, s: S.Evaluate) -> None:
    f.value(s.value)


def _prefetch(f: Function, s: S.Prefetch) -> None:
    """A hint for each cache line; a loop over them if there are many."""
    known = build.const_int(s.elements)
    size = s.buffer.type.bytes()
    pointer, offset = address(f, s.buffer, s.index)
    if offset:
        one = memory_type(s.buffer.type)
        pointer = f.op(f"getelementptr {one}, ptr {pointer}, i64 {offset}")
    if known is not None and known * size <= MOST_HINTS * LINE:
        for line in range(0, known * size, LINE):
            _hint(f, pointer, str(line), s.writes)
        return
    count = f.op(f"mul i64 {index_value(f, s.elements)}, {size}")
    before, loop, end = f.block, f.label("hints"), f.label("hinted")
    some = f.op(f"icmp sgt i64 {count}, 0")
    f.out(f"  br i1 {some}, label %{loop}, label %{end}")
    f.start(loop)
    at, after = f.name(), f.name()
    f.out(f"  {at} = phi i64 [ 0, %{before} ], [ {after}, %{loop} ]")
    _hint(f, pointer, at, s.writes)
    f.out(f"  {after} = add nsw i64 {at}, {LINE}")
    more = f.op(f"icmp slt i64 {after}, {count}")
    f.out(f"  br i1 {more}, label %{loop}, label %{end}{f.module.loop()}")
    f.start(end)


def _hint(f: Function, pointer: str, offset: str, writes: bool) -> None:
    """What will be read goes to the second-level cache, where it disturbs nothing; what
    will be written to the first, which x86 can do alone."""
    hint = f.module.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
    if offset != "0":
        pointer = f.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")
    level = 3 if writes else 2
    f.out(f"  call void {hint}(ptr {pointer}, i32 {int(writes)}, i32 {level}, i32 1)")


def _assert(f: Function, s: S.Assert) -> None:
    if not build.is_true(s.cond):
        effects.unless(f, f.value(s.cond), s.code, s.args)


def _produce(f: Function, s: S.Produce) -> None:
    f.write(s.body)


STATEMENTS |= {
    S.Block: _block,
    S.LetStmt: _let,
    S.If: _if,
    S.For: _for,
    S.Store: _store,
    S.Evaluate: _evaluate,
    S.Prefetch: _prefetch,
    S.Assert: _assert,
    S.Produce: _produce,
    S.Atomic: atomic.write_atomic,
    S.RunExtern: extern.run_extern,
    S.Fork: device.fork,
    S.Acquire: closures.acquire,
    S.Release: closures.release,
    S.Sync: device.sync,
    S.Barrier: device.barrier,
    S.OnDemand: lazy.on_demand,
    S.Demand: lazy.demand,
    S.Allocate: memories.allocate,
    S.Free: memories.free,
}
