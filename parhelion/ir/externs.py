"""Foreign code that an algorithm refers to: C functions of scalars, and whole stages.

Nodes name foreign code by a string (`Extern.name`, a stage's `key`), so that trees stay
plain data; what the names stand for is looked up here. `lang.extern` makes the entries.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from parhelion.dataclass import dataclass
from parhelion.types import Type

Number = int | float | bool
#: (min, extent) of each dimension.
Box = Sequence[tuple[int, int]]
#: Pixels, axes in dimension order, with the min coordinates.
Pixels = tuple[Any, Sequence[int]]


@dataclass(frozen=True, slots=True)
class CFunction:
    """A C function of scalars, which is at `address`; `call` calls it from Python.

    name: in nodes and compiled code. known_as: by the user; the name has more to it
    where the program has given an address of this process.
    """

    name: str
    known_as: str
    result: Type
    params: tuple[Type, ...]
    address: int
    call: Callable[..., Any]


#: The C functions that the program has named. They stay for the life of the process:
#: a library that was loaded is not unloaded either.
FUNCTIONS: dict[str, CFunction] = {}


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a stage is given at one place: a scalar, or a buffer."""

    type: Type
    dimensions: int | None = None

    @property
    def is_buffer(self) -> bool:
        return self.dimensions is not None


class ExternStage(Protocol):
    """Code that computes all values of a Func over a region (`define_extern`).

    name: for messages. results: the types of the values.
    params: in the order of the C function's arguments; the outputs follow them.
    packed: whether `address` is that of a Python function, which is given the address
        of three words: the context's address, that of argv, and what is to be 1 after
        success. argv[i] is the address of argument i. Otherwise it is that of a C
        function, which takes the arguments one by one.
    symbol: what compiled code calls it. known_as: what the user calls it.
    """

    @property
    def key(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def results(self) -> tuple[Type, ...]: ...

    @property
    def params(self) -> tuple[Parameter, ...]: ...

    @property
    def packed(self) -> bool: ...

    @property
    def symbol(self) -> str: ...

    @property
    def known_as(self) -> str: ...

    @property
    def address(self) -> int: ...

    def query(self, scalars: Sequence[Number], region: Box) -> list[Box]:
        """What the stage reads of each of its buffers for a region of its outputs."""

    def run(
        self,
        scalars: Sequence[Number],
        inputs: Sequence[Pixels],
        outputs: Sequence[Pixels],
    ) -> None:
        """Computes the outputs' pixels; raises what the code raises."""


def known_as(name: str) -> str:
    """What the user calls the C function that nodes call `name`."""
    known = FUNCTIONS.get(name)
    return name if known is None else known.known_as


def is_of_this_process(name: str) -> bool:
    """Whether what nodes call `name` was given by its address, which says nothing to
    other processes."""
    return known_as(name) != name


#: The stages that exist, by key; their Functions keep them alive.
STAGES: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def stage(key: str) -> ExternStage:
    """The stage of a key."""
    found: ExternStage = STAGES[key]
    return found


__all__ = [
    "FUNCTIONS",
    "STAGES",
    "Box",
    "CFunction",
    "ExternStage",
    "Number",
    "Parameter",
    "Pixels",
    "known_as",
    "is_of_this_process",
    "stage",
]
