"""Sizes and conditions of parameters as C expressions, and names for C."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from parhelion.codegen.c.names import WORDS, is_macro, is_of_the_library, is_reserved
from parhelion.errors import InternalError
from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    Cast,
    Div,
    Expr,
    Imm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
    Var,
)

#: What C has no operators for: quotients that are rounded down, and the like. All in 64
#: bits, in which no size overflows.
HELPERS = """\
static inline int64_t size_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t size_mod(int64_t a, int64_t b) {
  return b == 0 ? 0 : a - b * size_div(a, b);
}
static inline int64_t size_min(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t size_max(int64_t a, int64_t b) { return b > a ? b : a; }
"""

_OPERATORS: dict[type[Expr], str] = {
    Add: "+",
    Sub: "-",
    Mul: "*",
    And: "&&",
    Or: "||",
    EQ: "==",
    NE: "!=",
    LT: "<",
    LE: "<=",
}
_CALLS: dict[type[Expr], str] = {
    Div: "size_div",
    Mod: "size_mod",
    Min: "size_min",
    Max: "size_max",
}


def c_size(e: Expr, names: Mapping[Var, str]) -> str:
    """A size, or a condition of sizes, as a C expression in parentheses. names: of the
    parameters, which are of 64 bits."""
    if isinstance(e, Imm):
        return f"INT64_C({e.value})" if e.value >= 0 else f"(-INT64_C({-e.value}))"
    if isinstance(e, Var):
        return names[e]
    if isinstance(e, Cast):
        return c_size(e.a, names)
    if isinstance(e, Not):
        return f"!{c_size(e.a, names)}"
    kind = type(e)
    operands = [c_size(one, names) for one in e.children() if isinstance(one, Expr)]
    if kind in _OPERATORS:
        return f"({f' {_OPERATORS[kind]} '.join(operands)})"
    if kind in _CALLS:
        return f"{_CALLS[kind]}({', '.join(operands)})"
    raise InternalError(f"internal error: a size has a {kind.__name__}")


class Names:
    """Names for C: each once, and none that C or its library have."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, wish: str) -> str:
        """A name that is, or resembles, the wish."""
        made = re.sub(r"\W", "_", wish, flags=re.ASCII).strip("_") or "x"
        if made[0].isdigit():
            made = f"x{made}"
        if made in WORDS or is_macro(made) or is_of_the_library(made):
            made += "_"
        if is_reserved(made):
            made = f"x{made}"
        base, count = made, 1
        while made in self._taken:
            count += 1
            made = f"{base}_{count}"
        self._taken.add(made)
        return made

    def family(self, wish: str, begins: Sequence[str]) -> str:
        """A part of words: no name that is taken begins with one of `begins` and it."""
        made = re.sub(r"\W", "_", wish, flags=re.ASCII).strip("_") or "x"
        base, count = made, 1
        while any(
            [name.startswith(f"{b}{made}") for b in begins for name in self._taken]
        ):
            count += 1
            made = f"{base}_{count}"
        self._taken.update([f"{b}{made}" for b in begins])
        return made


__all__ = ["HELPERS", "Names", "c_size"]
