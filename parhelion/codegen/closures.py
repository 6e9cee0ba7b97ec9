"""Parallel loops and forks: the body becomes a function of an index and a closure.

The closure is a struct in the caller's frame that holds the pointers and scalars the
body mentions. The run time calls the body from its threads and returns the first
failure's code, 0 for none; the caller then frees what it holds and returns it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parhelion.codegen import effects
from parhelion.codegen.addresses import index_value
from parhelion.codegen.module import EFFECT, quoted
from parhelion.codegen.streams import end_streams
from parhelion.codegen.types import value_type
from parhelion.codegen.writer import Function
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, StringImm, Var
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, Handle


def uses(f: Function, s: Stmt) -> tuple[frozenset[Var], tuple[BufferSym, ...]]:
    """The free Vars of a statement, and the buffers it uses but does not allocate."""
    found: set[Var] = set()
    bound: set[Var] = set()
    buffers: dict[BufferSym, None] = {}
    own: set[BufferSym] = {EFFECT}
    seen: set[Node] = set()
    stack: list[Node] = [s]
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, Expr):
            found |= free_vars(n)
            buffers.update(dict.fromkeys(_ordered(f, n)))
            continue
        if isinstance(n, S.LetStmt | S.For):
            bound.add(n.var)
        elif isinstance(n, S.Store | S.Prefetch):
            buffers[n.buffer] = None
        elif isinstance(n, S.RunExtern):
            buffers.update(dict.fromkeys((*n.inputs, *n.outputs)))
        elif isinstance(n, S.Acquire | S.Release):
            buffers[n.semaphore] = None
        elif isinstance(n, S.Sync):
            buffers[n.buffer] = None
        elif isinstance(n, S.Demand):
            assert isinstance(n.table, BufferSym)
            buffers[n.thunk] = buffers[n.table] = None
        elif isinstance(n, S.OnDemand):
            own.add(n.thunk)
        elif isinstance(n, S.Allocate):
            own.add(n.buffer)
        stack.extend(reversed(n.children()))
    return frozenset(found - bound), tuple(b for b in buffers if b not in own)


def _statements(s: Stmt) -> Iterator[Stmt]:
    yield s
    for c in s.children():
        if isinstance(c, Stmt):
            yield from _statements(c)


def _ordered(f: Function, e: Expr) -> list[BufferSym]:
    """The buffers that an expression reads, in an order that is always the same."""
    reads = f.module.reads(e)
    return [b for b in f.pointers if b in reads] if reads else []


def parallel_loop(f: Function, s: S.For) -> None:
    """Outlines the loop's body and calls the run time's parallel for."""
    name, fields = outlined(f, s.body, {"index": s.var}, "par")
    start, extent = _as_int32(f, s.min), _as_int32(f, s.extent)
    closure = filled(f, fields)
    f.module.runtime("ph_par_for")
    result = f.op(
        f"call i32 @ph_par_for(ptr %ctx, ptr @{quoted(name)}, i32 {start}, "
        f"i32 {extent}, ptr {closure})"
    )
    for buffer in f.module.writes(s.body):
        f.forget_loads(buffer)
    leave_unless_good(f, result)


def fork(f: Function, s: S.Fork) -> None:
    """Outlines both statements and has the run time start them."""
    one, fields1 = outlined(f, s.first, {"index": None}, "async")
    two, fields2 = outlined(f, s.second, {"index": None}, "main")
    closure1, closure2 = filled(f, fields1), filled(f, fields2)
    f.module.runtime("ph_fork")
    result = f.op(
        f"call i32 @ph_fork(ptr %ctx, ptr @{quoted(one)}, ptr {closure1}, "
        f"ptr @{quoted(two)}, ptr {closure2})"
    )
    for buffer in f.module.writes(s):
        f.forget_loads(buffer)
    started = f.op(f"icmp ne i32 {result}, -1")
    effects.unless(f, started, "no_thread", (StringImm(Handle(), s.func.label),))
    leave_unless_good(f, result)


def acquire(f: Function, s: S.Acquire) -> None:
    f.module.runtime("ph_acquire")
    semaphore, count = f.pointers[s.semaphore][0], _as_int32(f, s.count)
    result = f.op(f"call i32 @ph_acquire(ptr %ctx, ptr {semaphore}, i32 {count})")
    for buffer in s.buffers:
        f.forget_loads(buffer)
    leave_unless_good(f, result)


def release(f: Function, s: S.Release) -> None:
    end_streams(f)
    f.module.runtime("ph_release")
    semaphore, count = f.pointers[s.semaphore][0], _as_int32(f, s.count)
    f.out(f"  call void @ph_release(ptr {semaphore}, i32 {count})")


def outlined(
    f: Function, s: Stmt, indices: Mapping[str, Var | None], what: str
) -> tuple[str, list[tuple[str, str]]]:
    """Writes a statement as a function of int32 indices and a closure.

    indices: by the names of the parameters, the Vars that they are, if any. Returns the
    name of a function that does this and what its closure must hold, as (type, the
    caller's text).
    """
    free, buffers = uses(f, s)
    module = f.module
    name = module.unique(f"{f.symbol}.{what}")
    given = ", ".join([f"i32 %{index}" for index in indices])
    own = [var for var in indices.values() if var is not None]
    body = Function(
        module,
        f"define internal i32 @{quoted(name)}(ptr noalias %ctx, {given}, "
        "ptr noalias readonly %closure)",
        name,
        f.rebound,
    )
    fields: list[tuple[str, str]] = []

    def field(kind: str, text: str) -> str:
        fields.append((kind, text))
        return f"%c{len(fields) - 1}"

    for buffer in f.pointers:
        if buffer in buffers:
            body.pointers[buffer] = (field("ptr", f.pointers[buffer][0]), 0)
    synced = {n.buffer for n in _statements(s) if isinstance(n, S.Sync)}
    for buffer in f.structs:
        if buffer in synced:
            body.structs[buffer] = field("ptr", f.structs[buffer])
    if synced and f.report:
        body.report = field("ptr", f.report)
    for var in list(f.vars):
        if var not in free or var in own:
            continue
        text = f.value(var)
        inner = field(value_type(var.type), text) if text.startswith("%") else text
        body.bind(var, inner, 0)
    struct = _struct(fields)
    for i, (kind, _) in enumerate(fields):
        at = f"%p{i}"
        body.out(f"  {at} = getelementptr {struct}, ptr %closure, i32 0, i32 {i}")
        body.out(f"  %c{i} = load {kind}, ptr {at}, !invariant.load !4")
    for name_of, index in indices.items():
        if index is None:
            continue
        body.looked = True  # as the pool looks
        body.bind(index, f"%{name_of}", 0)
        if index.type is INT32:
            body.wide[index] = body.op(f"sext i32 %{name_of} to i64")
        else:
            body.bind(index, body.op(f"sext i32 %{name_of} to i64"), 0)
    body.write(s)
    end_streams(body)
    body.out("  ret i32 0")
    effects.write_exits(body)
    return body.shared(), fields


def _struct(fields: list[tuple[str, str]]) -> str:
    return "{ " + ", ".join(kind for kind, _ in fields) + " }"


def filled(f: Function, fields: list[tuple[str, str]]) -> str:
    """The address of a closure, filled."""
    if not fields:
        return "null"
    struct = _struct(fields)
    closure = f.alloca(struct)
    for i, (kind, text) in enumerate(fields):
        at = f.op(f"getelementptr {struct}, ptr {closure}, i32 0, i32 {i}")
        f.out(f"  store {kind} {text}, ptr {at}")
    return closure


def leave_unless_good(f: Function, result: str) -> None:
    """Leaves with the code that a call of the run time returned, unless that is 0."""
    good = f.op(f"icmp eq i32 {result}, 0")
    bad, ok = f.label("failed"), f.label("ok")
    f.out(f"  br i1 {good}, label %{ok}, label %{bad}{f.module.LIKELY}")
    before, out = f.block, f.out
    f.block, f.out = bad, f.cold.append
    f.out(f"{bad}:")
    effects.leave(f, result)
    f.block, f.out = before, out
    f.start(ok)


def _as_int32(f: Function, e: Expr) -> str:
    if e.type is INT32:
        return f.value(e)
    text = index_value(f, e)
    return f.op(f"trunc i64 {text} to i32") if text.startswith("%") else text
