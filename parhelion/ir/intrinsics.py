"""The built-in operations that `Intrinsic` nodes name.

One line each: the name, how many arguments, whether it is pure (may be moved, shared
and dropped), and its meaning. Types: unless said otherwise all arguments and the
result have one type.
"""

from __future__ import annotations

import re

from parhelion.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class IntrinsicInfo:
    """What there is to know of an operation; sets of names below are made of it.

    arity: None for any. data: whether its value is pixel data, whatever its arguments
    are. alike: whether its arguments and its value have one type. likely: whether it
    says what holds in the steady state of a loop. clamped: whether it says that its
    first argument lies between the others. Both have the value of the first, and are
    only hints.
    """

    arity: int | None
    pure: bool
    meaning: str
    data: bool = False
    alike: bool = False
    likely: bool = False
    clamped: bool = False


def _pure(arity: int | None, meaning: str, *, clamped: bool = False) -> IntrinsicInfo:
    return IntrinsicInfo(arity, True, meaning, clamped=clamped)


def _alike(arity: int | None, meaning: str, *, likely: bool = False) -> IntrinsicInfo:
    return IntrinsicInfo(arity, True, meaning, alike=True, likely=likely)


#: Products and sums in one: a * b + c, a * b - c, c - a * b.
FUSED = ("mul_add", "mul_sub", "sub_mul")

INTRINSICS: dict[str, IntrinsicInfo] = {
    # Bits.
    "bit_and": _alike(2, "a & b"),
    "bit_or": _alike(2, "a | b"),
    "bit_xor": _alike(2, "a ^ b"),
    "bit_not": _alike(1, "~a"),
    "shift_left": _pure(2, "a << b; b has a's width; a negative b shifts right"),
    "shift_right": _pure(2, "a >> b, arithmetic for signed a; negative b: left"),
    "popcount": _pure(1, "number of one bits"),
    "clz": _pure(1, "leading zero bits; all bits for 0"),
    "ctz": _pure(1, "trailing zero bits; all bits for 0"),
    # Integers. Narrow means half the width, wide twice.
    "abs": _pure(1, "|a|; unsigned for signed integers"),
    "absd": _pure(2, "|a - b| without overflow; unsigned for integers"),
    "div_round_to_zero": _alike(2, "a / b truncated; by zero gives 0"),
    "mod_round_to_zero": _alike(2, "a - b * (a / b truncated); by zero gives 0"),
    "widening_add": _pure(2, "wide(a) + wide(b)"),
    "widening_sub": _pure(2, "wide(a) - wide(b), signed also for unsigned a, b"),
    "widening_mul": _pure(2, "wide(a) * wide(b)"),
    "widening_shift_left": _pure(2, "wide(a) << b"),
    "widening_shift_right": _pure(2, "wide(a) >> b"),
    "widen_right_add": _pure(2, "a + wide(b)"),
    "widen_right_sub": _pure(2, "a - wide(b)"),
    "widen_right_mul": _pure(2, "a * wide(b)"),
    "halving_add": _alike(2, "(wide(a) + wide(b)) >> 1"),
    "halving_sub": _alike(2, "(wide(a) - wide(b)) >> 1, narrowed to the type"),
    "rounding_halving_add": _alike(2, "(wide(a) + wide(b) + 1) >> 1"),
    "rounding_shift_left": _pure(2, "a << b; a negative b rounds to nearest"),
    "rounding_shift_right": _pure(2, "(a + half) >> b, without overflow"),
    "saturating_add": _alike(2, "a + b, clamped to the type"),
    "saturating_sub": _alike(2, "a - b, clamped to the type"),
    "saturating_cast": _pure(1, "a clamped to the result type; NaN gives 0"),
    "mul_shift_right": _pure(3, "saturate((wide(a) * wide(b)) >> c); c unsigned"),
    "rounding_mul_shift_right": _pure(3, "saturate(rounding_shift_right(a * b, c))"),
    # Floats. What is rounded once: by `ir.rounding`, for float32 and float64. A machine
    # without such instructions rounds the product, too.
    "mul_add": _alike(3, "a * b + c, rounded once"),
    "mul_sub": _alike(3, "a * b - c, rounded once"),
    "sub_mul": _alike(3, "c - a * b, rounded once"),
    "sqrt": _alike(1, "square root, correctly rounded"),
    "floor": _alike(1, "largest integer not above"),
    "ceil": _alike(1, "smallest integer not below"),
    "round": _alike(1, "nearest integer, ties to even"),
    "trunc": _alike(1, "integer part"),
    "exp": _alike(1, "e ** a"),
    "log": _alike(1, "natural logarithm"),
    "pow": _alike(2, "a ** b"),
    "sin": _alike(1, "sine of radians"),
    "cos": _alike(1, "cosine of radians"),
    "tan": _alike(1, "tangent of radians"),
    "asin": _alike(1, "arc sine"),
    "acos": _alike(1, "arc cosine"),
    "atan": _alike(1, "arc tangent"),
    "atan2": _alike(2, "angle of the point (b, a)"),
    "sinh": _alike(1, "hyperbolic sine"),
    "cosh": _alike(1, "hyperbolic cosine"),
    "tanh": _alike(1, "hyperbolic tangent"),
    "asinh": _alike(1, "inverse hyperbolic sine"),
    "acosh": _alike(1, "inverse hyperbolic cosine"),
    "atanh": _alike(1, "inverse hyperbolic tangent"),
    "erf": _alike(1, "error function"),
    "fast_exp": _pure(1, "approximate exp"),
    "fast_log": _pure(1, "approximate log"),
    "fast_pow": _pure(2, "approximate pow"),
    "fast_sin": _pure(1, "approximate sine"),
    "fast_cos": _pure(1, "approximate cosine"),
    "fast_inverse": _pure(1, "approximate 1 / a"),
    "fast_inverse_sqrt": _pure(1, "approximate 1 / sqrt(a)"),
    "is_nan": _pure(1, "Bool"),
    "is_inf": _pure(1, "Bool"),
    "is_finite": _pure(1, "Bool"),
    "strict_float": _alike(1, "a, every operation of its definition rounded by itself"),
    # Marks: the value of the argument, with a hint to the compiler.
    # `likely` may have a second argument where it is the condition of an `If`: what to
    # mask, whatever the lanes' width, in vector code for lanes of which some fail it.
    # "all": loads and stores; "loads" or "stores": only these, the others happening
    # for all lanes, which whoever makes the mark knows to be harmless.
    "likely": _alike(
        None, "a; loops are partitioned so that it holds inside", likely=True
    ),
    "likely_if_innermost": _alike(1, "likely, in innermost loops only", likely=True),
    "promise_clamped": _pure(
        3, "a, which the user swears lies in [b, c]; else any of those", clamped=True
    ),
    "known_clamped": _pure(
        3,
        "a, which lies in [b, c] wherever the value is used, by construction",
        clamped=True,
    ),
    "streamed": _pure(1, "a, which is stored past the caches"),
    "line_aligned": _pure(1, "Bool: the element that a loads begins a cache line"),
    "lines_apart": _pure(
        3,
        "Bool: what a loads is in its page not less than args[2] bytes before what b"
        " loads, nor in the same line",
    ),
    "from_lane": _pure(
        3,
        "a of lane b of as many as args[2] that go together; all of a warp ask at once",
    ),
    "texel": _pure(
        7,
        "a pixel; or the one at (args[1], args[2]) in the texture of its storage, of"
        " args[3] texels in each of args[4] rows, which are args[5] texels apart; as"
        " args[6] says, these coordinates lie inside, or are clamped (1), or what lies"
        " beyond is 0 (2)",
    ),
    "guarded": _pure(2, "a pixel, which is read only where args[1] holds, else 0"),
    "undef": _pure(0, "any value; a store of it is dropped"),
    # Effects.
    "require": IntrinsicInfo(None, False, "args[1] if args[0], else fail: args[2:]"),
    "print": IntrinsicInfo(None, False, "args[0], after printing all args"),
    "print_when": IntrinsicInfo(None, False, "args[1], printing args[1:] if args[0]"),
    # One line for all lanes of a vector; a % is an argument, the last one the value; %%
    # is a % (`trace_parts`).
    "trace": IntrinsicInfo(None, False, "args[0], printing args[1] with the rest in"),
    # Profiling (`lower.profiling`). Numbers of Funcs are those of `Lowered.profiled`.
    "profile_enter": IntrinsicInfo(
        1, False, "this thread begins to work, on Func args[0]"
    ),
    "profile_at": IntrinsicInfo(1, False, "what follows is the work of Func args[0]"),
    "profile_leave": IntrinsicInfo(0, False, "this thread's work is done"),
    "profile_count": IntrinsicInfo(
        2, False, "Func args[0] is produced args[1] (int64) times more"
    ),
    "lazy_count": IntrinsicInfo(
        3, False, "of the Func named args[0], count args[1] grows by args[2] (int64)"
    ),
    "profile_add": IntrinsicInfo(
        3, False, "word args[1] of Func args[0] grows by args[2] (int64)"
    ),
    # Foreign stages. A value stands in a definition for all that the code is given,
    # and is never evaluated. A query's value is the address of the regions it found.
    "extern_value": IntrinsicInfo(
        None, True, "a value of a Func that foreign code computes of args", data=True
    ),
    "extern_query": IntrinsicInfo(
        None, False, "ask stage args[0] what it reads; then scalars, min, extent, …"
    ),
    "extern_bound": _pure(
        2, "number args[1] of the query args[0]: min, extent, min, …"
    ),
    # Memoized Funcs. A tag says by its further args what its first depends on.
    "memoize_tag": _pure(None, "args[0]"),
    "memo_find": IntrinsicInfo(None, False, "address of what the cache answers"),
    "memo_storage": _pure(2, "for Allocate: storage number args[1] of an answer"),
    "memo_missed": _pure(1, "whether an answer is new storage"),
    "memo_store": IntrinsicInfo(
        1, False, "the storage of an answer is filled: keep it"
    ),
    # Random numbers: a pure hash of the call's number and the coordinates.
    "random_int": _pure(None, "32 random bits from integer args (result uint32)"),
}

#: Those that say what holds in the steady state of a loop.
LIKELY = frozenset([op for op, info in INTRINSICS.items() if info.likely])
#: Hints: operations with the value of their first argument.
MARKS = LIKELY | {op for op, info in INTRINSICS.items() if info.clamped}

#: What only passes put into a program: addresses, threads, and counts of profiles.
OF_PASSES = frozenset(
    (
        *("streamed", "line_aligned", "lines_apart", "from_lane", "texel", "guarded"),
        *("trace", "profile_enter", "profile_at", "profile_leave", "profile_count"),
        *("lazy_count", "profile_add", "extern_value", "extern_query", "extern_bound"),
        *("memo_find", "memo_storage", "memo_missed", "memo_store"),
    )
)


def trace_parts(line: str) -> list[str]:
    """What stands before, between and after the numbers of a line of `trace`."""
    return [part.replace("%%", "%") for part in _NUMBER.split(line)]


_NUMBER = re.compile("(?<!%)%(?!%)")
