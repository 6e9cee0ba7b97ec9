"""Making, permuting and folding vectors."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.codegen.expr import broadcast, convert, extremum
from parhelion.codegen.types import constant, int_text, mask_text, suffix, value_type
from parhelion.codegen.writer import Function, emits
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.types import Float, Type


def shuffle(f: Function, t: Type, a: str, b: str, mask: Sequence[int]) -> str:
    """Lanes of `a` and `b`, both of vector type `t`, chosen by `mask`."""
    vt = value_type(t)
    return f.op(f"shufflevector {vt} {a}, {vt} {b}, {mask_text(mask)}")


def extract(f: Function, a: str, t: Type, lane: int) -> str:
    """One lane of a vector of type `t` (the scalar itself if it is one)."""
    if t.count == 1:
        return a
    return f.op(f"extractelement {value_type(t)} {a}, i64 {lane}")


def slice_lanes(f: Function, a: str, t: Type, start: int, count: int) -> str:
    """`count` neighbouring lanes of a vector, from `start`."""
    if count == t.count:
        return a
    if count == 1:
        return extract(f, a, t, start)
    return shuffle(f, t, a, "poison", range(start, start + count))


def concatenate(f: Function, parts: Sequence[tuple[str, Type]]) -> tuple[str, Type]:
    """The lanes of several vectors (or scalars) of one kind, one after another."""
    work = list(parts)
    while len(work) > 1:
        joined = []
        for i in range(0, len(work) - 1, 2):
            joined.append(pair(f, *work[i], *work[i + 1]))
        if len(work) % 2:
            joined.append(work[-1])
        work = joined
    return work[0]


def pair(f: Function, a: str, at: Type, b: str, bt: Type) -> tuple[str, Type]:
    lanes = at.count + bt.count
    out = at.with_lanes(lanes)
    if bt.count == 1:
        start = widen(f, a, at, lanes)
        text = f.op(
            f"insertelement {value_type(out)} {start}, {value_type(bt)} {b}, "
            f"i64 {at.count}"
        )
        return text, out
    size = max(at.count, bt.count)
    a, b = widen(f, a, at, size), widen(f, b, bt, size)
    mask = [*range(at.count), *range(size, size + bt.count)]
    return shuffle(f, at.with_lanes(size), a, b, mask), out


def widen(f: Function, a: str, t: Type, lanes: int) -> str:
    """`a` with more lanes, the new ones holding nothing."""
    if t.count == lanes:
        return a
    if t.count == 1:
        vt = value_type(t.with_lanes(lanes))
        return f.op(f"insertelement {vt} poison, {value_type(t)} {a}, i64 0")
    mask = [*range(t.count), *([-1] * (lanes - t.count))]
    return shuffle(f, t, a, "poison", mask)


@emits(E.Broadcast)
def splat(f: Function, e: E.Broadcast) -> str:
    inner = e.value.type
    if inner.count > 1:
        # A vector over and over.
        mask = [i % inner.count for i in range(e.lanes)]
        return shuffle(f, inner, f.value(e.value), "poison", mask)
    return broadcast(f, f.value(e.value), e.type)


@emits(E.Ramp)
def ramp(f: Function, e: E.Ramp) -> str:
    t, one = e.type, e.base.type
    base, stride = build.const_int(e.base), build.const_int(e.stride)
    vt = value_type(t)
    if stride is not None and not t.is_float():
        offset = (
            "<"
            + ", ".join(
                f"{value_type(one)} {int_text(one.wrap((base or 0) + i * stride), one)}"
                for i in range(e.lanes)
            )
            + ">"
        )
        if base is not None:
            return offset
        return f.op(f"add {vt} {broadcast(f, f.value(e.base), t)}, {offset}")
    st = value_type(one)
    steps = ", ".join(f"{st} {constant(build.imm(i, one))}" for i in range(e.lanes))
    mul, add = ("fmul", "fadd") if t.is_float() else ("mul", "add")
    scale = broadcast(f, f.value(e.stride), t)
    start = broadcast(f, f.value(e.base), t)
    return f.op(f"{add} {vt} {start}, {f.op(f'{mul} {vt} {scale}, <{steps}>')}")


@emits(E.Shuffle)
def permute(f: Function, e: E.Shuffle) -> str:
    vectors = list(e.vectors)
    if len(e.indices) == 1:
        lane = e.indices[0]
        for v in vectors:
            if lane < v.type.count:
                return extract(f, f.value(v), v.type, lane)
            lane -= v.type.count
    if all(v.type.count == 1 for v in vectors):
        return _gather_scalars(f, e)
    if len(vectors) == 2 and vectors[0].type is vectors[1].type:
        a, b = vectors
        return shuffle(f, a.type, f.value(a), f.value(b), e.indices)
    interleaved = _interleave(f, e)
    if interleaved is not None:
        return interleaved
    text, t = concatenate(f, [(f.value(v), v.type) for v in vectors])
    if e.indices == tuple(range(t.count)):
        return text
    if t.count == 1:
        return broadcast(f, text, e.type)
    return shuffle(f, t, text, "poison", e.indices)


def _gather_scalars(f: Function, e: E.Shuffle) -> str:
    vt, st = value_type(e.type), value_type(e.type.element_of())
    text = "poison"
    for lane, index in enumerate(e.indices):
        one = f.value(e.vectors[index])
        text = f.op(f"insertelement {vt} {text}, {st} {one}, i64 {lane}")
    return text


def interleaves(e: E.Shuffle) -> bool:
    """Whether it takes the first lanes of all its vectors, then the second ones, …"""
    count, t = len(e.vectors), e.vectors[0].type
    if any(v.type is not t for v in e.vectors) or len(e.indices) != count * t.count:
        return False
    return e.indices == tuple(
        c * t.count + i for i in range(t.count) for c in range(count)
    )


def _interleave(f: Function, e: E.Shuffle) -> str | None:
    """a0 b0 c0 a1 b1 c1 …, whose mask LLVM does better from concatenated halves."""
    count, t = len(e.vectors), e.vectors[0].type
    if not interleaves(e):
        return None
    if count == 4:
        a, b, c, d = [f.value(v) for v in e.vectors]
        mask = [x for i in range(t.count) for x in (i, t.count + i)]
        wide = t.with_lanes(2 * t.count)
        ac = shuffle(f, t, a, c, mask)
        bd = shuffle(f, t, b, d, mask)
        mask = [x for i in range(2 * t.count) for x in (i, 2 * t.count + i)]
        return shuffle(f, wide, ac, bd, mask)
    if count == 3 and t.count & (t.count - 1) == 0:
        return _three(f, [f.value(v) for v in e.vectors], t)
    return None


def _three(f: Function, vectors: Sequence[str], t: Type) -> str:
    """Three vectors interleaved, a vector of the result at a time: LLVM takes a shuffle
    of three registers apart into single lanes."""
    n, (a, b, c) = t.count, vectors
    parts = []
    for k in range(3):
        lanes = [divmod(i, 3) for i in range(k * n, (k + 1) * n)]
        mask = [-1 if j == 2 else j * n + i for i, j in lanes]
        ab = shuffle(f, t, a, b, mask)
        mask = [n + i if j == 2 else at for at, (i, j) in enumerate(lanes)]
        parts.append((shuffle(f, t, ab, c, mask), t))
    text, _ = concatenate(f, parts)
    for k, (part, _) in enumerate(parts):
        f.pieces[text, k * n, n] = part
    return text


@emits(E.VectorReduce)
def fold(f: Function, e: E.VectorReduce) -> str:
    t = e.value.type
    groups, size = e.lanes, t.count // e.lanes
    if size * groups != t.count:
        raise InternalError(f"a reduction of {t.count} lanes to {groups}")
    if size == 1:
        return f.value(e.value)
    if groups == 1 and t.is_int_or_uint():
        return _fold_all(f, e)
    if f.module.strict_float and t.is_float():
        return fold_in_order(f, e)
    return _fold_tree(f, e.op, f.value(e.value), t, groups)


def fold_in_order(f: Function, e: E.VectorReduce) -> str:
    """A reduction of floats, each group from its first lane to its last."""
    t = e.value.type
    groups, size = e.lanes, t.count // e.lanes
    a = f.value(e.value)
    parts = [_strided(f, a, t, first, size, groups) for first in range(size)]
    text = parts[0]
    for part in parts[1:]:
        text = combine(f, e.op, text, part, e.type)
    return text


def _strided(f: Function, a: str, t: Type, first: int, step: int, count: int) -> str:
    if count == 1:
        return extract(f, a, t, first)
    return shuffle(f, t, a, "poison", [first + step * i for i in range(count)])


def _fold_tree(f: Function, op: str, a: str, t: Type, groups: int) -> str:
    """Folds neighbours pairwise until each group is one lane."""
    size = t.count // groups
    while size > 1:
        half, odd = divmod(size, 2)
        lanes = groups * half
        first = [g * size + 2 * i for g in range(groups) for i in range(half)]
        small = t.with_lanes(lanes)
        if lanes == 1:
            text = combine(
                f, op, extract(f, a, t, first[0]), extract(f, a, t, first[0] + 1), small
            )
        else:
            even = shuffle(f, t, a, "poison", first)
            other = shuffle(f, t, a, "poison", [i + 1 for i in first])
            text = combine(f, op, even, other, small)
        if odd:
            rest = [g * size + size - 1 for g in range(groups)]
            left = _strided(f, a, t, rest[0], size, groups)
            # Lanes of the pairs, then those left over; regroup them.
            text, both = concatenate(f, [(text, small), (left, t.with_lanes(groups))])
            order = [
                i
                for g in range(groups)
                for i in (*range(g * half, (g + 1) * half), lanes + g)
            ]
            a, t = shuffle(f, both, text, "poison", order), both
            size = half + 1
        else:
            a, t, size = text, small, half
    return a


def _fold_all(f: Function, e: E.VectorReduce) -> str:
    t = e.value.type
    name = e.op
    if name in ("min", "max"):
        name = ("s" if t.is_int() else "u") + name
    vt, st = value_type(t), value_type(e.type)
    at = f.module.declare(f"llvm.vector.reduce.{name}.{suffix(t)}", st, vt)
    return f.op(f"call {st} {at}({vt} {f.value(e.value)})")


def combine(f: Function, op: str, a: str, b: str, t: Type) -> str:
    """Two values of type `t` folded by a `VectorReduce` operation."""
    if op in ("and", "or"):
        return f.op(f"{op} {value_type(t)} {a}, {b}")
    if op in ("min", "max"):
        return extremum(f, op, t, a, b)
    if t.is_bfloat():
        wide = Float(32, t.count)
        a, b = convert(f, a, t, wide), convert(f, b, t, wide)
        return convert(f, combine(f, op, a, b, wide), wide, t)
    name = ("f" if t.is_float() else "") + op
    return f.op(f"{name} {value_type(t)} {a}, {b}")


def all_lanes(f: Function, a: str, t: Type) -> str:
    """Whether a Bool vector holds in every lane (the Bool itself if scalar)."""
    if t.count == 1:
        return a
    vt = value_type(t)
    at = f.module.declare(f"llvm.vector.reduce.and.{suffix(t)}", "i1", vt)
    return f.op(f"call i1 {at}({vt} {a})")


def any_lane(f: Function, a: str, t: Type) -> str:
    """Whether a Bool vector holds in some lane (the Bool itself if scalar)."""
    if t.count == 1:
        return a
    vt = value_type(t)
    at = f.module.declare(f"llvm.vector.reduce.or.{suffix(t)}", "i1", vt)
    return f.op(f"call i1 {at}({vt} {a})")


def reversed_lanes(f: Function, a: str, t: Type) -> str:
    return shuffle(f, t, a, "poison", range(t.count - 1, -1, -1))
