"""Integers that are computed in fewer bits are the same numbers."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from parhelion import forma
from parhelion.forma.reference import evaluate
from parhelion.types import Int, Type, UInt

#: What may go wrong goes wrong here first.
EDGES = [-32768, -32767, -257, -256, -129, -128, -2, -1]
EDGES += [0, 1, 2, 126, 127, 128, 255, 256, 510, 511, 512, 32766, 32767]
SIZE = 700
MOST = 1 << 31


class Drawn:
    """A random expression, what it lies between, and its text."""

    def __init__(self, text: str, lo: int, hi: int) -> None:
        self.text, self.lo, self.hi = text, lo, hi

    def wrapped(self, bits: int) -> Drawn:
        most = 1 << (bits - 1)
        if -most <= self.lo and self.hi < most:
            return Drawn(f"int{bits}({self.text})", self.lo, self.hi)
        return Drawn(f"int{bits}({self.text})", -most, most - 1)


def draw(rng: random.Random, leaves: list[Drawn], depth: int) -> Drawn:
    """An expression that does not overflow an int, of int at least."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.3:
            number = rng.choice([0, 1, 2, 3, 7, 8, 127, 255, 256, 1000, 32767, 32768])
            return Drawn(str(number), number, number)
        return rng.choice(leaves)
    a, b = draw(rng, leaves, depth - 1), draw(rng, leaves, depth - 1)
    ends = [(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    op = rng.choice(["+", "-", "*", "/2", "/", "%", "min", "max", "abs", "?", "cast"])
    if op == "+":
        made = Drawn(f"({a.text} + {b.text})", a.lo + b.lo, a.hi + b.hi)
    elif op == "-":
        made = Drawn(f"({a.text} - {b.text})", a.lo - b.hi, a.hi - b.lo)
    elif op == "*":
        products = [x * y for x, y in ends]
        made = Drawn(f"({a.text} * {b.text})", min(products), max(products))
    elif op == "/2":
        one = rng.choice(["", " + 1"])
        lo, hi = a.lo + b.lo, a.hi + b.hi + 1
        made = Drawn(f"(({a.text} + {b.text}{one}) / 2)", min(lo, 0), max(hi, 0))
        if not -MOST <= lo <= hi < MOST:
            return draw(rng, leaves, depth - 1)
    elif op in "/%":
        by = rng.choice([2, 3, 4, 16, 100, 256, -2, -7])
        reach = max(abs(a.lo), abs(a.hi))
        made = Drawn(f"({a.text} {op} ({by}))", -reach, reach)
    elif op == "min":
        made = Drawn(f"min({a.text}, {b.text})", min(a.lo, b.lo), min(a.hi, b.hi))
    elif op == "max":
        made = Drawn(f"max({a.text}, {b.text})", max(a.lo, b.lo), max(a.hi, b.hi))
    elif op == "abs":
        d = Drawn(f"abs({a.text} - {b.text})", 0, max(a.hi - b.lo, b.hi - a.lo, 0))
        made = d if min(a.lo - b.hi, b.lo - a.hi) >= -MOST else a
    elif op == "?":
        c = rng.choice(["<", "<=", "==", "!=", ">"])
        text = f"({a.text} {c} {b.text} ? {a.text} : {b.text})"
        made = Drawn(text, min(a.lo, b.lo), max(a.hi, b.hi))
    else:
        made = a.wrapped(rng.choice([8, 16]))
    return made if -MOST <= made.lo <= made.hi < MOST else made_small(a)


def made_small(a: Drawn) -> Drawn:
    return Drawn(f"min(max({a.text}, 0), 255)", 0, 255)


def program(seed: int) -> str:
    """Stencils of one input, and stencils of what these return."""
    rng = random.Random(seed)
    reads = [Drawn("X", -32768, 32767), Drawn("X@[1]", -32768, 32767)]
    small = [made_small(reads[0]), reads[1].wrapped(8), made_small(reads[1])]
    lines: list[str] = []
    body: list[str] = []
    kinds = [rng.choice(["int16", "int"]) for _ in range(4)]
    values: list[Drawn] = []
    for k, kind in enumerate(kinds):
        value = draw(rng, [*reads, *small], 4)
        value = value.wrapped(16) if kind == "int16" else value
        values.append(value)
        text = value.text if kind == "int16" else f"{value.text} + 0"
        lines.append(f"stencil s{k}(vector#1 int16 X) {{ return {text}; }}")
        body.append(f"y{k} = s{k}(x:clamped);")
    for k in range(4):
        a, b = rng.randrange(4), rng.randrange(4)
        leaves = [
            Drawn(text, values[n].lo, values[n].hi)
            for n, text in ((a, "A"), (a, "A@[-1]"), (b, "B"))
        ]
        lines.append(
            f"stencil t{k}(vector#1 {kinds[a]} A, vector#1 {kinds[b]} B) "
            f"{{ return {draw(rng, leaves, 3).text} + 0; }}"
        )
        body.append(f"z{k} = t{k}(y{a}:clamped, y{b});")
    given = f"vector#1 int16 x[{SIZE}];"
    return "\n".join([*lines, given, *body, "return z0, z1, z2, z3;"])


@pytest.mark.parametrize("seed", range(8))
def test_random_integers(seed: int) -> None:
    text = program(seed)
    compiled = forma.compile(text)
    x = np.random.default_rng(seed).choice(EDGES, SIZE).astype(np.int16)
    wanted = evaluate(compiled.graph, {"x": x}, {})
    found = compiled(x)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want, text)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("max(X, 7)", lambda x: np.maximum(x, 7)),
        ("min(X, 7)", lambda x: np.minimum(x, 7)),
        ("min(X / 2, 5)", lambda x: np.minimum(np.trunc(x / 2), 5)),
        ("X < 7 ? X : 7", lambda x: np.minimum(x, 7)),
        ("max(X, 7) % 100", lambda x: np.maximum(x, 7) % 100),
    ],
)
@pytest.mark.parametrize("scheduler", ["Strips", "Forma", "Parhelion"])
def test_integers_that_are_known_at_one_end(
    body: str, wanted: Callable[[np.ndarray], np.ndarray], scheduler: str
) -> None:
    """An int may be as small, or as large, as its type says."""
    compiled = forma.compile(
        f"""
        parameter M;
        vector#1 int x[M];
        stencil low(vector#1 int X) {{ return {body}; }}
        stencil next(vector#1 int X) {{ return X@[1]; }}
        return next(low(x):clamped);
        """,
        scheduler=scheduler,
    )
    x = np.array([-(2**31), -9, -1, 0, 6, 7, 8, 250, 2**31 - 1], np.int32)
    np.testing.assert_array_equal(compiled(x), wanted(x)[[*range(1, 9), 8]])


def stored(body: str, kind: str = "int16") -> Type:
    """The type in which a stage is stored that is read at several points."""
    text = f"""
        stencil f(vector#1 {kind} X) {{ return {body}; }}
        stencil g(vector#1 int X) {{ return X@[-1] + X@[1]; }}
        parameter M;
        vector#1 {kind} x[M];
        y = f(x);
        return g(y);
    """.replace(
        "vector#1 int X", f"vector#1 {'int16' if 'int16(' in body else 'int'} X"
    )
    return forma.compile(text).funcs["y"].types()[0]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("X + 0", Int(16)),
        ("X + 1", Int(32)),
        ("min(max(X + 1, 0), 255)", UInt(8)),
        ("min(max(X, -128), 127)", Int(8)),
        ("abs(X)", UInt(16)),
        ("X / 256", Int(8)),
        ("X % 100", Int(8)),
        ("(min(max(X, 0), 255) + min(max(X@[1], 0), 255) + 1) / 2", UInt(8)),
        ("int16(min(max(X * 0.5, 0.0), 255.0))", UInt(8)),
    ],
)
def test_stages_are_stored_in_the_fewest_bits(body: str, wanted: Type) -> None:
    assert stored(body) is wanted


def test_results_have_the_types_of_the_program() -> None:
    text = """
        stencil f(vector#1 int16 X) { return min(max(X, 0), 255); }
        parameter M;
        vector#1 int16 x[M];
        return f(x);
    """
    found = forma.compile(text)(np.array([-1, 300, 7], np.int16))
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.int32 and found.tolist() == [0, 255, 7]
