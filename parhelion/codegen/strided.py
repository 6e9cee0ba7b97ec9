"""Loads of every second, third, n-th element, from dense loads and shuffles.

Interleaved images and down-sampling load several such vectors side by side: ``a[2*x]``
and ``a[2*x + 1]``. Each alone needs dense loads of nearly all that the other touches,
so those of a run of statements are found together and share their loads. Nothing is
read but what lies between the first and the last element that the run surely reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.codegen.addresses import load_dense
from parhelion.codegen.backend import SHORT_STEP
from parhelion.codegen.neighbours import offsets_of_run
from parhelion.codegen.types import memory_type, suffix
from parhelion.codegen.vector import concatenate, shuffle
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.types import Bool, Type


def load(f: Function, e: E.Load, pointer: str, offset: int, step: int) -> str:
    """Every `step`-th element from `offset` (in elements) past `pointer` on; backwards
    if `step` is negative."""
    t = e.type
    low, high = _together(f, e, pointer, offset, step) if step > 0 else (offset, offset)
    beside = offset - low, high - offset
    # Of long steps, a register at a time, from parts as wide as one.
    register = f.target.natural_vector_size(t) if abs(step) > SHORT_STEP else 0
    most = min(t.count, register or t.count)
    parts: list[tuple[str, Type]] = []
    for k in range(0, t.count, most):
        one = t.with_lanes(min(most, t.count - k))
        places = [offset + step * i for i in range(k, k + one.count)]
        parts.append((_chosen(f, e, pointer, one, places, beside, register), one))
    return concatenate(f, parts)[0]


def _chosen(
    f: Function,
    e: E.Load,
    pointer: str,
    t: Type,
    places: Sequence[int],
    beside: tuple[int, int],
    least: int,
) -> str:
    """The elements at these places past `pointer`, from dense parts that are shared
    with loads of so many elements less and more. least: lanes of a part, where there is
    room for so many."""
    if t.count == 1:
        return load_dense(f, e.buffer, pointer, places[0], t)
    low, high = min(places) - beside[0], max(places) + beside[1]
    span = high - low + 1
    # Parts of `width` elements; the last one ends where the span does.
    width = max(t.count, min(least, span))
    whole = t.with_lanes(width)
    text, filled = "", [-1] * t.count
    for start in range(low, high + 1, width):
        mine = [start <= p < start + width for p in places]
        if not any(mine):
            continue
        begin = min(start, high + 1 - width)
        key = ("part", pointer, begin, whole)
        part = f.memo.get(key)
        if part is None:
            part = load_dense(f, e.buffer, pointer, begin, whole)
            f.remember(key, part, f.level(e), e)
        local = [p - begin if m else -1 for p, m in zip(places, mine, strict=True)]
        if not text:
            text, filled = part, local
            continue
        joint = [
            width + new if new >= 0 else old
            for new, old in zip(local, filled, strict=True)
        ]
        done = -1 not in joint
        # Only the last permutation has no more lanes than are asked for.
        more = [] if done else [-1] * (width - t.count)
        text = shuffle(f, whole, text, part, [*joint, *more])
        if done:
            return text
        filled = [i if j >= 0 else -1 for i, j in enumerate(joint)]
    return shuffle(f, whole, text, "poison", filled)


def load_masked(
    f: Function, pointer: str, t: Type, step: int, mask: str, tag: str
) -> str:
    """Every `step`-th element from `pointer` on, for the lanes of `mask`: one masked
    load of all that is between them, of which nothing else is touched."""
    n, whole = t.count, t.with_lanes(t.count * step)
    wide = shuffle(f, Bool(n), mask, "zeroinitializer", _spread(n, step, n))
    vt, mt = memory_type(whole), f"<{n * step} x i1>"
    at = f.module.declare(
        f"llvm.masked.load.{suffix(whole)}.p0", vt, f"ptr, {mt}, {vt}"
    )
    text = f.op(
        f"call {vt} {at}(ptr align {t.bytes()} {pointer}, {mt} {wide}, "
        f"{vt} zeroinitializer){tag}"
    )
    return shuffle(f, whole, text, "poison", range(0, n * step, step))


def store_masked(
    f: Function, pointer: str, text: str, t: Type, step: int, mask: str, tag: str
) -> None:
    """Writes the lanes of `mask` to every `step`-th element from `pointer` on: one
    masked store over all that is between them, of which nothing else is touched."""
    n, whole = t.count, t.with_lanes(t.count * step)
    wide = shuffle(f, Bool(n), mask, "zeroinitializer", _spread(n, step, n))
    apart = shuffle(f, t, text, "poison", _spread(n, step, -1))
    vt, mt = memory_type(whole), f"<{n * step} x i1>"
    at = f.module.declare(
        f"llvm.masked.store.{suffix(whole)}.p0", "void", f"{vt}, ptr, {mt}"
    )
    where = f"ptr align {t.bytes()} {pointer}, {mt} {wide}"
    f.out(f"  call void {at}({vt} {apart}, {where}){tag}")


def _spread(lanes: int, step: int, between: int) -> list[int]:
    """A permutation to lanes that are `step` apart, with `between` in all others."""
    return [i // step if i % step == 0 else between for i in range(lanes * step)]


def _together(
    f: Function, e: E.Load, pointer: str, offset: int, step: int
) -> tuple[int, int]:
    """The least and greatest offsets, less than `step` apart, of the loads that the
    current run of statements makes with this pointer and step."""
    offsets = offsets_of_run(f, e, pointer, step)
    if offset not in offsets:
        return offset, offset
    # Greedily from the least offset, so that all members of a group agree.
    low = offsets[0]
    while offset - low >= step:
        low = min([o for o in offsets if o - low >= step])
    return low, max([o for o in offsets if o - low < step])
