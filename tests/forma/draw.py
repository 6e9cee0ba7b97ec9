"""Random Forma programs that are right, with inputs and parameters for them.

Ints stay far from overflow, floats are multiples of a quarter wherever a stage ends,
and all operations are rounded as IEEE 754 says: back ends can be compared with the
reference bit by bit. `Drawing(rng, math=True)` has all math functions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from parhelion.forma.reference import dtype_of
from parhelion.forma.types import Scalar, Struct

Array = npt.NDArray[Any]

_SCALARS = ("int8", "int16", "int", "float", "double")
_BOUNDARIES = ("", ":clamped", ":wrap", ":mirror", ":constant(3)")
#: No domain gets larger than this along a dimension.
_LARGEST = 96


@dataclass(frozen=True)
class Drawn:
    """A program, and what it may be run with."""

    text: str
    inputs: dict[str, Array]
    parameters: dict[str, int | float]


@dataclass(frozen=True)
class _Domain:
    """A variable: its name as it is written, its type, and its sizes in numbers."""

    name: str
    type: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class _Stencil:
    """A stencil: its arguments' types, the types of its results, how far it scales."""

    name: str
    domains: tuple[str, ...]
    numbers: tuple[str, ...]
    results: tuple[str, ...]
    scales: tuple[int, ...]


@dataclass
class Drawing:
    """One program while it is drawn."""

    rng: random.Random
    math: bool = False
    lines: list[str] = field(default_factory=list)
    domains: list[_Domain] = field(default_factory=list)
    stencils: list[_Stencil] = field(default_factory=list)
    parameters: dict[str, int | float] = field(default_factory=dict)
    inputs: dict[str, Array] = field(default_factory=dict)
    struct: Struct | None = None
    count: int = 0

    def draw(self) -> Drawn:
        rng = self.rng
        self.dimensions = rng.choice([1, 2, 2, 2, 3])
        names = "MNK"[: self.dimensions]
        for name in names:
            self.parameters[name] = rng.randrange(3, 24)
        self.lines.append(f"parameter {', '.join(names)};")
        self.lines.append("parameter float t; parameter int n;")
        self.parameters.update(t=rng.randrange(-8, 9) / 4, n=rng.randrange(-9, 10))
        if rng.random() < 0.4:
            kinds = [Scalar(rng.choice(_SCALARS)) for _ in range(rng.randrange(1, 4))]
            self.struct = Struct("S", tuple(zip("rgb", kinds, strict=False)))
            fields = " ".join([f"{kind} {name};" for name, kind in self.struct.fields])
            self.lines.append(f"struct S {{ {fields} }}")
        for _ in range(rng.randrange(1, 4)):
            self._input(names)
        for _ in range(rng.randrange(1, 7)):
            self._step()
        self._return()
        return Drawn("\n".join(self.lines) + "\n", self.inputs, self.parameters)

    def _name(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def _types(self) -> list[str]:
        return [*_SCALARS, *(["S"] * 3 if self.struct is not None else [])]

    def _input(self, parameters: str) -> None:
        rng, name = self.rng, self._name("x")
        kind = rng.choice(self._types())
        texts, sizes = [], []
        for parameter in parameters:
            value = int(self.parameters[parameter])
            add = rng.choice([0, 0, 0, 1, 2])
            texts.append(f"{parameter}+{add}" if add else parameter)
            sizes.append(value + add)
        self.lines.append(
            f"vector#{self.dimensions} {kind} {name}[{', '.join(texts)}];"
        )
        element = self.struct if kind == "S" and self.struct else Scalar(kind)
        made = np.zeros(sizes[::-1], dtype_of(element))
        seed = np.random.default_rng(rng.randrange(1 << 30))
        for part in [made[f] for f in made.dtype.names] if made.dtype.names else [made]:
            if part.dtype.kind == "f":
                part[...] = seed.integers(-400, 400, part.shape) / 4
            else:
                most = 127 if part.dtype.itemsize == 1 else 1000
                part[...] = seed.integers(-most, most, part.shape)
        self.inputs[name] = made
        self.domains.append(_Domain(name, kind, tuple(sizes)))

    # Statements

    def _step(self) -> None:
        choice = self.rng.choice(
            ["apply", "apply", "apply", "crop", "pad", "scatter", "beside", "double"]
            + ["loop", "vector", "stack"]
        )
        getattr(self, f"_{choice}")()

    def _pick(self, dimensions: int | None = None) -> _Domain:
        fitting = [
            one
            for one in self.domains
            if dimensions is None or len(one.sizes) == dimensions
        ]
        return self.rng.choice(fitting)

    def _add(self, name: str, kind: str, sizes: tuple[int, ...], value: str) -> None:
        self.lines.append(f"{name} = {value};")
        self.domains.append(_Domain(name, kind, sizes))

    def _apply(self) -> None:
        rng = self.rng
        first = self._pick()
        others = [
            self._pick(len(first.sizes)) for _ in range(rng.choice([0, 0, 1, 1, 2]))
        ]
        given = [first, *others]
        stencil = self._stencil(given, rng.choice([1, 1, 1, 2]))
        call, sizes = self._call(stencil, given)
        names = [self._name("y") for _ in stencil.results]
        self.lines.append(f"{', '.join(names)} = {call};")
        for name, kind in zip(names, stencil.results, strict=True):
            self.domains.append(_Domain(name, kind, sizes))

    def _call(
        self, stencil: _Stencil, given: list[_Domain]
    ) -> tuple[str, tuple[int, ...]]:
        args = [one.name + self.rng.choice(_BOUNDARIES) for one in given]
        for kind in stencil.numbers:
            args.append("n + 1" if kind == "int" else self.rng.choice(["t", "0.25"]))
        sizes = tuple(
            [
                min([one.sizes[d] for one in given]) // stencil.scales[d]
                for d in range(len(given[0].sizes))
            ]
        )
        return f"{stencil.name}({', '.join(args)})", sizes

    def _crop(self) -> None:
        one = self._pick()
        ranges, sizes = [], []
        for size in one.sizes:
            first = self.rng.randrange(size)
            last = self.rng.randrange(first, size)
            ranges.append(f"{first}..{last}")
            sizes.append(last - first + 1)
        value = f"{one.name}[{', '.join(ranges)}]"
        self._add(self._name("c"), one.type, tuple(sizes), value)

    def _pad(self) -> None:
        one = self._pick()
        amounts = [self.rng.randrange(4) for _ in one.sizes]
        name = self._name("p")
        self.lines.append(
            f"{name}[{', '.join([f'{a}..' for a in amounts])}] = {one.name};"
        )
        sizes = tuple([s + a for s, a in zip(one.sizes, amounts, strict=True)])
        self.domains.append(_Domain(name, one.type, sizes))

    def _scatter(self) -> None:
        one = self._pick()
        steps, sizes = [], []
        for size in one.sizes:
            scale = self.rng.choice([1, 2, 3]) if size * 3 < _LARGEST else 1
            offset = self.rng.randrange(2 * scale)
            steps.append(f"({offset}, {scale})")
            sizes.append(scale * (size + offset // scale))
        name = self._name("s")
        self.lines.append(f"{name}@[{', '.join(steps)}] = {one.name};")
        self.domains.append(_Domain(name, one.type, tuple(sizes)))

    def _beside(self) -> None:
        """Two domains beside each other along one dimension, cropped to fit."""
        one = self._pick()
        fitting = [
            o
            for o in self.domains
            if o.type == one.type and len(o.sizes) == len(one.sizes)
        ]
        other, along = self.rng.choice(fitting), self.rng.randrange(len(one.sizes))
        least = [min(a, b) for a, b in zip(one.sizes, other.sizes, strict=True)]
        if one.sizes[along] + other.sizes[along] > _LARGEST:
            return

        def cropped(d: _Domain) -> str:
            ends = [d.sizes[k] if k == along else least[k] for k in range(len(d.sizes))]
            return f"{d.name}[{', '.join([f'0..{end - 1}' for end in ends])}]"

        before = ", ".join(["0.." for _ in least])
        behind = ", ".join(
            [f"{one.sizes[along] if k == along else 0}.." for k in range(len(least))]
        )
        sizes = list(least)
        sizes[along] = one.sizes[along] + other.sizes[along]
        value = f"( [{before}] = {cropped(one)}; [{behind}] = {cropped(other)}; )"
        self._add(self._name("b"), one.type, tuple(sizes), value)

    def _double(self) -> None:
        """Even and odd points by stencils of their own."""
        one = self._pick()
        along = self.rng.randrange(len(one.sizes))
        if 2 * one.sizes[along] > _LARGEST:
            return
        parts = []
        kind = ""
        for offset in range(2):
            stencil = self._stencil([one], 1, kind, scaled=False)
            kind = stencil.results[0]
            steps = ["0"] * len(one.sizes)
            steps[along] = f"({offset}, 2)"
            call, _ = self._call(stencil, [one])
            parts.append(f"@[{', '.join(steps)}] = {call};")
        sizes = list(one.sizes)
        sizes[along] *= 2
        value = f"( {' '.join(parts)} )"
        self._add(self._name("d"), kind, tuple(sizes), value)

    def _stack(self) -> None:
        one = self._pick()
        if len(one.sizes) > 2:
            return
        fitting = [
            o for o in self.domains if o.type == one.type and o.sizes == one.sizes
        ]
        count = self.rng.randrange(1, 4)
        parts = []
        for k in range(count):
            place = ", ".join(["0.."] * len(one.sizes) + [f"{k}.."])
            parts.append(f"[{place}] = {self.rng.choice(fitting).name};")
        name = self._name("k")
        self._add(name, one.type, (*one.sizes, count), f"( {' '.join(parts)} )")

    def _loop(self) -> None:
        """A stencil that is applied again and again, forwards or backwards."""
        one = self._pick()
        stencil = self._stencil([one], 1, one.type)
        last = self.rng.randrange(1, 4)
        name = self._name("g")
        up = self.rng.random() < 0.7
        first, before, ways = (0, "i-1", "") if up else (last, "i+1", " by -1")
        bounds = f"1..{last}" if up else f"{last - 1}..0"
        sizes = [one.sizes]
        for _ in range(last):
            sizes.append(
                tuple([s // k for s, k in zip(sizes[-1], stencil.scales, strict=True)])
            )
        if min(sizes[-1]) < 1:
            return
        qualified = _Domain(f"{name}<{before}>", one.type, one.sizes)
        call, _ = self._call(stencil, [qualified])
        self.lines.append(f"{name}<{first}> = {one.name};")
        self.lines.append(f"for i = {bounds}{ways}\n  {name}<i> = {call};\nendfor")
        for k in range(last + 1):
            index = k if up else last - k
            self.domains.append(_Domain(f"{name}<{index}>", one.type, sizes[k]))

    def _vector(self) -> None:
        """A vector function of one domain, with a local variable and a number."""
        one = self._pick()
        outer = self._stencil([one], 1, scaled=False)
        middle = _Domain("a", outer.results[0], one.sizes)
        inner = self._stencil([middle, one], 1, scaled=False)
        name = self._name("v")
        formal = _Domain("X", one.type, one.sizes)
        first, _ = self._call(outer, [formal])
        second, _ = self._call(inner, [middle, formal])
        dims = len(one.sizes)
        self.lines.append(
            f"vector {name}(vector#{dims} {one.type} X, float u) {{\n"
            f"  a = {first};\n  return {second};\n}}"
        )
        value = f"{name}({one.name}, t)"
        self._add(self._name("w"), inner.results[0], one.sizes, value)

    def _return(self) -> None:
        count = self.rng.randrange(1, 4)
        named = [one.name for one in self.domains[-4:]]
        returned = self.rng.sample(named, min(count, len(named)))
        self.lines.append(f"return {', '.join(returned)};")

    # Stencils

    def _stencil(
        self,
        given: list[_Domain],
        results: int,
        kind: str = "",
        scaled: bool = True,
    ) -> _Stencil:
        """Declares a stencil for domains. kind: of its results, or any."""
        rng = self.rng
        dims = len(given[0].sizes)
        least = [min([one.sizes[d] for one in given]) for d in range(dims)]
        may = scaled and rng.random() < 0.3
        scales = tuple(
            [rng.choice([1, 2]) if may and least[d] >= 2 else 1 for d in range(dims)]
        )
        numbers = rng.choice([(), (), ("int",), ("float",), ("float", "int")])
        kinds = [kind or rng.choice(self._types()) for _ in range(results)]
        name = self._name("f")
        types = [one.type for one in given]
        body = _Body(self, types, numbers, scales)
        text = body.text(kinds)
        formals = [f"vector#{dims} {t} X{k}" for k, t in enumerate(types)]
        formals += [f"{t} u{k}" for k, t in enumerate(numbers)]
        self.lines.append(f"stencil {name}({', '.join(formals)}) {{\n{text}}}")
        made = _Stencil(name, tuple(types), numbers, tuple(kinds), scales)
        self.stencils.append(made)
        return made


class _Body:
    """The statements of a stencil. Expressions are drawn by whether they are ints or
    floats; ints are at most 2 ** 11 where they are read or assigned."""

    def __init__(
        self,
        drawing: Drawing,
        types: list[str],
        numbers: tuple[str, ...],
        scales: tuple[int, ...],
    ) -> None:
        self.drawing = drawing
        self.rng = drawing.rng
        self.types = types
        self.numbers = numbers
        self.scales = scales
        self.locals: list[tuple[str, bool]] = []

    def text(self, kinds: list[str]) -> str:
        lines = []
        for k in range(self.rng.choice([0, 0, 1, 2])):
            is_float = self.rng.random() < 0.5
            lines.append(f"  v{k} = {self._bounded(is_float)};\n")
            self.locals.append((f"v{k}", is_float))
        # Each argument is read with the scales, so that the size is what is expected.
        anchors = [
            f"  w{k} = {self._field(k, self._at(0))};\n" for k in range(len(self.types))
        ]
        results = ", ".join([self._result(kind) for kind in kinds])
        return "".join([*lines, *anchors, f"  return {results};\n"])

    def _result(self, kind: str) -> str:
        struct = self.drawing.struct
        if kind == "S" and struct is not None:
            whole = [k for k, t in enumerate(self.types) if t == "S"]
            if whole and self.rng.random() < 0.3:
                k = self.rng.choice(whole)
                a, b = f"X{k}{self._at(1)}", f"X{k}{self._at(1)}"
                return f"({self._condition(1)} ? {a} : {b})"
            values = [self._result(str(one)) for _, one in struct.fields]
            return f"S({', '.join(values)})"
        if kind in ("float", "double"):
            return f"{kind}({self._bounded(True)})"
        return f"{kind}({self._bounded(False)})"

    def _bounded(self, is_float: bool) -> str:
        if is_float:
            return f"floor(4*max(min({self._float(3)}, 500.0), -500.0))/4"
        return f"({self._int(3)}) % 1009"

    def _at(self, far: int) -> str:
        """An offset operator, or nothing for the point itself."""
        rng = self.rng
        if far == 0 and all([s == 1 for s in self.scales]):
            return ""
        steps = []
        for scale in self.scales:
            offset = rng.randrange(-2, 3) if far else 0
            steps.append(f"({offset}, {scale})" if scale > 1 else str(offset))
        return f"@[{', '.join(steps)}]"

    def _field(self, k: int, at: str) -> str:
        struct = self.drawing.struct
        if self.types[k] == "S" and struct is not None:
            return f"X{k}{at}.{self.rng.choice(struct.fields)[0]}"
        return f"X{k}{at}"

    def _read(self, is_float: bool) -> str:
        """A point of an argument, at most 2 ** 11 and of the kind that is asked for."""
        k = self.rng.randrange(len(self.types))
        read = self._field(k, self._at(1))
        if not is_float:
            return f"int(max(min({read}, 1000), -1000))"
        return f"max(min({read}, 500.0), -500.0)"

    def _leaf(self, is_float: bool) -> str:
        rng = self.rng
        names = [name for name, kind in self.locals if kind == is_float]
        wanted = "float" if is_float else "int"
        names += [f"u{k}" for k, kind in enumerate(self.numbers) if kind == wanted]
        choice = rng.random()
        if choice < 0.5 or (choice < 0.7 and not names):
            return self._read(is_float)
        if choice < 0.7:
            return rng.choice(names)
        if is_float:
            return rng.choice(["t", f"{rng.randrange(-20, 20) / 4}", "2.0", ".5d"])
        return rng.choice(["n", str(rng.randrange(-20, 20)), "3"])

    def _int(self, depth: int) -> str:
        """At most 2 ** 12 * 2 ** 12 * 4: products are of bounded operands."""
        if depth == 0:
            return self._leaf(False)
        a, b = self._int(depth - 1), self._int(depth - 1)
        small = f"(({a}) % 1009)"
        return self.rng.choice(
            [
                f"({a} + {b}) / 2",
                f"({a} - {b}) / 2",
                f"{small} * (({b}) % 31)",
                f"{a} / (abs({b}) + 1)",
                f"({a}) % (({b}) % 7 + 8)",
                f"-({a})",
                f"min({a}, {b})",
                f"max({a}, {b})",
                f"abs({a})",
                f"({self._condition(depth - 1)} ? {a} : {b})",
                f"({self._condition(depth - 1)}) + {small}",
                f"int({self._float(0)})",
                f"int8({a})",
                f"int16({a})",
                self._leaf(False),
            ]
        )

    def _float(self, depth: int) -> str:
        if depth == 0:
            return self._leaf(True)
        a, b = self._float(depth - 1), self._float(depth - 1)
        choices = [
            f"{a} + {b}",
            f"({a}) - ({b})",
            f"({a}) * {self._leaf(True)}",
            f"({a}) / (abs({b}) + 1)",
            f"-({a})",
            f"min({a}, {b})",
            f"max({a}, {b})",
            f"abs({a})",
            f"sqrt(abs({a}))",
            f"{self.rng.choice(['floor', 'ceil', 'round', 'trunc'])}({a})",
            f"({self._condition(depth - 1)} ? {a} : {b})",
            f"({a}) * 0.5 + ({self._int(depth - 1)})",
            f"double({a})",
            self._leaf(True),
        ]
        if self.drawing.math:
            small = f"max(min({a}, 3.0), -3.0)"
            choices += [
                f"{self.rng.choice(['sin', 'cos', 'atan', 'tanh', 'exp'])}({small})",
                f"log(abs({a}) + 1)",
                f"pow(abs({small}) + 1, 1.5)",
                f"atan2({a}, abs({b}) + 1)",
            ]
        return self.rng.choice(choices)

    def _condition(self, depth: int) -> str:
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        one = f"{self._int(depth)} {op} {self._int(depth)}"
        choice = self.rng.random()
        if choice < 0.2:
            return f"!({one})"
        if choice < 0.4:
            join = self.rng.choice(["&&", "||"])
            return f"{one} {join} {self._leaf(True)} < {self._leaf(True)}"
        return one


def draw(seed: int, math: bool = False) -> Drawn:
    """The program of a seed."""
    return Drawing(random.Random(seed), math).draw()


__all__ = ["Drawing", "Drawn", "draw"]
