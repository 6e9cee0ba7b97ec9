"""The cache of memoized Funcs: finding storage in it, and giving it back.

The answer to a `memo_find` is an array in the caller's frame: the addresses of the
storage of each value, then whether it is new.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.codegen import effects, polls
from parhelion.codegen.addresses import index_value
from parhelion.codegen.intrinsics import lowers
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import const_int
from parhelion.ir.expr import Intrinsic, StringImm, Var
from parhelion.types import INT64

#: What finding storage returns for new storage: see `runtime.memo`.
_NEW = 2

_ONE = "private constant i8 0"


@lowers("memo_find")
def _find(f: Function, e: E.Intrinsic) -> str:
    label, told, count, evicts, eviction, *rest = e.args
    assert isinstance(label, StringImm) and isinstance(told, StringImm)
    values = const_int(count)
    assert values is not None
    bytes, key = rest[:values], rest[values:]
    # This module, as long as it is loaded, and what is computed.
    here = f.module.add_global("memo.here", _ONE)
    number = int.from_bytes(bytearray.fromhex(told.value), "little", signed=True)
    words = [f.op(f"ptrtoint ptr {here} to i64"), str(number)]
    words += [f.value(k) for k in key]
    keys = f.alloca(f"[{len(words)} x i64], align 8")
    sizes = f.alloca(f"[{values} x i64], align 8")
    answer = f.alloca(f"[{values + 1} x i64], align 8")
    asked = [index_value(f, b) for b in bytes]
    for at, texts in ((keys, words), (sizes, asked)):
        for i, text in enumerate(texts):
            place = f.op(f"getelementptr i64, ptr {at}, i64 {i}") if i else at
            f.out(f"  store i64 {text}, ptr {place}, align 8")
    polls.look_now(f)
    # Behind the addresses stands what was found: 0 until they are there.
    place = f.op(f"getelementptr i64, ptr {answer}, i64 {values}")
    f.out(f"  store i64 0, ptr {place}, align 8")
    given = [f"ptr {keys}", f"i64 {len(words)}", f"ptr {sizes}", f"i64 {values}"]
    given += [f"i64 {f.value(eviction)}", f"i64 {f.value(evicts)}", f"ptr {answer}"]
    f.out(_call(f, "ph_memo_find", given))
    hit = f.op(f"load i64, ptr {place}, align 8")
    polls.interrupted_unless(f, f.op(f"icmp ne i64 {hit}, 0"))
    good = f.op(f"icmp sge i64 {hit}, 0")
    amount = Var("bytes", INT64)
    total = asked[0]
    for one in asked[1:]:
        total = f.op(f"add i64 {total}, {one}")
    f.bind(amount, total, f.top)
    effects.unless(f, good, "out_of_memory", (label, amount))
    missed = f.op(f"icmp eq i64 {hit}, {_NEW}")
    flag = f.op(f"zext i1 {missed} to i64")
    f.out(f"  store i64 {flag}, ptr {place}, align 8")
    # The flag's place is the answer: the addresses are before it.
    return place


@lowers("memo_missed")
def _missed(f: Function, e: E.Intrinsic) -> str:
    flag = f.op(f"load i64, ptr {f.value(e.args[0])}, align 8")
    return f.op(f"icmp ne i64 {flag}, 0")


@lowers("memo_store")
def _store(f: Function, e: E.Intrinsic) -> str:
    polls.look_now(f)
    # Any of its buffers tells the entry: the last one.
    place = f.op(f"getelementptr i64, ptr {f.value(e.args[0])}, i64 -1")
    address = f.op(f"load ptr, ptr {place}, align 8")
    f.out(_call(f, "ph_memo_store", [f"ptr {address}"]))
    return "0"


def _call(f: Function, name: str, words: Sequence[str]) -> str:
    """Returns a call of a Python function of `runtime.memo` with the words given.

    A signal may interrupt the function, and it is called again then; the memory at
    these addresses tells it how far it came.
    """
    f.module.runtime(name)
    f.module.runtime("ph_python_surely")
    given = effects.python_words(f, words)
    return f"  call void @ph_python_surely(ptr @{name}, ptr {given})"


def allocate(f: Function, s: S.Allocate) -> None:
    """Storage that the cache has given."""
    given = s.condition
    assert isinstance(given, Intrinsic) and given.op == "memo_storage"
    index = const_int(given.args[1])
    assert index is not None
    count = 1 if s.buffer.func is None else len(s.buffer.func.types)
    answer = f.value(given.args[0])
    place = f.op(f"getelementptr i64, ptr {answer}, i64 {index - count}")
    pointer = f.op(f"load ptr, ptr {place}, align 8")
    # Its second word: whether it has counted.
    release = _call(f, "ph_memo_release", [f"ptr {pointer}", "i64 0"])
    f.releases[pointer] = release.lstrip()
    f.live.append((s.buffer, pointer))
    f.pointers[s.buffer] = (pointer, f.top)


__all__ = ["allocate"]
