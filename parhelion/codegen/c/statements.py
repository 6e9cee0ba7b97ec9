"""Statements as C: loops with OpenMP's pragmas, checks, storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.codegen.backend import Writer
from parhelion.codegen.c import refusals
from parhelion.codegen.c.blocked import END_WIDTHS, WIDTHS, blocked
from parhelion.codegen.c.clamped import clamped
from parhelion.codegen.c.hoist import hoisted
from parhelion.codegen.c.joined import joined, sum_of
from parhelion.codegen.c.limits import limited
from parhelion.codegen.c.loops import (
    hindrance,
    holds_by_type,
    is_simd,
    simple_buffers,
    update_of,
)
from parhelion.codegen.c.minima import with_names
from parhelion.codegen.c.parted import parted
from parhelion.codegen.c.straight import opened, straight
from parhelion.codegen.c.text import AtOnce, Text, c_type
from parhelion.codegen.storage import constant_size
from parhelion.ir import build
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.types import INT32


def _block(f: Text, s: S.Block) -> None:
    live = len(f.live)
    for item in s.items:
        f.stmt(item)
    for b in reversed(f.live[live:]):
        f.out(f"give_back({f.names[b]});")
    del f.live[live:]


def _let(f: Text, s: S.LetStmt) -> None:
    f.define(s.var, f.root(s.value))


def _loop(f: Text, s: S.For) -> None:
    row = joined(s)
    if row is not None and is_simd(row):
        s = row
    if s.kind is ForKind.VECTORIZED:
        s = limited(s)
    simd = s.kind is ForKind.VECTORIZED and is_simd(s)
    if simd:
        parts = parted(s)
        if parts is not s:
            f.stmt(parts)
            return
        s, widths = _lanes(f, s)
    if simd or s.kind is ForKind.SERIAL:
        before, s = hoisted(s)
        for one in before:
            _let(f, one)
    if simd:
        vectors = blocked(s, widths)
        if vectors:
            _vectors(f, vectors)
        else:
            _plain_loop(f, s, "#pragma omp simd")
        return
    note = "" if s.kind is ForKind.SERIAL else f"  // {s.kind.value}"
    if s.kind is ForKind.PARALLEL and f.at_once is None:
        why = hindrance(s)
        if not why:
            _parallel_loop(f, s, _head(f, s))
            return
        note += f", but not here: {why}"
    f.out(_head(f, s) + note)
    f.scope(s.body)
    f.out("}")


def _head(f: Text, s: S.For) -> str:
    """The first line of a loop, after the name of its end."""
    end = build.add(s.min, s.extent)
    if s.var.type is INT32:
        end = sum_of(end)
    t, low = c_type(s.var.type), f.root(s.min)
    name = f.name(s.var, s.var.name)
    stop = f.root(end)
    if build.const_int(end) is None:
        limit = f.name((s, "end"), f"{name}_end")
        f.out(f"const {t} {limit} = {stop};")
        stop = limit
    return f"for ({t} {name} = {low}; {name} < {stop}; {name}++) {{"


def _plain_loop(f: Text, s: S.For, pragma: str) -> None:
    """A loop of lanes, whose body is written as it is."""
    head = _head(f, s)
    f.out(pragma)
    f.out(head)
    f.scope(s.body)
    f.out("}")


def _vectors(f: Text, loops: Sequence[tuple[Expr | None, S.For]]) -> None:
    """Loops of which the first one is run whose condition holds."""
    word = "if"
    for wanted, loop in loops:
        if len(loops) == 1:
            _vector_loop(f, loop)
            continue
        f.out(f"{word} ({f.root(wanted)}) {{" if wanted is not None else "} else {")
        f.indent += 1
        _vector_loop(f, loop)
        f.indent -= 1
        word = "} else if"
    if len(loops) > 1:
        f.out("}")


def _vector_loop(f: Text, s: S.For) -> None:
    """A loop over whole vectors; or over points, of which gcc is to make none."""
    if not isinstance(s.body, S.Block) or not isinstance(s.body.items[-1], S.For):
        _plain_loop(f, s, "#pragma omp simd simdlen(1)")
        return
    first, lanes = s.body.items
    assert isinstance(first, S.LetStmt) and isinstance(lanes, S.For)
    f.out(_head(f, s))
    f.indent += 1
    _let(f, first)
    _plain_loop(f, lanes, "#pragma omp simd")
    f.indent -= 1
    f.out("}")


def _lanes(f: Text, s: S.For) -> tuple[S.For, Sequence[int]]:
    """A loop of lanes as C compilers make vectors of it, after the names that it needs
    before, and the widths of vectors of bytes in it."""
    body = straight(opened(s.body, s.var))
    edges, s = clamped(S.For(s.var, s.min, s.extent, s.kind, body))
    for one in edges:
        _let(f, one)
    # What reads clamped places is at an end of a row.
    widths = END_WIDTHS if edges else WIDTHS
    limits, body = with_names(s.body)
    for value, limit in limits.items():
        f.define(limit, f"{f.need('opaque', value.type)}({f.root(value)})")
    return S.For(s.var, s.min, s.extent, s.kind, body), widths


def _parallel_loop(f: Text, s: S.For, head: str) -> None:
    """A loop for all threads. A failure inside ends its iteration, those that have
    not begun do nothing, and the function returns after the loop."""
    failed = f.name((s, "failed"), "failed")
    end = f.name((s, "label"), f"{f.names[s.var]}_done")
    now = AtOnce(failed, end, len(f.live), simple_buffers(s))
    lines, f.lines, f.at_once = f.lines, [], now
    f.scope(s.body)
    body, f.lines, f.at_once = f.lines, lines, None
    if now.fails:
        f.out(f"int {failed} = 0;")
    f.out("#pragma omp parallel for")
    f.out(head)
    if now.fails:
        f.out(f"  if ({f.runtime('has_failed')}(&{failed})) continue;")
    f.lines += body
    if now.fails:
        f.out(f"{end}:;")
    f.out("}")
    if now.fails:
        f.out(f"if ({failed}) {f.left(f'return {failed};', 0)}")


def _branch(f: Text, s: S.If) -> None:
    f.out(f"if ({f.root(s.cond)}) {{")
    f.scope(s.then)
    if s.otherwise is not None:
        f.out("} else {")
        f.scope(s.otherwise)
    f.out("}")


def _store(f: Text, s: S.Store) -> None:
    f.begin(s.index, s.value, *([] if s.predicate is None else [s.predicate]))
    index, value = f.text(s.index), f.text(s.value)
    wanted = "" if s.predicate is None else f"if ({f.text(s.predicate)}) "
    f.out(f"{wanted}{f.names[s.buffer]}[{index}] = {value};")


def _prefetch(f: Text, s: S.Prefetch) -> None:
    """One hint stands for all: the text is to be read."""
    f.begin(s.index)
    place = f"{f.names[s.buffer]}[{f.text(s.index)}]"
    f.out(f"__builtin_prefetch(&{place}, {int(s.writes)});")


def _evaluate(f: Text, s: S.Evaluate) -> None:
    f.root(s.value)


def _check(f: Text, s: S.Assert) -> None:
    if not build.is_true(s.cond) and not holds_by_type(s.cond):
        f.fail_unless(f.root(s.cond), s.code)


def _produce(f: Text, s: S.Produce) -> None:
    what = "compute" if s.producing else "use"
    f.out(f"// {what} {s.func.name}")
    f.stmt(s.body)


def _atomic(f: Text, s: S.Atomic) -> None:
    now = f.at_once
    stored = {n.buffer for n in nodes(s.body) if isinstance(n, S.Store)}
    if not s.shared or now is None or stored <= now.own:
        f.out("// atomic")
        f.stmt(s.body)
        return
    update = update_of(s) if stored <= now.simple else None
    if update is None:
        func = "".join([c if c.isalnum() else "_" for c in s.func.name])
        f.out(f"#pragma omp critical(update_{func})")
        f.out("{")
        f.scope(s.body)
        f.out("}")
        return
    for let in update.lets:
        _let(f, let)
    f.begin(update.store.index, update.operand)
    index, operand = f.text(update.store.index), f.text(update.operand)
    place = f"{f.names[update.store.buffer]}[{index}]"
    f.out("#pragma omp atomic")
    f.out(f"{place} {update.symbol}= {operand};")


def _free(f: Text, s: S.Free) -> None:
    if s.buffer in f.arrays:
        return
    f.out(f"give_back({f.names[s.buffer]});")
    f.live.remove(s.buffer)


def _allocate(f: Text, s: S.Allocate) -> None:
    if f.at_once is not None:
        f.at_once.own.add(s.buffer)
    f.tables.allocate(f, s, constant_size(s))


STATEMENTS: Mapping[type[Stmt], Writer[Text]] = {
    S.Block: _block,
    S.LetStmt: _let,
    S.For: _loop,
    S.If: _branch,
    S.Store: _store,
    S.RunExtern: refusals.foreign,
    S.OnDemand: refusals.lazy,
    S.Evaluate: _evaluate,
    S.Prefetch: _prefetch,
    S.Assert: _check,
    S.Produce: _produce,
    S.Atomic: _atomic,
    S.Allocate: _allocate,
    S.Free: _free,
}

__all__ = ["STATEMENTS"]
