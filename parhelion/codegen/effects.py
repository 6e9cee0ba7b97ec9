"""What leaves the straight line: failures, printing, `require`, calls of Python.

A failure is written to the error record at the start of the run-time context by the
one that comes first; then the function frees what it allocated and returns the code.
All of that is cold code at the end of the function.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.codegen.expr import convert
from parhelion.codegen.failure_site import FailureSite
from parhelion.codegen.module import MAX_FAILURE_ARGS
from parhelion.codegen.types import value_type
from parhelion.codegen.vector import all_lanes, extract
from parhelion.codegen.writer import Function, ScopeKind
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.failures import CODES
from parhelion.ir.intrinsics import trace_parts
from parhelion.types import Float, Int, Type, UInt

_FAIL = """define internal i32 @parhelion.fail(ptr %ctx, i32 %code, i32 %site, i32 %count, ptr %args) cold noinline {
entry:
  %pair = cmpxchg ptr %ctx, i32 0, i32 %code acq_rel monotonic
  %first = extractvalue { i32, i1 } %pair, 1
  br i1 %first, label %write, label %done
write:
  %at.site = getelementptr i8, ptr %ctx, i64 4
  store i32 %site, ptr %at.site, align 4
  %at.count = getelementptr i8, ptr %ctx, i64 8
  store i32 %count, ptr %at.count, align 4
  %at.args = getelementptr i8, ptr %ctx, i64 16
  %bytes = mul i32 %count, 8
  call void @llvm.memcpy.p0.p0.i32(ptr align 8 %at.args, ptr align 8 %args, i32 %bytes, i1 false)
  br label %done
done:
  ret i32 %code
}
"""  # noqa: E501 - LLVM's assembly has no line breaks here


def _fail_function(f: Function) -> None:
    m = f.module
    if m.is_declared("llvm.memcpy.p0.p0.i32"):
        return
    m.declare("llvm.memcpy.p0.p0.i32", "void", "ptr, ptr, i32, i1")
    m.functions.append(_FAIL)


def unless(f: Function, cond: str, code: str, args: tuple[Expr, ...]) -> None:
    """Leaves the pipeline with failure `code` if `cond` (an ``i1``) is false."""
    fail, ok = f.label("fail"), f.label("ok")
    f.out(f"  br i1 {cond}, label %{ok}, label %{fail}{f.module.LIKELY}")
    before = f.block
    f.push(ScopeKind.BRANCH)
    f.start(fail)
    _raise(f, code, args)
    f.cold.extend(f.pop())
    f.block = before
    f.start(ok)


def told(f: Function, args: tuple[Expr, ...]) -> tuple[list[str | Type], list[str]]:
    """What a failure tells: of each argument its text, or the type of a number, and the
    numbers as 64 bits."""
    kinds: list[str | Type] = []
    texts: list[str] = []
    for arg in args:
        if isinstance(arg, E.StringImm):
            kinds.append(arg.value)
        elif len(texts) == MAX_FAILURE_ARGS:
            kinds.append("…")
        else:
            text, t = f.value(arg), arg.type
            if t.count > 1:
                # Of a vector, the first lane.
                text, t = extract(f, text, t, 0), t.element_of()
            kinds.append(t)
            texts.append(_as_bits(f, text, t))
    return kinds, texts


def _raise(f: Function, code: str, args: tuple[Expr, ...]) -> None:
    site = len(f.module.failures)
    kinds, texts = told(f, args)
    f.module.failures.append(FailureSite(code, tuple(kinds)))
    record = "null"
    if texts:
        record = f.alloca(f"[{len(texts)} x i64], align 8")
    for i, text in enumerate(texts):
        at = f.op(f"getelementptr i64, ptr {record}, i64 {i}") if i else record
        f.out(f"  store i64 {text}, ptr {at}, align 8")
    fail_with(f, str(CODES[code]), str(site), str(len(texts)), record)


def fail_with(f: Function, code: str, site: str, count: str, args: str) -> None:
    """Leaves with a failure whose numbers are values, the arguments an address."""
    _fail_function(f)
    result = f.op(
        f"call i32 @parhelion.fail(ptr %ctx, i32 {code}, i32 {site}, "
        f"i32 {count}, ptr {args})"
    )
    leave(f, result)


def _as_bits(f: Function, text: str, t: Type) -> str:
    """Each lane as the 64 bits that an error record keeps of it."""
    words = Int(64).with_lanes(t.count)
    if t.is_float():
        doubles = Float(64).with_lanes(t.count)
        text = convert(f, text, t, doubles)
        return f.op(f"bitcast {value_type(doubles)} {text} to {value_type(words)}")
    if t.is_handle():
        return f.op(f"ptrtoint {value_type(t)} {text} to {value_type(words)}")
    return convert(f, text, t, words)


def leave(f: Function, code: str) -> None:
    """Frees what the function holds and returns `code`. Ends the block."""
    if f.lock is not None:
        f.out(f"  call void @ph_unlock(ptr {f.lock})")
    live = tuple(pointer for _, pointer in f.live)
    if not live:
        f.out(f"  ret i32 {code}")
        return
    label, incoming = f.exits.setdefault(live, (f.label("unwind"), []))
    incoming.append((code, f.block))
    f.out(f"  br label %{label}")


def write_exits(f: Function) -> None:
    """Writes the blocks that `leave` branches to. Each frees the youngest allocation,
    and leaves the others to the block for these: there is one block for each
    allocation, where listing all of them would take quadratic room."""
    for count in range(max(map(len, f.exits), default=0), 0, -1):
        for live in [one for one in f.exits if len(one) == count]:
            label, incoming = f.exits[live]
            code = f.name()
            pairs = ", ".join(f"[ {given}, %{block} ]" for given, block in incoming)
            f.cold.append(f"{label}:")
            f.cold.append(f"  {code} = phi i32 {pairs}")
            f.cold.append(f"  {f.release(live[-1])}")
            if count == 1:
                f.cold.append(f"  ret i32 {code}")
                continue
            rest, others = f.exits.setdefault(live[:-1], (f.label("unwind"), []))
            others.append((code, label))
            f.cold.append(f"  br label %{rest}")


def require(f: Function, e: E.Intrinsic) -> str:
    """``args[1]``, unless ``args[0]`` fails in some lane."""
    cond = e.args[0]
    unless(f, all_lanes(f, f.value(cond), cond.type), "require", e.args[2:])
    return f.value(e.args[1])


def print_values(f: Function, e: E.Intrinsic) -> str:
    """``args[0]``, after printing all of them on a line."""
    text = f.value(e.args[0])
    _print_lanes(f, None, e.args)
    return text


def print_when(f: Function, e: E.Intrinsic) -> str:
    """``args[1]``, printing it and what follows where ``args[0]`` holds."""
    text = f.value(e.args[1])
    _print_lanes(f, e.args[0], e.args[1:])
    return text


def _print_lanes(f: Function, cond: Expr | None, args: tuple[Expr, ...]) -> None:
    lanes = max(
        [a.type.count for a in args] + ([cond.type.count] if cond is not None else [])
    )
    texts = [None if isinstance(a, E.StringImm) else f.value(a) for a in args]
    test = f.value(cond) if cond is not None else None
    for lane in range(lanes):
        done = ""
        if cond is not None and test is not None:
            one = extract(f, test, cond.type, lane) if cond.type.count > 1 else test
            yes, done = f.label("print"), f.label("printed")
            f.out(f"  br i1 {one}, label %{yes}, label %{done}")
            f.start(yes)
        _print_line(f, args, texts, lane)
        if done:
            f.out(f"  br label %{done}")
            f.start(done)


def _print_line(
    f: Function, args: tuple[Expr, ...], texts: list[str | None], lane: int
) -> None:
    """Prints one lane of the values, with spaces between."""
    line = _Line(f)
    for i, (arg, text) in enumerate(zip(args, texts, strict=True)):
        if i:
            line.add(" ")
        if text is None:
            assert isinstance(arg, E.StringImm)
            line.add(arg.value)
        elif arg.type.is_bool():
            line.truth(extract(f, text, arg.type, lane))
        else:
            line.number(extract(f, text, arg.type, lane), arg.type.element_of())
    line.print()


def trace(f: Function, e: E.Intrinsic) -> str:
    """``args[0]``, after printing a line with the other arguments and it, all lanes of
    each."""
    value, form, *rest = e.args
    assert isinstance(form, E.StringImm)
    text = f.value(value)
    parts = trace_parts(form.value)
    if f.module.recorded:
        _record(f, form.value, (*rest, value)[: len(parts) - 1])
        return text
    line = _Line(f)
    line.add(parts[0])
    for arg, after in zip((*rest, value), parts[1:], strict=False):
        shown, t = f.value(arg), arg.type
        if t.count > 1:
            line.add("<")
        for lane in range(t.count):
            if lane:
                line.add(", ")
            line.number(extract(f, shown, t, lane), t.element_of())
        if t.count > 1:
            line.add(">")
        line.add(after)
    line.print()
    return text


def _record(f: Function, form: str, numbers: Sequence[Expr]) -> None:
    """Hands a line on: its text, with kind, width and lanes of each number's type, and
    64 bits for each lane of each number."""
    room = sum([n.type.count for n in numbers])
    at = f.alloca(f"[{max(room, 1)} x i64], align 64")
    types: list[str] = []
    word = 0
    for n in numbers:
        text, t = f.value(n), n.type
        types.append(f"{int(t.kind)}.{t.width}.{t.count}")
        place = f.op(f"getelementptr i64, ptr {at}, i64 {word}") if word else at
        bits = _as_bits(f, text, t)
        words = value_type(Int(64).with_lanes(t.count))
        f.out(f"  store {words} {bits}, ptr {place}, align 8")
        word += t.count
    told = f.module.string(f"{' '.join(types)}\n{form}")
    f.module.runtime("ph_trace")
    call_python(f, "@ph_trace", ["ptr %ctx", f"ptr {told}", f"ptr {at}"])


def call_python(f: Function, function: str, words: Sequence[str]) -> str:
    """Calls a Python function (see `runtime.python_ir`) with the address of these words
    of 64 bits, which is returned: it may have written into them."""
    f.module.runtime("ph_python")
    at = python_words(f, words)
    f.op(f"call i32 @ph_python(ptr {function}, ptr {at})")
    return at


def python_words(f: Function, words: Sequence[str]) -> str:
    """The address of the words that a Python function is given."""
    at = f.alloca(f"[{len(words)} x i64], align 8")
    for i, word in enumerate(words):
        place = f.op(f"getelementptr i64, ptr {at}, i64 {i}") if i else at
        f.out(f"  store {word}, ptr {place}, align 8")
    return at


class _Line:
    """A line of text and numbers, put together on the stack by ``snprintf``."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.form: list[str] = []
        self.given: list[str] = []
        #: Bytes that it can need, with the line's end and a zero.
        self.room = 2

    def add(self, text: str) -> None:
        self.form.append(text.replace("%", "%%"))
        self.room += len(text.encode())

    def number(self, text: str, t: Type) -> None:
        """A scalar: six digits of a float, in scientific form if it is a double."""
        f = self.f
        if t.is_float():
            self.form.append("%e" if t.width == 64 else "%f")
            self.given.append(f"double {convert(f, text, t, Float(64))}")
            self.room += 60
        elif t.is_handle():
            self.form.append("%p")
            self.given.append(f"ptr {text}")
            self.room += 20
        else:
            signed = t.is_int()
            self.form.append("%lld" if signed else "%llu")
            wide = convert(f, text, t, Int(64) if signed else UInt(64))
            self.given.append(f"i64 {wide}")
            self.room += 22

    def truth(self, text: str) -> None:
        """A Bool, as a word."""
        module = self.f.module
        yes, no = module.string("true"), module.string("false")
        word = self.f.op(f"select i1 {text}, ptr {yes}, ptr {no}")
        self.form.append("%s")
        self.given.append(f"ptr {word}")
        self.room += 5

    def print(self) -> None:
        f = self.f
        f.module.declare("snprintf", "i32", "ptr, i64, ptr, ...")
        f.module.runtime("ph_print")
        line = f.alloca(f"[{self.room} x i8], align 16")
        form = f.module.string("".join(self.form) + "\n")
        given = "".join(f", {g}" for g in self.given)
        f.op(
            f"call i32 (ptr, i64, ptr, ...) @snprintf(ptr {line}, i64 {self.room}, "
            f"ptr {form}{given})"
        )
        f.out(f"  call void @ph_print(ptr %ctx, ptr {line})")
