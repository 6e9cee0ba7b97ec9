"""The fixed parts of C output: the file's head, names that it has, and small functions
for what C's own operators do not do. A file defines only those that it uses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parhelion.ir.intrinsics import FUSED
from parhelion.types import Type

#: Names that the file uses, that C reserves, or that its headers define.
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float "
        "for goto if inline int long register restrict return short signed sizeof "
        "static struct switch typedef union unsigned void volatile while bool true "
        "false main malloc free printf memcpy NULL NAN INFINITY EOF size_t linux unix "
        "stdin stdout stderr errno isnan isinf isfinite INT32_MIN INT64_MIN INT64_C "
        "UINT64_C int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t",
    )
) | {
    f"{name}{end}"
    for name in ("sqrt", "floor", "ceil", "trunc", "rint", "fabs", "exp", "log", "pow")
    + ("fma", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh")
    + ("tanh", "asinh", "acosh", "atanh", "erf")
    for end in ("", "f")
}

#: The names of the functions that `helper` makes, and of polynomials.
HELPER = re.compile(
    "(min|max|opaque|bits|div|mod|shift_left|shift_right|popcount|clz|ctz|mul_add|mul_sub"
    "|sub_mul|(strict_)?(exp|log|pow|a?(sin|cos|tan)h?|atan2|erf))"
    r"(_(bool|[iuf]\d+))+"
)

HEADER = """\
// Compile with -fwrapv (integers wrap) and -fopenmp (for threads and vectors).
// Without threaded jumps, since gcc makes paths of minima and choices that follow each
// other, and of these in vectors one mask for each path.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-trapping-math")
#pragma GCC optimize("no-thread-jumps")
#else
#pragma STDC FP_CONTRACT OFF
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Nobody asks for errno, with which no loop that has a root in it is vectorised.
#if defined(__GNUC__) && !defined(__clang__)
float sqrtf(float) __attribute__((const, nothrow));
double sqrt(double) __attribute__((const, nothrow));
#endif

// Conditions that always hold, loops that never run, storage that loops fill, pragmas
// that are not asked for.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang diagnostic ignored "-Wsource-uses-openmp"
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#endif
"""

#: A value that gcc does not know.
_OPAQUE = """\
static inline {t} {name}({t} a) {{
#if defined(__GNUC__) && !defined(__clang__)
  __asm__("" : "+m"(a));
#endif
  return a;
}}"""


def helper(kind: str, name: str, types: Sequence[Type], spelled: Sequence[str]) -> str:
    """The definition of the support function `name` of a kind, for some types."""
    t, of = spelled[0], types[0]
    two = f"static inline {t} {name}({t} a, {t} b)"
    if kind == "min":
        return f"{two} {{ return b < a ? b : a; }}"
    if kind == "max":
        return f"{two} {{ return b > a ? b : a; }}"
    if kind == "opaque":
        return _OPAQUE.format(name=name, t=t)
    if kind == "bits":
        to = spelled[1]
        return (
            f"static inline {to} {name}({t} a) "
            f"{{ {to} b; memcpy(&b, &a, sizeof b); return b; }}"
        )
    if kind in ("div", "mod"):
        return f"{two} {{ {_division(kind, of, t)} }}"
    if kind in ("shift_left", "shift_right"):
        return _shift(kind, name, types, spelled)
    if kind in ("popcount", "clz", "ctz"):
        return _count(kind, name, of, t)
    if kind in FUSED:
        return _fused(kind, name, of, t)
    raise ValueError(kind)


def _fused(kind: str, name: str, of: Type, t: str) -> str:
    """A product and a sum: rounded once where that is an instruction."""
    fma = "fma" if of.width == 64 else "fmaf"
    once, twice = {
        "mul_add": (f"{fma}(a, b, c)", "a * b + c"),
        "mul_sub": (f"{fma}(a, b, -c)", "a * b - c"),
        "sub_mul": (f"{fma}(-a, b, c)", "c - a * b"),
    }[kind]
    return (
        f"static inline {t} {name}({t} a, {t} b, {t} c) {{\n"
        "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen)\n"
        f"  return {once};\n#else\n  return {twice};\n#endif\n}}"
    )


def _division(kind: str, of: Type, t: str) -> str:
    """The remainder is never negative; division by zero gives 0."""
    if of.is_float():
        floor = "floor" if of.width == 64 else "floorf"
        return f"return a - b * {floor}(a / b);"
    if of.is_uint():
        return f"return b ? a {'/' if kind == 'div' else '%'} b : 0;"
    # C's quotient of the least value and -1 does not exist.
    special = "-a" if kind == "div" else "0"
    ordinary = (
        f"{t} r = a % b; return a / b - (r < 0 ? (b < 0 ? -1 : 1) : 0);"
        if kind == "div"
        else f"{t} r = a % b; return r < 0 ? r + (b < 0 ? -b : b) : r;"
    )
    return f"if (b == 0) return 0; if (b == -1) return {special}; {ordinary}"


def _shift(kind: str, name: str, types: Sequence[Type], spelled: Sequence[str]) -> str:
    """A negative amount shifts the other way; beyond the width all is shifted out."""
    t, amount, width = spelled[0], spelled[1], types[0].width
    gone = "(a < 0 ? -1 : 0)" if types[0].is_int() else "0"
    left = f"(b < {width} ? ({t})(a << b) : 0)"
    right = f"(b < {width} ? ({t})(a >> b) : {gone})"
    body = f"return {left if kind == 'shift_left' else right};"
    if types[1].is_int():
        # The least amount has no negation.
        if kind == "shift_left":
            back = f"b > -{width} ? ({t})(a >> -b) : {gone}"
        else:
            back = f"b > -{width} ? ({t})(a << -b) : 0"
        body = f"if (b < 0) return {back}; {body}"
    return f"static inline {t} {name}({t} a, {amount} b) {{ {body} }}"


def _count(kind: str, name: str, of: Type, t: str) -> str:
    bits = f"uint64_t u = (uint{of.width}_t)a; int n = 0;"
    if kind == "popcount":
        loop = "for (; u; u &= u - 1) n++;"
    elif kind == "ctz":
        loop = f"while (n < {of.width} && !(u >> n & 1)) n++;"
    else:
        loop = f"while (n < {of.width} && !(u >> ({of.width - 1} - n) & 1)) n++;"
    return f"static inline {t} {name}({t} a) {{ {bits} {loop} return n; }}"


__all__ = ["HEADER", "HELPER", "KEYWORDS", "helper"]
