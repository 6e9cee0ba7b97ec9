"""Parts of Funcs that are computed on demand.

What computes a part is a function of its row and column and of a closure, as the body
of a parallel loop is. A demand looks at the table of parts; the call is cold code. The
table is read and written so that whoever finds an entry `MADE` finds the part as well:
that costs nothing but an order of instructions on x86.
"""

from __future__ import annotations

from collections.abc import Callable

from parhelion.codegen import addresses
from parhelion.codegen.closures import filled, leave_unless_good, outlined
from parhelion.codegen.module import quoted
from parhelion.codegen.profiling import tally
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.vector import all_lanes, any_lane
from parhelion.codegen.writer import Function, ScopeKind
from parhelion.errors import internal_assert
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import add, block, const_int, imm, int32, mul, sub
from parhelion.ir.expr import Expr, Var
from parhelion.ir.stmt import MADE
from parhelion.ir.symbols import BufferSym
from parhelion.types import BOOL, INT32, Type


def on_demand(f: Function, s: S.OnDemand) -> None:
    """Writes the functions that compute parts, and then what may ask for them.

    What stands for the thunk is an array with the closure of each function.
    """
    closures = f.alloca(f"[{len(s.makes)} x ptr]")
    for k, made in enumerate(s.makes):
        assert isinstance(made, S.For) and isinstance(made.body, S.For)
        indices, body = _indices(made.var, made.body, s.lanes[k])
        name, fields = outlined(f, body, indices, "part")
        f.module.productions[s.thunk, s.lanes[k]] = name, k
        at = f.op(f"getelementptr ptr, ptr {closures}, i32 {k}")
        f.out(f"  store ptr {filled(f, fields)}, ptr {at}")
    before = f.pointers.get(s.thunk)
    f.pointers[s.thunk] = (closures, f.top)
    f.write(s.body)
    if before is None:
        del f.pointers[s.thunk]
    else:
        f.pointers[s.thunk] = before


def _indices(row: Var, columns: S.For, lanes: int) -> tuple[dict[str, Var], S.Stmt]:
    """What the function of a production is given beside its closure, and its body.

    One that computes several columns side by side is also given how often: what does
    not change from one time to the next is found out once.
    """
    if lanes == 1:
        return {"row": row, "col": columns.var}, columns.body
    first, runs = Var("col", INT32), Var("runs", INT32, lo=int32(1))
    time = Var("run", INT32, lo=int32(0))
    column = add(first, mul(time, int32(lanes)))
    body = block(S.LetStmt(columns.var, column), columns.body)
    each = S.For(time, int32(0), runs, S.ForKind.SERIAL, body)
    return {"row": row, "col": first, "runs": runs}, each


def demand(f: Function, s: S.Demand) -> None:
    """Has a part computed, or those of all lanes, unless it is there."""
    table, (index,) = s.table, s.index
    assert isinstance(table, BufferSym)
    if index.type.count == 1:
        _of_one(f, s, table, index)
    elif all([isinstance(e, E.Broadcast) for e in (s.row, s.col, index)]):
        _of_all(f, s, table, index)
    else:
        _of_lanes(f, s, table, index)
    for buffer in f.module.writes(s):
        f.forget_loads(buffer)


def _of_one(f: Function, s: S.Demand, table: BufferSym, index: Expr) -> None:
    cond = None if s.predicate is None else f.value(s.predicate)
    _of_part(f, s, table, (s.row, s.col, index), cond, str(s.reads))


def _of_all(f: Function, s: S.Demand, table: BufferSym, index: Expr) -> None:
    """All lanes ask for the same part: it is looked at once."""
    at: list[Expr] = []
    for e in (s.row, s.col, index):
        assert isinstance(e, E.Broadcast)
        at.append(e.value)
    n, cond = index.type.count, None
    reads = str(n * s.reads)
    if s.predicate is not None:
        bools = BOOL.with_lanes(n)
        wanted = f.value(s.predicate)
        cond = any_lane(f, wanted, bools)
        if s.reads and f.module.profiled:
            reads = f.op(f"mul i64 {_how_many(f, wanted, n)}, {s.reads}")
    row, col, word = at
    _of_part(f, s, table, (row, col, word), cond, reads)


def _of_part(
    f: Function,
    s: S.Demand,
    table: BufferSym,
    at: tuple[Expr, Expr, Expr],
    cond: str | None,
    reads: str,
) -> None:
    """Has one part computed if a condition holds. at: its row, its column and the place
    of its entry. reads: how many reads that stands for."""
    row, col, index = at
    end = f.label("made")
    if cond is not None:
        wanted = f.label("wanted")
        f.out(f"  br i1 {cond}, label %{wanted}, label %{end}")
        f.push(ScopeKind.BRANCH)
        f.start(wanted)
    if s.reads:
        tally(f, s.thunk.func, "hits", reads)
    word = _word(f, table, index)
    missing = f.label("missing")
    there = _is_made(f, table, word) if s.waits else _is_begun(f, table, word)
    f.out(f"  br i1 {there}, label %{end}, label %{missing}{f.module.LIKELY}")
    f.push(ScopeKind.BRANCH)
    f.start(missing)
    _have_made(f, s.thunk, table, word, f.value(row), f.value(col))
    f.out(f"  br label %{end}")
    f.cold.extend(f.pop())
    if cond is not None:
        f.append(f.pop())
    f.start(end)


def _of_lanes(f: Function, s: S.Demand, table: BufferSym, index: Expr) -> None:
    """Where all lanes ask, they are computed side by side if they can be; where some
    do, one after the other; and mostly, all do or none does."""
    if s.predicate is None:
        _look(f, s, table, None)
        return
    bools = BOOL.with_lanes(index.type.count)
    wanted = f.value(s.predicate)
    some, end = f.label("wanted"), f.label("asked")
    f.out(f"  br i1 {any_lane(f, wanted, bools)}, label %{some}, label %{end}")
    f.start(some)
    if _at_once(f, s) > 1:
        every, each = f.label("every"), f.label("each")
        f.out(f"  br i1 {all_lanes(f, wanted, bools)}, label %{every}, label %{each}")
        f.start(every)
        _look(f, s, table, None)
        f.out(f"  br label %{end}")
        f.start(each)
    _look(f, s, table, s.predicate)
    f.out(f"  br label %{end}")
    f.start(end)


def _look(f: Function, s: S.Demand, table: BufferSym, wanted: Expr | None) -> None:
    """One look at the entries of all lanes that ask; what is missing is computed.

    A lane that does not ask may be outside of the table: it looks at the first entry.
    """
    f.push(ScopeKind.BRANCH)
    (index,) = s.index
    n = index.type.count
    t, bools = table.type.with_lanes(n), BOOL.with_lanes(n)
    kind, flags = value_type(t), value_type(bools)
    asks = "" if wanted is None else f.value(wanted)
    along = _along(s)
    if wanted is not None:
        none = E.Broadcast(imm(0, index.type.element_of()), n)
        index = E.Select(wanted, index, none)
    if along:
        there = _both_are_made(f, table, along, _outermost(f, asks, n))
    else:
        f.forget_loads(table)
        held = f.value(E.Load(t, table, index, None))
        made = f.op(f"icmp eq {kind} {held}, {_filled(t)}")
        if asks:
            other = f.op(f"xor {flags} {asks}, splat (i1 true)")
            made = f.op(f"or {flags} {made}, {other}")
        there = all_lanes(f, made, bools)
    if s.reads and f.module.profiled:
        reads = str(n * s.reads)
        if asks:
            reads = f.op(f"mul i64 {_how_many(f, asks, n)}, {s.reads}")
        tally(f, s.thunk.func, "hits", reads)
    missing, end = f.label("missing"), f.label("made")
    f.out(f"  br i1 {there}, label %{end}, label %{missing}{f.module.LIKELY}")
    f.push(ScopeKind.BRANCH)
    f.start(missing)
    if wanted is None and (at_once := _at_once(f, s)) > 1:
        _side_by_side(f, s, table, at_once)
    else:
        _one_by_one(f, s, table, index, asks)
    f.out(f"  br label %{end}")
    f.cold.extend(f.pop())
    f.append(f.pop())
    f.start(end)
    # The values are read after the entries that say that they are there.
    f.out("  fence acquire")


def _along(s: S.Demand) -> Callable[[Expr], Expr] | None:
    """The entry of a lane, if those of all lanes between two are one of these two's:
    side by side in a row of parts that are no narrower than the vector."""
    col, (index,) = s.col, s.index
    n = index.type.count
    if s.row.type.count > 1 or not isinstance(col, E.Div):
        return None
    along, width = col.a, const_int(col.b)
    if not isinstance(along, E.Ramp) or const_int(along.stride) != 1:
        return None
    if width is None or width < n - 1:
        return None
    if _lane(index, int32(0)) is None:
        return None

    def entry(at: Expr) -> Expr:
        found = _lane(index, at)
        assert found is not None
        return found

    return entry


def _lane(e: Expr, at: Expr) -> Expr | None:
    """One lane of a sum or quotient of ramps and of what all lanes share."""
    if isinstance(e, E.Add | E.Sub | E.Mul | E.Div) and e.type.count > 1:
        a, b = _lane(e.a, at), _lane(e.b, at)
        return None if a is None or b is None else type(e)(a, b)
    if isinstance(e, E.Ramp) and e.stride.type is at.type:
        return add(e.base, mul(e.stride, at))
    if isinstance(e, E.Broadcast) and e.value.type.count == 1:
        return e.value
    return e if e.type.count == 1 else None


def _outermost(f: Function, asks: str, n: int) -> tuple[Expr, Expr]:
    """The first and the last lane that asks, of which there is one; of all if `asks` is
    empty."""
    if not asks:
        return int32(0), int32(n - 1)
    bits = f.op(f"bitcast {value_type(BOOL.with_lanes(n))} {asks} to i{n}")
    kind = f"i{max(n, 32)}"
    if n < 32:
        bits = f.op(f"zext i{n} {bits} to {kind}")
    found: list[Var] = []
    for op in ("cttz", "ctlz"):
        at = f.module.declare(f"llvm.{op}.{kind}", kind, f"{kind}, i1")
        count = f.op(f"call {kind} {at}({kind} {bits}, i1 true)")
        if n > 32:
            count = f.op(f"trunc {kind} {count} to i32")
        found.append(Var("lane", INT32))
        f.bind(found[-1], count, f.top)
    first, behind = found
    return first, sub(int32(max(n, 32) - 1), behind)


def _both_are_made(
    f: Function,
    table: BufferSym,
    along: Callable[[Expr], Expr],
    lanes: tuple[Expr, Expr],
) -> str:
    one, other = [_is_made(f, table, _word(f, table, along(e))) for e in lanes]
    return f.op(f"and i1 {one}, {other}")


def _at_once(f: Function, s: S.Demand) -> int:
    """How many lanes can be computed at once: more than one if all are neighbours and
    there is code that does it."""
    (index,) = s.index
    if s.row.type.count > 1:
        return 1
    for e in (s.col, index):
        if not isinstance(e, E.Ramp) or const_int(e.stride) != 1:
            return 1
    n = index.type.count
    return max([m for m in f.module.thunks[s.thunk].lanes if n % m == 0])


def _side_by_side(f: Function, s: S.Demand, table: BufferSym, at_once: int) -> None:
    """Has lanes that are neighbours computed, so many at once."""
    col, (index,) = s.col, s.index
    n = index.type.count
    assert isinstance(col, E.Ramp) and isinstance(index, E.Ramp)
    first, row, base = _word(f, table, index.base), f.value(s.row), f.value(col.base)
    if n == at_once:
        _have_run_made(f, s, table, first, (row, base), (at_once, 1))
        return
    # Mostly none is there, or those of one end are.
    whole, parts, done = f.label("whole"), f.label("parts"), f.label("done")
    none = _all_are(f, table, first, n, "zeroinitializer")
    f.out(f"  br i1 {none}, label %{whole}, label %{parts}")
    f.start(parts)
    for k in range(0, n, at_once):
        word = f.op(f"getelementptr i8, ptr {first}, i64 {k}")
        column = f.op(f"add i32 {base}, {k}")
        missing, end = f.label("missing"), f.label("made")
        there = _all_are(f, table, word, at_once, _filled(table.type))
        f.out(f"  br i1 {there}, label %{end}, label %{missing}")
        f.start(missing)
        _have_run_made(f, s, table, word, (row, column), (at_once, 1))
        f.out(f"  br label %{end}")
        f.start(end)
    f.out(f"  br label %{done}")
    f.start(whole)
    _have_run_made(f, s, table, first, (row, base), (at_once, n // at_once))
    f.out(f"  br label %{done}")
    f.start(done)


def _all_are(f: Function, table: BufferSym, word: str, n: int, value: str) -> str:
    """Whether so many entries of the table, from one on, are a vector's."""
    kind = value_type(table.type.with_lanes(n))
    held = f.op(f"load {kind}, ptr {word}, align 1")
    return all_lanes(f, f.op(f"icmp eq {kind} {held}, {value}"), BOOL.with_lanes(n))


def _have_run_made(
    f: Function,
    s: S.Demand,
    table: BufferSym,
    word: str,
    at: tuple[str, str],
    counts: tuple[int, int],
) -> None:
    """Has a run of values computed by one call, and their entries say so. at: row and
    column of the first. counts: how many at once, and how often."""
    at_once, times = counts
    n = at_once * times
    kind, made = value_type(table.type.with_lanes(n)), _filled(table.type)
    if f.module.profiled:
        held = f.op(f"load {kind}, ptr {word}, align 1")
        _tally_new(f, s.thunk, _how_many(f, f.op(f"icmp ne {kind} {held}, {made}"), n))
    _call(f, s.thunk, at_once, *at, str(times))
    f.out("  fence release")
    f.out(f"  store {kind} {made}, ptr {word}, align 1")


def _tally_new(f: Function, thunk: BufferSym, n: str) -> None:
    """Counts values that are computed, and so were no hits."""
    tally(f, thunk.func, "computed", n)
    tally(f, thunk.func, "hits", f.op(f"sub i64 0, {n}"))


def _one_by_one(
    f: Function, s: S.Demand, table: BufferSym, index: Expr, wanted: str
) -> None:
    """Has lanes computed one after the other: those that are `wanted`, if given."""
    n = index.type.count
    texts = {e: f.value(e) for e in (s.row, s.col, index)}
    each, one, none, next_ = (f.label(w) for w in ("lane", "wanted", "missing", "next"))
    before = f.block
    f.out(f"  br label %{each}")
    f.start(each)
    k, after = f.name(), f.name()
    f.out(f"  {k} = phi i32 [ 0, %{before} ], [ {after}, %{next_} ]")

    def text_of(e: Expr) -> str:
        if e.type.count == 1:
            return texts[e]
        return f.op(f"extractelement {value_type(e.type)} {texts[e]}, i32 {k}")

    if not wanted:
        f.out(f"  br label %{one}")
    else:
        flags = value_type(BOOL.with_lanes(n))
        mine = f.op(f"extractelement {flags} {wanted}, i32 {k}")
        f.out(f"  br i1 {mine}, label %{one}, label %{next_}")
    f.start(one)
    t = index.type.element_of()
    base, _ = f.pointers[table]
    element = memory_type(table.type)
    at = text_of(index)
    word = f.op(f"getelementptr {element}, ptr {base}, {value_type(t)} {at}")
    there = _is_made(f, table, word)
    f.out(f"  br i1 {there}, label %{next_}, label %{none}")
    f.start(none)
    _have_made(f, s.thunk, table, word, text_of(s.row), text_of(s.col))
    f.out(f"  br label %{next_}")
    f.start(next_)
    f.out(f"  {after} = add nuw nsw i32 {k}, 1")
    more = f.op(f"icmp ult i32 {after}, {n}")
    done = f.label("asked")
    f.out(f"  br i1 {more}, label %{each}, label %{done}")
    f.start(done)


def _how_many(f: Function, flags: str, n: int) -> str:
    """How many lanes of flags are true, as int64."""
    wide = f.op(f"zext {value_type(BOOL.with_lanes(n))} {flags} to <{n} x i64>")
    name = f"llvm.vector.reduce.add.v{n}i64"
    at = f.module.declare(name, "i64", f"<{n} x i64>")
    return f.op(f"call i64 {at}(<{n} x i64> {wide})")


def _word(f: Function, table: BufferSym, index: Expr) -> str:
    """The address of an entry of the table."""
    pointer, offset = addresses.address(f, table, index)
    return addresses.offset_pointer(f, pointer, table.type, offset)


def _is_made(f: Function, table: BufferSym, word: str) -> str:
    kind = memory_type(table.type)
    bytes = table.type.bytes()
    held = f.op(f"load atomic {kind}, ptr {word} acquire, align {bytes}")
    return f.op(f"icmp eq {kind} {held}, {MADE}")


def _is_begun(f: Function, table: BufferSym, word: str) -> str:
    """Whether some thread computes the part, or has done so."""
    kind = memory_type(table.type)
    bytes = table.type.bytes()
    held = f.op(f"load atomic {kind}, ptr {word} monotonic, align {bytes}")
    return f.op(f"icmp ne {kind} {held}, 0")


def _have_made(
    f: Function, thunk: BufferSym, table: BufferSym, word: str, row: str, col: str
) -> None:
    """Has one part computed, and its entry say so."""
    made = f.module.thunks[thunk]
    tally(f, thunk.func, "hits", "-1")
    if not made.claims:
        tally(f, thunk.func, "computed", "1")
        _call(f, thunk, 1, row, col)
        f.out(f"  store atomic i8 {MADE}, ptr {word} release, align 1")
        return
    internal_assert(table.type.width == 32, f"{thunk.name} claims no word")
    name, closure = _production(f, thunk, 1)
    f.module.runtime("ph_demand")
    code = f.op(
        f"call i32 @ph_demand(ptr %ctx, ptr {name}, ptr {closure}, ptr {word}, "
        f"i32 {row}, i32 {col}, i32 {made.rank})"
    )
    leave_unless_good(f, code)


def _call(
    f: Function, thunk: BufferSym, lanes: int, row: str, col: str, runs: str = ""
) -> None:
    """Calls what computes so many parts from a column on, so many times if several."""
    name, closure = _production(f, thunk, lanes)
    times = f", i32 {runs}" if runs else ""
    given = f"ptr %ctx, i32 {row}, i32 {col}{times}, ptr {closure}"
    leave_unless_good(f, f.op(f"call i32 {name}({given}) noinline"))


def _production(f: Function, thunk: BufferSym, lanes: int) -> tuple[str, str]:
    """The function that computes so many parts, and its closure."""
    name, slot = f.module.productions[thunk, lanes]
    closures, _ = f.pointers[thunk]
    at = f.op(f"getelementptr ptr, ptr {closures}, i32 {slot}") if slot else closures
    return f"@{quoted(name)}", f.op(f"load ptr, ptr {at}")


def _filled(t: Type) -> str:
    """A vector of entries that say that parts are there."""
    return f"splat ({memory_type(t.element_of())} {MADE})"


__all__ = ["demand", "on_demand"]
