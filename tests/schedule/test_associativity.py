"""Every operation that `fold_of` finds, checked on all small numbers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import parhelion as hl
from parhelion.ir.build import imm
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, FuncCall, Imm, Var
from parhelion.ir.rewrite import Rewriter
from parhelion.schedule.associativity import AssociativeFold, fold_of
from parhelion.types import Type

x = hl.Var("x")

Step = Callable[..., Any]

#: A type, and the update as a function of the old value, an operand and a flag.
ONE: dict[str, tuple[Type, Step]] = {
    "sum": (hl.Int(8), lambda f, e, c: f + e),
    "sum of several": (hl.UInt(8), lambda f, e, c: e + (f + 3) + e),
    "difference": (hl.Int(8), lambda f, e, c: f - e - 2),
    "product": (hl.Int(8), lambda f, e, c: e * f),
    "minimum": (hl.Int(8), lambda f, e, c: hl.min(f, e)),
    "maximum": (hl.UInt(8), lambda f, e, c: hl.max(e, hl.max(f, 3))),
    "and": (hl.Int(8), lambda f, e, c: f & e),
    "or": (hl.UInt(8), lambda f, e, c: f | e),
    "exclusive or": (hl.UInt(8), lambda f, e, c: e ^ f),
    "all": (hl.Bool(), lambda f, e, c: f & e),
    "any": (hl.Bool(), lambda f, e, c: f | e),
    "saturating": (hl.UInt(8), lambda f, e, c: hl.saturating_add(f, e)),
    "sometimes": (hl.Int(8), lambda f, e, c: hl.select(c, f + e, f)),
    "one or the other": (hl.Int(8), lambda f, e, c: hl.select(c, f + e, f - 1)),
    "less, chosen": (hl.Int(8), lambda f, e, c: hl.select(e < f, e, f)),
    "greater, chosen": (hl.Int(8), lambda f, e, c: hl.select(e <= f, f, e)),
    "not less": (hl.Int(8), lambda f, e, c: hl.select(~(e < f), e, f)),
    "in more bits": (hl.UInt(8), lambda f, e, c: hl.u8(hl.u16(f) + hl.u16(e) * 3)),
    "chosen inside": (hl.Int(8), lambda f, e, c: hl.select(c, f + 1, f) + e),
}

#: Several values: the least or greatest, with what belongs to it; complex numbers.
PAIRS: dict[str, tuple[Type, Step]] = {
    "first least": (
        hl.Int(8),
        lambda f, e, g: (hl.select(e < f[0], e, f[0]), hl.select(e < f[0], g, f[1])),
    ),
    "last least": (
        hl.Int(8),
        lambda f, e, g: (hl.select(e <= f[0], e, f[0]), hl.select(e <= f[0], g, f[1])),
    ),
    "first greatest": (
        hl.UInt(8),
        lambda f, e, g: (hl.max(f[0], e), hl.select(e > f[0], g, f[1])),
    ),
    "kept where less": (
        hl.Int(8),
        lambda f, e, g: (hl.select(f[1] < e, f[0], g), hl.select(f[1] < e, f[1], e)),
    ),
    "complex product": (
        hl.Int(8),
        lambda f, e, g: (f[0] * e - f[1] * g, f[0] * g + f[1] * e),
    ),
    "complex product, imaginary first": (
        hl.Int(8),
        lambda f, e, g: (e * f[0] + g * f[1], e * f[1] - f[0] * g),
    ),
    "two sums": (hl.Int(8), lambda f, e, g: (f[0] + e, hl.max(f[1], g))),
}


#: The greatest value in all its forms, and a number that belongs to it: the first or
#: the last of equals. ``>`` and ``<`` change places for the least.
GREATEST = (
    *("hl.max(f[0], e)", "hl.max(e, f[0])", "hl.select(e > f[0], e, f[0])"),
    *("hl.select(f[0] <= e, e, f[0])", "hl.select(f[0] > e, f[0], e)"),
    *("hl.select(e <= f[0], f[0], e)", "hl.select(~(e < f[0]), e, f[0])"),
)
BELONGS = (
    *("hl.select(e > f[0], g, f[1])", "hl.select(f[0] <= e, g, f[1])"),
    *("hl.select(f[0] > e, f[1], g)", "hl.select(e <= f[0], f[1], g)"),
    *("hl.select(~(e < f[0]), g, f[1])", "hl.select(~(f[0] < e), f[1], g)"),
)


def step_of(*forms: str, least: bool = False) -> Step:
    """The update that these texts say, of the greatest value or of the least."""
    text = ", ".join(forms)
    if least:
        text = text.translate(str.maketrans("<>", "><")).replace("max", "min")
    made = eval(f"lambda f, e, g: ({text})", {"hl": hl})
    return made  # type: ignore[no-any-return]


FORMS = [
    (f"{'least' if least else 'greatest'}: {value}, {index}", least, value, index)
    for least in (False, True)
    for value, index in product(GREATEST, BELONGS)
]
PAIRS |= {
    name: (hl.UInt(8) if least else hl.Int(8), step_of(value, index, least=least))
    for name, least, value, index in FORMS
}


def made(t: Type, step: Step, several: bool) -> tuple[Any, AssociativeFold, Any, Any]:
    f = hl.Func("f")
    e, g = hl.Param(t, "e"), hl.Param(t, "g")
    c = hl.Param(hl.Bool(), "c")
    zero = hl.Expr(0) != 0 if t.is_bool() else hl.cast(t, 0)
    f[x] = hl.Tuple(zero, zero) if several else zero
    old = f[x]
    new = step(old, hl.Expr(e), hl.Expr(g) if several else hl.Expr(c))
    f[x] = hl.Tuple(*new) if several else new
    d = f._function.updates[0]
    fold = fold_of(f._function, d.args, d.values)
    assert fold is not None
    return f._function, fold, e, g if several else c


class _Put(Rewriter):
    def __init__(self, function: Any, old: tuple[Expr, ...], env: dict[Var, Expr]):
        super().__init__()
        self.function, self.old, self.env = function, old, env

    def on_var(self, n: Var) -> Expr:
        return self.env.get(n, n)

    def on_funccall(self, n: FuncCall) -> Expr:
        return self.old[n.index]


def applied(function: Any, old: tuple[Expr, ...], env: dict[Var, Expr]) -> Any:
    put = _Put(function, old, env)
    values = function.updates[0].values
    return tuple([const(put.go(v)) for v in values])


def const(e: Expr) -> Imm:
    value = evaluate(e, {})
    found = imm(value, e.type)
    assert isinstance(found, Imm)
    return found


def numbers(t: Type) -> list[int]:
    if t.is_bool():
        return [0, 1]
    return [-128, -127, -1, 0, 1, 3, 126, 127] if t.is_int() else [0, 1, 2, 128, 255]


def fold_parts(
    function: Any,
    fold: AssociativeFold,
    start: Any,
    steps: list[dict[Var, Expr]],
    cut: int,
) -> Any:
    """The steps in two parts, each folded by itself and then merged."""
    out = start
    for part in (steps[:cut], steps[cut:]):
        inner, begun = fold.start, False
        for env in part:
            if fold.taken is not None and not begun:
                put = _Put(function, inner, env)
                inner = tuple([const(put.go(e)) for e in fold.taken])
                begun = True
                continue
            inner = applied(function, inner, env)
        if part or fold.taken is None:
            out = tuple([const(e) for e in fold.merge(out, inner)])
    return out


@pytest.mark.parametrize("name", [*ONE, *PAIRS])
def test_parts_give_the_whole(name: str) -> None:
    several = name in PAIRS
    t, step = (PAIRS if several else ONE)[name]
    function, fold, e, other = made(t, step, several)
    first, second = e._sym.var, other._sym.var
    values = numbers(t)
    seconds = numbers(second.type)[::2] if several else [0, 1]
    operands = [
        {first: imm(a, t), second: imm(b, second.type)}
        for a, b in product(values, seconds)
    ]
    starts = [
        tuple([imm(v, t)] * (2 if several else 1)) for v in (values[0], values[-1])
    ]
    few = 13 if several else 4
    for start in starts:
        for one, two, three in product(
            operands[::few], operands[:: few - 2], operands[:: few + 1]
        ):
            steps = [one, two, three]
            whole = start
            for env in steps:
                whole = applied(function, whole, env)
            for cut in (0, 1, 2):
                assert fold_parts(function, fold, start, steps, cut) == whole, steps
            if fold.commutative:
                swapped = fold_parts(function, fold, start, [three, one, two], 1)
                assert swapped == whole


def test_only_the_least_and_greatest_depend_on_order() -> None:
    for name, (t, step) in PAIRS.items():
        fold = made(t, step, True)[1]
        ordered = "least" in name or "greatest" in name or "kept" in name
        assert fold.commutative is not ordered


#: Among floats these take a NaN: no comparison holds, on which the new one is left out.
TAKE_NAN = {
    *("hl.max(e, f[0])", "hl.select(f[0] > e, f[0], e)"),
    *("hl.select(e <= f[0], f[0], e)", "hl.select(~(e < f[0]), e, f[0])"),
    *("hl.select(f[0] > e, f[1], g)", "hl.select(e <= f[0], f[1], g)"),
    "hl.select(~(e < f[0]), g, f[1])",
}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form[0])
def test_floats_are_folds_where_no_nan_is_taken(
    form: tuple[str, bool, str, str],
) -> None:
    _, least, value, index = form
    f, g = hl.Func("f"), hl.Param(hl.Int(32), "g")
    e = hl.Param(hl.Float(32), "e")
    f[x] = hl.Tuple(hl.f32(0), 0)
    f[x] = hl.Tuple(*step_of(value, index, least=least)(f[x], hl.Expr(e), hl.Expr(g)))
    d = f._function.updates[0]
    found = fold_of(f._function, d.args, d.values)
    assert (found is None) is bool({value, index} & TAKE_NAN)
    assert fold_of(f._function, d.args, d.values, numbers=True) is not None


@pytest.mark.parametrize(
    "forms",
    [
        # One goes up and the other down.
        ("hl.max(f[0], e)", "hl.select(e < f[0], g, f[1])"),
        ("hl.max(f[0], e)", "hl.select(f[0] < e, f[1], g)"),
        ("hl.min(f[0], e)", "hl.select(e >= f[0], g, f[1])"),
        # What is compared is not what is kept, or not only that.
        ("hl.max(f[0], e)", "hl.select(e + 1 > f[0], g, f[1])"),
        ("hl.max(f[0], e)", "hl.select(e > f[0] + 1, g, f[1])"),
        ("hl.max(f[0], e)", "hl.select((e > f[0]) & (f[1] < g), g, f[1])"),
        ("hl.max(f[0], g)", "hl.select(e > f[0], g, f[1])"),
        ("f[0] + e", "hl.select(e > f[0], g, f[1])"),
        ("hl.max(f[0], e)", "hl.select(e == f[0], g, f[1])"),
        # The new value is made of an old one.
        ("hl.max(f[0], e)", "hl.select(e > f[0], f[1] + 1, f[1])"),
        ("hl.max(f[0], e + f[1])", "hl.select(e + f[1] > f[0], g, f[1])"),
        # Values that are compared crosswise.
        ("hl.select(e > f[1], e, f[0])", "hl.select(g > f[0], g, f[1])"),
    ],
)
def test_what_only_looks_like_the_greatest(forms: tuple[str, str]) -> None:
    f, e, g = hl.Func("f"), hl.Param(hl.Int(8), "e"), hl.Param(hl.Int(8), "g")
    f[x] = hl.Tuple(hl.i8(0), hl.i8(0))
    f[x] = hl.Tuple(*step_of(*forms)(f[x], hl.Expr(e), hl.Expr(g)))
    d = f._function.updates[0]
    assert fold_of(f._function, d.args, d.values) is None
    assert fold_of(f._function, d.args, d.values, numbers=True) is None


@pytest.mark.parametrize(
    "step",
    [
        lambda f, e: e - f,
        lambda f, e: f * 2 + e,
        lambda f, e: f + e * f,
        lambda f, e: f << 1,
        lambda f, e: f / 3,
        lambda f, e: hl.min(f + e, 100),
        lambda f, e: hl.saturating_add(f, e),
        lambda f, e: hl.select(f < 3, f + e, f),
        lambda f, e: hl.select(f < e, f, e + 1),
        lambda f, e: hl.absd(f, e),
        lambda f, e: hl.i8(hl.min(hl.i16(f) + e, 100)),
    ],
)
def test_what_is_no_fold(step: Step) -> None:
    f, e = hl.Func("f"), hl.Param(hl.Int(8), "e")
    f[x] = hl.i8(0)
    f[x] = hl.i8(step(f[x], hl.Expr(e)))
    d = f._function.updates[0]
    assert fold_of(f._function, d.args, d.values) is None


def test_other_places_are_no_fold() -> None:
    f = hl.Func("f")
    r = hl.RDom([(1, 5)], "r")
    f[x] = 0
    f[r.x] = f[r.x - 1] + 1
    f[f[r.x]] += 1
    for d in f._function.updates:
        assert fold_of(f._function, d.args, d.values) is None
