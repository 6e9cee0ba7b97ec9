"""The variables of a program, or of one application of a vector function."""

from __future__ import annotations

from collections.abc import Iterator

from parhelion.forma.spans import Span
from parhelion.forma.stages import Source
from parhelion.forma.terms import Literal, Term

#: What a variable stands for: a domain, or a number.
Value = Source | Term


class Scope:
    """Variables by their names; each is assigned once."""

    def __init__(self) -> None:
        self.plain: dict[str, tuple[Value, Span]] = {}
        self.qualified: dict[str, dict[int, tuple[Value, Span]]] = {}
        #: The variables of the loops around, with their values.
        self.loops: dict[str, Literal] = {}

    def names(self) -> Iterator[str]:
        """The names that there are, the first assigned first."""
        yield from self.plain
        yield from [f"{name}<…>" for name in self.qualified]
        yield from self.loops

    def span_of(self, name: str) -> Span | None:
        """Where a name was given a value first, None where it has none."""
        if name in self.plain:
            return self.plain[name][1]
        if name in self.qualified:
            return next(iter(self.qualified[name].values()))[1]
        return None

    def assign(self, name: str, index: int | None, value: Value, span: Span) -> None:
        """Gives a variable its value. Raises FormaError where it has one."""
        if name in self.loops:
            raise span.error(
                f"'{name}' is the variable of a loop, and cannot be assigned",
                hint="choose another name",
            )
        if index is None:
            self._assign_plain(name, value, span)
        else:
            self._assign_qualified(name, index, value, span)

    def _assign_plain(self, name: str, value: Value, span: Span) -> None:
        before = self.span_of(name)
        if name in self.qualified and before is not None:
            raise span.error(
                f"'{name}' is a qualified variable since line {before.line}",
                hint=f"qualify it: {name}<0>",
            )
        if before is not None:
            raise span.error(
                f"'{name}' is assigned twice, first in line {before.line}",
                hint="each variable is assigned once: choose another name",
            )
        self.plain[name] = value, span

    def _assign_qualified(
        self, name: str, index: int, value: Value, span: Span
    ) -> None:
        if name in self.plain:
            raise span.error(
                f"'{name}' is no qualified variable: it has been assigned whole in "
                f"line {self.plain[name][1].line}",
                hint="choose another name",
            )
        family = self.qualified.setdefault(name, {})
        if index in family:
            raise span.error(
                f"'{name}<{index}>' is assigned twice, first in line "
                f"{family[index][1].line}",
                hint="each is assigned once: choose another index",
            )
        for first, (other, _) in family.items():
            what = _kind(other)
            if what != _kind(value):
                raise span.error(
                    f"'{name}<{index}>' is {_kind(value)}, and '{name}<{first}>' "
                    f"{what}",
                    hint="the domains of a qualified variable differ in size alone",
                )
            break
        family[index] = value, span


def _kind(value: Value) -> str:
    if isinstance(value, Source):
        return f"a vector#{value.dimensions} {value.type}"
    return f"a number, {value.type}"


__all__ = ["Scope", "Value"]
