"""How often floats are rounded, decided on the definitions before any schedule.

Where strict code is not asked for, two things may be rounded once that are written as
two operations: a product that is an operand of a sum or difference (`mul_add` and its
kin stand for both), and the quotient by a constant, which becomes the product with the
constant's reciprocal. What a machine may do is thus said by the nodes, one by one, and
nothing after this takes liberties: inlining, unrolling, vectors and simplification
keep each node's meaning, so that no schedule changes a bit.

A decision sees one definition as it is written. A product in one Func and the sum in
another are two roundings wherever the one is computed. float16 and bfloat16 are left
alone: few machines have their arithmetic, and others compute it in float32.

`strict_float` keeps all this out of what it is around. Its mark stays for reductions,
and is put around each function inside that is a polynomial of ours: of those there are
two, with and without fused operations (`expanded`).
"""

from __future__ import annotations

from parhelion.ir import build, mathlib
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Intrinsic, Var
from parhelion.ir.rewrite import Rewriter, nodes, substitute
from parhelion.ir.scalars import Value, binary, cast_value
from parhelion.types import Type, TypeCode

#: Of which the divisors of constants may be.
_CONSTANTS = (E.Imm, E.FloatImm, E.Cast, E.Add, E.Sub, E.Mul, E.Div)


def unfused(e: Intrinsic) -> Expr:
    """A fused operation as a product and a sum."""
    a, b, c = e.args
    product = E.Mul(a, b)
    if e.op == "sub_mul":
        return E.Sub(c, product)
    return E.Add(product, c) if e.op == "mul_add" else E.Sub(product, c)


class Decision(Rewriter):
    """Rewrites definitions of Funcs; `strict` ones, and the functions in them.

    fuses, divides: whether products are fused with sums, and whether quotients by
    constants are products.
    """

    def __init__(
        self, *, strict: bool = False, fuses: bool = True, divides: bool = True
    ) -> None:
        super().__init__()
        self.strict = strict
        self.fuses, self.divides = fuses, divides
        self._strictly: Decision | None = None

    def on_add(self, n: E.Add) -> Expr:
        a, b = self.go(n.a), self.go(n.b)
        if self._may_fuse(n.type):
            if type(a) is E.Mul:
                return Intrinsic(n.type, "mul_add", (a.a, a.b, b))
            if type(b) is E.Mul:
                return Intrinsic(n.type, "mul_add", (b.a, b.b, a))
        return n if a is n.a and b is n.b else E.Add(a, b)

    def on_sub(self, n: E.Sub) -> Expr:
        a, b = self.go(n.a), self.go(n.b)
        if self._may_fuse(n.type):
            if type(a) is E.Mul:
                return Intrinsic(n.type, "mul_sub", (a.a, a.b, b))
            if type(b) is E.Mul:
                return Intrinsic(n.type, "sub_mul", (b.a, b.b, a))
        return n if a is n.a and b is n.b else E.Sub(a, b)

    def on_div(self, n: E.Div) -> Expr:
        a, b = self.go(n.a), self.go(n.b)
        if not self.strict and self.divides and _is_wide(n.type):
            inverse = _reciprocal(b)
            if inverse is not None:
                return E.Mul(a, inverse)
        return n if a is n.a and b is n.b else E.Div(a, b)

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op == "strict_float":
            return _strict(self._inside().go(n.args[0]))
        made = n.map(self.go)
        if self.strict and n.type.is_float() and expanded(n) is not None:
            return _strict(made)
        return made

    def _inside(self) -> Decision:
        """Returns the Decision for what stands inside of `strict_float`."""
        if self.strict:
            return self
        if self._strictly is None:
            self._strictly = Decision(strict=True)
        return self._strictly

    def _may_fuse(self, t: Type) -> bool:
        return self.fuses and not self.strict and _is_wide(t)


def _strict(e: Expr) -> Expr:
    if isinstance(e, Intrinsic) and e.op == "strict_float":
        return e
    return Intrinsic(e.type, "strict_float", (e,))


def _is_wide(t: Type) -> bool:
    return t.kind is TypeCode.Float and t.width >= 32


def _value(e: Expr) -> Value:
    """The value of what is made of constants alone."""
    if isinstance(e, E.Imm | E.FloatImm):
        return e.value
    if isinstance(e, E.Cast):
        return cast_value(_value(e.a), e.type)
    assert isinstance(e, E.Add | E.Sub | E.Mul | E.Div)
    return binary(type(e), e.a.type, _value(e.a), _value(e.b))


def _reciprocal(e: Expr) -> Expr | None:
    """1 / e for a finite constant whose reciprocal is a normal number."""
    if isinstance(e, E.Broadcast):
        inner = _reciprocal(e.value)
        return None if inner is None else E.Broadcast(inner, e.lanes)
    if not all([isinstance(n, _CONSTANTS) for n in nodes(e)]):
        return None
    t = e.type
    value = float(_value(e))
    if value == 0 or value - value != 0:
        return None
    inverse = build.imm(1.0 / value, t)
    assert isinstance(inverse, E.FloatImm)
    least = 2.0**-126 if t.width == 32 else 2.0**-1022
    if abs(inverse.value) < least or inverse.value - inverse.value != 0:
        return None
    return inverse


# Functions.

#: The definitions of functions, and the Vars in place of their arguments: by name,
#: types, and whether each operation in them is rounded by itself.
_DEFINITIONS: dict[
    tuple[str, tuple[Type, ...], bool], tuple[tuple[Var, ...], Expr] | None
] = {}


def expanded(e: Intrinsic, *, strict: bool = False) -> Expr | None:
    """The polynomial that `e`, or what it marks as strict, stands for.

    None if `e` is basic itself, or the C library computes it. The operations in it are
    fused where that is not forbidden by `strict` or the mark, and not those around it.
    """
    if e.op == "strict_float":
        inner = e.args[0]
        return expanded(inner, strict=True) if isinstance(inner, Intrinsic) else None
    if e.op == "random_int":
        return mathlib.expand(e.op, e.args)
    key = (e.op, tuple([a.type for a in e.args]), strict)
    if key not in _DEFINITIONS:
        _DEFINITIONS[key] = _define(e, strict)
    found = _DEFINITIONS[key]
    if found is None:
        return None
    params, body = found
    return substitute(body, dict(zip(params, e.args, strict=True)))


def _define(e: Intrinsic, strict: bool) -> tuple[tuple[Var, ...], Expr] | None:
    params = tuple([Var(f"a{i}", a.type) for i, a in enumerate(e.args)])
    body = mathlib.expand(e.op, params)
    if body is None:
        return None
    return params, Decision(strict=strict, divides=False).go(body)


__all__ = ["Decision", "expanded", "unfused"]
