"""What a call of a program has to know of it: its graph without the stages in between.

It is small, so that it is kept beside compiled code: a process that has all code need
not know how the outputs come of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.forma.sizes import Size, parameter_var
from parhelion.forma.spans import Source as Text
from parhelion.forma.spans import Span
from parhelion.forma.stages import (
    Graph,
    Input,
    Output,
    Parameter,
    Requirement,
    Source,
    Stage,
    verified,
)
from parhelion.forma.types import Element, Scalar, Struct
from parhelion.ir.expr import Var
from parhelion.ir.rewrite import free_vars
from parhelion.runtime.expr_records import ExprReader, ExprWriter, NotRecordable


@dataclass(frozen=True, slots=True, eq=False)
class Interface:
    """parameters, inputs, outputs, requirements: as in the graph, but that an output is
    a stage of which nothing is known but its type and size. sizing: the parameters that
    any size, or what has to hold of sizes, depends on."""

    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    requirements: tuple[Requirement, ...]
    sizing: frozenset[Var]

    @staticmethod
    def of(graph: Graph) -> Interface:
        """That of a program."""
        sizes = {size for stage in graph.stages for size in stage.sizes}
        sizes |= {one.condition for one in graph.requirements}
        return Interface(
            graph.parameters,
            graph.inputs,
            tuple([_alone(one) for one in graph.outputs]),
            graph.requirements,
            frozenset([v for size in sizes for v in free_vars(size)]),
        )

    def verify(self, given: Mapping[str, int | float]) -> dict[Var, int]:
        """As `Graph.verify`."""
        return verified(self.parameters, self.requirements, given)


def _alone(one: Output) -> Output:
    source = one.source
    stage = Stage(source.name, source.stage.span, (source.type,), source.sizes)
    return Output(one.name, Source(stage), one.span)


def written(made: Interface) -> dict[str, Any]:
    """An interface as JSON can hold it; places are those in the program's text. Raises
    NotRecordable."""
    vars = [one.var for one in made.parameters if one.var is not None]
    return _Writer(vars).written(made)


def read(told: dict[str, Any], text: Text) -> Interface:
    """The interface of a program's text that was written. What is none raises what
    `runtime.records.NO_RECORD` lists."""
    return _Reader(told, text).interface()


class _Writer:
    def __init__(self, vars: Sequence[Var]) -> None:
        self.exprs = ExprWriter((), vars)
        self.structs: dict[Struct, int] = {}

    def written(self, made: Interface) -> dict[str, Any]:
        return {
            "parameters": [
                [one.name, one.type.value, _least(one), *_place(one.span)]
                for one in made.parameters
            ],
            "inputs": [
                [one.name, *self._domain(one), *_place(one.span)] for one in made.inputs
            ],
            "outputs": [
                [one.name, *self._domain(one.source.stage), *_place(one.span)]
                for one in made.outputs
            ],
            "requirements": [
                [
                    *(self.exprs.expr(one.condition), one.what),
                    *(self._sizes(one.sizes), *_place(one.span)),
                ]
                for one in made.requirements
            ],
            "sizing": [
                i for i, one in enumerate(made.parameters) if one.var in made.sizing
            ],
            "structs": [
                [one.name, [[name, kind.value] for name, kind in one.fields]]
                for one in self.structs
            ],
            "nodes": self.exprs.nodes,
        }

    def _domain(self, stage: Stage) -> tuple[str | int, list[int]]:
        (kind,) = stage.types
        told: str | int
        if isinstance(kind, Struct):
            told = self.structs.setdefault(kind, len(self.structs))
        else:
            told = kind.value
        return told, self._sizes(stage.sizes)

    def _sizes(self, sizes: Sequence[Size]) -> list[int]:
        return [self.exprs.expr(size) for size in sizes]


def _place(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _least(one: Parameter) -> bool | None:
    """Whether a parameter is the size of an input, and at least 1; None of a float."""
    if one.var is None:
        return None
    again = parameter_var(one.name, one.var.lo is not None)
    if again.lo is not one.var.lo:
        raise NotRecordable(one.name)
    return again.lo is not None


class _Reader:
    def __init__(self, told: dict[str, Any], text: Text) -> None:
        self.told, self.text = told, text
        self.parameters = [
            Parameter(
                *(name, Scalar(kind)),
                None if least is None else parameter_var(name, least),
                self._span(start, end),
            )
            for name, kind, least, start, end in told["parameters"]
        ]
        vars = [one.var for one in self.parameters if one.var is not None]
        self.exprs = ExprReader(told["nodes"], (), vars)
        self.structs = [
            Struct(name, tuple([(field, Scalar(kind)) for field, kind in fields]))
            for name, fields in told["structs"]
        ]

    def interface(self) -> Interface:
        told = self.told
        inputs = [
            Input(name, self._span(start, end), (self._kind(kind),), self._sizes(sizes))
            for name, kind, sizes, start, end in told["inputs"]
        ]
        outputs = []
        for name, kind, sizes, start, end in told["outputs"]:
            at = self._span(start, end)
            stage = Stage(name, at, (self._kind(kind),), self._sizes(sizes))
            outputs.append(Output(name, Source(stage), at))
        requirements = [
            Requirement(
                *(self.exprs.expr(condition), what),
                *(self._sizes(sizes), self._span(start, end)),
            )
            for condition, what, sizes, start, end in told["requirements"]
        ]
        sizing = [self.parameters[i].var for i in told["sizing"]]
        return Interface(
            tuple(self.parameters),
            tuple(inputs),
            tuple(outputs),
            tuple(requirements),
            frozenset([v for v in sizing if v is not None]),
        )

    def _span(self, start: int, end: int) -> Span:
        return Span(self.text, start, end)

    def _kind(self, told: str | int) -> Element:
        return self.structs[told] if isinstance(told, int) else Scalar(told)

    def _sizes(self, places: Sequence[int]) -> tuple[Size, ...]:
        return tuple([self.exprs.expr(place) for place in places])


__all__ = ["Interface", "read", "written"]
