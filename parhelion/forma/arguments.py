"""The arguments of a call of a program: put into their places, checked, and inferred.

A program takes its inputs, then the parameters that have to be given, then those that
are sizes of inputs and may be left out; each in the order in which it declares them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.errors import FormaError
from parhelion.forma.arrays import Domain, Given, given
from parhelion.forma.interface import Interface
from parhelion.forma.sizes import Size, size_text, value_of
from parhelion.forma.spans import Span
from parhelion.forma.stages import Input, Parameter
from parhelion.forma.types import Element, Scalar
from parhelion.ir.expr import Var
from parhelion.types import round_float

Number = int | float


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call. arrays: of the inputs, in order. numbers: all
    parameters. values: what the Vars of sizes stand for."""

    arrays: tuple[Given, ...]
    numbers: Mapping[str, Number]
    values: Mapping[Var, int]


class Arguments:
    """What a program takes."""

    def __init__(self, of: Interface) -> None:
        self.interface = of
        self.inputs = of.inputs
        self.domains = [Domain.of(one) for one in of.inputs]
        #: Where parameters are found that are the size of an input.
        self.places: dict[Var, tuple[int, int]] = {}
        for k, one in enumerate(of.inputs):
            for d, size in enumerate(one.sizes):
                if isinstance(size, Var):
                    self.places.setdefault(size, (k, d))
        told = [p for p in of.parameters if p.var in self.places]
        self.told = {one.name for one in told}
        self.parameters = [*[p for p in of.parameters if p not in told], *told]
        self.names = [one.name for one in self.inputs]
        self.names += [one.name for one in self.parameters]
        #: What the sizes were for which the requirements hold, last.
        self._verified: dict[tuple[int, ...], dict[Var, int]] = {}

    def call(self, args: Sequence[object], named: Mapping[str, object]) -> Call:
        """The arguments of a call, checked. Raises FormaError at the places of the
        program that they do not fit."""
        placed = self._placed(args, named)
        arrays = []
        for domain, image in zip(self.domains, self.inputs, strict=True):
            if image.name not in placed:
                raise self._missing(image.name, domain.span, domain.described())
            arrays.append(given(domain, placed[image.name]))
        numbers: dict[str, Number] = {}
        for one in self.parameters:
            value = placed.get(one.name)
            if value is not None:
                numbers[one.name] = _number(one, value)
            elif one.var in self.places:
                k, d = self.places[one.var]
                numbers[one.name] = arrays[k].extents[d]
            else:
                raise self._missing(one.name, one.span, f"it is a number, {one.type}")
        values = self._values(numbers)
        self._check_sizes(arrays, values)
        return Call(tuple(arrays), numbers, self._verify(numbers, values))

    def numbers(self, given: Mapping[str, object]) -> dict[str, Number]:
        """Parameters by their names, checked: all that sizes depend on, and 1 for other
        ints."""
        found: dict[str, Number] = {}
        for one in self.parameters:
            if one.name in given:
                found[one.name] = _number(one, given[one.name])
            elif one.var in self.interface.sizing:
                raise self._missing(one.name, one.span, f"it is a number, {one.type}")
            elif one.var is not None:
                found[one.name] = 1
        unknown = [name for name in given if name not in found]
        if unknown:
            raise self._error(f"the program has no parameter '{unknown[0]}'")
        return found

    def _placed(
        self, args: Sequence[object], named: Mapping[str, object]
    ) -> dict[str, object]:
        if len(args) > len(self.names):
            raise self._error(
                f"the program takes {len(self.names)} arguments, and {len(args)} are"
                " given"
            )
        placed = dict(zip(self.names, args, strict=False))
        for name, value in named.items():
            if name not in self.names:
                raise self._error(f"the program has no argument '{name}'")
            if name in placed:
                raise self._error(f"the argument '{name}' is given twice")
            placed[name] = value
        return placed

    def _error(self, what: str) -> FormaError:
        first = self.interface.outputs[0].span
        return first.error(what, detail=f"it takes {', '.join(self.names)}")

    def _missing(self, name: str, at: Span, it_is: str) -> FormaError:
        return at.error(f"the program needs '{name}'", detail=it_is, hint="give it one")

    def _values(self, numbers: Mapping[str, Number]) -> dict[Var, int]:
        return {
            one.var: int(numbers[one.name])
            for one in self.interface.parameters
            if one.var is not None
        }

    def _check_sizes(self, arrays: Sequence[Given], values: Mapping[Var, int]) -> None:
        for one, domain, array in zip(self.inputs, self.domains, arrays, strict=True):
            for d, (size, extent) in enumerate(
                zip(one.sizes, array.extents, strict=True)
            ):
                wanted = value_of(size, values)
                if wanted != extent:
                    raise self._unequal(one, domain, d, wanted, extent)

    def _unequal(
        self, one: Input, domain: Domain, d: int, wanted: int, extent: int
    ) -> FormaError:
        size = one.sizes[d]
        text = size_text(size)
        why = f" as {text} is {wanted}" if text != str(wanted) else ""
        if isinstance(size, Var) and self.places[size][0] != self.inputs.index(one):
            first = self.inputs[self.places[size][0]].name
            why = f" as {text} is, by the input '{first}', {wanted}"
        return one.span.error(
            f"{domain.what} has {extent} points in dimension {d}, and needs "
            f"{wanted},{why}".rstrip(","),
            detail=f"it is {domain.described()}",
            hint="give arrays and parameters that fit together",
        )

    def _verify(
        self, numbers: Mapping[str, Number], values: dict[Var, int]
    ) -> dict[Var, int]:
        key = tuple(values.values())
        found = self._verified.get(key)
        if found is None:
            found = self.interface.verify(numbers)
            if len(self._verified) > _REMEMBERED:
                self._verified.clear()
            self._verified[key] = found
        return found

    def signature(self, returns: str) -> inspect.Signature:
        """How the program is called, as Python shows it."""
        made = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=shown(one.types[0], one.sizes),
            )
            for one in self.inputs
        ]
        made += [
            inspect.Parameter(
                one.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=None if one.name in self.told else inspect.Parameter.empty,
                annotation=str(one.type),
            )
            for one in self.parameters
        ]
        made.append(
            inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
        )
        return inspect.Signature(made, return_annotation=returns)


#: For how many sizes it is remembered that they fulfil the requirements.
_REMEMBERED = 64


def shown(kind: Element, sizes: Sequence[Size]) -> str:
    """The array of a domain, as annotations have it: ``float[N, M]``."""
    return f"{kind}[{', '.join([size_text(s) for s in reversed(sizes)])}]"


def _number(one: Parameter, value: object) -> Number:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise one.span.error(
            f"the parameter '{one.name}' is a number, {one.type}, not {value!r:.60}"
        )
    if one.type.is_float:
        rounded = round_float(value, one.type.pixel)
        if math.isinf(rounded) and abs(value) != math.inf:
            raise one.span.error(
                f"{value!r:.60} is too large for '{one.name}', {one.type}"
            )
        return float(value)
    if value != int(value) if math.isfinite(value) else True:
        raise one.span.error(
            f"the parameter '{one.name}' is {_an(one.type)}, not {value!r}"
        )
    whole = int(value)
    if not one.type.holds(whole):
        raise one.span.error(
            f"{whole} does not fit the parameter '{one.name}', {_an(one.type)}"
        )
    if one.var is not None and one.var.lo is not None and whole < 1:
        raise one.span.error(
            f"the parameter '{one.name}' is the size of an input, which is not {whole}",
            hint="domains have a point at least",
        )
    return whole


def _an(kind: Scalar) -> str:
    return f"an {kind}" if kind.value[0] == "i" else f"a {kind}"


__all__ = ["Arguments", "Call", "Number", "shown"]
