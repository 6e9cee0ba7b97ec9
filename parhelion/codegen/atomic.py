"""Atomic updates of memory that several threads update.

An update of one word is one instruction where the machine has it (an integer added,
subtracted, or folded with min, max, and, or, xor), and else a loop around a compare
and exchange:

    old = load p;  do { new = update(old) } while (!exchange(p, &old, new))

An update of several values, or one that may not be evaluated again, holds a lock of the
run time meanwhile, which the address of the first value chooses. The end of the loop
orders all of it before what follows; among themselves updates need no order.
"""

from __future__ import annotations

from parhelion.analysis.linear import difference
from parhelion.codegen import addresses
from parhelion.codegen.lets import bind_let
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.writer import Function, ScopeKind
from parhelion.errors import InternalError, internal_assert
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import is_true
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import Stmt
from parhelion.types import Type

_BY_NODE: dict[type[Expr], tuple[str, str]] = {
    # signed (or of no sign), unsigned
    E.Add: ("add", "add"),
    E.Sub: ("sub", "sub"),
    E.Min: ("min", "umin"),
    E.Max: ("max", "umax"),
    E.And: ("and", "and"),
    E.Or: ("or", "or"),
}
_BY_INTRINSIC = {"bit_and": "and", "bit_or": "or", "bit_xor": "xor"}


def write_atomic(f: Function, s: S.Atomic) -> None:
    """Writes an atomic update."""
    if not s.shared:
        f.write(s.body)
    elif s.locked:
        _locked(f, s)
    else:
        _each_word(f, s.body)


def _each_word(f: Function, s: Stmt) -> None:
    """The one store in `s`, and what leads to it."""
    if isinstance(s, S.Block):
        f.push(ScopeKind.BRANCH)
        for item in s.items:
            _each_word(f, item)
        f.append(f.pop())
    elif isinstance(s, S.LetStmt):
        bind_let(f, s.var, s.value)
    elif isinstance(s, S.If):
        internal_assert(s.otherwise is None, "an atomic update with two branches")
        _if_so(f, f.value(s.cond), s.then)
    elif isinstance(s, S.Store):
        if s.predicate is not None and not is_true(s.predicate):
            mask = f.value(s.predicate)
            _if_so(f, mask, S.Store(s.buffer, s.value, s.index, None))
            return
        f.forget_effects()
        _word(f, s)
        f.forget_loads(s.buffer)
    else:
        raise InternalError(f"an atomic update with a {type(s).__name__}")


def _if_so(f: Function, cond: str, s: Stmt) -> None:
    yes, end = f.label("then"), f.label("end")
    f.out(f"  br i1 {cond}, label %{yes}, label %{end}")
    f.push(ScopeKind.BRANCH)
    f.start(yes)
    _each_word(f, s)
    f.out(f"  br label %{end}")
    f.append(f.pop())
    f.start(end)


# One word.


def _word(f: Function, s: S.Store) -> None:
    t = s.value.type
    internal_assert(t.count == 1, "an atomic update of a vector")
    olds = {n for n in nodes(s.value) if type(n) is E.Load and n.buffer is s.buffer}
    for old in olds:
        if old.index is not s.index:
            gap = difference(old.index, s.index)
            if gap.terms or gap.const:
                raise InternalError(f"an atomic update of {s.buffer.name} reads aside")
    pointer, offset = addresses.address(f, s.buffer, s.index)
    pointer = addresses.offset_pointer(f, pointer, t, offset)
    word, how = f"i{8 * t.bytes()}", _how(f, s)
    if not olds:
        new = _as_word(f, f.value(s.value), t)
        f.out(f"  store atomic {word} {new}, ptr {pointer}{how}, {_aligned(t)}")
        return
    added = _float_added(s, olds) if f.module.adds_floats(t) else None
    if added is not None:
        vt, text = value_type(t), f.value(added)
        f.out(f"  atomicrmw fadd ptr {pointer}, {vt} {text}{how}, {_aligned(t)}")
        return
    single = _instruction(s, olds)
    if single is not None:
        op, operand = single
        text = _as_word(f, f.value(operand), t)
        f.out(f"  atomicrmw {op} ptr {pointer}, {word} {text}{how}, {_aligned(t)}")
        return
    _exchange(f, s, pointer, word, olds)


def _instruction(s: S.Store, olds: set[E.Load]) -> tuple[str, Expr] | None:
    """The one operation that updates a word, and its operand, if there is one."""
    value, t = s.value, s.value.type
    if t.is_float() or len(olds) != 1:
        return None
    (old,) = olds
    names = _BY_NODE.get(type(value))
    if names is not None:
        op = names[0] if t.is_int() else names[1]
        a, b = value.children()
    elif isinstance(value, E.Intrinsic) and value.op in _BY_INTRINSIC:
        op = _BY_INTRINSIC[value.op]
        a, b = value.args
    else:
        return None
    assert isinstance(a, Expr) and isinstance(b, Expr)
    if b is old and not isinstance(value, E.Sub):
        a, b = b, a
    if a is not old or any(n is old for n in nodes(b)):
        return None
    return op, b


def _how(f: Function, s: S.Store) -> str:
    """In what order, and by which threads, an update of a buffer is seen."""
    scope = f.module.scope(s.buffer)
    return f' syncscope("{scope}") monotonic' if scope else " monotonic"


def _float_added(s: S.Store, olds: set[E.Load]) -> Expr | None:
    """What is added to a float, if that is all of the update."""
    value = s.value
    if len(olds) != 1 or not isinstance(value, E.Add):
        return None
    (old,) = olds
    a, b = (value.b, value.a) if value.b is old else (value.a, value.b)
    return b if a is old and not any(n is old for n in nodes(b)) else None


def _exchange(
    f: Function, s: S.Store, pointer: str, word: str, olds: set[E.Load]
) -> None:
    """A loop around a compare and exchange."""
    t = s.value.type
    align, how = _aligned(t), _how(f, s)
    first = f.op(f"load atomic {word}, ptr {pointer}{how}, {align}")
    pre, loop, end = f.label("before"), f.label("exchange"), f.label("exchanged")
    f.out(f"  br label %{pre}")
    outside = f.push(ScopeKind.PREHEADER, sure=True)
    f.start(pre)
    inside = f.push(ScopeKind.BODY, frozenset((s.buffer,)))
    f.start(loop)
    now, seen = f.name(), f.name()
    phi = len(inside.lines)
    f.out("")
    old = _from_word(f, now, t)
    for load in olds:
        f.forward(load, old)
    new = _as_word(f, f.value(s.value), t)
    inside.lines[phi] = (
        f"  {now} = phi {word} [ {first}, %{pre} ], [ {seen}, %{f.block} ]"
    )
    pair = f.op(
        f"cmpxchg weak ptr {pointer}, {word} {now}, {word} {new}{how} monotonic, "
        f"{align}"
    )
    f.out(f"  {seen} = extractvalue {{ {word}, i1 }} {pair}, 0")
    done = f.op(f"extractvalue {{ {word}, i1 }} {pair}, 1")
    f.out(f"  br i1 {done}, label %{end}, label %{loop}")
    f.forget_loads(s.buffer)
    body = f.pop()
    outside.lines.append(f"  br label %{loop}")
    outside.lines.extend(body)
    f.append(f.pop())
    f.start(end)


def _aligned(t: Type) -> str:
    return f"align {t.bytes()}"


def _as_word(f: Function, text: str, t: Type) -> str:
    """A value of type `t` as the integer that memory holds."""
    text = addresses.to_memory(f, text, t)
    kind = memory_type(t)
    word = f"i{8 * t.bytes()}"
    return text if kind == word else f.op(f"bitcast {kind} {text} to {word}")


def _from_word(f: Function, text: str, t: Type) -> str:
    kind = memory_type(t)
    word = f"i{8 * t.bytes()}"
    if kind != word:
        text = f.op(f"bitcast {word} {text} to {kind}")
    return addresses.from_memory(f, text, t)


# Several words.


def _locked(f: Function, s: S.Atomic) -> None:
    """The update with the lock of its first place held."""
    lets = {n.var: n.value for n in nodes(s.body) if isinstance(n, S.LetStmt)}
    store = next((n for n in nodes(s.body) if isinstance(n, S.Store)), None)
    if store is None:
        f.write(s.body)
        return
    index = _opened(store.index, lets)
    reads = f.module.reads(index)
    internal_assert(
        reads.isdisjoint(f.module.writes(s.body)),
        f"an atomic update of {s.func.name} at a place that it decides itself",
    )
    if index.type.count > 1:
        raise InternalError("an atomic update of a vector")
    pointer, offset = addresses.address(f, store.buffer, index)
    pointer = addresses.offset_pointer(f, pointer, store.buffer.type, offset)
    f.module.runtime("ph_lock")
    f.module.runtime("ph_unlock")
    written = f.module.writes(s.body)
    f.push(ScopeKind.PREHEADER, sure=True)
    lock = f.op(f"call ptr @ph_lock(ptr {pointer})")
    f.push(ScopeKind.BODY, written)
    outer, f.lock = f.lock, lock
    f.write(s.body)
    for buffer in written:
        f.forget_loads(buffer)
    f.lock = outer
    f.out(f"  call void @ph_unlock(ptr {lock})")
    body = f.pop()
    f.append(body)
    f.append(f.pop())


def _opened(e: Expr, lets: dict[Var, Expr]) -> Expr:
    """`e` without names that are bound further in."""
    while True:
        inner = {v: lets[v] for v in free_vars(e) if v in lets}
        if not inner:
            return e
        e = substitute(e, inner)
