"""Inputs for Forma programs, and compiled programs compared with the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parhelion import forma
from parhelion.forma.reference import dtype_of, evaluate
from parhelion.forma.sizes import value_of
from parhelion.forma.stages import Graph

Array = npt.NDArray[Any]

SCHEDULERS = ("Forma", None)


def inputs_for(graph: Graph, **numbers: int | float) -> dict[str, Array]:
    """Arrays for a program's inputs, always the same: multiples of a quarter."""
    sizes, rng = graph.verify(numbers), np.random.default_rng(7)
    made = {}
    for one in graph.inputs:
        shape = tuple([value_of(size, sizes) for size in one.sizes])[::-1]
        array = np.zeros(shape, dtype_of(one.types[0]))
        for part in [array[f] for f in array.dtype.names or ()] or [array]:
            values = rng.integers(-100, 100, shape)
            part[...] = values / 4 if part.dtype.kind == "f" else values
        made[one.name] = array
    return made


def assert_agrees(
    text: str, scheduler: str | None = "Forma", **numbers: int | float
) -> forma.Program:
    """Compiles a program, and compares each result with the reference, bit by bit."""
    program = forma.compile(text, scheduler=scheduler, strict_float=True)
    assert_same(program, **numbers)
    return program


def assert_same(program: forma.Program, **numbers: int | float) -> None:
    """Compares a call of a program, which rounds like NumPy, with the reference."""
    inputs = inputs_for(program.graph, **numbers)
    wanted = evaluate(program.graph, inputs, numbers)
    arguments: dict[str, Any] = {**inputs, **numbers}
    found = program(**arguments)
    results = found if isinstance(found, tuple) else (found,)
    for output, got, want in zip(program.graph.outputs, results, wanted, strict=True):
        assert got.dtype == want.dtype, output.name
        np.testing.assert_array_equal(got, want, output.name)
