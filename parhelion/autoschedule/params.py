"""What a scheduler may be told: its parameters, and their values checked."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here

Value = int | float | bool | str

_WORDS = {"int": "an integer", "float": "a number", "bool": "true or false"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that a scheduler may be told.

    kind: "int", "float", "bool", or the words that it may be. meaning: in a few words.
    least, most: the numbers that it may be.
    """

    name: str
    kind: str | tuple[str, ...]
    meaning: str
    least: float = -math.inf
    most: float = math.inf


class Parameters:
    """The parameters of one scheduler."""

    def __init__(self, scheduler: str, known: Sequence[Parameter]) -> None:
        self.scheduler = scheduler
        self.known = {p.name: p for p in known}

    def read(self, extra: Mapping[str, str]) -> dict[str, Value]:
        """The values that are given, by name. Raises ScheduleError for a name that the
        scheduler does not know, and for a value that it cannot have."""
        return {name: self._value(name, text) for name, text in extra.items()}

    def _value(self, name: str, text: str) -> Value:
        parameter = self.known.get(name)
        if parameter is None:
            near = difflib.get_close_matches(
                name.lower(), [n.lower() for n in self.known], 1
            )
            raise ScheduleError(
                f"{self.scheduler} has no parameter {name!r}",
                at=here(),
                legal=[f"{p.name}: {p.meaning}" for p in self.known.values()],
                hint="".join(
                    [f"did you mean {n!r}?" for n in self.known if n.lower() in near]
                ),
            )
        value = _read(parameter.kind, text.strip())
        if value is None:
            if isinstance(parameter.kind, str):
                wanted = _WORDS[parameter.kind]
            else:
                wanted = "one of " + ", ".join(map(repr, parameter.kind))
            raise self._wrong(name, f"is {wanted}, not {text!r}")
        if isinstance(value, int | float):
            if value < parameter.least:
                raise self._wrong(name, f"is at least {parameter.least}, not {text}")
            if value > parameter.most:
                raise self._wrong(name, f"is at most {parameter.most}, not {text}")
        return value

    def _wrong(self, name: str, what: str) -> ScheduleError:
        return ScheduleError(
            f"the parameter {name} of {self.scheduler} {what}",
            at=here(),
            hint=f"it is {self.known[name].meaning}",
        )


def _read(kind: str | tuple[str, ...], text: str) -> Value | None:
    """The value of a text; None if it is none of that kind."""
    if not isinstance(kind, str):
        return text if text in kind else None
    if kind == "bool":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    if kind == "float":
        return number
    # Not by way of a float, which holds no large integers.
    return int(text) if text.lstrip("+-").isdecimal() else _whole(number)


def _whole(number: float) -> int | None:
    return int(number) if number == int(number) else None


__all__ = ["Parameter", "Parameters", "Value"]
